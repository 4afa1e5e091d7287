/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli_slurm.c - see cli_slurm.h.
 *
 * Slurm is asked through its own tools: its library can exit, and goes with one release. They are
 * found by PATH, get our environment (SLURM_CONF), no input, and a time limit.
 */
#include "cli_slurm.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf.h"
#include "io.h"

#define SAID_MAX (64u << 20)

extern char **environ;

static int start(const char *const argv[], int fds[2], pid_t *pid)
{
	posix_spawn_file_actions_t files;
	int rc;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	rc = posix_spawn_file_actions_init(&files);
	if (rc == 0) {
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&files, fds[1], 1);
		posix_spawn_file_actions_adddup2(&files, fds[1], 2);
		rc = posix_spawnp(pid, argv[0], &files, NULL, (char *const *)argv, environ);
		posix_spawn_file_actions_destroy(&files);
	}
	close(fds[1]);
	if (rc != 0)
		close(fds[0]);
	return -rc;
}

/* Reads until the tool has closed its end, or time is up. */
static int collect(int fd, int64_t until_ns, struct io_text *text)
{
	char buffer[4096];
	ssize_t n = 1;

	while (n > 0) {
		int64_t left_ms = (until_ns - io_mono_ns()) / 1000000;
		struct pollfd p = { fd, POLLIN, 0 };
		if (left_ms <= 0 || text->used > SAID_MAX)
			return -ETIME;
		if (poll(&p, 1, (int)left_ms) <= 0)
			continue;
		n = read(fd, buffer, sizeof(buffer));
		if (n > 0)
			io_add(text, "%.*s", (int)n, buffer);
	}
	return 0;
}

int slurm_run(const char *const argv[], int timeout_s, char **said)
{
	struct io_text text = { 0 };
	int fds[2], status = 0, rc;
	pid_t pid;

	*said = NULL;
	rc = start(argv, fds, &pid);
	if (rc < 0)
		return rc;
	io_add(&text, "%s", "");
	rc = collect(fds[0], io_mono_ns() + (int64_t)timeout_s * 1000000000, &text);
	close(fds[0]);
	if (rc < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*said = io_end(&text);
	if (rc == 0 && !*said)
		rc = -ENOMEM;
	return rc < 0 ? rc : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int slurm_release(const char *option)
{
	static const char *const ask[] = { "scontrol", "-V", NULL };
	int release = option ? check_release(option) : 0;
	char *said = NULL;

	if (option) {
		if (release == 0)
			say("--slurm takes a release such as 24.11, not \"%s\"", option);
		return release;
	}
	if (slurm_run(ask, 10, &said) == 0)
		release = check_release(said);
	free(said);
	return release ? release
		       : SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER) * 100 +
				 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER);
}

/* A YAML file is a list: its first letter that is no comment's is '-', or it is called so. */
static bool is_yaml(const char *name, const char *text)
{
	const char *dot = strrchr(name, '.');

	if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
		return true;
	while (isspace((unsigned char)*text) || *text == '#')
		text += *text == '#' ? strcspn(text, "\n") : 1;
	return *text == '-';
}

int parse_layout(const char *name, const char *text, size_t len, struct layout *l,
		 struct findings *findings)
{
	int rc = is_yaml(name, text) ? layout_parse_yaml(text, len, l, findings)
				     : layout_parse(text, len, l, findings);

	if (rc == 0)
		return DONE;
	say("%s: out of memory", name);
	return FAILED;
}

int read_layout(const char *path, struct layout *l, struct findings *findings)
{
	struct err err = { "" };
	char *text;
	size_t len;
	int status;

	memset(l, 0, sizeof(*l));
	if (io_read(path, LAYOUT_MAX_BYTES, &text, &len, &err) < 0) {
		say("%s", err.text);
		return FAILED;
	}
	status = parse_layout(path, text, len, l, findings);
	free(text);
	return status;
}

int read_slurmconf(const struct options *o, struct slurmconf *s)
{
	struct err err = { "" };
	struct conf *conf = NULL;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	if (!o->slurm_conf) {
		conf = conf_load(conf_default_path(), true, &err);
		rc = conf ? 0 : -EINVAL;
	}
	if (rc == 0)
		rc = slurmconf_load(conf ? conf->slurm_conf : o->slurm_conf, s, &err);
	conf_free(conf);
	if (rc == 0)
		return DONE;
	say("%s", err.text);
	return FAILED;
}
