/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io.h - whole files in, whole files out.
 *
 * Reading is bounded, so that a file that grows or never ends can't take the memory; writing is
 * atomic (temporary file beside it, fsync, rename, fsync of the folder), so that a reader meets
 * the old file or the new one and a full disk leaves the old one.
 */
#ifndef FABRIC_IO_H
#define FABRIC_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

/*
 * Reads path whole, at most max bytes. *text is malloc'ed, NUL-terminated behind its *len bytes
 * (which may themselves hold NULs), and the caller's. -EFBIG when the file is longer than max.
 */
int io_read(const char *path, size_t max, char **text, size_t *len, struct err *err);

/* The same from an open descriptor, which stays open; name is for the sentence. */
int io_read_fd(int fd, const char *name, size_t max, char **text, size_t *len, struct err *err);

/*
 * Replaces path by len bytes of data with that mode, atomically, and waits until the disk has it. On
 * failure path is as before.
 */
int io_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *err);

/*
 * The same without waiting for the disk: whole or as before whenever this process ends, but a power
 * failure may leave path missing or empty. io_sync() makes up for it.
 */
int io_write_soon(const char *path, const void *data, size_t len, mode_t mode, struct err *err);

/* Waits until the disk has path, a file or a folder. */
int io_sync(const char *path, struct err *err);

/* Makes path and its parents (mode for those it makes). An existing folder is fine. */
int io_mkdirs(const char *path, mode_t mode, struct err *err);

/* A text that grows, from { 0 }: what could not be added is remembered up to its end. */
struct io_text {
	char *text; /* NULL: nothing yet */
	size_t used, room;
	bool failed;
};
void io_add(struct io_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The whole text, malloc'ed; NULL when not all of it was added, and without memory. Clears t. */
char *io_end(struct io_text *t);

/* The text as it may be shown (text_printable()), malloc'ed; NULL without memory. */
char *io_printable(const char *text);

/* malloc'ed sprintf; NULL when memory is gone. */
char *io_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Nanoseconds since the epoch (CLOCK_REALTIME) and since boot (CLOCK_MONOTONIC). */
int64_t io_now_ns(void);
int64_t io_mono_ns(void);

/* The running kernel's boot id (/proc/sys/kernel/random/boot_id) without its newline. */
int io_boot_id(char id[37], struct err *err);

#endif
