/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_ibnetdiscover.c - a recorded fabric in each form that is known (ibnetdiscover's text, its
 * cache, LLDP of several machines), up to the files that are made of it: fabric.json can be read
 * and stays as it is, and topology.conf can be written. A target a form: each begins with seeds of
 * its own, and keeps a corpus of its own.
 */
#include "fuzz.h"
#include "input.h"
#include "model.h"
#include "tree_conf.h"

static void check_tree(const struct fabric *f)
{
	struct tree_report report = { 0 };
	struct err err = { "" };
	char *text = tree_conf_text(f, NULL, 0, false, "fuzz", "fuzz", &report, &err);

	must(text || err.text[0]);
	free(text);
	tree_report_clear(&report);
}

static void check_fabric(const struct subnet *s)
{
	struct notes notes = { 0 };
	struct err err = { "" };
	const struct model_options options = { .directors_are_one = true };
	struct fabric *f = model_build(s, "file", "fuzz", 1, &options, &notes, &err), *again;
	char *text, *same;

	must(f || err.text[0]);
	if (!f) {
		notes_clear(&notes);
		return;
	}
	text = fuzz_have(fabric_text(f));
	again = fabric_parse(text, strlen(text), "fuzz", &err);
	if (!again)
		fuzz_broken(__FILE__, __LINE__, err.text);
	same = fuzz_have(fabric_text(again));
	must(fuzz_same(text, same));
	check_tree(f);
	fabric_free(again);
	fabric_free(f);
	notes_clear(&notes);
	free(same);
	free(text);
}

/* Takes what was added. */
static void finish(struct input *in, int rc, struct err *err)
{
	struct subnet *s = NULL;

	if (rc == 0)
		s = input_finish(in, err);
	else
		input_free(in);
	must(s || err->text[0]);
	if (s)
		check_fabric(s);
	subnet_free(s);
}

static void run(const char *data, size_t len)
{
	struct input *in = fuzz_have(input_new(NULL));
	struct err err = { "" };

	finish(in, input_add(in, data, len, "fuzz", &err), &err);
}

/* Several files, which are called a, b and so on. */
static void run_files(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *parts[4], name[] = "a";
	size_t count = fuzz_cut(text, parts, sizeof(parts) / sizeof(parts[0]));
	struct input *in = fuzz_have(input_new(NULL));
	struct err err = { "" };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++, name[0]++)
		rc = input_add(in, parts[i], strlen(parts[i]), name, &err);
	finish(in, rc, &err);
	free(text);
}

const struct fuzz_target fuzz_ibnetdiscover = { "ibnetdiscover", "topology/*.topo", run };
const struct fuzz_target fuzz_cache = { "cache", "", run };
const struct fuzz_target fuzz_lldp = { "lldp", "", run_files };
