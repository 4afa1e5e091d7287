/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.c - see files.h.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"
#include "io.h"

#define NAMED 3 /* files that are named one by one */

struct list {
	char **paths;
	size_t count, room;
};

static int add(struct list *l, char *path)
{
	if (l->count == l->room) {
		size_t more = l->room ? l->room * 2 : 16;
		char **bigger = path ? reallocarray(l->paths, more, sizeof(*bigger)) : NULL;
		if (!bigger) {
			free(path);
			return -ENOMEM;
		}
		l->paths = bigger;
		l->room = more;
	}
	l->paths[l->count++] = path;
	return path ? 0 : -ENOMEM;
}

static int add_folder(struct list *l, const char *path, struct err *err)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	struct stat st;
	int rc = 0;

	if (!folder)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	while (rc == 0 && (entry = readdir(folder))) {
		char *file =
			entry->d_name[0] == '.' ? NULL : io_format("%s/%s", path, entry->d_name);
		if (entry->d_name[0] == '.')
			continue;
		if (file && (stat(file, &st) < 0 || !S_ISREG(st.st_mode)))
			free(file);
		else if (add(l, file) < 0)
			rc = err_set(err, ENOMEM, "out of memory");
	}
	closedir(folder);
	return rc;
}

static int add_path(struct list *l, const char *path, struct err *err)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_folder(l, path, err);
	return add(l, strdup(path)) < 0 ? err_set(err, ENOMEM, "out of memory") : 0;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(path, "-") == 0 ? "standard input" : slash ? slash + 1 : path;
}

static int by_path(const void *x, const void *y)
{
	const char *a = *(char *const *)x, *b = *(char *const *)y;
	int order = strcmp(file_name(a), file_name(b));

	return order ? order : strcmp(a, b);
}

static int read_file(struct input *in, const char *path, struct err *err)
{
	bool standard = strcmp(path, "-") == 0;
	const char *source = standard ? "standard input" : path;
	size_t len;
	char *text;
	int rc = standard ? io_read_fd(STDIN_FILENO, source, INPUT_MAX_BYTES, &text, &len, err)
			  : io_read(path, INPUT_MAX_BYTES, &text, &len, err);

	if (rc < 0)
		return rc;
	rc = input_add(in, text, len, source, err);
	free(text);
	return rc;
}

static char *name_all(const struct list *l)
{
	char *text = strdup(l->count ? file_name(l->paths[0]) : "");

	for (size_t i = 1; text && i < l->count; i++) {
		char *more = i < NAMED ? io_format("%s, %s", text, file_name(l->paths[i]))
				       : io_format("%s and %zu more", text, l->count - i);
		free(text);
		text = more;
		if (i == NAMED)
			break;
	}
	return text;
}

struct subnet *files_read(const char *const *paths, size_t count, const struct namemap *names,
			  char **source, struct err *err)
{
	struct input *in = input_new(names);
	struct subnet *s = NULL;
	struct list l = { 0 };
	int rc = in ? 0 : err_set(err, ENOMEM, "out of memory");

	*source = NULL;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_path(&l, paths[i], err);
	if (rc == 0 && l.count == 0)
		rc = err_set(err, ENOENT, "%s: there is no file in it", paths[0]);
	if (l.count)
		qsort(l.paths, l.count, sizeof(*l.paths), by_path);
	for (size_t i = 0; rc == 0 && i < l.count; i++)
		if (i == 0 || strcmp(l.paths[i - 1], l.paths[i]) != 0)
			rc = read_file(in, l.paths[i], err);
	if (rc == 0 && !(*source = name_all(&l)))
		rc = err_set(err, ENOMEM, "out of memory");
	if (rc == 0)
		s = input_finish(in, err);
	else
		input_free(in);
	for (size_t i = 0; i < l.count; i++)
		free(l.paths[i]);
	free(l.paths);
	return s;
}
