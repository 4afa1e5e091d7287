/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wanted.h - the nodes that topology.conf is to have, as Slurm calls them and as the fabric does.
 *
 * A node of slurm.conf has a NodeName, which topology.conf uses, and a NodeHostname, which is what
 * its HCAs say; they are the same unless slurm.conf says otherwise.
 */
#ifndef TOPOLOGY_WANTED_H
#define TOPOLOGY_WANTED_H

#include <stddef.h>

#include "err.h"

#define WANTED_MAX 1000000

struct wanted {
	char *name; /* in Slurm */
	char *host; /* in the fabric, without a domain; may be name itself */
};

struct wanted_list {
	struct wanted *nodes;
	size_t count;
};

/* The nodes of a host list. Clear list either way. 0 or a negative errno and err. */
int wanted_parse(struct wanted_list *list, const char *hosts, struct err *err);

/* The nodes of slurm.conf; path NULL or "": where Slurm looks for it. The same. */
int wanted_load(struct wanted_list *list, const char *path, struct err *err);

void wanted_clear(struct wanted_list *list);

#endif
