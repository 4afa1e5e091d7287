/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namemap.h - names that an administrator gives to GUIDs, for nodes that don't say who they are.
 *
 * The form is the node name map of rdma-core's tools (`0x0008f10400411f56 "leaf1" # comment`); so
 * are understood, a pair a line: GUIDs as ibnetdiscover's ids (H-..., S-...), without 0x or with
 * colons, names without quotes, and the name first ("gpu1: 0x...").
 */
#ifndef TOPOLOGY_NAMEMAP_H
#define TOPOLOGY_NAMEMAP_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "notes.h"

#define NAMEMAP_MAX_BYTES (64u << 20)

struct namemap;

/*
 * Reads len bytes; source is for sentences. Lines that are not understood, and a GUID that is given
 * another name before, are in warnings with their number. NULL and err when there is no pair in it
 * (-EINVAL) or without memory.
 */
struct namemap *namemap_parse(const char *text, size_t len, const char *source,
			      struct notes *warnings, struct err *err);
void namemap_free(struct namemap *m);

/* The name of a node or port GUID, NULL when it has none. */
const char *namemap_find(const struct namemap *m, uint64_t guid);

#endif
