/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff.h - what moved between two topology files, in words.
 */
#ifndef TOPOLOGY_DIFF_H
#define TOPOLOGY_DIFF_H

#include <stdbool.h>

#include "fabric.h"
#include "layout.h"

/*
 * Adds a sentence for each change that matters to Slurm. *restart: slurmctld must be restarted, a
 * reconfigure is not enough. 0 or -ENOMEM.
 */
int layout_diff(const struct layout *was, const struct layout *is, struct findings *changes,
		bool *restart);

/* The switches that came, went or were renamed, by GUID. */
void fabric_diff(const struct fabric *was, const struct fabric *is, struct findings *changes);

#endif
