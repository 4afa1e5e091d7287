/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs.h - streams of jobs for the replay simulator: read, or made up.
 */
#ifndef FABRIC_JOBS_H
#define FABRIC_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct job {
	double submit_s, run_s, limit_s; /* limit: what the user asked for, at least run */
	uint32_t nodes;
	uint32_t gpus;	   /* of one node, for a job that shares it; 0: whole nodes */
	uint64_t priority; /* larger first; equal: by submit time */
};

struct jobs {
	struct job *job; /* by submit time */
	size_t count, room;
};

void jobs_free(struct jobs *j);

/* Standard Workload Format 2.2; a node is per_node processors of it. */
struct jobs *jobs_swf(const char *text, size_t len, uint32_t per_node, const char *source,
		      struct err *err);

/*
 * sacct --parsable2 with the columns JobID, Submit, ElapsedRaw, NNodes, and if they are there
 * TimelimitRaw, Priority and AllocTRES (for jobs that have less than per_node GPUs of one node).
 */
struct jobs *jobs_sacct(const char *text, size_t len, uint32_t per_node, const char *source,
			struct err *err);

/*
 * Made up: 46 % of one node down to 0.2 % of 256, run times log-normal with a median of 40 minutes,
 * arrivals at random. share: the part of one-node jobs that want less than per_node GPUs.
 */
struct jobs *jobs_make(size_t count, double share, uint32_t per_node, uint64_t seed,
		       struct err *err);

#endif
