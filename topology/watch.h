/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch.h - error counters of switch ports: from readings to events.
 *
 * A round reads the counters of all switch ports; watch_take() compares it with the round before. A
 * delta is known only where both readings are and the counter neither was reset nor stands at its
 * end: the counters of PortCounters are 4 to 16 bits wide and stay at their largest value
 * (IBTA 1.4, 16.1.3.5). Pure: readings come from watch_live.c, texts go to cmd_watch.c.
 */
#ifndef TOPOLOGY_WATCH_H
#define TOPOLOGY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fabric.h"
#include "io.h"
#include "json.h"

/* The error counters, which come first in enum fabric_counter. */
#define WATCH_COUNTERS (COUNTER_VL15_DROPPED + 1)

struct watch_reading {
	uint64_t sw; /* GUID */
	int port;
	bool read;		  /* false: it did not answer; nothing below is known */
	int64_t time_ns, mono_ns; /* the middle between question and answer */
	int64_t half_ns;	  /* half the time between them */
	uint32_t value[WATCH_COUNTERS];
};

struct watch_event {
	uint64_t sw;
	int port;
	enum fabric_counter counter;
	bool saturated; /* it has come to its end: how much it grew is unknown */
	uint32_t delta;
	int64_t time_ns, interval_ns; /* of the reading, and since the one before */
	int64_t error_ns;	      /* of time_ns; -1: the clock is not synchronised */
};

struct watch;

/* f: names and links; NULL: none are known. It must live as long. */
struct watch *watch_new(const struct fabric *f);
void watch_free(struct watch *w);

/*
 * Takes a round of readings, in any order, a port once. clock_ns: how far the clock may be off, -1
 * unknown. *events is malloc'ed, by switch, port and counter. 0 or -ENOMEM, which changes nothing.
 */
int watch_take(struct watch *w, const struct watch_reading *readings, size_t count,
	       int64_t clock_ns, struct watch_event **events, size_t *event_count);

/* An event for a person: one line without its end; malloc'ed. */
char *watch_event_text(const struct watch *w, const struct watch_event *event);
/* For programs: an object on one line with its end; malloc'ed. */
char *watch_event_json(const struct watch *w, const struct watch_event *event);

/* All of it for node_exporter's textfile collector; malloc'ed. */
char *watch_prometheus(const struct watch *w);

/*
 * What sfabricctld is told of a round (POST /v1/health); by: who watches. malloc'ed. At most
 * WATCH_TOLD ports are told; "cut" then says that there were more.
 */
#define WATCH_FORMAT "slurm-fabric/observations"
#define WATCH_VERSION 1
#define WATCH_TOLD 2000
char *watch_message(const struct watch *w, const char *by, const struct watch_event *events,
		    size_t count);

#endif
