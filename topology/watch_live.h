/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch_live.h - reads the error counters of switch ports over the fabric, by performance
 * management packets (PMA; libibmad).
 */
#ifndef TOPOLOGY_WATCH_LIVE_H
#define TOPOLOGY_WATCH_LIVE_H

#include "err.h"
#include "watch.h"

struct watch_live;

/*
 * device and port: the local port to ask through; NULL and 0: the first that is active. Finds the
 * switches and their linked ports. Needs /dev/infiniband/umad*, and a subnet manager that has given
 * LIDs. NULL, errno and err.
 */
struct watch_live *watch_live_open(const char *device, int port, unsigned timeout_ms,
				   struct err *err);
void watch_live_close(struct watch_live *l);

/* Finds them again: cables and LIDs may have changed. On failure the old ones stay. */
int watch_live_discover(struct watch_live *l, struct err *err);

/*
 * Reads all ports; *readings is malloc'ed. 0, or -ENOMEM; a port that does not answer is not read.
 * *unread: how many did not.
 */
int watch_live_read(struct watch_live *l, struct watch_reading **readings, size_t *count,
		    size_t *unread);

#endif
