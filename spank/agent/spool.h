/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool.h - what sfabricd has to tell sfabricctld and could not yet: plain files, <spool>/out/.
 *
 * ID.json is a record, begin-ID.json a step's begin, map.json the node's map (the newest only);
 * what was refused for good is moved to <spool>/bad/. While the disk is full or read-only a bounded
 * number is kept in memory. Any thread may call.
 *
 * A record that is sent at once never has to reach the disk: what is put survives the end of this
 * process, and a power failure from the next spool_sync() on.
 */
#ifndef FABRIC_SPOOL_H
#define FABRIC_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "record.h"

#define SPOOL_FILES_MAX 10000 /* about 40 MiB of records; the oldest go first */
#define SPOOL_BAD_MAX 1000
#define SPOOL_MEMORY_MAX 256

enum spool_kind { SPOOL_MAP, SPOOL_BEGIN, SPOOL_RECORD };

struct spool;

struct spool_item {
	enum spool_kind kind;
	char *name; /* of its file */
	char *json;
	uint64_t generation; /* the spool's */
};

/* Makes folder, out and bad where they are missing (0700), and counts what waits. NULL and err. */
struct spool *spool_open(const char *folder, struct err *err);
void spool_free(struct spool *s);

/*
 * Keeps json. id: RECORD_ID text, NULL for the map. 0: in a file; 1: only in memory, err says why;
 * a negative errno: lost, err says why.
 */
int spool_put(struct spool *s, enum spool_kind kind, const char *id, const char *json,
	      struct err *err);

/* The map of that generation once more; nothing when a newer one was put meanwhile. */
void spool_repeat_map(struct spool *s, const char *json, uint64_t generation);

/*
 * Waits until the disk has all that was put before, or what an earlier run left. Puts don't wait
 * for it. A negative errno and err: the first thing that the disk would not take; it is not tried
 * again.
 */
int spool_sync(struct spool *s, struct err *err);
bool spool_synced(struct spool *s);

/* Whether this record waits in a file. */
bool spool_holds(struct spool *s, const char *id);

/* How many wait. */
size_t spool_pending(struct spool *s);

/* One that waits, maps and begins first, each in its turn. 1, or 0 when nothing waits. */
int spool_next(struct spool *s, struct spool_item *item);
void spool_item_clear(struct spool_item *item);

void spool_done(struct spool *s, const struct spool_item *item); /* it has arrived */
int spool_refuse(struct spool *s, const struct spool_item *item, struct err *err);

const char *spool_path_of(enum spool_kind kind); /* "/v1/record" */

#endif
