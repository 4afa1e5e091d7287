/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_conf.c - sfabric-topology conf: topology.conf of a fabric.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "io.h"
#include "tree_conf.h"

static const char conf_help[] =
	"Usage: sfabric-topology conf [OPTION]...\n"
	"Writes topology.conf for TopologyPlugin=topology/tree, to standard output without -o.\n"
	"\n"
	"      --fabric FILE      the fabric.json to use; default: fabric_json of fabric.conf\n"
	"      --from FILE        use recorded files instead, as discover does; with --names, "
	"--only\n"
	"                         and --skip\n"
	"  -o, --output FILE      replace FILE atomically, only if the text changed\n"
	"      --nodes LIST       only these hosts (a Slurm host list); slurm: the nodes of\n"
	"                         slurm.conf; all: every host (default)\n"
	"      --slurm-conf FILE  for --nodes slurm; default: where fabric.conf or Slurm has it\n"
	"      --accept-partial   write also when something is known to be missing\n"
	"      --json             a summary as JSON on standard output; needs -o\n"
	"  -h, --help             this text\n" EXIT_HELP;

static const struct option conf_options[] = {
	DISCOVERY_OPTIONS,
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "output", required_argument, NULL, 'o' },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "slurm-conf", required_argument, NULL, OPT_SLURM_CONF },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const struct command conf_command = {
	.help = conf_help,
	.letters = "o:h",
	.options = conf_options,
};

/* "fabric.json of live mlx5_0:1, first seen 2025-11-30T19:00:00Z": equal for an equal fabric. */
static char *describe_snapshot(const struct options *o, const struct fabric *f)
{
	time_t seconds = (time_t)(f->seen_ns / 1000000000);
	char when[32];
	struct tm tm;

	if (o->from_count)
		return io_format("from %s", f->source);
	if (!gmtime_r(&seconds, &tm) ||
	    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return io_format("%s %s", f->how, f->source);
	return io_format("%s %s, first seen %s", f->how, f->source, when);
}

static void say_tree(const struct options *o, const struct outcome *out)
{
	const struct tree_report *t = &out->tree;

	if (t->unplaced_count)
		say("left out, on no switch: %s", t->unplaced);
	if (t->unknown_count)
		say("left out, not in the fabric: %s", t->unknown);
	say("%zu hosts in %zu units, %zu pods, %zu roots%s%s", t->hosts, t->units, t->pods,
	    t->roots, o->output ? out->changed ? "; wrote " : "; unchanged: " : "",
	    o->output ? o->output : "");
}

static int write_tree(const struct options *o, struct outcome *out,
		      const struct wanted_list *wanted)
{
	char *snapshot = describe_snapshot(o, out->fabric), *text = NULL;
	struct err err = { "out of memory" };
	int status;

	if (snapshot)
		text = tree_conf_text(out->fabric, wanted->nodes, wanted->count,
				      "sfabric-topology " PACKAGE_VERSION, snapshot, &out->tree,
				      &err);
	free(snapshot);
	if (!text) {
		if (out->tree.unknown_count)
			say("not in the fabric: %.400s", out->tree.unknown);
		say("%s", err.text);
		return out->tree.unknown ? NOTHING : FAILED;
	}
	status = write_text(o, text, &out->changed);
	free(text);
	if (status == DONE)
		say_tree(o, out);
	return status;
}

int cmd_conf(int argc, char **argv)
{
	struct outcome out = { .command = "conf" };
	struct wanted_list wanted = { 0 };
	struct options o;
	int status;

	if (!read_options(&conf_command, argc, argv, &o, NULL, &status))
		return status;
	status = read_nodes(&o, &wanted);
	if (status == DONE)
		status = check_output(&o);
	if (status == DONE)
		status = o.from_count ? discover(&o, &out) : read_fabric(&o, &out);
	if (status == DONE)
		status = judge(&o, &out);
	if (status == DONE)
		status = write_tree(&o, &out, &wanted);
	wanted_clear(&wanted);
	return finish(&o, &out, status);
}
