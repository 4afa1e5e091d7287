/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_timeline.c - a timeline that a crash left: the input is the file, which is read to its end
 * and closed for good. It is also a row's counts.
 */
#include <unistd.h>

#include "fuzz.h"
#include "timeline.h"

#define SERIES 64

static void check_counts(const char *data, size_t len)
{
	uint64_t values[SERIES], same[SERIES];
	bool valid[SERIES], still[SERIES];
	long count = timeline_unpack((const unsigned char *)data, len, values, valid, SERIES);
	unsigned char *blob;
	size_t size;

	if (count < 0)
		return;
	blob = fuzz_have(timeline_pack(values, valid, (size_t)count, &size));
	must(size == len && timeline_unpack(blob, size, same, still, SERIES) == count);
	for (long i = 0; i < count; i++)
		must(still[i] == valid[i] && (!valid[i] || same[i] == values[i]));
	free(blob);
}

static void read_all(struct timeline_view *v)
{
	struct timeline_sample sample;

	while (timeline_next(v, &sample, NULL) > 0)
		must(sample.count <= v->series_count);
}

static void run(const char *data, size_t len)
{
	char *path = fuzz_have(io_format("%s/7.3.x.db", fuzz_folder()));
	struct timeline_view *v;
	struct record *r = NULL;
	struct err err = { "" };

	check_counts(data, len);
	fuzz_put("7.3.x.db", data, len);
	v = timeline_open(path, &err);
	must(v || err.text[0]);
	if (v) {
		read_all(v);
		r = v->record;
		v->record = NULL;
	}
	timeline_view_free(v);
	if (r)
		timeline_close_file(path, r, NULL);
	record_free(r);
	unlink(path);
	free(path);
}

const struct fuzz_target fuzz_timeline = { "timeline", "", run };
