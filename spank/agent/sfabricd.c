/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sfabricd.c - the node agent: main, options, and the event loop.
 *
 * fabric.so in each slurmstepd connects and says what happens to its step; this file accepts, reads
 * packets, notices when a slurmstepd is gone, and hands all of it to steps.c. Reading counters
 * (sampler.c), the map (publish.c), talking to sfabricctld (sender.c) or being it for this node
 * (local.c) are threads of their own, so that nothing here ever waits for a device, a disk full of
 * counters, a server or Slurm.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent_log.h"
#include "conf.h"
#include "io.h"
#include "local.h"
#include "machine.h"
#include "packet.h"
#include "publish.h"
#include "sampler.h"
#include "sender.h"
#include "spool.h"
#include "steps.h"
#include "text.h"

#define SECOND INT64_C(1000000000)
#define CONNECTIONS_MAX (STEPS_MAX + 64)
#define PACKETS_A_TURN 64
#define PACKETS_IN_SOCKET 4096 /* it has room for some 300 (net.core.wmem_default) */
#define ACCEPTS_A_TURN 64
#define EVENTS 64
#define FLUSH_MS 10000
#define COMPLAINTS 10	  /* a minute, about what peers send */
#define LISTEN_FD 3	  /* sd_listen_fds(3) */
#define FILES_WANTED 8192 /* four for each step: socket, pidfd, timeline and its WAL */
#define NICE 10

enum watch_kind { WATCH_LISTEN, WATCH_SIGNAL, WATCH_SAMPLES, WATCH_PEER, WATCH_PIDFD };

/* What epoll gives back. Each connection has two: its socket and its slurmstepd. */
struct watch {
	enum watch_kind kind;
	struct connection *connection;
};

struct connection {
	struct connection *next;
	struct watch peer, process;
	int fd, pidfd; /* -1: none */
	pid_t pid;
	struct step *step; /* NULL: not begun, ended, or not followed */
	bool closed;	   /* freed at the end of the turn */
};

struct agent {
	struct conf *conf;
	char *node, *run_dir, *spool_dir, *timelines, *markers, *socket_path;
	int lock_fd, listen_fd, epoll_fd, signal_fd, samples_fd;
	int spare_fd;	 /* given up to take and close a connection when there is no other left */
	bool own_socket; /* ours to remove: not systemd's */
	bool off, stop;
	bool deaf; /* the listening socket is not watched until the next tick */
	struct spool *spool;
	struct local *local; /* NULL: there is a server */
	struct sender *sender;
	struct sampler *sampler;
	struct publish *publish;
	struct steps *steps;
	struct connection *connections;
	size_t connection_count;
	struct watch listen, signals, samples;
	int64_t tick_ns, complaints_ns;
	int complaints;
};

struct options {
	const char *conf_path; /* NULL: the default, which may be missing */
	const char *node;
};

/* --- log ----------------------------------------------------------------------------------------
 */

static bool under_systemd; /* set once, before any thread */

static void log_line(int level, const char *text)
{
	char clean[1200];

	if (level == LOG_DEBUG)
		return;
	text_printable(text, clean, sizeof(clean));
	if (under_systemd)
		fprintf(stderr, "<%d>%s\n", level, clean);
	else
		fprintf(stderr, "sfabricd: %s\n", clean);
}

static const struct agent_log agent_log = { log_line };

/* About what peers sent: somebody who sends nonsense must not fill the disk. */
static void complain(struct agent *a, const char *what)
{
	int64_t now = io_mono_ns();

	if (now - a->complaints_ns > 60 * SECOND) {
		a->complaints_ns = now;
		a->complaints = 0;
	}
	if (a->complaints++ < COMPLAINTS)
		agent_say(&agent_log, LOG_WARNING, "%s", what);
}

/* --- connections --------------------------------------------------------------------------------
 */

static int watch_fd(struct agent *a, int fd, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	return epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void close_pidfd(struct connection *c)
{
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
}

/* The connection stays in the list until the turn is over: epoll may still speak of it. */
static void close_connection(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	close_pidfd(c);
	c->closed = true;
}

static void free_closed(struct agent *a)
{
	struct connection **at = &a->connections;

	while (*at) {
		struct connection *c = *at;

		if (!c->closed) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		a->connection_count--;
		free(c);
	}
}

/* The process at the other end: only root may speak, and its end is the step's. */
static int identify(struct agent *a, int fd, pid_t *pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	if (peer.uid != 0) {
		complain(a, "a process that is not root's has connected: closed");
		return -EPERM;
	}
	*pid = peer.pid;
	return 0;
}

static void watch_process(struct agent *a, struct connection *c)
{
	c->pidfd = c->pid > 0 ? (int)syscall(SYS_pidfd_open, c->pid, 0) : -1;
	if (c->pidfd >= 0 && watch_fd(a, c->pidfd, &c->process) < 0)
		close_pidfd(c);
}

static int add_connection(struct agent *a, int fd)
{
	struct connection *c;
	pid_t pid = 0;
	int rc = identify(a, fd, &pid);

	if (rc < 0)
		return rc;
	if (a->connection_count >= CONNECTIONS_MAX) {
		complain(a, "too many connections: one more is closed");
		return -EMFILE;
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->fd = fd;
	c->pid = pid;
	c->peer = (struct watch){ WATCH_PEER, c };
	c->process = (struct watch){ WATCH_PIDFD, c };
	rc = watch_fd(a, fd, &c->peer);
	if (rc < 0) {
		free(c);
		return rc;
	}
	watch_process(a, c);
	c->next = a->connections;
	a->connections = c;
	a->connection_count++;
	return 0;
}

static void keep_spare(struct agent *a)
{
	if (a->spare_fd < 0)
		a->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Left in the queue, a connection that can't be taken would wake us again and again. */
static void turn_away(struct agent *a)
{
	int fd;

	complain(a, "no file descriptor is left: a connection is closed");
	close(a->spare_fd);
	a->spare_fd = -1;
	fd = accept4(a->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	keep_spare(a);
}

/* Without files or memory the queue can't be emptied, and would wake us without end. */
static void stop_listening(struct agent *a, int cause)
{
	char text[128];

	snprintf(text, sizeof(text), "connections wait: %s", strerror(cause));
	complain(a, text);
	a->deaf = epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, a->listen_fd, NULL) == 0;
}

static void accept_some(struct agent *a)
{
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(a->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && errno == EMFILE && a->spare_fd >= 0) {
			turn_away(a);
			continue;
		}
		if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			stop_listening(a, errno);
		if (fd < 0)
			return;
		if (add_connection(a, fd) < 0)
			close(fd);
	}
}

/* --- packets ------------------------------------------------------------------------------------
 */

static void end_step(struct agent *a, struct connection *c, const struct packet *end)
{
	if (c->step)
		steps_end(a->steps, c->step, end);
	c->step = NULL;
}

static bool wanted(const struct agent *a, const struct packet *p)
{
	return !a->off && p->step != STEP_ID_EXTERN && strcmp(p->class, "off") != 0;
}

/* The step that an earlier sfabricd followed has said its end on a connection of its own. */
static bool take_followed(struct agent *a, struct connection *c, const struct packet *end)
{
	c->step = steps_find(a->steps, end);
	for (struct connection *o = a->connections; c->step && o; o = o->next)
		if (o != c && o->step == c->step) {
			o->step = NULL;
			close_connection(o);
		}
	return c->step != NULL;
}

static void take_packet(struct agent *a, struct connection *c, const struct packet *p)
{
	switch (p->kind) {
	case PACKET_STEP_BEGIN:
		if (!wanted(a, p))
			break;
		end_step(a, c, NULL); /* two begins on one connection: the first is over */
		c->step = steps_begin(a->steps, p, c->pid);
		break;
	case PACKET_TASK:
		if (c->step)
			steps_task(a->steps, c->step, p->pid);
		break;
	case PACKET_STEP_END:
		if (c->step || take_followed(a, c, p))
			end_step(a, c, p);
		else if (wanted(a, p))
			steps_end_alone(a->steps, p);
		break;
	}
}

/* Reads what is there. False: the peer is gone. */
static bool read_packets(struct agent *a, struct connection *c)
{
	char text[PACKET_MAX + 1];

	for (int i = 0; i < PACKETS_A_TURN; i++) {
		ssize_t len = recv(c->fd, text, sizeof(text), MSG_DONTWAIT | MSG_TRUNC);
		struct packet packet;
		struct err err = { "" };

		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (len <= 0)
			return false;
		if (len > PACKET_MAX)
			complain(a, "a packet of more than 4 KiB: ignored");
		else if (packet_read(text, (size_t)len, &packet, &err) < 0)
			complain(a, err.text);
		else
			take_packet(a, c, &packet);
	}
	return true;
}

static void on_peer(struct agent *a, struct connection *c)
{
	if (c->closed || read_packets(a, c))
		return;
	end_step(a, c, NULL);
	close_connection(c);
}

/* What was said about a step that has no connection of its own any more comes by a new one. */
static void hear_out(struct agent *a)
{
	accept_some(a);
	for (struct connection *c = a->connections; c; c = c->next)
		if (c->fd >= 0)
			read_packets(a, c);
}

/* slurmstepd is gone. What it said before is still in the socket, and counts. */
static void on_process_end(struct agent *a, struct connection *c)
{
	if (c->closed)
		return;
	if (c->fd < 0)
		hear_out(a);
	for (int i = 0; c->fd >= 0 && i < PACKETS_IN_SOCKET / PACKETS_A_TURN; i++)
		if (!read_packets(a, c))
			break;
	if (c->closed)
		return;
	end_step(a, c, NULL);
	close_connection(c);
}

/* --- the loop -----------------------------------------------------------------------------------
 */

static void take_samples(struct agent *a)
{
	struct sampler_pass *pass;
	uint64_t count;

	if (read(a->samples_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;
	while ((pass = sampler_take(a->sampler))) {
		steps_pass(a->steps, pass);
		sampler_pass_free(pass);
	}
}

static void take_signal(struct agent *a)
{
	struct signalfd_siginfo info;

	if (read(a->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		a->stop = true;
}

static void handle(struct agent *a, const struct watch *watch)
{
	switch (watch->kind) {
	case WATCH_LISTEN:
		accept_some(a);
		break;
	case WATCH_SIGNAL:
		take_signal(a);
		break;
	case WATCH_SAMPLES:
		take_samples(a);
		break;
	case WATCH_PEER:
		on_peer(a, watch->connection);
		break;
	case WATCH_PIDFD:
		on_process_end(a, watch->connection);
		break;
	}
}

/* The connections stay, and what they say goes unheard while it is off. */
static void switch_off(struct agent *a)
{
	for (struct connection *c = a->connections; c; c = c->next)
		c->step = NULL;
	steps_stop(a->steps, "slurm-fabric was switched off");
}

/* A step that an earlier sfabricd followed: it has no connection until it says its end. */
static void follow(void *arg, struct step *step, pid_t stepd, int pidfd)
{
	struct agent *a = arg;
	struct connection *c = calloc(1, sizeof(*c));

	if (!c) {
		agent_say(&agent_log, LOG_WARNING, "out of memory: a step's end may be missed");
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	*c = (struct connection){ .fd = -1, .pidfd = pidfd, .pid = stepd, .step = step };
	c->process = (struct watch){ WATCH_PIDFD, c };
	if (pidfd >= 0 && watch_fd(a, pidfd, &c->process) < 0)
		close_pidfd(c);
	c->next = a->connections;
	a->connections = c;
	a->connection_count++;
}

/* Those that ended while no sfabricd was there, once what they said is heard. */
static void end_orphans(struct agent *a)
{
	hear_out(a);
	for (struct connection *c = a->connections; c; c = c->next)
		if (c->fd < 0 && c->pidfd < 0 && !c->closed) {
			end_step(a, c, NULL);
			close_connection(c);
		}
	free_closed(a);
}

static void check_off(struct agent *a)
{
	bool off = access(conf_off_path(), F_OK) == 0;

	if (off == a->off)
		return;
	a->off = off;
	agent_say(&agent_log, LOG_NOTICE,
		  off ? "%s is there: nothing is done until it is removed"
		      : "%s is gone: at work again",
		  conf_off_path());
	if (off)
		switch_off(a);
	publish_pause(a->publish, off);
	sender_pause(a->sender, off);
}

static void tick(struct agent *a)
{
	int64_t now = io_mono_ns();
	char path[512];

	a->tick_ns = now;
	keep_spare(a);
	if (a->deaf && watch_fd(a, a->listen_fd, &a->listen) == 0)
		a->deaf = false;
	if (sampler_check(a->sampler, now, path, sizeof(path)))
		agent_say(&agent_log, LOG_WARNING,
			  "reading %s has not come back for two seconds: its counters are unknown "
			  "until it does",
			  path);
	steps_tick(a->steps, now);
	check_off(a);
}

static int turn_ms(const struct agent *a)
{
	return steps_count(a->steps) > 0 ? 1000 : 2000;
}

static void loop(struct agent *a)
{
	struct epoll_event events[EVENTS];

	while (!a->stop) {
		int count = epoll_wait(a->epoll_fd, events, EVENTS, turn_ms(a));

		for (int i = 0; i < count; i++)
			handle(a, events[i].data.ptr);
		free_closed(a);
		if (io_mono_ns() - a->tick_ns >= SECOND * 9 / 10)
			tick(a);
	}
}

/* --- start and end ------------------------------------------------------------------------------
 */

/* A socket unit that was not told of another run_dir is a socket where nobody looks. */
static void check_address(const struct agent *a)
{
	struct sockaddr_un address = { .sun_family = AF_UNSPEC };
	socklen_t len = sizeof(address);

	if (getsockname(LISTEN_FD, (struct sockaddr *)&address, &len) == 0 &&
	    address.sun_family == AF_UNIX &&
	    !strncmp(address.sun_path, a->socket_path, sizeof(address.sun_path)))
		return;
	agent_say(
		&agent_log, LOG_WARNING,
		"the socket from systemd is not %s: make ListenSequentialPacket= and run_dir agree",
		a->socket_path);
}

/* sd_listen_fds(3), which needs no library. */
static bool socket_from_systemd(struct agent *a)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	uint64_t value;
	int type = 0;
	socklen_t len = sizeof(type);

	if (!pid || !fds || !u64_parse(pid, INT32_MAX, &value) || (pid_t)value != getpid() ||
	    !u64_parse(fds, 16, &value) || value < 1)
		return false;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (getsockopt(LISTEN_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET)
		return false;
	check_address(a);
	a->listen_fd = LISTEN_FD;
	fcntl(LISTEN_FD, F_SETFD, FD_CLOEXEC);
	fcntl(LISTEN_FD, F_SETFL, fcntl(LISTEN_FD, F_GETFL) | O_NONBLOCK);
	return true;
}

/* Binds beside the final name and renames: a stale socket is replaced, and there is never none. */
static int bind_socket(struct agent *a, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t before;
	int rc;

	if (strlen(a->socket_path) + 5 > sizeof(address.sun_path))
		return err_set(err, ENAMETOOLONG,
			       "%s: longer than a socket's path may be; shorten run_dir",
			       a->socket_path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", a->socket_path);
	a->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->listen_fd < 0)
		return err_set(err, errno, "%s: %s", a->socket_path, strerror(errno));
	unlink(address.sun_path);
	before = umask(0177);
	rc = bind(a->listen_fd, (struct sockaddr *)&address, sizeof(address));
	umask(before);
	if (rc < 0 || listen(a->listen_fd, SOMAXCONN) < 0 ||
	    rename(address.sun_path, a->socket_path) < 0)
		return err_set(err, errno, "%s: can't be bound: %s", a->socket_path,
			       strerror(errno));
	a->own_socket = true;
	return 0;
}

/* The lock is on the folder itself: nothing is left behind, and the lock ends with main(). */
static int lock_run_dir(struct agent *a, struct err *err)
{
	int rc = io_mkdirs(a->run_dir, 0755, err);
	struct stat st;

	if (rc < 0)
		return rc;
	a->lock_fd = open(a->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->lock_fd < 0 || fstat(a->lock_fd, &st) < 0)
		return err_set(err, errno, "%s: %s", a->run_dir, strerror(errno));
	if (st.st_uid != geteuid() || st.st_mode & S_IWOTH)
		return err_set(err, EPERM,
			       "%s: others could put a socket or an env file there; "
			       "make the folder root's alone",
			       a->run_dir);
	if (flock(a->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, EBUSY, "%s: another sfabricd is at work there", a->run_dir);
	return 0;
}

static char *node_name(const char *given)
{
	char host[256] = "";

	if (given)
		return strdup(given);
	if (gethostname(host, sizeof(host) - 1) < 0)
		return NULL;
	host[strcspn(host, ".")] = '\0';
	return strdup(host);
}

static int find_places(struct agent *a, const struct options *options, struct err *err)
{
	a->conf = conf_load(options->conf_path ? options->conf_path : conf_default_path(),
			    !options->conf_path, err);
	if (!a->conf)
		return -EINVAL;
	a->node = node_name(options->node);
	if (!a->node || !name_valid(a->node, 255))
		return err_set(err, EINVAL, "\"%s\" is no node name", a->node ? a->node : "");
	a->run_dir = conf_expand(a->conf->run_dir, a->node);
	a->spool_dir = conf_expand(a->conf->spool_dir, a->node);
	a->timelines = a->spool_dir ? io_format("%s/timelines", a->spool_dir) : NULL;
	a->markers = a->run_dir ? io_format("%s/steps", a->run_dir) : NULL;
	a->socket_path = a->run_dir ? io_format("%s/sfabricd.sock", a->run_dir) : NULL;
	if (!a->timelines || !a->markers || !a->socket_path)
		return err_set(err, ENOMEM, "out of memory");
	return 0;
}

static int open_events(struct agent *a, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	a->listen = (struct watch){ WATCH_LISTEN, NULL };
	a->signals = (struct watch){ WATCH_SIGNAL, NULL };
	a->samples = (struct watch){ WATCH_SAMPLES, NULL };
	a->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	a->samples_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	keep_spare(a);
	if (a->signal_fd < 0 || a->samples_fd < 0 || a->epoll_fd < 0 ||
	    watch_fd(a, a->signal_fd, &a->signals) < 0 ||
	    watch_fd(a, a->samples_fd, &a->samples) < 0 ||
	    watch_fd(a, a->listen_fd, &a->listen) < 0)
		return err_set(err, errno, "events: %s", strerror(errno));
	return 0;
}

/* There is one writer of job fields: sfabricctld, or the nodes, and never both. */
static int start_sender(struct agent *a, struct err *err)
{
	struct local_with local = {
		.conf = a->conf, .node = a->node, .folder = a->spool_dir, .log = &agent_log
	};
	struct sender_way way = sender_to_server(a->conf);
	bool nowhere = a->conf->server_count == 0 && !a->conf->without_server;

	if (a->conf->without_server) {
		a->local = local_start(&local, err);
		if (!a->local)
			return -EIO;
		way = local_way(a->local);
	}
	a->sender = sender_start(nowhere ? NULL : &way, a->spool, &agent_log, err);
	return a->sender ? 0 : -EIO;
}

static int start_parts(struct agent *a, struct err *err)
{
	struct steps_with steps = { .conf = a->conf,
				    .node = a->node,
				    .timelines = a->timelines,
				    .markers = a->markers,
				    .log = &agent_log };
	struct publish_with publish = {
		.conf = a->conf, .node = a->node, .run_dir = a->run_dir, .log = &agent_log
	};

	a->spool = spool_open(a->spool_dir, err);
	if (!a->spool)
		return -EIO;
	if (start_sender(a, err) < 0)
		return -EIO;
	a->sampler = sampler_start(a->conf->root, a->samples_fd, err);
	if (!a->sampler)
		return -EIO;
	publish.sender = steps.sender = a->sender;
	publish.sampler = steps.sampler = a->sampler;
	a->publish = publish_start(&publish, err);
	a->steps = a->publish ? steps_new(&steps) : NULL;
	return a->steps ? 0 : -EIO;
}

static int start(struct agent *a, const struct options *options, struct err *err)
{
	int rc = find_places(a, options, err);

	if (rc == 0 && (rc = machine_environment(a->conf->root)) < 0)
		err_set(err, -rc, "environment: %s", strerror(-rc));
	rc = rc ? rc : lock_run_dir(a, err);
	if (rc == 0 && !socket_from_systemd(a))
		rc = bind_socket(a, err);
	rc = rc ? rc : open_events(a, err);
	rc = rc ? rc : start_parts(a, err);
	if (rc < 0)
		return rc;
	steps_recover(a->steps, follow, a);
	end_orphans(a);
	check_off(a);
	agent_say(&agent_log, LOG_INFO, "at work for node %s, socket %s", a->node, a->socket_path);
	return 0;
}

/* False: a thread hangs, and what it may still use is left to the end of the process. */
static bool stop_parts(struct agent *a)
{
	bool ended;

	if (a->own_socket) /* first: nobody should connect to one who leaves */
		unlink(a->socket_path);
	if (a->steps)
		steps_leave(a->steps);
	ended = publish_stop(a->publish);
	sampler_stop(a->sampler);
	if (!sender_stop(a->sender, FLUSH_MS) || !local_stop(a->local) || !ended)
		return false;
	spool_free(a->spool);
	conf_free(a->conf);
	return true;
}

static void release(struct agent *a)
{
	while (a->connections) {
		struct connection *c = a->connections;

		a->connections = c->next;
		close_connection(c);
		free(c);
	}
	steps_free(a->steps);
	free(a->node);
	free(a->run_dir);
	free(a->spool_dir);
	free(a->timelines);
	free(a->markers);
	free(a->socket_path);
}

static const char usage[] =
	"usage: sfabricd [--foreground] [-f FILE] [-n NODE]\n"
	"The node agent of slurm-fabric; see sfabricd(8).\n"
	"  -f, --conf FILE     fabric.conf to read\n"
	"  -n, --node NODE     name of this node; the host name up to its first dot\n"
	"      --foreground    accepted: sfabricd never leaves the foreground\n"
	"  -h, --help          this text\n"
	"  -V, --version       the version\n";

/* 0: go on; 1: done; 2: wrong use. */
static int read_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{ "foreground", no_argument, NULL, 'F' }, { "conf", required_argument, NULL, 'f' },
		{ "node", required_argument, NULL, 'n' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },	  { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "f:n:hV", table, NULL)) != -1) {
		switch (c) {
		case 'F':
			break;
		case 'f':
			options->conf_path = optarg;
			break;
		case 'n':
			options->node = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		case 'V':
			puts("sfabricd " VERSION);
			return 1;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc)
		return 0;
	fputs(usage, stderr);
	return 2;
}

/*
 * Jobs come first: a packet that wakes this process must not take the processor from the slurmstepd
 * that sent it. Refusals change nothing.
 */
static void stand_back(void)
{
	const struct sched_param param = { .sched_priority = 0 };

	sched_setscheduler(0, SCHED_BATCH, &param);
	setpriority(PRIO_PROCESS, 0, NICE);
}

/* Shells and service managers give 1024, as a soft limit. */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_WANTED)
		return;
	limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	struct agent agent = { .lock_fd = -1,
			       .listen_fd = -1,
			       .epoll_fd = -1,
			       .signal_fd = -1,
			       .samples_fd = -1,
			       .spare_fd = -1 };
	struct options options = { NULL, NULL };
	struct err err = { "" };
	int rc = read_options(argc, argv, &options);
	bool ended;

	if (rc)
		return rc == 2 ? 2 : 0;
	under_systemd = getenv("JOURNAL_STREAM") != NULL;
	stand_back();
	allow_files();
	if (start(&agent, &options, &err) < 0) {
		agent_say(&agent_log, LOG_ERR, "%s", err.text);
		rc = 1;
	} else {
		loop(&agent);
		agent_say(&agent_log, LOG_INFO, "stopping");
	}
	ended = stop_parts(&agent);
	/* A read that hangs in the kernel keeps the process: a successor need not wait for it. */
	if (agent.lock_fd >= 0)
		close(agent.lock_fd);
	if (!ended)
		_exit(rc);
	release(&agent);
	return rc;
}
