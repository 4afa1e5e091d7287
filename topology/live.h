/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.h - the fabric as it answers now, by subnet management packets (libibnetdisc).
 */
#ifndef TOPOLOGY_LIVE_H
#define TOPOLOGY_LIVE_H

#include "subnet.h"

struct live_options {
	unsigned timeout_ms;	     /* for one packet, which is sent up to 4 times */
	unsigned max_smps;	     /* packets on the wire at a time */
	bool counters;		     /* ask each port with a cable for what it counted, too */
	const struct namemap *names; /* instead of what nodes say of themselves; or NULL */
	const struct fabric *was;    /* what it was before (subnet.h); or NULL */
};

/*
 * Discovers through every local InfiniBand port that is up and that no earlier one reached
 * (separate planes), merged by GUID. Needs access to /dev/infiniband/umad*. *source (malloc'ed)
 * names the ports used. NULL and err when there is no such port or none gave anything.
 */
struct subnet *live_discover(const struct live_options *options, char **source, struct err *err);

#endif
