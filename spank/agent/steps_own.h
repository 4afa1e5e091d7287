/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps_own.h - what steps.c and recover.c share, and nobody else: the table of steps.
 */
#ifndef FABRIC_STEPS_OWN_H
#define FABRIC_STEPS_OWN_H

#include <limits.h>
#include <stdbool.h>

#include "steps.h"
#include "summary.h"
#include "timeline.h"

/* The begin sample until there is a timeline for it. */
struct row {
	int64_t t_ns, mono_ns;
	size_t count;
	uint64_t *values;
	bool *valid;
};

struct step {
	struct step *next;
	uint64_t key;
	struct record *record;
	struct timeline *timeline; /* NULL: not yet, or can't be written */
	struct row first;
	struct summary *summary;
	int64_t interval_ns;
	int64_t began_mono_ns, ended_mono_ns, last_mono_ns, due_ns, deadline_ns;
	int64_t cost_begin_us;
	uint64_t begin_ticket, end_ticket;
	bool begun, ending, blind;
	bool told;	  /* sfabricctld has the begin */
	bool settled;	  /* the timeline was started, or tried */
	bool marked;	  /* has its marker */
	char *partial;	  /* RECORD_TEXT bytes, the record's in the end; "" nothing is known yet */
	uint32_t *places; /* of the sampler's series, in their order, among the step's */
	size_t place_count;
	/* of one that an earlier run began: */
	bool taken_over;
	bool orphan;		       /* its slurmstepd was gone when it was taken over */
	struct timeline_view *earlier; /* its series live as long as the summary */
};

struct steps {
	struct steps_with with;
	struct step *first;
	size_t count;
	uint64_t keys;
	int64_t trim_ns;
	uint64_t *values; /* of one pass: own, then the node's */
	bool *valid;
	size_t room;
	bool told_timeline, told_full, told_marker;
};

#define OUT_OF_MEMORY "sfabricd was out of memory"

/* A step from what fabric.so said at its begin, not in the table yet; NULL and err. */
struct step *step_new(struct steps *s, const struct packet *begin, struct err *err);
void step_free(struct step *step);
/* Into the table; a sample is asked for, and its processes are watched. stepd 0: it has none. */
void step_enter(struct steps *s, struct step *step, pid_t stepd);

/* Where the step's timeline is, or will be; malloc'ed. */
char *step_timeline_path(const struct steps *s, const struct record *r);
void steps_timeline_trouble(struct steps *s, const struct err *err);

/* Why the record is partial: the first sentence stays. */
void step_partial(struct step *step, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* False: the record is lost, and may be made again. */
bool steps_send(struct steps *s, const struct record *r);

#endif
