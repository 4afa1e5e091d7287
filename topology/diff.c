/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff.c - see diff.h.
 *
 * Nodes are the fixed points: a switch with the same nodes and another name was renamed, and nodes
 * that stand elsewhere moved, together where they did so together. The order of lines, comments and
 * the spelling of host lists are no changes; the order of blocks is one, for their positions mean
 * something.
 */
#include "diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "text.h"

#define NODES_MAX 1000000
#define NONE LAYOUT_NO_ITEM

/* One of the two files. */
struct side {
	const struct layout_topology *t;
	struct layout_name *names; /* items by name */
	char ***nodes;		   /* of each item */
	size_t *counts;
	struct layout_name *places; /* nodes by name */
	size_t place_count;
	size_t *parents; /* of each item, NONE: a root */
	size_t *twins;	 /* of each item: the same in the other file, perhaps renamed; NONE: none */
};

/* What happened to one node. */
struct move {
	const char *node;
	size_t from, to; /* items of either file; NONE: it was or is not there */
};

struct differ {
	struct side was, is;
	struct findings *changes;
	const char *label;
};

static const char *noun(const struct differ *d)
{
	return d->was.t->kind == LAYOUT_TREE ? "switch" : layout_kind_name(d->was.t->kind);
}

static void side_clear(struct side *s)
{
	for (size_t i = 0; s->nodes && s->counts && i < s->t->count; i++)
		hosts_free(s->nodes[i], s->counts[i]);
	free(s->names);
	free(s->nodes);
	free(s->counts);
	free(s->places);
	free(s->parents);
	free(s->twins);
}

static int find_places(struct side *s)
{
	size_t total = 0, at = 0;

	for (size_t i = 0; i < s->t->count; i++) {
		const char *nodes = s->t->items[i].nodes;
		if (nodes &&
		    hosts_expand(nodes, NODES_MAX, &s->nodes[i], &s->counts[i], NULL) == -ENOMEM)
			return -ENOMEM;
		total += s->counts[i];
	}
	s->places = calloc(total + 1, sizeof(*s->places));
	if (!s->places)
		return -ENOMEM;
	for (size_t i = 0; i < s->t->count; i++)
		for (size_t j = 0; j < s->counts[i]; j++)
			s->places[at++] = (struct layout_name){ s->nodes[i][j], i };
	s->place_count = total;
	layout_sort(s->places, total);
	return 0;
}

static int find_parents(struct side *s)
{
	for (size_t i = 0; i < s->t->count; i++)
		s->parents[i] = s->twins[i] = NONE;
	for (size_t i = 0; i < s->t->count; i++) {
		char **names = NULL;
		size_t count = 0;
		const char *children = s->t->items[i].children;
		if (children && hosts_expand(children, NODES_MAX, &names, &count, NULL) == -ENOMEM)
			return -ENOMEM;
		for (size_t j = 0; j < count; j++) {
			size_t child = layout_find(s->names, s->t->count, names[j]);
			if (child != NONE)
				s->parents[child] = i;
		}
		hosts_free(names, count);
	}
	return 0;
}

static int side_read(struct side *s, const struct layout_topology *t)
{
	s->t = t;
	s->names = layout_names(t);
	s->nodes = calloc(t->count + 1, sizeof(*s->nodes));
	s->counts = calloc(t->count + 1, sizeof(*s->counts));
	s->parents = calloc(t->count + 1, sizeof(*s->parents));
	s->twins = calloc(t->count + 1, sizeof(*s->twins));
	if (!s->names || !s->nodes || !s->counts || !s->parents || !s->twins)
		return -ENOMEM;
	return find_places(s) < 0 ? -ENOMEM : find_parents(s);
}

/* The item of b that has just the nodes of item a of a, or NONE. */
static size_t same_nodes(const struct side *a, size_t item, const struct side *b)
{
	size_t there = NONE;

	for (size_t i = 0; i < a->counts[item]; i++) {
		size_t here = layout_find(b->places, b->place_count, a->nodes[item][i]);
		if (here == NONE || (i && here != there))
			return NONE;
		there = here;
	}
	return there != NONE && b->counts[there] == a->counts[item] ? there : NONE;
}

/* The item of d->is whose children are those of an item of d->was, or NONE. */
static size_t same_children(const struct differ *d, size_t item)
{
	size_t there = NONE;

	for (size_t i = 0; i < d->was.t->count; i++) {
		size_t twin = d->was.twins[i], above;
		if (d->was.parents[i] != item)
			continue;
		above = twin == NONE ? NONE : d->is.parents[twin];
		if (above == NONE || (there != NONE && above != there))
			return NONE;
		there = above;
	}
	return there;
}

static void pair_up(struct differ *d, size_t was, size_t is)
{
	if (is == NONE || d->is.twins[is] != NONE)
		return;
	d->was.twins[was] = is;
	d->is.twins[is] = was;
	if (strcmp(d->was.t->items[was].name, d->is.t->items[is].name) != 0)
		findings_add(d->changes, false, 0, "%s%s %s is called %s now", d->label, noun(d),
			     d->was.t->items[was].name, d->is.t->items[is].name);
}

/* First by name, then by nodes, then, from the leaves up, by children. */
static void find_twins(struct differ *d)
{
	bool more = true;

	for (size_t i = 0; i < d->was.t->count; i++)
		pair_up(d, i, layout_find(d->is.names, d->is.t->count, d->was.t->items[i].name));
	for (size_t i = 0; i < d->was.t->count; i++)
		if (d->was.twins[i] == NONE && d->was.counts[i])
			pair_up(d, i, same_nodes(&d->was, i, &d->is));
	while (more) {
		more = false;
		for (size_t i = 0; i < d->was.t->count; i++) {
			if (d->was.twins[i] != NONE || !d->was.t->items[i].children)
				continue;
			pair_up(d, i, same_children(d, i));
			more |= d->was.twins[i] != NONE;
		}
	}
}

static int by_move(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return strcmp(x->node, y->node);
}

static const char *name_of(const struct side *s, size_t item)
{
	return item == NONE ? "" : s->t->items[item].name;
}

/* A sentence for nodes that did the same. */
static int say_moves(const struct differ *d, const struct move *moves, size_t count)
{
	const char **nodes = calloc(count, sizeof(*nodes));
	size_t from = moves->from, to = moves->to;
	const char *was = name_of(&d->was, from), *is = name_of(&d->is, to), *what = noun(d);
	char *folded = NULL;

	for (size_t i = 0; nodes && i < count; i++)
		nodes[i] = moves[i].node;
	if (nodes)
		folded = hosts_fold(nodes, count);
	free(nodes);
	if (!folded)
		return -ENOMEM;
	if (from == NONE)
		findings_add(d->changes, false, 0, "%snew: %.300s, on %s %s", d->label, folded,
			     what, is);
	else if (to == NONE)
		findings_add(d->changes, false, 0, "%sgone: %.300s, from %s %s", d->label, folded,
			     what, was);
	else if (d->is.twins[to] == NONE && d->is.counts[to] == count)
		findings_add(d->changes, false, 0, "%s%s %s was split: %.300s on %s now", d->label,
			     what, was, folded, is);
	else if (d->was.twins[from] == NONE && d->was.counts[from] == count)
		findings_add(d->changes, false, 0, "%s%s %s, with %.300s, is part of %s now",
			     d->label, what, was, folded, is);
	else
		findings_add(d->changes, false, 0, "%s%.300s moved from %s to %s", d->label, folded,
			     was, is);
	free(folded);
	return 0;
}

/* Both files' nodes side by side, those that stand elsewhere now. */
static size_t find_moves(const struct differ *d, struct move *moves)
{
	const struct side *was = &d->was, *is = &d->is;
	size_t i = 0, j = 0, count = 0;

	while (i < was->place_count || j < is->place_count) {
		int order = i == was->place_count ? 1
			    : j == is->place_count
				    ? -1
				    : strcmp(was->places[i].name, is->places[j].name);
		struct move m = { order <= 0 ? was->places[i].name : is->places[j].name,
				  order <= 0 ? was->places[i].item : NONE,
				  order >= 0 ? is->places[j].item : NONE };
		i += order <= 0;
		j += order >= 0;
		if (m.from == NONE || m.to == NONE || was->twins[m.from] != m.to)
			moves[count++] = m;
	}
	return count;
}

static int diff_nodes(const struct differ *d)
{
	struct move *moves = calloc(d->was.place_count + d->is.place_count + 1, sizeof(*moves));
	size_t count = moves ? find_moves(d, moves) : 0;
	int rc = moves ? 0 : -ENOMEM;

	if (count)
		qsort(moves, count, sizeof(*moves), by_move);
	for (size_t i = 0, n; rc == 0 && i < count; i += n) {
		for (n = 1; i + n < count && moves[i + n].from == moves[i].from &&
			    moves[i + n].to == moves[i].to;)
			n++;
		rc = say_moves(d, &moves[i], n);
	}
	free(moves);
	return rc;
}

static void diff_items(const struct differ *d)
{
	for (size_t i = 0; i < d->was.t->count; i++)
		if (d->was.twins[i] == NONE)
			findings_add(d->changes, false, 0, "%s%s %s is gone", d->label, noun(d),
				     name_of(&d->was, i));
	for (size_t i = 0; i < d->is.t->count; i++)
		if (d->is.twins[i] == NONE)
			findings_add(d->changes, false, 0, "%s%s %s is new", d->label, noun(d),
				     name_of(&d->is, i));
	for (size_t i = 0; i < d->is.t->count; i++) {
		size_t twin = d->is.twins[i], is = d->is.parents[i], was;
		if (twin == NONE)
			continue;
		was = d->was.parents[twin];
		if ((was == NONE ? NONE : d->was.twins[was]) != is || (was != NONE && is == NONE))
			findings_add(d->changes, false, 0, "%s%s %s is %s%s now, it was %s%s",
				     d->label, noun(d), name_of(&d->is, i),
				     is == NONE ? "a root" : "below ", name_of(&d->is, is),
				     was == NONE ? "a root" : "below ", name_of(&d->was, was));
	}
}

static void diff_blocks(const struct differ *d)
{
	const struct layout_topology *was = d->was.t, *is = d->is.t;
	size_t last = 0;
	bool ordered = true;

	if (was->size_count != is->size_count ||
	    memcmp(was->sizes, is->sizes, was->size_count * sizeof(was->sizes[0])) != 0)
		findings_add(d->changes, false, 0, "%sthe block sizes are others", d->label);
	for (size_t i = 0; i < was->count; i++) {
		if (d->was.twins[i] == NONE)
			continue;
		ordered &= d->was.twins[i] >= last;
		last = d->was.twins[i];
	}
	if (!ordered)
		findings_add(d->changes, false, 0,
			     "%sthe order of the blocks is another, and with it what larger blocks "
			     "have in them",
			     d->label);
}

static int diff_topology(const struct layout_topology *was, const struct layout_topology *is,
			 struct findings *changes)
{
	char label[120] = "";
	struct differ d = { .changes = changes, .label = label };
	int rc = side_read(&d.was, was);

	if (was->name)
		snprintf(label, sizeof(label), "%.80s: ", was->name);
	if (rc == 0)
		rc = side_read(&d.is, is);
	if (rc == 0) {
		find_twins(&d);
		rc = diff_nodes(&d);
	}
	if (rc == 0)
		diff_items(&d);
	if (rc == 0 && was->kind == LAYOUT_BLOCK)
		diff_blocks(&d);
	side_clear(&d.was);
	if (d.is.t)
		side_clear(&d.is);
	return rc;
}

/* The topology of a layout that has that name; in topology.conf none has one. */
static const struct layout_topology *find_topology(const struct layout *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->topologies[i].name ? l->topologies[i].name : "", name ? name : "") ==
		    0)
			return &l->topologies[i];
	return NULL;
}

static void diff_default(const struct layout *was, const struct layout *is,
			 struct findings *changes)
{
	const char *first[2] = { NULL, NULL };

	for (int side = 0; side < 2; side++) {
		const struct layout *l = side ? is : was;
		for (size_t i = l->count; i-- > 0;)
			if (l->topologies[i].is_default)
				first[side] = l->topologies[i].name;
	}
	if (strcmp(first[0] ? first[0] : "", first[1] ? first[1] : "") != 0)
		findings_add(changes, false, 0, "cluster_default is %s now, it was %s",
			     first[1] ? first[1] : "not set", first[0] ? first[0] : "not set");
}

int layout_diff(const struct layout *was, const struct layout *is, struct findings *changes,
		bool *restart)
{
	int rc = 0;

	*restart = was->yaml != is->yaml;
	if (*restart)
		findings_add(changes, false, 0, "a topology.%s takes the place of a topology.%s",
			     is->yaml ? "yaml" : "conf", was->yaml ? "yaml" : "conf");
	for (size_t i = 0; rc == 0 && i < was->count; i++) {
		const struct layout_topology *t = &was->topologies[i];
		const struct layout_topology *other = find_topology(is, t->name);
		if (!other && was->yaml == is->yaml) {
			findings_add(changes, false, 0, "topology %s is gone", t->name);
			*restart = true;
		} else if (other && other->kind != t->kind) {
			findings_add(changes, false, 0,
				     "topology%s%s is topology/%s now, it was %s",
				     t->name ? " " : "", t->name ? t->name : "",
				     layout_kind_name(other->kind), layout_kind_name(t->kind));
			*restart = true;
		} else if (other) {
			rc = diff_topology(t, other, changes);
		}
	}
	for (size_t i = 0; was->yaml && is->yaml && i < is->count; i++)
		if (!find_topology(was, is->topologies[i].name)) {
			findings_add(changes, false, 0, "topology %s is new",
				     is->topologies[i].name ? is->topologies[i].name : "");
			*restart = true;
		}
	if (was->yaml && is->yaml)
		diff_default(was, is, changes);
	return rc < 0 || changes->failed ? -ENOMEM : 0;
}

void fabric_diff(const struct fabric *was, const struct fabric *is, struct findings *changes)
{
	char guid[GUID_TEXT];

	for (size_t i = 0; i < was->switch_count; i++) {
		const struct fabric_switch *s = &was->switches[i];
		size_t there = fabric_find_switch(is, s->guid);
		if (there == FABRIC_NONE)
			findings_add(changes, false, 0,
				     "the switch %s (%s) is gone from the fabric", s->name,
				     guid_format(s->guid, guid));
		else if (strcmp(is->switches[there].name, s->name) != 0)
			findings_add(changes, false, 0, "the switch %s (%s) calls itself %s now",
				     s->name, guid_format(s->guid, guid), is->switches[there].name);
	}
	for (size_t i = 0; i < is->switch_count; i++)
		if (fabric_find_switch(was, is->switches[i].guid) == FABRIC_NONE)
			findings_add(changes, false, 0, "the switch %s (%s) is new in the fabric",
				     is->switches[i].name, guid_format(is->switches[i].guid, guid));
}
