/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * absent.h - what was there before and is not seen any more stays where it was, for a while.
 *
 * A host that reboots is not in a discovery, and neither is what hangs on a switch that reboots.
 * Without this, each such moment would rewrite topology.conf. The memory is the fabric.json that
 * the new one is going to replace.
 */
#ifndef TOPOLOGY_ABSENT_H
#define TOPOLOGY_ABSENT_H

#include "fabric.h"
#include "notes.h"
#include "subnet.h"

#define ABSENT_DAYS 30 /* how long, when nothing else is asked for */

struct absent_options {
	int64_t now_ns;
	int64_t forget_ns; /* what is absent so long is dropped; 0: nothing is kept */
};

/*
 * Adds to the finished subnet s, of which `now` was made, what of `was` it does not have, marked
 * absent. A port whose switch port has another cable, whose host has other HCAs or hangs elsewhere,
 * and a switch whose neighbours mostly have other cables are replaced, not absent. A part of a live
 * fabric that nothing leads to any more is a loss (s->missing). notes gets a sentence for each host
 * and switch that is absent or given up. Make the fabric again behind it. 0 or -ENOMEM.
 */
int absent_keep(struct subnet *s, const struct fabric *now, const struct fabric *was,
		const struct absent_options *options, struct notes *notes);

#endif
