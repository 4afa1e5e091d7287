/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_conf.h - topology.conf for Slurm's topology/tree out of a fabric.
 */
#ifndef TOPOLOGY_TREE_CONF_H
#define TOPOLOGY_TREE_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "fabric.h"
#include "wanted.h"

struct tree_report {
	size_t hosts, units, pods, areas;
	size_t switches; /* above the units, where all of them are listed */
	size_t roots;	 /* written; a unit that is alone in its island is its root */
	char *unplaced;	 /* host list: in the fabric and wanted, but on no switch; "" none */
	size_t unplaced_count;
	char *unknown; /* host list: wanted, but not in the fabric; "" none */
	size_t unknown_count;
};

/*
 * The text of topology.conf, malloc'ed. nodes: the wanted ones, NULL for all hosts of the fabric.
 * full: every switch above the leaves is listed, each with what is right below it, instead of pods,
 * areas and islands. writer and snapshot go into the first comment. NULL and err when no wanted
 * host is on a switch
 * (-ENODATA), two groups have one name (-EEXIST), or without memory. Clear report either way.
 */
char *tree_conf_text(const struct fabric *f, const struct wanted *nodes, size_t node_count,
		     bool full, const char *writer, const char *snapshot,
		     struct tree_report *report, struct err *err);

void tree_report_clear(struct tree_report *report);

#endif
