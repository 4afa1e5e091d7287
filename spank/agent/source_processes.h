/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_processes.h - CPU time of one step's own processes.
 *
 * Always from the machine's real /proc and cgroups, never from below a redirected root. All reading
 * goes through a function of the caller's, because any file may block.
 */
#ifndef FABRIC_SOURCE_PROCESSES_H
#define FABRIC_SOURCE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source.h"

/* Reads a small file whole, at most size - 1 bytes, and ends it with NUL: its length, or -1. */
struct process_reader {
	ssize_t (*read)(void *arg, const char *path, char *buf, size_t size);
	void *arg;
	const char *proc; /* "/proc" */
};

/* Processes that came into being between two scans, shared by all steps. */
struct process_scan {
	struct process_born {
		pid_t pid, parent;
	} * born;
	size_t count, room;
	pid_t last; /* the newest process id at the last scan; 0: none yet */
	bool all;   /* the next scan takes those that were there before as well */
};

/* Refreshes the scan; what it can't see stays unknown. */
void process_scan(struct process_scan *scan, const struct process_reader *reader);
void process_scan_free(struct process_scan *scan);

struct processes;

/* The processes of the step whose slurmstepd is stepd. NULL without memory. */
struct processes *processes_new(pid_t stepd, uint32_t job, uint32_t step);
void processes_free(struct processes *p);

void processes_add(struct processes *p, pid_t pid); /* a task */
void processes_adopt(struct processes *p, const struct process_scan *scan);

/*
 * CPU time so far, in microseconds, never less than before; processes that have ended are in it as
 * far as it is known. false: nothing can be read, not yet or (when all have ended) not any more.
 */
bool processes_read(struct processes *p, const struct process_reader *reader, uint64_t *cpu_us);

extern const struct series processes_series; /* "step", cpu_us */

#endif
