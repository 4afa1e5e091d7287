/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_sinfo.c - what sinfo prints, and streams of jobs: text that is taken has names and numbers
 * in their bounds, and each node once.
 */
#include "fuzz.h"
#include "jobs.h"
#include "sinfo.h"
#include "text.h"

static void check_jobs(struct jobs *j)
{
	for (size_t i = 0; j && i < j->count; i++) {
		must(j->job[i].nodes > 0 && j->job[i].run_s > 0);
		must(j->job[i].limit_s >= j->job[i].run_s);
		must(i == 0 || j->job[i].submit_s >= j->job[i - 1].submit_s);
		must(j->job[i].gpus < 8);
	}
	jobs_free(j);
}

static void run(const char *data, size_t len)
{
	char *text =
		fuzz_text(data, len); /* the parsers look for a NUL no more than for a newline */
	struct err err = { "" };
	struct sinfo *s = sinfo_parse(text, len, "sinfo", &err);

	must(s || err.text[0]);
	for (uint32_t i = 0; s && i < s->count; i++) {
		must(name_valid(s->names[i], 63));
		for (uint32_t other = 0; other < i && i < 100; other++)
			must(!fuzz_same(s->names[i], s->names[other]));
	}
	sinfo_free(s);
	check_jobs(jobs_swf(text, len, 8, "swf", &err));
	check_jobs(jobs_sacct(text, len, 8, "sacct", &err));
	free(text);
}

const struct fuzz_target fuzz_sinfo = { "sinfo", "", run };
