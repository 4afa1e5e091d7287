/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * health.c - reading and writing health.json; see health.h. The keys:
 *
 *   format, version  "slurm-fabric/health", 1
 *   marks            [{port (port GUID) or host (name), since_ns, until_ns (ns since the epoch; the
 *                    mark counts from the one to before the other), by (who), why (a sentence)}]
 *
 * Marks on ports come first, by GUID; then marks on hosts, by name; of one thing by since_ns. So
 * the same marks give the same bytes.
 */
#include "health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "io.h"
#include "json.h"
#include "text.h"

void health_free(struct health *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->count; i++) {
		free(h->marks[i].host);
		free(h->marks[i].by);
		free(h->marks[i].why);
	}
	free(h->marks);
	free(h);
}

static int compare(const struct health_mark *a, const struct health_mark *b)
{
	int order = 0;

	if (!a->host != !b->host)
		return a->host ? 1 : -1;
	if (a->host)
		order = strcmp(a->host, b->host);
	else if (a->port != b->port)
		order = a->port < b->port ? -1 : 1;
	if (order == 0 && a->since_ns != b->since_ns)
		order = a->since_ns < b->since_ns ? -1 : 1;
	return order;
}

static void load_mark(struct json_reader *r, json_object *o, struct health_mark *mark)
{
	if (json_has(o, "port") == json_has(o, "host"))
		json_fail(r, "a mark names either a \"port\" or a \"host\"");
	if (json_has(o, "port")) {
		mark->port = json_read_guid(r, o, "port");
		if (r->rc == 0 && mark->port == 0)
			json_fail(r, "key \"port\" is 0, which is no port's GUID");
	} else {
		mark->host = json_read_strdup(r, o, "host");
		if (mark->host && !name_valid(mark->host, FABRIC_NAME_MAX))
			json_fail(r, "key \"host\" is no host name");
	}
	mark->since_ns = json_read_int(r, o, "since_ns", 0, INT64_MAX);
	mark->until_ns = json_read_int(r, o, "until_ns", 0, INT64_MAX);
	if (r->rc == 0 && mark->until_ns <= mark->since_ns)
		json_fail(r, "key \"until_ns\" is not behind \"since_ns\"");
	mark->by = json_read_strdup(r, o, "by");
	mark->why = json_read_strdup(r, o, "why");
}

static void load_marks(struct json_reader *r, json_object *top, struct health *h)
{
	json_object *array = json_read_array(r, top, "marks");
	const char *file = r->source;

	if (!array)
		return;
	h->marks = calloc(json_object_array_length(array) + 1, sizeof(*h->marks));
	if (!h->marks)
		r->rc = err_set(r->err, ENOMEM, "%s: out of memory", file);
	for (size_t i = 0; r->rc == 0 && i < json_object_array_length(array); i++) {
		struct health_mark *mark = &h->marks[h->count++];
		char where[320];
		snprintf(where, sizeof(where), "%.240s: marks[%zu]", file, i);
		r->source = where;
		load_mark(r, json_item_object(r, array, i, "marks"), mark);
		if (r->rc == 0 && i && compare(mark - 1, mark) > 0)
			json_fail(
				r,
				"not behind the mark before it: ports by GUID, then hosts by name");
		r->source = file;
	}
}

struct health *health_parse(const char *text, size_t len, const char *source, struct err *err)
{
	struct json_reader r = { source, err, 0 };
	json_object *top = json_parse(text, len, source, err);
	struct health *h;

	if (!top)
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h) {
		err_set(err, ENOMEM, "%s: out of memory", source);
	} else {
		json_read_format(&r, top, HEALTH_FORMAT, HEALTH_VERSION);
		load_marks(&r, top, h);
	}
	json_object_put(top);
	if (h && r.rc == 0)
		return h;
	health_free(h);
	return NULL;
}

struct health *health_load(const char *path, struct err *err)
{
	struct health *h;
	char *text;
	size_t len;

	if (io_read(path, HEALTH_MAX_BYTES, &text, &len, err) < 0)
		return NULL;
	h = health_parse(text, len, path, err);
	free(text);
	return h;
}

static int by_compare(const void *a, const void *b)
{
	return compare(*(const struct health_mark *const *)a,
		       *(const struct health_mark *const *)b);
}

/* The marks in the file's order; NULL without memory. */
static const struct health_mark **in_order(const struct health *h)
{
	const struct health_mark **marks = calloc(h->count + 1, sizeof(*marks));

	for (size_t i = 0; marks && i < h->count; i++)
		marks[i] = &h->marks[i];
	if (marks)
		qsort(marks, h->count, sizeof(*marks), by_compare);
	return marks;
}

static int put_mark(json_object *array, const struct health_mark *mark)
{
	json_object *o = json_object_new_object();

	if (!o)
		return -ENOMEM;
	if ((mark->host ? json_put_string(o, "host", mark->host)
			: json_put_guid(o, "port", mark->port)) < 0 ||
	    json_put_int(o, "since_ns", mark->since_ns) < 0 ||
	    json_put_int(o, "until_ns", mark->until_ns) < 0 ||
	    json_put_string(o, "by", mark->by) < 0 || json_put_string(o, "why", mark->why) < 0 ||
	    json_object_array_add(array, o) != 0) {
		json_object_put(o);
		return -ENOMEM;
	}
	return 0;
}

char *health_text(const struct health *h)
{
	const struct health_mark **marks = in_order(h);
	json_object *top = json_object_new_object(), *array = json_object_new_array();
	char *text = NULL;
	int rc = marks && top && array ? json_put_format(top, HEALTH_FORMAT, HEALTH_VERSION)
				       : -ENOMEM;

	if (rc == 0 && json_object_object_add(top, "marks", array) != 0)
		rc = -ENOMEM;
	else if (rc == 0)
		array = json_object_get(array);
	for (size_t i = 0; rc == 0 && i < h->count; i++)
		rc = put_mark(array, marks[i]);
	if (rc == 0)
		text = json_text(top);
	json_object_put(array);
	json_object_put(top);
	free(marks);
	return text;
}
