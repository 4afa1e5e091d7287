/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_list.c - what all sources share: the list of sources, lists of files, and reading a
 * number.
 *
 * A new source is one file with a struct source and one line in the table here.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

/*
 * The kernel gives a text of many lines in pieces of whole lines, about a page each (seq_read_iter
 * in fs/seq_file.c): a piece shorter than this is the last one, and needs no read to find that out.
 */
#define LAST_PIECE 1024

const struct source *const sources[] = {
	&source_infiniband,
	&source_diskstats,
	&source_pressure,
	NULL,
};

const char *series_behaviour_name(enum series_behaviour behaviour)
{
	return behaviour == SERIES_SATURATES ? "saturates" : "wraps";
}

const char *series_scope_name(enum series_scope scope)
{
	return scope == SCOPE_OWN ? "own" : "node";
}

struct source_file *source_add_file(struct source_list *list, const struct source *source,
				    const char *path)
{
	struct source_file **more = reallocarray(list->files, list->count + 1, sizeof(*more));
	struct source_file *file;

	if (!more)
		return NULL;
	list->files = more;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->source = source;
	file->fd = -1;
	file->path = strdup(path);
	if (!file->path) {
		free(file);
		return NULL;
	}
	more[list->count++] = file;
	return file;
}

int source_add_series(struct source_file *file, const struct series *like, const char *name,
		      const char *device)
{
	struct series *more = reallocarray(file->series, file->count + 1, sizeof(*more));
	struct series *s;

	if (!more)
		return -ENOMEM;
	file->series = more;
	s = &more[file->count];
	*s = *like;
	s->source = file->source->name;
	s->rare = file->rare;
	s->name = strdup(name);
	s->device = strdup(device);
	if (!s->name || !s->device) {
		free(s->name);
		free(s->device);
		return -ENOMEM;
	}
	file->count++;
	return 0;
}

void source_file_free(struct source_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->count; i++) {
		free(file->series[i].name);
		free(file->series[i].device);
	}
	free(file->series);
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

void source_list_free(struct source_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		source_file_free(list->files[i]);
	free(list->files);
	list->files = NULL;
	list->count = 0;
}

bool source_passing(int code)
{
	return code == ENOMEM || code == EMFILE || code == ENFILE;
}

bool source_path(char *path, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(path, PATH_MAX, fmt, ap);
	va_end(ap);
	return len >= 0 && len < PATH_MAX;
}

/* Counter files can seek; where one can't, it is read as it comes. */
static ssize_t read_piece(int fd, char *buf, size_t size, size_t at)
{
	ssize_t len = pread(fd, buf, size, (off_t)at);

	return len < 0 && errno == ESPIPE ? read(fd, buf, size) : len;
}

ssize_t source_read(int fd, char *buf, size_t size)
{
	size_t used = 0, room = size - 1;
	ssize_t len;

	do {
		len = read_piece(fd, buf + used, room - used, used);
		if (len < 0 && used == 0)
			return -1;
		used += len > 0 ? (size_t)len : 0;
	} while (len >= LAST_PIECE && used < room);
	/* Half a line would be another number. */
	while (used == room && room > 0 && buf[room - 1] != '\n')
		used = --room;
	buf[used] = '\0';
	return (ssize_t)used;
}

bool source_number(const char *text, uint64_t *value)
{
	uint64_t number = 0;
	const char *p = text;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
			return false;
	if (p[strspn(p, " \t\r\n")] != '\0')
		return false;
	*value = number;
	return true;
}
