/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sinfo.h - Slurm's nodes and whether they are free, as sinfo(1) shows them to anybody.
 */
#ifndef FABRIC_SINFO_H
#define FABRIC_SINFO_H

#include <stddef.h>

#include "err.h"
#include "place.h"

/* What sinfo is called with, and what a file must look like: a node and its state on each line. */
#define SINFO_FORMAT "%N %T"

struct sinfo {
	char **names; /* in sinfo's order, each once */
	enum place_node *what;
	uint32_t count;
};

/* NULL, errno and err for a text that is not sinfo's. source: for the sentence. */
struct sinfo *sinfo_parse(const char *text, size_t len, const char *source, struct err *err);

/* Runs sinfo, for one partition or, with NULL, for all. */
struct sinfo *sinfo_run(const char *partition, struct err *err);

/* From a file, or with "-" from standard input. */
struct sinfo *sinfo_read(const char *path, struct err *err);
void sinfo_free(struct sinfo *s);

#endif
