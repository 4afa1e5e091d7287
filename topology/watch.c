/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.c - see watch.h.
 *
 * The last round is kept, sorted by switch and port, with what each counter has grown by since the
 * start: these sums only grow, also when somebody resets the counters, which is what Prometheus
 * wants. The other end of a link comes from fabric.json.
 */
#include "watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hosts.h"
#include "text.h"

/* Where each stays. Those that tell of no fault in a link have none here, and are not watched. */
static const uint32_t ends[WATCH_COUNTERS] = {
	[COUNTER_SYMBOL_ERRORS] = 0xffff,	[COUNTER_LINK_RECOVERIES] = 0xff,
	[COUNTER_LINK_DOWNED] = 0xff,		[COUNTER_RCV_ERRORS] = 0xffff,
	[COUNTER_RCV_REMOTE_PHYSICAL] = 0xffff, [COUNTER_XMIT_DISCARDS] = 0xffff,
	[COUNTER_XMIT_CONSTRAINT] = 0xff,	[COUNTER_RCV_CONSTRAINT] = 0xff,
	[COUNTER_LOCAL_INTEGRITY] = 0xf,	[COUNTER_BUFFER_OVERRUNS] = 0xf,
	[COUNTER_VL15_DROPPED] = 0xffff,
};

struct port {
	struct watch_reading last;
	uint64_t grown[WATCH_COUNTERS]; /* since the start */
};

struct watch {
	const struct fabric *f;
	struct port *ports; /* by switch and port */
	size_t count;
	int64_t since_ns, until_ns; /* of the last round: the earliest and the latest reading */
	int64_t before_ns;	    /* until_ns of the round before; 0: none */
};

struct watch *watch_new(const struct fabric *f)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (w)
		w->f = f;
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	free(w->ports);
	free(w);
}

static int by_port(const void *x, const void *y)
{
	const struct port *a = x, *b = y;

	if (a->last.sw != b->last.sw)
		return a->last.sw < b->last.sw ? -1 : 1;
	return a->last.port - b->last.port;
}

/* A reading that failed keeps the one before: the next delta is then over both intervals. */
static void carry_over(struct port *now, const struct port *before)
{
	memcpy(now->grown, before->grown, sizeof(now->grown));
	if (!now->last.read && before->last.mono_ns) {
		now->last = before->last;
		now->last.read = false;
	}
}

/* What happened to one counter; false: nothing that is known. */
static bool compare(enum fabric_counter c, const struct watch_reading *before,
		    const struct watch_reading *now, struct watch_event *event)
{
	uint32_t was = before->value[c], is = now->value[c], max = ends[c];

	if (is <= was || is > max)
		return false;
	*event = (struct watch_event){
		.sw = now->sw,
		.port = now->port,
		.counter = c,
		.saturated = is == max,
		.delta = is == max ? 0 : is - was,
		.time_ns = now->time_ns,
		.interval_ns = now->mono_ns - before->mono_ns,
	};
	return true;
}

static size_t compare_port(struct port *now, const struct port *before, int64_t clock_ns,
			   struct watch_event *events)
{
	size_t count = 0;

	if (!now->last.read || !before->last.mono_ns)
		return 0;
	for (int c = 0; c < WATCH_COUNTERS; c++) {
		struct watch_event *event = &events[count];
		if (!compare((enum fabric_counter)c, &before->last, &now->last, event))
			continue;
		event->error_ns = clock_ns < 0 ? -1 : clock_ns + now->last.half_ns;
		now->grown[c] += event->delta;
		count++;
	}
	return count;
}

static void take_times(struct watch *w)
{
	w->before_ns = w->until_ns;
	w->since_ns = w->until_ns = 0;
	for (size_t i = 0; i < w->count; i++) {
		const struct watch_reading *r = &w->ports[i].last;
		if (!r->read)
			continue;
		if (!w->since_ns || r->time_ns < w->since_ns)
			w->since_ns = r->time_ns;
		if (r->time_ns > w->until_ns)
			w->until_ns = r->time_ns;
	}
}

int watch_take(struct watch *w, const struct watch_reading *readings, size_t count,
	       int64_t clock_ns, struct watch_event **events, size_t *event_count)
{
	struct port *now = calloc(count + 1, sizeof(*now));

	*event_count = 0;
	*events = reallocarray(NULL, count + 1, WATCH_COUNTERS * sizeof(**events));
	if (!now || !*events) {
		free(now);
		free(*events);
		*events = NULL;
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		now[i].last = readings[i];
	if (count)
		qsort(now, count, sizeof(*now), by_port);
	for (size_t i = 0; i < count; i++) {
		const struct port *before =
			w->count ? bsearch(&now[i], w->ports, w->count, sizeof(*now), by_port)
				 : NULL;
		if (!before)
			continue;
		carry_over(&now[i], before);
		*event_count += compare_port(&now[i], before, clock_ns, *events + *event_count);
	}
	free(w->ports);
	w->ports = now;
	w->count = count;
	take_times(w);
	return 0;
}

/* The other end of a link. */

struct peer {
	const char *sw; /* or */
	const char *host;
	uint64_t guid; /* of the switch, or of the host's port; 0 unknown */
	const char *device;
	int port;
	size_t lower; /* of a link between switches: the end that is nearer to hosts; NONE unknown
		       */
};

static const char *switch_name(const struct watch *w, uint64_t guid, char text[GUID_TEXT])
{
	size_t sw = w->f ? fabric_find_switch(w->f, guid) : FABRIC_NONE;

	return sw == FABRIC_NONE ? guid_format(guid, text) : w->f->switches[sw].name;
}

/* FABRIC_NONE where levels don't say it: in rings, between leaves. */
static size_t lower_end(const struct fabric *f, const struct fabric_link *l)
{
	int a = f->switches[l->a].level, b = f->switches[l->b].level;

	if (a < 0 || b < 0 || a == b)
		return FABRIC_NONE;
	return a < b ? l->a : l->b;
}

/* Marks all switches that lead down from those that are marked, a level at a time. */
static void mark_below(const struct fabric *f, bool *marked, int level)
{
	for (; level > 0; level--)
		for (size_t i = 0; i < f->link_count; i++) {
			const struct fabric_link *l = &f->links[i];
			size_t low = lower_end(f, l), high = low == l->a ? l->b : l->a;
			if (low != FABRIC_NONE && f->switches[high].level == level && marked[high])
				marked[low] = true;
		}
}

/* The hosts that hang on a switch or below it, folded: who may use a link up from there. */
static char *hosts_below(const struct fabric *f, size_t sw)
{
	bool *marked = calloc(f->switch_count + 1, sizeof(*marked));
	const char **names = calloc(f->host_count + 1, sizeof(*names));
	char *folded = NULL;
	size_t count = 0;

	if (marked && names) {
		marked[sw] = true;
		mark_below(f, marked, f->switches[sw].level);
		for (size_t i = 0; i < f->port_count; i++) {
			const struct fabric_port *p = &f->ports[i];
			if (p->sw != FABRIC_NONE && marked[p->sw] && p->host != FABRIC_NONE)
				names[p->host] = f->hosts[p->host].name;
		}
		for (size_t i = 0; i < f->host_count; i++)
			if (names[i])
				names[count++] = names[i];
		folded = hosts_fold(names, count);
	}
	free(marked);
	free(names);
	return folded;
}

static bool find_peer(const struct watch *w, uint64_t guid, int port, struct peer *peer)
{
	const struct fabric *f = w->f;
	size_t sw = f ? fabric_find_switch(f, guid) : FABRIC_NONE;

	*peer = (struct peer){ .lower = FABRIC_NONE };
	if (sw == FABRIC_NONE)
		return false;
	for (size_t i = 0; i < f->link_count; i++) {
		const struct fabric_link *l = &f->links[i];
		bool at_a = l->a == sw && l->a_port == port, at_b = l->b == sw && l->b_port == port;
		const struct fabric_switch *other = &f->switches[at_a ? l->b : l->a];
		if (!at_a && !at_b)
			continue;
		*peer = (struct peer){ .sw = other->name,
				       .guid = other->guid,
				       .port = at_a ? l->b_port : l->a_port,
				       .lower = lower_end(f, l) };
		return true;
	}
	for (size_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *p = &f->ports[i];
		if (p->sw != sw || p->sw_port != port)
			continue;
		*peer = (struct peer){ .host = p->host == FABRIC_NONE ? NULL
								      : f->hosts[p->host].name,
				       .guid = p->guid,
				       .device = p->device,
				       .port = p->port,
				       .lower = FABRIC_NONE };
		return true;
	}
	return false;
}

/* Texts. */

/* ", a way of n[1-4]": who may use a link between switches. */
static void add_users(struct io_text *t, const struct fabric *f, size_t lower)
{
	char *hosts = lower == FABRIC_NONE ? NULL : hosts_below(f, lower);

	t->failed |= lower != FABRIC_NONE && !hosts;
	if (hosts && *hosts)
		io_add(t, ", a way of %s", hosts);
	free(hosts);
}

static void add_time(struct io_text *t, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char when[32];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm))
		io_add(t, "%s.%03dZ", when, (int)(ns / 1000000 % 1000));
}

char *watch_event_text(const struct watch *w, const struct watch_event *event)
{
	struct io_text t = { 0 };
	char guid[GUID_TEXT];
	struct peer peer;

	add_time(&t, event->time_ns);
	io_add(&t, " %s[%d] %s", switch_name(w, event->sw, guid), event->port,
	       fabric_counter_name(event->counter));
	if (event->saturated)
		io_add(&t, " is at its end (%u): more is not counted until it is reset",
		       ends[event->counter]);
	else
		io_add(&t, " +%u", event->delta);
	io_add(&t, " in %.3f s", (double)event->interval_ns / 1e9);
	if (event->error_ns < 0)
		io_add(&t, " (clock not synchronised)");
	else
		io_add(&t, " (clock +-%.3f ms)", (double)event->error_ns / 1e6);
	if (!find_peer(w, event->sw, event->port, &peer))
		io_add(&t, ", the other end is not known");
	else if (peer.sw)
		io_add(&t, ", link to %s[%d]", peer.sw, peer.port);
	else
		io_add(&t, ", link to %s %s:%d", peer.host ? peer.host : "an HCA",
		       peer.device ? peer.device : "port", peer.port);
	add_users(&t, w->f, peer.lower);
	return io_end(&t);
}

static int put_peer(json_object *object, const struct peer *peer)
{
	json_object *o = json_object_new_object();
	int rc = json_put_value(object, "peer", o);

	if (rc == 0 && peer->sw)
		rc = json_put_string(o, "switch", peer->sw);
	if (rc == 0 && peer->host)
		rc = json_put_string(o, "host", peer->host);
	if (rc == 0 && peer->device)
		rc = json_put_string(o, "device", peer->device);
	if (rc == 0 && peer->guid)
		rc = json_put_guid(o, "guid", peer->guid);
	return rc ? rc : json_put_int(o, "port", peer->port);
}

static int put_users(json_object *o, const struct fabric *f, size_t lower)
{
	char *hosts = hosts_below(f, lower);
	int rc = hosts ? json_put_string(o, "way_of", hosts) : -ENOMEM;

	free(hosts);
	return rc;
}

static int put_event(json_object *o, const struct watch *w, const struct watch_event *event)
{
	char guid[GUID_TEXT];
	struct peer peer;
	int rc = json_put_int(o, "time_ns", event->time_ns);

	rc = rc ? rc : json_put_int(o, "interval_ns", event->interval_ns);
	if (rc == 0 && event->error_ns >= 0)
		rc = json_put_int(o, "clock_error_ns", event->error_ns);
	rc = rc ? rc : json_put_string(o, "switch", switch_name(w, event->sw, guid));
	rc = rc ? rc : json_put_guid(o, "switch_guid", event->sw);
	rc = rc ? rc : json_put_int(o, "port", event->port);
	rc = rc ? rc : json_put_string(o, "counter", fabric_counter_name(event->counter));
	if (rc == 0)
		rc = event->saturated ? json_put_bool(o, "saturated", true)
				      : json_put_int(o, "delta", event->delta);
	if (rc == 0 && find_peer(w, event->sw, event->port, &peer)) {
		rc = put_peer(o, &peer);
		if (rc == 0 && peer.lower != FABRIC_NONE)
			rc = put_users(o, w->f, peer.lower);
	}
	return rc;
}

char *watch_event_json(const struct watch *w, const struct watch_event *event)
{
	json_object *o = json_object_new_object();
	char *line = o && put_event(o, w, event) == 0 ? json_line(o) : NULL;
	char *text = line ? io_format("%s\n", line) : NULL;

	free(line);
	json_object_put(o);
	return text;
}

/* A label's value: Prometheus's text format escapes '\\', '"' and line feeds. */
static void add_label(struct io_text *t, const char *name, const char *value)
{
	char *safe = io_printable(value);

	if (!safe) {
		t->failed = true;
		return;
	}
	io_add(t, "%s=\"", name);
	for (const char *at = safe; *at; at++)
		io_add(t, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
	io_add(t, "\"");
	free(safe);
}

static void add_port_labels(struct io_text *t, const struct watch *w, const struct port *p)
{
	char guid[GUID_TEXT];
	struct peer peer;

	io_add(t, "{");
	add_label(t, "switch", switch_name(w, p->last.sw, guid));
	io_add(t, ",guid=\"%s\",port=\"%d\"", guid_format(p->last.sw, guid), p->last.port);
	if (find_peer(w, p->last.sw, p->last.port, &peer)) {
		io_add(t, ",");
		add_label(t, peer.sw ? "peer_switch" : "peer_host",
			  peer.sw     ? peer.sw
			  : peer.host ? peer.host
				      : "");
	}
}

static void add_grown(struct io_text *t, const struct watch *w, const struct port *p)
{
	for (int c = 0; c < WATCH_COUNTERS; c++) {
		if (!p->grown[c])
			continue;
		io_add(t, "sfabric_switch_port_errors_total");
		add_port_labels(t, w, p);
		io_add(t, ",counter=\"%s\"} %" PRIu64 "\n",
		       fabric_counter_name((enum fabric_counter)c), p->grown[c]);
	}
}

static void add_saturated(struct io_text *t, const struct watch *w, const struct port *p)
{
	for (int c = 0; c < WATCH_COUNTERS; c++) {
		if (!p->last.mono_ns || !ends[c] || p->last.value[c] != ends[c])
			continue;
		io_add(t, "sfabric_switch_port_counter_saturated");
		add_port_labels(t, w, p);
		io_add(t, ",counter=\"%s\"} 1\n", fabric_counter_name((enum fabric_counter)c));
	}
}

char *watch_prometheus(const struct watch *w)
{
	struct io_text t = { 0 };
	size_t unread = 0;

	for (size_t i = 0; i < w->count; i++)
		unread += !w->ports[i].last.read;
	io_add(&t,
	       "# HELP sfabric_watch_ports Switch ports that are watched.\n"
	       "# TYPE sfabric_watch_ports gauge\nsfabric_watch_ports %zu\n"
	       "# HELP sfabric_watch_unread_ports Switch ports that did not answer.\n"
	       "# TYPE sfabric_watch_unread_ports gauge\nsfabric_watch_unread_ports %zu\n",
	       w->count, unread);
	if (w->until_ns)
		io_add(&t,
		       "# HELP sfabric_watch_timestamp_seconds When counters were read last.\n"
		       "# TYPE sfabric_watch_timestamp_seconds gauge\n"
		       "sfabric_watch_timestamp_seconds %.3f\n",
		       (double)w->until_ns / 1e9);
	io_add(&t, "# HELP sfabric_switch_port_errors_total What an error counter has grown by "
		   "since the watch began.\n"
		   "# TYPE sfabric_switch_port_errors_total counter\n");
	for (size_t i = 0; i < w->count; i++)
		add_grown(&t, w, &w->ports[i]);
	io_add(&t, "# HELP sfabric_switch_port_counter_saturated An error counter that counts no "
		   "more until it is reset.\n"
		   "# TYPE sfabric_switch_port_counter_saturated gauge\n");
	for (size_t i = 0; i < w->count; i++)
		add_saturated(&t, w, &w->ports[i]);
	return io_end(&t);
}

/* The message to sfabricctld. */

static int put_counters(json_object *o, const struct watch_event *events, size_t count)
{
	json_object *list = json_object_new_object();
	int rc = json_put_value(o, "counters", list);

	for (size_t i = 0; rc == 0 && i < count; i++)
		if (!events[i].saturated)
			rc = json_put_int(list, fabric_counter_name(events[i].counter),
					  events[i].delta);
	return rc;
}

static int put_observation(json_object *array, const struct watch *w,
			   const struct watch_event *events, size_t count)
{
	json_object *o = json_object_new_object();
	struct peer peer;
	char guid[GUID_TEXT];
	int rc = json_append(array, o);

	rc = rc ? rc : json_put_guid(o, "switch", events->sw);
	rc = rc ? rc : json_put_string(o, "name", switch_name(w, events->sw, guid));
	rc = rc ? rc : json_put_int(o, "switch_port", events->port);
	if (rc == 0 && find_peer(w, events->sw, events->port, &peer) && !peer.sw && peer.guid)
		rc = json_put_guid(o, "port", peer.guid);
	return rc ? rc : put_counters(o, events, count);
}

static int put_unread(json_object *top, const struct watch *w)
{
	json_object *array = json_object_new_array();
	int rc = json_put_value(top, "unread", array);
	struct peer peer;

	for (size_t i = 0; rc == 0 && i < w->count; i++) {
		const struct watch_reading *r = &w->ports[i].last;
		char guid[GUID_TEXT];
		if (r->read || !find_peer(w, r->sw, r->port, &peer) || peer.sw || !peer.guid)
			continue;
		if (json_object_array_length(array) == WATCH_TOLD)
			return json_put_bool(top, "cut", true);
		rc = json_append(array, json_object_new_string(guid_format(peer.guid, guid)));
	}
	return rc;
}

static int put_message(json_object *top, const struct watch *w, const char *by,
		       const struct watch_event *events, size_t count)
{
	json_object *array = json_object_new_array();
	int rc = json_put_format(top, WATCH_FORMAT, WATCH_VERSION);

	rc = json_put_value(top, "ports", array) < 0 ? -ENOMEM : rc;
	rc = rc ? rc : json_put_string(top, "by", by);
	rc = rc ? rc : json_put_int(top, "since_ns", w->before_ns);
	rc = rc ? rc : json_put_int(top, "until_ns", w->until_ns);
	for (size_t i = 0, end; rc == 0 && i < count; i = end) {
		for (end = i; end < count && events[end].sw == events[i].sw &&
			      events[end].port == events[i].port;)
			end++;
		if (json_object_array_length(array) == WATCH_TOLD) {
			rc = json_put_bool(top, "cut", true);
			break;
		}
		rc = put_observation(array, w, &events[i], end - i);
	}
	return rc ? rc : put_unread(top, w);
}

char *watch_message(const struct watch *w, const char *by, const struct watch_event *events,
		    size_t count)
{
	json_object *top = json_object_new_object();
	char *text = top && put_message(top, w, by, events, count) == 0 ? json_line(top) : NULL;

	json_object_put(top);
	return text;
}
