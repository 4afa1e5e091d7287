/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source.h - where counters come from: files of numbers, and series within them.
 *
 * A source knows how to find its files below a root (discover) and how to read numbers out of their
 * text (parse). It does not read counters itself: the sampler does, because a counter file may
 * block for ever in the kernel and there must be one place that survives this. So a source is a
 * table and two functions, and a recorded tree is as good a test as a machine.
 *
 * Values are what the counter says, in counts. A series says what a count is worth (scale), how
 * wide the counter is and what it does at its end; summary.c does the arithmetic.
 */
#ifndef FABRIC_SOURCE_H
#define FABRIC_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "meaning.h"

#define SOURCE_MAX_SERIES 4096 /* of a node: 32 ports and 64 disks need a tenth */

enum series_behaviour {
	SERIES_WRAPS,	  /* begins again at 0 behind its width */
	SERIES_SATURATES, /* stays at its highest value (classic PMA counters, IBTA 16.1.3.5) */
};

enum series_scope {
	SCOPE_NODE, /* of the whole node, whoever caused it */
	SCOPE_OWN,  /* of the step's own processes */
};

struct series {
	const char *source; /* "infiniband" */
	char *name;	    /* the source's own: "port_rcv_data" */
	char *device;	    /* "mlx5_0:1", "nvme0n1", "node", "step" */
	enum meaning meaning;
	enum series_scope scope;
	enum series_behaviour behaviour;
	int width;	/* bits */
	uint32_t scale; /* units of the meaning in one count */
	bool rare;	/* in begin and end samples and every ten seconds only */
};

const char *series_behaviour_name(enum series_behaviour behaviour); /* "wraps", "saturates" */
const char *series_scope_name(enum series_scope scope);		    /* "node", "own" */

struct source_file;
struct source_list;

struct source {
	const char *name;
	/*
	 * Appends the files below root to list. What is not there is no error. 0, or a negative
	 * errno when there may be more than what is in the list.
	 */
	int (*discover)(const char *root, struct source_list *list);
	/*
	 * Reads the file's series out of its text (NUL-terminated): values[i] and true in valid[i]
	 * for the i-th series of the file. What can't be read stays false.
	 */
	void (*parse)(const struct source_file *file, const char *text, uint64_t *values,
		      bool *valid);
};

struct source_file {
	const struct source *source;
	char *path;
	struct series *series;
	size_t count;
	bool rare; /* all its series are: each read may cost a firmware command */

	/* the sampler's */
	int fd;		  /* -1: not open */
	size_t first;	  /* place of its first series among all */
	atomic_bool hung; /* a read has not come back */
};

struct source_list {
	struct source_file **files;
	size_t count;
};

extern const struct source source_infiniband, source_diskstats, source_pressure;

/* All of them, ended by NULL. */
extern const struct source *const sources[];

/* A file without series, appended to the list, which owns it; NULL without memory. */
struct source_file *source_add_file(struct source_list *list, const struct source *source,
				    const char *path);

/* Adds a copy of what is described by like, with those names. 0 or -ENOMEM. */
int source_add_series(struct source_file *file, const struct series *like, const char *name,
		      const char *device);

void source_file_free(struct source_file *file); /* closes it as well */
void source_list_free(struct source_list *list);

/* Whether an errno is the want of something of ours, and says nothing of the file. */
bool source_passing(int code);

/* A path of at most PATH_MAX bytes, for a question that must not fail for want of memory. */
bool source_path(char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reads a counter file from its begin into buf, as many whole lines as fit, and ends them with NUL:
 * their length, or -1 and errno.
 */
ssize_t source_read(int fd, char *buf, size_t size);

/* True and the number at the begin of text, which only blanks may follow. "N/A (no PMA)" is none.
 */
bool source_number(const char *text, uint64_t *value);

#endif
