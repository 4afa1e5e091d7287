/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * levels.c - see levels.h.
 *
 * Switches with hosts are candidates. In this order:
 * 1. A candidate between other candidates is no leaf when a switch without hosts has the same
 *    neighbours (its twin is certainly a spine), or when it has fewer hosts than each of them and
 *    fewer hosts than cables to them.
 * 2. Candidates with more than a quarter of the usual number of hosts are leaves. "Usual" is the
 *    number on the switch of the median host, so that many spines with a server each don't count.
 * 3. A candidate with few hosts is judged by its place: next to two leaves or touching leaves of
 * two pods it is above them; with the neighbours of a leaf it is a leaf whose hosts are mostly off;
 *    with the neighbours of a hostless switch it is what that is.
 * 4. A hostless switch two steps from the leaves with exactly a leaf's neighbours is a dark leaf.
 * All other levels are distances to the nearest leaf, which is exact in any tree that is regular.
 */
#include "levels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct search {
	const struct switch_graph *g;
	bool *candidate;
	bool *leaf;
	int *level;
	size_t *pod;	/* union-find over leaves and what is right above them */
	size_t *shared; /* scratch: neighbours in common with the switch in question */
	size_t *seen;	/* scratch: switches whose shared is not 0 */
	size_t *queue;
};

static size_t degree(const struct switch_graph *g, size_t i)
{
	return g->start[i + 1] - g->start[i];
}

static void search_free(struct search *s)
{
	free(s->candidate);
	free(s->leaf);
	free(s->pod);
	free(s->shared);
	free(s->seen);
	free(s->queue);
}

static int search_init(struct search *s, const struct switch_graph *g, int *level)
{
	size_t n = g->count + 1;

	*s = (struct search){ .g = g, .level = level };
	s->candidate = calloc(n, sizeof(*s->candidate));
	s->leaf = calloc(n, sizeof(*s->leaf));
	s->pod = calloc(n, sizeof(*s->pod));
	s->shared = calloc(n, sizeof(*s->shared));
	s->seen = calloc(n, sizeof(*s->seen));
	s->queue = calloc(n, sizeof(*s->queue));
	if (s->candidate && s->leaf && s->pod && s->shared && s->seen && s->queue)
		return 0;
	search_free(s);
	return -ENOMEM;
}

/* Counts for each switch how many neighbours it has in common with i; returns how many are seen. */
static size_t count_shared(struct search *s, size_t i)
{
	const struct switch_graph *g = s->g;
	size_t seen = 0;

	for (size_t j = g->start[i]; j < g->start[i + 1]; j++) {
		size_t mid = g->peers[j];
		for (size_t k = g->start[mid]; k < g->start[mid + 1]; k++) {
			size_t other = g->peers[k];
			if (other != i && s->shared[other]++ == 0)
				s->seen[seen++] = other;
		}
	}
	return seen;
}

enum kin { KIN_LEAF, KIN_HOSTLESS };

/*
 * True when a leaf (or a hostless switch) has most of i's neighbours, and i most of its; exact:
 * all.
 */
static bool has_kin(struct search *s, size_t i, enum kin kin, bool exact)
{
	size_t seen = count_shared(s, i);
	bool found = false;

	for (size_t j = 0; j < seen; j++) {
		size_t other = s->seen[j], both = s->shared[other];
		size_t all = degree(s->g, i) + degree(s->g, other) - both;
		if ((kin == KIN_LEAF ? s->leaf[other] : s->g->hosts[other] == 0) &&
		    (exact ? both == all : both * 2 > all))
			found = true;
		s->shared[other] = 0;
	}
	return found;
}

/* Rule 1. */
static bool between_candidates(struct search *s, size_t i)
{
	const struct switch_graph *g = s->g;
	size_t neighbours = 0, cables = 0;
	bool fewest = true;

	for (size_t j = g->start[i]; j < g->start[i + 1]; j++) {
		size_t peer = g->peers[j];
		if (!g->hosts[peer])
			continue;
		neighbours++;
		cables += g->cables[j];
		fewest = fewest && g->hosts[i] < g->hosts[peer];
	}
	if (neighbours < 2)
		return false;
	return (fewest && g->hosts[i] < cables) || has_kin(s, i, KIN_HOSTLESS, false);
}

static int by_size(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* Hosts on the switch of the median host. */
static size_t usual_hosts(struct search *s)
{
	size_t n = 0, total = 0, sum = 0;

	for (size_t i = 0; i < s->g->count; i++) {
		if (s->candidate[i]) {
			s->queue[n++] = s->g->hosts[i];
			total += s->g->hosts[i];
		}
	}
	if (n)
		qsort(s->queue, n, sizeof(*s->queue), by_size);
	for (size_t i = 0; i < n; i++) {
		sum += s->queue[i];
		if (sum * 2 >= total)
			return s->queue[i];
	}
	return 0;
}

/* Levels as distances from the leaves. */
static void measure(struct search *s)
{
	const struct switch_graph *g = s->g;
	size_t head = 0, tail = 0;

	for (size_t i = 0; i < g->count; i++) {
		s->level[i] = s->leaf[i] ? 0 : -1;
		if (s->leaf[i])
			s->queue[tail++] = i;
	}
	while (head < tail) {
		size_t i = s->queue[head++];
		for (size_t j = g->start[i]; j < g->start[i + 1]; j++) {
			if (s->level[g->peers[j]] < 0) {
				s->level[g->peers[j]] = s->level[i] + 1;
				s->queue[tail++] = g->peers[j];
			}
		}
	}
}

static size_t pod_of(struct search *s, size_t i)
{
	while (s->pod[i] != i) {
		s->pod[i] = s->pod[s->pod[i]];
		i = s->pod[i];
	}
	return i;
}

/* Joins each leaf with what is right above it. */
static void join_pods(struct search *s)
{
	const struct switch_graph *g = s->g;

	for (size_t i = 0; i < g->count; i++)
		s->pod[i] = i;
	for (size_t i = 0; i < g->count; i++)
		for (size_t j = g->start[i]; s->leaf[i] && j < g->start[i + 1]; j++)
			s->pod[pod_of(s, g->peers[j])] = pod_of(s, i);
}

static bool touches_pods(struct search *s, size_t i)
{
	const struct switch_graph *g = s->g;
	size_t first = g->count;

	for (size_t j = g->start[i]; j < g->start[i + 1]; j++) {
		size_t pod = pod_of(s, g->peers[j]);
		if (s->level[g->peers[j]] != 1)
			continue;
		if (first != g->count && pod != first)
			return true;
		first = pod;
	}
	return false;
}

/* Rule 3, for a candidate that is not yet a leaf. */
static bool few_hosts_but_leaf(struct search *s, size_t i)
{
	const struct switch_graph *g = s->g;
	size_t leaves = 0;

	for (size_t j = g->start[i]; j < g->start[i + 1]; j++)
		leaves += s->leaf[g->peers[j]];
	if (leaves >= 2)
		return false;
	if (has_kin(s, i, KIN_LEAF, false))
		return true;
	return !has_kin(s, i, KIN_HOSTLESS, false) && !touches_pods(s, i);
}

int levels_find(const struct switch_graph *g, int *level)
{
	struct search s;
	size_t usual;
	bool *more;

	if (search_init(&s, g, level) < 0)
		return -ENOMEM;
	more = calloc(g->count + 1, sizeof(*more));
	if (!more) {
		search_free(&s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->count; i++)
		s.candidate[i] = g->hosts[i] && !between_candidates(&s, i);
	usual = usual_hosts(&s);
	for (size_t i = 0; i < g->count; i++)
		s.leaf[i] = s.candidate[i] && g->hosts[i] * 4 > usual;
	measure(&s);
	join_pods(&s);
	/* All are judged by the same leaves, so that their order does not matter. */
	for (size_t i = 0; i < g->count; i++) {
		if (s.candidate[i] && !s.leaf[i])
			more[i] = few_hosts_but_leaf(&s, i);
		else if (!g->hosts[i] && level[i] == 2)
			more[i] = has_kin(&s, i, KIN_LEAF, true);
	}
	for (size_t i = 0; i < g->count; i++)
		s.leaf[i] |= more[i];
	measure(&s);
	free(more);
	search_free(&s);
	return 0;
}
