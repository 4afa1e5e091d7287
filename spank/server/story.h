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

/*
 * What a job's records add up to, step by step. It is fed record after record, in any order, and
 * keeps names and numbers, not the records, so that a job of 4 096 nodes and 50 steps needs some
 * tens of megabytes. tally_add() returns 0 or -ENOMEM.
 */
struct tally;
struct tally *tally_new(void);
void tally_free(struct tally *t);
int tally_add(struct tally *t, const struct record *r);
/* The nodes of all records, sorted, each once; malloc'ed array of the tally's names; NULL without
 * memory. */
const char **tally_nodes(const struct tally *t, size_t *count);

struct story {
	uint32_t job;
	int64_t now_ns;
	int64_t last_ns; /* arrival of the last message: stands for an end that Slurm does not know
			  */
	const struct job_facts *facts; /* NULL: Slurm has not answered */
	struct map *const *maps;       /* joined with the fabric; of the job's hosts, any order */
	size_t map_count;
	struct tally *tally; /* of all records; NULL: none. It is sorted when it is used. */
	struct record *const *records; /* to be shown whole, any order */
	size_t record_count;
	bool records_left_out; /* there are more than can be shown whole */
	const struct store_begin *begins;
	size_t begin_count;
	const struct fabric *fabric; /* NULL unknown */
	bool one_node; /* only one node reports, there is nobody to hear of the others from */
};

enum story_state { STORY_RUNNING, STORY_PARTIAL, STORY_FINAL };

/*
 * All nodes of all steps that are known have reported; false when no step is known, and when the
 * job has nodes that can't report.
 */
bool story_complete(const struct story *s);
enum story_state story_state(const struct story *s);
const char *story_state_name(enum story_state state); /* "running", "partial", "final" */

/* Both: a reference for the caller, at most max bytes as one line; NULL without memory. */
json_object *story_json(const struct story *s, size_t max);
json_object *story_field(const struct story *s, size_t max);

#endif
