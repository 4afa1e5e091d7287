/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stock.h - what stock Slurm would choose: its heuristics for whole nodes, written again.
 *
 * For comparison only (the replay simulator, tests/bench/place, tests/select/differential). Each
 * unit is a leaf switch, each pod a switch above its units, and one switch is above the pods.
 */
#ifndef FABRIC_STOCK_H
#define FABRIC_STOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "place.h"

enum stock_rules {
	STOCK_LINEAR, /* topology/default (none): the tightest run of neighbours */
	STOCK_22_05,  /* topology/tree of 22.05 */
	STOCK_24_11,  /* topology/tree of 24.11 and 26.05 */
};

struct stock;

/* All nodes of the shape must be in a unit. NULL without memory. */
struct stock *stock_make(const struct place_shape *shape);
void stock_free(struct stock *t);

/* Node i is free or not; none is at first. */
void stock_set(struct stock *t, uint32_t node, bool free);

/* The n nodes that would be chosen, in ascending order; false: they are not free. */
bool stock_choose(struct stock *t, enum stock_rules rules, uint32_t n, uint32_t *nodes);

#endif
