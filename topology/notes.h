/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes.h - a bounded list of sentences for a person: what could not be understood, what is
 * missing.
 *
 * A broken input can give a sentence per line; the first NOTES_KEPT are kept and all are counted.
 */
#ifndef TOPOLOGY_NOTES_H
#define TOPOLOGY_NOTES_H

#include <stddef.h>

#define NOTES_KEPT 100

struct notes {
	char *lines[NOTES_KEPT];
	size_t kept;
	size_t total; /* kept and not kept */
};

/*
 * Adds a sentence. What could move a terminal or is no UTF-8 is replaced by '?'; a sentence is cut
 * at 400 bytes. Without memory it is only counted.
 */
void notes_add(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void notes_clear(struct notes *n);

#endif
