/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape.h - says which parts of a fabric are no tree.
 *
 * Slurm's topology/tree can only say that two nodes are below the same switch. A ring, a torus or a
 * mesh of leaves, and cells of switches that are cabled among each other (Dragonfly+), have more to
 * say; what is written of them is valid and keeps what is near together, but is not all.
 */
#ifndef TOPOLOGY_SHAPE_H
#define TOPOLOGY_SHAPE_H

#include "fabric.h"
#include "notes.h"

/* Adds a sentence for each connected part of f that is no tree. 0 or -ENOMEM. */
int shape_check(const struct fabric *f, struct notes *notes);

#endif
