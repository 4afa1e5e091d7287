/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.h - the placement engine: which nodes a job gets, in which order, and why these.
 *
 * Pure: a model of the fabric, the state of its nodes and a request go in; nodes in rank order and
 * the numbers behind the choice come out. No I/O, nothing of Slurm's, no memory taken while it
 * decides, and the same input gives the same answer. Nodes have the caller's numbers; the groups
 * are those of fabric.h: units (hosts on the same leaf switches), pods, and above them areas and
 * islands. The state counts free nodes by unit, and the caller tells what changes, so that a
 * decision costs what the units cost, not the nodes.
 */
#ifndef FABRIC_PLACE_H
#define FABRIC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define PLACE_NONE UINT32_MAX
#define PLACE_NODES_MAX (1u << 24)

/* What a model is made from; nothing of it is kept. */
struct place_shape {
	uint32_t nodes, units, pods, groups;
	const uint32_t *unit_of;  /* of a node; PLACE_NONE: the fabric does not know it */
	const uint32_t *pod_of;	  /* of a unit */
	const uint32_t *group_of; /* of a pod: an area or an island */
	const uint32_t *parent;	  /* of a group; PLACE_NONE: an island */
	/* Oversubscription in thousandths: above the units and above the pods. 0: not known. */
	uint32_t unit_over, pod_over;
};

struct place_model;

/* NULL and err for a reference that is out of range, a loop of areas, or without memory. */
struct place_model *place_model_make(const struct place_shape *shape, struct err *err);
void place_model_free(struct place_model *m);

struct fabric;

/*
 * The model of a fabric for count nodes with these names: a node's number is its place in them. f
 * is not needed afterwards. A fabric that was read without its links has no known oversubscription.
 */
struct place_model *place_model_of(const struct fabric *f, const char *const *names, uint32_t count,
				   struct err *err);

enum place_node { PLACE_DOWN, PLACE_BUSY, PLACE_FREE }; /* down: it does not count as its unit's */

struct place_state;

/* All nodes are down and none is suspect at first. m must outlive it. NULL without memory. */
struct place_state *place_state_make(const struct place_model *m);
void place_state_free(struct place_state *s);

/* Any number of times, in any order; a node that is out of range is ignored. */
void place_set(struct place_state *s, uint32_t node, enum place_node what);
void place_suspect(struct place_state *s, uint32_t node, bool suspect);

enum place_class {
	PLACE_ANY,	 /* anywhere: leaves large free parts to others */
	PLACE_COMPACT,	 /* as close together as possible */
	PLACE_SAME_LEAF, /* in one unit */
	PLACE_SAME_POD,	 /* in one pod */
	PLACE_SPREAD,	 /* over as many units as possible */
	PLACE_SEGMENTS,	 /* parts of so many nodes, each in one unit */
};

struct place_request {
	uint32_t min, max; /* nodes; as many as possible of them */
	enum place_class class;
	uint32_t segment;	  /* nodes of a part */
	bool strict;		  /* what the class says, or nothing */
	bool healthy;		  /* with strict: no suspect node at all; a job of one node: none */
	bool wait;		  /* there is time left to wait for what the fabric can give */
	const uint32_t *required; /* nodes that must be among them, all free */
	uint32_t required_count;
	const uint32_t *excluded;
	uint32_t excluded_count;
};

/* What a placement lacks, and why. */
enum {
	PLACE_GAVE_CLASS = 1,  /* no room for the class: the closest one instead */
	PLACE_GAVE_HEALTH = 2, /* too few free nodes are healthy */
	PLACE_GAVE_FABRIC = 4, /* no connected part has enough: islands, or nodes it doesn't know */
};

struct place_result {
	uint32_t count;		      /* nodes */
	uint32_t units, pods;	      /* that the nodes are in; unknown ones are in none */
	uint32_t units_now, pods_now; /* the fewest, with what is free; 0: not in one island */
	uint32_t units_fewest,
		pods_fewest;	   /* the fewest, were all of the fabric free; 0: the same */
	uint32_t suspects;	   /* nodes among them */
	uint32_t suspects_avoided; /* free suspect nodes that were left out */
	uint32_t unknown;	   /* nodes among them that the fabric doesn't know */
	unsigned int given_up;
};

/*
 * Decides. nodes has room for request->max (or all nodes of the model, if that is less) and gets
 * them in rank order: nodes of a unit, and units of a pod, stand together. s is as before.
 *
 * 0; -EINVAL: the request contradicts itself; -ENOSPC: there is no such placement with what is free
 * (err says what is missing); -EAGAIN: request->wait, and the fabric could do better than what is
 * in result and nodes.
 */
int place_decide(struct place_state *s, const struct place_request *request,
		 struct place_result *result, uint32_t *nodes, struct err *err);

/* A few lines for a person, each ended by a newline; cut at size. Returns text. */
char *place_explain(const struct place_request *request, const struct place_result *result,
		    char *text, size_t size);

/* "any", "compact", ...; for "segments" the number is request->segment. False: no such class. */
const char *place_class_name(enum place_class class);
bool place_class_parse(const char *text, struct place_request *request);

/*
 * How many jobs of that many nodes fit into units, or into pods, each job whole in one, all at
 * once, with what is free.
 */
uint32_t place_fit_units(const struct place_state *s, uint32_t nodes);
uint32_t place_fit_pods(const struct place_state *s, uint32_t nodes);

#endif
