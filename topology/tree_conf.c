/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_conf.c - topology.conf for Slurm's topology/tree; see tree_conf.h.
 *
 * A unit becomes a leaf switch, also when its hosts have eight rails: Slurm knows one switch per
 * node. Pods become the level above, and areas those above pods; a group of one is left out, and
 * what is alone in its island is the island's root. Spines are not listed, unless they are asked
 * for: slurmctld's start grows with the cube of the switches, and Slurm's manual advises leaves and
 * one top. Islands get no common root: Slurm would place jobs across a gap. What slurmctld refuses
 * (a line with both Switches= and Nodes=, a name twice, an unknown child, blanks) can't come out of
 * this.
 */
#include "tree_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "io.h"

/*
 * What a group is to the group above: nothing, the one thing in it, or itself. A thing is a unit
 * or, counted on behind the units, a group.
 */
struct group {
	size_t parent;	 /* group; FABRIC_NONE: an island */
	size_t children; /* that are something */
	size_t is;	 /* thing; FABRIC_NONE: nothing */
};

struct tree {
	const struct fabric *f;
	struct io_text out;
	const struct wanted *nodes; /* the fabric's own hosts where none were named */
	struct wanted *own;
	size_t node_count;
	size_t *host;	      /* of each node, FABRIC_NONE: the fabric does not know it */
	size_t *unit_hosts;   /* wanted hosts in each unit */
	struct group *groups; /* pods, then areas, then islands */
	size_t group_count;
	bool full;
	struct tree_report *report;
};

void tree_report_clear(struct tree_report *report)
{
	free(report->unplaced);
	free(report->unknown);
	memset(report, 0, sizeof(*report));
}

/* A list of names that grows. */
struct list {
	const char **names;
	size_t count, room;
};

static int list_add(struct list *l, const char *name)
{
	if (l->count == l->room) {
		size_t more = l->room ? l->room * 2 : 64;
		const char **bigger = reallocarray(l->names, more, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		l->names = bigger;
		l->room = more;
	}
	l->names[l->count++] = name;
	return 0;
}

static size_t unit_of(const struct tree *t, size_t node)
{
	return t->host[node] == FABRIC_NONE ? FABRIC_NONE : t->f->hosts[t->host[node]].unit;
}

/* Finds the nodes' hosts; without any named, all hosts of the fabric are nodes. */
static int choose(struct tree *t)
{
	const struct fabric *f = t->f;

	if (!t->nodes) {
		t->own = calloc(f->host_count + 1, sizeof(*t->own));
		t->node_count = f->host_count;
		t->nodes = t->own;
		for (size_t i = 0; t->own && i < f->host_count; i++)
			t->own[i] = (struct wanted){ f->hosts[i].name, f->hosts[i].name };
	}
	t->host = calloc(t->node_count + 1, sizeof(*t->host));
	if (!t->nodes || !t->host)
		return -ENOMEM;
	for (size_t i = 0; i < t->node_count; i++)
		t->host[i] = fabric_find_host(f, t->nodes[i].host);
	return 0;
}

/* Folds the names of the nodes that the fabric does not know, or those that are on no switch. */
static char *fold_left_out(const struct tree *t, bool known, size_t *count)
{
	struct list left_out = { 0 };
	char *text = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->node_count; i++)
		if (unit_of(t, i) == FABRIC_NONE && (t->host[i] != FABRIC_NONE) == known)
			rc = list_add(&left_out, t->nodes[i].name);
	*count = left_out.count;
	if (rc == 0)
		text = hosts_fold(left_out.names, left_out.count);
	free(left_out.names);
	return text;
}

static size_t group_of_area(const struct tree *t, size_t area, size_t island)
{
	return area < t->f->area_count ? t->f->pod_count + area
				       : t->f->pod_count + t->f->area_count + island;
}

static void add_child(struct tree *t, size_t group, size_t thing)
{
	struct group *g = &t->groups[group];

	g->is = g->children++ == 0 ? thing : t->f->unit_count + group;
}

/* Areas from the inside out: one is settled when all inside it are. */
static void settle_areas(struct tree *t)
{
	const struct fabric *f = t->f;

	for (size_t depth = f->area_count; depth-- > 0;) {
		for (size_t i = 0; i < f->area_count; i++) {
			struct group *g = &t->groups[f->pod_count + i];
			size_t above = 0;
			for (size_t at = f->areas[i].parent; at != FABRIC_NONE;
			     at = f->areas[at].parent)
				above++;
			if (above == depth && g->children)
				add_child(t, g->parent, g->is);
		}
	}
}

static void settle_groups(struct tree *t)
{
	const struct fabric *f = t->f;

	for (size_t i = 0; i < t->group_count; i++)
		t->groups[i] = (struct group){ FABRIC_NONE, 0, FABRIC_NONE };
	for (size_t i = 0; i < f->area_count; i++)
		t->groups[f->pod_count + i].parent =
			group_of_area(t, f->areas[i].parent, f->areas[i].island);
	for (size_t i = 0; i < f->unit_count; i++)
		if (t->unit_hosts[i])
			add_child(t, f->units[i].pod, i);
	for (size_t i = 0; i < f->pod_count; i++) {
		struct group *g = &t->groups[i];
		g->parent = group_of_area(t, f->pods[i].area, f->pods[i].island);
		if (g->children)
			add_child(t, g->parent, g->is);
	}
	settle_areas(t);
}

static int count(struct tree *t)
{
	for (size_t i = 0; i < t->node_count; i++)
		if (unit_of(t, i) != FABRIC_NONE)
			t->unit_hosts[unit_of(t, i)]++;
	settle_groups(t);
	t->report->unknown = fold_left_out(t, false, &t->report->unknown_count);
	t->report->unplaced = fold_left_out(t, true, &t->report->unplaced_count);
	return t->report->unknown && t->report->unplaced ? 0 : -ENOMEM;
}

static int write_line(struct tree *t, const char *name, const char *key, const struct list *members)
{
	char *folded = hosts_fold(members->names, members->count);

	if (!folded)
		return -ENOMEM;
	io_add(&t->out, "SwitchName=%s %s=%s\n", name, key, folded);
	free(folded);
	return 0;
}

static int write_units(struct tree *t)
{
	const struct fabric *f = t->f;
	struct list *members = calloc(f->unit_count + 1, sizeof(*members));
	int rc = members ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < t->node_count; i++)
		if (unit_of(t, i) != FABRIC_NONE)
			rc = list_add(&members[unit_of(t, i)], t->nodes[i].name);
	for (size_t i = 0; rc == 0 && i < f->unit_count; i++) {
		if (members[i].count == 0)
			continue;
		rc = write_line(t, f->units[i].name, "Nodes", &members[i]);
		t->report->units++;
		t->report->hosts += members[i].count;
	}
	for (size_t i = 0; members && i < f->unit_count; i++)
		free(members[i].names);
	free(members);
	return rc;
}

static const char *thing_name(const struct tree *t, size_t thing)
{
	const struct fabric *f = t->f;

	if (thing < f->unit_count)
		return f->units[thing].name;
	thing -= f->unit_count;
	if (thing < f->pod_count)
		return f->pods[thing].name;
	thing -= f->pod_count;
	return thing < f->area_count ? f->areas[thing].name
				     : f->islands[thing - f->area_count].name;
}

/* Adds the things right below a group: of groups that are one thing, that thing. */
static int list_things(struct tree *t, size_t group, struct list *things)
{
	const struct fabric *f = t->f;
	int rc = 0;

	for (size_t i = 0; rc == 0 && group < f->pod_count && i < f->unit_count; i++)
		if (f->units[i].pod == group && t->unit_hosts[i])
			rc = list_add(things, f->units[i].name);
	for (size_t i = 0; rc == 0 && i < t->group_count; i++)
		if (t->groups[i].parent == group && t->groups[i].children)
			rc = list_add(things, thing_name(t, t->groups[i].is));
	return rc;
}

/* The group that a group's line tells of, in its own name or in that of its island. */
static int write_group(struct tree *t, size_t group, const char *name)
{
	struct list things = { 0 };
	int rc = list_things(t, group, &things);

	if (rc == 0)
		rc = write_line(t, name, "Switches", &things);
	free(things.names);
	return rc;
}

/* Groups that are themselves; what is all of its island is written as the island. */
static int write_groups(struct tree *t)
{
	const struct fabric *f = t->f;
	size_t islands = f->pod_count + f->area_count;
	bool *alone = calloc(t->group_count + 1, sizeof(*alone));
	int rc = alone ? 0 : -ENOMEM;

	for (size_t i = islands; alone && i < t->group_count; i++)
		if (t->groups[i].is != FABRIC_NONE && t->groups[i].is >= f->unit_count)
			alone[t->groups[i].is - f->unit_count] = true;
	for (size_t i = 0; rc == 0 && i < islands; i++) {
		if (t->groups[i].is != f->unit_count + i || alone[i])
			continue;
		rc = write_group(t, i, thing_name(t, f->unit_count + i));
		*(i < f->pod_count ? &t->report->pods : &t->report->areas) += 1;
	}
	for (size_t i = islands; rc == 0 && i < t->group_count; i++) {
		size_t is = t->groups[i].is;
		if (is != FABRIC_NONE && is >= f->unit_count)
			rc = write_group(t, is - f->unit_count, f->islands[i - islands].name);
		t->report->roots += is != FABRIC_NONE;
	}
	free(alone);
	return rc;
}

/* ---- all switches above the leaves ---- */

/* What is right below each switch: units for its leaves, and switches of lower levels. */
struct below {
	char *name;
	struct list things;
	bool *units; /* somewhere below */
	bool root;   /* nothing has it below */
};

struct full {
	const struct tree *t;
	struct below *of;  /* each switch */
	bool *units_above; /* each unit: a switch has it below */
	int top;	   /* level */
};

static int list_once(struct list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->names[i] == name)
			return 0;
	return list_add(l, name);
}

/* Adds what the lower one of two linked switches is to what is below the upper one. */
static int add_below(struct full *full, size_t lower, size_t upper)
{
	const struct fabric *f = full->t->f;
	struct below *to = &full->of[upper];
	int rc = 0;

	if (f->switches[lower].level > 0 && full->of[lower].things.count) {
		full->of[lower].root = false;
		rc = list_once(&to->things, full->of[lower].name);
	}
	for (size_t i = 0; rc == 0 && i < f->unit_count; i++) {
		bool right_below = false;

		for (size_t j = 0; f->switches[lower].level == 0 && full->t->unit_hosts[i] &&
				   j < f->units[i].leaf_count;
		     j++)
			right_below |= f->units[i].leaves[j] == lower;
		to->units[i] |= right_below || full->of[lower].units[i];
		full->units_above[i] |= right_below;
		rc = right_below ? list_once(&to->things, f->units[i].name) : 0;
	}
	return rc;
}

/* A unit of hosts that hang on spines is below these: one line can't have both. */
static int add_hosts_of_spines(struct full *full, size_t unit)
{
	const struct fabric_unit *u = &full->t->f->units[unit];
	int rc = 0;

	for (size_t i = 0; rc == 0 && full->t->unit_hosts[unit] && i < u->leaf_count; i++) {
		struct below *to = &full->of[u->leaves[i]];

		if (full->t->f->switches[u->leaves[i]].level <= 0)
			continue;
		if (!strcmp(to->name, u->name)) {
			free(to->name);
			to->name = io_format("%s-switch", u->name);
		}
		to->units[unit] = full->units_above[unit] = true;
		rc = to->name ? list_once(&to->things, u->name) : -ENOMEM;
	}
	return rc;
}

/* The links from switches of that level upwards: all that is below these is known. */
static int climb(struct full *full, int level)
{
	const struct fabric *f = full->t->f;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->link_count; i++) {
		size_t a = f->links[i].a, b = f->links[i].b;

		if (f->switches[a].level == level && f->switches[b].level > level)
			rc = add_below(full, a, b);
		else if (f->switches[b].level == level && f->switches[a].level > level)
			rc = add_below(full, b, a);
	}
	return rc;
}

static bool covers(const struct full *full, const bool *units, size_t island)
{
	const struct fabric *f = full->t->f;

	for (size_t i = 0; i < f->unit_count; i++)
		if (full->t->unit_hosts[i] && f->pods[f->units[i].pod].island == island &&
		    !units[i])
			return false;
	return true;
}

static bool is_in(const struct fabric *f, const bool *units, size_t island)
{
	for (size_t i = 0; i < f->unit_count; i++)
		if (units[i])
			return f->pods[f->units[i].pod].island == island;
	return false;
}

/*
 * The top of an island: any switch that has all of it below, else one of the island's name over
 * what has nothing above it (leaves that are joined to each other, half a tree).
 */
static int write_top(struct tree *t, struct full *full, size_t island)
{
	const struct fabric *f = t->f;
	struct list roots = { 0 };
	bool covered = false;
	int rc = 0;

	for (size_t i = 0; i < f->switch_count; i++)
		covered |= full->of[i].things.count && covers(full, full->of[i].units, island);
	for (size_t i = 0; rc == 0 && i < f->unit_count; i++)
		if (t->unit_hosts[i] && !full->units_above[i] &&
		    f->pods[f->units[i].pod].island == island)
			rc = list_add(&roots, f->units[i].name);
	for (size_t i = 0; rc == 0 && i < f->switch_count; i++)
		if (full->of[i].things.count && full->of[i].root &&
		    is_in(f, full->of[i].units, island))
			rc = list_add(&roots, full->of[i].name);
	if (rc == 0 && !covered && roots.count > 1) {
		rc = write_line(t, f->islands[island].name, "Switches", &roots);
		t->report->switches++;
		roots.count = 1;
	}
	t->report->roots += roots.count;
	free(roots.names);
	return rc;
}

static int write_full(struct tree *t, struct full *full)
{
	const struct fabric *f = t->f;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->unit_count; i++)
		rc = add_hosts_of_spines(full, i);
	for (int level = 0; rc == 0 && level < full->top; level++)
		rc = climb(full, level);
	for (int level = 1; rc == 0 && level <= full->top; level++)
		for (size_t i = 0; rc == 0 && i < f->switch_count; i++) {
			if (f->switches[i].level != level || !full->of[i].things.count)
				continue;
			rc = write_line(t, full->of[i].name, "Switches", &full->of[i].things);
			t->report->switches++;
		}
	for (size_t i = 0; rc == 0 && i < f->island_count; i++)
		rc = write_top(t, full, i);
	return rc;
}

static int write_switches(struct tree *t)
{
	const struct fabric *f = t->f;
	struct full full = { .t = t,
			     .of = calloc(f->switch_count + 1, sizeof(*full.of)),
			     .units_above = calloc(f->unit_count + 1, sizeof(bool)) };
	int rc = full.of && full.units_above ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->switch_count; i++) {
		full.of[i].root = true;
		full.of[i].name = strdup(f->switches[i].name);
		full.of[i].units = calloc(f->unit_count + 1, sizeof(bool));
		full.top = f->switches[i].level > full.top ? f->switches[i].level : full.top;
		rc = full.of[i].name && full.of[i].units ? 0 : -ENOMEM;
	}
	rc = rc ? rc : write_full(t, &full);
	for (size_t i = 0; full.of && i < f->switch_count; i++) {
		free(full.of[i].name);
		free(full.of[i].things.names);
		free(full.of[i].units);
	}
	free(full.of);
	free(full.units_above);
	return rc;
}

/* A comment line; what is in it can't end it, and a '\' at its end would continue it. */
static void write_comment(struct io_text *out, const char *label, const char *text)
{
	char *safe = io_printable(text);

	if (safe)
		io_add(out, "# %s%s.\n", label, safe);
	else
		out->failed = true;
	free(safe);
}

static void write_leaves(struct tree *t)
{
	const struct fabric *f = t->f;

	for (size_t i = 0; i < f->unit_count; i++) {
		const struct fabric_unit *unit = &f->units[i];
		if (unit->leaf_count < 2 || !t->unit_hosts[i])
			continue;
		io_add(&t->out, "# %s stands for the leaves", unit->name);
		for (size_t j = 0; j < unit->leaf_count; j++)
			io_add(&t->out, " %s", f->switches[unit->leaves[j]].name);
		io_add(&t->out, "\n");
	}
}

static void write_head(struct tree *t, const char *writer, const char *snapshot)
{
	io_add(&t->out, "# topology.conf for TopologyPlugin=topology/tree. Changes made by hand "
			"get lost.\n");
	write_comment(&t->out, "Written by ", writer);
	write_comment(&t->out, "Fabric: ", snapshot);
	for (size_t i = 0; i < t->f->missing_count; i++)
		write_comment(&t->out, "The discovery was incomplete: ", t->f->missing[i]);
	if (t->report->unplaced_count)
		write_comment(&t->out, "Left out, on no switch: ", t->report->unplaced);
	if (t->report->unknown_count)
		write_comment(&t->out, "Left out, not in the fabric: ", t->report->unknown);
	write_leaves(t);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Units, pods, areas and islands are all switches here, so their names must differ. */
static int check_names(const struct fabric *f, struct err *err)
{
	struct list all = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->unit_count; i++)
		rc = list_add(&all, f->units[i].name);
	for (size_t i = 0; rc == 0 && i < f->pod_count; i++)
		rc = list_add(&all, f->pods[i].name);
	for (size_t i = 0; rc == 0 && i < f->area_count; i++)
		rc = list_add(&all, f->areas[i].name);
	for (size_t i = 0; rc == 0 && i < f->island_count; i++)
		rc = list_add(&all, f->islands[i].name);
	if (rc < 0)
		err_set(err, ENOMEM, "out of memory");
	if (all.count)
		qsort(all.names, all.count, sizeof(*all.names), by_text);
	for (size_t i = 1; rc == 0 && i < all.count; i++)
		if (strcmp(all.names[i - 1], all.names[i]) == 0)
			rc = err_set(err, EEXIST,
				     "two of units, pods, areas and islands are called %s; rename "
				     "one in "
				     "fabric.json",
				     all.names[i]);
	free(all.names);
	return rc;
}

static int prepare(struct tree *t)
{
	t->unit_hosts = calloc(t->f->unit_count + 1, sizeof(*t->unit_hosts));
	t->group_count = t->f->pod_count + t->f->area_count + t->f->island_count;
	t->groups = calloc(t->group_count + 1, sizeof(*t->groups));
	if (!t->unit_hosts || !t->groups)
		return -ENOMEM;
	return choose(t) < 0 ? -ENOMEM : count(t);
}

static int write_all(struct tree *t, const char *writer, const char *snapshot, struct err *err)
{
	int rc;

	write_head(t, writer, snapshot);
	rc = write_units(t);
	if (rc == 0 && t->report->hosts == 0)
		return err_set(err, ENODATA,
			       "none of the wanted hosts is on a switch of this fabric");
	if (rc == 0)
		rc = t->full ? write_switches(t) : write_groups(t);
	return rc < 0 ? err_set(err, ENOMEM, "out of memory") : 0;
}

char *tree_conf_text(const struct fabric *f, const struct wanted *nodes, size_t node_count,
		     bool full, const char *writer, const char *snapshot,
		     struct tree_report *report, struct err *err)
{
	struct tree t = {
		.f = f, .nodes = nodes, .node_count = node_count, .full = full, .report = report
	};
	char *text;
	int rc = check_names(f, err);

	memset(report, 0, sizeof(*report));
	if (rc < 0)
		return NULL;
	rc = prepare(&t);
	if (rc < 0)
		err_set(err, ENOMEM, "out of memory");
	else
		rc = write_all(&t, writer, snapshot, err);
	text = io_end(&t.out);
	if (rc == 0 && !text)
		err_set(err, ENOMEM, "out of memory");
	free(t.own);
	free(t.host);
	free(t.unit_hosts);
	free(t.groups);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}
