/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hints.h - what else than topology.conf a fabric tells a Slurm cluster.
 *
 * Texts for people and their files: node features, an order of ranks that follows the wires,
 * --switches by job size, node weights. nodes are the wanted ones; with count 0 and NULL every host
 * of the fabric is one. Nodes that the fabric does not know, or knows on no switch, are in
 * *left_out (a host list, malloc'ed, "" none). All return malloc'ed text, or NULL, errno and err:
 * ENODATA when no node is on a switch, ENOMEM.
 */
#ifndef TOPOLOGY_HINTS_H
#define TOPOLOGY_HINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fabric.h"
#include "wanted.h"

struct hint_nodes {
	const struct wanted *nodes;
	size_t count;
};

/*
 * The features of nodes: unit-NAME, pod-NAME, area-NAME, island-NAME where there are several of
 * them, rail-N and plane-N for each that a node has a link on. As lines of slurm.conf, or as
 * commands.
 */
enum feature_format { FEATURES_CONF, FEATURES_SCONTROL };
char *hints_features(const struct fabric *f, struct hint_nodes nodes, enum feature_format format,
		     char **left_out, struct err *err);

/*
 * The nodes so that neighbours in the list are near in the fabric: island by island, area, pod and
 * unit, each by natural order of names. Nodes that are left out come last: a job needs all of its.
 */
enum rank_format { RANKS_HOSTFILE, RANKS_RANKFILE, RANKS_LIST };
struct rank_options {
	enum rank_format format;
	unsigned tasks; /* on each node */
	unsigned cpus;	/* of each task, for a rankfile */
};
char *hints_ranks(const struct fabric *f, struct hint_nodes nodes, const struct rank_options *how,
		  char **left_out, struct err *err);

/* The fewest switches (units) that jobs can ask for, by size; wait_s: how long to wait for them. */
char *hints_switches(const struct fabric *f, struct hint_nodes nodes, int64_t wait_s,
		     char **left_out, struct err *err);

/*
 * Node weights, where they do not work against the topology. flat: the cluster runs without a
 * topology plugin.
 */
char *hints_weights(const struct fabric *f, struct hint_nodes nodes, bool flat, char **left_out,
		    struct err *err);

#endif
