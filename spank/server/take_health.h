/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * take_health.h - POST /v1/health: what a watcher of the fabric observed.
 */
#ifndef FABRIC_TAKE_HEALTH_H
#define FABRIC_TAKE_HEALTH_H

#include "service.h"

/*
 * Sets and clears marks, writes health.json and says in the log who is hit. answer gets
 * "ports": [{port, host?, suspect, jobs: [{job, gpus?}]}] of the host ports that had errors. 0
 * after health.json is on disk, or a negative errno as take_message()'s.
 */
int take_health(struct service *s, json_object *object, int64_t now_ns, json_object *answer,
		struct err *err);

#endif
