/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.h - a fuzz target: a function that gives any bytes to one of our parsers and asserts what
 * must hold of the answer.
 *
 * A target has a file of its own, fuzz_NAME.c, and a line in the table of fuzz.c. It is run in two
 * ways: by `make check`, once over each of its seeds and each input that was a finding
 * (tests/data/fuzz/NAME), and by tests/fuzz/run under libFuzzer. It must not keep anything from one
 * input to the next, or a finding could not be repeated.
 */
#ifndef FABRIC_FUZZ_H
#define FABRIC_FUZZ_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "io.h"

struct fuzz_target {
	const char *name;
	const char *seeds; /* patterns of files below tests/data, blanks between them */
	void (*run)(const char *data, size_t len); /* no NUL follows the len bytes */
};

/* Ends the process, with the condition, unless it holds. */
#define must(condition) ((condition) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #condition))
_Noreturn void fuzz_broken(const char *file, int line, const char *condition);

/* Both ways of asking for memory end the process when there is none. */
char *fuzz_text(const char *data, size_t len); /* a copy with a NUL behind it */
void *fuzz_have(void *memory);		       /* what was given, which can't be NULL */

/*
 * Cuts text into at most max parts, between which there is a line "%%" each: their number. The last
 * one has the rest.
 */
#define FUZZ_BETWEEN "\n%%\n"
size_t fuzz_cut(char *text, char **parts, size_t max);

/* The path of a file in memory, mode 0600, that holds the bytes until the next call. */
const char *fuzz_file(const char *data, size_t len);

/* A folder for this process, which goes when it ends. */
const char *fuzz_folder(void);
/* Writes a file below that folder, and makes the folders it lies in. */
void fuzz_put(const char *name, const char *data, size_t len);

/* A file of tests/data that a target needs beside its input; malloc'ed. */
char *fuzz_data(const char *name, size_t *len);

/* True when both are NULL, or the same text. */
bool fuzz_same(const char *a, const char *b);

/* What munge_decode() and wire_get() of the program say (wrap.c): text is copied. */
void fuzz_wrap_credential(const char *payload, size_t len);
void fuzz_wrap_reply(int status, const char *text);

#endif
