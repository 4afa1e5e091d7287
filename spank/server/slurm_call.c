/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurm_call.c - see slurm_call.h.
 *
 * The child gets an environment of its own (SLURM_CONF and little else), a socket to read from, a
 * pipe to write to and /dev/null for what libslurm prints; nothing of ours is inherited. Writing
 * and reading are one poll loop under one deadline, so that neither a child that doesn't read nor
 * one that never ends its answer can hold the caller, and one that is gone raises no SIGPIPE.
 */
#include "slurm_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"

#ifndef LIBEXECDIR
#error "LIBEXECDIR comes from the build"
#endif

#define MAX_GPU_INDEX 4096
#define MAX_RESTARTS UINT32_MAX

const char *slurm_call_helper(void)
{
	return LIBEXECDIR "/sfabric-slurm";
}

/* ---- facts ---- */

void job_facts_free(struct job_facts *f)
{
	if (!f)
		return;
	free(f->user);
	free(f->name);
	free(f->state);
	for (size_t i = 0; i < f->host_count; i++) {
		free(f->hosts[i]);
		free(f->gpus[i].index);
	}
	free(f->hosts);
	free(f->gpus);
	free(f);
}

static int by_value(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int add_range(struct job_gpus *gpus, unsigned long first, unsigned long last)
{
	int32_t *grown;

	if (last < first || last >= MAX_GPU_INDEX ||
	    gpus->count + (last - first + 1) > MAX_GPU_INDEX)
		return -EPROTO;
	grown = reallocarray(gpus->index, gpus->count + (last - first + 1), sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	gpus->index = grown;
	for (unsigned long i = first; i <= last; i++)
		grown[gpus->count++] = (int32_t)i;
	return 0;
}

/* "0-1,5" up to the closing parenthesis; *text moves behind what was read. */
static int read_ranges(const char **text, struct job_gpus *gpus)
{
	const char *at = *text;
	int rc = 0;

	while (rc == 0 && *at >= '0' && *at <= '9') {
		char *stop;
		unsigned long first = strtoul(at, &stop, 10), last = first;

		if (*stop == '-' && stop[1] >= '0' && stop[1] <= '9')
			last = strtoul(stop + 1, &stop, 10);
		rc = add_range(gpus, first, last);
		at = stop;
		if (*at == ',' && at[1] >= '0' && at[1] <= '9')
			at++;
		else
			break;
	}
	*text = at;
	return rc < 0 ? rc : *at == ')' && gpus->count ? 0 : -EPROTO;
}

/* One entry, from its name to the comma outside parentheses or the end. */
static int read_gres(const char *entry, size_t len, struct job_gpus *gpus)
{
	const char *indexes;

	if (len < 3 || strncmp(entry, "gpu", 3) != 0 || (len > 3 && !strchr(":(", entry[3])))
		return 0; /* another gres */
	indexes = strstr(entry, "(IDX:");
	if (!indexes || indexes >= entry + len) {
		if (strncmp(entry + len - 2, ":0", 2) != 0) /* "gpu:0" is none */
			gpus->known = false;
		return 0;
	}
	indexes += 5;
	return read_ranges(&indexes, gpus);
}

int job_gpus_parse(const char *detail, struct job_gpus *gpus)
{
	int rc = 0;

	memset(gpus, 0, sizeof(*gpus));
	gpus->known = true;
	while (rc == 0 && *detail) {
		size_t len = 0;
		int depth = 0;

		for (; detail[len] && (detail[len] != ',' || depth > 0); len++)
			depth += detail[len] == '(' ? 1 : detail[len] == ')' ? -1 : 0;
		rc = read_gres(detail, len, gpus);
		detail += len + (detail[len] == ',');
	}
	if (rc == 0 && gpus->known) {
		if (gpus->count)
			qsort(gpus->index, gpus->count, sizeof(*gpus->index), by_value);
		return 0;
	}
	free(gpus->index);
	memset(gpus, 0, sizeof(*gpus));
	return rc == -ENOMEM ? rc : 0;
}

static char *optional_string(struct json_reader *r, json_object *object, const char *key)
{
	return json_has(object, key) ? json_read_strdup(r, object, key) : NULL;
}

static int64_t optional_int(struct json_reader *r, json_object *object, const char *key,
			    int64_t max, int64_t unknown)
{
	return json_has(object, key) ? json_read_int(r, object, key, 0, max) : unknown;
}

/* Hosts and, where they go with them one by one, the GPUs of each. */
static void read_hosts(struct json_reader *r, json_object *object, struct job_facts *f)
{
	json_object *hosts = json_has(object, "hosts") ? json_read_array(r, object, "hosts") : NULL;
	json_object *gres = json_has(object, "gres") ? json_read_array(r, object, "gres") : NULL;
	size_t n = hosts ? json_object_array_length(hosts) : 0;

	if (n > JOB_MAX_HOSTS)
		json_fail(r, "key \"hosts\" has %zu entries", n);
	if (r->rc < 0 || !n)
		return;
	f->hosts = calloc(n, sizeof(*f->hosts));
	f->gpus = calloc(n, sizeof(*f->gpus));
	for (size_t i = 0; f->hosts && f->gpus && i < n && r->rc == 0; i++) {
		const char *host = json_item_string(r, hosts, i, "host");
		const char *detail = NULL;

		if (gres && json_object_array_length(gres) == n)
			detail = json_item_string(r, gres, i, "gres");
		f->hosts[i] = host ? strdup(host) : NULL;
		if (host && (!f->hosts[i] || (detail && job_gpus_parse(detail, &f->gpus[i]) < 0)))
			r->rc = -ENOMEM;
		if (f->hosts[i])
			f->host_count = i + 1;
	}
	if (!f->hosts || !f->gpus)
		r->rc = -ENOMEM;
}

struct job_facts *job_facts_from_json(json_object *object, struct err *err)
{
	struct json_reader r = { .source = "job", .err = err };
	struct job_facts *f = calloc(1, sizeof(*f));

	if (!f) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	f->job = (uint32_t)json_read_int(&r, object, "job", 1, UINT32_MAX);
	f->uid = (uint32_t)json_read_int(&r, object, "uid", 0, UINT32_MAX);
	f->state = json_read_strdup(&r, object, "state");
	f->running = json_read_bool(&r, object, "running");
	f->ended = json_read_bool(&r, object, "ended");
	f->submit_s = json_read_int(&r, object, "submit", 0, INT64_MAX / 2000000000);
	f->user = optional_string(&r, object, "user");
	f->name = optional_string(&r, object, "name");
	f->start_s = optional_int(&r, object, "start", INT64_MAX / 2000000000, 0);
	f->end_s = optional_int(&r, object, "end", INT64_MAX / 2000000000, 0);
	f->restarts = optional_int(&r, object, "restarts", MAX_RESTARTS, -1);
	f->array = json_has(object, "array_job") && json_has(object, "array_task");
	f->array_job = (uint32_t)optional_int(&r, object, "array_job", UINT32_MAX, 0);
	f->array_task = (uint32_t)optional_int(&r, object, "array_task", UINT32_MAX, 0);
	read_hosts(&r, object, f);
	if (r.rc == 0)
		return f;
	if (r.rc == -ENOMEM)
		err_set(err, ENOMEM, "out of memory");
	job_facts_free(f);
	errno = -r.rc;
	return NULL;
}

/* ---- the child ---- */

struct child {
	pid_t pid;
	int in, out; /* our ends; -1 closed */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int spawn_with(const char *helper, int in, int out, char **env, pid_t *pid)
{
	char *const argv[] = { (char *)"sfabric-slurm", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	int rc = ENOMEM;

	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO) == 0 &&
	    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO) == 0 &&
	    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0)
		rc = posix_spawn(pid, helper, &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

static int start_child(const struct conf *conf, const char *helper, struct child *c,
		       struct err *err)
{
	const char *inherited = getenv("SLURM_CONF");
	const char *slurm_conf =
		conf->slurm_conf && conf->slurm_conf[0] ? conf->slurm_conf : inherited;
	char *line = slurm_conf ? io_format("SLURM_CONF=%s", slurm_conf) : NULL;
	char *env[] = { (char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C", line, NULL };
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	int rc = ENOMEM;

	c->in = c->out = -1;
	if (access(helper, X_OK) < 0) /* not every posix_spawn() tells */
		rc = errno;
	else if (!slurm_conf || line)
		rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0 ||
				     pipe2(out, O_CLOEXEC) < 0
			     ? errno
			     : 0;
	if (rc == 0)
		rc = spawn_with(helper, in[0], out[1], env, &c->pid);
	close_fd(&in[0]);
	close_fd(&out[1]);
	free(line);
	if (rc != 0) {
		close_fd(&in[1]);
		close_fd(&out[0]);
		return err_set(err, rc, "%s can't be run: %s", helper, strerror(rc));
	}
	c->in = in[1];
	c->out = out[0];
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Sends what is left of text; closes our end when all is sent or the child does not want it. */
static void send_some(struct child *c, const char **text, size_t *left)
{
	ssize_t n = send(c->in, *text, *left, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		*text += n;
		*left -= (size_t)n;
	}
	if (n <= 0 || *left == 0)
		close_fd(&c->in);
}

struct answer {
	char *text;
	size_t len, room;
};

/* Reads what is there. 1 at the end of the output, 0 for more to come, or a negative errno. */
static int receive_some(struct child *c, struct answer *a)
{
	ssize_t n;

	if (a->room - a->len < 65536 + 1) {
		size_t room = a->room * 2 + 65536 + 1;
		char *grown = realloc(a->text, room);

		if (!grown)
			return -ENOMEM;
		a->text = grown;
		a->room = room;
	}
	n = read(c->out, a->text + a->len, a->room - a->len - 1);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	a->len += (size_t)n;
	a->text[a->len] = '\0';
	if (a->len > SLURM_CALL_MAX_BYTES)
		return -EFBIG;
	return n == 0;
}

static int talk(struct child *c, const char *request, int timeout_ms, struct answer *answer)
{
	int64_t deadline = io_mono_ns() + (int64_t)timeout_ms * 1000000;
	size_t left = strlen(request);
	int rc = 0;

	while (rc == 0) {
		struct pollfd fds[2] = { { c->out, POLLIN, 0 }, { c->in, POLLOUT, 0 } };
		int64_t ms = (deadline - io_mono_ns()) / 1000000;
		int n = ms > 0 ? poll(fds, c->in >= 0 ? 2 : 1, (int)ms) : 0;

		if (n == 0)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && c->in >= 0 && fds[1].revents)
			send_some(c, &request, &left);
		if (n > 0 && fds[0].revents)
			rc = receive_some(c, answer);
	}
	return rc < 0 ? rc : 0;
}

/* The child is ours and not waited for yet: its pid can't be anybody else's. */
static void end_child(struct child *c)
{
	close_fd(&c->in);
	close_fd(&c->out);
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int slurm_call(const struct conf *conf, const char *helper, json_object *request, int timeout_ms,
	       json_object **reply, struct err *err)
{
	char *line = json_line(request);
	struct answer answer = { NULL, 0, 0 };
	struct child child;
	int rc;

	*reply = NULL;
	if (!line)
		return err_set(err, ENOMEM, "out of memory");
	rc = start_child(conf, helper, &child, err);
	if (rc == 0) {
		rc = talk(&child, line, timeout_ms, &answer);
		end_child(&child);
		if (rc < 0)
			err_set(err, -rc, "%s: %s", helper,
				rc == -ETIMEDOUT ? "did not answer in time" : strerror(-rc));
		else if (answer.len == 0)
			rc = err_set(err, EPROTO,
				     "%s ended without an answer; is there a slurm.conf that "
				     "it can read?",
				     helper);
	}
	if (rc == 0) {
		*reply = json_parse(answer.text, answer.len, "sfabric-slurm", err);
		rc = *reply ? 0 : -EPROTO;
	}
	if (rc == 0 && !json_object_is_type(*reply, json_type_object)) {
		json_object_put(*reply);
		*reply = NULL;
		rc = err_set(err, EPROTO, "%s: no JSON object came back", helper);
	}
	free(answer.text);
	free(line);
	return rc;
}
