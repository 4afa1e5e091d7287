/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.h - names out of what the fabric's nodes say about themselves.
 *
 * A node description is free text that an administrator, a driver or a vendor chose. Names made of
 * it are words of letters, digits, '_', '.', '-' and at most FABRIC_NAME_MAX bytes: safe in
 * topology.conf, in host lists and on a terminal.
 */
#ifndef TOPOLOGY_NAMES_H
#define TOPOLOGY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric.h"

#define NAME_ROOM (FABRIC_NAME_MAX + 1)

/*
 * "gpu1.example.org mlx5_0" gives host "gpu1" and device "mlx5_0" ("" when there is none); so do
 * "mlx5_0 gpu1", "gpu1:mlx5_0" and "gpu1-mlx5_0", which administrators configure. False when the
 * text names no host: empty, a vendor's or an installer's default, not a host name.
 */
bool names_host(const char *description, char host[NAME_ROOM], char device[NAME_ROOM]);

/*
 * True for the description of a CA that is in no host: a SHARP aggregation node (inside a switch),
 * a gateway or a port of a managed box.
 */
bool names_appliance(const char *description);

/* True for the host of a fabric manager (UFM), which hangs on any switch. */
bool names_manager(const char *host);

/*
 * The name a switch has by its description ("MF0;leaf1:MQM9700/U1" is leaf1), "" when it has none
 * of its own (a vendor's default).
 */
void names_switch(const char *description, char name[NAME_ROOM]);

/* The name of the box that a managed switch is an ASIC of ("MF0;box:Q3400_RA/U2" is box), or "". */
void names_chassis(const char *description, char name[NAME_ROOM]);

/* The name that is always unique: "S-" and the GUID, as ibnetdiscover writes it. */
void names_switch_guid(uint64_t guid, char name[NAME_ROOM]);

/*
 * What count names have in common when they are cut into letters, digits and the rest: of leaf-1-04
 * and leaf-2-04 it is leaf-04. "" when they are not made alike or nothing is left. 0 or -ENOMEM.
 */
int names_common(const char *const *names, size_t count, char common[NAME_ROOM]);

/* strcmp() with numbers compared as numbers: mlx5_9 before mlx5_10. */
int names_compare(const char *a, const char *b);

#endif
