/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * publish.h - keeps the node's map up to date and tells it: <run>/env for fabric.so, /v1/map for
 * sfabricctld. A thread of its own, because reading a machine's devices takes a while and may
 * block.
 */
#ifndef FABRIC_PUBLISH_H
#define FABRIC_PUBLISH_H

#include <stdbool.h>

#include "agent_log.h"
#include "conf.h"
#include "err.h"
#include "sampler.h"
#include "sender.h"

struct publish;

struct publish_with { /* all of it must live as long */
	const struct conf *conf;
	const char *node;	 /* the map's host */
	const char *run_dir;	 /* expanded */
	struct sampler *sampler; /* told to look for new devices */
	struct sender *sender;
	const struct agent_log *log;
};

struct publish *publish_start(const struct publish_with *with, struct err *err);
void publish_pause(struct publish *p,
		   bool paused); /* off: the env file goes until it is on again */
/* Removes the env file; NULL is fine. False: the thread hangs and still uses what it was given. */
bool publish_stop(struct publish *p);

#endif
