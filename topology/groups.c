/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups.c - units, pods, areas and islands; see groups.h.
 *
 * Unit: hosts with the same leaves (sets.h: a dark rail is forgiven). A host that hangs on spines
 * only makes a unit of its spine, so that Slurm can reach it. Island: switches with a way between
 * them; separate planes are one island when most hosts of the smaller one are on both, a login node
 * with a leg in each does not join them. Pod: units below the same second-level switches, some
 * missing cables forgiven; area: the same of pods, and of areas, as often as the tree has levels
 * for it. Names come from the switches (name_*), depend on no order, and are unique over all
 * groups, because they all become switches of topology.conf.
 */
#include "groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "sets.h"

struct build {
	struct fabric *f;
	const struct switch_graph *g;
	size_t *weight;	   /* hosts of each unit */
	size_t *home;	   /* each unit's island, as the root of its component */
	size_t *root;	   /* union-find over switches: components, then islands */
	size_t *component; /* of each switch, before separate planes became one island */
	bool *paired;	   /* components: it is a plane of an island with several */
	const struct groups_options *options;
	struct set *area_tops; /* beside f->areas: the switches right above what is in it */
};

static size_t root_of(struct build *b, size_t i)
{
	while (b->root[i] != i) {
		b->root[i] = b->root[b->root[i]];
		i = b->root[i];
	}
	return i;
}

/* The lower index is the root, so that the result does not depend on the order of joining. */
static void join(struct build *b, size_t x, size_t y)
{
	x = root_of(b, x);
	y = root_of(b, y);
	if (x < y)
		b->root[y] = x;
	else
		b->root[x] = y;
}

static int by_number(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* Sorts and makes each one unique; returns how many there are. */
static size_t make_set(size_t *items, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(items, count, sizeof(*items), by_number);
	for (size_t i = 0; i < count; i++)
		if (!kept || items[kept - 1] != items[i])
			items[kept++] = items[i];
	return kept;
}

/* Units. */

struct member { /* something with a set: a host, or a unit */
	struct set set;
	size_t who;
};

static int by_set(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	int order = sets_compare(&a->set, &b->set);

	return order ? order : (a->who > b->who) - (a->who < b->who);
}

/*
 * Sorts members, makes the different sets of them (weights added up) and groups these. *group_of
 * (malloc'ed) gives for each member the index of its group's set in *sets (malloc'ed, *n of them).
 */
static int group_members(struct member *members, size_t count, struct set **sets, size_t *n,
			 size_t **group_of)
{
	*sets = calloc(count + 1, sizeof(**sets));
	*group_of = calloc(count + 1, sizeof(**group_of));
	*n = 0;
	if (!*sets || !*group_of)
		return -ENOMEM;
	if (count)
		qsort(members, count, sizeof(*members), by_set);
	for (size_t i = 0; i < count; i++) {
		if (i && sets_compare(&members[i - 1].set, &members[i].set) == 0)
			(*sets)[*n - 1].weight += members[i].set.weight;
		else
			(*sets)[(*n)++] = members[i].set;
		(*group_of)[i] = *n - 1;
	}
	if (sets_group(*sets, *n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		(*group_of)[i] = (*sets)[(*group_of)[i]].group;
	return 0;
}

struct place { /* a host on a switch */
	size_t host, sw;
};

static int by_place(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return (a->sw > b->sw) - (a->sw < b->sw);
}

/* The switches each host hangs on; of leaves and others only the leaves. Returns how many hosts. */
static size_t host_sets(const struct fabric *f, struct place *places, size_t count, size_t *items,
			struct member *members)
{
	size_t hosts = 0, used = 0;

	for (size_t i = 0, end; i < count; i = end) {
		bool on_leaf = false;
		size_t start = used;
		for (end = i; end < count && places[end].host == places[i].host; end++)
			on_leaf = on_leaf || f->switches[places[end].sw].level == 0;
		for (size_t j = i; j < end; j++)
			if (!on_leaf || f->switches[places[j].sw].level == 0)
				items[used++] = places[j].sw;
		used = start + make_set(items + start, used - start);
		members[hosts++] =
			(struct member){ { items + start, used - start, 1, 0 }, places[i].host };
	}
	return hosts;
}

static int add_unit(struct build *b, const struct set *set)
{
	struct fabric *f = b->f;
	struct fabric_unit *unit = &f->units[f->unit_count];

	unit->leaves = calloc(set->count + 1, sizeof(*unit->leaves));
	if (!unit->leaves)
		return -ENOMEM;
	memcpy(unit->leaves, set->items, set->count * sizeof(*unit->leaves));
	unit->leaf_count = set->count;
	f->unit_count++;
	return 0;
}

/* One unit for each set that is a group; *unit_of: from set to unit. */
static int add_units(struct build *b, const struct set *sets, size_t n, size_t *unit_of)
{
	b->f->units = calloc(n + 1, sizeof(*b->f->units));
	b->weight = calloc(n + 1, sizeof(*b->weight));
	b->home = calloc(n + 1, sizeof(*b->home));
	if (!b->f->units || !b->weight || !b->home)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (sets[i].group != i)
			continue;
		unit_of[i] = b->f->unit_count;
		if (add_unit(b, &sets[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int find_units(struct build *b)
{
	struct fabric *f = b->f;
	struct place *places = calloc(f->port_count + 1, sizeof(*places));
	size_t *items = calloc(f->port_count + 1, sizeof(*items)), *group_of = NULL,
	       *unit_of = NULL;
	struct member *members = calloc(f->host_count + 1, sizeof(*members));
	struct set *sets = NULL;
	size_t count = 0, hosts, n;
	int rc = places && items && members ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->port_count; i++)
		if (f->ports[i].host != FABRIC_NONE && f->ports[i].sw != FABRIC_NONE &&
		    !f->ports[i].skipped)
			places[count++] =
				(struct place){ f->ports[i].host, b->options->box[f->ports[i].sw] };
	if (rc == 0) {
		qsort(places, count, sizeof(*places), by_place);
		hosts = host_sets(f, places, count, items, members);
		rc = group_members(members, hosts, &sets, &n, &group_of);
	}
	if (rc == 0 && !(unit_of = calloc(n + 1, sizeof(*unit_of))))
		rc = -ENOMEM;
	if (rc == 0)
		rc = add_units(b, sets, n, unit_of);
	for (size_t i = 0; rc == 0 && i < hosts; i++) {
		f->hosts[members[i].who].unit = unit_of[group_of[i]];
		b->weight[unit_of[group_of[i]]]++;
	}
	free(places);
	free(items);
	free(members);
	free(sets);
	free(group_of);
	free(unit_of);
	return rc;
}

/* Islands. */

struct span { /* hosts that are in both of two components */
	size_t a, b, hosts;
};

static int by_span(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

/* The different components of a unit's leaves, into items. */
static size_t components(struct build *b, const struct fabric_unit *unit, size_t *items)
{
	for (size_t i = 0; i < unit->leaf_count; i++)
		items[i] = root_of(b, unit->leaves[i]);
	return make_set(items, unit->leaf_count);
}

static void join_planes(struct build *b, struct span *spans, size_t count, const size_t *hosts)
{
	size_t kept = 0;

	qsort(spans, count, sizeof(*spans), by_span);
	for (size_t i = 0; i < count; i++) {
		if (kept && by_span(&spans[kept - 1], &spans[i]) == 0)
			spans[kept - 1].hosts += spans[i].hosts;
		else
			spans[kept++] = spans[i];
	}
	for (size_t i = 0; i < kept; i++) {
		size_t smaller = hosts[spans[i].a] < hosts[spans[i].b] ? hosts[spans[i].a]
								       : hosts[spans[i].b];
		if (spans[i].hosts * 2 <= smaller)
			continue;
		join(b, spans[i].a, spans[i].b);
		b->paired[spans[i].a] = b->paired[spans[i].b] = true;
	}
}

/* Makes room for the spans of all units; counts hosts per component. NULL without memory. */
static struct span *list_spans(struct build *b, size_t *items, size_t *hosts, size_t *count)
{
	struct fabric *f = b->f;
	struct span *spans;
	size_t room = 0;

	for (size_t i = 0; i < f->unit_count; i++) {
		size_t n = components(b, &f->units[i], items);
		room += n * (n - 1) / 2;
		for (size_t j = 0; j < n; j++)
			hosts[items[j]] += b->weight[i];
	}
	spans = calloc(room + 1, sizeof(*spans));
	*count = 0;
	for (size_t i = 0; spans && i < f->unit_count; i++) {
		size_t n = components(b, &f->units[i], items);
		for (size_t j = 0; j < n; j++)
			for (size_t k = j + 1; k < n; k++)
				spans[(*count)++] =
					(struct span){ items[j], items[k], b->weight[i] };
	}
	return spans;
}

/*
 * A unit with legs in several islands belongs to the one with most hosts; of equal ones to that
 * whose first host, of those with legs in one island, comes first by name.
 */
static int find_homes(struct build *b, size_t *items, const size_t *hosts)
{
	struct fabric *f = b->f;
	size_t *first = calloc(f->switch_count + 1, sizeof(*first)); /* host and 1, by component */

	if (!first)
		return -ENOMEM;
	for (size_t i = f->host_count; i > 0; i--) {
		size_t unit = f->hosts[i - 1].unit;
		if (unit != FABRIC_NONE && components(b, &f->units[unit], items) == 1)
			first[items[0]] = i;
	}
	for (size_t i = 0; i < f->unit_count; i++) {
		size_t n = components(b, &f->units[i], items), best = items[0];
		for (size_t j = 1; j < n; j++)
			if (hosts[items[j]] > hosts[best] ||
			    (hosts[items[j]] == hosts[best] && first[items[j]] < first[best]))
				best = items[j];
		b->home[i] = best;
	}
	free(first);
	return 0;
}

static int find_islands(struct build *b)
{
	struct fabric *f = b->f;
	size_t *items = calloc(f->switch_count + 1, sizeof(*items));
	size_t *hosts = calloc(f->switch_count + 1, sizeof(*hosts)), count;
	struct span *spans = NULL;

	b->root = calloc(f->switch_count + 1, sizeof(*b->root));
	b->component = calloc(f->switch_count + 1, sizeof(*b->component));
	b->paired = calloc(f->switch_count + 1, sizeof(*b->paired));
	if (b->root && b->component && b->paired && items && hosts) {
		for (size_t i = 0; i < f->switch_count; i++)
			b->root[i] = i;
		for (size_t i = 0; i < f->link_count; i++)
			join(b, f->links[i].a, f->links[i].b);
		for (size_t i = 1; b->options->joined && i < f->switch_count; i++)
			join(b, 0, i);
		for (size_t i = 0; i < f->switch_count; i++)
			b->component[i] = root_of(b, i);
		spans = list_spans(b, items, hosts, &count);
	}
	if (spans && find_homes(b, items, hosts) < 0) {
		free(spans);
		spans = NULL;
	}
	if (spans)
		join_planes(b, spans, count, hosts);
	for (size_t i = 0; spans && i < f->unit_count; i++)
		b->home[i] = root_of(b, b->home[i]);
	free(items);
	free(hosts);
	free(spans);
	return spans ? 0 : -ENOMEM;
}

/* Planes. */

struct plane { /* a component that is one of several in its island */
	size_t component;
	const struct fabric_port *first; /* what its hosts call their port on it, the least */
};

static bool port_before(const struct fabric_port *a, const struct fabric_port *b)
{
	int order = names_compare(a->device ? a->device : "", b->device ? b->device : "");

	return order ? order < 0 : a->guid < b->guid;
}

static int by_plane(const void *x, const void *y)
{
	const struct plane *a = x, *b = y;

	if (!a->first || !b->first)
		return !a->first - !b->first;
	return port_before(a->first, b->first) ? -1 : port_before(b->first, a->first);
}

/* Numbers the planes of each island in the order of their hosts' devices; others have none. */
static int find_planes(struct build *b)
{
	struct fabric *f = b->f;
	struct plane *planes = calloc(f->switch_count + 1, sizeof(*planes));
	int *number = calloc(f->switch_count + 1, sizeof(*number)); /* by component */
	int *next = calloc(f->switch_count + 1, sizeof(*next));	    /* by island */

	for (size_t i = 0; planes && i < f->switch_count; i++)
		planes[i].component = i;
	for (size_t i = 0; planes && i < f->port_count; i++) {
		const struct fabric_port *port = &f->ports[i];
		struct plane *plane;
		if (port->host == FABRIC_NONE || port->sw == FABRIC_NONE)
			continue;
		plane = &planes[b->component[port->sw]];
		if (!plane->first || port_before(port, plane->first))
			plane->first = port;
	}
	if (planes && number && next) {
		qsort(planes, f->switch_count, sizeof(*planes), by_plane);
		for (size_t i = 0; i < f->switch_count && planes[i].first; i++)
			if (b->paired[planes[i].component])
				number[planes[i].component] =
					next[root_of(b, planes[i].component)]++;
		for (size_t i = 0; i < f->switch_count; i++)
			f->switches[i].plane =
				b->paired[b->component[i]] ? number[b->component[i]] : -1;
	}
	free(planes);
	free(number);
	free(next);
	return planes && number && next ? 0 : -ENOMEM;
}

/* Pods. */

/* The second-level switches above unit u in its island, into items (with room for all switches). */
static size_t uppers_of(struct build *b, size_t u, size_t *items)
{
	const struct fabric *f = b->f;
	const struct fabric_unit *unit = &f->units[u];
	size_t n = 0;

	for (size_t i = 0; i < unit->leaf_count; i++) {
		size_t leaf = unit->leaves[i];
		if (f->switches[leaf].level == 1)
			items[n++] = leaf;
		for (size_t j = b->g->start[leaf];
		     f->switches[leaf].level == 0 && j < b->g->start[leaf + 1]; j++) {
			size_t peer = b->g->peers[j];
			if (f->switches[peer].level == 1 && root_of(b, peer) == b->home[u])
				items[n++] = peer;
		}
	}
	return make_set(items, n);
}

/* An upper bound of what uppers_of() writes for a unit. */
static size_t uppers_bound(const struct build *b, const struct fabric_unit *unit)
{
	size_t n = 1;

	for (size_t i = 0; i < unit->leaf_count; i++)
		n += 1 + b->g->start[unit->leaves[i] + 1] - b->g->start[unit->leaves[i]];
	return n;
}

static size_t common_items(const struct set *a, const struct set *b)
{
	size_t n = 0;

	for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
		if (a->items[i] == b->items[j])
			n++;
		if (a->items[i] < b->items[j])
			i++;
		else
			j++;
	}
	return n;
}

static void relabel(struct set *sets, size_t n, size_t from, size_t to)
{
	for (size_t i = 0; i < n; i++)
		if (sets[i].group == from)
			sets[i].group = to;
}

/* Groups with most of their switches in common are one pod with some cables missing. */
static int merge_overlapping(struct set *sets, size_t n)
{
	size_t *groups = calloc(n + 1, sizeof(*groups)), count = 0;

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (sets[i].group == i)
			groups[count++] = i;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct set *a = &sets[groups[i]], *b = &sets[groups[j]];
			size_t bigger = a->count > b->count ? a->count : b->count;
			if (a->group != b->group && common_items(a, b) * 2 > bigger)
				relabel(sets, n, a->group, b->group);
		}
	}
	free(groups);
	return 0;
}

static int add_pods(struct build *b, const struct member *members, const size_t *group_of,
		    const struct set *sets, size_t n)
{
	struct fabric *f = b->f;
	size_t *pod_of = calloc(n + 1, sizeof(*pod_of));

	f->pods = calloc(n + 1, sizeof(*f->pods));
	if (!f->pods || !pod_of) {
		free(pod_of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->unit_count; i++) {
		size_t set = sets[group_of[i]].group, unit = members[i].who;
		if (pod_of[set] == 0) {
			f->pods[f->pod_count++] =
				(struct fabric_pod){ NULL, b->home[unit], FABRIC_NONE };
			pod_of[set] = f->pod_count;
		}
		f->units[unit].pod = pod_of[set] - 1;
	}
	free(pod_of);
	return 0;
}

/* Units with nothing above them (a single switch, a ring of leaves) share a pod per island. */
static int find_pods(struct build *b)
{
	struct fabric *f = b->f;
	struct member *members = calloc(f->unit_count + 1, sizeof(*members));
	size_t room = 0, used = 0, n = 0, *items, *group_of = NULL;
	struct set *sets = NULL;
	int rc = -ENOMEM;

	for (size_t i = 0; i < f->unit_count; i++)
		room += uppers_bound(b, &f->units[i]);
	items = calloc(room + 1, sizeof(*items));
	for (size_t i = 0; members && items && i < f->unit_count; i++) {
		size_t count = uppers_of(b, i, items + used);
		if (count == 0)
			items[used + count++] = f->switch_count + b->home[i];
		members[i] = (struct member){ { items + used, count, b->weight[i], 0 }, i };
		used += count;
	}
	if (members && items)
		rc = group_members(members, f->unit_count, &sets, &n, &group_of);
	if (rc == 0)
		rc = merge_overlapping(sets, n);
	if (rc == 0)
		rc = add_pods(b, members, group_of, sets, n);
	free(members);
	free(items);
	free(sets);
	free(group_of);
	return rc;
}

/* Areas. */

struct climber {	  /* a pod, or an area, that has nothing around it yet */
	size_t pod, area; /* one of them is FABRIC_NONE */
	size_t island;
	size_t *tops; /* its highest switches */
	size_t top_count;
	size_t weight; /* pods in it */
};

struct climb {
	struct climber *all;
	size_t count;
};

static void climb_free(struct climb *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->all[i].tops);
	free(c->all);
}

/* The pods with the second-level switches above their units. */
static int climb_start(struct build *b, struct climb *c)
{
	struct fabric *f = b->f;

	c->all = calloc(f->pod_count + 1, sizeof(*c->all));
	if (!c->all)
		return -ENOMEM;
	for (; c->count < f->pod_count; c->count++) {
		struct climber *one = &c->all[c->count];
		size_t room = 1;
		*one =
			(struct climber){ c->count, FABRIC_NONE, f->pods[c->count].island,
					  NULL,	    0,		 1 };
		for (size_t i = 0; i < f->unit_count; i++)
			room += f->units[i].pod == c->count ? uppers_bound(b, &f->units[i]) : 0;
		one->tops = calloc(room, sizeof(*one->tops));
		if (!one->tops)
			return -ENOMEM;
		for (size_t i = 0; i < f->unit_count; i++)
			if (f->units[i].pod == c->count)
				one->top_count += uppers_of(b, i, one->tops + one->top_count);
		one->top_count = make_set(one->tops, one->top_count);
	}
	return 0;
}

/* The switches of that level with a cable to one of its tops, malloc'ed. */
static size_t *next_tops(struct build *b, const struct climber *c, int level, size_t *count)
{
	const struct switch_graph *g = b->g;
	size_t room = 1, n = 0, *next;

	for (size_t i = 0; i < c->top_count; i++)
		room += g->start[c->tops[i] + 1] - g->start[c->tops[i]];
	next = calloc(room, sizeof(*next));
	for (size_t i = 0; next && i < c->top_count; i++)
		for (size_t j = g->start[c->tops[i]]; j < g->start[c->tops[i] + 1]; j++)
			if (b->f->switches[g->peers[j]].level == level)
				next[n++] = g->peers[j];
	*count = next ? make_set(next, n) : 0;
	return next;
}

static int remember_tops(struct build *b, const struct climber *c)
{
	struct fabric *f = b->f;
	struct set *tops = reallocarray(b->area_tops, f->area_count + 1, sizeof(*tops));
	size_t *copy = calloc(c->top_count + 1, sizeof(*copy));

	if (tops)
		b->area_tops = tops;
	if (!tops || !copy) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, c->tops, c->top_count * sizeof(*copy));
	tops[f->area_count] = (struct set){ copy, c->top_count, 0, 0 };
	return 0;
}

/* Makes an area of all climbers of who's group; who stands for it from then on, the others go. */
static int add_area(struct build *b, struct climb *c, size_t *group, size_t who)
{
	struct fabric *f = b->f;
	struct fabric_area *areas = reallocarray(f->areas, f->area_count + 1, sizeof(*areas));
	struct climber *one = &c->all[who];

	if (!areas)
		return -ENOMEM;
	f->areas = areas;
	for (size_t i = 0; i < c->count; i++) {
		struct climber *other = &c->all[i];
		size_t *both;
		if (group[i] != group[who])
			continue;
		if (other->pod != FABRIC_NONE)
			f->pods[other->pod].area = f->area_count;
		else
			f->areas[other->area].parent = f->area_count;
		if (i == who)
			continue;
		both = reallocarray(one->tops, one->top_count + other->top_count + 1,
				    sizeof(*both));
		if (!both)
			return -ENOMEM;
		memcpy(both + one->top_count, other->tops, other->top_count * sizeof(*both));
		one->tops = both;
		one->top_count = make_set(both, one->top_count + other->top_count);
		one->weight += other->weight;
		other->weight = 0; /* gone */
	}
	if (remember_tops(b, one) < 0)
		return -ENOMEM;
	areas[f->area_count] = (struct fabric_area){ NULL, one->island, FABRIC_NONE };
	one->pod = FABRIC_NONE;
	one->area = f->area_count++;
	return 0;
}

static void drop_gone(struct climb *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (c->all[i].weight)
			c->all[kept++] = c->all[i];
		else
			free(c->all[i].tops);
	}
	c->count = kept;
}

/* Areas of climbers with one group, where their island has several groups. */
static int add_areas(struct build *b, struct climb *c, size_t *group)
{
	size_t *same = calloc(c->count + 1, sizeof(*same));		  /* by group */
	size_t *groups = calloc(b->f->switch_count + 1, sizeof(*groups)); /* by island */
	int rc = same && groups ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < c->count; i++)
		if (group[i] != FABRIC_NONE && same[group[i]]++ == 0)
			groups[c->all[i].island]++;
	for (size_t i = 0; rc == 0 && i < c->count; i++)
		if (group[i] != FABRIC_NONE && c->all[i].weight && same[group[i]] > 1 &&
		    groups[c->all[i].island] > 1)
			rc = add_area(b, c, group, i);
	drop_gone(c);
	free(same);
	free(groups);
	return rc;
}

/* Which climbers have the same switches above them; *any: there is such a level at all. */
static int group_climbers(struct build *b, struct climb *c, int level, size_t *group, bool *any)
{
	struct member *members = calloc(c->count + 1, sizeof(*members));
	size_t n = 0, sets_count = 0, *group_of = NULL;
	struct set *sets = NULL;
	int rc = members ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		size_t count, *next = next_tops(b, &c->all[i], level, &count);
		group[i] = FABRIC_NONE;
		if (!next)
			rc = -ENOMEM;
		if (count == 0) {
			free(next);
			continue;
		}
		free(c->all[i].tops);
		c->all[i].tops = next;
		c->all[i].top_count = count;
		members[n++] = (struct member){ { next, count, c->all[i].weight, 0 }, i };
	}
	*any = n > 0;
	if (rc == 0)
		rc = group_members(members, n, &sets, &sets_count, &group_of);
	if (rc == 0)
		rc = merge_overlapping(sets, sets_count);
	for (size_t i = 0; rc == 0 && i < n; i++)
		group[members[i].who] = sets[group_of[i]].group;
	free(members);
	free(sets);
	free(group_of);
	return rc;
}

/* From pods up, a level at a time, until there are no switches above. */
static int find_areas(struct build *b)
{
	size_t *group = calloc(b->f->pod_count + 1, sizeof(*group));
	struct climb c = { 0 };
	bool any = true;
	int rc = group ? climb_start(b, &c) : -ENOMEM;

	for (int level = 2; rc == 0 && any && c.count > 1; level++) {
		rc = group_climbers(b, &c, level, group, &any);
		if (rc == 0)
			rc = add_areas(b, &c, group);
	}
	free(group);
	climb_free(&c);
	return rc;
}

static int add_islands(struct build *b)
{
	struct fabric *f = b->f;
	size_t *roots = calloc(f->pod_count + 1, sizeof(*roots)), n;

	f->islands = calloc(f->pod_count + 1, sizeof(*f->islands));
	if (!roots || !f->islands) {
		free(roots);
		return -ENOMEM;
	}
	for (size_t i = 0; i < f->pod_count; i++)
		roots[i] = f->pods[i].island;
	n = make_set(roots, f->pod_count);
	for (size_t i = 0; i < f->pod_count; i++) {
		size_t *at = bsearch(&f->pods[i].island, roots, n, sizeof(*roots), by_number);
		f->pods[i].island = (size_t)(at - roots);
	}
	for (size_t i = 0; i < f->area_count; i++) {
		size_t *at = bsearch(&f->areas[i].island, roots, n, sizeof(*roots), by_number);
		f->areas[i].island = (size_t)(at - roots);
	}
	f->island_count = n;
	free(roots);
	return 0;
}

/* Names. */

#define CHOICES 3

struct named {
	char choice[CHOICES][NAME_ROOM]; /* best first; "" is none; the last is always unique */
	int at;
	size_t who;
};

struct taken {
	const char **names; /* sorted */
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_taken(const struct taken *t, const char *name)
{
	return t->count && bsearch(&name, t->names, t->count, sizeof(*t->names), by_text) != NULL;
}

static int by_choice(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	int order = strcmp(a->choice[a->at], b->choice[b->at]);

	return order ? order : (a->who > b->who) - (a->who < b->who);
}

/* Moves those of v[first..end[ to their next choice; false when all are at their last. */
static bool move_on(struct named *v, size_t first, size_t end)
{
	bool moved = false;

	for (size_t i = first; i < end; i++) {
		if (v[i].at < CHOICES - 1) {
			v[i].at++;
			moved = true;
		}
	}
	return moved;
}

/*
 * Moves all that share a name, or whose name is taken, to their next choice until none does. All of
 * a round move by the names they had before it, so that few rounds are needed.
 */
static void settle(struct named *v, size_t n, const struct taken *taken)
{
	bool changed = n > 0;

	while (changed) {
		changed = false;
		qsort(v, n, sizeof(*v), by_choice);
		for (size_t i = 0, end; i < n; i = end) {
			const char *name = v[i].choice[v[i].at];
			bool bad = name[0] == '\0' || is_taken(taken, name);
			for (end = i + 1; end < n && strcmp(v[end].choice[v[end].at], name) == 0;
			     end++)
				bad = true;
			changed |= bad && move_on(v, i, end);
		}
	}
}

/* FNV-1a, for the name of last resort. */
static uint64_t hash_guids(const struct fabric *f, const size_t *switches, size_t n)
{
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < n; i++) {
		for (int shift = 0; shift < 64; shift += 8) {
			hash ^= f->switches[switches[i]].guid >> shift & 0xff;
			hash *= 1099511628211u;
		}
	}
	return hash;
}

/* What switches have in common; "" when a switch itself is called that. */
static int common_name(const struct fabric *f, const size_t *switches, size_t n,
		       const struct taken *switch_names, char name[NAME_ROOM])
{
	const char **names = calloc(n + 1, sizeof(*names));
	int rc;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		names[i] = f->switches[switches[i]].name;
	rc = names_common(names, n, name);
	if (n > 1 && is_taken(switch_names, name))
		name[0] = '\0';
	free(names);
	return rc;
}

static const char *first_leaf(const struct fabric *f, const struct fabric_unit *unit)
{
	const char *first = f->switches[unit->leaves[0]].name;

	for (size_t i = 1; i < unit->leaf_count; i++)
		if (names_compare(f->switches[unit->leaves[i]].name, first) < 0)
			first = f->switches[unit->leaves[i]].name;
	return first;
}

/* "pod" and the name of its first unit, which is cut where it is too long: last resorts follow. */
static void join_words(char name[NAME_ROOM], const char *kind, const char *unit)
{
	snprintf(name, NAME_ROOM, "%.7s-%.55s", kind, unit);
}

static int take_all(struct taken *t, const char *name)
{
	const char **more = reallocarray(t->names, t->count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	t->names = more;
	t->names[t->count++] = name;
	return 0;
}

static void sort_taken(struct taken *t)
{
	if (t->count)
		qsort(t->names, t->count, sizeof(*t->names), by_text);
}

/* A switch that stands for several of its box, of which it is the first. */
static bool is_box(const struct build *b, size_t sw)
{
	const struct fabric *f = b->f;

	for (size_t i = sw + 1; f->switches[sw].chassis && i < f->switch_count; i++)
		if (b->options->box[i] == sw)
			return true;
	return false;
}

/* The box that all leaves are in, NULL: there is none. */
static const char *common_chassis(const struct fabric *f, const struct fabric_unit *unit)
{
	const char *chassis = f->switches[unit->leaves[0]].chassis;

	for (size_t i = 1; chassis && i < unit->leaf_count; i++) {
		const char *other = f->switches[unit->leaves[i]].chassis;
		if (!other || strcmp(chassis, other) != 0)
			return NULL;
	}
	return chassis;
}

/* A unit of one leaf has its name. Those names are taken before the others choose. */
static int name_single_units(struct build *b, struct taken *taken)
{
	struct fabric *f = b->f;

	for (size_t i = 0; i < f->unit_count; i++) {
		struct fabric_unit *unit = &f->units[i];
		if (unit->leaf_count != 1 || is_box(b, unit->leaves[0]))
			continue;
		unit->name = strdup(f->switches[unit->leaves[0]].name);
		if (!unit->name || take_all(taken, unit->name) < 0)
			return -ENOMEM;
	}
	sort_taken(taken);
	return 0;
}

static int name_other_units(struct build *b, struct taken *taken, const struct taken *switch_names)
{
	struct fabric *f = b->f;
	struct named *v = calloc(f->unit_count + 1, sizeof(*v));
	size_t n = 0;
	int rc = v ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->unit_count; i++) {
		const struct fabric_unit *unit = &f->units[i];
		char word[32];
		if (unit->leaf_count == 1 && !is_box(b, unit->leaves[0]))
			continue;
		v[n].who = i;
		if (common_chassis(f, unit))
			snprintf(v[n].choice[0], NAME_ROOM, "%s", common_chassis(f, unit));
		else
			rc = common_name(f, unit->leaves, unit->leaf_count, switch_names,
					 v[n].choice[0]);
		snprintf(word, sizeof(word), "x%zu", unit->leaf_count);
		snprintf(v[n].choice[1], NAME_ROOM, "%.50s-%.12s", first_leaf(f, unit), word);
		snprintf(v[n].choice[2], NAME_ROOM, "unit-%016llx",
			 (unsigned long long)hash_guids(f, unit->leaves, unit->leaf_count));
		n++;
	}
	if (rc == 0)
		settle(v, n, taken);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		char *name = strdup(v[i].choice[v[i].at]);
		f->units[v[i].who].name = name;
		rc = name ? take_all(taken, name) : -ENOMEM;
	}
	sort_taken(taken);
	free(v);
	return rc;
}

/* The first unit, by name, of each pod. */
static void first_units(const struct fabric *f, const char **first)
{
	for (size_t i = 0; i < f->unit_count; i++) {
		size_t pod = f->units[i].pod;
		if (!first[pod] || names_compare(f->units[i].name, first[pod]) < 0)
			first[pod] = f->units[i].name;
	}
}

/*
 * All second-level switches above a pod's units, and their common name. A pod can have none of
 * them, but it has units that no other has: the last resort is made of their leaves.
 */
static int pod_choices(struct build *b, size_t pod, const char *first,
		       const struct taken *switch_names, struct named *v)
{
	struct fabric *f = b->f;
	size_t *uppers, n = 0, room = 0;
	uint64_t hash = 0;
	int rc;

	for (size_t i = 0; i < f->unit_count; i++)
		room += f->units[i].pod == pod ? uppers_bound(b, &f->units[i]) : 0;
	uppers = calloc(room + 1, sizeof(*uppers));
	if (!uppers)
		return -ENOMEM;
	for (size_t i = 0; i < f->unit_count; i++) {
		if (f->units[i].pod != pod)
			continue;
		n += uppers_of(b, i, uppers + n);
		hash ^= hash_guids(f, f->units[i].leaves, f->units[i].leaf_count);
	}
	n = make_set(uppers, n);
	rc = common_name(f, uppers, n, switch_names, v->choice[0]);
	join_words(v->choice[1], "pod", first);
	snprintf(v->choice[2], NAME_ROOM, "pod-%016llx", (unsigned long long)hash);
	v->who = pod;
	free(uppers);
	return rc;
}

static int name_pods(struct build *b, struct taken *taken, const struct taken *switch_names)
{
	struct fabric *f = b->f;
	struct named *v = calloc(f->pod_count + 1, sizeof(*v));
	const char **first = calloc(f->pod_count + 1, sizeof(*first));
	int rc = v && first ? 0 : -ENOMEM;

	if (rc == 0)
		first_units(f, first);
	for (size_t i = 0; rc == 0 && i < f->pod_count; i++)
		rc = pod_choices(b, i, first[i], switch_names, &v[i]);
	if (rc == 0)
		settle(v, f->pod_count, taken);
	for (size_t i = 0; rc == 0 && i < f->pod_count; i++) {
		char *name = strdup(v[i].choice[v[i].at]);
		f->pods[v[i].who].name = name;
		rc = name ? take_all(taken, name) : -ENOMEM;
	}
	sort_taken(taken);
	free(first);
	free(v);
	return rc;
}

static bool pod_is_in(const struct fabric *f, size_t pod, size_t area)
{
	size_t at = f->pods[pod].area;

	while (at != FABRIC_NONE && at != area)
		at = f->areas[at].parent;
	return at == area;
}

static int name_areas(struct build *b, struct taken *taken, const struct taken *switch_names)
{
	struct fabric *f = b->f;
	struct named *v = calloc(f->area_count + 1, sizeof(*v));
	int rc = v ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->area_count; i++) {
		const char *first = NULL;
		uint64_t hash = 0;
		for (size_t j = 0; j < f->unit_count; j++) {
			if (!pod_is_in(f, f->units[j].pod, i))
				continue;
			if (!first || names_compare(f->units[j].name, first) < 0)
				first = f->units[j].name;
			hash ^= hash_guids(f, f->units[j].leaves, f->units[j].leaf_count);
		}
		rc = common_name(f, b->area_tops[i].items, b->area_tops[i].count, switch_names,
				 v[i].choice[0]);
		join_words(v[i].choice[1], "area", first ? first : "");
		snprintf(v[i].choice[2], NAME_ROOM, "area-%016llx", (unsigned long long)hash);
		v[i].who = i;
	}
	if (rc == 0)
		settle(v, f->area_count, taken);
	for (size_t i = 0; rc == 0 && i < f->area_count; i++) {
		char *name = strdup(v[i].choice[v[i].at]);
		f->areas[v[i].who].name = name;
		rc = name ? take_all(taken, name) : -ENOMEM;
	}
	sort_taken(taken);
	free(v);
	return rc;
}

static int name_islands(struct build *b, const struct taken *taken,
			const struct taken *switch_names)
{
	struct fabric *f = b->f;
	struct named *v = calloc(f->island_count + 1, sizeof(*v));
	const char **first = calloc(f->island_count + 1, sizeof(*first));
	int rc = v && first ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->unit_count; i++) {
		size_t island = f->pods[f->units[i].pod].island;
		if (!first[island] || names_compare(f->units[i].name, first[island]) < 0)
			first[island] = f->units[i].name;
	}
	for (size_t i = 0; rc == 0 && i < f->island_count; i++) {
		uint64_t hash = 0;
		for (size_t j = 0; j < f->unit_count; j++)
			if (f->pods[f->units[j].pod].island == i)
				hash ^= hash_guids(f, f->units[j].leaves, f->units[j].leaf_count);
		if (f->island_count == 1 && !is_taken(switch_names, "fabric"))
			snprintf(v[i].choice[0], NAME_ROOM, "fabric");
		join_words(v[i].choice[1], "island", first[i]);
		snprintf(v[i].choice[2], NAME_ROOM, "island-%016llx", (unsigned long long)hash);
		v[i].who = i;
	}
	if (rc == 0)
		settle(v, f->island_count, taken);
	for (size_t i = 0; rc == 0 && i < f->island_count; i++)
		if (!(f->islands[v[i].who].name = strdup(v[i].choice[v[i].at])))
			rc = -ENOMEM;
	free(first);
	free(v);
	return rc;
}

static int name_groups(struct build *b)
{
	struct fabric *f = b->f;
	struct taken taken = { 0 }, switch_names = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < f->switch_count; i++)
		rc = take_all(&switch_names, f->switches[i].name);
	sort_taken(&switch_names);
	if (rc == 0)
		rc = name_single_units(b, &taken);
	if (rc == 0)
		rc = name_other_units(b, &taken, &switch_names);
	if (rc == 0)
		rc = name_pods(b, &taken, &switch_names);
	if (rc == 0)
		rc = name_areas(b, &taken, &switch_names);
	if (rc == 0)
		rc = name_islands(b, &taken, &switch_names);
	free(taken.names);
	free(switch_names.names);
	return rc;
}

/* Sorting by name, references included. */

struct moved {
	const char *name;
	size_t was;
};

static int by_moved(const void *x, const void *y)
{
	return strcmp(((const struct moved *)x)->name, ((const struct moved *)y)->name);
}

/*
 * Sorts count elements of size bytes whose first member is their name; *to (malloc'ed) is where
 * each old index went.
 */
static int sort_named(void *base, size_t count, size_t size, size_t **to)
{
	struct moved *order = calloc(count + 1, sizeof(*order));
	char *copy = calloc(count + 1, size), *bytes = base;

	*to = calloc(count + 1, sizeof(**to));
	if (!order || !copy || !*to) {
		free(order);
		free(copy);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = (struct moved){ *(char **)(bytes + i * size), i };
	qsort(order, count, sizeof(*order), by_moved);
	if (count)
		memcpy(copy, bytes, count * size);
	for (size_t i = 0; i < count; i++) {
		memcpy(bytes + i * size, copy + order[i].was * size, size);
		(*to)[order[i].was] = i;
	}
	free(order);
	free(copy);
	return 0;
}

static int sort_groups(struct fabric *f)
{
	size_t *unit_to = NULL, *pod_to = NULL, *area_to = NULL, *island_to = NULL;
	int rc = sort_named(f->units, f->unit_count, sizeof(*f->units), &unit_to);

	if (rc == 0)
		rc = sort_named(f->pods, f->pod_count, sizeof(*f->pods), &pod_to);
	if (rc == 0)
		rc = sort_named(f->areas, f->area_count, sizeof(*f->areas), &area_to);
	if (rc == 0)
		rc = sort_named(f->islands, f->island_count, sizeof(*f->islands), &island_to);
	for (size_t i = 0; rc == 0 && i < f->host_count; i++)
		if (f->hosts[i].unit != FABRIC_NONE)
			f->hosts[i].unit = unit_to[f->hosts[i].unit];
	for (size_t i = 0; rc == 0 && i < f->unit_count; i++)
		f->units[i].pod = pod_to[f->units[i].pod];
	for (size_t i = 0; rc == 0 && i < f->pod_count; i++)
		f->pods[i].island = island_to[f->pods[i].island];
	for (size_t i = 0; rc == 0 && i < f->pod_count; i++)
		if (f->pods[i].area != FABRIC_NONE)
			f->pods[i].area = area_to[f->pods[i].area];
	for (size_t i = 0; rc == 0 && i < f->area_count; i++) {
		f->areas[i].island = island_to[f->areas[i].island];
		if (f->areas[i].parent != FABRIC_NONE)
			f->areas[i].parent = area_to[f->areas[i].parent];
	}
	free(unit_to);
	free(pod_to);
	free(area_to);
	free(island_to);
	return rc;
}

/* In place of a box, its switches that the unit's hosts hang on. */
static int open_boxes(struct build *b)
{
	struct fabric *f = b->f;
	size_t *leaves = calloc(f->port_count + 1, sizeof(*leaves));
	int rc = leaves ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->unit_count; i++) {
		struct fabric_unit *unit = &f->units[i];
		bool boxed = false;
		size_t n = 0, *exact;
		for (size_t j = 0; j < unit->leaf_count; j++)
			boxed |= is_box(b, unit->leaves[j]);
		for (size_t j = 0; boxed && j < f->port_count; j++) {
			const struct fabric_port *port = &f->ports[j];
			if (port->host != FABRIC_NONE && f->hosts[port->host].unit == i &&
			    port->sw != FABRIC_NONE && !port->skipped &&
			    bsearch(&b->options->box[port->sw], unit->leaves, unit->leaf_count,
				    sizeof(*unit->leaves), by_number))
				leaves[n++] = port->sw;
		}
		n = make_set(leaves, n);
		if (n == 0)
			continue;
		exact = calloc(n, sizeof(*exact));
		if (!exact) {
			rc = -ENOMEM;
			break;
		}
		memcpy(exact, leaves, n * sizeof(*exact));
		free(unit->leaves);
		unit->leaves = exact;
		unit->leaf_count = n;
	}
	free(leaves);
	return rc;
}

int groups_build(struct fabric *f, const struct switch_graph *g,
		 const struct groups_options *options)
{
	static int (*const steps[])(struct build * b) = { find_units,  find_islands, find_planes,
							  find_pods,   find_areas,   add_islands,
							  name_groups, open_boxes };
	struct build b = { .f = f, .g = g, .options = options };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		rc = steps[i](&b);
	if (rc == 0)
		rc = sort_groups(f);
	for (size_t i = 0; b.area_tops && i < f->area_count; i++)
		free((size_t *)b.area_tops[i].items);
	free(b.area_tops);
	free(b.weight);
	free(b.home);
	free(b.root);
	free(b.component);
	free(b.paired);
	return rc;
}

void groups_clear(struct fabric *f)
{
	for (size_t i = 0; i < f->unit_count; i++) {
		free(f->units[i].name);
		free(f->units[i].leaves);
	}
	for (size_t i = 0; i < f->pod_count; i++)
		free(f->pods[i].name);
	for (size_t i = 0; i < f->area_count; i++)
		free(f->areas[i].name);
	for (size_t i = 0; i < f->island_count; i++)
		free(f->islands[i].name);
	free(f->units);
	free(f->pods);
	free(f->areas);
	free(f->islands);
	f->units = NULL;
	f->pods = NULL;
	f->areas = NULL;
	f->islands = NULL;
	f->unit_count = f->pod_count = f->area_count = f->island_count = 0;
	for (size_t i = 0; i < f->host_count; i++)
		f->hosts[i].unit = FABRIC_NONE;
}
