/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_layout.c - topology.conf, what scontrol shows of it, and topology.yaml: any bytes give
 * findings or a layout that can be checked, compared with itself, and written.
 */
#include "check.h"
#include "diff.h"
#include "fuzz.h"
#include "layout.h"
#include "yaml_conf.h"

static void use(const struct layout *l)
{
	const struct check_options options = { 2411, NULL, NULL, NULL };
	struct findings findings = { 0 }, changes = { 0 };
	bool restart;

	must(layout_check(l, &options, &findings) == 0);
	if (findings.fatal == 0) {
		must(layout_diff(l, l, &changes, &restart) == 0);
		must(!restart);
	}
	for (size_t i = 0; i < l->count; i++)
		free(fuzz_have(layout_text(&l->topologies[i], "")));
	findings_clear(&findings);
	findings_clear(&changes);
}

static void run(const char *data, size_t len)
{
	static int (*const parse[])(const char *, size_t, struct layout *,
				    struct findings *) = { layout_parse, layout_parse_shown,
							   layout_parse_yaml };

	for (size_t i = 0; i < sizeof(parse) / sizeof(parse[0]); i++) {
		struct findings findings = { 0 };
		struct layout l;
		must(parse[i](data, len, &l, &findings) == 0);
		use(&l);
		findings_clear(&findings);
		layout_clear(&l);
	}
}

const struct fuzz_target fuzz_layout = { "layout", "", run };
