/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups.h - units, pods and islands of a fabric: what placement and topology.conf think in.
 */
#ifndef TOPOLOGY_GROUPS_H
#define TOPOLOGY_GROUPS_H

#include "fabric.h"
#include "levels.h"

struct groups_options {
	bool joined;	   /* links between switches are not known; all of them are one island */
	const size_t *box; /* for each switch the one that stands for it: itself, or its director's
			      first */
};

/*
 * From f's switches (with levels), links, ports and hosts to its units, pods, areas and islands,
 * the hosts' units, and the planes of switches; g is the graph of f's switches. 0 or -ENOMEM.
 */
int groups_build(struct fabric *f, const struct switch_graph *g,
		 const struct groups_options *options);

/* Back to before groups_build(), but for the planes of switches. */
void groups_clear(struct fabric *f);

/* Numbers the rails of each unit's ports. Call behind groups_build(). 0 or -ENOMEM. */
int rails_assign(struct fabric *f);

#endif
