/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marker.c - see marker.h.
 *
 * The folder is memory (/run), and what is written there outlives this process however it ends; so
 * nothing is synced, and one write() makes a file.
 */
#include "marker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "text.h"

#define MARKER_MAX (2 * PACKET_MAX + 128)
#define WORD "fabric-step 1 "

#define NAME_MAX_LEN (10 + 1 + STEP_TEXT + 1 + RECORD_ID)

static void name_of(uint32_t job, uint32_t step, const char *id, char name[NAME_MAX_LEN])
{
	char text[STEP_TEXT];

	snprintf(name, NAME_MAX_LEN, "%u.%s.%s", job, step_format(step, text), id);
}

static char *path_of(const char *folder, uint32_t job, uint32_t step, const char *id)
{
	char name[NAME_MAX_LEN];

	name_of(job, step, id, name);
	return io_format("%s/%s", folder, name);
}

static int put(const char *path, int flags, const char *text, size_t len, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0600), code = 0;
	ssize_t done;

	if (fd < 0)
		return err_set(err, errno, "%s: can't be written: %s", path, strerror(errno));
	done = write(fd, text, len);
	if (done != (ssize_t)len)
		code = done < 0 ? errno : ENOSPC;
	close(fd);
	return code ? err_set(err, code, "%s: can't be written: %s", path, strerror(code)) : 0;
}

int marker_write(const char *folder, const struct marker *m, struct err *err)
{
	char text[MARKER_MAX], boot[37], *path;
	int rc = io_boot_id(boot, err), head, len;

	if (rc < 0)
		return rc;
	head = snprintf(text, sizeof(text), WORD "%s %d\n", boot, (int)m->stepd);
	len = packet_write(&m->begin, text + head);
	if (len < 0)
		return err_set(err, -len, "a step's begin can't be written again");
	path = path_of(folder, m->begin.job, m->begin.step, m->id);
	if (!path)
		return err_set(err, ENOMEM, "out of memory");
	rc = put(path, O_CREAT | O_EXCL, text, (size_t)(head + len), err);
	if (rc == -ENOENT && (rc = io_mkdirs(folder, 0700, err)) == 0)
		rc = put(path, O_CREAT | O_EXCL, text, (size_t)(head + len), err);
	if (rc < 0 && rc != -EEXIST)
		unlink(path);
	free(path);
	return rc;
}

int marker_add_end(const char *folder, const struct record *r, const struct packet *end,
		   struct err *err)
{
	char text[PACKET_MAX + 1] = "\n", *path = path_of(folder, r->job, r->step, r->id);
	int len = packet_write(end, text + 1), rc;

	if (!path)
		return err_set(err, ENOMEM, "out of memory");
	rc = len < 0 ? err_set(err, -len, "a step's end can't be written again")
		     : put(path, O_APPEND, text, (size_t)len + 1, err);
	free(path);
	return rc;
}

void marker_remove(const char *folder, const struct record *r)
{
	char *path = path_of(folder, r->job, r->step, r->id);

	if (path)
		unlink(path);
	free(path);
}

/* The first line; *len: its length. */
static int parse_head(const char *text, const char *name, struct marker *m, size_t *len,
		      struct err *err)
{
	const char *id = strrchr(name, '.');
	char boot[37], of_boot[37];
	int rc = io_boot_id(boot, err), stepd, end = 0;

	if (rc < 0)
		return rc;
	if (!id || strlen(id + 1) != RECORD_ID - 1 ||
	    sscanf(text, WORD "%36s %d%n", of_boot, &stepd, &end) != 2 || stepd < 0 ||
	    text[end] != '\n')
		return err_set(err, EPROTO, "%s: is no step's marker", name);
	if (strcmp(boot, of_boot) != 0)
		return err_set(err, EPROTO, "%s: is of another boot", name);
	memcpy(m->id, id + 1, RECORD_ID);
	m->stepd = stepd;
	*len = (size_t)end + 1;
	return 0;
}

static int parse(const char *text, size_t len, const char *name, struct marker *m, struct err *err)
{
	const char *end = memmem(text, len, "\n\n", 2);
	size_t begin_len = end ? (size_t)(end + 1 - text) : len, head = 0;
	char expected[NAME_MAX_LEN];
	int rc = parse_head(text, name, m, &head, err);

	if (rc < 0)
		return rc;
	rc = begin_len > head ? packet_read(text + head, begin_len - head, &m->begin, err)
			      : err_set(err, EPROTO, "%s: was cut", name);
	if (rc < 0)
		return rc;
	name_of(m->begin.job, m->begin.step, m->id, expected);
	if (m->begin.kind != PACKET_STEP_BEGIN || strcmp(name, expected) != 0)
		return err_set(err, EPROTO, "%s: holds no begin of that step", name);
	/* an end that was cut is none: that the step is over shows itself */
	m->ended = end && packet_read(end + 2, len - begin_len - 1, &m->end, NULL) == 0 &&
		   m->end.kind == PACKET_STEP_END;
	return 0;
}

int marker_read(const char *folder, const char *name, struct marker *m, struct err *err)
{
	char *path = io_format("%s/%s", folder, name), *text;
	size_t len;
	int rc;

	memset(m, 0, sizeof(*m));
	if (!path)
		return err_set(err, ENOMEM, "out of memory");
	rc = io_read(path, MARKER_MAX, &text, &len, err);
	free(path);
	if (rc < 0)
		return rc;
	rc = parse(text, len, name, m, err);
	free(text);
	return rc;
}
