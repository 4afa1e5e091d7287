/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stock.c - see stock.h.
 *
 * Slurm fills one leaf switch after the other: for each it compares all leaves by the switches
 * above them, climbing both sides at once until one of the subtrees holds what is left of the job,
 * and by the sum of the hops to the leaves that are used already. What differs between the releases
 * is which of both counts, and whether the counts of the switches above go down with what is taken:
 * _eval_nodes_topo() of 22.05's select/cons_tres/job_test.c, eval_nodes_tree.c of 24.11's
 * topology/tree. As there, the free nodes of each switch are counted from bitmaps each time.
 */
#include "stock.h"

#include <stdlib.h>
#include <string.h>

struct stock {
	uint32_t nodes, leaves, switches, words;
	uint32_t *parent; /* the root's is itself */
	uint32_t *level;
	uint64_t *below; /* a bitmap of nodes for each switch */
	uint64_t *free;
	uint32_t *count; /* of a switch: free nodes that can still be taken */
	uint32_t *hops;	 /* of a leaf: summed up over the leaves in use */
};

static bool is_free(const struct stock *t, uint32_t node)
{
	return t->free[node / 64] >> (node % 64) & 1;
}

static void add_node(struct stock *t, uint32_t node, uint32_t leaf)
{
	for (uint32_t s = leaf;; s = t->parent[s]) {
		t->below[(size_t)s * t->words + node / 64] |= UINT64_C(1) << (node % 64);
		if (t->parent[s] == s)
			return;
	}
}

struct stock *stock_make(const struct place_shape *shape)
{
	struct stock *t = calloc(1, sizeof(*t));
	uint32_t pods = shape->pods > 1 ? shape->pods : 0, root = shape->units + pods;

	if (!t)
		return NULL;
	t->nodes = shape->nodes;
	t->leaves = shape->units;
	t->switches = root + 1;
	t->words = shape->nodes / 64 + 1;
	t->parent = calloc(t->switches, sizeof(*t->parent));
	t->level = calloc(t->switches, sizeof(*t->level));
	t->count = calloc(t->switches, sizeof(*t->count));
	t->hops = calloc((size_t)t->leaves + 1, sizeof(*t->hops));
	t->below = calloc((size_t)t->switches * t->words, sizeof(*t->below));
	t->free = calloc(t->words, sizeof(*t->free));
	if (!t->parent || !t->level || !t->count || !t->hops || !t->below || !t->free) {
		stock_free(t);
		return NULL;
	}
	for (uint32_t u = 0; u < shape->units; u++)
		t->parent[u] = pods ? shape->units + shape->pod_of[u] : root;
	for (uint32_t s = shape->units; s <= root; s++) {
		t->parent[s] = root;
		t->level[s] = s < root ? 1 : 2;
	}
	for (uint32_t i = 0; i < shape->nodes; i++)
		add_node(t, i, shape->unit_of[i]);
	return t;
}

void stock_free(struct stock *t)
{
	if (!t)
		return;
	free(t->parent);
	free(t->level);
	free(t->count);
	free(t->hops);
	free(t->below);
	free(t->free);
	free(t);
}

void stock_set(struct stock *t, uint32_t node, bool free)
{
	uint64_t bit = UINT64_C(1) << (node % 64);

	if (free)
		t->free[node / 64] |= bit;
	else
		t->free[node / 64] &= ~bit;
}

/* ---- topology/tree ---- */

static void count_free(struct stock *t)
{
	for (uint32_t s = 0; s < t->switches; s++) {
		const uint64_t *below = t->below + (size_t)s * t->words;

		t->count[s] = 0;
		for (uint32_t i = 0; i < t->words; i++)
			t->count[s] += (uint32_t)__builtin_popcountll(below[i] & t->free[i]);
	}
	memset(t->hops, 0, t->leaves * sizeof(*t->hops));
}

/* 1: i is better than j, -1: worse, 0: neither. fits: i's subtree holds the rest where it ended. */
static int compare_switches(const struct stock *t, uint32_t i, uint32_t j, uint32_t rest,
			    bool *fits)
{
	for (;;) {
		bool other = t->count[j] >= rest;

		*fits = t->count[i] >= rest;
		if (*fits && other) {
			if (t->count[i] != t->count[j])
				return t->count[i] < t->count[j] ? 1 : -1;
			break;
		}
		if (*fits != other)
			return *fits ? 1 : -1;
		if (t->parent[i] == t->parent[j])
			break;
		i = t->parent[i];
		j = t->parent[j];
	}
	if (t->count[i] != t->count[j])
		return t->count[i] > t->count[j] ? 1 : -1;
	if (t->level[i] != t->level[j])
		return t->level[i] < t->level[j] ? 1 : -1;
	return 0;
}

static uint32_t best_leaf(const struct stock *t, enum stock_rules rules, uint32_t rest)
{
	uint32_t best = PLACE_NONE;

	for (uint32_t i = 0; i < t->leaves; i++) {
		bool fits, closer, better;
		int order;

		if (t->count[i] == 0)
			continue;
		if (best == PLACE_NONE) {
			best = i;
			continue;
		}
		order = compare_switches(t, i, best, rest, &fits);
		closer = t->hops[i] < t->hops[best] && (rules == STOCK_24_11 ? fits : order >= 0);
		better = t->hops[i] == t->hops[best] && order > 0;
		if (closer || better)
			best = i;
	}
	return best;
}

static uint32_t hops_between(const struct stock *t, uint32_t i, uint32_t j)
{
	return i == j ? 0 : t->parent[i] == t->parent[j] ? 2 : 4;
}

/* Marks what the leaf gives in chosen; how many nodes that are. */
static uint32_t take_leaf(const struct stock *t, uint32_t leaf, uint32_t rest, uint64_t *chosen)
{
	const uint64_t *below = t->below + (size_t)leaf * t->words;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < t->words; i++)
		for (uint64_t bits = below[i] & t->free[i]; bits && taken < rest;
		     bits &= bits - 1) {
			chosen[i] |= bits & -bits;
			taken++;
		}
	return taken;
}

static bool choose_tree(struct stock *t, enum stock_rules rules, uint32_t n, uint64_t *chosen)
{
	uint32_t rest = n;

	count_free(t);
	while (rest > 0) {
		uint32_t leaf = best_leaf(t, rules, rest), had;

		if (leaf == PLACE_NONE)
			return false;
		for (uint32_t i = 0; i < t->leaves; i++)
			t->hops[i] += hops_between(t, leaf, i);
		rest -= take_leaf(t, leaf, rest, chosen);
		had = t->count[leaf];
		for (uint32_t s = leaf; rules == STOCK_24_11 && t->parent[s] != s;) {
			s = t->parent[s];
			t->count[s] -= had;
		}
		t->count[leaf] = 0;
	}
	return true;
}

/* ---- without a topology ---- */

/* The run of free nodes that begins at or behind from; its end is *end. */
static uint32_t next_run(const struct stock *t, const uint64_t *chosen, uint32_t from,
			 uint32_t *end)
{
	while (from < t->nodes && (!is_free(t, from) || chosen[from / 64] >> (from % 64) & 1))
		from++;
	for (*end = from;
	     *end < t->nodes && is_free(t, *end) && !(chosen[*end / 64] >> (*end % 64) & 1);)
		++*end;
	return from;
}

/* The tightest run with room for the rest; without one, the longest, and again. */
static bool choose_linear(const struct stock *t, uint32_t n, uint64_t *chosen)
{
	while (n > 0) {
		uint32_t best = 0, length = 0, end = 0;

		for (uint32_t at = 0; at < t->nodes; at = end) {
			uint32_t first = next_run(t, chosen, at, &end), found = end - first;

			if (found &&
			    (length == 0 || (found >= n) > (length >= n) ||
			     (found >= n && found < length) || (length < n && found > length))) {
				best = first;
				length = found;
			}
		}
		if (length == 0)
			return false;
		length = length < n ? length : n;
		for (uint32_t i = best; i < best + length; i++)
			chosen[i / 64] |= UINT64_C(1) << (i % 64);
		n -= length;
	}
	return true;
}

bool stock_choose(struct stock *t, enum stock_rules rules, uint32_t n, uint32_t *nodes)
{
	uint64_t *chosen = calloc(t->words, sizeof(*chosen));
	uint32_t count = 0;
	bool good = chosen && (rules == STOCK_LINEAR ? choose_linear(t, n, chosen)
						     : choose_tree(t, rules, n, chosen));

	for (uint32_t i = 0; good && i < t->nodes; i++)
		if (chosen[i / 64] >> (i % 64) & 1)
			nodes[count++] = i;
	free(chosen);
	return good;
}
