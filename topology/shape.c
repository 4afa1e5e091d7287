/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape.c - see shape.h.
 *
 * Both checks look for a circle in what a tree has none in. Leaves without anything above them:
 * their own cables, unless every two have one (all are equally near then, and a flat tree is
 * right). Cells, pods of several leaves below several second-level switches: the cables between
 * second-level switches of different cells. Loose ends like a storage leaf below the cores make no
 * circle of cells.
 */
#include "shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct edge {
	size_t a, b;
};

struct shape {
	const struct fabric *f;
	size_t *part; /* connected parts of the fabric, by switch: the lowest switch */
	size_t *cell; /* pod of a switch that is a leaf or right above leaves; FABRIC_NONE: several
		       */
	size_t *leaves, *uppers; /* of each pod */
	struct edge *edges;
	size_t edge_count;
};

static size_t find(size_t *root, size_t i)
{
	while (root[i] != i) {
		root[i] = root[root[i]];
		i = root[i];
	}
	return i;
}

/* True when a and b were together already. */
static bool join(size_t *root, size_t a, size_t b)
{
	a = find(root, a);
	b = find(root, b);
	root[a < b ? b : a] = a < b ? a : b;
	return a == b;
}

static int by_edge(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

static void add_edge(struct shape *s, size_t a, size_t b)
{
	s->edges[s->edge_count++] = a < b ? (struct edge){ a, b } : (struct edge){ b, a };
}

/* Each pair once. */
static void sort_edges(struct shape *s)
{
	size_t kept = 0;

	if (s->edge_count)
		qsort(s->edges, s->edge_count, sizeof(*s->edges), by_edge);
	for (size_t i = 0; i < s->edge_count; i++)
		if (!kept || by_edge(&s->edges[kept - 1], &s->edges[i]) != 0)
			s->edges[kept++] = s->edges[i];
	s->edge_count = kept;
}

static void find_parts(struct shape *s)
{
	const struct fabric *f = s->f;

	for (size_t i = 0; i < f->switch_count; i++)
		s->part[i] = i;
	for (size_t i = 0; i < f->link_count; i++)
		join(s->part, f->links[i].a, f->links[i].b);
	for (size_t i = 0; i < f->switch_count; i++)
		s->part[i] = find(s->part, i);
}

/* Leaves. */

static void check_leaves(struct shape *s, struct notes *notes)
{
	const struct fabric *f = s->f;

	for (size_t p = 0; p < f->switch_count; p++) {
		size_t leaves = 0, edges = 0;
		bool flat = s->part[p] == p;
		for (size_t i = p; flat && i < f->switch_count; i++) {
			if (s->part[i] != p)
				continue;
			flat = f->switches[i].level == 0;
			leaves++;
		}
		for (size_t i = 0; flat && i < s->edge_count; i++)
			edges += s->part[s->edges[i].a] == p;
		if (!flat || leaves < 3 || edges < leaves || edges == leaves * (leaves - 1) / 2)
			continue;
		notes_add(notes,
			  "the %zu switches around %s are no tree but a ring, a torus or a mesh; "
			  "Slurm "
			  "is told that all of them are equally near",
			  leaves, f->switches[p].name);
	}
}

/* Cells. */

/* The pod of each leaf, and of each switch above leaves of one pod only. */
static void find_cells(struct shape *s)
{
	const struct fabric *f = s->f;

	for (size_t i = 0; i < f->switch_count; i++)
		s->cell[i] = FABRIC_NONE;
	for (size_t i = 0; i < f->unit_count; i++)
		for (size_t j = 0; j < f->units[i].leaf_count; j++)
			if (f->switches[f->units[i].leaves[j]].level == 0)
				s->cell[f->units[i].leaves[j]] = f->units[i].pod;
	for (size_t i = 0; i < f->link_count; i++) {
		size_t a = f->links[i].a, b = f->links[i].b;
		if (f->switches[a].level == 1 && f->switches[b].level == 0)
			s->cell[a] = s->cell[b];
		else if (f->switches[b].level == 1 && f->switches[a].level == 0)
			s->cell[b] = s->cell[a];
	}
	for (size_t i = 0; i < f->switch_count; i++)
		if (s->cell[i] != FABRIC_NONE)
			(f->switches[i].level ? s->uppers : s->leaves)[s->cell[i]]++;
}

static bool is_cell(const struct shape *s, size_t pod)
{
	return pod != FABRIC_NONE && s->leaves[pod] > 1 && s->uppers[pod] > 1;
}

static int check_cells(struct shape *s, struct notes *notes)
{
	const struct fabric *f = s->f;
	size_t *root = calloc(f->pod_count + 1, sizeof(*root));
	bool *said = calloc(f->island_count + 1, sizeof(*said));

	for (size_t i = 0; root && i < f->pod_count; i++)
		root[i] = i;
	s->edge_count = 0;
	for (size_t i = 0; i < f->link_count; i++) {
		size_t a = s->cell[f->links[i].a], b = s->cell[f->links[i].b];
		if (f->switches[f->links[i].a].level == 1 &&
		    f->switches[f->links[i].b].level == 1 && is_cell(s, a) && is_cell(s, b) &&
		    a != b)
			add_edge(s, a, b);
	}
	sort_edges(s);
	for (size_t i = 0; root && said && i < s->edge_count; i++) {
		size_t island = f->pods[s->edges[i].a].island;
		if (!join(root, s->edges[i].a, s->edges[i].b) || said[island])
			continue;
		said[island] = true;
		notes_add(notes,
			  "%s is no tree: cells like %s have cables among each other (Dragonfly+); "
			  "Slurm is told which nodes share a cell, and that all cells are equally "
			  "near",
			  f->islands[island].name, f->pods[s->edges[i].a].name);
	}
	free(root);
	free(said);
	return root && said ? 0 : -ENOMEM;
}

/* Between two leaves of one box: a director that is taken for one switch. */
static bool inside(const struct fabric *f, const struct fabric_link *link)
{
	const struct fabric_switch *a = &f->switches[link->a], *b = &f->switches[link->b];

	return a->level == 0 && b->level == 0 && a->chassis && b->chassis &&
	       strcmp(a->chassis, b->chassis) == 0;
}

int shape_check(const struct fabric *f, struct notes *notes)
{
	struct shape s = { .f = f };
	int rc = -ENOMEM;

	s.part = calloc(f->switch_count + 1, sizeof(*s.part));
	s.cell = calloc(f->switch_count + 1, sizeof(*s.cell));
	s.leaves = calloc(f->pod_count + 1, sizeof(*s.leaves));
	s.uppers = calloc(f->pod_count + 1, sizeof(*s.uppers));
	s.edges = calloc(f->link_count + 1, sizeof(*s.edges));
	if (s.part && s.cell && s.leaves && s.uppers && s.edges) {
		find_parts(&s);
		for (size_t i = 0; i < f->link_count; i++)
			if (f->links[i].a != f->links[i].b && !inside(f, &f->links[i]))
				add_edge(&s, f->links[i].a, f->links[i].b);
		sort_edges(&s);
		check_leaves(&s, notes);
		find_cells(&s);
		rc = check_cells(&s, notes);
	}
	free(s.part);
	free(s.cell);
	free(s.leaves);
	free(s.uppers);
	free(s.edges);
	return rc;
}
