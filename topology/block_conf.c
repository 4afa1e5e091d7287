/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * block_conf.c - see block_conf.h.
 *
 * A unit becomes a block, a pod a larger one. slurmctld knows the larger blocks by position only:
 * with block sizes of 8 and 32, blocks 0 to 3 of the file are the first larger one. So pods are
 * written one behind the other, and filled up with empty blocks to the same power of two; before
 * 25.05 there are no empty blocks, and pods of different size can't be told. Levels that mean
 * nothing in the fabric, such as pairs of units, are not written: they would only keep jobs
 * waiting.
 *
 * Every block needs the base size: the smallest unit that has more than half the nodes of the most
 * common size. What is smaller is left out, and named, so that one broken unit does not ruin the
 * rest; from 25.05 on it can stay.
 */
#include "block_conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hosts.h"
#include "io.h"

struct block {
	const struct layout_item *leaf;
	size_t nodes, pod, island;
};

struct list {
	struct block *all;
	size_t count;
};

static int by_place(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->island != y->island)
		return x->island < y->island ? -1 : 1;
	if (x->pod != y->pod)
		return x->pod < y->pod ? -1 : 1;
	return x->leaf < y->leaf ? -1 : x->leaf > y->leaf; /* leaves are in order of name */
}

static size_t count_nodes(const char *nodes)
{
	char **names = NULL;
	size_t count = 0;

	if (hosts_expand(nodes, 1000000, &names, &count, NULL) < 0)
		return 0;
	hosts_free(names, count);
	return count;
}

static int find_blocks(const struct fabric *f, const struct layout_topology *tree, struct list *l)
{
	l->all = calloc(tree->count + 1, sizeof(*l->all));
	if (!l->all)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++) {
		const struct layout_item *leaf = &tree->items[i];
		size_t unit = 0;
		while (unit < f->unit_count && strcmp(f->units[unit].name, leaf->name) != 0)
			unit++;
		if (!leaf->nodes || unit == f->unit_count)
			continue;
		l->all[l->count++] =
			(struct block){ leaf, count_nodes(leaf->nodes), f->units[unit].pod,
					f->pods[f->units[unit].pod].island };
	}
	if (l->count)
		qsort(l->all, l->count, sizeof(*l->all), by_place);
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* The smallest size that is more than half the most common one; 0 without blocks or memory. */
static size_t choose_base(const struct list *l)
{
	size_t *sizes = calloc(l->count + 1, sizeof(*sizes)), best = 0, common = 0, base = 0;

	for (size_t i = 0; sizes && i < l->count; i++)
		sizes[i] = l->all[i].nodes;
	if (sizes && l->count)
		qsort(sizes, l->count, sizeof(*sizes), by_size);
	for (size_t i = 0, from = 0; sizes && i < l->count; i++) {
		from = sizes[i] == sizes[from] ? from : i;
		if (i - from + 1 >= best) {
			best = i - from + 1;
			common = sizes[i];
		}
	}
	for (size_t i = l->count; sizes && i-- > 0 && sizes[i] * 2 > common;)
		base = sizes[i];
	free(sizes);
	return base;
}

/* Takes the blocks out that are too small for that release. */
static void drop_small(struct list *l, size_t base, int release, struct notes *notes)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct block *b = &l->all[i];
		bool keep = b->nodes >= base || release >= RELEASE_YAML;
		if (b->nodes < base)
			notes_add(
				notes,
				keep ? "block %s has %zu nodes, less than the base size of %zu (%s)"
				     : "block %s has %zu nodes, less than the base size of %zu: it "
				       "is "
				       "left out, and no job of topology/block gets %s",
				b->leaf->name, b->nodes, base, b->leaf->nodes);
		if (keep)
			l->all[kept++] = *b;
	}
	l->count = kept;
}

/* How many blocks of the same pod begin at i. */
static size_t pod_size(const struct list *l, size_t i)
{
	size_t n = 1;

	while (i + n < l->count && l->all[i + n].pod == l->all[i].pod)
		n++;
	return n;
}

/* The blocks of the largest pod, up to a power of two; 0 when there is one pod only. */
static size_t pod_positions(const struct list *l)
{
	size_t largest = 0, positions = 1, pods = 0;

	for (size_t i = 0; i < l->count; i += pod_size(l, i), pods++)
		if (pod_size(l, i) > largest)
			largest = pod_size(l, i);
	while (positions < largest)
		positions *= 2;
	return pods > 1 && positions > 1 ? positions : 0;
}

static int add_block(struct layout_topology *t, const char *name, const char *nodes)
{
	struct layout_item *item = layout_add_item(t, 0);

	if (!item)
		return -ENOMEM;
	item->name = strdup(name);
	item->nodes = nodes ? strdup(nodes) : NULL;
	return item->name && (item->nodes || !nodes) ? 0 : -ENOMEM;
}

/* Writes pods one behind the other. full: only those that need no empty blocks, or the others. */
static int add_pods(const struct fabric *f, const struct list *l, size_t positions, int full,
		    bool fill, struct layout_topology *t)
{
	int rc = 0;

	for (size_t i = 0, n; rc == 0 && i < l->count; i += n) {
		n = pod_size(l, i);
		if (full >= 0 && (n == positions) != full)
			continue;
		for (size_t j = 0; rc == 0 && j < n; j++)
			rc = add_block(t, l->all[i + j].leaf->name, l->all[i + j].leaf->nodes);
		for (size_t j = n; rc == 0 && fill && i + n < l->count && j < positions; j++) {
			char *name =
				io_format("%s-empty%zu", f->pods[l->all[i].pod].name, j - n + 1);
			rc = name ? add_block(t, name, NULL) : -ENOMEM;
			free(name);
		}
	}
	return rc;
}

static int arrange(const struct fabric *f, const struct list *l, int release,
		   struct layout_topology *t, struct notes *notes)
{
	size_t positions = pod_positions(l), smaller = 0;
	int rc;

	for (size_t i = 0; i < l->count; i += pod_size(l, i))
		smaller += pod_size(l, i) != positions;
	if (positions == 0) {
		rc = add_pods(f, l, 0, -1, false, t);
	} else if (release >= RELEASE_YAML) {
		rc = add_pods(f, l, positions, -1, true, t);
	} else {
		rc = add_pods(f, l, positions, 1, false, t);
		if (rc == 0)
			rc = add_pods(f, l, positions, 0, false, t);
		if (smaller > 1) {
			notes_add(notes, "pods have different numbers of blocks: Slurm is not told "
					 "of them, which needs the empty blocks of 25.05");
			positions = 0;
		}
	}
	if (positions)
		t->sizes[t->size_count++] = t->sizes[0] * (long)positions;
	return rc;
}

int block_conf(const struct fabric *f, const struct layout_topology *tree, int release, long base,
	       struct layout_topology *blocks, struct notes *notes, struct err *err)
{
	struct list l = { 0 };
	int rc = find_blocks(f, tree, &l);

	if (rc == 0 && base == 0)
		base = (long)choose_base(&l);
	if (rc == 0)
		drop_small(&l, (size_t)base, release, notes);
	if (rc == 0 && (l.count == 0 || base == 0))
		rc = err_set(err, ENODATA, "no unit has %ld nodes, so there would be no block",
			     base);
	blocks->kind = LAYOUT_BLOCK;
	blocks->sizes[0] = base;
	blocks->size_count = 1;
	if (rc == 0)
		rc = arrange(f, &l, release, blocks, notes);
	if (rc == 0 && l.all[0].island != l.all[l.count - 1].island)
		notes_add(notes, "there are several islands: topology/block lets jobs span them, "
				 "where no cable does; give each partitions of its own");
	free(l.all);
	return rc == -ENOMEM ? err_set(err, ENOMEM, "out of memory") : rc;
}
