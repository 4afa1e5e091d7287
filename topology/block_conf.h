/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * block_conf.h - blocks for Slurm's topology/block out of a fabric and its tree.
 */
#ifndef TOPOLOGY_BLOCK_CONF_H
#define TOPOLOGY_BLOCK_CONF_H

#include "fabric.h"
#include "layout.h"
#include "notes.h"

/*
 * Fills in blocks, which is empty, from the leaves of tree, which are units of f. base: the nodes
 * that each block has at least, 0: chosen. Notes say what was left out, or can't be said to Slurm of
 * that release. 0, or a negative errno and err: no block has base nodes (-ENODATA), no memory.
 */
int block_conf(const struct fabric *f, const struct layout_topology *tree, int release, long base,
	       struct layout_topology *blocks, struct notes *notes, struct err *err);

#endif
