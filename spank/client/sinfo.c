/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sinfo.c - see sinfo.h.
 *
 * A node is free when a job that wants it whole could start there: idle, powered down to save
 * energy or on its way up. One that works, is kept for somebody or will be booted is busy; all else
 * is out of use and does not count as part of its unit. sinfo tells a node once for each partition.
 */
#include "sinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric.h"
#include "io.h"
#include "text.h"

#define SINFO_MAX_BYTES (64u << 20)

void sinfo_free(struct sinfo *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		free(s->names[i]);
	free(s->names);
	free(s->what);
	free(s);
}

/* "idle", "allocated*", "mixed~": a word, and a sign that says more about it (sinfo(1)). */
static enum place_node state_of(const char *state, size_t len)
{
	static const char *const busy[] = { "allocated", "allocated+", "mixed",	 "completing",
					    "planned",	 "reserved",   "blocked" };
	size_t word = strcspn(state, "*~#!%$@^- \n");
	char sign = word < len ? state[word] : '\0';

	word = word < len ? word : len;
	if (sign == '*' || sign == '$' || sign == '!')
		return PLACE_DOWN;
	if (word == 4 && strncmp(state, "idle", 4) == 0)
		return sign == '\0' || sign == '~' || sign == '#' ? PLACE_FREE : PLACE_BUSY;
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++)
		if (strlen(busy[i]) == word && strncmp(state, busy[i], word) == 0)
			return PLACE_BUSY;
	return PLACE_DOWN;
}

/* One line: the name is copied. */
static int add_line(struct sinfo *s, const char *line, size_t len, const char *source,
		    size_t number, struct err *err)
{
	char name[FABRIC_NAME_MAX + 1];
	size_t end = strcspn(line, " \n"), state;

	if (end == 0 || end >= sizeof(name) || end >= len)
		goto bad;
	memcpy(name, line, end);
	name[end] = '\0';
	state = end + strspn(line + end, " ");
	if (!name_valid(name, FABRIC_NAME_MAX) || state >= len)
		goto bad;
	s->names[s->count] = strdup(name);
	if (!s->names[s->count])
		return err_set(err, ENOMEM, "%s: out of memory", source);
	s->what[s->count++] = state_of(line + state, len - state);
	return 0;
bad:
	return err_set(err, EPROTO, "%s:%zu: not \"NODE STATE\" as sinfo -h -N -o '%s' writes it",
		       source, number, SINFO_FORMAT);
}

/* glibc's qsort_r; the second of two with an equal name is the later one. */
static int by_name(const void *a, const void *b, void *data)
{
	const struct sinfo *s = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(s->names[x], s->names[y]);

	return order ? order : x < y ? -1 : x > y;
}

/* Keeps the first line of each node. */
static int keep_first(struct sinfo *s)
{
	uint32_t *order = calloc((size_t)s->count + 1, sizeof(*order)), kept = 0;
	bool *again = calloc((size_t)s->count + 1, sizeof(*again));
	bool good = order && again;

	for (uint32_t i = 0; good && i < s->count; i++)
		order[i] = i;
	if (good)
		qsort_r(order, s->count, sizeof(*order), by_name, s);
	for (uint32_t i = 1; good && i < s->count; i++)
		again[order[i]] = strcmp(s->names[order[i]], s->names[order[i - 1]]) == 0;
	for (uint32_t i = 0; good && i < s->count; i++) {
		if (again[i]) {
			free(s->names[i]);
			continue;
		}
		s->names[kept] = s->names[i];
		s->what[kept++] = s->what[i];
	}
	if (good)
		s->count = kept;
	free(order);
	free(again);
	return good ? 0 : -ENOMEM;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

struct sinfo *sinfo_parse(const char *text, size_t len, const char *source, struct err *err)
{
	struct sinfo *s = calloc(1, sizeof(*s));
	size_t lines = count_lines(text, len), number = 1;
	int rc = 0;

	if (s) {
		s->names = calloc(lines, sizeof(*s->names));
		s->what = calloc(lines, sizeof(*s->what));
	}
	if (!s || !s->names || !s->what)
		rc = err_set(err, ENOMEM, "%s: out of memory", source);
	for (const char *line = text; rc == 0 && line < text + len; number++) {
		const char *end = memchr(line, '\n', (size_t)(text + len - line));
		size_t line_len = (size_t)((end ? end : text + len) - line);

		if (line_len)
			rc = add_line(s, line, line_len, source, number, err);
		line += line_len + 1;
	}
	if (rc == 0 && keep_first(s) < 0)
		rc = err_set(err, ENOMEM, "%s: out of memory", source);
	if (rc == 0 && s->count == 0)
		rc = err_set(err, ENOENT, "%s: there are no nodes", source);
	if (rc == 0)
		return s;
	sinfo_free(s);
	errno = -rc;
	return NULL;
}

struct sinfo *sinfo_read(const char *path, struct err *err)
{
	bool in = strcmp(path, "-") == 0;
	struct sinfo *s = NULL;
	char *text = NULL;
	size_t len;
	int rc;

	rc = in ? io_read_fd(STDIN_FILENO, "standard input", SINFO_MAX_BYTES, &text, &len, err)
		: io_read(path, SINFO_MAX_BYTES, &text, &len, err);
	if (rc == 0)
		s = sinfo_parse(text, len, in ? "standard input" : path, err);
	free(text);
	return s;
}

/* Ends in an exec or not at all. */
_Noreturn static void become_sinfo(const char *partition, int out)
{
	char *argv[] = { (char *)"sinfo",      (char *)"-h", (char *)"-N", (char *)"-o",
			 (char *)SINFO_FORMAT, NULL,	     NULL,	   NULL };

	if (partition) {
		argv[5] = (char *)"-p";
		argv[6] = (char *)partition;
	}
	if (dup2(out, STDOUT_FILENO) >= 0)
		execvp(argv[0], argv);
	_exit(127);
}

static int wait_for(pid_t child, struct err *err)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, errno, "sinfo: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, ENOENT, "sinfo can't be run: is Slurm's bin folder in PATH?");
	return err_set(err, EPROTO, "sinfo failed; what it said is above");
}

struct sinfo *sinfo_run(const char *partition, struct err *err)
{
	struct sinfo *s = NULL;
	char *text = NULL;
	size_t len;
	int fds[2], rc;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		err_set(err, errno, "pipe: %s", strerror(errno));
		return NULL;
	}
	child = fork();
	if (child == 0)
		become_sinfo(partition, fds[1]);
	close(fds[1]);
	if (child < 0) {
		close(fds[0]);
		err_set(err, errno, "fork: %s", strerror(errno));
		return NULL;
	}
	rc = io_read_fd(fds[0], "sinfo", SINFO_MAX_BYTES, &text, &len, err);
	close(fds[0]);
	if (wait_for(child, rc < 0 ? NULL : err) == 0 && rc == 0)
		s = sinfo_parse(text, len, "sinfo", err);
	free(text);
	return s;
}
