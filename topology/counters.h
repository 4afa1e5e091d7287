/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters.h - what the ports of a discovered fabric have counted, asked from their performance
 * management agents (PMA).
 */
#ifndef TOPOLOGY_COUNTERS_H
#define TOPOLOGY_COUNTERS_H

#include <infiniband/umad.h>
/* mad.h after umad.h: it uses its types */
#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>

#include "subnet.h"

/*
 * Adds to s the counters of each port of found that has a cable and answers. Nothing of it makes a
 * discovery incomplete: what is wrong goes to s->warnings. 0 or -ENOMEM.
 */
int counters_read(struct subnet *s, const ibnd_fabric_t *found, const char *device, int port,
		  unsigned timeout_ms);

/*
 * The error counters (PortCounters) of one port, by the LID of its node; all others are unknown,
 * and so are node_guid and time_ns. False when nobody answers.
 */
bool counters_errors(struct ibmad_port *mad, int lid, int port, unsigned timeout_ms,
		     struct fabric_counts *counts);

#endif
