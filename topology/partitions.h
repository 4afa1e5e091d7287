/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partitions.h - which ports are in which InfiniBand partition, from opensm's partitions.conf.
 *
 * A P_Key says what a port is for, compute or storage, and no discovery shows it: the subnet
 * manager's own configuration does. Its form is told in opensm(8), PARTITION CONFIGURATION.
 */
#ifndef TOPOLOGY_PARTITIONS_H
#define TOPOLOGY_PARTITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define PARTITIONS_MAX_BYTES (64u << 20)

struct partitions;

/*
 * Reads len bytes; source is for sentences. Members that are no GUID, and no word for all HCAs, are
 * passed over: switches, routers, multicast groups. NULL and err when there is no partition in it
 * (-EINVAL) or without memory.
 */
struct partitions *partitions_parse(const char *text, size_t len, const char *source,
				    struct err *err);
void partitions_free(struct partitions *p);

/*
 * Whether a port is in a partition of that P_Key ("0x8001"; the bit for full membership does not
 * matter) or of a name that matches the pattern (fnmatch(3)). A port without a GUID is in none.
 */
bool partitions_hold(const struct partitions *p, uint64_t port_guid, const char *pattern);

#endif
