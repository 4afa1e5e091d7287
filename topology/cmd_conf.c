/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_conf.c - sfabric-topology conf: topology.conf or topology.yaml of a fabric.
 *
 * All forms come from the tree: blocks are its leaves, put together by pods, and a topology.yaml
 * has both, and a flat topology. Whatever it is, it is read back and checked before it is written:
 * what slurmctld would refuse replaces no file.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "block_conf.h"
#include "cli.h"
#include "cli_slurm.h"
#include "hosts.h"
#include "io.h"
#include "text.h"
#include "tree_conf.h"
#include "yaml_conf.h"

static const char conf_help[] =
	"Usage: sfabric-topology conf [OPTION]...\n"
	"Writes topology.conf or topology.yaml for Slurm, to standard output without -o.\n"
	"\n"
	"      --format FORM      tree (default): topology.conf for topology/tree; block: for\n"
	"                         topology/block; yaml: topology.yaml with tree, block and flat\n"
	"      --slurm RELEASE    as this release of Slurm has it, such as 24.11; default: the\n"
	"                         installed one\n"
	"      --full             list every switch above the leaves, instead of one for each pod\n"
	"                         and island; slurmctld starts slower then\n"
	"      --block-size N     nodes that each block has at least; default: chosen by the "
	"units\n"
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

enum { OPT_FORMAT = OPT_OWN, OPT_SLURM, OPT_BLOCK_SIZE, OPT_FULL };

static const struct option conf_options[] = {
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "slurm", required_argument, NULL, OPT_SLURM },
	{ "block-size", required_argument, NULL, OPT_BLOCK_SIZE },
	{ "full", no_argument, NULL, OPT_FULL },
	DISCOVERY_OPTIONS,
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "output", required_argument, NULL, 'o' },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "slurm-conf", required_argument, NULL, OPT_SLURM_CONF },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* Which form the tree takes. */
struct form {
	const char *name; /* NULL: tree */
	const char *slurm;
	unsigned block_size; /* 0: chosen */
	int release;
	bool full;
};

static bool take_conf_option(int c, void *own)
{
	struct form *form = own;

	if (c == OPT_SLURM) {
		form->slurm = optarg;
		return true;
	}
	if (c == OPT_FULL) {
		form->full = true;
		return true;
	}
	if (c == OPT_BLOCK_SIZE)
		return number("--block-size", optarg, WANTED_MAX, &form->block_size);
	if (c != OPT_FORMAT)
		return false;
	form->name = optarg;
	if (strcmp(optarg, "tree") == 0 || strcmp(optarg, "block") == 0 ||
	    strcmp(optarg, "yaml") == 0)
		return true;
	say("--format takes tree, block or yaml, not \"%s\"", optarg);
	return false;
}

static const struct command conf_command = {
	.help = conf_help,
	.letters = "o:h",
	.options = conf_options,
	.take = take_conf_option,
};

static bool is_form(const struct form *form, const char *name)
{
	return strcmp(form->name ? form->name : "tree", name) == 0;
}

/* Blocks and topology.yaml are not in every release; what tree needs is in all. */
static int check_form(struct form *form)
{
	int since = is_form(form, "block")  ? RELEASE_BLOCK
		    : is_form(form, "yaml") ? RELEASE_YAML
					    : 0;

	if (form->block_size && !since) {
		say("--block-size needs --format block or yaml");
		return WRONG_USE;
	}
	if (form->full && is_form(form, "block")) {
		say("--full is for --format tree and yaml: blocks have nothing above them");
		return WRONG_USE;
	}
	form->release = form->slurm || since ? slurm_release(form->slurm) : RELEASE_TREE;
	if (form->release == 0)
		return WRONG_USE;
	if (form->release >= since)
		return DONE;
	say("--format %s is for Slurm from %d.%02d on, and this is %d.%02d; --slurm names another",
	    form->name, since / 100, since % 100, form->release / 100, form->release % 100);
	return WRONG_USE;
}

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
	say("%zu hosts in %zu units, %zu %s, %zu roots%s%s", t->hosts, t->units,
	    t->switches ? t->switches : t->pods, t->switches ? "switches above them" : "pods",
	    t->roots, o->output ? out->changed ? "; wrote " : "; unchanged: " : "",
	    o->output ? o->output : "");
}

/* The lines of comment in front of a tree, but for the first, behind another first one. */
static char *comments_of(const char *tree, const char *what)
{
	struct io_text out = { 0 };

	io_add(&out, "# %s Changes made by hand get lost.\n", what);
	for (const char *p = strchr(tree, '\n'); p && p[1] == '#';) {
		const char *end = strchr(p + 1, '\n');
		io_add(&out, "%.*s", (int)(end ? end - p : 0), p + 1);
		p = end;
	}
	return io_end(&out);
}

static int by_name(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

struct name_list {
	char **names; /* sorted */
	size_t count;
};

/* Of host lists with a comma behind each; taken over. */
static int list_names(char *lists, struct name_list *out)
{
	int rc = lists ? hosts_expand(lists, WANTED_MAX, &out->names, &out->count, NULL) : -ENOMEM;

	free(lists);
	if (rc == 0 && out->count)
		qsort(out->names, out->count, sizeof(*out->names), by_name);
	return rc;
}

static bool is_listed(const struct name_list *list, char *name)
{
	return list->count && bsearch(&name, list->names, list->count, sizeof(name), by_name);
}

static int nodes_of_tree(const struct layout_topology *tree, struct name_list *out)
{
	struct io_text all = { 0 };

	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].nodes)
			io_add(&all, "%s,", tree->items[i].nodes);
	return list_names(io_end(&all), out);
}

static int nodes_of_slurm(const struct slurmconf *s, struct name_list *out)
{
	struct io_text all = { 0 };

	for (size_t i = 0; i < s->node_count; i++)
		io_add(&all, "%s,", s->nodes[i].names);
	return list_names(io_end(&all), out);
}

/*
 * With a tree, a node that is in none of its switches gets no job of several nodes: flat is for a
 * partition that has only such. Where words are no nodes (ALL, sets of nodes) that is not known.
 */
static const char *topology_for(const char *nodes, const struct name_list *tree,
				const struct name_list *slurm)
{
	char **names = NULL;
	size_t count = 0, outside = 0;

	if (!nodes || hosts_expand(nodes, WANTED_MAX, &names, &count, NULL) < 0)
		return "tree";
	for (size_t i = 0; i < count; i++)
		outside += is_listed(slurm, names[i]) && !is_listed(tree, names[i]);
	hosts_free(names, count);
	return count && outside == count ? "flat" : "tree";
}

/* "#   PartitionName=gpu ... Topology=tree": what a partition can have, by where its nodes are. */
static void add_partitions(struct io_text *out, const struct slurmconf *s,
			   const struct name_list *tree, const struct name_list *slurm)
{
	char name[80];

	io_add(out, "# Partitions of slurm.conf have the cluster's default, tree, unless they say "
		    "otherwise:\n");
	for (size_t i = 0; i < s->partition_count; i++)
		io_add(out, "#   PartitionName=%s ... Topology=%s\n",
		       text_printable(s->partitions[i].name, name, sizeof(name)),
		       topology_for(s->partitions[i].nodes, tree, slurm));
}

/* The comments with what partitions can have behind them; without --nodes slurm as they are. */
static int tell_partitions(const struct options *o, const struct layout_topology *tree,
			   char **comments, struct err *err)
{
	struct name_list in_tree = { 0 }, in_slurm = { 0 };
	struct io_text out = { 0 };
	struct slurmconf s;
	int rc = 0;

	if (!wants_slurm(o))
		return 0;
	if (read_slurmconf(o, &s) != DONE)
		rc = err_set(err, EINVAL, "slurm.conf can't be read");
	else if (nodes_of_tree(tree, &in_tree) < 0 || nodes_of_slurm(&s, &in_slurm) < 0)
		rc = err_set(err, ENOMEM, "out of memory");
	if (rc == 0) {
		io_add(&out, "%s", *comments);
		add_partitions(&out, &s, &in_tree, &in_slurm);
		free(*comments);
		*comments = io_end(&out);
		rc = *comments ? 0 : -ENOMEM;
	}
	hosts_free(in_tree.names, in_tree.count);
	hosts_free(in_slurm.names, in_slurm.count);
	slurmconf_clear(&s);
	return rc;
}

/* The first topology of l is the tree; adds another of that name. NULL without memory. */
static struct layout_topology *add_topology(struct layout *l, const char *name)
{
	struct layout_topology *t = layout_add(l);

	if (t)
		t->name = strdup(name);
	return t && t->name ? t : NULL;
}

/* Adds blocks to l, which has the tree. 0, or a negative errno and err. */
static int add_blocks(struct outcome *out, const struct form *form, struct layout *l,
		      struct err *err)
{
	struct layout_topology *t = add_topology(l, "block");

	if (!t)
		return err_set(err, ENOMEM, "out of memory");
	return block_conf(out->fabric, &l->topologies[0], form->release, (long)form->block_size, t,
			  &out->notes, err);
}

/* tree, block and flat; without blocks, where there can't be any. */
static char *yaml_text(struct outcome *out, const struct form *form, struct layout *l,
		       const char *comments, struct err *err)
{
	int rc = add_blocks(out, form, l, err);

	if (rc == -ENODATA) {
		notes_add(&out->notes, "%s", err->text);
		free(l->topologies[--l->count].name);
	} else if (rc < 0) {
		return NULL;
	}
	l->topologies[0].name = strdup("tree");
	l->topologies[0].is_default = true;
	if (!l->topologies[0].name || !add_topology(l, "flat"))
		return NULL;
	l->topologies[l->count - 1].kind = LAYOUT_FLAT;
	return yaml_conf_text(l, comments);
}

/* The text in the form that was asked for, out of a tree's; NULL and err. */
static char *form_text(const struct options *o, struct outcome *out, const struct form *form,
		       const char *tree, struct err *err)
{
	bool yaml = is_form(form, "yaml");
	char *comments = comments_of(
		tree, yaml ? "topology.yaml." : "topology.conf for TopologyPlugin=topology/block.");
	struct findings findings = { 0 };
	struct layout l = { 0 };
	char *text = NULL;

	err_set(err, ENOMEM, "out of memory");
	if (comments && layout_parse(tree, strlen(tree), &l, &findings) == 0 &&
	    (!yaml || tell_partitions(o, &l.topologies[0], &comments, err) == 0)) {
		if (yaml)
			text = yaml_text(out, form, &l, comments, err);
		else if (add_blocks(out, form, &l, err) == 0)
			text = layout_text(&l.topologies[1], comments);
	}
	free(comments);
	layout_clear(&l);
	findings_clear(&findings);
	return text;
}

/* What slurmctld would refuse is never written: it would be our mistake. */
static bool is_accepted(const struct form *form, const struct wanted_list *wanted, const char *text)
{
	struct check_options options = { form->release, wanted->count ? wanted : NULL, NULL, NULL };
	struct findings findings = { 0 };
	struct layout l = { 0 };
	bool yaml = is_form(form, "yaml");
	int rc = yaml ? layout_parse_yaml(text, strlen(text), &l, &findings)
		      : layout_parse(text, strlen(text), &l, &findings);

	if (rc == 0)
		rc = layout_check(&l, &options, &findings);
	for (size_t i = 0; i < findings.count; i++)
		if (findings.all[i].fatal)
			say("slurmctld would refuse line %zu: %s", findings.all[i].line,
			    findings.all[i].text);
	rc = rc < 0 || findings.fatal;
	findings_clear(&findings);
	layout_clear(&l);
	if (rc)
		say("nothing is written");
	return !rc;
}

static int write_conf(const struct options *o, struct outcome *out, const struct form *form,
		      const struct wanted_list *wanted)
{
	char *snapshot = describe_snapshot(o, out->fabric), *text = NULL, *other;
	struct err err = { "out of memory" };
	size_t noted = out->notes.kept;
	int status = FAILED;

	if (snapshot)
		text = tree_conf_text(out->fabric, wanted->nodes, wanted->count, form->full,
				      "sfabric-topology " PACKAGE_VERSION, snapshot, &out->tree,
				      &err);
	free(snapshot);
	if (!text && out->tree.unknown_count)
		say("not in the fabric: %.400s", out->tree.unknown);
	if (!text && out->tree.unknown)
		status = NOTHING;
	if (text && !is_form(form, "tree")) {
		other = form_text(o, out, form, text, &err);
		free(text);
		text = other;
	}
	if (!text)
		say("%s", err.text);
	say_all("", out->notes.lines + noted, out->notes.kept - noted, out->notes.kept - noted);
	if (text && is_accepted(form, wanted, text))
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
	struct form form = { 0 };
	struct options o;
	int status;

	if (!read_options(&conf_command, argc, argv, &o, &form, &status))
		return status;
	status = check_form(&form);
	if (status == DONE)
		status = read_nodes(&o, &wanted);
	if (status == DONE)
		status = check_output(&o);
	if (status == DONE)
		status = o.from_count ? discover(&o, &out) : read_fabric(&o, &out);
	if (status == DONE)
		status = judge(&o, &out);
	if (status == DONE)
		status = write_conf(&o, &out, &form, &wanted);
	wanted_clear(&wanted);
	return finish(&o, &out, status);
}
