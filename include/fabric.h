/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fabric.h - the fabric snapshot, contract fabric.json.
 *
 * What sfabric-topology found out about one fabric, as all other parts see it: switches with their
 * level, the links between them, the HCA ports of hosts with the switch port each hangs on, and the
 * groups that placement thinks in: units (hosts with the same set of leaf switches), pods (units
 * below the same second-level switches), areas (the same one level up and more, where a fabric has so
 * many levels) and islands (parts with no link between them).
 *
 * Arrays are sorted (switches by GUID; ports by GUID, HCA and number; hosts, units, pods, areas, islands by
 * name in byte order; links by their lower end), so that an unchanged fabric gives a byte-identical
 * file. References are indexes into the arrays; FABRIC_NONE where there is nothing to refer to. The
 * keys of the file are described at the top of fabric.c.
 *
 * What a discovery does not see any more is not dropped at once: a host that reboots stays where it was.
 * Its ports (and a switch that is away, and its links) are in the arrays like all others and take part
 * in levels and groups; absent_ns says since when they are not there, and width and speed are unknown.
 */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define FABRIC_FORMAT "slurm-fabric/fabric"
#define FABRIC_VERSION 1
#define FABRIC_MAX_BYTES (256u << 20)
#define FABRIC_NONE ((size_t)-1)
#define FABRIC_NAME_MAX 63 /* bytes of a name: letters, digits, '_', '.', '-' (Slurm's limit) */

/* Logical state of a link: PortInfo.PortState (IBTA 1.4, 14.2.5.6). */
enum link_state { LINK_UNKNOWN, LINK_DOWN, LINK_INIT, LINK_ARMED, LINK_ACTIVE };

struct fabric_wire {
	int width;          /* lanes: 1, 2, 4, 8, 12; 0 unknown */
	uint64_t speed_bps; /* of the whole link, after encoding (4x EDR: 100e9); 0 unknown */
	int best_width;		 /* the most lanes that both ends support; 0 unknown */
	uint64_t best_speed_bps; /* of the whole link, likewise */
	enum link_state state;
	bool degraded;	   /* narrower or slower than its peers, which it need not be; 1x, SDR */
	int64_t absent_ns; /* since when it is not there, kept as it was; 0: it is there */
};

struct fabric_switch {
	uint64_t guid;
	uint64_t system_guid; /* system image GUID, 0 unknown */
	char *name;           /* unique in the fabric, stable over rediscovery, never NULL */
	char *chassis;        /* director it belongs to, or NULL */
	int level;            /* 0 leaf, 1 above it, ...; -1 not in a tree */
	int plane;            /* -1 unknown */
	int ports;            /* physical ports, 0 unknown */
	int64_t absent_ns;    /* as of a wire */
};

struct fabric_link { /* between two switches */
	size_t a, b; /* switches; a's GUID is the lower one (same switch: lower port first) */
	int a_port, b_port;
	struct fabric_wire wire;
};

struct fabric_port { /* of an HCA */
	uint64_t guid;        /* port GUID, 0 unknown */
	uint64_t node_guid;   /* of the HCA */
	uint64_t system_guid; /* of the card, 0 unknown */
	size_t host;          /* FABRIC_NONE: no host name is known for it */
	char *device;         /* "mlx5_0", "HCA-1"; NULL unknown */
	int port;             /* number on the HCA, from 1 */
	size_t sw;            /* switch it hangs on, FABRIC_NONE: on none (host to host cable) */
	int sw_port;
	int rail; /* from 0; -1: the fabric has no rails or it is unknown */
	bool skipped; /* of a storage or management fabric: levels, units and rails ignore it */
	struct fabric_wire wire;
};

/* What a port counted: PortCounters and PortCountersExtended (IBTA 1.4, 16.1.3.5 and 16.1.4). */
enum fabric_counter {
	COUNTER_SYMBOL_ERRORS,
	COUNTER_LINK_RECOVERIES,
	COUNTER_LINK_DOWNED,
	COUNTER_RCV_ERRORS,
	COUNTER_RCV_REMOTE_PHYSICAL,
	COUNTER_RCV_SWITCH_RELAY,
	COUNTER_XMIT_DISCARDS,
	COUNTER_XMIT_CONSTRAINT,
	COUNTER_RCV_CONSTRAINT,
	COUNTER_LOCAL_INTEGRITY,
	COUNTER_BUFFER_OVERRUNS,
	COUNTER_VL15_DROPPED,
	COUNTER_XMIT_WAIT,
	COUNTER_XMIT_BYTES,
	COUNTER_RCV_BYTES,
	COUNTER_XMIT_PACKETS,
	COUNTER_RCV_PACKETS,
	FABRIC_COUNTERS
};

struct fabric_counts { /* of one port of a switch or HCA; a port that did not answer has none */
	uint64_t node_guid;
	int port;
	int64_t time_ns;		 /* when they were read */
	uint64_t value[FABRIC_COUNTERS]; /* UINT64_MAX unknown; errors stay at their largest value */
};

struct fabric_host {
	char *name;
	size_t unit; /* FABRIC_NONE: its ports hang on no switch */
};

struct fabric_unit {
	char *name;
	size_t *leaves; /* switches, sorted; a spine where hosts hang on nothing else */
	size_t leaf_count;
	size_t pod;
};

struct fabric_pod {
	char *name;
	size_t island;
	size_t area; /* FABRIC_NONE: right below the island */
};

struct fabric_area { /* pods, or areas, below the same switches, in trees of four levels and more */
	char *name;
	size_t island;
	size_t parent; /* the area around it; FABRIC_NONE: right below the island */
};

struct fabric_island {
	char *name;
};

struct fabric {
	char *how;       /* "live" or "file" */
	char *source;    /* local port or file name(s) */
	int64_t seen_ns; /* when this content was first discovered */
	char **missing;  /* what the discovery lost, a sentence each; none: complete */
	size_t missing_count;

	struct fabric_switch *switches;
	size_t switch_count;
	struct fabric_link *links;
	size_t link_count;
	struct fabric_port *ports;
	size_t port_count;
	struct fabric_counts *counts; /* by node GUID and port; empty unless they were asked for */
	size_t counts_count;
	struct fabric_host *hosts;
	size_t host_count;
	struct fabric_unit *units;
	size_t unit_count;
	struct fabric_pod *pods;
	size_t pod_count;
	struct fabric_area *areas;
	size_t area_count;
	struct fabric_island *islands;
	size_t island_count;

	atomic_uint sharers; /* beyond the first; see fabric_share() */
};

/* Another one who holds f, in any thread, and frees it in the end; nobody changes it from then on. */
struct fabric *fabric_share(struct fabric *f);
/* Frees f and all it holds when nobody else does; NULL is fine. */
void fabric_free(struct fabric *f);

/* Reads a fabric.json; all references and the order are checked. NULL, errno and err on failure. */
struct fabric *fabric_load(const char *path, struct err *err);

/* The same from len bytes of text; source is for errors. */
struct fabric *fabric_parse(const char *text, size_t len, const char *source, struct err *err);

/*
 * Reads only islands, areas, pods, units (without their leaves) and hosts; everything else is empty. The
 * rest of the file is skipped, and so is its memory: this is for slurmctld. Never write the result.
 */
struct fabric *fabric_load_groups(const char *path, struct err *err);
struct fabric *fabric_parse_groups(const char *text, size_t len, const char *source,
				   struct err *err);

/* The canonical text, malloc'ed; NULL without memory. */
char *fabric_text(const struct fabric *f);

/*
 * Writes path atomically, mode 0644. A file that says the same (but for seen_ns) is left as it is:
 * *changed tells. A broken one is replaced.
 */
int fabric_save(const struct fabric *f, const char *path, bool *changed, struct err *err);

/* Index by binary search, FABRIC_NONE when it is not there. */
size_t fabric_find_switch(const struct fabric *f, uint64_t guid);
size_t fabric_find_port(const struct fabric *f, uint64_t guid);
size_t fabric_find_host(const struct fabric *f, const char *name);

/* How many hosts a unit has: every host with a name, also those that Slurm does not know. */
struct fabric_unit_size {
	size_t island;
	uint32_t hosts;
};

/*
 * The size of each unit, by island and in it the largest first: malloc'ed, *count of them. NULL
 * without units or memory.
 */
struct fabric_unit_size *fabric_unit_sizes(const struct fabric *f, size_t *count);
void fabric_sort_units(struct fabric_unit_size *sizes, size_t count); /* into that order */

/*
 * The fewest units of one island that hold that many hosts together; 0 when no island does. sizes
 * are in the order of fabric_unit_sizes().
 */
uint32_t fabric_fewest_units(const struct fabric_unit_size *sizes, size_t count, uint32_t hosts);

const char *fabric_counter_name(enum fabric_counter counter); /* "symbol_errors" */
const char *link_state_name(enum link_state state); /* "active", "armed", "init", "down", "unknown" */
bool link_state_parse(const char *text, enum link_state *state);

#endif
