/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.h - whether slurmctld takes a topology file, and what it would make of it.
 */
#ifndef TOPOLOGY_CHECK_H
#define TOPOLOGY_CHECK_H

#include "fabric.h"
#include "layout.h"
#include "slurmconf.h"
#include "wanted.h"

/* A release of Slurm as a number: 2205, 2411, ... */
#define RELEASE_TREE 2205 /* the oldest we know */
#define RELEASE_BLOCK 2311
#define RELEASE_YAML 2505
#define RELEASE_RING 2605

struct check_options {
	int release;
	const struct wanted_list *nodes; /* that Slurm has; NULL: unknown */
	const struct slurmconf *slurm;	 /* partitions, plugin; NULL: unknown */
	const struct fabric *fabric;	 /* NULL: no comparison */
};

/*
 * Adds what slurmctld of that release refuses (fatal) or warns of, and what it takes without a word
 * and is wrong. 0 or -ENOMEM.
 */
int layout_check(const struct layout *l, const struct check_options *o, struct findings *findings);

/*
 * Seconds that slurmctld spends on the distances between switches at each start and reconfigure:
 * the cube of their number (switch_record.c), 2.3 ns each (1 600 switches took 11.2 s, 22.05).
 */
double check_start_seconds(const struct layout *l);

/* "24.11", "24.11.5" or "slurm-wlm 24.11.5" to 2411; 0 for what is no release. */
int check_release(const char *text);

#endif
