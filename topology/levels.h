/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * levels.h - which switches are leaves, and how far the others are above them.
 *
 * Decided by structure alone: a leaf is a switch that hosts hang on, but a spine that somebody
 * plugged a storage server into stays a spine.
 */
#ifndef TOPOLOGY_LEVELS_H
#define TOPOLOGY_LEVELS_H

#include <stddef.h>

/* The switches of a fabric as a graph: the neighbours of i are peers[start[i] .. start[i + 1]). */
struct switch_graph {
	size_t count;
	size_t *start;	/* count + 1 */
	size_t *peers;	/* sorted, each once, never itself */
	size_t *cables; /* beside peers: how many cables lead there */
	size_t *hosts;	/* host ports on each switch */
};

/*
 * Writes the level of each switch to level: 0 a leaf, n above n - 1, -1 with no leaf in reach.
 * 0 or -ENOMEM.
 */
int levels_find(const struct switch_graph *g, int *level);

#endif
