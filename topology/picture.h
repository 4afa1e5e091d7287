/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * picture.h - a fabric folded to so few boxes that a person can look at it.
 *
 * The hosts of a unit and the leaves that only they hang on are one box; the switches above are
 * boxes of their own where they are few, and one box for those of a pod and level where they are
 * many. Boxes stand in frames: pods, areas, islands. Links between two boxes are one edge that says
 * how many there are and how fast. What is wrong is a fault, a sentence with names, at its box.
 */
#ifndef TOPOLOGY_PICTURE_H
#define TOPOLOGY_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "fabric.h"

/*
 * More switches than PICTURE_MANY on a level of a frame are one box; more than one are, where there
 * are more units than PICTURE_LARGE.
 */
#define PICTURE_MANY 8
#define PICTURE_LARGE 32

struct picture_frame {
	const char *kind; /* "island", "area", "pod" */
	const char *name; /* the fabric's */
	size_t parent;	  /* a lower index; FABRIC_NONE: none */
	bool used;	  /* something is in it, and it says more than the frame around it */
};

enum picture_kind { PICTURE_UNIT, PICTURE_SWITCHES, PICTURE_LOOSE /* hosts on no switch */ };

struct picture_box {
	enum picture_kind kind;
	size_t frame; /* FABRIC_NONE: beside all of them */
	int level;    /* of the switches; -1: of a unit, and of switches that are in no tree */
	char *names;  /* host list of the hosts, or of the switches */
	size_t count;
	const char *unit;  /* the unit's name, or NULL */
	char *leaves;	   /* host list of a unit's own leaves, "" none */
	size_t leaf_count; /* of a unit: its own */
	size_t unnamed;	   /* HCA ports on its switches that no host's name is known for */
	char *wires;	   /* "256 x 400G" of its hosts to its leaves, or within it; "" none */
	size_t faults;	   /* how many are at it */
};

struct picture_edge {
	size_t upper, lower; /* boxes */
	size_t links;
	char *wires;   /* "31 x 400G, 1 x 100G" */
	size_t faults; /* how many of the links have one */
};

struct picture_fault {
	size_t box;   /* where it is: the lower one of an edge's; FABRIC_NONE: nowhere in particular
		       */
	bool missing; /* something that should be there is not; else it is worse than it should be
		       */
	char *text;
};

struct picture {
	const struct fabric *f;
	struct picture_frame *frames;
	size_t frame_count;
	struct picture_box *boxes; /* the fabric's units in their order, then all others */
	size_t box_count;
	size_t *switch_box; /* the box of each switch */
	struct picture_edge *edges;
	size_t edge_count;
	struct picture_fault *faults;
	size_t fault_count;
};

/* NULL, errno and err without memory. f must live as long. */
struct picture *picture_make(const struct fabric *f, struct err *err);
void picture_free(struct picture *p);

/*
 * What is right in a frame (FABRIC_NONE: in none), in the natural order of names (unit9, unit10):
 * the used frames; and the boxes of a level of switches, or of units for PICTURE_UNITS. Lists have
 * room for all frames, or boxes. Returns how many there are.
 */
#define PICTURE_UNITS (-2)
size_t picture_frames(const struct picture *p, size_t frame, size_t *list);
size_t picture_boxes(const struct picture *p, size_t frame, int level, size_t *list);
/* The highest level of a frame's boxes; PICTURE_UNITS: it has no switches. */
int picture_top(const struct picture *p, size_t frame);

#endif
