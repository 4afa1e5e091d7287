/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_api.c - who may tell and who may read, and which status says what: requests with real
 * credentials (a munged of the test's own) go straight to api_handle(), with a store in a scratch
 * folder and a script in the place of sfabric-slurm.
 *
 * Other users' credentials can be made by root only, and need a munged program; without either the
 * tests are skipped.
 */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "api.h"
#include "json.h"
#include "service.h"
#include "wire.h"

#define OWNER 1000
#define OPERATOR 2000
#define STRANGER 3000
#define GUEST 4000

static const char munged[] = "/usr/sbin/munged";

static void quiet(int priority, const char *text)
{
	(void)priority;
	(void)text;
}

struct fixture {
	char *folder, *socket, *helper, *asked;
	struct conf conf;
	struct service service;
	pid_t munged;
};

static char *in_folder(const struct fixture *f, const char *name)
{
	char *path = io_format("%s/%s", f->folder, name);

	assert_non_null(path);
	return path;
}

static void start_munged(struct fixture *f)
{
	char *args[] = { (char *)"munged",
			 (char *)"--foreground",
			 (char *)"--force",
			 io_format("--key-file=%s/key", f->folder),
			 io_format("--socket=%s", f->socket),
			 io_format("--pid-file=%s/pid", f->folder),
			 io_format("--log-file=%s/log", f->folder),
			 io_format("--seed-file=%s/seed", f->folder),
			 NULL };
	char *key = in_folder(f, "key");

	assert_int_equal(io_write_atomic(key, "0123456789abcdef0123456789abcdef", 32, 0400, NULL),
			 0);
	free(key);
	f->munged = fork();
	if (f->munged == 0) {
		if (freopen("/dev/null", "w", stderr))
			execv(munged, args);
		_exit(127);
	}
	for (int i = 0; i < 100 && access(f->socket, F_OK) != 0; i++)
		usleep(50000);
	for (size_t i = 3; args[i]; i++)
		free(args[i]);
}

/*
 * Answers that uid 2000 is an operator, nobody else is, and that nodes are private, but to a guest;
 * leaves a mark for each question.
 */
static void write_helper(struct fixture *f)
{
	char *script =
		io_format("#!/bin/sh\nread -r line\necho \"$line\" >> %s\n"
			  "case $line in *:%d}*) echo '{\"operator\":true,\"nodes\":true}';;\n"
			  "*:%d}*) echo '{\"operator\":false,\"nodes\":true}';;\n"
			  "*) echo '{\"operator\":false,\"nodes\":false}';; esac\n",
			  f->asked, OPERATOR, GUEST);

	assert_int_equal(io_write_atomic(f->helper, script, strlen(script), 0755, NULL), 0);
	free(script);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct service_with with = { .conf = &f->conf, .store_max = STORE_MAX_BYTES, .log = quiet };
	struct err err = { "" };

	*state = f;
	f->folder = test_folder();
	chmod(f->folder, 0755);
	f->socket = in_folder(f, "socket");
	f->helper = in_folder(f, "helper");
	f->asked = in_folder(f, "asked");
	f->conf = (struct conf){ .path = (char *)"test.conf",
				 .cluster = (char *)"c1",
				 .munge_socket = f->socket,
				 .slurm_conf = (char *)"",
				 .fabric_json = (char *)"/nonexistent" };
	if (geteuid() != 0 || access(munged, X_OK) != 0)
		return 0;
	start_munged(f);
	write_helper(f);
	with.folder = f->folder;
	if (service_init(&f->service, &with, &err) < 0)
		fail_msg("%s", err.text);
	f->service.helper = f->helper;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "key",	 "pid",		 "log",		"seed",
					     "socket",	 "socket.lock",	 "helper",	"asked",
					     "store.db", "store.db-wal", "store.db-shm" };
	struct fixture *f = *state;

	if (f->munged > 0) {
		service_clear(&f->service);
		kill(f->munged, SIGTERM);
		waitpid(f->munged, NULL, 0);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = in_folder(f, names[i]);

		unlink(path);
		free(path);
	}
	assert_int_equal(rmdir(f->folder), 0);
	free(f->folder);
	free(f->socket);
	free(f->helper);
	free(f->asked);
	free(f);
	return 0;
}

static void need_root_and_munged(const struct fixture *f)
{
	if (f->munged <= 0 || access(f->socket, F_OK) != 0)
		skip();
}

/* A credential of another user: made by a child that is that user. */
static char *seal_as(struct fixture *f, uid_t uid, const char *method, const char *path,
		     const char *json)
{
	static char text[1 << 16];
	size_t used = 0;
	ssize_t n;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		char *credential = setresuid(uid, uid, uid) == 0
					   ? wire_seal(&f->conf, method, path, json, 0, NULL)
					   : NULL;

		if (credential && write(fds[1], credential, strlen(credential)) > 0)
			_exit(0);
		_exit(1);
	}
	close(fds[1]);
	while ((n = read(fds[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	close(fds[0]);
	waitpid(pid, NULL, 0);
	text[used] = '\0';
	assert_true(used > 0);
	return text;
}

static int status_of(struct fixture *f, const struct http_request *request, char **body)
{
	struct http_reply reply = { 0, NULL, NULL };

	api_handle(&f->service, request, &reply);
	assert_non_null(reply.body);
	if (body)
		*body = reply.body;
	else
		free(reply.body);
	return reply.status;
}

static int post_as(struct fixture *f, uid_t uid, const char *path, const char *json, char **body)
{
	struct http_request request = { "POST", path, NULL, seal_as(f, uid, "POST", path, json),
					0 };

	return status_of(f, &request, body);
}

static int get_as(struct fixture *f, uid_t uid, const char *path)
{
	struct http_request request = { "GET", path, seal_as(f, uid, "GET", path, NULL), "", 0 };

	return status_of(f, &request, NULL);
}

static char *golden_record(void)
{
	size_t len;

	return test_data("contract/record.json", &len);
}

/* The golden record with one text replaced by another of the same kind. */
static char *record_with(const char *what, const char *by)
{
	char *golden = golden_record(), *at = strstr(golden, what), *text;

	assert_non_null(at);
	text = io_format("%.*s%s%s", (int)(at - golden), golden, by, at + strlen(what));
	free(golden);
	return text;
}

static void expect_status(struct fixture *f, const char *what, const char *by, int status)
{
	char *text = record_with(what, by), *body = NULL;
	int is = post_as(f, 0, "/v1/record", text, &body);

	if (is != status)
		fail_msg("%s: status %d, not %d: %s", by, is, status, body);
	free(body);
	free(text);
}

static void statuses_tell_what_to_do_with_a_message(void **state)
{
	struct fixture *f = *state;
	char *begin;

	need_root_and_munged(f);
	expect_status(f, "\"job\"", "\"job\"", 200);
	expect_status(f, "\"version\":1", "\"version\":2", 503);       /* keep it */
	expect_status(f, "\"format\":\"slurm", "\"format\":\"x", 400); /* never */
	expect_status(f, "\"job\":1234", "\"job\":0", 400);
	expect_status(f, "\"node_count\":4", "\"node_count\":0", 400);
	expect_status(f, "\"node_index\":0", "\"node_index\":4", 400);
	expect_status(f, "\"begin_ns\":17", "\"begin_ns\":9917", 400); /* room for sums */
	expect_status(f, "\"node\":\"n1\"", "\"node\":\"../n1\"", 400);
	expect_status(f, "\"begin_ns\":17", "\"begin_ns\":-17", 400);
	assert_int_equal(post_as(f, 0, "/v1/timeline", "{}", NULL), 501);
	assert_int_equal(
		post_as(f, 0, "/v1/map", "{\"format\":\"slurm-fabric/map\",\"version\":9}", NULL),
		503);
	assert_int_equal(post_as(f, 0, "/v1/map", "[]", NULL), 400);
	/* the longest class that an option may have */
	begin = io_format(
		"{\"job\":5,\"step\":\"0\",\"uid\":%d,\"node\":\"n1\",\"node_index\":0,"
		"\"node_count\":1,\"class\":\"%s\",\"began_ns\":%lld}",
		OWNER, "abcdefghijklmnopqrstuvwxyz012345,strict,prefer=10080,healthy,rank-------",
		(long long)io_now_ns());
	assert_int_equal(post_as(f, 0, "/v1/begin", begin, NULL), 200);
	free(begin);
}

/* Root's answer is sealed, and says the status again; nobody else gets one. */
static void answers_to_root_are_proven(void **state)
{
	struct fixture *f = *state;
	char *record = golden_record(), *body = NULL, *json;
	uid_t uid;

	need_root_and_munged(f);
	assert_int_equal(post_as(f, 0, "/v1/record", record, &body), 200);
	assert_int_equal(wire_open(&f->conf, body, "REPLY", "/v1/record", &uid, &json, NULL), 0);
	assert_non_null(strstr(json, "\"status\":200"));
	assert_non_null(strstr(json, "\"received_ns\""));
	free(json);
	free(body);
	assert_int_equal(post_as(f, 0, "/v1/record", "[]", &body), 400);
	assert_int_equal(wire_open(&f->conf, body, "REPLY", "/v1/record", &uid, &json, NULL), 0);
	assert_non_null(strstr(json, "\"status\":400"));
	free(json);
	free(body);
	assert_int_equal(post_as(f, OWNER, "/v1/record", record, &body), 403);
	assert_non_null(strstr(body, "\"error\""));
	free(body);
	free(record);
}

static void only_root_tells(void **state)
{
	struct fixture *f = *state;
	char *record = golden_record();

	need_root_and_munged(f);
	assert_int_equal(post_as(f, OWNER, "/v1/record", record, NULL), 403);
	free(record);
}

static void put_job(struct fixture *f, uint32_t job)
{
	struct store_begin b = { .job = job,
				 .uid = OWNER,
				 .node = (char *)"n1",
				 .node_count = 1,
				 .began_ns = io_now_ns() };

	assert_int_equal(store_put_begin(f->service.store, &b, io_now_ns(), NULL), 0);
}

static size_t questions(struct fixture *f)
{
	char *text;
	size_t len, n = 0;

	if (io_read(f->asked, 65536, &text, &len, NULL) < 0)
		return 0;
	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static void jobs_are_shown_to_some(void **state)
{
	struct fixture *f = *state;

	need_root_and_munged(f);
	put_job(f, 77);
	assert_int_equal(get_as(f, OWNER, "/v1/jobs/77"), 200);
	assert_int_equal(get_as(f, 0, "/v1/jobs/77"), 200);
	assert_int_equal(questions(f), 0); /* Slurm need not be asked about these */
	assert_int_equal(get_as(f, OPERATOR, "/v1/jobs/77"), 200);
	assert_int_equal(get_as(f, STRANGER, "/v1/jobs/77"), 404);
	assert_int_equal(get_as(f, STRANGER, "/v1/jobs/77"), 404);
	assert_int_equal(get_as(f, OPERATOR, "/v1/jobs/77"), 200);
	assert_int_equal(questions(f), 2); /* each once */
	assert_int_equal(get_as(f, OPERATOR, "/v1/jobs/78"), 404);
	f->service.users.asking = true; /* about somebody */
	assert_int_equal(get_as(f, OPERATOR, "/v1/jobs/77"), 200);
	assert_int_equal(get_as(f, STRANGER + 20, "/v1/jobs/77"), 503);
	f->service.users.asking = false;
}

/* Somebody else's job and one that does not exist: the same answer, after the same question. */
static void what_may_not_be_seen_does_not_exist(void **state)
{
	static const char *const paths[] = { "/v1/jobs/81", "/v1/jobs/82", "/v1/jobs/81_1" };
	struct fixture *f = *state;
	char *bodies[3];

	need_root_and_munged(f);
	put_job(f, 81);
	for (uid_t i = 0; i < 3; i++) {
		struct http_request request = { "GET", paths[i],
						seal_as(f, STRANGER + 1 + i, "GET", paths[i], NULL),
						"", 0 };
		size_t before = questions(f);

		assert_int_equal(status_of(f, &request, &bodies[i]), 404);
		assert_string_equal(bodies[i], bodies[0]);
		assert_int_equal(questions(f), before + 1);
	}
	for (size_t i = 0; i < 3; i++)
		free(bodies[i]);
	f->service.helper = "/bin/false";
	assert_int_equal(get_as(f, STRANGER + 4, "/v1/jobs/81"), 503);
	assert_int_equal(get_as(f, STRANGER + 5, "/v1/jobs/82"), 503);
	f->service.helper = f->helper;
}

static void private_nodes_are_not_shown(void **state)
{
	struct fixture *f = *state;
	char *map;
	size_t len;

	need_root_and_munged(f);
	map = test_data("contract/map.json", &len);
	assert_int_equal(post_as(f, 0, "/v1/map", map, NULL), 200);
	free(map);
	assert_int_equal(get_as(f, 0, "/v1/maps/n1"), 200);
	assert_int_equal(get_as(f, OPERATOR, "/v1/maps/n1"), 200);
	assert_int_equal(get_as(f, GUEST, "/v1/maps/n1"), 200);
	assert_int_equal(get_as(f, STRANGER, "/v1/maps/n1"), 403);
	assert_int_equal(get_as(f, STRANGER, "/v1/maps/n2"), 403);
	assert_int_equal(get_as(f, GUEST, "/v1/maps/n2"), 404);
}

/* What a path brings into an error is no JSON of its own, and moves no terminal. */
static void errors_are_escaped(void **state)
{
	static const char path[] = "/v1/jobs/\x1b[2J\xff\xc2\x9b\"}{\n";
	struct fixture *f = *state;
	struct http_request request = { "GET", path, NULL, "", 0 };
	json_object *object;
	char *body;

	need_root_and_munged(f);
	request.auth = seal_as(f, 0, "GET", "/v1/jobs/1", NULL);
	assert_int_equal(status_of(f, &request, &body), 401);
	for (const char *p = body; *p; p++)
		assert_true(*p >= ' ' && *p <= '~');
	object = json_parse(body, strlen(body), "error", NULL);
	assert_non_null(object);
	json_object_put(object);
	free(body);
}

static void a_silent_slurm_is_no_permission(void **state)
{
	struct fixture *f = *state;

	need_root_and_munged(f);
	put_job(f, 79);
	f->service.helper = "/bin/false";
	assert_int_equal(get_as(f, STRANGER + 9, "/v1/jobs/79"), 503);
	assert_int_equal(get_as(f, OWNER, "/v1/jobs/79"), 200);
	f->service.helper = f->helper;
}

/* All turns are taken: who asks is put off, and those who tell are not. */
static void stories_are_made_in_turn(void **state)
{
	struct fixture *f = *state;

	need_root_and_munged(f);
	put_job(f, 80);
	for (int i = 0; i < SERVICE_STORIES; i++)
		assert_int_equal(sem_wait(&f->service.stories), 0);
	assert_int_equal(get_as(f, OWNER, "/v1/jobs/80"), 503);
	expect_status(f, "\"job\"", "\"job\"", 200);
	for (int i = 0; i < SERVICE_STORIES; i++)
		sem_post(&f->service.stories);
	assert_int_equal(get_as(f, OWNER, "/v1/jobs/80"), 200);
}

/* Everything that can be cut or changed in a message: an answer, never a crash, never 2xx. */
static void hostile_bodies_are_refused(void **state)
{
	static const char *const bodies[] = { "", "MUNGE:", "MUNGE:AAAA:", "{}", "\xff\xfe" };
	struct fixture *f = *state;
	char *record = golden_record();

	need_root_and_munged(f);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct http_request request = { "POST", "/v1/record", NULL, bodies[i], 0 };

		assert_int_equal(status_of(f, &request, NULL), 401);
	}
	for (size_t len = 0; len < strlen(record); len += 97) {
		char *cut = strndup(record, len);

		assert_int_equal(post_as(f, 0, "/v1/record", cut, NULL), 400);
		free(cut);
	}
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_tell_what_to_do_with_a_message),
		cmocka_unit_test(answers_to_root_are_proven),
		cmocka_unit_test(only_root_tells),
		cmocka_unit_test(jobs_are_shown_to_some),
		cmocka_unit_test(what_may_not_be_seen_does_not_exist),
		cmocka_unit_test(private_nodes_are_not_shown),
		cmocka_unit_test(errors_are_escaped),
		cmocka_unit_test(a_silent_slurm_is_no_permission),
		cmocka_unit_test(stories_are_made_in_turn),
		cmocka_unit_test(hostile_bodies_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
