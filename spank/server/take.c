/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * take.c - see take.h.
 *
 * One function for each kind of message: it is parsed whole, its names and numbers are checked, and
 * only then does the store see it. A message that can never be right gets an error of its own, so
 * that its sender stops repeating it.
 */
#include "take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "map.h"
#include "marks.h"
#include "packet.h"
#include "record.h"
#include "take_health.h"
#include "text.h"

#define MAX_NODES 1000000

static bool valid_node(const char *node)
{
	return node && name_valid(node, TAKE_NODE_MAX);
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
	if (b->node_index >= b->node_count)
		json_fail(&r, "node %u of %u: there is no such", b->node_index, b->node_count);
	if (b->node && !valid_node(b->node))
		json_fail(&r, "key \"node\" is no host name");
	if (b->class && strlen(b->class) > PACKET_WORD)
		json_fail(&r, "key \"class\" is too long");
	if (r.rc < 0)
		store_begin_clear(b);
	return r.rc;
}

static int take_begin(struct service *s, json_object *object, const char *json, int64_t now_ns,
		      json_object *answer, struct err *err)
{
	struct store_begin b;
	int rc = read_begin(object, &b, err);

	(void)json;
	(void)answer;
	if (rc < 0)
		return rc;
	rc = store_put_begin(s->store, &b, now_ns, err);
	store_begin_clear(&b);
	return rc;
}

static int take_map(struct service *s, json_object *object, const char *json, int64_t now_ns,
		    json_object *answer, struct err *err)
{
	struct map *m = map_from_json(object, "map", err);
	int rc;

	(void)json;
	(void)answer;
	if (!m)
		return -errno;
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

/*
 * May this record be of a job that is followed here? In a service of one node: of a step that has
 * the node for its first one, as the batch step has the job's first host. The job's other nodes
 * need not ask Slurm whether they are it; there may be thousands.
 */
static bool may_lead(const struct service *s, const struct record *r)
{
	return !s->with.node || r->node_index == 0;
}

static int take_record(struct service *s, json_object *object, const char *json, int64_t now_ns,
		       json_object *answer, struct err *err)
{
	struct record *r = record_from_json(object, "record", err);
	int rc;

	(void)answer;
	if (!r)
		return -errno;
	if (strlen(json) > RECORD_MAX_BYTES)
		rc = err_set(err, EPROTO, "record: %zu bytes, %d are allowed", strlen(json),
			     RECORD_MAX_BYTES);
	else if (!valid_node(r->node))
		rc = err_set(err, EPROTO, "record: key \"node\" is no host name");
	else if (!r->job || r->node_count > MAX_NODES || r->node_index >= r->node_count)
		rc = err_set(err, EPROTO, "record: job %u, node %u of %u: there is no such", r->job,
			     r->node_index, r->node_count);
	else
		rc = store_put_record(s->store, r, json, may_lead(s, r), now_ns, err);
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

static int take_observations(struct service *s, json_object *object, const char *json,
			     int64_t now_ns, json_object *answer, struct err *err)
{
	(void)json;
	if (s->with.node)
		return err_set(err, EINVAL, "health: there is no sfabricctld here");
	return take_health(s, object, now_ns, answer, err);
}

static const struct message {
	const char *path;
	int version;
	bool rings; /* a map changes no job by itself */
	int (*take)(struct service *s, json_object *object, const char *json, int64_t now_ns,
		    json_object *answer, struct err *err);
} messages[] = {
	{ "/v1/begin", 0, true, take_begin },
	{ "/v1/map", MAP_VERSION, false, take_map },
	{ "/v1/record", RECORD_VERSION, true, take_record },
	{ "/v1/health", MARKS_VERSION, false, take_observations },
};

static const struct message *find_message(const char *path)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (!strcmp(messages[i].path, path))
			return &messages[i];
	return NULL;
}

bool take_knows(const char *path)
{
	return find_message(path) != NULL;
}

int take_message(struct service *s, const char *path, const char *json, int64_t now_ns,
		 json_object *answer, struct err *err)
{
	const struct message *m = find_message(path);
	json_object *object = m ? json_parse(json, strlen(json), path + strlen("/v1/"), err) : NULL;
	int rc;

	if (!m)
		return err_set(err, EINVAL, "%s: no message has this path", path);
	rc = object ? check_version(object, path, m->version, err) : -errno;
	rc = rc ? rc : m->take(s, object, json, now_ns, answer, err);
	json_object_put(object);
	if (rc == 0 && m->rings)
		service_ring(s, false);
	return rc;
}

int take_http_status(int rc)
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
