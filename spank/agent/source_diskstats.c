/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_diskstats.c - what the node's disks read and write.
 *
 * proc/diskstats has one line for each block device (Documentation/admin-guide/iostats.rst): major,
 * minor, name, reads, merged, sectors read, ms, writes, merged, sectors written, ms, in flight, ms
 * with I/O, ... A sector is 512 bytes whatever the disk says. Only whole disks are taken:
 * partitions and devices that stand on others (device mapper, md, loop) would count the same bytes
 * again.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "source.h"

#define DISKSTATS_MAX (1u << 20)
#define NAME 64
#define SECTOR 512

enum { READ_SECTORS, WRITE_SECTORS, IO_MS, COLUMNS };

static const struct {
	const char *name;
	struct series like;
} columns[COLUMNS] = {
	[READ_SECTORS] = { "sectors_read",
			   { .meaning = M_READ_BYTES, .width = 64, .scale = SECTOR } },
	[WRITE_SECTORS] = { "sectors_written",
			    { .meaning = M_WRITE_BYTES, .width = 64, .scale = SECTOR } },
	[IO_MS] = { "io_ms", { .meaning = M_IO_US, .width = 32, .scale = 1000 } },
};

/* One line into the device's name and the three numbers. */
static bool read_line(const char *line, char name[NAME], uint64_t numbers[COLUMNS])
{
	unsigned long long in, out, ms;

	if (sscanf(line, "%*u %*u %63s %*u %*u %llu %*u %*u %*u %llu %*u %*u %llu", name, &in, &out,
		   &ms) != 4)
		return false;
	numbers[READ_SECTORS] = in;
	numbers[WRITE_SECTORS] = out;
	numbers[IO_MS] = ms;
	return true;
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* sys/block lists whole disks; sys/class/block/NAME/partition marks the others. */
static bool whole_disk(const char *root, const char *name)
{
	static const char *const others[] = {
		"loop", "ram", "zram", "dm-", "md", "sr", "fd", "drbd"
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (begins(name, others[i]))
			return false;
	if (strchr(name, '/') || name[0] == '.')
		return false;
	return source_path(path, "%s/sys/block/%s", root, name) && access(path, F_OK) == 0;
}

static int add_disk(struct source_file *file, const char *name)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (source_add_series(file, &columns[i].like, columns[i].name, name) < 0)
			return -ENOMEM;
	return 0;
}

static int add_disks(const char *root, const char *text, struct source_file *file)
{
	uint64_t numbers[COLUMNS];
	char name[NAME];

	for (const char *line = text; line && *line; line = next_line(line))
		if (read_line(line, name, numbers) && whole_disk(root, name) &&
		    add_disk(file, name) < 0)
			return -ENOMEM;
	return 0;
}

static int discover(const char *root, struct source_list *list)
{
	char *path = io_format("%s/proc/diskstats", root), *text = NULL;
	struct source_file *file;
	size_t len;
	int rc = -ENOMEM;

	if (!path)
		return rc;
	rc = io_read(path, DISKSTATS_MAX, &text, &len, NULL);
	if (rc < 0) {
		free(path);
		return source_passing(-rc) ? rc : 0;
	}
	rc = -ENOMEM;
	file = source_add_file(list, &source_diskstats, path);
	if (file)
		rc = add_disks(root, text, file);
	free(text);
	free(path);
	return rc;
}

/* The series of a disk stand together, in the order of the columns, and mostly in file order. */
static void parse(const struct source_file *file, const char *text, uint64_t *values, bool *valid)
{
	size_t disks = file->count / COLUMNS, at = 0;
	uint64_t numbers[COLUMNS];
	char name[NAME];

	for (const char *line = text; line && *line; line = next_line(line)) {
		size_t tried = 0;

		if (!read_line(line, name, numbers))
			continue;
		while (tried < disks && strcmp(file->series[at * COLUMNS].device, name) != 0) {
			at = (at + 1) % disks;
			tried++;
		}
		for (size_t i = 0; tried < disks && i < COLUMNS; i++) {
			values[at * COLUMNS + i] = numbers[i];
			valid[at * COLUMNS + i] = true;
		}
	}
}

const struct source source_diskstats = { "diskstats", discover, parse };
