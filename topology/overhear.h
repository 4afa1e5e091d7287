/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overhear.h - what a library says on standard error while it works, and progress meanwhile.
 *
 * From begin to end the process's standard error goes to memory. On a terminal a line tells how
 * long it has been going on, from the second second on.
 */
#ifndef TOPOLOGY_OVERHEAR_H
#define TOPOLOGY_OVERHEAR_H

struct overhear;

/* what: "discovering through mlx5_0:1"; it must live until end. NULL: nothing is overheard. */
struct overhear *overhear_begin(const char *what);

/* What was said (malloc'ed, at most 1 MiB of it, never NULL but without memory); frees o. */
char *overhear_end(struct overhear *o);

#endif
