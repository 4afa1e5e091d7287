/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sender.h - brings what is in the spool to where it is kept, in a thread of its own, and learns
 * from each exchange with sfabricctld how far this node's clock is off.
 *
 * What was not answered is tried again, after a pause that grows from 1 s to 60 s and is moved at
 * random, so that the nodes of a cluster don't come all at once when sfabricctld is back.
 */
#ifndef FABRIC_SENDER_H
#define FABRIC_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent_log.h"
#include "conf.h"
#include "err.h"
#include "spool.h"

struct sender;

struct sender_reply {
	int status; /* as in HTTP */
	bool timed; /* the four times of the exchange are known; see clock_offset() */
	int64_t sent_ns, their_received_ns, their_sent_ns, received_ns;
};

/* How an item gets to the other end. */
struct sender_way {
	const char *name; /* of the other end, for the log */
	/*
	 * Delivers one item, for at most timeout_ms. 0 when the other end answered: *reply, and
	 * err says why when the status is not 2xx. A negative errno when it did not.
	 */
	int (*deliver)(void *arg, enum spool_kind kind, const char *json, int timeout_ms,
		       struct sender_reply *reply, struct err *err);
	void *arg;
};

/* Over the wire, to conf's servers. */
struct sender_way sender_to_server(struct conf *conf);

/* way NULL: nowhere, all stays in the spool. What way and spool point to must live as long. NULL
 * and err. */
struct sender *sender_start(const struct sender_way *way, struct spool *spool,
			    const struct agent_log *log, struct err *err);

/*
 * Spools json and wakes the thread; what went wrong is logged, once until it is right again.
 * Returns what spool_put() does: negative when it is lost.
 */
int sender_put(struct sender *s, enum spool_kind kind, const char *id, const char *json);

/* Whether this record waits to be sent. */
bool sender_holds(const struct sender *s, const char *id);

/*
 * This node's clock minus sfabricctld's at now_ns (CLOCK_MONOTONIC), with a bound that grows with
 * the age of the last exchange. false: not known.
 */
bool sender_clock(struct sender *s, int64_t mono_ns, int64_t *offset_ns, int64_t *bound_ns);

/* Holds sending back (the off switch). */
void sender_pause(struct sender *s, bool paused);

/*
 * Tries to empty the spool for at most timeout_ms and ends the thread. NULL is fine. False: the
 * thread hangs in the network or the disk, and still uses what it was given.
 */
bool sender_stop(struct sender *s, int timeout_ms);

/*
 * From the four times of an exchange: offset of our clock to theirs, and half the time that the
 * exchange was on its way, which bounds the error. false: the times contradict each other.
 */
bool clock_offset(int64_t sent_ns, int64_t their_received_ns, int64_t their_sent_ns,
		  int64_t received_ns, int64_t *offset_ns, int64_t *bound_ns);

#endif
