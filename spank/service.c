/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service.c - see service.h.
 *
 * The fabric is a file that sfabric-topology replaces when it likes: it is looked at by stat() and
 * read again when that differs. A missing or broken one leaves the leaves open and costs one line
 * in the log, not the service.
 */
#include "service.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "slurm_call.h"
#include "text.h"

#define NS_PER_S INT64_C(1000000000)

void service_log(const struct service *s, int priority, const char *fmt, ...)
{
	char text[1024], safe[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_printable(text, safe, sizeof(safe));
	if (s->foreground)
		fprintf(stderr, "sfabricctld: %s\n", safe);
	else
		syslog(priority, "%s", safe);
}

bool service_off(void)
{
	return access(conf_off_path(), F_OK) == 0;
}

int service_init(struct service *s, struct conf *conf, bool foreground, struct err *err)
{
	pthread_condattr_t attr;
	char *path;
	int rc;

	memset(s, 0, sizeof(*s));
	s->conf = conf;
	s->foreground = foreground;
	s->helper = slurm_call_helper();
	pthread_rwlock_init(&s->fabric_lock, NULL);
	pthread_mutex_init(&s->reload, NULL);
	pthread_mutex_init(&s->bell_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->bell, &attr);
	pthread_condattr_destroy(&attr);
	path = io_format("%s/store.db", conf->state_dir);
	if (!path)
		return err_set(err, ENOMEM, "out of memory");
	rc = io_mkdirs(conf->state_dir, 0755, err);
	if (rc == 0) {
		s->store = store_open(path, err);
		rc = s->store ? 0 : -EIO;
	}
	free(path);
	return rc;
}

void service_clear(struct service *s)
{
	store_close(s->store);
	fabric_free(s->fabric);
	pthread_cond_destroy(&s->bell);
	pthread_mutex_destroy(&s->bell_lock);
	pthread_mutex_destroy(&s->reload);
	pthread_rwlock_destroy(&s->fabric_lock);
}

/* ---- the bell ---- */

void service_ring(struct service *s, bool stop)
{
	pthread_mutex_lock(&s->bell_lock);
	s->rung = true;
	s->stop = s->stop || stop;
	pthread_cond_signal(&s->bell);
	pthread_mutex_unlock(&s->bell_lock);
}

bool service_wait(struct service *s, int64_t until_ns)
{
	struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
	bool stop;
	int rc = 0;

	pthread_mutex_lock(&s->bell_lock);
	while (!s->rung && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&s->bell, &s->bell_lock, &until);
	s->rung = false;
	stop = s->stop;
	pthread_mutex_unlock(&s->bell_lock);
	return !stop;
}

/* ---- the fabric ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_dev == b->st_dev &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void replace_fabric(struct service *s, bool there)
{
	const char *path = s->conf->fabric_json;
	struct err err = { "" };
	struct fabric *fresh = there ? fabric_load(path, &err) : NULL, *old;

	if (fresh)
		service_log(s, LOG_INFO, "%s: %zu switches, %zu host ports", path,
			    fresh->switch_count, fresh->port_count);
	else if (there)
		service_log(s, LOG_WARNING, "%s; switches stay unknown until it is good again",
			    err.text);
	else
		service_log(s, LOG_WARNING,
			    "%s: not there; switches stay unknown until sfabric-topology "
			    "discover writes it",
			    path);
	pthread_rwlock_wrlock(&s->fabric_lock);
	old = s->fabric;
	s->fabric = fresh;
	pthread_rwlock_unlock(&s->fabric_lock);
	fabric_free(old);
}

void service_refresh_fabric(struct service *s)
{
	struct stat st;

	if (pthread_mutex_trylock(&s->reload) != 0)
		return; /* another thread is at it; the old one serves meanwhile */
	if (stat(s->conf->fabric_json, &st) < 0)
		memset(&st, 0, sizeof(st));
	if (!s->fabric_known || !same_file(&st, &s->fabric_seen)) {
		s->fabric_seen = st;
		s->fabric_known = true;
		replace_fabric(s, st.st_ino != 0);
	}
	pthread_mutex_unlock(&s->reload);
}

/* The caller holds the fabric's lock. */
static struct map *joined_map(struct service *s, const char *node, int64_t at_ns, struct err *err)
{
	struct map *m;
	size_t differ = 0;
	char *json;
	int rc = store_get_map(s->store, node, at_ns, &json, err);

	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	m = map_parse(json, strlen(json), node, err);
	free(json);
	errno = EPROTO;
	if (m && s->fabric && map_join_fabric(m, s->fabric, &differ) < 0) {
		map_free(m);
		errno = ENOMEM;
		return NULL;
	}
	return m;
}

int service_map(struct service *s, const char *node, int64_t at_ns, struct map **map,
		struct err *err)
{
	service_refresh_fabric(s);
	pthread_rwlock_rdlock(&s->fabric_lock);
	*map = joined_map(s, node, at_ns, err);
	pthread_rwlock_unlock(&s->fabric_lock);
	return *map ? 0 : -errno;
}

/* ---- a job's story ---- */

static int load_facts(const struct store_job *job, struct service_story *out, struct err *err)
{
	json_object *object;

	if (!job->facts)
		return 0;
	object = json_parse(job->facts, strlen(job->facts), "store", err);
	out->facts = object ? job_facts_from_json(object, err) : NULL;
	json_object_put(object);
	return out->facts ? 0 : -EPROTO;
}

static int load_records(struct service *s, int64_t key, struct service_story *out, struct err *err)
{
	char **texts;
	size_t count;
	int rc = store_get_records(s->store, key, &texts, &count, err);

	if (rc < 0)
		return rc;
	out->records = calloc(count + 1, sizeof(*out->records));
	for (size_t i = 0; i < count; i++) {
		struct record *r = out->records
					   ? record_parse(texts[i], strlen(texts[i]), "store", NULL)
					   : NULL;

		if (r) /* they were checked when they came: what does not parse is of a newer
			  sfabricd */
			out->records[out->story.record_count++] = r;
		free(texts[i]);
	}
	free(texts);
	return out->records ? 0 : err_set(err, ENOMEM, "out of memory");
}

/* Maps of the job's hosts as they were when it ended, or are. */
static int load_maps(struct service *s, struct service_story *out, struct err *err)
{
	const struct job_facts *f = out->facts;
	size_t most = f ? f->host_count : out->story.record_count + out->story.begin_count;
	int64_t at_ns = f && f->ended && f->end_s ? f->end_s * NS_PER_S : 0;

	out->maps = calloc(most + 1, sizeof(*out->maps));
	if (!out->maps)
		return err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < most; i++) {
		const char *node = f ? f->hosts[i]
				   : i < out->story.record_count
					   ? out->records[i]->node
					   : out->begins[i - out->story.record_count].node;
		struct map *m = joined_map(s, node, at_ns, NULL);

		if (m)
			out->maps[out->story.map_count++] = m;
	}
	return 0;
}

int service_story_load(struct service *s, const struct store_job *job, struct service_story *out,
		       struct err *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	service_refresh_fabric(s);
	pthread_rwlock_rdlock(&s->fabric_lock);
	out->service = s;
	rc = load_facts(job, out, err);
	rc = rc ? rc : load_records(s, job->key, out, err);
	rc = rc ? rc
		: store_get_begins(s->store, job->key, &out->begins, &out->story.begin_count, err);
	rc = rc ? rc : load_maps(s, out, err);
	if (rc < 0) {
		service_story_clear(out);
		return rc;
	}
	out->story.job = job->job;
	out->story.now_ns = io_now_ns();
	out->story.facts = out->facts;
	out->story.maps = out->maps;
	out->story.records = out->records;
	out->story.begins = out->begins;
	out->story.fabric = s->fabric;
	return 0;
}

void service_story_clear(struct service_story *out)
{
	for (size_t i = 0; i < out->story.map_count; i++)
		map_free(out->maps[i]);
	for (size_t i = 0; i < out->story.record_count; i++)
		record_free(out->records[i]);
	for (size_t i = 0; i < out->story.begin_count; i++)
		store_begin_clear(&out->begins[i]);
	free(out->maps);
	free(out->records);
	free(out->begins);
	job_facts_free(out->facts);
	pthread_rwlock_unlock(&out->service->fabric_lock);
	memset(out, 0, sizeof(*out));
}
