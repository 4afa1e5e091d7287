/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local.c - see local.h.
 *
 * The service is the one that sfabricctld has (service.h), told that it is of one node; only what
 * surrounds it is here. Its store has a quarter of spool_max, as a step's timeline may have. A step
 * is not launched, sampled or ended more slowly because of it: its messages come out of the spool,
 * by the sender's thread.
 */
#include "local.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fields.h"
#include "io.h"
#include "service.h"
#include "take.h"
#include "wire.h"

#define OPEN_EVERY_S 10
#define STOP_WAIT_S 2

struct local {
	struct local_with with;
	struct conf conf; /* a copy, which knows the cluster's name */
	char *cluster;
	struct service service;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool open, stop, done;
	bool tried;	/* opening came to an end, good or bad */
	struct err why; /* it is not open */
};

static struct timespec in_ms(int ms)
{
	int64_t ns = io_mono_ns() + (int64_t)ms * 1000000;

	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

/* ---- opening ---- */

/* slurm.conf may not be there yet when a node starts. */
static int know_cluster(struct local *l, struct err *err)
{
	free(l->cluster);
	l->cluster = wire_cluster(l->with.conf);
	if (!l->cluster)
		return err_set(err, ENOMEM, "out of memory");
	l->conf.cluster = l->cluster;
	if (strcmp(l->cluster, "-") != 0)
		return 0;
	return err_set(err, ENOENT,
		       "%s: the cluster's name is not known; set slurm_conf or cluster",
		       l->with.conf->path);
}

static int try_open(struct local *l, struct err *err)
{
	const struct service_with with = { .conf = &l->conf,
					   .folder = l->with.folder,
					   .store_max = (int64_t)(l->with.conf->spool_max / 4),
					   .node = l->with.node,
					   .helper = l->with.helper,
					   .fabric_max = LOCAL_FABRIC_MAX,
					   .log = l->with.log->line };
	int rc = know_cluster(l, err);

	if (rc < 0)
		return rc;
	rc = service_init(&l->service, &with, err);
	if (rc < 0)
		service_clear(&l->service);
	else
		agent_say(l->with.log, LOG_INFO,
			  "no server: job fields are written here for jobs that begin on %s",
			  l->with.node);
	return rc;
}

/* Tries until it is open. False: the end came before. */
static bool open_store(struct local *l)
{
	struct err err = { "" };
	bool opened;

	pthread_mutex_lock(&l->lock);
	while (!l->open && !l->stop) {
		struct timespec until;

		pthread_mutex_unlock(&l->lock);
		opened = try_open(l, &err) == 0;
		pthread_mutex_lock(&l->lock);
		l->open = opened;
		l->tried = true;
		l->why = err;
		pthread_cond_broadcast(&l->wake);
		until = in_ms(OPEN_EVERY_S * 1000);
		while (!l->open && !l->stop &&
		       pthread_cond_timedwait(&l->wake, &l->lock, &until) == 0)
			;
	}
	opened = l->open && !l->stop;
	pthread_mutex_unlock(&l->lock);
	return opened;
}

static void *work(void *arg)
{
	struct local *l = arg;

	if (open_store(l))
		fields_run(&l->service);
	pthread_mutex_lock(&l->lock);
	l->done = true;
	pthread_cond_broadcast(&l->wake);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

struct local *local_start(const struct local_with *with, struct err *err)
{
	struct local *l = calloc(1, sizeof(*l));
	pthread_condattr_t attr;
	sigset_t all, before;
	int rc;

	if (!l) {
		err_set(err, ENOMEM, "store: out of memory");
		return NULL;
	}
	l->with = *with;
	l->conf = *with->conf;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->wake, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&l->thread, NULL, work, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return l;
	err_set(err, rc, "store: no thread can be started: %s", strerror(rc));
	free(l);
	return NULL;
}

/* ---- delivering ---- */

static int wait_open(struct local *l, int timeout_ms, struct err *err)
{
	struct timespec until = in_ms(timeout_ms);
	int rc;

	pthread_mutex_lock(&l->lock);
	while (!l->tried && pthread_cond_timedwait(&l->wake, &l->lock, &until) == 0)
		;
	rc = l->open	? 0
	     : l->tried ? err_set(err, EAGAIN, "%s", l->why.text)
			: err_set(err, EAGAIN, "opening it takes long");
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static int deliver(void *local, enum spool_kind kind, const char *json, int timeout_ms,
		   struct sender_reply *reply, struct err *err)
{
	struct local *l = local;
	int rc = wait_open(l, timeout_ms, err);

	if (rc < 0)
		return rc;
	rc = take_message(&l->service, spool_path_of(kind), json, io_now_ns(), NULL, err);
	reply->status = rc < 0 ? take_http_status(rc) : 200;
	return 0;
}

struct sender_way local_way(struct local *l)
{
	return (struct sender_way){ "this node's store", deliver, l };
}

/* ---- the end ---- */

/* The store is open by now, or stays closed: it is opened in the thread alone. */
static bool wait_done(struct local *l)
{
	struct timespec until = in_ms(STOP_WAIT_S * 1000);
	bool done;

	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->wake);
	if (l->open)
		service_ring(&l->service, true);
	while (!l->done && pthread_cond_timedwait(&l->wake, &l->lock, &until) == 0)
		;
	done = l->done;
	pthread_mutex_unlock(&l->lock);
	return done;
}

bool local_stop(struct local *l)
{
	if (!l)
		return true;
	if (!wait_done(l))
		return false;
	pthread_join(l->thread, NULL);
	if (l->open)
		service_clear(&l->service);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->wake);
	free(l->cluster);
	free(l);
	return true;
}
