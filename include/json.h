/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h - reading our JSON contracts with errors that name the file and the key.
 *
 * json-c parses; this puts a bound on size and depth, says where a text breaks, refuses a newer
 * version of a format, and gives loaders a reader whose first error sticks: a loader reads all its
 * keys in a row and asks once, at the end, whether one of them was wrong.
 */
#ifndef FABRIC_JSON_H
#define FABRIC_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/*
 * Parses exactly one JSON value of len bytes; NULL, errno (ENOMEM, E2BIG, EPROTO) and err on
 * anything else. source: for errors.
 */
json_object *json_parse(const char *text, size_t len, const char *source, struct err *err);

/*
 * The same for a text that is a large object of which only some keys (a list that ends in NULL) are
 * wanted: the values of all others are skipped without being looked into.
 */
json_object *json_parse_keys(const char *text, size_t len, const char *const *keys,
			     const char *source, struct err *err);

/* Reads and parses a file of at most max bytes. */
json_object *json_load(const char *path, size_t max, struct err *err);

/*
 * The canonical text of our files: indented by two, ends in a newline; malloc'ed. Whatever strings
 * hold, it is valid JSON and may be shown on a terminal: bytes that are no UTF-8 become U+FFFD, and
 * what code_printable() refuses is written \uXXXX.
 */
char *json_text(json_object *value);
/* On one line, for messages and job fields; malloc'ed. */
char *json_line(json_object *value);

struct json_reader {
	const char *source; /* file name or other origin, for sentences */
	struct err *err;    /* may be NULL */
	int rc;             /* 0, or the first error as a negative errno: later calls change nothing */
};

/* Fails unless object has "format": format and "version" from 1 to version. */
void json_read_format(struct json_reader *r, json_object *object, const char *format, int version);

/* Required keys. On error they return NULL, 0, false or the lower bound. */
const char *json_read_string(struct json_reader *r, json_object *object, const char *key);
int64_t json_read_int(struct json_reader *r, json_object *object, const char *key, int64_t min, int64_t max);
uint64_t json_read_u64(struct json_reader *r, json_object *object, const char *key);
uint64_t json_read_guid(struct json_reader *r, json_object *object, const char *key);
bool json_read_bool(struct json_reader *r, json_object *object, const char *key);
json_object *json_read_object(struct json_reader *r, json_object *object, const char *key);
json_object *json_read_array(struct json_reader *r, json_object *object, const char *key);

/* A malloc'ed copy of a required string; NULL sets r->rc. */
char *json_read_strdup(struct json_reader *r, json_object *object, const char *key);

/* True when the key is there and not null: the way to ask for optional keys first. */
bool json_has(json_object *object, const char *key);

/* An element of an array, which must be an object (or a string). */
json_object *json_item_object(struct json_reader *r, json_object *array, size_t i, const char *what);
const char *json_item_string(struct json_reader *r, json_object *array, size_t i, const char *what);

/* Says that a value is not what it should be: "SOURCE: fmt". */
void json_fail(struct json_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Add value (NULL: -ENOMEM), which is taken over also when that fails; 0 or -ENOMEM. */
int json_put_value(json_object *object, const char *key, json_object *value);
int json_append(json_object *array, json_object *value);

/* Adding. All of them own nothing and copy their arguments; 0 or -ENOMEM. */
int json_put_string(json_object *object, const char *key, const char *value);
int json_put_int(json_object *object, const char *key, int64_t value);
int json_put_u64(json_object *object, const char *key, uint64_t value);
int json_put_guid(json_object *object, const char *key, uint64_t guid);
int json_put_bool(json_object *object, const char *key, bool value);
int json_put_format(json_object *object, const char *format, int version);

#endif
