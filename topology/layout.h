/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - what a topology.conf or a topology.yaml says, as it says it.
 *
 * Everything is kept with its line, so that what is wrong can be named; whether it is right is
 * check.h's. A topology.conf is one topology without a name; a topology.yaml has several.
 */
#ifndef TOPOLOGY_LAYOUT_H
#define TOPOLOGY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define LAYOUT_MAX_BYTES (64u << 20)
#define LAYOUT_SIZES_MAX 64

enum layout_kind { LAYOUT_NONE, LAYOUT_TREE, LAYOUT_BLOCK, LAYOUT_FLAT, LAYOUT_RING, LAYOUT_TORUS };

struct layout_item { /* a switch, a block or a ring */
	char *name;
	size_t line;
	char *nodes, *children; /* host lists; NULL: not there */
};

struct layout_topology {
	char *name; /* NULL in topology.conf */
	size_t line;
	enum layout_kind kind;
	bool is_default;
	struct layout_item *items;
	size_t count, room;
	long sizes[LAYOUT_SIZES_MAX]; /* block sizes; what is no number is 0 */
	size_t size_count, sizes_line;
};

struct finding {
	bool fatal;
	size_t line; /* 0: of the whole file */
	char *text;
};

struct findings {
	struct finding *all;
	size_t count, room, fatal;
	bool failed; /* there was no memory for one */
};

struct layout {
	bool yaml;
	struct layout_topology *topologies;
	size_t count, room;
};

void layout_clear(struct layout *l);

/*
 * Reads a text; what slurmctld could not even read is a fatal finding. Clear l either way. 0 or
 * -ENOMEM.
 */
int layout_parse(const char *text, size_t len, struct layout *l, struct findings *findings);
/* The same of what `scontrol show topology` prints. */
int layout_parse_shown(const char *text, size_t len, struct layout *l, struct findings *findings);
int layout_parse_yaml(const char *text, size_t len, struct layout *l, struct findings *findings);

/* The lines of topology.conf for a tree or blocks, behind comments; malloc'ed, NULL without memory.
 */
char *layout_text(const struct layout_topology *t, const char *comments);

/* A topology or an item at the end, empty; NULL without memory. */
struct layout_topology *layout_add(struct layout *l);
struct layout_item *layout_add_item(struct layout_topology *t, size_t line);

/* "tree", "block", ...; "" for none. */
const char *layout_kind_name(enum layout_kind kind);

/* A name and the item that has it: an item's own, or that of a node. */
struct layout_name {
	const char *name;
	size_t item;
};

#define LAYOUT_NO_ITEM ((size_t)-1)

/* Sorts names, and in them items. */
void layout_sort(struct layout_name *names, size_t count);
/* The items by name, malloc'ed; NULL without memory. */
struct layout_name *layout_names(const struct layout_topology *t);
/* The (first) item of a name in a sorted array, or LAYOUT_NO_ITEM. */
size_t layout_find(const struct layout_name *sorted, size_t count, const char *name);

void findings_add(struct findings *f, bool fatal, size_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void findings_clear(struct findings *f);

#endif
