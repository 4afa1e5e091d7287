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

struct class_job {
	uint32_t nodes;	 /* 0: not known before it starts */
	bool fabric;	 /* the fabric is known; false: no placement */
	uint32_t fewest; /* units that hold so many nodes: fabric_fewest_units(); 0: none do */
	const char *own; /* the user's own flag that decides the placement; NULL: none */
};

struct class_plan {
	bool place;
	uint32_t switches, wait_s; /* req_switch and wait4switch */
	char note[256];		   /* for the user; "" nothing to say */
};

/*
 * What to ask of Slurm for a job that wants to be close together. wait_ns: how long its class lets
 * a job wait; max_wait_s: the most that Slurm allows (max_switch_wait).
 */
void class_decide(const struct class_wish *wish, int64_t wait_ns, const struct class_job *job,
		  uint32_t max_wait_s, struct class_plan *plan);

/* max_switch_wait in a value of SchedulerParameters; Slurm's own 300 s when it is not there. */
uint32_t class_max_wait(const char *sched_params);

#endif
