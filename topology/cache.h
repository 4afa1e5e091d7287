/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.h - the cache files that libibnetdisc's tools write (ibnetdiscover --cache), as a subnet.
 */
#ifndef TOPOLOGY_CACHE_H
#define TOPOLOGY_CACHE_H

#include "subnet.h"

bool cache_is(const char *text, size_t len);

/*
 * Adds what the len bytes of a cache tell to s; source is for sentences. What the discovery had
 * lost when it was cached is in `missing` of s. -EINVAL and err when it is no such file or is cut,
 * -ENOMEM.
 */
int cache_read(struct subnet *s, const char *text, size_t len, const char *source, struct err *err);

#endif
