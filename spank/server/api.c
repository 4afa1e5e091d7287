/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.c - see api.h.
 *
 * The order of checks is the same everywhere: the credential (cluster, method, path), the sender,
 * the text, and only then the store. A message that can never be right gets a 4xx, so that its
 * sender stops repeating it; what may be better later (munged, the disk) gets a 5xx.
 */
#include "api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "json.h"
#include "map.h"
#include "service.h"
#include "take.h"
#include "text.h"
#include "wire.h"

#define TURN_S 2 /* the longest wait for a turn */

static void reply_json(struct http_reply *reply, int status, json_object *object)
{
	reply->status = status;
	reply->body = json_line(object);
	json_object_put(object);
}

static json_object *error_object(const char *why)
{
	json_object *object = json_object_new_object();

	json_put_string(object, "error", why);
	return object;
}

static void reply_error(struct http_reply *reply, int status, const char *why)
{
	reply_json(reply, status, error_object(why));
}

/* wire_open(), for which a credential that is too old or too new is one that is refused. */
static int open_credential(const struct service *s, const char *credential, const char *method,
			   const char *path, uid_t *uid, char **json, struct err *err)
{
	int rc = wire_open(s->conf, credential, method, path, uid, json, err);

	return rc == -ESTALE ? -EACCES : rc;
}

/* ---- POST ---- */

static void put_times(json_object *object, int64_t received_ns)
{
	json_put_int(object, "received_ns", received_ns);
	json_put_int(object, "sent_ns", io_now_ns());
}

/* For root of a node: what the answer says of its message must come from nobody else. */
static void reply_sealed(const struct service *s, const char *path, struct http_reply *reply,
			 int status, json_object *object)
{
	struct err err = { "" };
	char *line, *sealed = NULL;

	json_put_int(object, "status", status);
	line = json_line(object);
	json_object_put(object);
	if (line)
		sealed = wire_seal(s->conf, "REPLY", path, line, 0, &err);
	free(line);
	if (!sealed) {
		reply_error(reply, 503, err.text[0] ? err.text : "out of memory");
		return;
	}
	reply->status = status;
	reply->body = sealed;
	reply->type = "text/plain";
}

/* *uid: who sent it, -1 while that is not proven. */
static int take_post(struct service *s, const struct http_request *q, int64_t now_ns, uid_t *uid,
		     json_object *answer, struct err *err)
{
	char *json = NULL;
	int rc = open_credential(s, q->body, "POST", q->path, uid, &json, err);

	if (rc < 0)
		*uid = (uid_t)-1;
	else if (*uid != 0)
		rc = err_set(err, EPERM, "only root of a node may tell, not uid %u",
			     (unsigned int)*uid);
	rc = rc ? rc : take_message(s, q->path, json, now_ns, answer, err);
	free(json);
	return rc;
}

static void handle_post(struct service *s, const struct http_request *q, struct http_reply *reply)
{
	int64_t now_ns = io_now_ns();
	struct err err = { "" };
	json_object *object;
	uid_t uid = 0;
	int rc, status;

	if (!take_knows(q->path)) {
		/* perhaps what a newer sfabricd sends: it is to keep it */
		reply_error(reply, 501, "this path is not known here; is sfabricctld older?");
		return;
	}
	if (service_off()) {
		reply_error(reply, 503, "switched off");
		return;
	}
	object = json_object_new_object();
	rc = take_post(s, q, now_ns, &uid, object, &err);
	if (rc < 0) {
		json_object_put(object);
		object = error_object(err.text);
	} else {
		put_times(object, now_ns);
	}
	status = rc < 0 ? take_http_status(rc) : 200;
	if (uid == 0)
		reply_sealed(s, q->path, reply, status, object);
	else
		reply_json(reply, status, object);
}

/* ---- GET ---- */

/* "17", or "17_3" for a task of an array. */
static int find_job(struct service *s, const char *name, int64_t *key, struct err *err)
{
	const char *mark = strchr(name, '_');
	char head[16] = "";
	uint64_t job, task;

	if (!mark && u64_parse(name, UINT32_MAX, &job))
		return store_find_job(s->store, (uint32_t)job, key, err);
	if (mark && (size_t)(mark - name) < sizeof(head))
		memcpy(head, name, (size_t)(mark - name));
	if (mark && u64_parse(head, UINT32_MAX, &job) && u64_parse(mark + 1, UINT32_MAX, &task))
		return store_find_task(s->store, (uint32_t)job, (uint32_t)task, key, err);
	return err_set(err, ENOENT, "no such job is known: a number is needed, or ARRAY_TASK");
}

/* Slurm's word on the owner wins; until it is there the first message's holds. */
static uid_t owner_of(const struct store_job *job)
{
	json_object *object =
		job->facts ? json_parse(job->facts, strlen(job->facts), "store", NULL) : NULL;
	struct json_reader r = { .source = "store" };
	int64_t uid = job->facts && !object ? 0
		      : object		    ? json_read_int(&r, object, "uid", 0, UINT32_MAX)
					    : job->uid;

	json_object_put(object);
	return r.rc < 0 ? job->uid : (uid_t)uid;
}

/*
 * job: NULL when none is known. To those who may not see a job it is as one that is not known, and
 * both take the same way: Slurm is asked about the reader.
 */
static int check_reader(struct service *s, const struct store_job *job, uid_t uid, struct err *err)
{
	struct service_rights rights;
	int rc;

	if (uid == 0 || uid == geteuid() || (job && uid == owner_of(job)))
		return 0;
	rc = service_rights_of(s, uid, &rights, err);
	return rc < 0 || rights.jobs ? rc : err_set(err, ENOENT, "no such job of yours is known");
}

static int make_text(struct service *s, const struct store_job *job, char **text, struct err *err)
{
	struct service_story ss;
	json_object *object;
	int rc = service_story_load(s, job, true, &ss, err);

	if (rc < 0)
		return rc;
	object = story_json(&ss.story, STORY_MAX_BYTES);
	*text = object ? json_line(object) : NULL;
	json_object_put(object);
	service_story_clear(&ss);
	return *text ? 0 : err_set(err, ENOMEM, "out of memory");
}

/* A story of thousands of nodes takes seconds: those who ask for stories share a few turns. */
static int make_text_in_turn(struct service *s, const struct store_job *job, char **text,
			     struct err *err)
{
	struct timespec until;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += TURN_S;
	while ((rc = sem_clockwait(&s->stories, CLOCK_MONOTONIC, &until)) < 0 && errno == EINTR)
		;
	if (rc < 0)
		return err_set(err, EAGAIN, "other stories are being made; ask again");
	rc = make_text(s, job, text, err);
	sem_post(&s->stories);
	return rc;
}

static int job_text(struct service *s, const char *name, uid_t uid, char **text, struct err *err)
{
	struct store_job job;
	int64_t key;
	int found = find_job(s, name, &key, err), rc;

	if (found == 0)
		found = store_get_job(s->store, key, &job, err);
	rc = found == 0 || found == -ENOENT ? check_reader(s, found ? NULL : &job, uid, err) : 0;
	rc = rc ? rc : found;
	rc = rc ? rc : make_text_in_turn(s, &job, text, err);
	if (found == 0)
		store_job_clear(&job);
	return rc;
}

static int node_text(struct service *s, const char *name, uid_t uid, char **text, struct err *err)
{
	struct service_rights rights = { .nodes = true };
	struct map *m;
	int rc = 0;

	if (uid != 0 && uid != geteuid())
		rc = service_rights_of(s, uid, &rights, err);
	if (rc == 0 && !rights.nodes)
		rc = err_set(err, EPERM, "nodes are private here (PrivateData in slurm.conf)");
	if (rc == 0 && !name_valid(name, TAKE_NODE_MAX))
		rc = err_set(err, ENOENT, "no such node is known");
	rc = rc ? rc : service_map(s, name, 0, &m, err);
	if (rc < 0)
		return rc;
	*text = map_text(m);
	map_free(m);
	return *text ? 0 : err_set(err, ENOMEM, "out of memory");
}

static const struct {
	const char *prefix;
	int (*make)(struct service *s, const char *name, uid_t uid, char **text, struct err *err);
} gets[] = {
	{ "/v1/jobs/", job_text },
	{ "/v1/maps/", node_text },
};

static int sealed_get(struct service *s, size_t which, const struct http_request *q, char **body,
		      struct err *err)
{
	char *json = NULL, *text = NULL;
	uid_t uid = 0;
	int rc;

	if (!q->auth)
		return err_set(err, EACCES,
			       "a credential is needed in the header " WIRE_AUTH_HEADER);
	rc = open_credential(s, q->auth, "GET", q->path, &uid, &json, err);
	free(json);
	if (rc == 0)
		rc = gets[which].make(s, q->path + strlen(gets[which].prefix), uid, &text, err);
	if (rc == 0) {
		*body = wire_seal(s->conf, "REPLY", q->path, text, uid, err);
		rc = *body ? 0 : -EAGAIN;
	}
	free(text);
	return rc;
}

static void handle_get(struct service *s, const struct http_request *q, struct http_reply *reply)
{
	struct err err = { "" };
	size_t which = 0;
	int rc;

	while (which < sizeof(gets) / sizeof(gets[0]) &&
	       strncmp(gets[which].prefix, q->path, strlen(gets[which].prefix)) != 0)
		which++;
	if (which == sizeof(gets) / sizeof(gets[0])) {
		reply_error(reply, 404, "no such path");
		return;
	}
	rc = sealed_get(s, which, q, &reply->body, &err);
	if (rc < 0) {
		reply_error(reply, take_http_status(rc), err.text);
		return;
	}
	reply->status = 200;
	reply->type = "text/plain";
}

void api_handle(void *service, const struct http_request *request, struct http_reply *reply)
{
	if (!strcmp(request->method, "POST"))
		handle_post(service, request, reply);
	else
		handle_get(service, request, reply);
}
