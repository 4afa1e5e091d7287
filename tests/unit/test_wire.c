/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_wire.c - credentials between a client and a server, with a munged of the test's own: what
 * was sealed opens once, for the right uid, cluster, method and path, and nothing else does. Then
 * one HTTP exchange with a server that the test plays itself, good and bad answers.
 *
 * Without a munged program on this machine the tests that need one are skipped.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "conf.h"
#include "wire.h"

struct fixture {
	char *folder;
	char *socket;
	struct conf conf;
	pid_t munged;
	char *server; /* conf.servers[0] */
	char *servers[2];
};

static const char *munged_path(void)
{
	static const char *const paths[] = { "/usr/sbin/munged", "/usr/local/sbin/munged",
					     "/sbin/munged" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return NULL;
}

static char *in_folder(const struct fixture *f, const char *name)
{
	char *path = io_format("%s/%s", f->folder, name);

	assert_non_null(path);
	return path;
}

static void write_key(const char *path)
{
	char key[128];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (char)(i * 37 + 11);
	assert_int_equal(io_write_atomic(path, key, sizeof(key), 0400, NULL), 0);
}

static void start_munged(struct fixture *f)
{
	char *key = in_folder(f, "key"), *pid = in_folder(f, "pid"), *log = in_folder(f, "log");
	char *seed = in_folder(f, "seed");
	char *args[] = {
		(char *)"munged",
		(char *)"--foreground",
		(char *)"--force",
		io_format("--key-file=%s", key),
		io_format("--socket=%s", f->socket),
		io_format("--pid-file=%s", pid),
		io_format("--log-file=%s", log),
		io_format("--seed-file=%s", seed),
		NULL,
	};

	write_key(key);
	f->munged = fork();
	if (f->munged == 0) {
		if (freopen("/dev/null", "w", stderr))
			execv(munged_path(), args);
		_exit(127);
	}
	for (int i = 0; i < 100 && access(f->socket, F_OK) != 0; i++)
		usleep(50000);
	for (size_t i = 3; args[i]; i++)
		free(args[i]);
	free(key);
	free(pid);
	free(log);
	free(seed);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct passwd *me = getpwuid(geteuid());

	*state = f;
	f->folder = test_folder();
	chmod(f->folder, 0755);
	f->socket = in_folder(f, "socket");
	f->servers[0] = f->server;
	f->conf = (struct conf){ .path = (char *)"test.conf",
				 .cluster = (char *)"c1",
				 .munge_socket = f->socket,
				 .slurm_conf = (char *)"",
				 .servers = f->servers,
				 .server_user = strdup(me ? me->pw_name : "root") };
	if (munged_path())
		start_munged(f);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "key",    "pid",	      "log",	   "seed",
					     "socket", "socket.lock", "slurm.conf" };
	struct fixture *f = *state;

	if (f->munged > 0) {
		kill(f->munged, SIGTERM);
		waitpid(f->munged, NULL, 0);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = in_folder(f, names[i]);

		unlink(path);
		free(path);
	}
	rmdir(f->folder);
	free(f->folder);
	free(f->socket);
	free(f->server);
	free(f->conf.server_user);
	free(f);
	return 0;
}

static void need_munged(const struct fixture *f)
{
	if (f->munged <= 0 || access(f->socket, F_OK) != 0)
		skip();
}

static int open_once(struct fixture *f, const char *credential, const char *method,
		     const char *path, char **json)
{
	uid_t uid = 12345;
	struct err err = { "" };
	int rc = wire_open(&f->conf, credential, method, path, &uid, json, &err);

	if (rc == 0)
		assert_int_equal(uid, geteuid());
	else
		assert_true(err.text[0] != '\0' && !*json);
	return rc;
}

static void sealed_opens_once(void **state)
{
	struct fixture *f = *state;
	struct err err = { "" };
	char *credential, *json;

	need_munged(f);
	credential = wire_seal(&f->conf, "POST", "/v1/map", "{\"a\":1}", geteuid(), &err);
	assert_non_null(credential);
	assert_int_equal(open_once(f, credential, "POST", "/v1/map", &json), 0);
	assert_string_equal(json, "{\"a\":1}");
	free(json);
	assert_int_equal(open_once(f, credential, "POST", "/v1/map", &json),
			 -EACCES); /* replayed */
	free(credential);
}

static void other_purposes_are_refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "GET", "/v1/map" },
		{ "POST", "/v1/ma" },
		{ "POST", "/v1/map2" },
		{ "REPLY", "/v1/map" },
	};
	struct fixture *f = *state;
	char *credential, *json;

	need_munged(f);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		credential = wire_seal(&f->conf, "POST", "/v1/map", "{}", geteuid(), NULL);
		assert_int_equal(open_once(f, credential, wrong[i][0], wrong[i][1], &json),
				 -EACCES);
		free(credential);
	}
	credential = wire_seal(&f->conf, "POST", "/v1/map", "{}", geteuid(), NULL);
	f->conf.cluster = (char *)"c2";
	assert_int_equal(open_once(f, credential, "POST", "/v1/map", &json), -EACCES);
	f->conf.cluster = (char *)"c1";
	free(credential);
	credential = wire_seal(&f->conf, "POST", "/v1/map", "{}", geteuid() + 1, NULL);
	if (geteuid() != 0) /* munged lets root open everything unless it is told not to */
		assert_int_equal(open_once(f, credential, "POST", "/v1/map", &json), -EACCES);
	free(credential);
}

static void broken_credentials_are_refused(void **state)
{
	struct fixture *f = *state;
	char *credential, *json;
	size_t len;

	need_munged(f);
	credential = wire_seal(&f->conf, "GET", "/v1/jobs/1", NULL, geteuid(), NULL);
	len = strlen(credential);
	for (size_t i = 0; i < len; i += 3) {
		char *cut = strndup(credential, i), was = credential[i];

		assert_true(open_once(f, cut, "GET", "/v1/jobs/1", &json) < 0);
		free(cut);
		/* the highest of a digit's six bits: the low ones of the last digit are padding */
		credential[i] =
			(was >= 'A' && was <= 'Z') || (was >= 'a' && was <= 'f') ? '0' : 'A';
		if (open_once(f, credential, "GET", "/v1/jobs/1", &json) == 0)
			fail_msg("byte %zu was changed and nobody minded", i);
		credential[i] = was;
	}
	free(credential);
}

static void long_texts_are_not_sealed(void **state)
{
	struct fixture *f = *state;
	struct err err = { "" };
	char *text = malloc(WIRE_MAX_BYTES + 1);

	memset(text, ' ', WIRE_MAX_BYTES);
	text[WIRE_MAX_BYTES] = '\0';
	assert_null(wire_seal(&f->conf, "POST", "/v1/map", text, geteuid(), &err));
	assert_non_null(strstr(err.text, "bytes"));
	free(text);
}

static void without_munged_it_may_be_tried_again(void **state)
{
	struct fixture *f = *state;
	struct conf conf = f->conf;
	char *json = NULL;
	uid_t uid;

	conf.munge_socket = (char *)"/nonexistent/socket";
	assert_int_equal(wire_open(&conf, "MUNGE:xx:", "GET", "/", &uid, &json, NULL), -EAGAIN);
	assert_null(wire_seal(&conf, "GET", "/", "", 0, NULL));
}

static void cluster_comes_from_slurm_conf(void **state)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "ClusterName=Alpha\n", "alpha" },
		{ "# ClusterName=no\n\t clustername = \"b-2\" # x\n", "b-2" },
		{ "ClusterName=first\nClusterName=later", "later" }, /* as Slurm takes it */
		{ "ClusterNameX=a\nClusterName=\n", "-" },
		{ "ClusterName", "-" },
		{ "", "-" },
	};
	struct fixture *f = *state;
	struct conf conf = f->conf;
	char *name;

	conf.cluster = (char *)"";
	conf.slurm_conf = in_folder(f, "slurm.conf");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(io_write_atomic(conf.slurm_conf, cases[i].text,
						 strlen(cases[i].text), 0644, NULL),
				 0);
		name = wire_cluster(&conf);
		assert_string_equal(name, cases[i].name);
		free(name);
	}
	conf.cluster = (char *)"own";
	name = wire_cluster(&conf);
	assert_string_equal(name, "own");
	free(name);
	free(conf.slurm_conf);
}

/* ---- a server of one answer ---- */

struct one_answer {
	struct fixture *f;
	int fd;
	const char *status;
	const char *body; /* NULL: the sealed text */
	const char *json;
	const char *path; /* NULL: that of the GET */
	uid_t seal_uid;
	char request[8192];
};

static void *serve_one(void *arg)
{
	struct one_answer *a = arg;
	int fd = accept(a->fd, NULL, NULL);
	ssize_t n = read(fd, a->request, sizeof(a->request) - 1);
	char *sealed = a->body ? strdup(a->body)
			       : wire_seal(&a->f->conf, "REPLY", a->path ? a->path : "/v1/jobs/5",
					   a->json, a->seal_uid, NULL);
	char *answer =
		io_format("HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
			  a->status, strlen(sealed), sealed);

	if (n >= 0)
		a->request[n] = '\0';
	if (send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
		a->request[0] = '\0';
	close(fd);
	free(answer);
	free(sealed);
	return NULL;
}

static int listen_here(struct fixture *f)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	free(f->server);
	f->server = io_format("127.0.0.1:%d", ntohs(at.sin_port));
	f->servers[0] = f->server;
	f->conf.server_count = 1;
	return fd;
}

static int ask_one(struct one_answer *a, bool get, struct wire_reply *reply, struct err *err)
{
	pthread_t thread;
	int rc;

	a->fd = listen_here(a->f);
	assert_int_equal(pthread_create(&thread, NULL, serve_one, a), 0);
	rc = get ? wire_get(&a->f->conf, "/v1/jobs/5", 5000, reply, err)
		 : wire_post(&a->f->conf, "/v1/record", "{}", 5000, reply, err);
	pthread_join(thread, NULL);
	close(a->fd);
	return rc;
}

static int get_from(struct one_answer *a, struct wire_reply *reply, struct err *err)
{
	return ask_one(a, true, reply, err);
}

static void a_sealed_answer_is_opened(void **state)
{
	struct one_answer a = {
		.f = *state, .status = "200 OK", .json = "{\"job\":5}", .seal_uid = geteuid()
	};
	struct wire_reply reply;
	struct err err = { "" };

	need_munged(a.f);
	setenv("http_proxy", "http://127.0.0.1:1/", 1); /* must not be followed */
	assert_int_equal(get_from(&a, &reply, &err), 0);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.json, "{\"job\":5}");
	assert_true(reply.sent_ns > 0 && reply.received_ns >= reply.sent_ns);
	assert_non_null(strstr(a.request, WIRE_AUTH_HEADER ": MUNGE:"));
	wire_reply_clear(&reply);
}

static void unsealed_and_refusing_answers(void **state)
{
	struct one_answer a = { .f = *state, .status = "200 OK", .body = "{\"job\":5}" };
	struct wire_reply reply;
	struct err err = { "" };

	need_munged(a.f);
	assert_true(get_from(&a, &reply, &err) < 0); /* anybody could have said that */
	assert_null(reply.json);
	a.status = "403 Forbidden";
	a.body = "{\"error\":\"no\"}";
	assert_int_equal(get_from(&a, &reply, &err), 0);
	assert_int_equal(reply.status, 403);
	assert_string_equal(reply.json, "{\"error\":\"no\"}");
	wire_reply_clear(&reply);
}

/* What somebody on the server's port says does not make a node throw a message away. */
static void only_the_server_ends_a_message(void **state)
{
	struct one_answer a = { .f = *state, .body = "{\"received_ns\":1,\"sent_ns\":2}" };
	static const char *const final[] = { "200 OK", "204 Nothing", "400 Bad", "404 Not Found" };
	struct wire_reply reply;
	struct err err = { "" };

	need_munged(a.f);
	for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++) {
		a.status = final[i];
		assert_true(ask_one(&a, false, &reply, &err) < 0);
		assert_null(reply.json);
	}
	a.status = "503 Busy";
	assert_int_equal(ask_one(&a, false, &reply, &err), 0);
	assert_int_equal(reply.status, 503);
	wire_reply_clear(&reply);

	a.body = NULL;
	a.seal_uid = geteuid();
	a.path = "/v1/record";
	a.json = "{\"status\":200,\"received_ns\":1}";
	a.status = "400 Bad"; /* changed on the way */
	assert_int_equal(ask_one(&a, false, &reply, &err), 0);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.json, a.json);
	wire_reply_clear(&reply);
	a.json = "{}";
	assert_true(ask_one(&a, false, &reply, &err) < 0);
	a.json = "{\"status\":200}";
	a.path = "/v1/map"; /* the answer to another message */
	assert_true(ask_one(&a, false, &reply, &err) < 0);
}

static void nobody_there(void **state)
{
	struct fixture *f = *state;
	struct wire_reply reply;
	struct err err = { "" };

	need_munged(f);
	f->conf.server_count = 0;
	assert_int_equal(wire_post(&f->conf, "/v1/map", "{}", 500, &reply, &err), -ENOTCONN);
	close(listen_here(f));
	assert_int_equal(wire_post(&f->conf, "/v1/map", "{}", 500, &reply, &err), -EHOSTUNREACH);
	assert_int_equal(reply.status, 0);
	assert_null(reply.json);
	assert_non_null(strstr(err.text, f->server));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed_opens_once),
		cmocka_unit_test(other_purposes_are_refused),
		cmocka_unit_test(broken_credentials_are_refused),
		cmocka_unit_test(long_texts_are_not_sealed),
		cmocka_unit_test(without_munged_it_may_be_tried_again),
		cmocka_unit_test(cluster_comes_from_slurm_conf),
		cmocka_unit_test(a_sealed_answer_is_opened),
		cmocka_unit_test(unsealed_and_refusing_answers),
		cmocka_unit_test(only_the_server_ends_a_message),
		cmocka_unit_test(nobody_there),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
