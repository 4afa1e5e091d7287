/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconf.h - the few things of slurm.conf that we need: the cluster's name, the hosts of slurmctld,
 * the nodes, and what says how they are used together.
 *
 * They are read from the file because asking Slurm's library means to be linked with it, and it
 * exits when the file is broken.
 */
#ifndef FABRIC_SLURMCONF_H
#define FABRIC_SLURMCONF_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct slurmconf_node { /* one line of nodes: host lists as they are written there */
	char *names;
	char *hosts; /* NodeHostname, NULL: the same as names */
};

struct slurmconf_partition {
	char *name;
	char *nodes; /* as written: a host list, names of node sets, ALL; NULL: not said */
	bool is_default;
};

struct slurmconf {
	char *cluster; /* ClusterName in lower case, as Slurm uses it; NULL: not said */
	char **hosts;  /* of SlurmctldHost, in order: the address where one is given, else the name */
	size_t host_count;
	struct slurmconf_node *nodes; /* of NodeName, without DEFAULT */
	size_t node_count, node_room;
	struct slurmconf_partition *partitions; /* of PartitionName, without DEFAULT */
	size_t partition_count;
	char *topology_plugin; /* TopologyPlugin, NULL: not said */
};

/*
 * Reads path and what it includes; with NULL or "" the first that is there of $SLURM_CONF,
 * /etc/slurm/slurm.conf and /run/slurm/conf/slurm.conf (configless). Lines that Slurm would refuse
 * are passed over. Clear out either way.
 */
int slurmconf_load(const char *path, struct slurmconf *out, struct err *err);

void slurmconf_clear(struct slurmconf *s);

#endif
