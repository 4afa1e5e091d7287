/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_record.c - a step record: what is read is written as one line of at most RECORD_MAX_BYTES,
 * and that line stays as it is.
 */
#include "fuzz.h"
#include "record.h"

static void run(const char *data, size_t len)
{
	struct err err = { "" };
	struct record *r = record_parse(data, len, "fuzz", &err), *again;
	char *line, *same;

	must(r || err.text[0]);
	if (!r)
		return;
	line = record_line(r);
	if (line) { /* else not even the least of it fits: its texts are longer than they look */
		must(strlen(line) <= RECORD_MAX_BYTES);
		again = fuzz_have(record_parse(line, strlen(line), "fuzz", &err));
		same = fuzz_have(record_line(again));
		must(fuzz_same(line, same));
		record_free(again);
		free(same);
	}
	free(line);
	record_free(r);
}

const struct fuzz_target fuzz_record = { "record", "contract/record.json", run };
