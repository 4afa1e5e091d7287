/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bare_service.h - sfabricctld's service without a store, a fabric or a thread: what answers and
 * takes messages needs no more. Its caller opens the store.
 */
#ifndef FABRIC_BARE_SERVICE_H
#define FABRIC_BARE_SERVICE_H

#include "service.h"

static inline void bare_log(int priority, const char *text)
{
	(void)priority;
	(void)text;
}

#define BARE_CONF(json)                                                                            \
	{                                                                                          \
		.path = (char *)"test", .cluster = (char *)"c1", .slurm_conf = (char *)"",         \
		.fabric_json = (char *)(json)                                                      \
	}

#define BARE_SERVICE(its_conf)                                                                     \
	{                                                                                          \
		.with = { .conf = (its_conf), .fabric_max = SIZE_MAX, .log = bare_log },           \
		.conf = (its_conf), .helper = "/nonexistent",                                      \
		.fabric_lock = PTHREAD_MUTEX_INITIALIZER, .reload = PTHREAD_MUTEX_INITIALIZER,     \
		.users.lock = PTHREAD_MUTEX_INITIALIZER, .bell_lock = PTHREAD_MUTEX_INITIALIZER,   \
		.bell = PTHREAD_COND_INITIALIZER                                                   \
	}

#endif
