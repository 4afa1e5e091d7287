/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sfabricctld.c - the cluster service: main, options, signals.
 *
 * Three things run: libmicrohttpd's threads answer (api.c), one thread writes Slurm's job fields
 * (fields.c), and the main thread waits for a signal. Without --foreground the process that was
 * started stays until the service listens or has said why it can't, so that its exit status tells.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "conf.h"
#include "fields.h"
#include "http_server.h"
#include "service.h"
#include "text.h"
#include "wire.h"

struct options {
	const char *conf;
	bool foreground;
};

static bool to_stderr; /* set once, before any thread */

static void log_line(int priority, const char *text)
{
	char safe[1024];

	text_printable(text, safe, sizeof(safe));
	if (to_stderr)
		fprintf(stderr, "sfabricctld: %s\n", safe);
	else
		syslog(priority, "%s", safe);
}

static void usage(FILE *out)
{
	fprintf(out,
		"Usage: sfabricctld [--foreground] [-f FILE]\n"
		"The cluster service of slurm-fabric: takes node maps and step records, serves "
		"jobs'\n"
		"stories, writes Slurm's job fields.\n\n"
		"  -f, --conf FILE   settings (default %s)\n"
		"  -F, --foreground  stay, log to stderr\n"
		"  -h, --help        this text\n"
		"  -V, --version     the version\n",
		conf_default_path());
}

/* Returns -1 to go on, or an exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "conf", required_argument, NULL, 'f' },
		{ "foreground", no_argument, NULL, 'F' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct options){ conf_default_path(), false };
	while ((c = getopt_long(argc, argv, "f:FhV", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			o->conf = optarg;
			break;
		case 'F':
			o->foreground = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			printf("sfabricctld %s\n", PACKAGE_VERSION);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	usage(stderr);
	return 2;
}

static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* A job's owner and user names are read from memory of this process: no core files. */
static void no_cores(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
}

/*
 * The parent of the service: waits for its word on the pipe and exits with it. The service has its
 * own session and goes on. Returns the pipe's end to say the word on, in the service only.
 */
static int go_to_background(void)
{
	char word[600] = "";
	int pipe_fds[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(pipe_fds[0]);
		setsid();
		return pipe_fds[1];
	}
	close(pipe_fds[1]);
	n = read(pipe_fds[0], word, sizeof(word) - 1);
	if (n == 2 && !strncmp(word, "ok", 2))
		_exit(0);
	fprintf(stderr, "sfabricctld: %s\n", n > 0 ? word : "ended before it was ready");
	_exit(1);
}

/* Says "ok", and leaves the terminal; or says why it can't start. */
static void say_word(int fd, const char *word)
{
	int null;

	if (to_stderr) {
		if (strcmp(word, "ok") != 0)
			fprintf(stderr, "sfabricctld: %s\n", word);
		return;
	}
	if (write(fd, word, strlen(word)) < 0 && strcmp(word, "ok") != 0)
		syslog(LOG_ERR, "%s", word);
	close(fd);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i <= 2; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
	if (chdir("/") < 0)
		return;
}

/* The name of the cluster is asked once: a slurm.conf that changes must not change it under way. */
static int fix_cluster(struct conf *conf, struct err *err)
{
	char *cluster = wire_cluster(conf);

	if (!cluster)
		return err_set(err, ENOMEM, "out of memory");
	free(conf->cluster);
	conf->cluster = cluster;
	if (strcmp(cluster, "-") != 0)
		return 0;
	return err_set(err, EINVAL,
		       "%s: the cluster's name is not known; set slurm_conf or cluster",
		       conf->path);
}

/* Two writers would overwrite each other's fields. */
static int check_writer(const struct conf *conf, struct err *err)
{
	if (!conf->without_server)
		return 0;
	return err_set(err, EINVAL,
		       "%s: server = {\"none\"}: each job's first node writes the job fields; name "
		       "this host there, or don't start sfabricctld",
		       conf->path);
}

static void wait_for_end(struct service *s, const sigset_t *signals)
{
	int sig = 0;

	do {
		sigwait(signals, &sig);
		if (sig == SIGHUP)
			service_log(s, LOG_INFO,
				    "SIGHUP: settings are read at start; fabric.json is watched");
	} while (sig == SIGHUP);
	service_log(s, LOG_INFO, "stopping");
}

/* The port is taken first: a second service on this host must not write a single field. */
static int serve(struct service *s, int word_fd, const sigset_t *signals)
{
	struct http_server *http;
	struct err err = { "" };
	pthread_t writer;
	bool writes;

	service_refresh_fabric(s);
	http = http_start(s->conf->listen, api_handle, s, &err);
	writes = http && pthread_create(&writer, NULL, fields_run, s) == 0;
	if (writes) {
		service_log(s, LOG_INFO, "version %s listens on %s for cluster %s", PACKAGE_VERSION,
			    s->conf->listen, s->conf->cluster);
		say_word(word_fd, "ok");
		wait_for_end(s, signals);
	} else {
		say_word(word_fd, http ? "no thread can be started" : err.text);
	}
	http_stop(http);
	if (!writes)
		return 1;
	service_ring(s, true);
	pthread_join(writer, NULL);
	return 0;
}

static int run(struct conf *conf, int word_fd, const sigset_t *signals)
{
	const struct service_with with = { .conf = conf,
					   .folder = conf->state_dir,
					   .store_max = STORE_MAX_BYTES,
					   .fabric_max = FABRIC_MAX_BYTES,
					   .log = log_line };
	struct service service;
	struct err err = { "" };
	int status = 1;

	if (service_init(&service, &with, &err) == 0)
		status = serve(&service, word_fd, signals);
	else
		say_word(word_fd, err.text);
	service_clear(&service);
	return status;
}

static int start(const struct options *o, int word_fd, const sigset_t *signals)
{
	struct err err = { "" };
	struct conf *conf = conf_load(o->conf, false, &err);
	int status = 1;

	if (conf && check_writer(conf, &err) == 0 && fix_cluster(conf, &err) == 0)
		status = run(conf, word_fd, signals);
	else
		say_word(word_fd, err.text);
	conf_free(conf);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	sigset_t signals;
	int word_fd = -1, status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	if (service_off()) {
		fprintf(stderr, "sfabricctld: %s exists: slurm-fabric is switched off\n",
			conf_off_path());
		return 0;
	}
	no_cores();
	to_stderr = options.foreground;
	if (!options.foreground) {
		word_fd = go_to_background();
		if (word_fd < 0) {
			fprintf(stderr, "sfabricctld: %s\n", strerror(-word_fd));
			return 1;
		}
		openlog("sfabricctld", LOG_PID, LOG_DAEMON);
	}
	/* large bodies go back to the system: malloc() would keep as much as there ever was */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	block_signals(&signals);
	return start(&options, word_fd, &signals);
}
