/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_check.c - sfabric-topology check: whether slurmctld takes a topology file, and what it then
 * does with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_slurm.h"
#include "io.h"
#include "json.h"

enum { GOOD = 0, WARNED = 1, REFUSED = 3 };

static const char check_help[] =
	"Usage: sfabric-topology check [OPTION]... FILE\n"
	"Says what slurmctld refuses, or warns of, in a topology.conf or topology.yaml, which "
	"nodes\n"
	"no job can use together, and what is not as in the fabric.\n"
	"\n"
	"      --slurm RELEASE    of this release, such as 24.11; default: the installed one\n"
	"      --nodes LIST       the nodes that Slurm has; slurm: those of slurm.conf; all: do "
	"not\n"
	"                         compare (default)\n"
	"      --slurm-conf FILE  for --nodes slurm; default: where fabric.conf or Slurm has it\n"
	"      --fabric FILE      compare with this fabric.json\n"
	"      --json             the findings as JSON\n"
	"  -h, --help             this text\n"
	"\n"
	"Exit status: 0 nothing found, 1 only what slurmctld takes, 2 wrong use, 3 slurmctld "
	"refuses\n"
	"the file, 4 an input could not be read.\n";

enum { OPT_SLURM = OPT_OWN };

static const struct option check_options[] = {
	{ "slurm", required_argument, NULL, OPT_SLURM },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "slurm-conf", required_argument, NULL, OPT_SLURM_CONF },
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static bool take_check_option(int c, void *own)
{
	const char **slurm = own;

	if (c == OPT_SLURM)
		*slurm = optarg;
	return c == OPT_SLURM;
}

static const struct command check_command = {
	.help = check_help,
	.letters = "h",
	.options = check_options,
	.files = 1,
	.take = take_check_option,
};

static int by_line(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return y->fatal - x->fatal;
}

static void print_findings(const char *path, const struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		printf("%s:", path);
		if (f->all[i].line)
			printf("%zu:", f->all[i].line);
		printf(" %s: %s\n", f->all[i].fatal ? "refused" : "warning", f->all[i].text);
	}
}

static void print_verdict(const char *path, const struct layout *l, int release,
			  const struct findings *f)
{
	printf("%s:", path);
	for (size_t i = 0; i < l->count; i++) {
		const struct layout_topology *t = &l->topologies[i];
		printf("%s %s%s%s, %zu %s", i ? ";" : "", t->name ? t->name : "",
		       t->name ? ": " : "", layout_kind_name(t->kind), t->count,
		       t->kind == LAYOUT_TREE ? "switches" : "parts");
	}
	printf("; Slurm %d.%02d %s it; distances between switches cost its start %.2f s\n",
	       release / 100, release % 100,
	       f->fatal	  ? "refuses"
	       : f->count ? "takes"
			  : "likes",
	       check_start_seconds(l));
}

static int put_finding(json_object *array, const struct finding *f)
{
	json_object *one = json_object_new_object();
	int rc = one ? 0 : -ENOMEM;

	if (rc == 0)
		rc = json_put_bool(one, "refused", f->fatal);
	if (rc == 0 && f->line)
		rc = json_put_u64(one, "line", f->line);
	if (rc == 0)
		rc = json_put_string(one, "text", f->text);
	if (rc == 0 && json_object_array_add(array, one) != 0)
		rc = -ENOMEM;
	if (rc < 0)
		json_object_put(one);
	return rc;
}

static int print_json(const char *path, int release, const struct layout *l,
		      const struct findings *f)
{
	json_object *top = json_object_new_object(), *array = json_object_new_array();
	char slurm[16];
	int rc = top && array ? json_put_string(top, "file", path) : -ENOMEM;

	snprintf(slurm, sizeof(slurm), "%d.%02d", release / 100, release % 100);
	if (rc == 0)
		rc = json_put_string(top, "slurm", slurm);
	if (rc == 0)
		rc = json_put_bool(top, "refused", f->fatal > 0);
	if (rc == 0)
		rc = json_put_u64(top, "start_cost_ms", (uint64_t)(check_start_seconds(l) * 1000));
	for (size_t i = 0; rc == 0 && i < f->count; i++)
		rc = put_finding(array, &f->all[i]);
	return print_object(top, "findings", array, rc);
}

/* What the file is compared with. */
struct context {
	struct wanted_list nodes;
	struct slurmconf slurm;
	struct outcome fabric;
	struct check_options options;
};

static int read_context(const struct options *o, struct context *x)
{
	int status = read_nodes(o, &x->nodes);

	if (status == DONE && wants_slurm(o))
		status = read_slurmconf(o, &x->slurm);
	if (status == DONE && o->fabric)
		status = read_fabric(o, &x->fabric);
	x->options.nodes = o->nodes ? &x->nodes : NULL;
	x->options.slurm = wants_slurm(o) ? &x->slurm : NULL;
	x->options.fabric = x->fabric.fabric;
	return status;
}

static void context_clear(struct context *x)
{
	wanted_clear(&x->nodes);
	slurmconf_clear(&x->slurm);
	fabric_free(x->fabric.fabric);
}

int cmd_check(int argc, char **argv)
{
	struct findings findings = { 0 };
	struct context x = { 0 };
	struct layout l = { 0 };
	const char *slurm = NULL, *path;
	struct options o;
	int status;

	if (!read_options(&check_command, argc, argv, &o, &slurm, &status))
		return status;
	if (o.file_count != 1) {
		say("check takes the file to check; try --help");
		return WRONG_USE;
	}
	path = o.files[0];
	x.options.release = slurm_release(slurm);
	if (x.options.release == 0)
		return WRONG_USE;
	status = read_context(&o, &x);
	if (status == DONE)
		status = read_layout(path, &l, &findings);
	if (status == DONE && layout_check(&l, &x.options, &findings) < 0) {
		say("out of memory");
		status = FAILED;
	}
	if (status == DONE) {
		if (findings.count)
			qsort(findings.all, findings.count, sizeof(*findings.all), by_line);
		if (o.json) {
			status = print_json(path, x.options.release, &l, &findings);
		} else {
			print_findings(path, &findings);
			print_verdict(path, &l, x.options.release, &findings);
			status = print("");
		}
	}
	if (status == DONE)
		status = findings.fatal ? REFUSED : findings.count ? WARNED : GOOD;
	findings_clear(&findings);
	layout_clear(&l);
	context_clear(&x);
	return status;
}
