/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_list.c - what all sources share: the list of sources, lists of files, and reading a
 * number.
 *
 * A new source is one file with a struct source and one line in the table here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

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
