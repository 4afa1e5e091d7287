/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_model.h - what the engine's own files share: model and state, laid out for counting.
 *
 * All is renumbered so that nodes of a unit, units of a pod and pods of a group are ranges. Behind
 * the last unit, pod and group stands one more of each, for the nodes that the fabric doesn't know.
 */
#ifndef FABRIC_PLACE_MODEL_H
#define FABRIC_PLACE_MODEL_H

#include "place.h"

struct place_group {
	uint32_t parent;     /* PLACE_NONE: an island */
	uint32_t height;     /* 0: pods only below it */
	uint32_t first, end; /* its pods */
};

struct place_model {
	uint32_t nodes, units, pods, groups;
	uint32_t *name;			  /* of a node: the caller's number */
	uint32_t *node;			  /* the other way round */
	uint32_t *unit_of;		  /* of a node */
	uint32_t *unit_first;		  /* nodes; units + 2 */
	uint32_t *pod_of;		  /* of a unit */
	uint32_t *pod_first;		  /* units; pods + 2 */
	struct place_group *group;	  /* groups + 1 */
	uint32_t largest;		  /* nodes of the largest unit */
	uint64_t unit_weight, pod_weight; /* what one more of them costs */
	/* For each island, behind each other: sizes of its units, and of its pods, largest first.
	 */
	uint32_t *unit_sizes, *pod_sizes;
};

enum { NODE_FREE = 1, NODE_SUSPECT = 2, NODE_UP = 4, NODE_EXCLUDED = 8, NODE_REQUIRED = 16 };

struct place_plan {
	uint32_t *unit; /* the units to use */
	uint32_t count, pods;
	uint64_t cost;
};

struct place_state {
	const struct place_model *m;
	uint8_t *flags;		  /* of a node */
	uint32_t *up;		  /* of a unit */
	uint32_t *free, *suspect; /* of a unit; suspect: free and suspect */
	uint32_t suspects;	  /* free and suspect, everywhere */

	/* Room to decide in. */
	uint32_t *cap;	   /* of a unit: what it offers, nodes or segments */
	uint32_t *need;	   /* of a unit: what is required of it; all 0 between decisions */
	uint32_t *take;	   /* of a unit */
	uint32_t *order;   /* units, those that offer most first */
	uint32_t *bucket;  /* by offer; largest + 2 */
	uint32_t *pod_cap; /* of a pod */
	uint32_t *pod_sum, *pod_units; /* of a pod: its largest units up to the number wanted */
	uint8_t *pod_used;
	uint8_t *unit_used;
	struct place_plan plan[2];
};

#endif
