/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subnet.h - one InfiniBand subnet (or several, merged by GUID) as it was discovered: nodes and
 * cables, nothing concluded yet.
 *
 * Readers (ibnetdiscover.c, live.c) add what they see in any order and as often as they see it;
 * subnet_finish() sorts, merges, checks, and says in `missing` what the discovery must have lost.
 * model.c makes the fabric of it. No I/O here.
 */
#ifndef TOPOLOGY_SUBNET_H
#define TOPOLOGY_SUBNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fabric.h"
#include "namemap.h"
#include "notes.h"

enum subnet_kind { SUBNET_SWITCH, SUBNET_CA, SUBNET_ROUTER };

struct subnet_node {
	uint64_t guid;
	uint64_t system_guid; /* 0 unknown */
	enum subnet_kind kind;
	char *description; /* NodeDescription; NULL unknown */
	int ports;	   /* 0 unknown */
	uint32_t vendor;   /* 0 unknown */
	uint32_t device;   /* 0 unknown */
	bool described;	   /* false: only named as the far end of a cable */
	int only_port; /* not 0: guid is that of this port of a CA or router; the node's is unknown
			*/
	int64_t absent_ns; /* not there any more: as in fabric.h */
};

struct subnet_port { /* of a CA or router whose port GUID is known */
	uint64_t node;
	int number;
	uint64_t guid;
};

struct subnet_end {
	uint64_t node; /* GUID */
	int port;
};

struct subnet_cable {
	struct subnet_end a, b; /* after finish: a is the lower one (by GUID, then port) */
	struct fabric_wire wire;
	bool from_a, from_b; /* which ends told of it */
};

struct subnet_bare { /* a switch's port without a cable that is known of */
	struct subnet_end end;
	bool up; /* so that there is one */
};

struct subnet {
	struct subnet_node *nodes; /* after finish: by GUID, each once */
	size_t node_count, node_room;
	struct subnet_port *ports; /* after finish: by node and number, each once */
	size_t port_count, port_room;
	struct subnet_cable *cables; /* after finish: by a, then b; each port in one cable */
	size_t cable_count, cable_room;
	struct subnet_bare *bare; /* after finish: by end, each once */
	size_t bare_count, bare_room;
	struct fabric_counts *counts; /* after finish: by node and port, each once */
	size_t counts_count, counts_room;
	/* Not owned, before finish: */
	const struct namemap *names; /* instead of descriptions; or NULL */
	const struct fabric *was; /* what it was before, which names what did not answer; or NULL */
	bool links_unknown;	  /* nobody told how switches are joined, and they may well be */
	struct notes missing;	  /* what the discovery lost; none: complete */
	struct notes warnings;	  /* what was not understood, but says nothing about the fabric */
};

struct subnet *subnet_new(void);
void subnet_free(struct subnet *s);

/* Copies node, its description included. 0 or -ENOMEM. */
int subnet_add_node(struct subnet *s, const struct subnet_node *node);
int subnet_add_port(struct subnet *s, uint64_t node, int number, uint64_t guid);
/* The end `a` told of the cable; both says that `b` did as well. */
int subnet_add_cable(struct subnet *s, struct subnet_end a, struct subnet_end b,
		     const struct fabric_wire *wire, bool both);

int subnet_add_counts(struct subnet *s, const struct fabric_counts *counts);
int subnet_add_bare(struct subnet *s, struct subnet_end end, bool up);

/* Call once, when all is added. 0 or -ENOMEM. */
int subnet_finish(struct subnet *s);

/* Sorts and merges again what was added behind finish, which nothing is said about. 0 or -ENOMEM.
 */
int subnet_sort(struct subnet *s);

/* After finish: the index of a node, FABRIC_NONE when there is none. */
size_t subnet_find(const struct subnet *s, uint64_t guid);
/* After finish: the bare port at that end, NULL when it is none. */
const struct subnet_bare *subnet_find_bare(const struct subnet *s, struct subnet_end end);
/* After finish: the two ends of each cable, sorted for subnet_has_end(); malloc'ed, NULL without
 * memory. */
struct subnet_end *subnet_ends(const struct subnet *s);
bool subnet_has_end(const struct subnet *s, const struct subnet_end *ends, struct subnet_end end);
/* After finish: the GUID of a node's port, 0 when it is unknown. */
uint64_t subnet_port_guid(const struct subnet *s, uint64_t node, int number);

/*
 * Bits per second after encoding of `width` lanes at the speed that ibnetdiscover calls by that
 * word
 * ("SDR" ... "XDR", "FDR10"); 0 for an unknown word. Lane rates: IBTA vol. 2, and 8b/10b up to QDR,
 * 64b/66b for FDR10 to EDR; from HDR on the names' 50, 100, 200 Gb/s are payload.
 */
uint64_t subnet_speed_bps(const char *word, int width);

#endif
