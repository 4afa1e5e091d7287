/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_jobfield.c - our object in somebody else's AdminComment: the first part of the input is what
 * the field holds, the second our object. What was put in is what is found; putting it in again
 * changes nothing; and all that was not ours is there.
 */
#include "fuzz.h"
#include "jobfield.h"

/* As texts: NaN, which json-c takes, is not equal to itself. */
static bool equal(json_object *a, json_object *b)
{
	char *x = fuzz_have(json_line(a)), *y = fuzz_have(json_line(b));
	bool same = fuzz_same(x, y);

	free(x);
	free(y);
	return same;
}

/* The other people's keys of both texts say the same. */
static void check_others(const char *before, const char *after)
{
	json_object *a = json_parse(before, strlen(before), "before", NULL);
	json_object *b = fuzz_have(json_parse(after, strlen(after), "after", NULL));

	if (a) {
		json_object_object_del(a, JOBFIELD_KEY);
		json_object_object_del(b, JOBFIELD_KEY);
		must(equal(a, b));
	}
	json_object_put(a);
	json_object_put(b);
}

static void check_merged(const char *before, json_object *ours, const char *after)
{
	json_object *found = fuzz_have(jobfield_extract(after));
	char *again = NULL;

	must(equal(found, ours));
	json_object_put(found);
	check_others(before, after);
	must(!jobfield_poorer(after, ours));
	must(jobfield_merge(after, ours, JOBFIELD_FINAL_MAX, &again, NULL) == 0);
	must(fuzz_same(after, again));
	free(again);
}

static void run(const char *data, size_t len)
{
	static const char plain[] = "{\"version\":1,\"records\":5}";
	char *text = fuzz_text(data, len), *parts[2], *merged;
	const char *second = fuzz_cut(text, parts, 2) > 1 ? parts[1] : plain;
	json_object *ours = json_parse(second, strlen(second), "fuzz", NULL);
	int rc;

	if (!json_object_is_type(ours, json_type_object)) {
		json_object_put(ours);
		ours = fuzz_have(json_parse(plain, strlen(plain), "plain", NULL));
	}
	jobfield_poorer(parts[0], ours);
	rc = jobfield_merge(parts[0], ours, JOBFIELD_FINAL_MAX, &merged, NULL);
	must(rc == 0 || rc == -EEXIST || rc == -E2BIG);
	must(!merged == (rc < 0));
	if (merged)
		check_merged(parts[0], ours, merged);
	free(merged);
	json_object_put(ours);
	free(text);
}

const struct fuzz_target fuzz_jobfield = { "jobfield", "contract/jobfield.json", run };
