/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model.h - from what was discovered (subnet.h) to what it means (fabric.h).
 */
#ifndef TOPOLOGY_MODEL_H
#define TOPOLOGY_MODEL_H

#include "fabric.h"
#include "notes.h"
#include "pick.h"
#include "subnet.h"

struct model_options {
	const struct pick *picks; /* which HCA ports count */
	size_t pick_count;
	const struct partitions *partitions; /* that picks may ask for, or NULL */
	bool directors_are_one; /* switches with one system image GUID are one switch to the groups
				 */
};

/*
 * Makes the fabric of a finished subnet. options may be NULL: all ports count. how, source, seen_ns
 * go into it as they are (text made printable). notes gets what a person should know and could
 * repair: HCAs without a host name, two hosts of one name. NULL and err without memory.
 */
struct fabric *model_build(const struct subnet *s, const char *how, const char *source,
			   int64_t seen_ns, const struct model_options *options,
			   struct notes *notes, struct err *err);

#endif
