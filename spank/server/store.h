/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - what a service knows and must not forget: maps, begins, records, jobs (SQLite).
 *
 * One file. A function that stores returns 0 only after the commit is on disk (WAL with
 * synchronous=FULL), so that 2xx may be said. One connection, a lock inside: every thread may call.
 * A job id may be used again and a job may be requeued: a row of jobs is one incarnation, named by
 * its key. The columns a client's message moves (arrivals, batch_ns, open) and those the field
 * writer moves are apart, so that neither overwrites the other's.
 */
#ifndef FABRIC_STORE_H
#define FABRIC_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "record.h"

#define STORE_MAPS_PER_NODE 32	  /* older ones are forgotten */
#define STORE_MAX_BEGINS 65536	  /* of one job, read at once */
#define STORE_KEEP_S (90 * 86400) /* a closed job is kept that long after its last message */
#define STORE_MAX_BYTES                                                                            \
	(INT64_C(16) << 30) /* beyond, the closed jobs that were silent longest go */
#define STORE_UNKNOWN_RESTARTS -1

/*
 * Clocks of nodes and slurmctld may differ by this much, and Slurm's times are whole seconds. A
 * requeued job starts again after two minutes at the earliest (slurmctld's hold), so that both
 * sides of a requeue stay apart.
 */
#define STORE_CLOCK_SLACK_S 60

struct store;

/* How far AdminComment is. */
enum field_state {
	FIELD_NONE,
	FIELD_RUNNING,
	FIELD_PARTIAL,
	FIELD_FINAL,
	FIELD_FOREIGN,
	FIELD_SUPERSEDED
};

struct store_begin {
	uint32_t job, step, uid;
	char *node;
	uint32_t node_index, node_count;
	char *class; /* NULL: not given */
	int64_t began_ns;
};

struct store_job {
	int64_t key;
	uint32_t job;
	uint32_t uid;	  /* by the first message; Slurm's facts agree or win */
	int64_t began_ns; /* the first step that is known, by its node's clock */
	/* moved by messages */
	int64_t first_ns, last_ns; /* arrivals of the first and the last message */
	int64_t arrivals;	   /* how many messages */
	int64_t batch_ns;	   /* arrival of the batch step's record; 0: none */
	bool open;
	/* moved by the field writer */
	char *facts;	 /* job_facts as JSON; NULL: Slurm has not answered */
	int64_t look_ns; /* when Slurm was asked last */
	enum field_state field;
	char *field_text;      /* what was written last; NULL nothing */
	int64_t field_ns;      /* when */
	bool field_verified;   /* read back some time later, too */
	int64_t seen_arrivals; /* messages that the field's text knows of */
	int64_t tries;	       /* failures in a row */
	int64_t next_ns;       /* not before */
};

struct store *store_open(const char *path, struct err *err);
void store_close(struct store *s);

void store_begin_clear(struct store_begin *b);
void store_job_clear(struct store_job *j);

/* A node's map; the same text as the last one only changes nothing. */
int store_put_map(struct store *s, const char *node, const char *json, int64_t now_ns,
		  struct err *err);

/*
 * The map that held at at_ns (the last one received by then, else the first one after); 0: the
 * newest. *json malloc'ed. -ENOENT.
 */
int store_get_map(struct store *s, const char *node, int64_t at_ns, char **json, struct err *err);

/*
 * Repeating one changes nothing. The job's row is found or made, and opened; opens false: a record
 * that is kept, but is no reason to follow the job. -ESTALE: of a job that is not known and that
 * would be forgotten by now if it had been; what Slurm has of it is better than one message.
 */
int store_put_begin(struct store *s, const struct store_begin *b, int64_t now_ns, struct err *err);
int store_put_record(struct store *s, const struct record *r, const char *json, bool opens,
		     int64_t now_ns, struct err *err);

/* The newest incarnation of a job (by raw id, or by array job and task). -ENOENT. */
int store_find_job(struct store *s, uint32_t job, int64_t *key, struct err *err);
int store_find_task(struct store *s, uint32_t array_job, uint32_t array_task, int64_t *key,
		    struct err *err);

int store_get_job(struct store *s, int64_t key, struct store_job *job, struct err *err);

/* Keys of all open jobs, oldest first; *keys malloc'ed. */
int store_open_jobs(struct store *s, int64_t **keys, size_t *count, struct err *err);

/* Writes the field writer's columns of job->key. */
int store_save_job(struct store *s, const struct store_job *job, struct err *err);

/*
 * Gives an incarnation its facts (JSON) and what they are found by. When another row is the same
 * incarnation already, this one's messages move there, this row goes, and *key becomes the other's.
 */
struct store_identity {
	uint32_t job;
	int64_t submit_s, start_s, end_s; /* 0 unknown */
	int64_t restarts;
	bool array;
	uint32_t array_job, array_task;
};
int store_set_facts(struct store *s, int64_t *key, const struct store_identity *id,
		    const char *facts, struct err *err);

/*
 * The incarnation ended at end_s because the job was requeued: messages of steps that began later
 * move to a new row, which is open; this one is closed.
 */
int store_supersede(struct store *s, int64_t key, int64_t end_s, struct err *err);

/* Closes a job unless a message came that its field does not know of. */
int store_close_job(struct store *s, int64_t key, struct err *err);

/*
 * Hands over each record of a job as JSON text, ordered by step and node, in portions: others may
 * store meanwhile, and what comes meanwhile may be missed. take returns 0 to go on; anything else
 * ends it and is returned.
 */
typedef int store_take(void *arg, const char *json);
int store_each_record(struct store *s, int64_t key, store_take *take, void *arg, struct err *err);

/*
 * All nodes of all steps that are known have reported; false when no step is known. The same as
 * story_complete(), at the price of an index.
 */
int store_complete(struct store *s, int64_t key, bool *complete, struct err *err);

/*
 * Forgets closed jobs: those silent for STORE_KEEP_S, and while the file has more than max_bytes in
 * use the one that was silent longest. A portion in a call; *more: call again.
 */
int store_forget(struct store *s, int64_t now_ns, int64_t max_bytes, bool *more, struct err *err);

/* All of a job's begins; a malloc'ed array of malloc'ed things. */
int store_get_begins(struct store *s, int64_t key, struct store_begin **begins, size_t *count,
		     struct err *err);

#endif
