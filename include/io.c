/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io.c - see io.h.
 *
 * The temporary file of an atomic write lies beside its target and is removed on every failure;
 * two writers of one file can't meet in it, because its name is random (mkostemp).
 */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

int io_read_fd(int fd, const char *name, size_t max, char **text, size_t *len, struct err *err)
{
	size_t used = 0, room = max < 4096 ? max + 1 : 4096;
	char *buf = malloc(room + 1);

	if (!buf)
		return err_set(err, ENOMEM, "%s: out of memory", name);
	for (;;) {
		ssize_t n = read(fd, buf + used, room - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int code = errno;
			free(buf);
			return err_set(err, code, "%s: can't be read: %s", name, strerror(code));
		}
		if (n == 0)
			break;
		used += (size_t)n;
		if (used > max) {
			free(buf);
			return err_set(err, EFBIG,
				       "%s: longer than the %zu bytes that are accepted", name,
				       max);
		}
		if (used == room) {
			char *more;
			room = room > max / 2 ? max + 1 : room * 2;
			more = realloc(buf, room + 1);
			if (!more) {
				free(buf);
				return err_set(err, ENOMEM, "%s: out of memory", name);
			}
			buf = more;
		}
	}
	buf[used] = '\0';
	*text = buf;
	*len = used;
	return 0;
}

int io_read(const char *path, size_t max, char **text, size_t *len, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0) {
		int code = errno;
		return err_set(err, code, "%s: can't be opened: %s", path, strerror(code));
	}
	rc = io_read_fd(fd, path, max, text, len, err);
	close(fd);
	return rc;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_sync(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

	/* Some file systems can't fsync a folder (EINVAL); the rename is then as good as it gets.
	 */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		rc = err_set(err, errno, "%s: can't be written: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

static int sync_folder_of(const char *path, struct err *err)
{
	char *copy = strdup(path);
	int rc = copy ? io_sync(dirname(copy), err)
		      : err_set(err, ENOMEM, "%s: out of memory", path);

	free(copy);
	return rc;
}

static int replace(const char *path, const void *data, size_t len, mode_t mode, bool sync,
		   struct err *err)
{
	char *temp = io_format("%s.XXXXXX", path);
	int fd, rc;

	if (!temp)
		return err_set(err, ENOMEM, "%s: out of memory", path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		free(temp);
		return err_set(err, -rc, "%s: no file can be made beside it: %s", path,
			       strerror(-rc));
	}
	rc = write_all(fd, data, len);
	if (rc == 0 && (fchmod(fd, mode) < 0 || (sync && fsync(fd) < 0)))
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(temp, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(temp);
	free(temp);
	return rc < 0 ? err_set(err, -rc, "%s: can't be written: %s", path, strerror(-rc)) : 0;
}

int io_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
	int rc = replace(path, data, len, mode, true, err);

	return rc ? rc : sync_folder_of(path, err);
}

int io_write_soon(const char *path, const void *data, size_t len, mode_t mode, struct err *err)
{
	return replace(path, data, len, mode, false, err);
}

int io_mkdirs(const char *path, mode_t mode, struct err *err)
{
	char *copy = strdup(path);
	struct stat st;

	if (!copy)
		return err_set(err, ENOMEM, "%s: out of memory", path);
	for (char *p = copy + 1; *copy; p++) {
		char was = *p;
		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, mode) < 0 && errno != EEXIST) {
			int code = errno;
			err_set(err, code, "%s: can't be made: %s", copy, strerror(code));
			free(copy);
			return -code;
		}
		if (was == '\0')
			break;
		*p = was;
	}
	free(copy);
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "%s: is in the way: a folder is needed there", path);
	return 0;
}

/* Room for len bytes more and a NUL. */
static bool make_room(struct io_text *t, size_t len)
{
	size_t room = t->room + (t->room > len ? t->room : len + 1);
	char *more;

	if (len < t->room - t->used)
		return true;
	more = realloc(t->text, room);
	if (!more)
		return false;
	t->text = more;
	t->room = room;
	return true;
}

__attribute__((format(printf, 2, 0))) static void add(struct io_text *t, const char *fmt,
						      va_list ap)
{
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (t->failed || len < 0 || !make_room(t, (size_t)len)) {
		t->failed = true;
		return;
	}
	vsnprintf(t->text + t->used, t->room - t->used, fmt, ap);
	t->used += (size_t)len;
}

void io_add(struct io_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(t, fmt, ap);
	va_end(ap);
}

char *io_end(struct io_text *t)
{
	char *text = t->failed ? NULL : t->text ? t->text : strdup("");

	if (t->failed)
		free(t->text);
	*t = (struct io_text){ 0 };
	return text;
}

char *io_printable(const char *text)
{
	size_t room = strlen(text) + 1;
	char *copy = malloc(room);

	return copy ? text_printable(text, copy, room) : NULL;
}

/* Not by vasprintf(): where glibc has no memory for the last byte it writes it all the same. */
char *io_format(const char *fmt, ...)
{
	struct io_text t = { 0 };
	va_list ap;

	va_start(ap, fmt);
	add(&t, fmt, ap);
	va_end(ap);
	return io_end(&t);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t io_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t io_mono_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int io_boot_id(char id[37], struct err *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	char *text;
	size_t len;
	int rc = io_read(path, 64, &text, &len, err);

	if (rc < 0)
		return rc;
	if (len < 36) {
		free(text);
		return err_set(err, EPROTO, "%s: holds no boot id", path);
	}
	memcpy(id, text, 36);
	id[36] = '\0';
	free(text);
	return 0;
}
