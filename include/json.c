/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.c - see json.h.
 */
#include "json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "text.h"

#define DEPTH 24 /* the deepest contract nests 8 levels */

/* The line a byte offset falls in, for sentences. */
static size_t line_of(const char *text, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static bool only_blanks(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r\n", text[i]) || text[i] == '\0')
			return false;
	return true;
}

/* How many of the bytes are UTF-8, which json-c does not ask strictly. */
static size_t utf8_len(const char *text, size_t len)
{
	uint32_t code;
	size_t i = 0, n = 1;

	for (; i < len && n > 0; i += n) {
		char at[5] = "";

		n = 1;
		if ((unsigned char)text[i] < 0x80)
			continue;
		memcpy(at, text + i, len - i < 4 ? len - i : 4);
		n = utf8_at(at, &code);
	}
	return i;
}

static json_object *parse(const char *text, size_t len, const char *source,
			  enum json_tokener_error *code, struct err *err)
{
	json_tokener *tok = len < INT32_MAX ? json_tokener_new_ex(DEPTH) : NULL;
	json_object *value = NULL;
	bool memory;
	size_t end;

	*code = json_tokener_continue;
	if (!tok) {
		errno = -(len < INT32_MAX ? err_set(err, ENOMEM, "%s: out of memory", source)
					  : err_set(err, E2BIG, "%s: too large to parse", source));
		return NULL;
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS |
					    JSON_TOKENER_VALIDATE_UTF8);
	errno = 0; /* json-c does not tell want of memory from a broken text: malloc() does */
	value = json_tokener_parse_ex(tok, text, (int)len);
	end = json_tokener_get_parse_end(tok);
	if (json_tokener_get_error(tok) == json_tokener_continue) {
		value = json_tokener_parse_ex(tok, "\n", 1); /* what ends a number */
		end = len;
	}
	memory = errno == ENOMEM;
	*code = json_tokener_get_error(tok);
	json_tokener_free(tok);
	if (*code == json_tokener_success && value && !memory && only_blanks(text + end, len - end))
		return value;
	json_object_put(value);
	if (memory)
		errno = -err_set(err, ENOMEM, "%s: out of memory", source);
	else if (*code == json_tokener_continue)
		errno = -err_set(err, EPROTO,
				 "%s:%zu: the text ends before the JSON value does; it was cut",
				 source, line_of(text, len));
	else
		errno = -err_set(err, EPROTO, "%s:%zu: no valid JSON: %s", source,
				 line_of(text, end),
				 *code != json_tokener_success ? json_tokener_error_desc(*code)
				 : value		      ? "more text follows the value"
							      : "null");
	return NULL;
}

/*
 * A copy of a text of UTF-8 in which what is not ASCII is written \uXXXX, malloc'ed; its length in
 * *used. What a backslash is before stays: it is ASCII, or this is no JSON.
 */
static char *in_ascii(const char *text, size_t len, size_t *used)
{
	char *out = malloc(3 * len + 1); /* two bytes become six */
	uint32_t code;
	size_t n;

	*used = 0;
	for (size_t i = 0; out && i < len; i += n) {
		char at[6] = "";

		memcpy(at, text + i, len - i < 5 ? len - i : 5);
		n = utf8_at(at, &code);
		if (at[0] == '\\' && i + 1 < len)
			n += utf8_at(at + 1, &code);
		if (n == 1 || at[0] == '\\')
			*used = (size_t)((char *)mempcpy(out + *used, text + i, n) - out);
		else if (n == 4) /* a surrogate pair */
			*used += (size_t)sprintf(out + *used, "\\u%04x\\u%04x",
						 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
		else
			*used += (size_t)sprintf(out + *used, "\\u%04x", code);
	}
	return out;
}

json_object *json_parse(const char *text, size_t len, const char *source, struct err *err)
{
	size_t valid = utf8_len(text, len), used;
	enum json_tokener_error code;
	json_object *value;
	char *ascii;

	if (valid < len) {
		errno = -err_set(err, EPROTO, "%s:%zu: no valid JSON: its bytes are no UTF-8", source,
				 line_of(text, valid));
		return NULL;
	}
	value = parse(text, len, source, &code, err);
	if (value || code != json_tokener_error_parse_utf8_string)
		return value;
	/* json-c 0.18, when it is strict, takes all that is not ASCII for control characters */
	ascii = in_ascii(text, len, &used);
	if (ascii)
		value = parse(ascii, used, source, &code, err);
	else
		err_set(err, ENOMEM, "%s: out of memory", source);
	free(ascii);
	return value;
}

/* A place in a text that is skipped through. */
struct scan {
	const char *at, *end;
};

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

/* Moves behind the byte c, blanks before it aside. */
static bool skip_byte(struct scan *s, char c)
{
	skip_blanks(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool skip_string(struct scan *s)
{
	if (!skip_byte(s, '"'))
		return false;
	for (; s->at < s->end && *s->at != '"'; s->at++)
		if (*s->at == '\\' && ++s->at == s->end)
			return false;
	return skip_byte(s, '"');
}

/* Moves behind a number, true, false or null. */
static bool skip_word(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && *s->at && !strchr(",}] \t\r\n", *s->at))
		s->at++;
	return s->at > start;
}

/* Moves behind a value: a string, brackets and what is in them, or a word. */
static bool skip_value(struct scan *s)
{
	size_t depth = 0;

	do {
		skip_blanks(s);
		if (s->at == s->end)
			return false;
		if (*s->at == '"') {
			if (!skip_string(s))
				return false;
			continue;
		}
		if (*s->at == '{' || *s->at == '[')
			depth++;
		else if (depth && (*s->at == '}' || *s->at == ']'))
			depth--;
		else if (!depth)
			return skip_word(s);
		s->at++;
	} while (depth);
	return true;
}

static bool is_wanted(const char *key, size_t len, const char *const *keys)
{
	while (*keys && (strlen(*keys) != len || memcmp(*keys, key, len) != 0))
		keys++;
	return *keys != NULL;
}

/* One "key": value; added to object when it is wanted. False when it is no valid JSON. */
static bool take_member(struct scan *s, json_object *object, const char *const *keys)
{
	const char *start;
	json_object *value;
	char key[32];
	size_t len;

	skip_blanks(s);
	start = s->at + 1;
	if (!skip_string(s))
		return false;
	len = (size_t)(s->at - 1 - start);
	if (!skip_byte(s, ':'))
		return false;
	if (len >= sizeof(key) || !is_wanted(start, len, keys))
		return skip_value(s);
	memcpy(key, start, len);
	key[len] = '\0';
	skip_blanks(s);
	start = s->at;
	value = skip_value(s) ? json_parse(start, (size_t)(s->at - start), "", NULL) : NULL;
	if (value && json_object_object_add(object, key, value) == 0)
		return true;
	if (value) {
		json_object_put(value);
		errno = ENOMEM;
	}
	s->at = start; /* for the sentence */
	return false;
}

json_object *json_parse_keys(const char *text, size_t len, const char *const *keys,
			     const char *source, struct err *err)
{
	struct scan s = { text, text + len };
	json_object *object;
	bool good;

	errno = 0;
	object = json_object_new_object();
	good = object && skip_byte(&s, '{');
	if (good && !skip_byte(&s, '}')) {
		do
			good = take_member(&s, object, keys);
		while (good && skip_byte(&s, ','));
		good = good && skip_byte(&s, '}');
	}
	skip_blanks(&s);
	if (good && s.at == s.end)
		return object;
	json_object_put(object);
	errno = -(errno == ENOMEM
			  ? err_set(err, ENOMEM, "%s: out of memory", source)
			  : err_set(err, EPROTO, "%s:%zu: no valid JSON object, or it was cut",
				    source, line_of(text, (size_t)(s.at - text))));
	return NULL;
}

json_object *json_load(const char *path, size_t max, struct err *err)
{
	json_object *value;
	char *text;
	size_t len;

	if (io_read(path, max, &text, &len, err) < 0)
		return NULL;
	value = json_parse(text, len, path, err);
	free(text);
	return value;
}

/* The number of bytes before one that has to be looked at. */
static size_t plain(const char *text)
{
	size_t n = 0;

	while ((text[n] >= ' ' && text[n] <= '~') || text[n] == '\n')
		n++;
	return n;
}

/*
 * json-c escapes what is below a blank, and takes all other bytes for text. What it wrote is copied
 * to out (NULL: nowhere) with the rest of them escaped; these stand in strings only, where an
 * escape may. Returns the length.
 */
static size_t escape(const char *text, char *out)
{
	size_t used = 0;

	while (*text) {
		size_t len = plain(text), put = len;
		uint32_t code = 0xfffd;

		if (len == 0) {
			len = utf8_at(text, &code);
			put = len && code_printable(code) ? len : 6;
			code = len ? code : 0xfffd;
			len = len ? len : 1;
		}
		if (out && put == len)
			memcpy(out + used, text, len);
		else if (out)
			snprintf(out + used, put + 1, "\\u%04x", (unsigned int)code);
		used += put;
		text += len;
	}
	return used;
}

static char *serialise(json_object *value, int flags, const char *end)
{
	const char *text;
	char *escaped;
	size_t len;

	errno = 0; /* json-c says nothing of a text that it had no memory to end */
	text = json_object_to_json_string_ext(value, flags | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text || errno == ENOMEM)
		return NULL;
	len = escape(text, NULL);
	escaped = malloc(len + strlen(end) + 1);
	if (escaped) {
		escape(text, escaped);
		strcpy(escaped + len, end);
	}
	return escaped;
}

char *json_text(json_object *value)
{
	return serialise(value, JSON_C_TO_STRING_PRETTY, "\n");
}

char *json_line(json_object *value)
{
	return serialise(value, JSON_C_TO_STRING_PLAIN, "");
}

void json_fail(struct json_reader *r, const char *fmt, ...)
{
	va_list ap;

	if (r->rc < 0)
		return;
	va_start(ap, fmt);
	r->rc = err_vset(r->err, EPROTO, fmt, ap);
	va_end(ap);
	err_prefix(r->err, 0, "%s", r->source);
}

bool json_has(json_object *object, const char *key)
{
	json_object *value;

	return json_object_object_get_ex(object, key, &value) && value;
}

/* The string, which must be whole as a C string. what: for the sentence. */
static const char *whole_string(struct json_reader *r, json_object *value, const char *what)
{
	if (value &&
	    strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value))
		return json_object_get_string(value);
	if (value)
		json_fail(r, "\"%s\" holds a NUL character", what);
	return NULL;
}

static json_object *want(struct json_reader *r, json_object *object, const char *key, json_type type)
{
	json_object *value = NULL;

	if (r->rc < 0)
		return NULL;
	if (!json_object_is_type(object, json_type_object) ||
	    !json_object_object_get_ex(object, key, &value) || !value)
		json_fail(r, "key \"%s\" is missing", key);
	else if (!json_object_is_type(value, type))
		json_fail(r, "key \"%s\" must be of type %s, not %s", key, json_type_to_name(type),
			  json_type_to_name(json_object_get_type(value)));
	return r->rc < 0 ? NULL : value;
}

void json_read_format(struct json_reader *r, json_object *object, const char *format, int version)
{
	const char *is;

	if (!json_object_is_type(object, json_type_object)) {
		json_fail(r, "a JSON object is needed");
		return;
	}
	is = json_read_string(r, object, "format");
	if (is && strcmp(is, format) != 0)
		json_fail(r, "this is \"%.64s\", a \"%s\" is needed", is, format);
	if (json_read_int(r, object, "version", 1, INT32_MAX) > version)
		json_fail(r, "written by a newer slurm-fabric (version %lld of %s, %d is known here); "
			     "update this program",
			  (long long)json_read_int(r, object, "version", 1, INT32_MAX), format, version);
}

const char *json_read_string(struct json_reader *r, json_object *object, const char *key)
{
	return whole_string(r, want(r, object, key, json_type_string), key);
}

char *json_read_strdup(struct json_reader *r, json_object *object, const char *key)
{
	const char *value = json_read_string(r, object, key);
	char *copy = value ? strdup(value) : NULL;

	if (value && !copy)
		r->rc = err_set(r->err, ENOMEM, "%s: out of memory", r->source);
	return copy;
}

int64_t json_read_int(struct json_reader *r, json_object *object, const char *key, int64_t min, int64_t max)
{
	json_object *value = want(r, object, key, json_type_int);
	int64_t number;

	if (!value)
		return min;
	number = json_object_get_int64(value);
	if (number < min || number > max) {
		json_fail(r, "key \"%s\" is %lld, outside %lld to %lld", key, (long long)number,
			  (long long)min, (long long)max);
		return min;
	}
	return number;
}

uint64_t json_read_u64(struct json_reader *r, json_object *object, const char *key)
{
	json_object *value = want(r, object, key, json_type_int);

	if (!value)
		return 0;
	if (json_object_get_int64(value) < 0) {
		json_fail(r, "key \"%s\" is negative", key);
		return 0;
	}
	return json_object_get_uint64(value);
}

uint64_t json_read_guid(struct json_reader *r, json_object *object, const char *key)
{
	const char *text = json_read_string(r, object, key);
	uint64_t guid = 0;

	if (text && !guid_parse(text, &guid))
		json_fail(r, "key \"%s\" is \"%.40s\", a GUID is 0x and 16 hex digits", key, text);
	return guid;
}

bool json_read_bool(struct json_reader *r, json_object *object, const char *key)
{
	json_object *value = want(r, object, key, json_type_boolean);

	return value && json_object_get_boolean(value);
}

json_object *json_read_object(struct json_reader *r, json_object *object, const char *key)
{
	return want(r, object, key, json_type_object);
}

json_object *json_read_array(struct json_reader *r, json_object *object, const char *key)
{
	return want(r, object, key, json_type_array);
}

static json_object *item(struct json_reader *r, json_object *array, size_t i, const char *what, json_type type)
{
	json_object *value;

	if (r->rc < 0)
		return NULL;
	value = json_object_array_get_idx(array, i);
	if (!json_object_is_type(value, type)) {
		json_fail(r, "%s %zu must be of type %s", what, i, json_type_to_name(type));
		return NULL;
	}
	return value;
}

json_object *json_item_object(struct json_reader *r, json_object *array, size_t i, const char *what)
{
	return item(r, array, i, what, json_type_object);
}

const char *json_item_string(struct json_reader *r, json_object *array, size_t i, const char *what)
{
	return whole_string(r, item(r, array, i, what, json_type_string), what);
}

int json_put_value(json_object *object, const char *key, json_object *value)
{
	if (value && object && json_object_object_add(object, key, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

int json_append(json_object *array, json_object *value)
{
	if (value && array && json_object_array_add(array, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

int json_put_string(json_object *object, const char *key, const char *value)
{
	return json_put_value(object, key, json_object_new_string(value));
}

int json_put_int(json_object *object, const char *key, int64_t value)
{
	return json_put_value(object, key, json_object_new_int64(value));
}

int json_put_u64(json_object *object, const char *key, uint64_t value)
{
	return json_put_value(object, key, json_object_new_uint64(value));
}

int json_put_guid(json_object *object, const char *key, uint64_t guid)
{
	char text[GUID_TEXT];

	return json_put_string(object, key, guid_format(guid, text));
}

int json_put_bool(json_object *object, const char *key, bool value)
{
	return json_put_value(object, key, json_object_new_boolean(value));
}

int json_put_format(json_object *object, const char *format, int version)
{
	int rc = json_put_string(object, "format", format);

	return rc < 0 ? rc : json_put_int(object, "version", version);
}
