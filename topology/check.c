/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.c - the rules of slurmctld for topology files, and what they don't cover; see check.h.
 *
 * slurmctld ends ("fatal") over some mistakes, at its start and at a reconfigure, warns of others
 * and takes many without a word: nodes that no job can use together, nodes that stand on another
 * switch than their cable. The rules are those of its sources (switch_record.c, block_record.c,
 * parse_config.c), and were tried on 22.05, 24.11 and 26.05. What a release in between does is
 * taken from the older one that is known, but where a rule says otherwise.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hosts.h"

#define SWITCH_NAME_MAX 64    /* HOST_NAME_MAX, from 23.02 on */
#define PASSES_MAX 21	      /* in which slurmctld settles the levels of switches */
#define SWITCHES_MAX 65535    /* their indexes are 16 bits wide */
#define BLOCK_RATIO_MAX 32768 /* 16 levels of blocks */
#define RING_NODES_MAX 16
#define SLOW_START_S 5.0
#define SHOWN_GROUPS 4
#define NONE LAYOUT_NO_ITEM

struct checker {
	const struct check_options *o;
	const struct layout_topology *t;
	struct findings *out;
	const char *label; /* "topology x: ", or "" */
	bool yaml;
	char ***names; /* of each item's nodes */
	size_t *name_counts;
	size_t **below;		    /* of each item: its children, NONE at the end; NULL: no list */
	struct layout_name *places; /* nodes by name */
	size_t place_count;
	const struct wanted **known; /* Slurm's nodes by name, NULL: unknown */
	size_t known_count;
	size_t *group; /* of each item: the root it is below */
};

int check_release(const char *text)
{
	unsigned year, month;

	text += strcspn(text, "0123456789");
	if (sscanf(text, "%2u.%2u", &year, &month) != 2 || year < 20 || month < 1 || month > 12)
		return 0;
	return (int)(year * 100 + month);
}

double check_start_seconds(const struct layout *l)
{
	double seconds = 0;

	for (size_t i = 0; i < l->count; i++) {
		double n = (double)l->topologies[i].count;
		if (l->topologies[i].kind == LAYOUT_TREE)
			seconds += n * n * n * 2.3e-9;
	}
	return seconds;
}

static int by_known(const void *a, const void *b)
{
	return strcmp((*(const struct wanted *const *)a)->name,
		      (*(const struct wanted *const *)b)->name);
}

static const struct wanted *find_known(const struct checker *c, const char *name)
{
	struct wanted key = { (char *)name, NULL };
	const struct wanted *at = &key;
	const struct wanted **found =
		c->known ? bsearch(&at, c->known, c->known_count, sizeof(*c->known), by_known)
			 : NULL;

	return found ? *found : NULL;
}

static size_t find_item(const struct checker *c, const char *node)
{
	return layout_find(c->places, c->place_count, node);
}

/* Says "before LIST after", if names has any; frees names' array. */
static int say_list(struct checker *c, size_t line, const char *before, const char **names,
		    size_t count, const char *after)
{
	char *folded = count ? hosts_fold(names, count) : NULL;
	int rc = count && !folded ? -ENOMEM : 0;

	if (folded)
		findings_add(c->out, false, line, "%s%s%.300s%s", c->label, before, folded, after);
	free(folded);
	free(names);
	return rc;
}

/* Names. */

static const char *noun(const struct checker *c)
{
	return c->t->kind == LAYOUT_TREE ? "switch" : layout_kind_name(c->t->kind);
}

static void check_names(struct checker *c, const struct layout_name *sorted)
{
	const struct layout_topology *t = c->t;

	for (size_t i = 0; i < t->count; i++)
		if (t->kind == LAYOUT_TREE && strlen(t->items[i].name) > SWITCH_NAME_MAX)
			findings_add(c->out, c->o->release >= 2302, t->items[i].line,
				     "%sthe name %.80s is longer than %d bytes", c->label,
				     t->items[i].name, SWITCH_NAME_MAX);
	for (size_t i = 1; i < t->count; i++)
		if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
			findings_add(c->out, true, t->items[sorted[i].item].line,
				     "%s%s %.80s is there already, in line %zu; rename one",
				     c->label, noun(c), sorted[i].name,
				     t->items[sorted[i - 1].item].line);
}

/* Nodes. */

static int expand(struct checker *c, size_t item, const char *text, char ***names, size_t *count)
{
	struct err err = { "" };
	int rc = hosts_expand(text, WANTED_MAX, names, count, &err);

	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		findings_add(c->out, true, c->t->items[item].line, "%s%s %.80s: %.300s", c->label,
			     noun(c), c->t->items[item].name, err.text);
	return 0;
}

/* Nodes that Slurm does not know, and those that no item has. */
static int check_known(struct checker *c)
{
	const char **names = calloc(c->place_count + c->known_count + 1, sizeof(*names));
	const char **lacking = calloc(c->known_count + 1, sizeof(*lacking));
	size_t count = 0, lacking_count = 0;
	int rc;

	if (!names || !lacking) {
		free(names);
		free(lacking);
		return -ENOMEM;
	}
	for (size_t i = 0; c->known && i < c->place_count; i++)
		if (!find_known(c, c->places[i].name))
			names[count++] = c->places[i].name;
	for (size_t i = 0; i < c->known_count; i++)
		if (find_item(c, c->known[i]->name) == NONE)
			lacking[lacking_count++] = c->known[i]->name;
	rc = say_list(c, 0, "slurm.conf has no ", names, count, "; slurmctld leaves them out");
	if (rc == 0)
		return say_list(
			c, 0, "", lacking, lacking_count,
			c->t->kind == LAYOUT_BLOCK
				? " in no block: no job of this topology can use them"
				: " on no switch: no job can use them together with others");
	free(lacking);
	return rc;
}

static int check_twice(struct checker *c)
{
	const char **names = calloc(c->place_count + 1, sizeof(*names));
	size_t count = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 1; i < c->place_count; i++)
		if (strcmp(c->places[i - 1].name, c->places[i].name) == 0)
			names[count++] = c->places[i].name;
	return say_list(c, 0, "", names, count,
			c->t->kind == LAYOUT_TREE ? " on more than one leaf switch"
						  : " in more than one block");
}

static int place_nodes(struct checker *c)
{
	size_t total = 0, at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->t->count; i++) {
		if (c->t->items[i].nodes && *c->t->items[i].nodes)
			rc = expand(c, i, c->t->items[i].nodes, &c->names[i], &c->name_counts[i]);
		total += c->name_counts[i];
	}
	c->places = rc == 0 ? calloc(total + 1, sizeof(*c->places)) : NULL;
	if (!c->places)
		return -ENOMEM;
	for (size_t i = 0; i < c->t->count; i++)
		for (size_t j = 0; j < c->name_counts[i]; j++)
			c->places[at++] = (struct layout_name){ c->names[i][j], i };
	c->place_count = total;
	layout_sort(c->places, total);
	return 0;
}

/* Trees. */

static int find_children(struct checker *c, size_t item, const struct layout_name *sorted)
{
	const struct layout_item *it = &c->t->items[item];
	char **names = NULL;
	size_t count = 0, kept = 0;
	int rc = expand(c, item, it->children, &names, &count);

	if (rc == 0)
		c->below[item] = calloc(count + 1, sizeof(**c->below));
	if (!c->below[item])
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		size_t child = layout_find(sorted, c->t->count, names[i]);
		if (child == NONE || child == item)
			findings_add(c->out, true, it->line,
				     "%sswitch %.80s has the child %.80s, which is %s", c->label,
				     it->name, names[i],
				     child == item ? "itself" : "not in the file");
		else
			c->below[item][kept++] = child;
	}
	if (c->below[item])
		c->below[item][kept] = NONE;
	hosts_free(names, count);
	return rc;
}

/* As slurmctld does it: passes over the file, in each of which a switch waits for its children. */
static int check_levels(struct checker *c)
{
	bool *settled = calloc(c->t->count + 1, sizeof(*settled)), more = true;
	size_t open = 0;

	if (!settled)
		return -ENOMEM;
	for (int pass = 0; more && pass < PASSES_MAX; pass++) {
		more = false;
		for (size_t i = 0; i < c->t->count; i++) {
			bool ready = true;
			for (size_t j = 0; c->below[i] && c->below[i][j] != NONE; j++)
				ready &= settled[c->below[i][j]];
			more |= !ready;
			open = ready ? open : i;
			settled[i] |= ready;
		}
	}
	if (more)
		findings_add(
			c->out, true, c->t->items[open].line,
			"%sthe switches are no tree: %.80s is below itself, or the file has more "
			"than %d levels from the top down",
			c->label, c->t->items[open].name, PASSES_MAX);
	free(settled);
	return more ? 1 : 0;
}

/* Marks all below a switch that have no root yet. Levels are few: check_levels() was there. */
static size_t mark(struct checker *c, size_t item, size_t root, bool write)
{
	size_t count = 0;

	if (write && c->group[item] != NONE)
		return 0;
	if (write)
		c->group[item] = root;
	for (size_t i = 0; c->below[item] && c->below[item][i] != NONE; i++)
		count += mark(c, c->below[item][i], root, write);
	return count + c->name_counts[item];
}

struct root {
	size_t item, nodes;
};

static int by_nodes(const void *a, const void *b)
{
	const struct root *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? 1 : -1;
	return (x->item > y->item) - (x->item < y->item);
}

/* Gives each item the largest root above it; several parents are legal. */
static int find_roots(struct checker *c)
{
	size_t *parents = calloc(c->t->count + 1, sizeof(*parents)), count = 0;
	struct root *roots = calloc(c->t->count + 1, sizeof(*roots));

	if (!parents || !roots) {
		free(parents);
		free(roots);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->t->count; i++) {
		c->group[i] = NONE;
		for (size_t j = 0; c->below[i] && c->below[i][j] != NONE; j++)
			parents[c->below[i][j]]++;
	}
	for (size_t i = 0; i < c->t->count; i++)
		if (parents[i] == 0)
			roots[count++] = (struct root){ i, mark(c, i, i, false) };
	qsort(roots, count, sizeof(*roots), by_nodes);
	for (size_t i = 0; i < count; i++)
		mark(c, roots[i].item, roots[i].item, true);
	free(parents);
	free(roots);
	return 0;
}

static int check_children(struct checker *c, const struct layout_name *sorted)
{
	const struct layout_topology *t = c->t;
	size_t before = c->out->fatal;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->count; i++) {
		const struct layout_item *it = &t->items[i];
		if (it->nodes && it->children)
			findings_add(
				c->out, !c->yaml, it->line,
				"%sswitch %.80s has both nodes and switches below it; give the "
				"nodes a leaf switch of their own",
				c->label, it->name);
		else if (it->children)
			rc = find_children(c, i, sorted);
		else if (!it->nodes)
			findings_add(c->out, c->o->release < RELEASE_YAML, it->line,
				     "%sswitch %.80s has neither Switches= nor Nodes=", c->label,
				     it->name);
	}
	if (rc == 0 && c->out->fatal == before && check_levels(c) == 0)
		return find_roots(c);
	return rc < 0 ? rc : 1; /* no levels: the rest would be guesswork */
}

/* Reachability. */

static int by_node(const void *a, const void *b)
{
	return strcmp(((const struct layout_name *)a)->name, ((const struct layout_name *)b)->name);
}

/* The nodes of one group, of all or of those marked; malloc'ed host list. */
static char *fold_group(const struct checker *c, size_t group, const bool *among, size_t *count)
{
	const char **names = calloc(c->place_count + 1, sizeof(*names));
	char *text = NULL;

	*count = 0;
	for (size_t i = 0; names && i < c->place_count; i++)
		if (c->group[c->places[i].item] == group && (!among || among[i]))
			names[(*count)++] = c->places[i].name;
	if (names)
		text = hosts_fold(names, *count);
	free(names);
	return text;
}

/* Says between which nodes there is no way. where: "" or a partition. */
static int check_ways(struct checker *c, const char *where, const bool *among)
{
	char said[700] = "";
	size_t groups = 0, used = 0, more = 0;

	for (size_t i = 0; i < c->t->count; i++) {
		size_t count;
		char *folded;
		if (c->group[i] != i)
			continue;
		folded = fold_group(c, i, among, &count);
		if (!folded)
			return -ENOMEM;
		groups += count > 0;
		if (count && groups > SHOWN_GROUPS)
			more++;
		else if (count)
			used += (size_t)snprintf(said + used, sizeof(said) - used, "%s%.150s",
						 groups > 1 ? " and " : "", folded);
		free(folded);
	}
	if (groups > 1 && more)
		findings_add(c->out, false, 0,
			     "%s%sno switch is above all nodes: no job spans %s and %zu more",
			     c->label, where, said, more);
	else if (groups > 1)
		findings_add(c->out, false, 0, "%s%sno switch is above all nodes: no job spans %s",
			     c->label, where, said);
	return 0;
}

/* Where a node stands in places. */
static size_t place_of(const struct checker *c, const char *node)
{
	struct layout_name key = { node, 0 }, *at = NULL;

	if (c->place_count)
		at = bsearch(&key, c->places, c->place_count, sizeof(key), by_node);
	return at ? (size_t)(at - c->places) : NONE;
}

/* Partitions that are not all nodes, one by one. */
static int check_partitions(struct checker *c)
{
	const struct slurmconf *s = c->o->slurm;
	bool *among = calloc(c->place_count + 1, sizeof(*among));
	int rc = among ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && s && i < s->partition_count; i++) {
		const char *nodes = s->partitions[i].nodes;
		char **names = NULL, where[120];
		size_t count = 0;
		if (!nodes || strcasecmp(nodes, "ALL") == 0 ||
		    hosts_expand(nodes, WANTED_MAX, &names, &count, NULL) < 0)
			continue;
		memset(among, 0, c->place_count * sizeof(*among));
		for (size_t j = 0; j < count; j++) {
			size_t at = place_of(c, names[j]);
			if (at != NONE)
				among[at] = true;
		}
		snprintf(where, sizeof(where), "partition %.80s: ", s->partitions[i].name);
		rc = check_ways(c, where, among);
		hosts_free(names, count);
	}
	free(among);
	return rc;
}

/* Blocks and rings. */

static void check_sizes(struct checker *c)
{
	const struct layout_topology *t = c->t;

	for (size_t i = 0; i < t->size_count; i++) {
		long size = t->sizes[i], base = t->sizes[0], ratio = base > 0 ? size / base : 0;
		if (size <= 0)
			findings_add(c->out, true, t->sizes_line,
				     "%sblock sizes are numbers from 1 on", c->label);
		else if (base > 0 &&
			 (size % base || (ratio & (ratio - 1)) || ratio > BLOCK_RATIO_MAX))
			findings_add(c->out, true, t->sizes_line,
				     "%sblock size %ld is no power of two times the base size %ld",
				     c->label, size, base);
	}
}

/* slurmctld counts those of a block's nodes that it has. */
static size_t count_known(const struct checker *c, size_t item)
{
	size_t count = 0;

	for (size_t i = 0; c->known && i < c->name_counts[item]; i++)
		count += find_known(c, c->names[item][i]) != NULL;
	return c->known ? count : c->name_counts[item];
}

static void check_blocks(struct checker *c)
{
	const struct layout_topology *t = c->t;
	bool strict = c->o->release < RELEASE_YAML;
	size_t base = t->size_count && t->sizes[0] > 0 ? (size_t)t->sizes[0] : 0;

	check_sizes(c);
	for (size_t i = 0; i < t->count; i++) {
		size_t count = count_known(c, i);
		if (base == 0 && t->size_count == 0)
			base = count;
		if (!t->items[i].nodes)
			findings_add(c->out, strict, t->items[i].line,
				     "%sblock %.80s has no nodes%s", c->label, t->items[i].name,
				     strict ? "; empty blocks are there from 25.05 on"
					    : ": it only holds a position");
		else if (count < base)
			findings_add(c->out, strict, t->items[i].line,
				     "%sblock %.80s has %zu nodes and the base size is %zu%s",
				     c->label, t->items[i].name, count, base,
				     strict ? "; take it out, or a smaller first size in BlockSizes"
					    : "");
	}
	if (base == 0 && t->count && t->size_count == 0)
		findings_add(c->out, true, 0, "%sno block has a node, and there are no block sizes",
			     c->label);
}

static void check_rings(struct checker *c)
{
	for (size_t i = 0; i < c->t->count; i++)
		if (c->name_counts[i] > RING_NODES_MAX)
			findings_add(c->out, true, c->t->items[i].line,
				     "%sring %.80s has %zu nodes; %d are the most", c->label,
				     c->t->items[i].name, c->name_counts[i], RING_NODES_MAX);
}

/* The fabric. */

static size_t unit_of(const struct checker *c, const char *name)
{
	const struct wanted *node = find_known(c, name);
	size_t host = fabric_find_host(c->o->fabric, node ? node->host : name);

	return host == FABRIC_NONE ? FABRIC_NONE : c->o->fabric->hosts[host].unit;
}

/* Where most of each unit's nodes stand in the file: an item, NONE for none. */
static int find_homes(const struct checker *c, size_t *homes)
{
	size_t units = c->o->fabric->unit_count, *votes = calloc(units + 1, sizeof(*votes));
	size_t *here = calloc(units + 1, sizeof(*here));

	for (size_t i = 0; i < units; i++)
		homes[i] = NONE;
	for (size_t i = 0; votes && here && i < c->t->count; i++) {
		for (size_t j = 0; j < c->name_counts[i]; j++) {
			size_t unit = unit_of(c, c->names[i][j]);
			if (unit != FABRIC_NONE && ++here[unit] > votes[unit]) {
				votes[unit] = here[unit];
				homes[unit] = i;
			}
		}
		memset(here, 0, units * sizeof(*here));
	}
	free(votes);
	free(here);
	return votes && here ? 0 : -ENOMEM;
}

/* Nodes of an item that the fabric has with nodes of another. */
static int check_strays(struct checker *c, size_t item, const size_t *homes)
{
	const struct layout_topology *t = c->t;
	size_t n = c->name_counts[item];
	bool *done = calloc(n + 1, sizeof(*done));
	int rc = done ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		size_t unit = unit_of(c, c->names[item][i]), count = 0;
		char after[400];
		const char **names;
		if (done[i] || unit == FABRIC_NONE || homes[unit] == item)
			continue;
		names = calloc(n, sizeof(*names));
		for (size_t j = i; names && j < n; j++)
			if (unit_of(c, c->names[item][j]) == unit) {
				names[count++] = c->names[item][j];
				done[j] = true;
			}
		snprintf(after, sizeof(after),
			 " in %s %.80s; in the fabric they are on %.80s, with those of %.80s",
			 noun(c), t->items[item].name, c->o->fabric->units[unit].name,
			 t->items[homes[unit]].name);
		rc = names ? say_list(c, t->items[item].line, "", names, count, after) : -ENOMEM;
	}
	free(done);
	return rc;
}

/* A root that joins what no cable joins. */
static void check_islands(struct checker *c)
{
	const struct fabric *f = c->o->fabric;
	size_t *island = calloc(c->t->count + 1, sizeof(*island));

	for (size_t i = 0; island && i < c->t->count; i++)
		island[i] = FABRIC_NONE;
	for (size_t i = 0; island && i < c->place_count; i++) {
		size_t unit = unit_of(c, c->places[i].name), root = c->group[c->places[i].item],
		       here;
		if (unit == FABRIC_NONE)
			continue;
		here = f->pods[f->units[unit].pod].island;
		if (island[root] == FABRIC_NONE)
			island[root] = here;
		if (island[root] == here)
			continue;
		findings_add(
			c->out, false, c->t->items[root].line,
			"%s%s %.80s joins %.80s and %.80s, and in the fabric no cable does: jobs "
			"across them can't communicate",
			c->label, noun(c), c->t->items[root].name, f->islands[island[root]].name,
			f->islands[here].name);
		break;
	}
	c->out->failed |= !island;
	free(island);
}

static int check_fabric(struct checker *c, bool levels)
{
	size_t *homes = calloc(c->o->fabric->unit_count + 1, sizeof(*homes));
	int rc = homes ? find_homes(c, homes) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < c->t->count; i++)
		rc = check_strays(c, i, homes);
	if (rc == 0 && levels)
		check_islands(c);
	free(homes);
	return rc;
}

/* One topology. */

static int check_items(struct checker *c)
{
	struct layout_name *sorted = layout_names(c->t);
	bool tree = c->t->kind == LAYOUT_TREE;
	int rc = sorted ? place_nodes(c) : -ENOMEM, levels = 1;

	if (rc == 0)
		check_names(c, sorted);
	if (rc == 0 && tree)
		levels = check_children(c, sorted);
	free(sorted);
	if (rc == 0 && levels < 0)
		rc = levels;
	if (rc == 0 && c->t->kind == LAYOUT_BLOCK)
		check_blocks(c);
	if (rc == 0 && c->t->kind == LAYOUT_RING)
		check_rings(c);
	if (rc == 0)
		rc = check_twice(c);
	if (rc == 0)
		rc = check_known(c);
	if (rc == 0 && levels == 0)
		rc = check_ways(c, "", NULL);
	if (rc == 0 && levels == 0)
		rc = check_partitions(c);
	return rc == 0 && c->o->fabric ? check_fabric(c, levels == 0) : rc;
}

static int index_known(struct checker *c)
{
	const struct wanted_list *nodes = c->o->nodes;

	if (!nodes)
		return 0;
	c->known = calloc(nodes->count + 1, sizeof(*c->known));
	if (!c->known)
		return -ENOMEM;
	for (size_t i = 0; i < nodes->count; i++)
		c->known[i] = &nodes->nodes[i];
	c->known_count = nodes->count;
	qsort(c->known, c->known_count, sizeof(*c->known), by_known);
	return 0;
}

static int check_topology(struct checker *c)
{
	size_t n = c->t->count;
	int rc = -ENOMEM;

	c->names = calloc(n + 1, sizeof(*c->names));
	c->name_counts = calloc(n + 1, sizeof(*c->name_counts));
	c->below = calloc(n + 1, sizeof(*c->below));
	c->group = calloc(n + 1, sizeof(*c->group));
	if (c->names && c->name_counts && c->below && c->group && index_known(c) == 0)
		rc = check_items(c);
	for (size_t i = 0; i < n; i++) {
		if (c->names && c->name_counts)
			hosts_free(c->names[i], c->name_counts[i]);
		if (c->below)
			free(c->below[i]);
	}
	free(c->names);
	free(c->name_counts);
	free(c->below);
	free(c->group);
	free(c->places);
	free(c->known);
	return rc;
}

/* Whether the release has the plugin at all, and the file something for it. */
static bool check_kind(const struct layout *l, const struct layout_topology *t, const char *label,
		       const struct check_options *o, struct findings *out)
{
	int since = t->kind == LAYOUT_BLOCK   ? RELEASE_BLOCK
		    : t->kind == LAYOUT_RING  ? RELEASE_RING
		    : t->kind == LAYOUT_TORUS ? RELEASE_RING
					      : 0;

	if (o->release < since)
		findings_add(out, true, t->line, "%stopology/%s is there from Slurm %d.%02d on",
			     label, layout_kind_name(t->kind), since / 100, since % 100);
	if (t->kind == LAYOUT_FLAT || t->kind == LAYOUT_TORUS ||
	    (l->yaml && t->kind == LAYOUT_NONE))
		return false;
	if (t->count == 0)
		findings_add(out, o->release >= RELEASE_YAML || l->yaml, 0,
			     "%sthere is no switch or block in it: no job gets more than one node",
			     label);
	if (t->kind == LAYOUT_TREE && t->count > SWITCHES_MAX)
		findings_add(out, true, 0, "%s%zu switches; slurmctld counts to %d", label,
			     t->count, SWITCHES_MAX);
	return t->count > 0 && t->count <= SWITCHES_MAX;
}

static void check_yaml(const struct layout *l, const struct check_options *o, struct findings *out)
{
	size_t defaults = 0;

	if (o->release < RELEASE_YAML)
		findings_add(out, true, 0,
			     "topology.yaml is read by Slurm from 25.05 on; write a "
			     "topology.conf");
	if (l->count == 0)
		findings_add(out, true, 0, "there is no topology in it");
	for (size_t i = 0; i < l->count; i++) {
		const struct layout_topology *t = &l->topologies[i];
		if (t->is_default && ++defaults == 2)
			findings_add(out, false, t->line,
				     "%s is one more cluster_default; the first one counts",
				     t->name ? t->name : "it");
		for (size_t j = 0; j < i; j++)
			if (t->name && l->topologies[j].name &&
			    strcmp(t->name, l->topologies[j].name) == 0)
				findings_add(out, true, t->line,
					     "topology %.80s is there already, in line %zu",
					     t->name, l->topologies[j].line);
	}
}

/* Whether slurm.conf has the plugin that reads this file. */
static void check_plugin(const struct layout *l, const struct slurmconf *s, struct findings *out)
{
	const char *plugin = s->topology_plugin ? s->topology_plugin : "topology/flat";
	const char *kind = l->count ? layout_kind_name(l->topologies[0].kind) : "";

	plugin += strncmp(plugin, "topology/", 9) == 0 ? 9 : 0;
	if (l->yaml || !*kind || strcmp(plugin, kind) == 0)
		return;
	findings_add(out, strcmp(plugin, "tree") == 0 || strcmp(plugin, "block") == 0, 0,
		     "slurm.conf has TopologyPlugin=topology/%.40s, and this is a file for "
		     "topology/%s; change it there and restart slurmctld",
		     plugin, kind);
}

int layout_check(const struct layout *l, const struct check_options *o, struct findings *findings)
{
	double seconds = check_start_seconds(l);
	int rc = 0;

	if (l->yaml)
		check_yaml(l, o, findings);
	if (o->slurm)
		check_plugin(l, o->slurm, findings);
	for (size_t i = 0; rc == 0 && i < l->count; i++) {
		const struct layout_topology *t = &l->topologies[i];
		char label[120] = "";
		struct checker c = {
			.o = o, .t = t, .out = findings, .label = label, .yaml = l->yaml
		};
		if (t->name)
			snprintf(label, sizeof(label), "topology %.80s: ", t->name);
		if (check_kind(l, t, label, o, findings))
			rc = check_topology(&c);
	}
	if (seconds >= SLOW_START_S)
		findings_add(
			findings, false, 0,
			"slurmctld takes about %.0f s longer to start and to reconfigure, for the "
			"distances between switches; leave spines out",
			seconds);
	return rc < 0 || findings->failed ? -ENOMEM : 0;
}
