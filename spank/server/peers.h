/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers.h - the nodes of a job whose maps are not like those of their peers: that is how a host is
 * found whose cables are crossed, or that has lost a port.
 *
 * Pure: maps in, JSON out.
 */
#ifndef FABRIC_PEERS_H
#define FABRIC_PEERS_H

#include <stddef.h>

#include "fold.h"
#include "json.h"

/*
 * Adds to object "odd" [{"nodes": HOSTLIST, "has": TEXT, "peers": TEXT}], at most max of them
 * ("odd_more": how many were left out), for nodes that differ: the first thing in which they do.
 * Peers are nodes with the same model of GPU; there have to be three or more, and more than half of
 * them have to be alike, by names or else by numbers, or nothing is said. 0 or -ENOMEM.
 */
int peers_put(json_object *object, const struct fold_host *hosts, size_t count, size_t max);

#endif
