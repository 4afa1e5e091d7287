/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_partitions.c - opensm's partitions.conf, and a pattern that ports are asked for by: the
 * first line of the input is the pattern.
 */
#include "fuzz.h"
#include "partitions.h"

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *end = strchr(text, '\n');
	const char *file = end ? end + 1 : "";
	struct err err = { "" };
	struct partitions *p = partitions_parse(file, strlen(file), "fuzz", &err);

	must(p || err.text[0]);
	if (end)
		*end = '\0';
	if (p) {
		must(!partitions_hold(p, 0, text));
		partitions_hold(p, 0xb83fd20300100002, text);
	}
	partitions_free(p);
	free(text);
}

const struct fuzz_target fuzz_partitions = { "partitions", "", run };
