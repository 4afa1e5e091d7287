/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local.h - sfabricd as its own service, where there is no sfabricctld (server = {"none"}): what
 * the node tells goes into a store of its own, and of jobs whose first host it is it writes the
 * field.
 *
 * One thread opens the store, which may take its time or fail for long, and then follows the jobs;
 * it alone waits for Slurm. Whoever delivers waits for the store's disk.
 */
#ifndef FABRIC_LOCAL_H
#define FABRIC_LOCAL_H

#include <stdbool.h>

#include "agent_log.h"
#include "conf.h"
#include "err.h"
#include "sender.h"

/* A fabric.json of 8 MiB (some 1 500 hosts with 8 rails) takes some 90 MiB while it is read. */
#define LOCAL_FABRIC_MAX (8u << 20)

struct local;

struct local_with { /* all of it must live as long */
	const struct conf *conf;
	const char *node;   /* by Slurm's name of it */
	const char *folder; /* of the store */
	const char *helper; /* NULL: the installed sfabric-slurm */
	const struct agent_log *log;
};

/* NULL and err without a thread. A store that can't be opened is tried again, and the log says so.
 */
struct local *local_start(const struct local_with *with, struct err *err);

/* Into the store; what is delivered before it is open has to come again. */
struct sender_way local_way(struct local *l);

/* NULL is fine. False: the thread hangs and still uses what it was given. */
bool local_stop(struct local *l);

#endif
