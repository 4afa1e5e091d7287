/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * take.h - takes what a node tells into the store: a step's begin, a map, a record, what was
 * seen at ports.
 *
 * Whoever brought the message, a request over the wire or sfabricd itself, has proven by then that
 * it may tell. Messages are those of wire.h and go by its paths.
 */
#ifndef FABRIC_TAKE_H
#define FABRIC_TAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "json.h"
#include "service.h"

#define TAKE_NODE_MAX 255 /* bytes of a node's name */

/* Is this the path of a message? */
bool take_knows(const char *path);

/*
 * Checks json, stores it and wakes the field writer. answer gets what the sender is told. 0 after
 * the commit is on disk, or a negative errno: -EPROTO what is no such message, -EPROTONOSUPPORT
 * what a newer program wrote, -ESTALE a message of a job that is forgotten, else what kept it from
 * being stored.
 */
int take_message(struct service *s, const char *path, const char *json, int64_t now_ns,
		 json_object *answer, struct err *err);

/* What a negative errno of ours is in HTTP: 4xx for what no repeating can better. */
int take_http_status(int rc);

#endif
