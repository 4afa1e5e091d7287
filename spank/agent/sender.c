/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sender.c - see sender.h.
 *
 * One item at a time, then by the answer: 2xx forget it, 4xx put it aside (but not for a
 * credential that was refused: a wrong key, cluster name or account, or a clock that is off, is no
 * fault of the record and gets mended), anything else try again later. The spool gives a
 * different item each time, so that one that the server can't take does not hold up the others.
 * What has to wait is brought to the disk here, where nobody waits for it.
 */
#include "sender.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "io.h"
#include "json.h"
#include "text.h"
#include "wire.h"

#define SECOND INT64_C(1000000000)
#define PAUSE_MIN_NS SECOND
#define PAUSE_MAX_NS (60 * SECOND)
#define POST_TIMEOUT_MS 5000
#define EXCHANGE_NS (600 * SECOND) /* the clock is measured at least that often */
#define SET_NS 100000		   /* less than that is the time between two looks */
#define DRIFT 10000		   /* a clock's rate is within 100 ppm (adjtimex allows 500) */

struct sender {
	struct sender_way way; /* without deliver: nowhere */
	struct spool *spool;
	struct agent_log log;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, done, paused;
	int64_t stop_ns;  /* when to give up at the end */
	int64_t retry_ns; /* not before */
	int64_t pause_ns;
	bool told_server, told_disk; /* said once, until it works again */
	char *map; /* the last one that arrived: sent again to measure the clock */
	uint64_t map_generation;
	bool clock_known;
	int64_t clock_at_ns, clock_offset_ns, clock_bound_ns;
	int64_t clock_real_minus_mono_ns; /* at that time */
};

bool clock_offset(int64_t sent_ns, int64_t their_received_ns, int64_t their_sent_ns,
		  int64_t received_ns, int64_t *offset_ns, int64_t *bound_ns)
{
	int64_t on_way = (received_ns - sent_ns) - (their_sent_ns - their_received_ns);

	if (their_sent_ns < their_received_ns || received_ns < sent_ns || on_way < 0)
		return false;
	/* As NTP does (RFC 5905, 8), with the sign of ours minus theirs. */
	*offset_ns = ((sent_ns - their_received_ns) + (received_ns - their_sent_ns)) / 2;
	*bound_ns = (on_way + 1) / 2;
	return true;
}

/* CLOCK_REALTIME minus CLOCK_MONOTONIC: slewing moves both, setting the clock only the first. */
static int64_t real_minus_mono(void)
{
	int64_t best = INT64_MAX, value = 0;

	for (int i = 0; i < 3; i++) { /* we may lose the processor between two looks */
		int64_t before = io_mono_ns(), real = io_now_ns(), took = io_mono_ns() - before;

		if (took < best) {
			best = took;
			value = real - before - took / 2;
		}
	}
	return value;
}

/* How far this node's clock was set since the last exchange. */
static int64_t clock_was_set(const struct sender *s)
{
	int64_t moved = real_minus_mono() - s->clock_real_minus_mono_ns;

	return llabs(moved) < SET_NS ? 0 : moved;
}

bool sender_clock(struct sender *s, int64_t mono_ns, int64_t *offset_ns, int64_t *bound_ns)
{
	bool known;

	pthread_mutex_lock(&s->lock);
	known = s->clock_known;
	*offset_ns = s->clock_offset_ns + (known ? clock_was_set(s) : 0);
	*bound_ns = s->clock_bound_ns +
		    (mono_ns > s->clock_at_ns ? (mono_ns - s->clock_at_ns) / DRIFT : 0);
	pthread_mutex_unlock(&s->lock);
	return known;
}

/*
 * A new measurement replaces one whose bound has grown beyond the new one's, or that can't be true
 * any more: sfabricctld's clock was set. With the lock held.
 */
static void take_clock(struct sender *s, int64_t offset, int64_t bound)
{
	int64_t now = io_mono_ns();
	int64_t old_bound = s->clock_bound_ns + (now - s->clock_at_ns) / DRIFT;
	int64_t old = s->clock_offset_ns + clock_was_set(s);

	if (s->clock_known && bound > old_bound && llabs(offset - old) <= bound + old_bound)
		return;
	s->clock_known = true;
	s->clock_at_ns = now;
	s->clock_offset_ns = offset;
	s->clock_real_minus_mono_ns = real_minus_mono();
	s->clock_bound_ns = bound;
}

static void measure_clock(struct sender *s, const struct sender_reply *reply)
{
	int64_t offset, bound;

	if (!reply->timed ||
	    !clock_offset(reply->sent_ns, reply->their_received_ns, reply->their_sent_ns,
			  reply->received_ns, &offset, &bound))
		return;
	pthread_mutex_lock(&s->lock);
	take_clock(s, offset, bound);
	pthread_mutex_unlock(&s->lock);
}

static void arrived(struct sender *s, const struct spool_item *item, bool timed)
{
	spool_done(s->spool, item);
	if (item->kind == SPOOL_MAP && timed) {
		char *copy = strdup(item->json);

		free(s->map);
		s->map = copy;
		s->map_generation = item->generation;
	}
	if (s->told_server)
		agent_say(&s->log, LOG_NOTICE, "%s answers again", s->way.name);
	s->told_server = false;
}

static void refused(struct sender *s, const struct spool_item *item, int status, const char *why)
{
	struct err err = { "" };

	agent_say(&s->log, LOG_WARNING, "%s: refused with %d (%s); moved to bad/", item->name,
		  status, why);
	if (spool_refuse(s->spool, item, &err) < 0)
		agent_say(&s->log, LOG_WARNING, "%s", err.text);
}

static void tell_server(struct sender *s, int rc, int status, const char *why)
{
	if (s->told_server)
		return;
	s->told_server = true;
	if (rc < 0)
		agent_say(&s->log, LOG_WARNING,
			  "%s can't be reached: %s; records wait in the spool", s->way.name, why);
	else
		agent_say(&s->log, LOG_WARNING,
			  "%s answers with %d (%s); records wait in the spool", s->way.name, status,
			  why);
}

/* Sends one item. True when the next may follow at once. */
static bool send_item(struct sender *s, const struct spool_item *item, int timeout_ms)
{
	struct sender_reply reply = { 0 };
	struct err err = { "" };
	int rc = s->way.deliver(s->way.arg, item->kind, item->json, timeout_ms, &reply, &err);
	bool final = rc == 0 && wire_final(reply.status);

	if (rc == 0)
		measure_clock(s, &reply);
	if (!final)
		tell_server(s, rc, reply.status, err.text);
	else if (reply.status < 300)
		arrived(s, item, reply.timed);
	else
		refused(s, item, reply.status, err.text);
	return final;
}

/* The next pause: twice the last one, and half to one and a half of that. */
static void back_off(struct sender *s)
{
	uint16_t bits = 0;
	int64_t pause = s->pause_ns;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) < 0)
		bits = UINT16_MAX / 2;
	s->pause_ns = pause * 2 < PAUSE_MAX_NS ? pause * 2 : PAUSE_MAX_NS;
	if (s->stop)
		pause = PAUSE_MIN_NS / 2;
	s->retry_ns = io_mono_ns() + pause / 2 + (int64_t)((double)pause * bits / UINT16_MAX);
}

/* The old map once more, when nothing else told us of the clock. With the lock held. */
static void refresh_clock(struct sender *s)
{
	int64_t now = io_mono_ns();

	if (!s->map || now - s->clock_at_ns < EXCHANGE_NS || s->stop)
		return;
	s->clock_at_ns = now; /* not again before the next turn, whatever becomes of it */
	s->clock_bound_ns += EXCHANGE_NS / DRIFT;
	spool_repeat_map(s->spool, s->map, s->map_generation);
}

static void sync_spool(struct sender *s)
{
	struct err err = { "" };

	if (spool_sync(s->spool, &err) < 0)
		agent_say(&s->log, LOG_WARNING,
			  "%s: records that wait would not survive a power failure", err.text);
}

/* Waits for work. False: the end. With the lock held. */
static bool wait_for_work(struct sender *s)
{
	for (;;) {
		int64_t now = io_mono_ns(), until = now + 60 * SECOND;
		bool waiting = spool_pending(s->spool) > 0 && !s->paused;
		struct timespec when;

		if (s->stop && (!waiting || now >= s->stop_ns))
			return false;
		if (waiting && now >= s->retry_ns)
			return true;
		if (!spool_synced(s->spool)) {
			pthread_mutex_unlock(&s->lock);
			sync_spool(s);
			pthread_mutex_lock(&s->lock);
			continue;
		}
		if (waiting && s->retry_ns < until)
			until = s->retry_ns;
		if (s->stop && s->stop_ns < until)
			until = s->stop_ns;
		when.tv_sec = until / SECOND;
		when.tv_nsec = until % SECOND;
		pthread_cond_timedwait(&s->wake, &s->lock, &when);
		refresh_clock(s);
	}
}

static int timeout_left(const struct sender *s)
{
	int64_t left = s->stop ? (s->stop_ns - io_mono_ns()) / 1000000 : POST_TIMEOUT_MS;

	return left < 100 ? 100 : left > POST_TIMEOUT_MS ? POST_TIMEOUT_MS : (int)left;
}

static void *work(void *arg)
{
	struct sender *s = arg;

	pthread_mutex_lock(&s->lock);
	while (wait_for_work(s)) {
		struct spool_item item;
		int timeout = timeout_left(s);
		bool next = true;

		pthread_mutex_unlock(&s->lock);
		if (spool_next(s->spool, &item)) {
			next = send_item(s, &item, timeout);
			spool_item_clear(&item);
		} else {
			next = false; /* files that can't be read: no reason to spin */
		}
		pthread_mutex_lock(&s->lock);
		if (next) {
			s->pause_ns = PAUSE_MIN_NS;
			s->retry_ns = 0;
		} else {
			back_off(s);
		}
	}
	pthread_mutex_unlock(&s->lock);
	sync_spool(s); /* what could not be sent */
	pthread_mutex_lock(&s->lock);
	s->done = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct sender *sender_start(const struct sender_way *way, struct spool *spool,
			    const struct agent_log *log, struct err *err)
{
	struct sender *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;
	sigset_t all, before;
	int rc;

	if (!s) {
		err_set(err, ENOMEM, "sender: out of memory");
		return NULL;
	}
	if (way)
		s->way = *way;
	s->spool = spool;
	s->log = *log;
	s->pause_ns = PAUSE_MIN_NS;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	s->paused = !s->way.deliver;
	if (s->paused)
		agent_say(&s->log, LOG_NOTICE,
			  "no server is configured: records stay in the spool");
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&s->thread, NULL, work, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return s;
	err_set(err, rc, "sender: no thread can be started: %s", strerror(rc));
	free(s);
	return NULL;
}

int sender_put(struct sender *s, enum spool_kind kind, const char *id, const char *json)
{
	struct err err = { "" };
	int rc = spool_put(s->spool, kind, id, json, &err);
	bool tell;

	pthread_mutex_lock(&s->lock);
	tell = (rc != 0) != s->told_disk;
	s->told_disk = rc != 0;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (tell && rc == 0)
		agent_say(&s->log, LOG_NOTICE, "the spool can be written again");
	else if (tell)
		agent_say(&s->log, LOG_WARNING, "%s; %s", err.text,
			  rc == 1 ? "kept in memory" : "memory is used up as well: lost");
	return rc;
}

bool sender_holds(const struct sender *s, const char *id)
{
	return spool_holds(s->spool, id);
}

void sender_pause(struct sender *s, bool paused)
{
	pthread_mutex_lock(&s->lock);
	s->paused = paused || !s->way.deliver;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

bool sender_stop(struct sender *s, int timeout_ms)
{
	struct timespec until;
	int64_t end_ns;
	bool done;

	if (!s)
		return true;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	s->stop_ns = io_mono_ns() + (int64_t)timeout_ms * 1000000;
	s->retry_ns = 0;
	pthread_cond_broadcast(&s->wake);
	end_ns = s->stop_ns + SECOND; /* a request that is under way ends by itself */
	until.tv_sec = end_ns / SECOND;
	until.tv_nsec = end_ns % SECOND;
	while (!s->done && pthread_cond_timedwait(&s->wake, &s->lock, &until) == 0)
		;
	done = s->done;
	pthread_mutex_unlock(&s->lock);
	if (!done)
		return false;
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s->map);
	free(s);
	return true;
}

/* ---- the way over the wire ---- */

/* The server's times: when it had the message and when it answered. */
static void read_times(json_object *object, const struct wire_reply *from,
		       struct sender_reply *reply)
{
	struct json_reader r = { .source = "reply" };

	reply->sent_ns = from->sent_ns;
	reply->received_ns = from->received_ns;
	reply->their_received_ns = json_read_int(&r, object, "received_ns", 0, INT64_MAX);
	reply->their_sent_ns = json_read_int(&r, object, "sent_ns", 0, INT64_MAX);
	reply->timed = r.rc == 0;
}

/* What the server said of a refusal, for a line in the log. */
static void read_error(json_object *object, struct err *err)
{
	struct json_reader r = { .source = "reply" };
	const char *said = json_read_string(&r, object, "error");
	char clean[256];

	err_set(err, EIO, "%s",
		said ? text_printable(said, clean, sizeof(clean)) : "no reason given");
}

static int post(void *conf, enum spool_kind kind, const char *json, int timeout_ms,
		struct sender_reply *reply, struct err *err)
{
	struct wire_reply wire = { 0 };
	int rc = wire_post(conf, spool_path_of(kind), json, timeout_ms, &wire, err);
	json_object *object = NULL;

	if (rc == 0 && wire.json)
		object = json_parse(wire.json, wire.length, "reply", NULL);
	if (rc == 0) {
		reply->status = wire.status;
		read_times(object, &wire, reply);
		read_error(object, err);
	}
	json_object_put(object);
	wire_reply_clear(&wire);
	return rc;
}

struct sender_way sender_to_server(struct conf *conf)
{
	return (struct sender_way){ "sfabricctld", post, conf };
}
