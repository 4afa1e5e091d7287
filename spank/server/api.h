/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.h - what sfabricctld answers: one function from a request to a reply (wire.h has the paths).
 *
 * POST needs a credential of uid 0: root on any node can speak for any node, as in Slurm. GET of a
 * job is for its owner, root, the service's own account, SlurmUser and Slurm's operators, whatever
 * PrivateData says: to all others, also to an account's coordinators, no job is known. Maps are for
 * everybody with an account on the cluster, unless PrivateData has nodes.
 */
#ifndef FABRIC_API_H
#define FABRIC_API_H

#include "http_server.h"

/* arg: struct service. An http_handler. */
void api_handle(void *service, const struct http_request *request, struct http_reply *reply);

#endif
