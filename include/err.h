/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err.h - how every module of slurm-fabric says what went wrong.
 *
 * A function that can fail returns 0 or a negative errno (or NULL) and, when the caller passed a
 * struct err, leaves one sentence for a person in it: the file, the line, the thing, the cure.
 * Nothing below include/, topology/, select/ or spank/ prints or exits, but the main() files.
 */
#ifndef FABRIC_ERR_H
#define FABRIC_ERR_H

#include <stdarg.h>

struct err {
	char text[512]; /* always terminated; longer sentences are cut */
};

/* Sets the sentence (err may be NULL) and returns -code. code: a positive errno. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int err_vset(struct err *err, int code, const char *fmt, va_list ap) __attribute__((format(printf, 3, 0)));

/* Puts "fmt: " in front of the sentence that is there, and returns rc unchanged. */
int err_prefix(struct err *err, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
