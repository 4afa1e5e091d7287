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

#include "conf.h"
#include "err.h"
#include "room.h"

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
	uint32_t nodes;	       /* 0: not known before it starts */
	bool fabric;	       /* the fabric is known; false: no placement */
	struct room_size room; /* what the job's partition has */
	const char *own;       /* the user's own flag that decides the placement; NULL: none */
	bool segments;	       /* Slurm can be asked for segments */
	/* matching-OR of the features of units, or pods, that have room; NULL: can't be asked for
	 */
	const char *unit_features, *pod_features;
};

struct class_plan {
	uint32_t switches, wait_s; /* req_switch and wait4switch; 0: not asked for */
	const char *features;	   /* of job; NULL: none */
	uint32_t segment;	   /* 0: none */
	bool spread;
	char note[256]; /* for the user; "" nothing to say */
};

/* Whether a job of that size, partition and account may have the class: 0, or -EPERM and err. */
int class_allowed(const struct conf_class *class, uint32_t nodes, const char *partitions,
		  const char *account, struct err *err);

/*
 * What to ask of Slurm for a job. max_wait_s: the most that Slurm allows (max_switch_wait). 0, or
 * -ENOSPC and a note when the job asks strictly for what the fabric does not have.
 */
int class_decide(const struct class_wish *wish, const struct conf_class *class,
		 const struct class_job *job, uint32_t max_wait_s, struct class_plan *plan);

/* max_switch_wait in a value of SchedulerParameters; Slurm's own 300 s when it is not there. */
uint32_t class_max_wait(const char *sched_params);

#endif
