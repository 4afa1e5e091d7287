/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lost.h - what libibnetdisc says about queries that nobody answered.
 *
 * It returns a fabric all the same, and tells of them on standard error only, a line each:
 * "query_smp.c:186; umad (DR path slid 0; dlid 0; 0,1,4 Attr 0x11:0) bad status 110; ...".
 */
#ifndef TOPOLOGY_LOST_H
#define TOPOLOGY_LOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOST_HOPS_MAX 63 /* of a directed route, IBTA 1.4, 14.2.1.2 */

struct lost_query {
	unsigned attribute, modifier;
	uint8_t path[LOST_HOPS_MAX + 1]; /* ports to leave by; the first is 0, for the local node */
	size_t hops;			 /* behind the first */
};

/* False when the line tells of no such query. */
bool lost_parse(const char *line, struct lost_query *query);

/* "NodeInfo"; NULL for an attribute whose loss leaves no hole (vendors' own). */
const char *lost_name(const struct lost_query *query);

#endif
