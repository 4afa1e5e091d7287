/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_conf.c - fabric.conf: what is taken lies within its bounds, what is not says why.
 */
#include "conf.h"
#include "fuzz.h"

static void run(const char *data, size_t len)
{
	struct err err = { "" };
	struct conf *c = conf_load(fuzz_file(data, len), false, &err);
	char *dir;

	must(c || err.text[0]);
	if (!c)
		return;
	must(c->sample_min_ns <= c->sample_ns && c->sample_ns <= c->sample_max_ns);
	must(c->run_dir[0] == '/' && c->spool_dir[0] == '/' && c->state_dir[0] == '/');
	must(c->fabric_json[0] && c->root[0] == '/');
	must(conf_find_class(c, "any") && conf_find_class(c, "compact"));
	for (size_t i = 0; i < c->server_count; i++)
		must(strchr(c->servers[i], ':'));
	for (size_t i = 0; i < c->class_count; i++)
		must(c->classes[i].wait_ns >= 0);
	dir = fuzz_have(conf_expand(c->run_dir, "n1"));
	must(dir[0] == '/');
	free(dir);
	conf_free(c);
}

const struct fuzz_target fuzz_conf = { "conf", "../../contrib/fabric.conf", run };
