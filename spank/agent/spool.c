/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spool.c - see spool.h.
 *
 * The folder is the truth; beside it there are only a list of names that was read from it and is
 * used up in order (so that a long backlog is not listed again for each file), the names of the
 * files that the disk may not have yet, and the items that could not be written, which are tried
 * again before each new one.
 */
#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"

#define ITEM_MAX_BYTES (1u << 20)
#define BEGIN_PREFIX "begin-"
#define MAP_NAME "map.json"

struct spool {
	pthread_mutex_t lock;
	char *out, *bad;
	size_t files; /* in out */
	char **names;
	size_t name_count, name_at;
	char *fresh[SPOOL_FILES_MAX]; /* names of files since the last sync */
	size_t fresh_count;
	struct spool_item memory[SPOOL_MEMORY_MAX];
	size_t memory_count, memory_at;
	uint64_t generation; /* of the map: how often it was replaced */
};

const char *spool_path_of(enum spool_kind kind)
{
	static const char *const paths[] = { "/v1/map", "/v1/begin", "/v1/record" };

	return paths[kind];
}

static bool ends_in(const char *name, const char *with)
{
	size_t len = strlen(name), n = strlen(with);

	return len > n && !strcmp(name + len - n, with);
}

static enum spool_kind kind_of(const char *name)
{
	if (!strcmp(name, MAP_NAME))
		return SPOOL_MAP;
	return strncmp(name, BEGIN_PREFIX, strlen(BEGIN_PREFIX)) ? SPOOL_RECORD : SPOOL_BEGIN;
}

static char *name_for(enum spool_kind kind, const char *id)
{
	if (kind == SPOOL_MAP)
		return strdup(MAP_NAME);
	return io_format("%s%s.json", kind == SPOOL_BEGIN ? BEGIN_PREFIX : "", id);
}

static void free_names(struct spool *s)
{
	for (size_t i = 0; i < s->name_count; i++)
		free(s->names[i]);
	free(s->names);
	s->names = NULL;
	s->name_count = s->name_at = 0;
}

static void forget_fresh(struct spool *s, const char *name)
{
	for (size_t i = 0; i < s->fresh_count; i++)
		if (!strcmp(s->fresh[i], name)) {
			free(s->fresh[i]);
			s->fresh[i] = s->fresh[--s->fresh_count];
			return;
		}
}

static int by_kind(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	int order = (int)kind_of(x) - (int)kind_of(y);

	return order ? order : strcmp(x, y);
}

/* Reads the names that wait. clean: what an interrupted write left behind goes. */
static int list_names(struct spool *s, bool clean)
{
	DIR *dir = opendir(s->out);
	struct dirent *entry;

	free_names(s);
	if (!dir)
		return -errno;
	while (s->name_count < SPOOL_FILES_MAX && (entry = readdir(dir))) {
		char **more;

		if (entry->d_name[0] == '.')
			continue;
		if (!ends_in(entry->d_name, ".json")) {
			if (clean)
				unlinkat(dirfd(dir), entry->d_name, 0);
			continue;
		}
		more = reallocarray(s->names, s->name_count + 1, sizeof(*more));
		if (!more)
			break;
		s->names = more;
		more[s->name_count] = strdup(entry->d_name);
		if (!more[s->name_count])
			break;
		s->name_count++;
	}
	closedir(dir);
	if (s->name_count)
		qsort(s->names, s->name_count, sizeof(*s->names), by_kind);
	s->files = s->name_count;
	return 0;
}

struct spool *spool_open(const char *folder, struct err *err)
{
	struct spool *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		err_set(err, ENOMEM, "%s: out of memory", folder);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->out = io_format("%s/out", folder);
	s->bad = io_format("%s/bad", folder);
	rc = s->out && s->bad ? io_mkdirs(folder, 0700, err)
			      : err_set(err, ENOMEM, "out of memory");
	/* A read-only disk is no reason not to run: what must be kept is kept in memory. */
	if (rc == -EROFS || rc == -ENOSPC)
		rc = 0;
	if (rc == 0) {
		io_mkdirs(s->out, 0700, NULL);
		io_mkdirs(s->bad, 0700, NULL);
		list_names(s, true);
		for (; s->fresh_count < s->name_count; s->fresh_count++)
			if (!(s->fresh[s->fresh_count] = strdup(s->names[s->fresh_count])))
				break;
		return s;
	}
	spool_free(s);
	return NULL;
}

void spool_item_clear(struct spool_item *item)
{
	free(item->name);
	free(item->json);
	memset(item, 0, sizeof(*item));
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->memory_count; i++)
		spool_item_clear(&s->memory[i]);
	for (size_t i = 0; i < s->fresh_count; i++)
		free(s->fresh[i]);
	free_names(s);
	free(s->out);
	free(s->bad);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Deletes the oldest file of folder whose name is not kept; false when there is none. */
static bool delete_oldest(const char *folder, size_t more_than)
{
	char oldest[NAME_MAX + 1] = "";
	struct timespec when = { 0, 0 };
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t count = 0;
	struct stat st;
	bool deleted = false;

	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		if (!ends_in(entry->d_name, ".json") || !strcmp(entry->d_name, MAP_NAME) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (count++ == 0 || st.st_mtim.tv_sec < when.tv_sec ||
		    (st.st_mtim.tv_sec == when.tv_sec && st.st_mtim.tv_nsec < when.tv_nsec)) {
			when = st.st_mtim;
			strcpy(oldest, entry->d_name);
		}
	}
	if (count > more_than)
		deleted = unlinkat(dirfd(dir), oldest, 0) == 0;
	closedir(dir);
	return deleted;
}

static int write_file(struct spool *s, const char *name, const char *json, struct err *err)
{
	char *path = io_format("%s/%s", s->out, name), *fresh = strdup(name);
	bool there;
	int rc;

	if (!path || !fresh) {
		free(path);
		free(fresh);
		return err_set(err, ENOMEM, "%s: out of memory", s->out);
	}
	if (s->files >= SPOOL_FILES_MAX && delete_oldest(s->out, SPOOL_FILES_MAX / 2))
		s->files--;
	there = access(path, F_OK) == 0;
	rc = io_write_soon(path, json, strlen(json), 0600, err);
	if (rc == -ENOENT && io_mkdirs(s->out, 0700, NULL) == 0)
		rc = io_write_soon(path, json, strlen(json), 0600, err);
	if (rc == 0 && !there)
		s->files++;
	if (rc == 0 && s->fresh_count < SPOOL_FILES_MAX) {
		forget_fresh(s, name);
		s->fresh[s->fresh_count++] = fresh;
	} else {
		free(fresh);
	}
	free(path);
	return rc;
}

static void drop_memory(struct spool *s, size_t i)
{
	spool_item_clear(&s->memory[i]);
	s->memory_count--;
	memmove(s->memory + i, s->memory + i + 1, (s->memory_count - i) * sizeof(s->memory[0]));
	memset(&s->memory[s->memory_count], 0, sizeof(s->memory[0]));
}

static int keep_in_memory(struct spool *s, enum spool_kind kind, char *name, const char *json)
{
	struct spool_item item = {
		.kind = kind, .name = name, .json = strdup(json), .generation = s->generation
	};

	if (!item.json) {
		free(name);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->memory_count; i++)
		if (!strcmp(s->memory[i].name, name)) { /* a newer map */
			spool_item_clear(&s->memory[i]);
			s->memory[i] = item;
			return 1;
		}
	if (s->memory_count == SPOOL_MEMORY_MAX) {
		spool_item_clear(&item);
		return -ENOSPC;
	}
	s->memory[s->memory_count++] = item;
	return 1;
}

/* Writes what could not be written before. */
static void flush_memory(struct spool *s)
{
	while (s->memory_count > 0 &&
	       write_file(s, s->memory[0].name, s->memory[0].json, NULL) == 0)
		drop_memory(s, 0);
}

bool spool_holds(struct spool *s, const char *id)
{
	char *name = name_for(SPOOL_RECORD, id),
	     *path = name ? io_format("%s/%s", s->out, name) : NULL;
	bool holds = path && access(path, F_OK) == 0;

	free(name);
	free(path);
	return holds;
}

int spool_put(struct spool *s, enum spool_kind kind, const char *id, const char *json,
	      struct err *err)
{
	char *name = name_for(kind, id);
	int rc;

	if (!name)
		return err_set(err, ENOMEM, "spool: out of memory");
	pthread_mutex_lock(&s->lock);
	s->generation += kind == SPOOL_MAP;
	flush_memory(s);
	rc = write_file(s, name, json, err);
	if (rc < 0)
		rc = keep_in_memory(s, kind, name, json); /* takes the name over */
	else
		free(name);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void spool_repeat_map(struct spool *s, const char *json, uint64_t generation)
{
	pthread_mutex_lock(&s->lock);
	if (s->generation == generation)
		write_file(s, MAP_NAME, json, NULL);
	pthread_mutex_unlock(&s->lock);
}

bool spool_synced(struct spool *s)
{
	bool synced;

	pthread_mutex_lock(&s->lock);
	synced = s->fresh_count == 0;
	pthread_mutex_unlock(&s->lock);
	return synced;
}

/* One after the other, so that a slow disk holds the lock for no moment. */
int spool_sync(struct spool *s, struct err *err)
{
	char *name;
	int rc = 0;

	do {
		char *path;

		pthread_mutex_lock(&s->lock);
		name = s->fresh_count > 0 ? s->fresh[--s->fresh_count] : NULL;
		pthread_mutex_unlock(&s->lock);
		path = name ? io_format("%s/%s", s->out, name) : NULL;
		/* It may be gone meanwhile, and that is as good. */
		if (path && access(path, F_OK) == 0 && rc == 0)
			rc = io_sync(path, err);
		free(path);
		free(name);
	} while (name);
	return rc ? rc : io_sync(s->out, err);
}

size_t spool_pending(struct spool *s)
{
	size_t count;

	pthread_mutex_lock(&s->lock);
	count = s->files + s->memory_count;
	pthread_mutex_unlock(&s->lock);
	return count;
}

static bool next_file(struct spool *s, struct spool_item *item)
{
	for (int round = 0; round < 2; round++) {
		while (s->name_at < s->name_count) {
			const char *name = s->names[s->name_at++];
			char *path = io_format("%s/%s", s->out, name);
			size_t len;
			int rc = path ? io_read(path, ITEM_MAX_BYTES, &item->json, &len, NULL)
				      : -ENOMEM;

			if (rc == -EFBIG || (rc == 0 && len == 0)) {
				unlink(path); /* not ours, or what a power failure left */
				rc = -EPROTO;
			}
			free(path);
			if (rc < 0) {
				free(item->json);
				item->json = NULL;
				continue;
			}
			item->kind = kind_of(name);
			item->name = strdup(name);
			item->generation = s->generation;
			return item->name != NULL;
		}
		if (round == 0)
			list_names(s, false);
	}
	return false;
}

static bool next_memory(struct spool *s, struct spool_item *item)
{
	const struct spool_item *of;

	if (s->memory_count == 0)
		return false;
	of = &s->memory[s->memory_at++ % s->memory_count];
	item->kind = of->kind;
	item->generation = of->generation;
	item->name = strdup(of->name);
	item->json = strdup(of->json);
	return item->name && item->json;
}

int spool_next(struct spool *s, struct spool_item *item)
{
	bool found;

	memset(item, 0, sizeof(*item));
	pthread_mutex_lock(&s->lock);
	flush_memory(s);
	found = next_file(s, item) || next_memory(s, item);
	pthread_mutex_unlock(&s->lock);
	if (!found)
		spool_item_clear(item);
	return found;
}

/* Forgets it, in memory and on disk. A map that was replaced meanwhile stays. */
void spool_done(struct spool *s, const struct spool_item *item)
{
	char *path = io_format("%s/%s", s->out, item->name);

	pthread_mutex_lock(&s->lock);
	if (item->kind != SPOOL_MAP || item->generation == s->generation) {
		for (size_t i = 0; i < s->memory_count; i++)
			if (!strcmp(s->memory[i].name, item->name)) {
				drop_memory(s, i);
				break;
			}
		if (path && unlink(path) == 0 && s->files > 0)
			s->files--;
		forget_fresh(s, item->name);
	}
	pthread_mutex_unlock(&s->lock);
	free(path);
}

int spool_refuse(struct spool *s, const struct spool_item *item, struct err *err)
{
	char *path = io_format("%s/%s", s->bad, item->name);
	int rc = path ? io_write_atomic(path, item->json, strlen(item->json), 0600, err)
		      : err_set(err, ENOMEM, "%s: out of memory", s->bad);

	free(path);
	while (delete_oldest(s->bad, SPOOL_BAD_MAX))
		;
	spool_done(s, item);
	return rc;
}
