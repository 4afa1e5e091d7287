/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobfield.c - see jobfield.h.
 */
#include "jobfield.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_MAX 65535 /* the column in Slurm's database is TEXT; longer values are cut there */

static bool blank(const char *text)
{
	return !text || text[strspn(text, " \t\r\n")] == '\0';
}

static json_object *parse_object(const char *text)
{
	json_object *value = json_parse(text, strlen(text), "AdminComment", NULL);

	if (json_object_is_type(value, json_type_object))
		return value;
	json_object_put(value);
	return NULL;
}

int jobfield_merge(const char *existing, json_object *fabric, size_t max, char **text, struct err *err)
{
	json_object *field = blank(existing) ? json_object_new_object() : parse_object(existing);
	char *ours = json_line(fabric), *whole = NULL;
	int rc = 0;

	if (!field)
		rc = err_set(err, EEXIST, "AdminComment holds something that is no JSON object; it is left alone");
	else if (!ours)
		rc = err_set(err, ENOMEM, "out of memory");
	else if (strlen(ours) > max)
		rc = err_set(err, E2BIG, "the job field's object has %zu bytes, %zu are allowed", strlen(ours), max);
	free(ours);
	if (rc == 0) {
		json_object_object_add(field, JOBFIELD_KEY, json_object_get(fabric));
		whole = json_line(field);
		if (!whole)
			rc = err_set(err, ENOMEM, "out of memory");
		else if (strlen(whole) > FIELD_MAX)
			rc = err_set(err, E2BIG, "AdminComment would have %zu bytes, Slurm stores %d",
				     strlen(whole), FIELD_MAX);
	}
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
	json_object *field = blank(text) ? NULL : parse_object(text), *ours = NULL;

	if (field && json_object_object_get_ex(field, JOBFIELD_KEY, &ours) &&
	    json_object_is_type(ours, json_type_object))
		json_object_get(ours);
	else
		ours = NULL;
	json_object_put(field);
	return ours;
}
