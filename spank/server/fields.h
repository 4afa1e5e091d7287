/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fields.h - when what is written into Slurm's job fields.
 *
 * fields_decide() is the pure rule; fields_run() is the one thread of a service that follows it: it
 * asks Slurm about open jobs, tags them while they run and writes their record when they have
 * ended. It is the only writer, it may be late, and it never gives up while a job is open. In a
 * service of one node it lets go of the jobs whose first host is another one.
 */
#ifndef FABRIC_FIELDS_H
#define FABRIC_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "service.h"
#include "store.h"

#define FIELDS_WATCH_S 30 /* how often an open job is looked at */
#define FIELDS_EAGER_S 2  /* the same soon after its batch step has reported */
#define FIELDS_EAGER_FOR_S 20
#define FIELDS_TAG_S 600	  /* a running job's tag is renewed at most that often */
#define FIELDS_PARTIAL_AFTER_S 10 /* after the end: records in flight come first */
#define FIELDS_VERIFY_S 60	  /* the final record is read back once more after this */
#define FIELDS_REWRITE_S 30	  /* later records are gathered this long */
#define FIELDS_FORGET_S 86400	  /* a job that Slurm does not know is given up after this */
#define FIELDS_TRIES 2016 /* failures in a row, a week at least: given up until there is news */

enum fields_action { FIELDS_NOTHING, FIELDS_LOOK, FIELDS_TAG, FIELDS_RECORD, FIELDS_CLOSE };

struct fields_view { /* of one job; times in ns since the epoch */
	int64_t now_ns;
	int64_t first_ns; /* arrival of the first message */
	int64_t last_ns;  /* and of the last one */
	int64_t batch_ns; /* of the batch step's record; 0 none */
	bool facts;	  /* Slurm has answered */
	bool running, ended;
	bool elsewhere;	 /* another node writes the field */
	int64_t end_ns;	 /* 0 unknown */
	bool complete;	 /* story_complete() */
	int64_t look_ns; /* Slurm was asked; 0 never */
	enum field_state field;
	int64_t field_ns; /* it was written; 0 never */
	bool verified;
	bool news;	 /* messages came that the field does not know of */
	int64_t next_ns; /* after a failure: not before */
	int64_t tries;	 /* failures in a row */
};

/* What to do and, for FIELDS_NOTHING, when to ask again (*due_ns). */
enum fields_action fields_decide(const struct fields_view *v, int64_t *due_ns);

/* After the n-th failure in a row: how long to wait, 2 s doubling up to 5 minutes. */
int64_t fields_backoff_ns(int64_t tries);

void *fields_run(void *service);

#endif
