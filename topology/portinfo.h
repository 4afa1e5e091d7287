/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * portinfo.h - what a PortInfo attribute (IBTA 1.4, 14.2.5.6) says about a port's wire.
 *
 * Live discovery and libibnetdisc's cache files both hold PortInfo as it came from the wire.
 */
#ifndef TOPOLOGY_PORTINFO_H
#define TOPOLOGY_PORTINFO_H

#include <stdbool.h>

#include "fabric.h"

/*
 * Width, speed and state, and the most of both that this end supports, out of 64 bytes of PortInfo.
 * caps: the PortInfo that has the port's CapabilityMask, which for a switch is its port 0's; NULL
 * unknown. vendor: Mellanox's extended port information, which alone tells FDR10 from QDR; NULL
 * unknown, and so is the speed of either.
 */
struct fabric_wire portinfo_wire(void *info, void *caps, void *vendor);

/* The wire is up, so that somebody must be at its other end. */
bool portinfo_is_up(void *info);

#endif
