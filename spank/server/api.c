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
#include "packet.h"
#include "record.h"
#include "service.h"
#include "text.h"
#include "wire.h"

#define NODE_NAME_MAX 255
#define MAX_NODES 1000000
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

/* What a negative errno of ours is in HTTP. */
static int status_of(int rc)
{
	switch (-rc) {
	case EPROTO:
	case EINVAL:
	case E2BIG:
	case EMSGSIZE:
		return 400;
	case EACCES:
		return 401;
	case EPERM:
		return 403;
	case ESTALE:
		return 410;
	case ENOENT:
		return 404;
	case EAGAIN:
	case EPROTONOSUPPORT:
	case ENOMEM:
	case ENOSPC:
	case EIO:
		return 503;
	default:
		return 500;
	}
}

/* wire_open(), for which a credential that is too old or too new is one that is refused. */
static int open_credential(const struct service *s, const char *credential, const char *method,
			   const char *path, uid_t *uid, char **json, struct err *err)
{
	int rc = wire_open(s->conf, credential, method, path, uid, json, err);

	return rc == -ESTALE ? -EACCES : rc;
}

/* ---- POST ---- */

static bool valid_node(const char *node)
{
	return node && name_valid(node, NODE_NAME_MAX);
}

static int read_begin(json_object *object, struct store_begin *b, struct err *err)
{
	struct json_reader r = { .source = "begin", .err = err };
	const char *step = json_read_string(&r, object, "step");

	memset(b, 0, sizeof(*b));
	b->job = (uint32_t)json_read_int(&r, object, "job", 1, UINT32_MAX);
	if (step && !step_parse(step, &b->step))
		json_fail(&r, "key \"step\" is no step id");
	b->uid = (uint32_t)json_read_int(&r, object, "uid", 0, UINT32_MAX);
	b->node_index = (uint32_t)json_read_int(&r, object, "node_index", 0, MAX_NODES);
	b->node_count = (uint32_t)json_read_int(&r, object, "node_count", 1, MAX_NODES);
	b->began_ns = json_read_int(&r, object, "began_ns", 0, INT64_MAX / 2);
	b->node = json_read_strdup(&r, object, "node");
	if (json_has(object, "class"))
		b->class = json_read_strdup(&r, object, "class");
	if (b->node && !valid_node(b->node))
		json_fail(&r, "key \"node\" is no host name");
	if (b->class && strlen(b->class) > PACKET_WORD)
		json_fail(&r, "key \"class\" is too long");
	if (r.rc < 0)
		store_begin_clear(b);
	return r.rc;
}

static int take_begin(struct service *s, json_object *object, const char *json, int64_t now_ns,
		      struct err *err)
{
	struct store_begin b;
	int rc = read_begin(object, &b, err);

	(void)json;
	if (rc < 0)
		return rc;
	rc = store_put_begin(s->store, &b, now_ns, err);
	store_begin_clear(&b);
	return rc;
}

static int take_map(struct service *s, json_object *object, const char *json, int64_t now_ns,
		    struct err *err)
{
	struct map *m = map_from_json(object, "map", err);
	int rc;

	(void)json;
	if (!m)
		return -EPROTO;
	if (valid_node(m->host)) {
		char *text = map_text(m);

		rc = text ? store_put_map(s->store, m->host, text, now_ns, err) : -ENOMEM;
		free(text);
	} else {
		rc = err_set(err, EPROTO, "map: key \"host\" is no host name");
	}
	map_free(m);
	return rc;
}

static int take_record(struct service *s, json_object *object, const char *json, int64_t now_ns,
		       struct err *err)
{
	struct record *r = record_from_json(object, "record", err);
	int rc;

	if (!r)
		return -EPROTO;
	if (strlen(json) > RECORD_MAX_BYTES)
		rc = err_set(err, EPROTO, "record: %zu bytes, %d are allowed", strlen(json),
			     RECORD_MAX_BYTES);
	else if (!valid_node(r->node))
		rc = err_set(err, EPROTO, "record: key \"node\" is no host name");
	else if (!r->job || !r->node_count || r->node_count > MAX_NODES)
		rc = err_set(err, EPROTO, "record: job %u on %u nodes: there is no such", r->job,
			     r->node_count);
	else
		rc = store_put_record(s->store, r, json, now_ns, err);
	record_free(r);
	return rc;
}

/*
 * A newer sfabricd says what is not understood here yet: that is no fault of the message, which
 * must wait for a newer sfabricctld. version 0: the format has none.
 */
static int check_version(json_object *object, const char *path, int version, struct err *err)
{
	json_object *is = NULL;

	if (version && json_object_is_type(object, json_type_object) &&
	    json_object_object_get_ex(object, "version", &is) &&
	    json_object_is_type(is, json_type_int) && json_object_get_int64(is) > version)
		return err_set(
			err, EPROTONOSUPPORT,
			"%s: written by a newer slurm-fabric (version %lld, %d is known here); "
			"update sfabricctld, then it is taken",
			path, (long long)json_object_get_int64(is), version);
	return 0;
}

static const struct {
	const char *path;
	int version;
	int (*take)(struct service *s, json_object *object, const char *json, int64_t now_ns,
		    struct err *err);
} posts[] = {
	{ "/v1/begin", 0, take_begin },
	{ "/v1/map", MAP_VERSION, take_map },
	{ "/v1/record", RECORD_VERSION, take_record },
};

static json_object *times_object(int64_t received_ns)
{
	json_object *object = json_object_new_object();

	json_put_int(object, "received_ns", received_ns);
	json_put_int(object, "sent_ns", io_now_ns());
	return object;
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
static int take_post(struct service *s, size_t which, const struct http_request *q, int64_t now_ns,
		     uid_t *uid, struct err *err)
{
	json_object *object;
	char *json = NULL;
	int rc = open_credential(s, q->body, "POST", q->path, uid, &json, err);

	if (rc < 0)
		*uid = (uid_t)-1;
	else if (*uid != 0)
		rc = err_set(err, EPERM, "only root of a node may tell, not uid %u",
			     (unsigned int)*uid);
	if (rc == 0) {
		object = json_parse(json, strlen(json), q->path + 4, err);
		rc = object ? check_version(object, q->path, posts[which].version, err) : -EPROTO;
		rc = rc ? rc : posts[which].take(s, object, json, now_ns, err);
		json_object_put(object);
	}
	free(json);
	return rc;
}

static void handle_post(struct service *s, const struct http_request *q, struct http_reply *reply)
{
	int64_t now_ns = io_now_ns();
	struct err err = { "" };
	json_object *object;
	size_t which = 0;
	uid_t uid = 0;
	int rc, status;

	while (which < sizeof(posts) / sizeof(posts[0]) && strcmp(posts[which].path, q->path) != 0)
		which++;
	if (which == sizeof(posts) / sizeof(posts[0])) {
		/* perhaps what a newer sfabricd sends: it is to keep it */
		reply_error(reply, 501, "this path is not known here; is sfabricctld older?");
		return;
	}
	if (service_off()) {
		reply_error(reply, 503, "switched off");
		return;
	}
	rc = take_post(s, which, q, now_ns, &uid, &err);
	object = rc < 0 ? error_object(err.text) : times_object(now_ns);
	status = rc < 0 ? status_of(rc) : 200;
	if (uid == 0)
		reply_sealed(s, q->path, reply, status, object);
	else
		reply_json(reply, status, object);
	if (rc == 0 && which != 1) /* a map changes no job by itself */
		service_ring(s, false);
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
	int64_t uid = object ? json_read_int(&r, object, "uid", 0, UINT32_MAX) : job->uid;

	json_object_put(object);
	return r.rc < 0 ? job->uid : (uid_t)uid;
}

static int check_reader(struct service *s, const struct store_job *job, uid_t uid, struct err *err)
{
	int rc;

	if (uid == 0 || uid == geteuid() || uid == owner_of(job))
		return 0;
	rc = service_is_operator(s, uid, err);
	return rc < 0 ? rc : rc ? 0 : err_set(err, EPERM, "job %u is not yours", job->job);
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

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TURN_S;
	while ((rc = sem_timedwait(&s->stories, &until)) < 0 && errno == EINTR)
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
	int rc = find_job(s, name, &key, err);

	if (rc == 0)
		rc = store_get_job(s->store, key, &job, err);
	if (rc < 0)
		return rc;
	rc = check_reader(s, &job, uid, err);
	rc = rc ? rc : make_text_in_turn(s, &job, text, err);
	store_job_clear(&job);
	return rc;
}

static int node_text(struct service *s, const char *name, uid_t uid, char **text, struct err *err)
{
	struct map *m;
	int rc;

	(void)uid; /* everybody */
	if (!valid_node(name))
		return err_set(err, ENOENT, "no such node is known");
	rc = service_map(s, name, 0, &m, err);
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
		reply_error(reply, status_of(rc), err.text);
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
