/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ibnetdiscover.h - the text that ibnetdiscover (infiniband-diags) writes, as a subnet.
 */
#ifndef TOPOLOGY_IBNETDISCOVER_H
#define TOPOLOGY_IBNETDISCOVER_H

#include "subnet.h"

#define IBNETDISCOVER_MAX_BYTES (256u << 20)

/*
 * Reads len bytes; source is for sentences. A line that says something about the fabric and can't
 * be understood is in the result's `missing`, any other one in its `warnings`, both with its
 * number. NULL and err when there is no node in it at all (-ENODATA) or without memory.
 */
struct subnet *ibnetdiscover_parse(const char *text, size_t len, const char *source,
				   struct err *err);

#endif
