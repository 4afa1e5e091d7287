/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.h - which host ports are suspect: from what `sfabric-topology watch` observes to the marks
 * of health.json.
 *
 * A port is suspect when its link had errors in `after` intervals, without `clear` clean ones in a
 * row between them; it is cleared after `clear` clean ones, or when `hold_ns` have passed since the
 * last error. An interval is clean for a port when whoever told of its errors told of the interval,
 * read the port, and saw none. Pure: no clock, no files; not safe for threads.
 */
#ifndef FABRIC_MARKS_H
#define FABRIC_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "health.h"
#include "json.h"

#define MARKS_FORMAT "slurm-fabric/observations"
#define MARKS_VERSION 1
#define MARKS_MAX 100000 /* ports that are followed */

struct marks_rules {
	unsigned after, clear;
	int64_t hold_ns;
};

/* What was seen at a switch port. */
struct marks_seen {
	uint64_t port; /* GUID of the host's port behind it; 0: there is none, or it is unknown */
	char *where;   /* "leaf3[17]" */
	char *what; /* "symbol_errors +77, rcv_errors +2"; "" nothing that speaks against the link
		     */
};

struct marks_round {
	char *by; /* who watches */
	int64_t interval_ns;
	bool cut; /* there were more: what is not told of is not clean */
	struct marks_seen *seen;
	size_t seen_count;
	uint64_t *unread; /* ports that did not answer, ascending */
	size_t unread_count;
};

/* From a message; clear it either way. 0, or -EPROTO or -ENOMEM and err. */
int marks_round_read(struct marks_round *round, json_object *object, struct err *err);
void marks_round_clear(struct marks_round *round);

struct marks;

struct marks *marks_new(void);
void marks_free(struct marks *m);

/* Takes over the marks of an earlier run; those of others than watchers are kept as they are. */
int marks_restore(struct marks *m, const struct health *h, const struct marks_rules *rules);

struct marks_change {
	uint64_t port;
	bool suspect;
	char *why; /* of the mark that was set; NULL when it was cleared */
};

/*
 * Takes a round in. *changes is malloc'ed; free it with marks_changes_free(). 0 or -ENOMEM; -E2BIG:
 * no more ports can be followed.
 */
int marks_take(struct marks *m, const struct marks_round *round, const struct marks_rules *rules,
	       int64_t now_ns, struct marks_change **changes, size_t *count);
void marks_changes_free(struct marks_change *changes, size_t count);

bool marks_suspect(const struct marks *m, uint64_t port);

/* health.json of all marks; malloc'ed; NULL without memory. */
char *marks_text(const struct marks *m);

#endif
