/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes.h - placement classes: what --fabric says, and what stock Slurm is asked for it.
 *
 * Nobody names a switch; a job names a class. The syntax is checked by fabric.so where the user
 * types it and again by job_submit_fabric.so, because the value can be forged in between; which
 * classes there are only the controller knows. Pure: no I/O, nothing of Slurm's.
 */
#ifndef FABRIC_CLASSES_H
#define FABRIC_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fabric.h"

#define CLASS_NAME_MAX 32
#define CLASS_OFF "off"

/* "prefer=" is in minutes; a week is the most. */
#define CLASS_PREFER_MAX 10080

enum { CLASS_STRICT = 1, CLASS_HEALTHY = 2, CLASS_RANK = 4 };

struct class_wish {
	char name[CLASS_NAME_MAX + 1];
	unsigned int modifiers; /* set of CLASS_STRICT, ... */
	uint32_t prefer_min;	/* minutes to wait for the better placement; 0: not given */
};

/* "compact,healthy,prefer=10". Returns 0, or -EINVAL with a sentence that says what is accepted. */
int class_parse(const char *text, struct class_wish *wish, struct err *err);

/* The value of --fabric in a job's spank_job_env: the last one wins. NULL when there is none. */
const char *class_find(const char *const *env, size_t count);

/* What a placement stands on: the hosts of each unit, and which units can reach each other. */
struct class_unit {
	size_t island;
	uint32_t hosts;
};

/* The units as class_fewest() wants them: malloc'ed; NULL without memory or without units. */
struct class_unit *class_units(const struct fabric *f, size_t *count);

/* The fewest units of one island that hold that many hosts; 0 when no island does. */
uint32_t class_fewest(const struct class_unit *units, size_t count, uint32_t hosts);

struct class_job {
	uint32_t nodes;	 /* 0: not known before it starts */
	const char *own; /* the user's own flag that decides the placement; NULL: none */
};

struct class_plan {
	bool place;
	uint32_t switches, wait_s; /* req_switch and wait4switch */
	char note[256];		   /* for the user; "" nothing to say */
};

/*
 * What to ask of Slurm for a job that wants to be close together. wait_ns: how long its class lets
 * a job wait; max_wait_s: the most that Slurm allows (max_switch_wait). No units: no placement.
 */
void class_decide(const struct class_wish *wish, int64_t wait_ns, const struct class_unit *units,
		  size_t count, const struct class_job *job, uint32_t max_wait_s,
		  struct class_plan *plan);

/* max_switch_wait in a value of SchedulerParameters; Slurm's own 300 s when it is not there. */
uint32_t class_max_wait(const char *sched_params);

#endif
