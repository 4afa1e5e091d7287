/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unit.h - what every unit test includes: cmocka with the headers it wants before it, and the data.
 */
#ifndef FABRIC_UNIT_H
#define FABRIC_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CMOCKA_DISABLE_DEPRECATION_WARNINGS /* 2.0 has other names for some, 1.1 not yet */
#include <cmocka.h>
#undef stop /* also 2.0: no test ends by it, and agents are stopped by a function of that name */

#include "err.h"
#include "io.h"

#ifndef TEST_DATA
#error "TEST_DATA, the path of tests/data, comes from the build"
#endif

/* Not inlined: gcc 12 then takes what io_read() stores for a pointer to a local variable. */
#define UNIT_HELPER static __attribute__((unused, noinline))

/* A file of tests/data, whole; the test fails when it can't be read. */
UNIT_HELPER char *test_data(const char *name, size_t *len)
{
	char *path = io_format("%s/%s", TEST_DATA, name), *text = NULL;
	struct err err = { "" };

	assert_non_null(path);
	if (io_read(path, 64u << 20, &text, len, &err) < 0)
		fail_msg("%s", err.text);
	free(path);
	return text;
}

/* A fresh folder below the temporary one; the test removes what it makes. */
UNIT_HELPER char *test_folder(void)
{
	const char *base = getenv("TMPDIR");
	char *path = io_format("%s/slurm-fabric-test.XXXXXX", base ? base : "/tmp");

	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	return path;
}

#endif
