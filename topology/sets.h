/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets.h - grouping things by the set of switches they touch, a part of a set forgiven.
 *
 * Hosts with the same leaves are a unit, also those with a dark rail, whose set is a part of the
 * others'. Units below the same second-level switches are a pod in the same way. What touches two
 * groups (a login node with a leg in each) must not make them one.
 */
#ifndef TOPOLOGY_SETS_H
#define TOPOLOGY_SETS_H

#include <stddef.h>

struct set {
	const size_t *items; /* sorted, each once */
	size_t count;
	size_t weight; /* how many have exactly this set */
	size_t group;  /* result: the index of the set it belongs to, its own for a group of its own
			*/
};

/* Order of sets: by size, then by items. */
int sets_compare(const struct set *a, const struct set *b);

/*
 * Fills in `group` of n different sets. A set joins the one biggest set that holds it; it stays
 * alone when there are several such, or none. A set that holds two sets without a common item, each
 * with more weight than it, is a bridge and takes nobody in. 0 or -ENOMEM.
 */
int sets_group(struct set *sets, size_t n);

#endif
