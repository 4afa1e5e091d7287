/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * health.h - who is suspect, contract health.json.
 *
 * Written by sfabricctld alone, beside fabric.json, atomically; read by what places jobs. A mark
 * names a port (by GUID) or a host, and runs out by itself.
 */
#ifndef FABRIC_HEALTH_H
#define FABRIC_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define HEALTH_FORMAT "slurm-fabric/health"
#define HEALTH_VERSION 1
#define HEALTH_MAX_BYTES (16u << 20)

struct health_mark {
	uint64_t port; /* port GUID; 0: the mark is on a host */
	char *host;    /* NULL: the mark is on a port */
	int64_t since_ns, until_ns;
	char *by;  /* who set it: "record 1234.0", "admin root" */
	char *why; /* a sentence */
};

struct health {
	struct health_mark *marks;
	size_t count;
};

void health_free(struct health *h);
struct health *health_load(const char *path, struct err *err);
struct health *health_parse(const char *text, size_t len, const char *source, struct err *err);
char *health_text(const struct health *h); /* malloc'ed */

#endif
