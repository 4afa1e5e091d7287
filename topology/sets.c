/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets.c - see sets.h. An index from item to the sets that hold it keeps the search short: only
 * sets with the same rarest item are compared.
 */
#include "sets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct holder {
	size_t item, set;
};

struct index {
	struct holder *holders; /* by item, then set */
	size_t count;
	bool *bridge;
};

int sets_compare(const struct set *a, const struct set *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i] != b->items[i])
			return a->items[i] < b->items[i] ? -1 : 1;
	return 0;
}

static int by_item(const void *x, const void *y)
{
	const struct holder *a = x, *b = y;

	if (a->item != b->item)
		return a->item < b->item ? -1 : 1;
	return (a->set > b->set) - (a->set < b->set);
}

static int build(struct index *ix, const struct set *sets, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += sets[i].count;
	ix->holders = calloc(total + 1, sizeof(*ix->holders));
	ix->bridge = calloc(n + 1, sizeof(*ix->bridge));
	if (!ix->holders || !ix->bridge)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < sets[i].count; j++)
			ix->holders[ix->count++] = (struct holder){ sets[i].items[j], i };
	qsort(ix->holders, ix->count, sizeof(*ix->holders), by_item);
	return 0;
}

/* The holders of item: their first index and how many. */
static size_t holders_of(const struct index *ix, size_t item, size_t *first)
{
	size_t low = 0, high = ix->count, n = 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (ix->holders[mid].item < item)
			low = mid + 1;
		else
			high = mid;
	}
	*first = low;
	while (low + n < ix->count && ix->holders[low + n].item == item)
		n++;
	return n;
}

static bool holds(const struct set *big, const struct set *small)
{
	size_t i = 0, j = 0;

	while (i < big->count && j < small->count) {
		if (big->items[i] > small->items[j])
			return false;
		j += big->items[i] == small->items[j];
		i++;
	}
	return j == small->count;
}

static bool apart(const struct set *a, const struct set *b)
{
	size_t i = 0, j = 0;

	while (i < a->count && j < b->count) {
		if (a->items[i] == b->items[j])
			return false;
		if (a->items[i] < b->items[j])
			i++;
		else
			j++;
	}
	return true;
}

/* True when set t holds two heavier sets that have nothing in common. */
static bool is_bridge(const struct index *ix, const struct set *sets, size_t t, size_t *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < sets[t].count; i++) {
		size_t first, count = holders_of(ix, sets[t].items[i], &first);
		for (size_t j = first; j < first + count; j++) {
			size_t part = ix->holders[j].set;
			if (sets[part].count >= sets[t].count ||
			    sets[part].weight <= sets[t].weight ||
			    sets[part].items[0] != sets[t].items[i] ||
			    !holds(&sets[t], &sets[part]))
				continue; /* its first item finds each part once */
			for (size_t k = 0; k < n; k++)
				if (apart(&sets[parts[k]], &sets[part]))
					return true;
			parts[n++] = part;
		}
	}
	return false;
}

/* The one set that holds set s and is held by no other (bridges aside), or s itself. */
static size_t biggest_holder(const struct index *ix, const struct set *sets, size_t s)
{
	size_t first = 0, count = 0, best = s;

	if (ix->bridge[s] || sets[s].count == 0)
		return s;
	for (size_t i = 0; i < sets[s].count; i++) {
		size_t at, n = holders_of(ix, sets[s].items[i], &at);
		if (i == 0 || n < count) {
			first = at;
			count = n;
		}
	}
	for (size_t j = first; j < first + count; j++) {
		size_t t = ix->holders[j].set;
		if (!ix->bridge[t] && sets[t].count > sets[best].count && holds(&sets[t], &sets[s]))
			best = t;
	}
	for (size_t j = first; j < first + count; j++) {
		size_t t = ix->holders[j].set;
		if (!ix->bridge[t] && holds(&sets[t], &sets[s]) && !holds(&sets[best], &sets[t]))
			return s; /* two that don't hold each other: nobody can say which */
	}
	return best;
}

int sets_group(struct set *sets, size_t n)
{
	struct index ix = { 0 };
	size_t *parts = calloc(n + 1, sizeof(*parts));
	int rc = parts ? build(&ix, sets, n) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < n; i++)
		ix.bridge[i] = is_bridge(&ix, sets, i, parts);
	for (size_t i = 0; rc == 0 && i < n; i++)
		sets[i].group = biggest_holder(&ix, sets, i);
	free(parts);
	free(ix.holders);
	free(ix.bridge);
	return rc;
}
