/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * publish.c - see publish.h.
 *
 * Every ten seconds a cheap fingerprint of the devices (names, port states) is taken; only when it
 * is another one the map is made anew. An env file that may be wrong is worse than none: it is
 * removed first and written when the new map is there.
 */
#include "publish.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "json.h"
#include "machine.h"
#include "map.h"

#define LOOK_EVERY_S 10
#define STOP_WAIT_S 2

struct publish {
	struct publish_with with;
	char *env_path;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, paused, done;

	/* the thread's */
	char boot_id[37];
	char fingerprint[MACHINE_FINGERPRINT]; /* of the map; "" there is none */
	char scanned[MACHINE_FINGERPRINT];     /* when series were last looked for */
	struct err told; /* the last trouble, said once */
};

static void trouble(struct publish *p, const struct err *err)
{
	if (!strcmp(err->text, p->told.text))
		return;
	p->told = *err;
	agent_say(p->with.log, LOG_WARNING, "no map of this node: %s", err->text);
}

static int write_env(struct publish *p, const struct map *map, struct err *err)
{
	char *text = map_env_text(map);
	int rc = text ? io_write_atomic(p->env_path, text, strlen(text), 0644, err)
		      : err_set(err, ENOMEM, "%s: out of memory", p->env_path);

	free(text);
	return rc;
}

static int send_map(struct publish *p, const struct map *map, struct err *err)
{
	json_object *object = map_to_json(map);
	char *line = object ? json_line(object) : NULL;
	int rc;

	json_object_put(object);
	if (!line)
		return err_set(err, ENOMEM, "map: out of memory");
	rc = sender_put(p->with.sender, SPOOL_MAP, NULL, line);
	free(line);
	return rc < 0 ? err_set(err, -rc, "it could not be kept to be sent") : 0;
}

static void make_map(struct publish *p)
{
	struct err err = { "" };
	struct map *map;

	unlink(p->env_path);
	map = machine_map(p->with.conf, p->with.node, &err);
	if (!map || write_env(p, map, &err) < 0 || send_map(p, map, &err) < 0) {
		trouble(p, &err);
		p->fingerprint[0] = '\0'; /* again at the next turn */
	} else {
		p->told.text[0] = '\0';
		agent_say(p->with.log, LOG_INFO, "map of %s: %zu GPUs, %zu ports", p->with.node,
			  map->gpu_count, map->port_count);
	}
	map_free(map);
}

static void look(struct publish *p)
{
	char fingerprint[MACHINE_FINGERPRINT];
	struct err err = { "" };

	if (machine_fingerprint(p->with.conf->root, p->boot_id, fingerprint, &err) < 0) {
		unlink(p->env_path);
		p->fingerprint[0] = '\0';
		trouble(p, &err);
		return;
	}
	if (!strcmp(fingerprint, p->fingerprint))
		return;
	strcpy(p->fingerprint, fingerprint);
	if (strcmp(fingerprint, p->scanned) != 0)
		sampler_rescan(p->with.sampler);
	strcpy(p->scanned, fingerprint);
	make_map(p);
}

static void *work(void *arg)
{
	struct publish *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		bool paused = p->paused;
		struct timespec until;

		pthread_mutex_unlock(&p->lock);
		if (paused) {
			unlink(p->env_path);
			p->fingerprint[0] = '\0';
		} else {
			look(p);
		}
		pthread_mutex_lock(&p->lock);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += LOOK_EVERY_S;
		while (!p->stop && paused == p->paused &&
		       pthread_cond_timedwait(&p->wake, &p->lock, &until) == 0)
			;
	}
	p->done = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int start_thread(struct publish *p)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&p->thread, NULL, work, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

struct publish *publish_start(const struct publish_with *with, struct err *err)
{
	struct publish *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	int rc;

	if (!p || !(p->env_path = io_format("%s/env", with->run_dir))) {
		err_set(err, ENOMEM, "publish: out of memory");
		free(p);
		return NULL;
	}
	p->with = *with;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &attr);
	pthread_condattr_destroy(&attr);
	rc = io_boot_id(p->boot_id, err);
	if (rc == 0 && (rc = start_thread(p)) < 0)
		err_set(err, -rc, "publish: no thread can be started: %s", strerror(-rc));
	if (rc == 0)
		return p;
	free(p->env_path);
	free(p);
	return NULL;
}

void publish_pause(struct publish *p, bool paused)
{
	pthread_mutex_lock(&p->lock);
	p->paused = paused;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

bool publish_stop(struct publish *p)
{
	struct timespec until;
	bool done;

	if (!p)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += STOP_WAIT_S;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	while (!p->done && pthread_cond_timedwait(&p->wake, &p->lock, &until) == 0)
		;
	done = p->done;
	pthread_mutex_unlock(&p->lock);
	unlink(p->env_path);
	if (!done)
		return false;
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	free(p->env_path);
	free(p);
	return true;
}
