/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobfield.c - see jobfield.h.
 */
#include "jobfield.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "text.h"

#define FIELD_MAX 65535 /* the column in Slurm's database is TEXT; longer values are cut there */

static bool blank(const char *text)
{
	return !text || text[strspn(text, " \t\r\n")] == '\0';
}

/* NULL with errno ENOMEM, or another one when it is no object. */
static json_object *parse_object(const char *text)
{
	json_object *value = json_parse(text, strlen(text), "AdminComment", NULL);

	if (!value || json_object_is_type(value, json_type_object))
		return value;
	json_object_put(value);
	errno = EPROTO;
	return NULL;
}

/* ---- other people's text, byte for byte ---- */

/*
 * The four below walk through a text that json_parse() took for an object. What is not ours is
 * copied and never written anew: numbers that no integer holds, repeated keys and blanks stay as
 * they are.
 */
static size_t skip_blanks(const char *text, size_t i)
{
	return i + strspn(text + i, " \t\r\n");
}

/* From an opening quote to behind the closing one. */
static size_t skip_string(const char *text, size_t i)
{
	for (i++; text[i] && text[i] != '"'; i++)
		if (text[i] == '\\' && text[i + 1])
			i++;
	return text[i] ? i + 1 : i;
}

static size_t skip_value(const char *text, size_t i)
{
	size_t depth = 0;

	if (text[i] != '{' && text[i] != '[' && text[i] != '"')
		return i + strcspn(text + i, ",}] \t\r\n");
	do {
		if (text[i] == '"') {
			i = skip_string(text, i);
			continue;
		}
		depth += text[i] == '{' || text[i] == '[';
		depth -= text[i] == '}' || text[i] == ']';
		i++;
	} while (depth && text[i]);
	return i;
}

struct span {
	size_t begin, end;
	bool empty; /* the object has no key at all */
};

/*
 * Whether the key (len bytes with its quotes) is ours, also when letters of it are written as
 * \u0066; no other escape stands for a letter.
 */
static bool is_ours(const char *key, size_t len)
{
	const char *ours = JOBFIELD_KEY;

	for (size_t i = 1; i + 1 < len; ours++) {
		unsigned int letter = (unsigned char)key[i];

		if (letter == '\\' &&
		    (key[i + 1] != 'u' || sscanf(key + i + 2, "%4x", &letter) != 1))
			return false;
		if (!*ours || letter != (unsigned char)*ours)
			return false;
		i += key[i] == '\\' ? strlen("\\u0066") : 1;
	}
	return !*ours;
}

/* The value of our key (the last, if it is there twice), or where the object's brace closes. */
static struct span find_ours(const char *text)
{
	size_t i = skip_blanks(text, skip_blanks(text, 0) + 1);
	struct span ours = { 0, 0, text[i] == '}' };

	while (text[i] == '"') {
		size_t key_end = skip_string(text, i), begin = skip_blanks(text, key_end);
		bool is = is_ours(text + i, key_end - i);

		begin = skip_blanks(text, begin + (text[begin] == ':'));
		i = skip_value(text, begin);
		if (is)
			ours = (struct span){ begin, i, false };
		i = skip_blanks(text, i);
		if (text[i] == ',')
			i = skip_blanks(text, i + 1);
	}
	if (!ours.end)
		ours.begin = ours.end = i;
	return ours;
}

/* The field's new text, malloc'ed; NULL without memory. */
static char *splice(const char *existing, const char *ours)
{
	struct span at = find_ours(existing);

	if (at.begin < at.end)
		return io_format("%.*s%s%s", (int)at.begin, existing, ours, existing + at.end);
	return io_format("%.*s%s\"" JOBFIELD_KEY "\":%s%s", (int)at.begin, existing,
			 at.empty ? "" : ",", ours, existing + at.end);
}

int jobfield_merge(const char *existing, json_object *fabric, size_t max, char **text,
		   struct err *err)
{
	json_object *field = blank(existing) ? json_object_new_object() : parse_object(existing);
	bool foreign = !field && errno != ENOMEM;
	char *ours = json_line(fabric), *whole = NULL;
	int rc = 0;

	*text = NULL;
	if (foreign)
		rc = err_set(
			err, EEXIST,
			"AdminComment holds something that is no JSON object; it is left alone");
	else if (!field || !ours)
		rc = err_set(err, ENOMEM, "out of memory");
	else if (strlen(ours) > max)
		rc = err_set(err, E2BIG, "the job field's object has %zu bytes, %zu are allowed",
			     strlen(ours), max);
	if (rc == 0) {
		whole = splice(blank(existing) ? "{}" : existing, ours);
		if (!whole)
			rc = err_set(err, ENOMEM, "out of memory");
		else if (strlen(whole) > FIELD_MAX)
			rc = err_set(err, E2BIG,
				     "AdminComment would have %zu bytes, Slurm stores %d",
				     strlen(whole), FIELD_MAX);
	}
	free(ours);
	json_object_put(field);
	if (rc < 0) {
		free(whole);
		return rc;
	}
	*text = whole;
	return 0;
}

json_object *jobfield_extract(const char *text)
{
	json_object *field, *ours = NULL;

	errno = ENOENT;
	field = blank(text) ? NULL : parse_object(text);
	if (field && json_object_object_get_ex(field, JOBFIELD_KEY, &ours) &&
	    json_object_is_type(ours, json_type_object))
		json_object_get(ours);
	else
		ours = NULL;
	json_object_put(field);
	return ours;
}

static int64_t records_of(json_object *fabric)
{
	json_object *value = NULL;

	if (!fabric || !json_object_object_get_ex(fabric, "records", &value) ||
	    !json_object_is_type(value, json_type_int))
		return 0;
	return json_object_get_int64(value);
}

int jobfield_poorer(const char *existing, json_object *fabric)
{
	json_object *ours = jobfield_extract(existing);
	int poorer = records_of(ours) > records_of(fabric);

	if (!ours && errno == ENOMEM)
		return -ENOMEM;
	json_object_put(ours);
	return poorer;
}

/* ---- Extra ---- */

#define DIGEST_BEGIN JOBFIELD_KEY ":"

bool jobfield_digest_is_ours(const char *extra)
{
	return blank(extra) || !strncmp(extra, DIGEST_BEGIN, strlen(DIGEST_BEGIN));
}

/* Strings and numbers as text that is safe on a terminal; "" for what is not there. */
static const char *word_of(json_object *object, const char *key, char text[64])
{
	json_object *value = NULL;
	const char *string;

	json_object_object_get_ex(object, key, &value);
	string = value ? json_object_get_string(value) : NULL;
	return text_printable(string ? string : "", text, 64);
}

/* Adds the part, which is taken, if it still fits. */
static void add_part(struct io_text *digest, char *part)
{
	if (part && digest->used + strlen("; ") + strlen(part) <= JOBFIELD_EXTRA_MAX)
		io_add(digest, "; %s", part);
	digest->failed = digest->failed || !part;
	free(part);
}

static void add_suspects(struct io_text *digest, json_object *step)
{
	char name[64], node[64], device[64];
	json_object *suspects = NULL;

	if (!json_object_object_get_ex(step, "suspects", &suspects) ||
	    !json_object_is_type(suspects, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(suspects); i++) {
		json_object *suspect = json_object_array_get_idx(suspects, i);

		add_part(digest, io_format("step %s: %s %s suspect", word_of(step, "step", name),
					   word_of(suspect, "node", node),
					   word_of(suspect, "device", device)));
	}
}

char *jobfield_digest(json_object *fabric)
{
	struct io_text digest = { 0 };
	json_object *units = NULL, *steps = NULL;
	char word[64], other[64];

	io_add(&digest, DIGEST_BEGIN " %s", word_of(fabric, "state", word));
	if (json_has(fabric, "class"))
		add_part(&digest, io_format("%s", word_of(fabric, "class", word)));
	if (json_has(fabric, "nodes"))
		add_part(&digest, io_format("%s nodes", word_of(fabric, "nodes", word)));
	if (json_object_object_get_ex(fabric, "units", &units) && json_has(units, "used"))
		add_part(&digest, io_format("%s units, fewest %s", word_of(units, "used", word),
					    word_of(units, "fewest", other)));
	json_object_object_get_ex(fabric, "steps", &steps);
	for (size_t i = 0;
	     json_object_is_type(steps, json_type_array) && i < json_object_array_length(steps);
	     i++)
		add_suspects(&digest, json_object_array_get_idx(steps, i));
	return io_end(&digest);
}
