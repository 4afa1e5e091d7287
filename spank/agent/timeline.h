/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline.h - the samples of one step in a SQLite file of its own,
 * <spool>/timelines/JOB.STEP.ID.db.
 *
 * Tables: meta (key, value): format, version, boot_id, record (the step's record as far as it is
 * known, one line), final (1 when the step has ended). series: one row for each counter, id from 0
 * in the order of the values. samples: one row for each instant; counts is a bitmap (bit i%8 of
 * byte i/8: series i has a value), padded to whole bytes, and then a little-endian 64-bit number
 * for each series. Rows written before a series was added are shorter.
 *
 * One commit for each row, synchronous=OFF: a kill -9 of sfabricd loses at most the row it is in; a
 * power failure may lose the file. A step's end is told in two moves, so that a kill between them
 * is harmless: timeline_seal() puts the whole record in and marks the file final, timeline_finish()
 * takes away the WAL, by which a later run knows a file that it must look at.
 */
#ifndef FABRIC_TIMELINE_H
#define FABRIC_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "record.h"
#include "source.h"

#define TIMELINE_FORMAT "slurm-fabric/timeline"
#define TIMELINE_VERSION 1

enum sample_kind { SAMPLE_BEGIN, SAMPLE_GRID, SAMPLE_END };

struct timeline; /* one that is written */

/* Makes path (0600). head: what is known at the begin. max_bytes: rows beyond it are refused. */
struct timeline *timeline_create(const char *path, const struct record *head, uint64_t max_bytes,
				 struct err *err);
/* Goes on with one that an earlier run left unfinished, which has that many series. */
struct timeline *timeline_append(const char *path, size_t series_count, uint64_t max_bytes,
				 struct err *err);
int timeline_add_series(struct timeline *t, const struct series *series, struct err *err);
/* -EFBIG: max_bytes is reached; the file stays good. */
int timeline_add(struct timeline *t, int64_t t_ns, int64_t mono_ns, enum sample_kind kind,
		 const uint64_t *values, const bool *valid, size_t count, struct err *err);
/* The step's whole record and that the file is final, both or neither; no row may follow. */
int timeline_seal(struct timeline *t, const struct record *record, struct err *err);
/* Makes one file of it and closes it, in every case. */
int timeline_finish(struct timeline *t, struct err *err);
void timeline_free(struct timeline *t);	   /* closes it as it is */
void timeline_discard(struct timeline *t); /* closes and deletes it */

struct timeline_sample {
	int64_t t_ns, mono_ns;
	enum sample_kind kind;
	uint64_t *values; /* of the view, until the next call */
	bool *valid;
	size_t count;
};

struct timeline_view { /* one that is read */
	struct record *record;
	bool final;
	char boot_id[37];
	struct series *series;
	size_t series_count;
	struct timeline_view_state *state;
};

/* Every row is checked as it is read: a file from a crash may hold anything. */
struct timeline_view *timeline_open(const char *path, struct err *err);
/* The next sample as they were added, which is in order of time: 1, 0 at the end, a negative errno.
 */
int timeline_next(struct timeline_view *v, struct timeline_sample *sample, struct err *err);
void timeline_view_close(struct timeline_view *v); /* the file; the series and the record stay */
void timeline_view_free(struct timeline_view *v);
/* Seals a file that was left unfinished, with that record, and makes one file of it. */
int timeline_close_file(const char *path, const struct record *record, struct err *err);

/*
 * Deletes what is in folder, oldest first, until it takes at most max_bytes: timelines, and what
 * was put aside or left beside them. Files that live() calls so are counted and kept. No folder is
 * an empty one. *deleted: how many went.
 */
int timeline_trim(const char *folder, uint64_t max_bytes, bool (*live)(void *arg, const char *name),
		  void *arg, size_t *deleted, struct err *err);

/* counts of a row: bitmap and values, malloc'ed; NULL without memory. */
unsigned char *timeline_pack(const uint64_t *values, const bool *valid, size_t count, size_t *len);
/* The reverse; values and valid have room for max. The number of series or -EPROTO. */
long timeline_unpack(const unsigned char *blob, size_t len, uint64_t *values, bool *valid,
		     size_t max);

#endif
