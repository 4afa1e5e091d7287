/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marker.h - a small file for each step that is followed, <run>/steps/JOB.STEP.ID: by these a
 * sfabricd that starts knows the steps that the one before it followed.
 *
 * Text: "fabric-step 1 BOOT_ID PID", of its slurmstepd, then what fabric.so said at the step's
 * begin, as it said it (packet.h); once the step has ended, an empty line and what it said then. A
 * file that was cut, is of another boot or of a newer version is no marker.
 */
#ifndef FABRIC_MARKER_H
#define FABRIC_MARKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"
#include "packet.h"
#include "record.h"

struct marker {
	char id[RECORD_ID];
	pid_t stepd; /* 0: it had none */
	struct packet begin;
	bool ended;
	struct packet end;
};

/* Makes folder where it is missing. 0 or a negative errno. */
int marker_write(const char *folder, const struct marker *m, struct err *err);
/* Adds how the step ended. */
int marker_add_end(const char *folder, const struct record *r, const struct packet *end,
		   struct err *err);
void marker_remove(const char *folder, const struct record *r);

/* name: of a file in folder. -EPROTO: it is no marker (or not of this boot). */
int marker_read(const char *folder, const char *name, struct marker *m, struct err *err);

#endif
