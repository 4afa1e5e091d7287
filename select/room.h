/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * room.h - how many nodes of each partition are in each unit and pod: what a job can ask for at
 * all, whether they are free or not.
 *
 * Pure: fabric.json's groups and slurm.conf in, numbers and names of groups out.
 */
#ifndef FABRIC_ROOM_H
#define FABRIC_ROOM_H

#include <stdint.h>

#include "err.h"
#include "fabric.h"
#include "slurmconf.h"

struct room;

/*
 * slurm: NULL, or without nodes: each host of the fabric is a node, of every partition. A partition
 * whose nodes are a node set's has all nodes of slurm.conf. NULL and err without memory.
 */
struct room *room_make(const struct fabric *f, const struct slurmconf *slurm, struct err *err);
void room_free(struct room *r);

struct room_size {
	uint32_t fewest_units;		    /* of one island that hold so many nodes; 0: none do */
	uint32_t largest_unit, largest_pod; /* in nodes */
};

/*
 * For a job of that many nodes in the partition, or the partitions, of a list with commas: the
 * default one for NULL and for what is no partition. Of several, what the worst of them has.
 * excluded: a host list of nodes that the job does not take, or NULL. 0; -ENODATA when the fabric has
 * no units; -ENOMEM.
 */
int room_for(const struct room *r, const char *partitions, const char *excluded, uint32_t nodes,
	     struct room_size *size);

/*
 * "[unit-a|unit-b]", the feature of each unit, or pod, of that partition that has so many nodes:
 * malloc'ed. NULL: there are none (errno ENOENT), more than max (E2BIG), or no memory.
 */
enum room_level { ROOM_UNIT, ROOM_POD };
char *room_features(const struct room *r, const char *partitions, const char *excluded,
		    enum room_level level, uint32_t nodes, uint32_t max);

#endif
