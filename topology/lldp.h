/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lldp.h - what the machines of an Ethernet (RoCE) fabric say about their neighbours, as a subnet.
 *
 * There is no subnet manager to ask, so each machine's `lldpcli -f json0 show neighbors` (or -f
 * json) is one input; who is a switch and which sightings are one cable can only be told when all
 * are in.
 */
#ifndef TOPOLOGY_LLDP_H
#define TOPOLOGY_LLDP_H

#include "subnet.h"

struct lldp;

struct lldp *lldp_new(void);
void lldp_free(struct lldp *l);

bool lldp_is(const char *text, size_t len);

/*
 * Adds one machine's JSON; `show chassis` may come before or behind it and says who the machine is,
 * else it is called by the name of source without its folder and from the first dot on. -EINVAL and
 * err when it is not lldpcli's, -ENOMEM.
 */
int lldp_add(struct lldp *l, const char *text, size_t len, const char *source, struct err *err);

/*
 * Adds all that was told to s. An HCA is an interface of a host, a GUID is made of the chassis' MAC
 * address or else of names. When no switch was heard itself, links between switches are unknown and
 * s says so. 0 or -ENOMEM.
 */
int lldp_finish(struct lldp *l, struct subnet *s);

#endif
