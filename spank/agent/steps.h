/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.h - the steps that live on this node: from a packet of fabric.so to a record in the spool.
 *
 * One thread (the event loop's) calls everything here. Nothing waits: a step's begin and end ask
 * the sampler for a pass, and the pass, when it comes, is given to steps_pass(). A step whose end
 * sample does not come in time is finished with what is known.
 */
#ifndef FABRIC_STEPS_H
#define FABRIC_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_log.h"
#include "conf.h"
#include "err.h"
#include "packet.h"
#include "sampler.h"
#include "sender.h"

#define STEPS_MAX 1024

struct step;
struct steps;

struct steps_with { /* all of it must live as long */
	const struct conf *conf;
	const char *node;
	const char *timelines; /* folder */
	const char *markers;   /* folder, see marker.h */
	struct sampler *sampler;
	struct sender *sender;
	const struct agent_log *log;
};

struct steps *steps_new(const struct steps_with *with);
void steps_free(struct steps *s); /* steps_stop() first, or they are forgotten */

/*
 * Takes over the steps that an earlier run followed, and turns what else it left unfinished into
 * partial records. follow() gets each step, its slurmstepd, and a pidfd that is its own from then
 * on, or -1 when it is gone: then the step's end, if it waits in the socket, is to be given first.
 */
void steps_recover(struct steps *s,
		   void (*follow)(void *arg, struct step *step, pid_t stepd, int pidfd), void *arg);
/* The step that was taken over and ends with this packet, or NULL. */
struct step *steps_find(struct steps *s, const struct packet *end);

/* A step begins; stepd is its slurmstepd. NULL when it is not followed (the log says why). */
struct step *steps_begin(struct steps *s, const struct packet *begin, pid_t stepd);
void steps_task(struct steps *s, struct step *step, pid_t pid);
/* It ends; end is NULL when its slurmstepd is gone without a word. The step is no longer the
 * caller's. */
void steps_end(struct steps *s, struct step *step, const struct packet *end);
/* An end of a step whose begin was never seen. */
void steps_end_alone(struct steps *s, const struct packet *end);

void steps_pass(struct steps *s, const struct sampler_pass *pass);
/* About once a second: begins to tell of, ends that wait too long for a sample, the timelines'
 * size. */
void steps_tick(struct steps *s, int64_t mono_ns);
/* Finishes all that live as partial records: why, a sentence. */
void steps_stop(struct steps *s, const char *why);
/* Leaves those that live to the next run. */
void steps_leave(struct steps *s);

size_t steps_count(const struct steps *s);

#endif
