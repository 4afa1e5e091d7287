/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service.h - what takes messages and what writes job fields share: settings, store, the fabric,
 * the log, and the bell by which a message wakes the field writer.
 *
 * sfabricctld has one for the whole cluster. Where there is none, each sfabricd has one for its own
 * node: then `node` is set, nobody else's messages come, and only jobs whose first host the node is
 * get their field written by it.
 */
#ifndef FABRIC_SERVICE_H
#define FABRIC_SERVICE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <syslog.h>

#include "conf.h"
#include "err.h"
#include "fabric.h"
#include "store.h"
#include "story.h"

struct marks;

#define SERVICE_STORIES 2 /* made at a time for those who ask: the other threads go on taking */
#define SERVICE_USERS 64

struct service_rights {
	bool jobs;  /* may read every job: Slurm's own account, an operator, an administrator */
	bool nodes; /* may read what nodes are: these, and others unless PrivateData has nodes */
};

/*
 * Who may read what, as Slurm said it last. One question at a time: strangers must not be able to
 * keep all threads waiting for Slurm.
 */
struct service_users {
	pthread_mutex_t lock;
	bool asking;
	struct service_user {
		uid_t uid;
		struct service_rights rights;
		int64_t until_ns; /* CLOCK_MONOTONIC; 0: unused */
	} known[SERVICE_USERS];
};

struct service_with {		 /* all of it must live as long */
	const struct conf *conf; /* conf->cluster is known */
	const char *folder;	 /* of the store */
	int64_t store_max;	 /* bytes; see store_forget() */
	const char *node;	 /* Slurm's name of the only one that reports; NULL: all do */
	size_t fabric_max;	 /* bytes of fabric.json; of a longer one only the units are read */
	const char *helper;	 /* NULL: the installed sfabric-slurm */
	void (*log)(int priority, const char *text); /* syslog's priorities; from any thread */
};

struct service {
	struct service_with with;
	const struct conf *conf; /* with.conf */
	struct store *store;
	const char *helper; /* sfabric-slurm */

	pthread_mutex_t fabric_lock; /* of the pointer */
	struct fabric *fabric;	     /* NULL: none, or a broken one; see service_fabric() */
	pthread_mutex_t reload;	     /* who holds it reads the file; the two below are its */
	struct stat fabric_seen;
	bool fabric_known; /* fabric_seen holds, or the file was missing */

	sem_t stories;
	pthread_mutex_t marks_lock;
	struct marks *marks; /* NULL: health.json was not read yet */
	struct service_users users;

	pthread_mutex_t bell_lock;
	pthread_cond_t bell;
	bool rung;
	atomic_bool stop; /* also looked at without the lock */
};

/* service_clear() is needed either way. */
int service_init(struct service *s, const struct service_with *with, struct err *err);
void service_clear(struct service *s);

void service_log(const struct service *s, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The off switch is set. */
bool service_off(void);

/* Wakes the field writer; with stop for good. */
void service_ring(struct service *s, bool stop);
/* Waits until the bell rings or until_ns (CLOCK_MONOTONIC). False: stop. */
bool service_wait(struct service *s, int64_t until_ns);

/* Reads fabric.json again when it has changed; says so in the log. */
void service_refresh_fabric(struct service *s);
/* The fabric that is known, refreshed; the caller frees it. NULL: none. */
struct fabric *service_fabric(struct service *s);

/* A node's map joined with the fabric as it was at at_ns (0: now). *map is the caller's. -ENOENT.
 */
int service_map(struct service *s, const char *node, int64_t at_ns, struct map **map,
		struct err *err);

/*
 * What uid may read beyond its own. Slurm's answer holds for some minutes. 0, or -EAGAIN when Slurm
 * does not say, or is just being asked about another one.
 */
int service_rights_of(struct service *s, uid_t uid, struct service_rights *rights, struct err *err);

/*
 * Everything that story.h needs about one incarnation. A running job's tag says nothing of steps:
 * without records they are not read.
 */
struct service_story {
	struct story story;
	struct service *service;
	struct fabric *fabric;
	struct job_facts *facts;
	struct map **maps;
	struct record **records; /* as long as all can be shown whole */
	size_t record_bytes;
	struct store_begin *begins;
};
int service_story_load(struct service *s, const struct store_job *job, bool records,
		       struct service_story *out, struct err *err);
void service_story_clear(struct service_story *out);

#endif
