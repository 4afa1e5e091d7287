/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - what one node knows about one step, contract record.
 *
 * Made by sfabricd when the step ends (or when it learns that it did), kept in the spool until
 * sfabricctld has it on disk. The id makes sending it twice harmless. At most RECORD_MAX_BYTES on
 * the wire; what does not fit is left out, least telling first, and "cut" says so. A value that is
 * not known is not there.
 */
#ifndef FABRIC_RECORD_H
#define FABRIC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "json.h"
#include "meaning.h"

#define RECORD_FORMAT "slurm-fabric/record"
#define RECORD_VERSION 1
#define RECORD_MAX_BYTES 4096
#define RECORD_ID 33 /* 32 hex digits + NUL */
#define RECORD_TEXT 256   /* longest end and partial */
#define RECORD_SHARED 32  /* most steps in shared_with */
#define RECORD_GPUS 64
#define RECORD_VALUES 4096

struct record_value {
	char *device; /* "mlx5_0:1", "nvme0n1"; "step" (its processes), "node" (the whole node) */
	enum meaning meaning;
	uint64_t total;   /* end minus begin */
	bool has_rates;   /* the three below, per second, over intervals */
	double p50, p95, max;
};

struct record {
	char id[RECORD_ID];
	char *node;
	uint32_t job, step, uid;
	uint32_t node_index, node_count;
	uint32_t tasks, cores; /* PACKET_UNKNOWN */
	int32_t *gpus;         /* gres indexes */
	size_t gpu_count;
	bool gpus_known;
	char *class;  /* value of --fabric; NULL not given */
	int64_t begin_ns, end_ns;
	int64_t elapsed_ns; /* by CLOCK_MONOTONIC: begin_ns and end_ns differ by something else when
			     * the clock was set meanwhile, which JSON has as clock_set_ns */
	char *end;          /* "exit 0", "signal 15", "lost" (slurmstepd went away); NULL unknown */
	char *partial;      /* why this record does not cover the whole step; NULL: it does */
	char **shared_with; /* other steps on the node at the time, "JOB.STEP"; none: exclusive */
	size_t shared_count;

	int64_t interval_ns;
	uint32_t samples, missed;
	int64_t begin_gap_ns, end_gap_ns; /* distance of the first and last sample from the event */
	int64_t cost_us;                  /* CPU time sfabricd took meanwhile, all steps of the node */
	uint32_t hooks_us;                /* time inside fabric.so's hooks */
	bool clock_known;
	int64_t clock_offset_ns, clock_bound_ns; /* this node's clock minus sfabricctld's */

	struct record_value *values; /* sorted by device and meaning */
	size_t value_count;
	bool cut; /* values were left out to fit */
};

void record_free(struct record *r);
struct record *record_new(void); /* zeroed, everything unknown */
struct record *record_parse(const char *text, size_t len, const char *source, struct err *err);
struct record *record_from_json(json_object *object, const char *source, struct err *err);
json_object *record_to_json(const struct record *r);
/*
 * One line of at most RECORD_MAX_BYTES, malloc'ed. What goes first, if need be: rates, then totals of
 * zero, then totals from the end, then shared_with.
 */
char *record_line(const struct record *r);

/*
 * Adds a value (device is copied) and keeps the order; a value that is there is replaced. 0, -ENOMEM,
 * -EINVAL for a name that is no device name or -E2BIG for more than RECORD_VALUES.
 */
int record_add(struct record *r, const char *device, enum meaning m, uint64_t total);
/* The value, or NULL when it is not known. */
const struct record_value *record_find(const struct record *r, const char *device, enum meaning m);

/* Adds its rates, per second, to a value that is there; false when there is none. */
bool record_add_rates(struct record *r, const char *device, enum meaning m, double p50, double p95,
		      double max);

/* Fresh random id. */
int record_make_id(char id[RECORD_ID], struct err *err);

#endif
