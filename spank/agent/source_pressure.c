/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_pressure.c - how long tasks of the node waited for CPU, I/O and memory (PSI).
 *
 * proc/pressure/NAME has lines "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": microseconds in
 * which at least one task waited (Documentation/accounting/psi.rst). Where PSI is built in but not
 * enabled the file opens and reading it fails: then the series is unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "source.h"

static const struct {
	const char *name;
	enum meaning meaning;
} kinds[] = {
	{ "cpu", M_STALL_CPU_US },
	{ "io", M_STALL_IO_US },
	{ "memory", M_STALL_MEMORY_US },
};

static int add_kind(const char *root, size_t i, struct source_list *list)
{
	const struct series like = { .meaning = kinds[i].meaning, .width = 64, .scale = 1 };
	char *path = io_format("%s/proc/pressure/%s", root, kinds[i].name);
	struct source_file *file;
	int rc = -ENOMEM;

	if (!path)
		return rc;
	if (access(path, F_OK) < 0) {
		free(path);
		return 0;
	}
	file = source_add_file(list, &source_pressure, path);
	if (file)
		rc = source_add_series(file, &like, kinds[i].name, "node");
	free(path);
	return rc;
}

static int discover(const char *root, struct source_list *list)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (add_kind(root, i, list) < 0)
			return -ENOMEM;
	return 0;
}

static void parse(const struct source_file *file, const char *text, uint64_t *values, bool *valid)
{
	const char *end = strchr(text, '\n'), *total = strstr(text, " total=");
	char number[24];
	size_t len;

	if (file->count < 1 || strncmp(text, "some ", 5) != 0 || !end || !total || total > end)
		return;
	total += strlen(" total=");
	len = (size_t)(end - total);
	if (len >= sizeof(number))
		return;
	memcpy(number, total, len);
	number[len] = '\0';
	valid[0] = source_number(number, &values[0]);
}

const struct source source_pressure = { "pressure", discover, parse };
