/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pick.h - which HCA ports count: storage and management fabrics stay out of the tree.
 *
 * A pick is KEY=VALUE, given by --only or --skip. A port counts when it meets one --only of each
 * key that has any, and no --skip. What is unknown meets nothing.
 */
#ifndef TOPOLOGY_PICK_H
#define TOPOLOGY_PICK_H

#include "fabric.h"
#include "partitions.h"

enum pick_key { PICK_DEVICE, PICK_HOST, PICK_SWITCH, PICK_PLANE, PICK_SPEED, PICK_PKEY };

struct pick {
	enum pick_key key;
	bool skip;
	const char *pattern; /* fnmatch(3); of the text given, not owned */
	uint64_t number;     /* plane, or bits per second and more */
};

/*
 * "device=mlx5_[0-3]", "host=", "switch=" (patterns), "plane=1", "speed=200" (Gb/s, at least).
 * -EINVAL and err for anything else.
 */
int pick_parse(struct pick *pick, const char *text, bool skip, struct err *err);

/* Whether this port of f counts. partitions: for pkey=, may be NULL without any. */
bool picks_count(const struct pick *picks, size_t count, const struct partitions *partitions,
		 const struct fabric *f, const struct fabric_port *port);

bool picks_have(const struct pick *picks, size_t count, enum pick_key key);

#endif
