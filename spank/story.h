/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * story.h - one job, one story: maps, begins, records, Slurm's facts and the fabric in, JSON out.
 *
 * Pure: no clock, no files, no sockets. Two outputs: the story for `GET /v1/jobs/ID` (format
 * slurm-fabric/job) and the object that sacct shows in AdminComment (jobfield.h). What is unknown
 * is absent; what does not fit is left out, least telling first, and "cut" says so.
 */
#ifndef FABRIC_STORY_H
#define FABRIC_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric.h"
#include "json.h"
#include "map.h"
#include "record.h"
#include "slurm_call.h"
#include "store.h"

#define STORY_FORMAT "slurm-fabric/job"
#define STORY_VERSION 1
#define STORY_MAX_BYTES (700u << 10) /* fits a credential */

/* A job's record is final when all nodes have reported, or this long after its end. */
#define STORY_FINAL_AFTER_S 600

/*
 * A port is suspect when its retransmits and errors in a step are at least this many, and at least
 * this many times the median of the step's ports, of which there must be some to be peers.
 */
#define STORY_SUSPECT_EVENTS 10
#define STORY_SUSPECT_TIMES 10
#define STORY_SUSPECT_PEERS 3

struct story {
	uint32_t job;
	int64_t now_ns;
	const struct job_facts *facts; /* NULL: Slurm has not answered */
	struct map *const *maps;       /* joined with the fabric; of the job's hosts, any order */
	size_t map_count;
	struct record *const *records; /* any order */
	size_t record_count;
	const struct store_begin *begins;
	size_t begin_count;
	const struct fabric *fabric; /* NULL unknown */
};

enum story_state { STORY_RUNNING, STORY_PARTIAL, STORY_FINAL };

/* All nodes of all steps that are known have reported; false when no step is known. */
bool story_complete(const struct story *s);
enum story_state story_state(const struct story *s);
const char *story_state_name(enum story_state state); /* "running", "partial", "final" */

/* Both: a reference for the caller, at most max bytes as one line; NULL without memory. */
json_object *story_json(const struct story *s, size_t max);
json_object *story_field(const struct story *s, size_t max);

/* The fewest units of the fabric that can hold that many hosts; 0 when all together can't. */
size_t story_fewest_units(const struct fabric *f, size_t hosts);

#endif
