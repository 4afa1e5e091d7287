/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h - reads all counters of the node, in a thread of its own, once for all steps.
 *
 * A pass reads every series and the CPU time of every watched step. Passes come on a grid at the
 * smallest interval any step asked for, each moved by up to 0.3 of it at random (that is what makes
 * the rhythm of a job's iterations visible, which a strict grid can miss), and when they are asked
 * for: at a step's begin and end, at most 20 a second.
 *
 * A counter file may block for ever in the kernel. The reading thread says what it reads; when that
 * takes about two seconds, sampler_check() leaves the thread to its file and starts another
 * one, which goes on without this file until the read comes back.
 */
#ifndef FABRIC_SAMPLER_H
#define FABRIC_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "source.h"

struct sampler;

/* All series of the node so far: grows, and what it holds stays where it is. */
struct sampler_series {
	const struct series **list;
	size_t count;
};

struct sampler_own {
	uint64_t key; /* of sampler_watch() */
	uint64_t cpu_us;
	bool valid;
};

struct sampler_pass {
	int64_t t_ns, mono_ns;
	int64_t nominal_ns; /* place on the grid, CLOCK_MONOTONIC; 0: not on it */
	uint64_t ticket;    /* requests up to this one are answered by this pass */
	const struct sampler_series *series;
	uint64_t *values;
	bool *valid;
	struct sampler_own *own;
	size_t own_count;
};

/* root: where sysfs and procfs of the devices are. notify: an eventfd that is written after a pass.
 */
struct sampler *sampler_start(const char *root, int notify, struct err *err);
void sampler_stop(struct sampler *s); /* NULL is fine; leaks what a hung read still holds */

void sampler_interval(struct sampler *s, int64_t ns); /* 0: no grid */
uint64_t sampler_request(struct sampler *s);	      /* a pass as soon as possible: its ticket */
void sampler_rescan(struct sampler *s);		      /* devices may have come */

/* The CPU time of a step's processes is in passes from now on. 0 or -ENOMEM. */
int sampler_watch(struct sampler *s, uint64_t key, pid_t stepd, uint32_t job, uint32_t step);
void sampler_adopt_all(struct sampler *s); /* also of processes that are older than this one */
void sampler_task(struct sampler *s, uint64_t key, pid_t pid);
void sampler_unwatch(struct sampler *s, uint64_t key);

/* The oldest pass that is ready, or NULL. */
struct sampler_pass *sampler_take(struct sampler *s);
void sampler_pass_free(struct sampler_pass *pass);

/*
 * Looks for a read that hangs; to be called about once a second. True when one was found: path says
 * which, and sampling goes on without it.
 */
bool sampler_check(struct sampler *s, int64_t mono_ns, char *path, size_t size);

/* Some file that hangs at the moment; false: none does. */
bool sampler_hung(struct sampler *s, char *path, size_t size);

#endif
