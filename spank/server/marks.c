/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.c - see marks.h.
 *
 * Ports that had errors lately are followed in an array sorted by GUID: healthy ones cost nothing,
 * however many there are. Times are this host's: watchers' clocks may be off.
 */
#include "marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "text.h"

#define BY_PREFIX "watch " /* who sets marks here says so: "watch on admin1" */
#define TEXT_MAX 200

/* What speaks against the link itself, and not against what comes from elsewhere or of congestion.
 */
static const char *const telling[] = {
	"symbol_errors", "link_recoveries",	   "link_downed",
	"rcv_errors",	 "local_integrity_errors", "buffer_overruns"
};

struct followed {
	uint64_t port;
	char *by, *why;
	unsigned bad, clean; /* intervals with errors; and without, since the last one */
	int64_t since_ns, until_ns;
	bool suspect, seen; /* seen: in the round that is being taken */
};

struct marks {
	struct followed *ports; /* by port */
	size_t count;
	struct health others; /* not ours */
};

/* Rounds. */

void marks_round_clear(struct marks_round *round)
{
	for (size_t i = 0; i < round->seen_count; i++) {
		free(round->seen[i].where);
		free(round->seen[i].what);
	}
	free(round->by);
	free(round->seen);
	free(round->unread);
	memset(round, 0, sizeof(*round));
}

static char *read_what(struct json_reader *r, json_object *counters)
{
	struct io_text t = { 0 };

	io_add(&t, "%s", "");
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
		if (json_has(counters, telling[i]))
			io_add(&t, "%s%s +%lld", t.used ? ", " : "", telling[i],
			       (long long)json_read_int(r, counters, telling[i], 1, UINT32_MAX));
	return io_end(&t);
}

static void read_seen(struct json_reader *r, json_object *o, struct marks_seen *seen)
{
	const char *name = json_read_string(r, o, "name");
	int64_t port = json_read_int(r, o, "switch_port", 0, 65535);
	json_object *counters = json_read_object(r, o, "counters");
	char safe[64];

	if (json_has(o, "port"))
		seen->port = json_read_guid(r, o, "port");
	if (r->rc < 0)
		return;
	seen->where =
		io_format("%s[%lld]", text_printable(name, safe, sizeof(safe)), (long long)port);
	seen->what = read_what(r, counters);
	if (!seen->where || !seen->what)
		r->rc = err_set(r->err, ENOMEM, "out of memory");
}

static int by_guid(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

static void read_unread(struct json_reader *r, json_object *array, struct marks_round *round)
{
	size_t count = array ? json_object_array_length(array) : 0;

	round->unread = calloc(count + 1, sizeof(*round->unread));
	if (!round->unread)
		r->rc = err_set(r->err, ENOMEM, "out of memory");
	for (size_t i = 0; r->rc == 0 && i < count; i++) {
		const char *guid = json_item_string(r, array, i, "unread");
		if (guid && !guid_parse(guid, &round->unread[round->unread_count++]))
			json_fail(r, "unread[%zu] is no GUID", i);
	}
	if (round->unread_count)
		qsort(round->unread, round->unread_count, sizeof(*round->unread), by_guid);
}

int marks_round_read(struct marks_round *round, json_object *object, struct err *err)
{
	struct json_reader r = { .source = "health", .err = err };
	json_object *ports, *unread;
	const char *by;
	int64_t since_ns, until_ns;
	size_t count;
	char safe[TEXT_MAX];

	memset(round, 0, sizeof(*round));
	json_read_format(&r, object, MARKS_FORMAT, MARKS_VERSION);
	by = json_read_string(&r, object, "by");
	since_ns = json_read_int(&r, object, "since_ns", 0, INT64_MAX / 2);
	until_ns = json_read_int(&r, object, "until_ns", since_ns, INT64_MAX / 2);
	ports = json_read_array(&r, object, "ports");
	unread = json_read_array(&r, object, "unread");
	round->interval_ns = until_ns - since_ns;
	round->cut = json_has(object, "cut") && json_read_bool(&r, object, "cut");
	if (by && strncmp(by, BY_PREFIX, strlen(BY_PREFIX)) != 0)
		json_fail(&r, "key \"by\" does not begin with \"" BY_PREFIX "\"");
	if (r.rc < 0)
		return r.rc;
	round->by = strdup(text_printable(by, safe, sizeof(safe)));
	count = json_object_array_length(ports);
	round->seen = calloc(count + 1, sizeof(*round->seen));
	if (!round->by || !round->seen)
		return err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; r.rc == 0 && i < count; i++)
		read_seen(&r, json_item_object(&r, ports, i, "ports"),
			  &round->seen[round->seen_count++]);
	if (r.rc == 0)
		read_unread(&r, unread, round);
	return r.rc;
}

/* Ports. */

struct marks *marks_new(void)
{
	return calloc(1, sizeof(struct marks));
}

static void followed_clear(struct followed *p)
{
	free(p->by);
	free(p->why);
}

void marks_free(struct marks *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		followed_clear(&m->ports[i]);
	for (size_t i = 0; i < m->others.count; i++) {
		free(m->others.marks[i].host);
		free(m->others.marks[i].by);
		free(m->others.marks[i].why);
	}
	free(m->others.marks);
	free(m->ports);
	free(m);
}

void marks_changes_free(struct marks_change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(changes[i].why);
	free(changes);
}

/* Where port is, or belongs. */
static size_t place_of(const struct marks *m, uint64_t port)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->ports[middle].port < port)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct followed *find(const struct marks *m, uint64_t port)
{
	size_t at = place_of(m, port);

	return at < m->count && m->ports[at].port == port ? &m->ports[at] : NULL;
}

bool marks_suspect(const struct marks *m, uint64_t port)
{
	const struct followed *p = find(m, port);

	return p && p->suspect;
}

/* Follows a port from now on, or goes on doing so; *p is where it is. */
static int follow(struct marks *m, uint64_t port, const char *by, struct followed **p)
{
	size_t at = place_of(m, port);
	struct followed *more = m->ports;
	char *name;

	if (at < m->count && more[at].port == port) {
		*p = &more[at];
		return 0;
	}
	if (m->count == MARKS_MAX)
		return -E2BIG;
	name = strdup(by);
	more = name ? reallocarray(m->ports, m->count + 1, sizeof(*more)) : NULL;
	if (!more) {
		free(name);
		return -ENOMEM;
	}
	m->ports = more;
	memmove(more + at + 1, more + at, (m->count - at) * sizeof(*more));
	more[at] = (struct followed){ .port = port, .by = name };
	m->count++;
	*p = &more[at];
	return 0;
}

static int keep_other(struct marks *m, const struct health_mark *mark)
{
	struct health_mark *more =
		reallocarray(m->others.marks, m->others.count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->others.marks = more;
	more += m->others.count++;
	*more = *mark;
	more->host = mark->host ? strdup(mark->host) : NULL;
	more->by = strdup(mark->by);
	more->why = strdup(mark->why);
	return more->by && more->why && (!mark->host || more->host) ? 0 : -ENOMEM;
}

int marks_restore(struct marks *m, const struct health *h, const struct marks_rules *rules)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < h->count; i++) {
		const struct health_mark *mark = &h->marks[i];
		struct followed *p;
		if (mark->host || strncmp(mark->by, BY_PREFIX, strlen(BY_PREFIX)) != 0) {
			rc = keep_other(m, mark);
			continue;
		}
		rc = follow(m, mark->port, mark->by, &p);
		if (rc < 0 || p->suspect)
			continue;
		p->why = strdup(mark->why);
		p->bad = rules->after;
		p->since_ns = mark->since_ns;
		p->until_ns = mark->until_ns;
		p->suspect = p->why != NULL;
		rc = p->why ? 0 : -ENOMEM;
	}
	return rc;
}

/* A round. */

static int add_change(struct marks_change **changes, size_t *count, uint64_t port, const char *why)
{
	struct marks_change *more = reallocarray(*changes, *count + 1, sizeof(*more));
	char *copy = why ? strdup(why) : NULL;

	if (more)
		*changes = more;
	if (!more || (why && !copy)) {
		free(copy);
		return -ENOMEM;
	}
	more[(*count)++] = (struct marks_change){ port, why != NULL, copy };
	return 0;
}

static int take_errors(struct marks *m, const struct marks_round *round,
		       const struct marks_seen *seen, const struct marks_rules *rules,
		       int64_t now_ns, struct marks_change **changes, size_t *count)
{
	struct followed *p;
	char *why, *by;
	int rc = follow(m, seen->port, round->by, &p);

	if (rc < 0)
		return rc;
	why = io_format("%.*s at %.80s in %.3g s", TEXT_MAX, seen->what, seen->where,
			(double)round->interval_ns / 1e9);
	by = strdup(round->by);
	if (!why || !by) {
		free(why);
		free(by);
		return -ENOMEM;
	}
	free(p->why);
	free(p->by);
	p->why = why;
	p->by = by;
	if (p->bad == 0)
		p->since_ns = now_ns - round->interval_ns > 0 ? now_ns - round->interval_ns : 0;
	p->bad += p->bad < rules->after;
	p->clean = 0;
	p->seen = true;
	p->until_ns = now_ns + rules->hold_ns;
	if (p->suspect || p->bad < rules->after)
		return 0;
	p->suspect = true;
	return add_change(changes, count, p->port, why);
}

static bool is_unread(const struct marks_round *round, uint64_t port)
{
	return round->unread_count &&
	       bsearch(&port, round->unread, round->unread_count, sizeof(port), by_guid);
}

/* Forgets what has been clean for long enough, or is over. */
static int take_clean(struct marks *m, const struct marks_round *round,
		      const struct marks_rules *rules, int64_t now_ns,
		      struct marks_change **changes, size_t *count)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct followed *p = &m->ports[i];
		if (!p->seen && !round->cut && strcmp(p->by, round->by) == 0 &&
		    !is_unread(round, p->port))
			p->clean++;
		p->seen = false;
		if (p->clean < rules->clear && p->until_ns > now_ns) {
			m->ports[kept++] = *p;
			continue;
		}
		if (p->suspect && rc == 0)
			rc = add_change(changes, count, p->port, NULL);
		followed_clear(p);
	}
	m->count = kept;
	return rc;
}

int marks_take(struct marks *m, const struct marks_round *round, const struct marks_rules *rules,
	       int64_t now_ns, struct marks_change **changes, size_t *count)
{
	int rc = 0;

	*changes = NULL;
	*count = 0;
	for (size_t i = 0; rc == 0 && i < round->seen_count; i++)
		if (round->seen[i].port && *round->seen[i].what)
			rc = take_errors(m, round, &round->seen[i], rules, now_ns, changes, count);
	return rc < 0 ? rc : take_clean(m, round, rules, now_ns, changes, count);
}

char *marks_text(const struct marks *m)
{
	struct health all = { .count = 0 };
	char *text;

	all.marks = calloc(m->count + m->others.count + 1, sizeof(*all.marks));
	if (!all.marks)
		return NULL;
	for (size_t i = 0; i < m->count; i++) {
		const struct followed *p = &m->ports[i];
		if (p->suspect)
			all.marks[all.count++] = (struct health_mark){
				.port = p->port,
				.since_ns = p->since_ns,
				.until_ns = p->until_ns,
				.by = p->by,
				.why = p->why,
			};
	}
	for (size_t i = 0; i < m->others.count; i++)
		all.marks[all.count++] = m->others.marks[i];
	text = health_text(&all);
	free(all.marks);
	return text;
}
