/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_json.c - the reader of all our JSON: what is read, written on one line or on many, is the
 * same value; and the reader that skips what it does not want finds what the other one does.
 */
#include "fuzz.h"
#include "json.h"

static void check_written(json_object *value)
{
	char *line = fuzz_have(json_line(value)), *text = fuzz_have(json_text(value)), *same;
	json_object *again = fuzz_have(json_parse(line, strlen(line), "line", NULL));

	same = fuzz_have(json_text(again));
	must(fuzz_same(text, same));
	json_object_put(again);
	free(same);
	free(text);
	free(line);
}

static void check_keys(json_object *value, const char *data, size_t len)
{
	static const char *const keys[] = { "a", "format", "hosts", NULL };
	json_object *some = json_parse_keys(data, len, keys, "fuzz", NULL), *one, *other;

	for (size_t i = 0; some && value && keys[i]; i++) {
		if (!json_object_object_get_ex(some, keys[i], &one))
			continue;
		must(json_object_object_get_ex(value, keys[i], &other));
		must(json_object_equal(one, other));
	}
	json_object_put(some);
}

static void run(const char *data, size_t len)
{
	struct err err = { "" };
	json_object *value = json_parse(data, len, "fuzz", &err);

	must(value || err.text[0]);
	check_keys(value, data, len);
	if (value)
		check_written(value);
	json_object_put(value);
}

const struct fuzz_target fuzz_json = { "json", "contract/health.json contract/jobfield.json", run };
