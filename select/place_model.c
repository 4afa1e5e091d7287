/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_model.c - model and state of the placement engine; see place.h.
 *
 * The one idea: number nodes, units and pods in the order in which a walk through the tree meets
 * them. Then every group is a range, counting is adding up neighbours, and the numbers are a rank
 * order that follows the wires.
 */
#include "place_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

static uint32_t *numbers(size_t count)
{
	return calloc(count + 2, sizeof(uint32_t));
}

/* Sorts count items into ranges by key[item] < keys, in order; first gets keys + 1 bounds. */
static void sort_by(const uint32_t *key, uint32_t count, uint32_t keys, uint32_t *first,
		    uint32_t *sorted)
{
	memset(first, 0, (keys + 1) * sizeof(*first));
	for (uint32_t i = 0; i < count; i++)
		first[key[i] + 1]++;
	for (uint32_t i = 0; i < keys; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < count; i++)
		sorted[first[key[i]]++] = i;
	for (uint32_t i = keys; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

static bool all_below(const uint32_t *value, uint32_t count, uint32_t limit, bool none)
{
	for (uint32_t i = 0; i < count; i++)
		if (value[i] >= limit && !(none && value[i] == PLACE_NONE))
			return false;
	return true;
}

static bool no_loops(const struct place_shape *shape)
{
	for (uint32_t i = 0; i < shape->groups; i++) {
		uint32_t at = i, steps = 0;

		while (at != PLACE_NONE && steps++ <= shape->groups)
			at = shape->parent[at];
		if (at != PLACE_NONE)
			return false;
	}
	return true;
}

static int check(const struct place_shape *shape, struct err *err)
{
	if (shape->nodes > PLACE_NODES_MAX || shape->units > PLACE_NODES_MAX ||
	    shape->pods > PLACE_NODES_MAX || shape->groups > PLACE_NODES_MAX)
		return err_set(err, E2BIG, "placement: a fabric of more than %u nodes",
			       PLACE_NODES_MAX);
	if (!all_below(shape->unit_of, shape->nodes, shape->units, true) ||
	    !all_below(shape->pod_of, shape->units, shape->pods, false) ||
	    !all_below(shape->group_of, shape->pods, shape->groups, false) ||
	    !all_below(shape->parent, shape->groups, shape->groups, true))
		return err_set(err, EINVAL, "placement: a node, unit, pod or area is in none");
	if (!no_loops(shape))
		return err_set(err, EINVAL, "placement: an area is inside itself");
	return 0;
}

/*
 * Pods in the order of a walk through the groups, and their ranges: rank[i] is the place of the
 * caller's pod i. Groups keep their numbers.
 */
struct walk {
	uint32_t *child_first, *child; /* groups by parent; the islands' parent is `groups` */
	uint32_t *pod_first, *pod;     /* the caller's pods by group */
	uint32_t *parent;
	uint32_t *rank, next;
};

static bool walk_start(struct walk *w, const struct place_shape *shape)
{
	w->child_first = numbers((size_t)shape->groups + 1);
	w->child = numbers(shape->groups);
	w->pod_first = numbers(shape->groups);
	w->pod = numbers(shape->pods);
	w->parent = numbers(shape->groups);
	w->rank = numbers(shape->pods);
	w->next = 0;
	if (!w->child_first || !w->child || !w->pod_first || !w->pod || !w->parent || !w->rank)
		return false;
	for (uint32_t i = 0; i < shape->groups; i++)
		w->parent[i] = shape->parent[i] == PLACE_NONE ? shape->groups : shape->parent[i];
	sort_by(w->parent, shape->groups, shape->groups + 1, w->child_first, w->child);
	sort_by(shape->group_of, shape->pods, shape->groups, w->pod_first, w->pod);
	return true;
}

static void walk_end(struct walk *w)
{
	free(w->child_first);
	free(w->child);
	free(w->pod_first);
	free(w->pod);
	free(w->parent);
	free(w->rank);
}

/* No recursion: the depth is the file's. Goes down at a group's first visit, up at its last child.
 */
static void walk_groups(struct walk *w, struct place_model *m)
{
	uint32_t at = m->groups, *next = w->parent; /* parents are in the groups by then */

	for (uint32_t i = 0; i <= m->groups; i++)
		next[i] = w->child_first[i];
	for (;;) {
		if (next[at] == w->child_first[at + 1]) {
			uint32_t up = m->group[at].parent;

			if (at == m->groups)
				return;
			m->group[at].end = w->next;
			up = up == PLACE_NONE ? m->groups : up;
			if (m->group[up].height < m->group[at].height + 1)
				m->group[up].height = m->group[at].height + 1;
			at = up;
			continue;
		}
		at = w->child[next[at]++];
		m->group[at].first = w->next;
		for (uint32_t i = w->pod_first[at]; i < w->pod_first[at + 1]; i++)
			w->rank[w->pod[i]] = w->next++;
	}
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void sort_sizes(struct place_model *m)
{
	for (uint32_t u = 0; u < m->units; u++) {
		m->unit_sizes[u] = m->unit_first[u + 1] - m->unit_first[u];
		if (m->unit_sizes[u] > m->largest)
			m->largest = m->unit_sizes[u];
	}
	for (uint32_t p = 0; p < m->pods; p++)
		m->pod_sizes[p] =
			m->unit_first[m->pod_first[p + 1]] - m->unit_first[m->pod_first[p]];
	for (uint32_t g = 0; g < m->groups; g++) {
		uint32_t first = m->group[g].first, end = m->group[g].end;

		if (m->group[g].parent != PLACE_NONE || first == end)
			continue;
		qsort(m->pod_sizes + first, end - first, sizeof(uint32_t), by_size);
		qsort(m->unit_sizes + m->pod_first[first], m->pod_first[end] - m->pod_first[first],
		      sizeof(uint32_t), by_size);
	}
}

/* The ranges of units and nodes, when the order of the pods is known. */
static bool lay_out(struct place_model *m, const struct place_shape *shape, const uint32_t *rank)
{
	uint32_t *pod = numbers(shape->units), *unit = numbers(shape->units);
	uint32_t *unit_rank = numbers(shape->units), *of = numbers(shape->nodes);
	bool good = pod && unit && unit_rank && of;

	for (uint32_t i = 0; good && i < shape->units; i++)
		pod[i] = rank[shape->pod_of[i]];
	if (good)
		sort_by(pod, shape->units, shape->pods, m->pod_first, unit);
	for (uint32_t i = 0; good && i < shape->units; i++) {
		unit_rank[unit[i]] = i;
		m->pod_of[i] = pod[unit[i]];
	}
	for (uint32_t i = 0; good && i < shape->nodes; i++)
		of[i] = shape->unit_of[i] == PLACE_NONE ? shape->units
							: unit_rank[shape->unit_of[i]];
	if (good)
		sort_by(of, shape->nodes, shape->units + 1, m->unit_first, m->name);
	for (uint32_t i = 0; good && i < shape->nodes; i++) {
		m->node[m->name[i]] = i;
		m->unit_of[i] = of[m->name[i]];
	}
	m->pod_of[m->units] = m->pods;
	m->pod_first[m->pods + 1] = m->units + 1;
	free(pod);
	free(unit);
	free(unit_rank);
	free(of);
	return good;
}

/* No tier is better than free of blocking, and one that is not known is taken for that. */
static uint64_t factor(uint32_t over)
{
	return over > 1000 ? over : 1000;
}

static bool model_fill(struct place_model *m, const struct place_shape *shape)
{
	struct walk w = { 0 };
	bool good;

	m->nodes = shape->nodes;
	m->units = shape->units;
	m->pods = shape->pods;
	m->groups = shape->groups;
	m->unit_weight = factor(shape->unit_over) * 1000;
	m->pod_weight = factor(shape->unit_over) * factor(shape->pod_over);
	m->name = numbers(m->nodes);
	m->node = numbers(m->nodes);
	m->unit_of = numbers(m->nodes);
	m->unit_first = numbers((size_t)m->units + 1);
	m->pod_of = numbers((size_t)m->units + 1);
	m->pod_first = numbers((size_t)m->pods + 1);
	m->group = calloc((size_t)m->groups + 1, sizeof(*m->group));
	m->unit_sizes = numbers(m->units);
	m->pod_sizes = numbers(m->pods);
	good = m->name && m->node && m->unit_of && m->unit_first && m->pod_of && m->pod_first &&
	       m->group && m->unit_sizes && m->pod_sizes && walk_start(&w, shape);
	if (good) {
		for (uint32_t g = 0; g < m->groups; g++)
			m->group[g].parent = shape->parent[g];
		walk_groups(&w, m);
		m->group[m->groups] = (struct place_group){ PLACE_NONE, 0, m->pods, m->pods + 1 };
		good = lay_out(m, shape, w.rank);
	}
	if (good)
		sort_sizes(m);
	walk_end(&w);
	return good;
}

struct place_model *place_model_make(const struct place_shape *shape, struct err *err)
{
	struct place_model *m;
	int rc = check(shape, err);

	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (m && model_fill(m, shape))
		return m;
	place_model_free(m);
	err_set(err, ENOMEM, "placement: out of memory");
	errno = ENOMEM;
	return NULL;
}

void place_model_free(struct place_model *m)
{
	if (!m)
		return;
	free(m->name);
	free(m->node);
	free(m->unit_of);
	free(m->unit_first);
	free(m->pod_of);
	free(m->pod_first);
	free(m->group);
	free(m->unit_sizes);
	free(m->pod_sizes);
	free(m);
}

/* ---- the state ---- */

struct place_state *place_state_make(const struct place_model *m)
{
	struct place_state *s = calloc(1, sizeof(*s));
	size_t units = (size_t)m->units + 1, pods = (size_t)m->pods + 1;

	if (!s)
		return NULL;
	s->m = m;
	s->flags = calloc((size_t)m->nodes + 1, 1);
	s->up = numbers(units);
	s->free = numbers(units);
	s->suspect = numbers(units);
	s->cap = numbers(units);
	s->need = numbers(units);
	s->take = numbers(units);
	s->order = numbers(units);
	s->bucket = numbers((size_t)m->largest + 1);
	s->pod_cap = numbers(pods);
	s->pod_sum = numbers(pods);
	s->pod_units = numbers(pods);
	s->pod_used = calloc(pods, 1);
	s->unit_used = calloc(units, 1);
	s->plan[0].unit = numbers(units);
	s->plan[1].unit = numbers(units);
	if (s->flags && s->up && s->free && s->suspect && s->cap && s->need && s->take &&
	    s->order && s->bucket && s->pod_cap && s->pod_sum && s->pod_units && s->pod_used &&
	    s->unit_used && s->plan[0].unit && s->plan[1].unit)
		return s;
	place_state_free(s);
	return NULL;
}

void place_state_free(struct place_state *s)
{
	if (!s)
		return;
	free(s->flags);
	free(s->up);
	free(s->free);
	free(s->suspect);
	free(s->cap);
	free(s->need);
	free(s->take);
	free(s->order);
	free(s->bucket);
	free(s->pod_cap);
	free(s->pod_sum);
	free(s->pod_units);
	free(s->pod_used);
	free(s->unit_used);
	free(s->plan[0].unit);
	free(s->plan[1].unit);
	free(s);
}

/* Takes a node's part in the counts out (sign -1) or puts it in (1). */
static void count_node(struct place_state *s, uint32_t i, uint32_t sign)
{
	uint32_t unit = s->m->unit_of[i];

	if (s->flags[i] & NODE_UP)
		s->up[unit] += sign;
	if (!(s->flags[i] & NODE_FREE))
		return;
	s->free[unit] += sign;
	if (s->flags[i] & NODE_SUSPECT) {
		s->suspect[unit] += sign;
		s->suspects += sign;
	}
}

static void set_flags(struct place_state *s, uint32_t node, unsigned int mask, unsigned int value)
{
	uint32_t i;

	if (node >= s->m->nodes)
		return;
	i = s->m->node[node];
	count_node(s, i, UINT32_MAX);
	s->flags[i] = (uint8_t)((s->flags[i] & ~mask) | value);
	count_node(s, i, 1);
}

void place_set(struct place_state *s, uint32_t node, enum place_node what)
{
	set_flags(s, node, NODE_FREE | NODE_UP,
		  what == PLACE_FREE   ? NODE_FREE | NODE_UP
		  : what == PLACE_BUSY ? NODE_UP
				       : 0);
}

void place_suspect(struct place_state *s, uint32_t node, bool suspect)
{
	set_flags(s, node, NODE_SUSPECT, suspect ? NODE_SUSPECT : 0);
}
