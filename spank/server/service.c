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
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "marks.h"
#include "slurm_call.h"

#define NS_PER_S INT64_C(1000000000)

void service_log(const struct service *s, int priority, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->with.log(priority, text);
}

bool service_off(void)
{
	return access(conf_off_path(), F_OK) == 0;
}

int service_init(struct service *s, const struct service_with *with, struct err *err)
{
	pthread_condattr_t attr;
	char *path;
	int rc;

	memset(s, 0, sizeof(*s));
	s->with = *with;
	s->conf = with->conf;
	s->helper = with->helper ? with->helper : slurm_call_helper();
	pthread_mutex_init(&s->fabric_lock, NULL);
	pthread_mutex_init(&s->reload, NULL);
	pthread_mutex_init(&s->bell_lock, NULL);
	sem_init(&s->stories, 0, SERVICE_STORIES);
	pthread_mutex_init(&s->marks_lock, NULL);
	pthread_mutex_init(&s->users.lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->bell, &attr);
	pthread_condattr_destroy(&attr);
	path = io_format("%s/store.db", with->folder);
	if (!path)
		return err_set(err, ENOMEM, "out of memory");
	rc = io_mkdirs(with->folder, 0755, err);
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
	pthread_mutex_destroy(&s->users.lock);
	sem_destroy(&s->stories);
	marks_free(s->marks);
	pthread_mutex_destroy(&s->marks_lock);
	pthread_mutex_destroy(&s->reload);
	pthread_mutex_destroy(&s->fabric_lock);
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

/* ---- users ---- */

#define RIGHTS_NS (300 * NS_PER_S)
#define RIGHTS_TIMEOUT_MS 3000

/* The entry of uid that still holds; NULL: there is none. The caller holds the lock. */
static struct service_user *known_user(struct service_users *users, uid_t uid)
{
	for (size_t i = 0; i < SERVICE_USERS; i++)
		if (users->known[i].uid == uid && users->known[i].until_ns > io_mono_ns())
			return &users->known[i];
	return NULL;
}

/* In the place of one that is free, or of that which ends first. The caller holds the lock. */
static void keep_user(struct service_users *users, uid_t uid, struct service_rights rights)
{
	struct service_user *use = &users->known[0];

	for (size_t i = 1; i < SERVICE_USERS; i++)
		if (users->known[i].until_ns < use->until_ns)
			use = &users->known[i];
	*use = (struct service_user){ uid, rights, io_mono_ns() + RIGHTS_NS };
}

static int ask_rights(const struct service *s, uid_t uid, struct service_rights *rights,
		      struct err *err)
{
	json_object *request = json_object_new_object(), *reply = NULL;
	struct json_reader r = { .source = "sfabric-slurm", .err = err };
	int rc = request ? json_put_string(request, "op", "user") : -ENOMEM;

	rc = rc ? rc : json_put_int(request, "uid", uid);
	rc = rc ? rc : slurm_call(s->conf, s->helper, request, RIGHTS_TIMEOUT_MS, &reply, err);
	if (rc == 0) {
		rights->jobs = json_read_bool(&r, reply, "operator");
		rights->nodes = json_read_bool(&r, reply, "nodes");
	}
	json_object_put(request);
	json_object_put(reply);
	return rc ? rc : r.rc;
}

int service_rights_of(struct service *s, uid_t uid, struct service_rights *rights, struct err *err)
{
	struct service_users *users = &s->users;
	const struct service_user *known;
	bool busy;
	int rc;

	pthread_mutex_lock(&users->lock);
	known = known_user(users, uid);
	if (known)
		*rights = known->rights;
	busy = users->asking;
	users->asking = busy || !known;
	pthread_mutex_unlock(&users->lock);
	if (known)
		return 0;
	if (busy)
		return err_set(err, EAGAIN, "Slurm is being asked about somebody; ask again");
	rc = ask_rights(s, uid, rights, err);
	pthread_mutex_lock(&users->lock);
	users->asking = false;
	if (rc == 0)
		keep_user(users, uid, *rights);
	pthread_mutex_unlock(&users->lock);
	return rc < 0 ? err_set(err, EAGAIN,
				"it is not your own, and Slurm does not say whether you may see it")
		      : 0;
}

/* ---- the fabric ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_dev == b->st_dev &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/*
 * NULL with errno. What was parsed takes some ten times the room of the text, and is over: it is
 * given back.
 */
static struct fabric *load_fabric(struct service *s, const struct stat *st, struct err *err)
{
	const char *path = s->conf->fabric_json;
	bool whole = (uint64_t)st->st_size <= s->with.fabric_max;
	struct fabric *f = whole ? fabric_load(path, err) : fabric_load_groups(path, err);
	int code = errno;

	malloc_trim(0);
	if (f && whole)
		service_log(s, LOG_INFO, "%s: %zu switches, %zu host ports", path, f->switch_count,
			    f->port_count);
	else if (f)
		service_log(s, LOG_WARNING,
			    "%s: %lld bytes, more than the %zu that are read whole here: units are "
			    "known, switches are not",
			    path, (long long)st->st_size, s->with.fabric_max);
	errno = code;
	return f;
}

/*
 * st: NULL when the file is not there. False: it could not be read now, which says nothing of the
 * file; the old one stays.
 */
static bool replace_fabric(struct service *s, const struct stat *st)
{
	struct err err = { "" };
	struct fabric *fresh = st ? load_fabric(s, st, &err) : NULL, *old;

	if (st && !fresh && (errno == ENOMEM || errno == EIO || errno == EMFILE))
		return false;
	if (st && !fresh)
		service_log(s, LOG_WARNING, "%s; switches stay unknown until it is good again",
			    err.text);
	if (!st)
		service_log(s, LOG_WARNING,
			    "%s: not there; switches stay unknown until sfabric-topology "
			    "discover writes it",
			    s->conf->fabric_json);
	pthread_mutex_lock(&s->fabric_lock);
	old = s->fabric;
	s->fabric = fresh;
	pthread_mutex_unlock(&s->fabric_lock);
	fabric_free(old);
	return true;
}

void service_refresh_fabric(struct service *s)
{
	struct stat st;

	if (pthread_mutex_trylock(&s->reload) != 0)
		return; /* another thread is at it; the old one serves meanwhile */
	if (stat(s->conf->fabric_json, &st) < 0)
		memset(&st, 0, sizeof(st));
	if (!s->fabric_known || !same_file(&st, &s->fabric_seen)) {
		s->fabric_known = replace_fabric(s, st.st_ino != 0 ? &st : NULL);
		s->fabric_seen = st;
	}
	pthread_mutex_unlock(&s->reload);
}

struct fabric *service_fabric(struct service *s)
{
	struct fabric *f;

	service_refresh_fabric(s);
	pthread_mutex_lock(&s->fabric_lock);
	f = fabric_share(s->fabric);
	pthread_mutex_unlock(&s->fabric_lock);
	return f;
}

static struct map *joined_map(struct service *s, const struct fabric *f, const char *node,
			      int64_t at_ns, struct err *err)
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
	if (m && f && map_join_fabric(m, f, &differ) < 0) {
		map_free(m);
		errno = ENOMEM;
		return NULL;
	}
	return m;
}

int service_map(struct service *s, const char *node, int64_t at_ns, struct map **map,
		struct err *err)
{
	struct fabric *f = service_fabric(s);
	int rc;

	*map = joined_map(s, f, node, at_ns, err);
	rc = *map ? 0 : -errno;
	fabric_free(f);
	return rc;
}

/* ---- a job's story ---- */

static int load_facts(const struct store_job *job, struct service_story *out, struct err *err)
{
	json_object *object;

	if (!job->facts)
		return 0;
	object = json_parse(job->facts, strlen(job->facts), "store", err);
	if (!object)
		return -errno;
	out->facts = job_facts_from_json(object, err);
	json_object_put(object);
	return out->facts ? 0 : -errno;
}

static void drop_records(struct service_story *out)
{
	for (size_t i = 0; i < out->story.record_count; i++)
		record_free(out->records[i]);
	free(out->records);
	out->records = NULL;
	out->story.record_count = 0;
}

/* Keeps a record whole; once they are too many to be shown, none. */
static int keep_record(struct service_story *out, struct record *r, size_t bytes)
{
	struct record **grown;

	out->record_bytes += bytes;
	if (out->record_bytes > STORY_MAX_BYTES) {
		drop_records(out);
		out->story.records_left_out = true;
	}
	if (out->story.records_left_out) {
		record_free(r);
		return 0;
	}
	grown = reallocarray(out->records, out->story.record_count + 1, sizeof(*grown));
	if (!grown) {
		record_free(r);
		return -ENOMEM;
	}
	out->records = grown;
	grown[out->story.record_count++] = r;
	return 0;
}

static int take_record(void *arg, const char *json)
{
	struct service_story *out = arg;
	struct record *r = record_parse(json, strlen(json), "store", NULL);
	int rc;

	if (!r) /* it was checked when it came: what does not parse is of a newer sfabricctld */
		return errno == ENOMEM ? -ENOMEM : 0;
	rc = tally_add(out->story.tally, r);
	if (rc == 0)
		return keep_record(out, r, strlen(json));
	record_free(r);
	return rc;
}

static int load_records(struct service *s, int64_t key, struct service_story *out, struct err *err)
{
	int rc;

	out->story.tally = tally_new();
	rc = out->story.tally ? store_each_record(s->store, key, take_record, out, err) : -ENOMEM;
	return rc == -ENOMEM ? err_set(err, ENOMEM, "out of memory") : rc;
}

static int add_map(struct service *s, const char *node, int64_t at_ns, struct service_story *out)
{
	struct map *m = joined_map(s, out->fabric, node, at_ns, NULL);

	if (m)
		out->maps[out->story.map_count++] = m;
	return m || errno == ENOENT || errno == EPROTO ? 0 : -errno; /* else it is unknown */
}

/* Maps of the job's hosts as they were when it ended, or are. */
static int load_maps(struct service *s, struct service_story *out, struct err *err)
{
	const struct job_facts *f = out->facts;
	int64_t at_ns = f && f->ended && f->end_s ? f->end_s * NS_PER_S : 0;
	size_t told = 0;
	const char **names = tally_nodes(f ? NULL : out->story.tally, &told);
	size_t most = f ? f->host_count : told + out->story.begin_count;
	int rc = 0;

	out->maps = calloc(most + 1, sizeof(*out->maps));
	if (!out->maps || !names)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < most; i++)
		rc = add_map(s,
			     f		? f->hosts[i]
			     : i < told ? names[i]
					: out->begins[i - told].node,
			     at_ns, out);
	free(names);
	return rc < 0 ? err_set(err, ENOMEM, "out of memory") : 0;
}

int service_story_load(struct service *s, const struct store_job *job, bool records,
		       struct service_story *out, struct err *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->service = s;
	out->fabric = service_fabric(s);
	rc = load_facts(job, out, err);
	if (rc == 0 && records)
		rc = load_records(s, job->key, out, err);
	rc = rc ? rc
		: store_get_begins(s->store, job->key, &out->begins, &out->story.begin_count, err);
	rc = rc ? rc : load_maps(s, out, err);
	if (rc < 0) {
		service_story_clear(out);
		return rc;
	}
	out->story.job = job->job;
	out->story.now_ns = io_now_ns();
	out->story.last_ns = job->last_ns;
	out->story.facts = out->facts;
	out->story.maps = out->maps;
	out->story.records = out->records;
	out->story.begins = out->begins;
	out->story.fabric = out->fabric;
	out->story.one_node = s->with.node != NULL;
	return 0;
}

void service_story_clear(struct service_story *out)
{
	for (size_t i = 0; i < out->story.map_count; i++)
		map_free(out->maps[i]);
	drop_records(out);
	tally_free(out->story.tally);
	for (size_t i = 0; i < out->story.begin_count; i++)
		store_begin_clear(&out->begins[i]);
	free(out->maps);
	free(out->begins);
	job_facts_free(out->facts);
	fabric_free(out->fabric);
	memset(out, 0, sizeof(*out));
}
