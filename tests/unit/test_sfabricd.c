/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_sfabricd.c - sfabricd's connections: the socket that systemd passes, no file descriptor
 * left, a slurmstepd that ends with much unread. The program's own file is compiled in here, so
 * that its parts can be called one by one.
 */
int sfabricd_main(int argc, char **argv);

#define main sfabricd_main
#include "sfabricd.c"
#undef main

#include <sys/wait.h>

#include "record.h"
#include "unit.h"

static void quiet(int level, const char *text)
{
	(void)level;
	(void)text;
}

static const struct agent_log log_nothing = { quiet };

/* A listening socket of that type in a fresh folder. */
static int make_socket(char *folder, int type, struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, type, 0);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/sfabricd.sock", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static void remove_socket(char *folder, const struct sockaddr_un *address)
{
	assert_int_equal(unlink(address->sun_path), 0);
	assert_int_equal(rmdir(folder), 0);
	free(folder);
}

static bool passed(int type, pid_t pid, const char *count)
{
	char *folder = test_folder(), number[16];
	struct sockaddr_un address;
	struct agent a = { .listen_fd = -1, .socket_path = address.sun_path };
	int fd = make_socket(folder, type, &address);
	bool taken;

	snprintf(number, sizeof(number), "%d", pid);
	assert_int_equal(setenv("LISTEN_PID", number, 1) | setenv("LISTEN_FDS", count, 1), 0);
	if (fd != LISTEN_FD) {
		assert_int_equal(dup2(fd, LISTEN_FD), LISTEN_FD);
		close(fd);
	}
	taken = socket_from_systemd(&a);
	if (taken) {
		assert_int_equal(a.listen_fd, LISTEN_FD);
		assert_true(fcntl(LISTEN_FD, F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(LISTEN_FD, F_GETFL) & O_NONBLOCK);
		assert_null(getenv("LISTEN_FDS"));
		assert_false(a.own_socket);
	}
	close(LISTEN_FD);
	remove_socket(folder, &address);
	return taken;
}

/* In a child, whose file descriptor 3 is free to be used. */
static void the_socket_of_systemd(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(passed(SOCK_SEQPACKET, getpid(), "1") &&
				      !passed(SOCK_SEQPACKET, getppid(), "1") &&
				      !passed(SOCK_SEQPACKET, getpid(), "0") &&
				      !passed(SOCK_STREAM, getpid(), "1")
			      ? 0
			      : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A connection that can't be taken is closed; left in the queue it would wake us for ever. */
static void no_file_descriptor_is_left(void **state)
{
	char *folder = test_folder(), byte;
	struct sockaddr_un address;
	struct agent a = { .spare_fd = -1, .complaints = COMPLAINTS };
	struct rlimit before, none;
	struct epoll_event event;
	int peer, fd = make_socket(folder, SOCK_SEQPACKET | SOCK_NONBLOCK, &address);

	(void)state;
	a.listen_fd = fd;
	a.complaints_ns = io_mono_ns();
	a.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(watch_fd(&a, fd, &a.listen), 0);
	peer = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	keep_spare(&a);
	assert_true(a.spare_fd >= 0);
	assert_int_equal(connect(peer, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)a.spare_fd + 1; /* all below are in use */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	accept_some(&a);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(epoll_wait(a.epoll_fd, &event, 1, 0), 0);
	assert_int_equal(recv(peer, &byte, 1, MSG_DONTWAIT), 0);
	assert_true(a.spare_fd >= 0);
	assert_null(a.connections);
	close(a.spare_fd);
	close(a.epoll_fd);
	close(peer);
	close(fd);
	remove_socket(folder, &address);
}

static void send_to(int fd, struct packet *p)
{
	char text[PACKET_MAX];
	int len = packet_write(p, text);

	assert_true(len > 0);
	assert_int_equal(send(fd, text, (size_t)len, MSG_DONTWAIT), len);
}

/* How the only record in the spool says that the step ended; malloc'ed. */
static char *end_of(struct spool *spool)
{
	struct spool_item item;
	struct record *r;
	char *end;

	assert_int_equal(spool_pending(spool), 1);
	assert_int_equal(spool_next(spool, &item), 1);
	r = record_parse(item.json, strlen(item.json), "spool", NULL);
	assert_non_null(r);
	end = strdup(r->end);
	record_free(r);
	spool_item_clear(&item);
	return end;
}

/* The last of hundreds of packets says how the step ended. */
static void a_peer_that_ends_with_much_unread(void **state)
{
	struct conf conf = { .sample_ns = SECOND, .sample_max_ns = SECOND };
	char *folder = test_folder(), *command = io_format("rm -rf '%s'", folder), *end;
	struct steps_with with = { .conf = &conf, .node = "n1", .log = &log_nothing };
	struct agent a = { .samples_fd = eventfd(0, EFD_NONBLOCK) };
	struct packet p = { .kind = PACKET_STEP_BEGIN, .node_index = 1, .node_count = 2 };
	struct connection c = { .pidfd = -1, .pid = getpid() };
	int ends[2], room = 4 << 20;

	(void)state;
	a.spool = spool_open(folder, NULL);
	with.timelines = with.markers = folder;
	with.sender = a.sender = sender_start(NULL, a.spool, &log_nothing, NULL);
	with.sampler = a.sampler = sampler_start("/nonexistent", a.samples_fd, NULL);
	a.steps = steps_new(&with);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	c.fd = ends[1];
	send_to(ends[0], &p);
	p.kind = PACKET_TASK;
	p.pid = getpid();
	for (int i = 0; i < 260; i++)
		send_to(ends[0], &p);
	p.kind = PACKET_STEP_END;
	p.status_known = true;
	send_to(ends[0], &p);
	on_process_end(&a, &c);
	assert_true(c.closed);
	steps_stop(a.steps, "the test is over");
	end = end_of(a.spool);
	assert_string_equal(end, "exit 0");
	free(end);
	steps_free(a.steps);
	sampler_stop(a.sampler);
	assert_true(sender_stop(a.sender, 0));
	spool_free(a.spool);
	close(a.samples_fd);
	close(ends[0]);
	assert_int_equal(system(command), 0);
	free(command);
	free(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_socket_of_systemd),
		cmocka_unit_test(no_file_descriptor_is_left),
		cmocka_unit_test(a_peer_that_ends_with_much_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
