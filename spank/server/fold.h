/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fold.h - the maps of a job's nodes folded into what a person can read: nodes whose GPUs hang on
 * the same ports in the same way as one host list, and per rail which leaf switch which hosts use.
 *
 * Pure: maps in, JSON out. Used for the job field and for the story.
 */
#ifndef FABRIC_FOLD_H
#define FABRIC_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json.h"
#include "map.h"
#include "slurm_call.h"

struct fold_host {
	const char *name;
	const struct map *map;	     /* NULL unknown */
	const struct job_gpus *gpus; /* of the job on this host; NULL unknown */
};

/*
 * Adds to object "map" [{"nodes", "gpus": {GRES: [CLASS, PORT..]} or "ports": [PORT..],
 * "whole_node": true?}] with at most max_patterns entries (largest first; "map_more": how many were
 * left out), and "no_map" (host list) when a node's map is unknown. Where the job has a part of a
 * node's GPUs, "trees" has them, an array for each PCIe switch tree, and "trees_fewest" in how few
 * of that node's trees as many GPUs could lie, where that is fewer. whole_node: which of the node's
 * GPUs the job has is unknown, all are shown, by the vendor's index where the gres index is
 * unknown. "ports": the job has no GPU there, so all ports of the node count. 0 or -ENOMEM.
 */
int fold_put_patterns(json_object *object, const struct fold_host *hosts, size_t count,
		      size_t max_patterns);

/*
 * Adds "rails" [{"rail"?, "leaves": {NAME: HOSTLIST}}] and with guids "switches" {NAME: GUID}, of
 * the ports the patterns show; "leaf_open" (host list) where a port's switch is unknown. Nothing is
 * added when no switch is known. 0 or -ENOMEM.
 */
int fold_put_rails(json_object *object, const struct fold_host *hosts, size_t count, bool guids);

#endif
