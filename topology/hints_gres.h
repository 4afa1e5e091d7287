/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hints_gres.h - gres.conf's lines of GPUs out of nodes' maps.
 */
#ifndef TOPOLOGY_HINTS_GRES_H
#define TOPOLOGY_HINTS_GRES_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "map.h"

/* What a map does not say of a node, and its administrator knows. */
struct gres_layout {
	unsigned sockets, cores, numas; /* cores and NUMA nodes are of one socket; 0: not known */
	unsigned links;			/* NVLinks between each two GPUs; 0: not known */
};

/* "2:56" or "2:56:4": sockets, cores of one, NUMA nodes of one (1). */
bool gres_layout_parse(const char *text, struct gres_layout *layout);

/*
 * Lines for all maps; nodes with equal ones share them. Of GPUs whose device file is not known, or
 * that are partitions of one, a comment says so. malloc'ed; NULL, errno and err without memory.
 */
char *hints_gres(const struct map *const *maps, size_t count, const struct gres_layout *layout,
		 struct err *err);

#endif
