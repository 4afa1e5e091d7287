/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ibnetdiscover.h - the text that ibnetdiscover (infiniband-diags) and ibdiagnet write, as a
 * subnet.
 *
 * Plain, grouped (-g) and listed by port (-p); the forms may be mixed.
 */
#ifndef TOPOLOGY_IBNETDISCOVER_H
#define TOPOLOGY_IBNETDISCOVER_H

#include "subnet.h"

/*
 * Adds what len bytes of text tell to s; source is for sentences. A line that says something about
 * the fabric and can't be understood is in `missing` of s, any other one in its `warnings`, both
 * with its number. -ENODATA and err when there is no node in it at all, -ENOMEM.
 */
int ibnetdiscover_read(struct subnet *s, const char *text, size_t len, const char *source,
		       struct err *err);

#endif
