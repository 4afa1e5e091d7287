/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * take_health.c - takes what `sfabric-topology watch` observed: marks, health.json, and who is hit.
 *
 * marks.h decides; this reads and writes health.json in state_dir, which nobody else writes, and
 * finds the jobs that run on the hosts behind the ports, with the number of their GPUs that use
 * them. What is not known of a job is not said.
 */
#include "take_health.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "marks.h"
#include "text.h"

#define ANSWERED 100 /* ports that the answer tells of */
#define JOBS_SAID 20 /* in a line of the log */

/* One running job. */
struct running {
	struct job_facts *facts;
};

struct hits {
	struct service *service;
	struct running *jobs;
	size_t count;
};

static char *health_path(const struct service *s)
{
	return io_format("%s/health.json", s->with.folder);
}

static struct marks_rules rules_of(const struct service *s)
{
	return (struct marks_rules){ s->conf->suspect_after, s->conf->clear_after,
				     s->conf->suspect_for_ns };
}

/* The marks of an earlier run; a broken file is said, and written anew. */
static struct marks *load_marks(const struct service *s)
{
	const struct marks_rules rules = rules_of(s);
	struct marks *m = marks_new();
	struct err err = { "" };
	char *path = health_path(s);
	struct health *h = path ? health_load(path, &err) : NULL;
	int code = errno;

	if (m && h && marks_restore(m, h, &rules) < 0) {
		marks_free(m);
		m = NULL;
	} else if (path && !h && code != ENOENT) {
		service_log(s, LOG_WARNING, "%s; its marks are lost", err.text);
	}
	health_free(h);
	free(path);
	return m;
}

static int write_marks(const struct service *s, const struct marks *m, struct err *err)
{
	char *path = health_path(s), *text = marks_text(m), *was = NULL;
	size_t len = 0;
	int rc = path && text ? 0 : err_set(err, ENOMEM, "out of memory");

	if (rc == 0 && (io_read(path, HEALTH_MAX_BYTES, &was, &len, NULL) < 0 ||
			len != strlen(text) || memcmp(was, text, len) != 0))
		rc = io_write_atomic(path, text, strlen(text), 0644, err);
	free(path);
	free(text);
	free(was);
	return rc;
}

/* Jobs. */

static void add_running(struct hits *hits, int64_t key)
{
	struct store_job job;
	json_object *object;
	struct job_facts *facts;

	if (store_get_job(hits->service->store, key, &job, NULL) < 0)
		return;
	object = job.facts ? json_parse(job.facts, strlen(job.facts), "store", NULL) : NULL;
	facts = object ? job_facts_from_json(object, NULL) : NULL;
	json_object_put(object);
	store_job_clear(&job);
	if (facts && facts->running)
		hits->jobs[hits->count++].facts = facts;
	else
		job_facts_free(facts);
}

static void hits_clear(struct hits *hits)
{
	for (size_t i = 0; i < hits->count; i++)
		job_facts_free(hits->jobs[i].facts);
	free(hits->jobs);
}

static int find_running(struct service *s, struct hits *hits, struct err *err)
{
	int64_t *keys = NULL;
	size_t count = 0;
	int rc = store_open_jobs(s->store, &keys, &count, err);

	*hits = (struct hits){ .service = s };
	if (rc < 0)
		return rc;
	hits->jobs = calloc(count + 1, sizeof(*hits->jobs));
	for (size_t i = 0; hits->jobs && i < count; i++)
		add_running(hits, keys[i]);
	free(keys);
	return hits->jobs ? 0 : err_set(err, ENOMEM, "out of memory");
}

/* The host behind a port; malloc'ed, NULL unknown. */
static char *host_of(struct service *s, uint64_t guid)
{
	struct fabric *f = service_fabric(s);
	size_t port = f ? fabric_find_port(f, guid) : FABRIC_NONE;
	char *host = NULL;

	if (port != FABRIC_NONE && f->ports[port].host != FABRIC_NONE)
		host = strdup(f->hosts[f->ports[port].host].name);
	fabric_free(f);
	return host;
}

static bool uses_port(const struct map *m, const struct map_gpu *gpu, uint64_t port)
{
	for (size_t i = 0; i < gpu->near_count; i++)
		if (m->ports[gpu->near[i].port].guid == port)
			return true;
	return false;
}

/* The job's GPUs on that host that use the port; -1 unknown. */
static int count_gpus(const struct job_gpus *gpus, const struct map *m, uint64_t port)
{
	int count = 0;

	if (!gpus->known)
		return -1;
	if (gpus->count == 0)
		return 0;
	for (size_t i = 0; m && i < gpus->count; i++)
		for (size_t j = 0; j < m->gpu_count; j++)
			count += m->gpus[j].gres == gpus->index[i] &&
				 uses_port(m, &m->gpus[j], port);
	return m ? count : -1;
}

/* The jobs on host, for the answer and for the log. */
static int put_jobs(struct hits *hits, const char *host, uint64_t port, json_object *object,
		    struct io_text *line)
{
	json_object *array = json_object_new_array();
	int rc = json_put_value(object, "jobs", array);
	struct map *m = NULL;
	size_t said = 0;

	if (host && service_map(hits->service, host, 0, &m, NULL) < 0)
		m = NULL;
	for (size_t i = 0; host && rc == 0 && i < hits->count; i++) {
		const struct job_facts *f = hits->jobs[i].facts;
		size_t at = 0;
		json_object *job;
		int gpus;
		while (at < f->host_count && strcmp(f->hosts[at], host) != 0)
			at++;
		if (at == f->host_count)
			continue;
		gpus = count_gpus(&f->gpus[at], m, port);
		job = json_object_new_object();
		rc = json_append(array, job);
		rc = rc ? rc : json_put_int(job, "job", f->job);
		if (rc == 0 && gpus >= 0)
			rc = json_put_int(job, "gpus", gpus);
		if (said++ < JOBS_SAID)
			io_add(line, "%s job %u", said > 1 ? "," : ";", f->job);
		if (said <= JOBS_SAID && gpus >= 0)
			io_add(line, " (%d GPU%s)", gpus, gpus == 1 ? "" : "s");
	}
	map_free(m);
	return rc;
}

/* One port in the answer; *line gets what the log says of it. */
static int put_port(struct hits *hits, const struct marks *m, uint64_t port, json_object *array,
		    struct io_text *line)
{
	char *host = host_of(hits->service, port), guid[GUID_TEXT];
	json_object *object = json_object_new_object();
	int rc = json_append(array, object);

	io_add(line, "port %s of %s", guid_format(port, guid), host ? host : "an unknown host");
	rc = rc ? rc : json_put_guid(object, "port", port);
	rc = rc ? rc : json_put_bool(object, "suspect", marks_suspect(m, port));
	if (rc == 0 && host)
		rc = json_put_string(object, "host", host);
	rc = rc ? rc : put_jobs(hits, host, port, object, line);
	free(host);
	return rc;
}

static int put_seen(struct hits *hits, const struct marks *m, const struct marks_round *round,
		    json_object *answer)
{
	json_object *array = json_object_new_array();
	int rc = json_put_value(answer, "ports", array);

	for (size_t i = 0; rc == 0 && i < round->seen_count; i++) {
		struct io_text unused = { 0 };
		if (!round->seen[i].port)
			continue;
		if (json_object_array_length(array) == ANSWERED)
			return json_put_bool(answer, "cut", true);
		rc = put_port(hits, m, round->seen[i].port, array, &unused);
		free(io_end(&unused));
	}
	return rc;
}

/* Marks that were set and cleared, a line each. */
static int say_changes(struct hits *hits, const struct marks *m, const struct marks_change *changes,
		       size_t count)
{
	json_object *scratch = json_object_new_array();
	int rc = scratch ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct io_text line = { 0 };
		char *text;
		rc = put_port(hits, m, changes[i].port, scratch, &line);
		text = io_end(&line);
		if (text && changes[i].suspect)
			service_log(hits->service, LOG_WARNING, "suspect: %s; %s", text,
				    changes[i].why);
		else if (text)
			service_log(hits->service, LOG_INFO, "no longer suspect: %s", text);
		free(text);
	}
	json_object_put(scratch);
	return rc;
}

/* The marks' lock is held. */
static int take_round(struct service *s, const struct marks_round *round, int64_t now_ns,
		      json_object *answer, struct err *err)
{
	const struct marks_rules rules = rules_of(s);
	struct marks_change *changes = NULL;
	struct hits hits = { .service = s };
	size_t count = 0;
	int rc;

	if (!s->marks && !(s->marks = load_marks(s)))
		return err_set(err, ENOMEM, "out of memory");
	rc = marks_take(s->marks, round, &rules, now_ns, &changes, &count);
	if (rc < 0)
		err_set(err, ENOMEM, "no room for more suspect ports");
	rc = rc ? rc : write_marks(s, s->marks, err);
	if (rc == 0 && (count || round->seen_count))
		rc = find_running(s, &hits, err);
	if (rc == 0 && (put_seen(&hits, s->marks, round, answer) < 0 ||
			say_changes(&hits, s->marks, changes, count) < 0))
		rc = err_set(err, ENOMEM, "out of memory");
	hits_clear(&hits);
	marks_changes_free(changes, count);
	return rc == -E2BIG ? -ENOMEM : rc;
}

int take_health(struct service *s, json_object *object, int64_t now_ns, json_object *answer,
		struct err *err)
{
	struct marks_round round;
	int rc = marks_round_read(&round, object, err);

	if (rc == 0) {
		pthread_mutex_lock(&s->marks_lock);
		rc = take_round(s, &round, now_ns, answer, err);
		pthread_mutex_unlock(&s->marks_lock);
	}
	marks_round_clear(&round);
	return rc;
}
