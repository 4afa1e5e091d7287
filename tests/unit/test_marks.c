/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_marks.c - suspect ports: from what a watch observes to health.json and to who is hit.
 */
#include "unit.h"

#include "fabric.h"
#include "health.h"
#include "marks.h"
#include "service.h"
#include "take.h"

#define PORT "0xb83fd20300100001"
#define PORT_GUID UINT64_C(0xb83fd20300100001)
#define MINUTE INT64_C(60000000000)

static const struct marks_rules rules = { .after = 2, .clear = 3, .hold_ns = 60 * MINUTE };

/* One interval of a minute; ports: what is in the array of that name. */
static char *message(const char *by, const char *ports, const char *more)
{
	return io_format("{\"format\":\"slurm-fabric/observations\",\"version\":1,\"by\":\"%s\","
			 "\"since_ns\":1000,\"until_ns\":60000001000,\"ports\":[%s],%s}",
			 by, ports, more);
}

#define BAD                                                                                        \
	"{\"switch\":\"0xb83fd20300aa0000\",\"name\":\"su1-leaf0\",\"switch_port\":1,\"port\":"    \
	"\"" PORT "\",\"counters\":{\"symbol_errors\":77,\"xmit_discards\":3}}"
#define CONGESTED                                                                                  \
	"{\"switch\":\"0xb83fd20300aa0000\",\"name\":\"su1-leaf0\",\"switch_port\":1,\"port\":"    \
	"\"" PORT "\",\"counters\":{\"xmit_discards\":3}}"
#define SWITCHES                                                                                   \
	"{\"switch\":\"0xb83fd20300aa0000\",\"name\":\"su1-leaf0\",\"switch_port\":9,"             \
	"\"counters\":{\"symbol_errors\":1}}"
#define ALL_READ "\"unread\":[]"

/* +1 marked, -1 cleared, 0 neither. */
static int take(struct marks *m, const char *by, const char *ports, const char *more,
		int64_t now_ns)
{
	char *text = message(by, ports, more);
	struct err err = { "" };
	json_object *object = json_parse(text, strlen(text), "test", &err);
	struct marks_change *changes;
	struct marks_round round;
	size_t count;
	int change = 0;

	assert_non_null(object);
	if (marks_round_read(&round, object, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(marks_take(m, &round, &rules, now_ns, &changes, &count), 0);
	assert_true(count <= 1);
	if (count) {
		assert_int_equal(changes[0].port, PORT_GUID);
		change = changes[0].suspect ? 1 : -1;
	}
	marks_changes_free(changes, count);
	marks_round_clear(&round);
	json_object_put(object);
	free(text);
	return change;
}

#define WATCH "watch on a"

static void test_hysteresis(void **state)
{
	struct marks *m = marks_new();
	int64_t now = 1000 * MINUTE;

	(void)state;
	assert_int_equal(take(m, WATCH, BAD, ALL_READ, now), 0);
	assert_int_equal(take(m, WATCH, "", ALL_READ, now += MINUTE), 0);
	assert_int_equal(take(m, WATCH, BAD, ALL_READ, now += MINUTE), 1); /* the second one */
	assert_true(marks_suspect(m, PORT_GUID));
	assert_int_equal(take(m, WATCH, BAD, ALL_READ, now += MINUTE), 0);
	assert_int_equal(take(m, WATCH, "", ALL_READ, now += MINUTE), 0);
	assert_int_equal(take(m, WATCH, "", ALL_READ, now += MINUTE), 0);
	assert_int_equal(take(m, WATCH, "", ALL_READ, now += MINUTE), -1); /* the third clean one */
	assert_false(marks_suspect(m, PORT_GUID));
	assert_int_equal(take(m, WATCH, BAD, ALL_READ, now += MINUTE), 0); /* from the start */
	marks_free(m);
}

/* What is not known to be clean is not. */
static void test_only_clean_intervals_clear(void **state)
{
	struct marks *m = marks_new();
	int64_t now = 1000 * MINUTE;

	(void)state;
	take(m, WATCH, BAD, ALL_READ, now);
	assert_int_equal(take(m, WATCH, BAD, ALL_READ, now += MINUTE), 1);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(take(m, WATCH, "", "\"unread\":[\"" PORT "\"]", now += MINUTE), 0);
		assert_int_equal(take(m, WATCH, "", "\"unread\":[],\"cut\":true", now += MINUTE),
				 0);
		assert_int_equal(take(m, "watch on b", "", ALL_READ, now += MINUTE), 0);
	}
	assert_true(marks_suspect(m, PORT_GUID));
	assert_int_equal(take(m, "watch on b", "", ALL_READ, now += 60 * MINUTE), -1); /* over */
	marks_free(m);
}

static void test_what_is_no_fault_of_the_link(void **state)
{
	struct marks *m = marks_new();

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(take(m, WATCH, CONGESTED, ALL_READ, (1000 + i) * MINUTE), 0);
		assert_int_equal(take(m, WATCH, SWITCHES, ALL_READ, (1000 + i) * MINUTE), 0);
	}
	marks_free(m);
}

static void test_broken_rounds_are_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"format\":\"slurm-fabric/"
		"observations\",\"version\":1,\"by\":\"admin\",\"since_ns\":1,"
		"\"until_ns\":2,\"ports\":[],\"unread\":[]}",
		"{\"format\":\"slurm-fabric/observations\",\"version\":1,\"by\":\"watch "
		"x\",\"since_ns\":3,"
		"\"until_ns\":2,\"ports\":[],\"unread\":[]}",
		"{\"format\":\"slurm-fabric/observations\",\"version\":1,\"by\":\"watch "
		"x\",\"since_ns\":1,"
		"\"until_ns\":2,\"ports\":[{\"name\":\"x\"}],\"unread\":[]}",
		"{\"format\":\"slurm-fabric/observations\",\"version\":1,\"by\":\"watch "
		"x\",\"since_ns\":1,"
		"\"until_ns\":2,\"ports\":[],\"unread\":[\"0x1\"]}",
		"{\"format\":\"slurm-fabric/observations\",\"version\":1,\"by\":\"watch "
		"x\",\"since_ns\":1,"
		"\"until_ns\":2,\"ports\":[{\"name\":\"x\",\"switch_port\":1,\"counters\":"
		"{\"symbol_errors\":-4}}],\"unread\":[]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_object *object = json_parse(bad[i], strlen(bad[i]), "test", NULL);
		struct marks_round round;
		struct err err = { "" };

		assert_int_equal(marks_round_read(&round, object, &err), -EPROTO);
		assert_string_not_equal(err.text, "");
		marks_round_clear(&round);
		json_object_put(object);
	}
}

/* With a store, a fabric and health.json. */

static char said[4096];

static void keep_said(int priority, const char *text)
{
	(void)priority;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

struct fixture {
	char *folder, *fabric, *health;
	struct conf conf;
	struct service service;
};

static void open_service(struct fixture *f)
{
	const struct service_with with = { .conf = &f->conf,
					   .folder = f->folder,
					   .store_max = STORE_MAX_BYTES,
					   .fabric_max = FABRIC_MAX_BYTES,
					   .log = keep_said };
	struct err err = { "" };

	if (service_init(&f->service, &with, &err) < 0)
		fail_msg("%s", err.text);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->folder = test_folder();
	f->health = io_format("%s/health.json", f->folder);
	f->fabric = io_format("%s/contract/fabric.json", TEST_DATA);
	f->conf = (struct conf){ .path = (char *)"test.conf",
				 .cluster = (char *)"c1",
				 .slurm_conf = (char *)"",
				 .fabric_json = f->fabric,
				 .suspect_after = 2,
				 .clear_after = 3,
				 .suspect_for_ns = 60 * MINUTE };
	said[0] = '\0';
	open_service(f);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "store.db", "store.db-wal", "store.db-shm",
					     "health.json" };
	struct fixture *f = *state;

	service_clear(&f->service);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = io_format("%s/%s", f->folder, names[i]);

		unlink(path);
		free(path);
	}
	assert_int_equal(rmdir(f->folder), 0);
	free(f->folder);
	free(f->health);
	free(f->fabric);
	free(f);
	return 0;
}

/* Posts an interval; the answer as a line. */
static char *post(struct fixture *f, const char *ports, int64_t now_ns)
{
	char *text = message(WATCH, ports, ALL_READ), *line;
	json_object *answer = json_object_new_object();
	struct err err = { "" };

	if (take_message(&f->service, "/v1/health", text, now_ns, answer, &err) < 0)
		fail_msg("%s", err.text);
	line = json_line(answer);
	json_object_put(answer);
	free(text);
	return line;
}

/* Job 17 has GPUs 0 and 3 of n1; port mlx5_0:1 there is near GPU 0 only. */
static void run_job(struct fixture *f)
{
	struct store_begin begin = {
		.job = 17, .node = (char *)"n1", .node_count = 1, .began_ns = 900 * MINUTE
	};
	struct store_identity id = { .job = 17, .submit_s = 1, .start_s = 2 };
	struct err err = { "" };
	int64_t key;
	size_t len;
	char *map = test_data("contract/map.json", &len);

	assert_int_equal(store_put_map(f->service.store, "n1", map, 1, &err), 0);
	assert_int_equal(store_put_begin(f->service.store, &begin, 901 * MINUTE, &err), 0);
	assert_int_equal(store_find_job(f->service.store, 17, &key, &err), 0);
	assert_int_equal(
		store_set_facts(f->service.store, &key, &id,
				"{\"job\":17,\"uid\":1000,\"state\":\"RUNNING\",\"running\":true,"
				"\"ended\":false,\"hosts\":[\"n1\"],\"gres\":[\"gpu:2(IDX:0,3)\"],"
				"\"submit\":1,\"start\":2}",
				&err),
		0);
	free(map);
}

static void test_marks_are_written_and_jobs_named(void **state)
{
	struct fixture *f = *state;
	struct err err = { "" };
	struct health *h;
	char *answer;

	run_job(f);
	free(post(f, BAD, 1000 * MINUTE));
	h = health_load(f->health, &err);
	assert_non_null(h);
	assert_int_equal(h->count, 0);
	health_free(h);
	answer = post(f, BAD "," SWITCHES, 1001 * MINUTE);
	assert_string_equal(answer, "{\"ports\":[{\"port\":\"" PORT "\",\"suspect\":true,\"host\":"
				    "\"n1\",\"jobs\":[{\"job\":17,\"gpus\":1}]}]}");
	free(answer);
	h = health_load(f->health, &err);
	assert_int_equal(h->count, 1);
	assert_int_equal(h->marks[0].port, PORT_GUID);
	assert_int_equal(h->marks[0].since_ns, 999 * MINUTE);
	assert_int_equal(h->marks[0].until_ns, 1061 * MINUTE);
	assert_string_equal(h->marks[0].why, "symbol_errors +77 at su1-leaf0[1] in 60 s");
	assert_string_equal(h->marks[0].by, WATCH);
	health_free(h);
	assert_non_null(strstr(said, "suspect: port " PORT " of n1; job 17 (1 GPU); symbol_errors "
				     "+77 at su1-leaf0[1] in 60 s\n"));
}

/* A restart keeps marks, others' too; clean intervals still clear ours. */
static void test_marks_survive(void **state)
{
	struct fixture *f = *state;
	size_t len;
	char *text = test_data("contract/health.json", &len);
	struct err err = { "" };
	struct health *h;

	assert_int_equal(io_write_atomic(f->health, text, len, 0644, &err), 0);
	free(text);
	free(post(f, BAD, 1000 * MINUTE));
	free(post(f, BAD, 1001 * MINUTE));
	service_clear(&f->service);
	open_service(f);
	free(post(f, "", 1002 * MINUTE));
	h = health_load(f->health, &err);
	assert_int_equal(h->count, 3);
	health_free(h);
	free(post(f, "", 1003 * MINUTE));
	free(post(f, "", 1004 * MINUTE));
	h = health_load(f->health, &err);
	assert_int_equal(h->count, 2);
	health_free(h);
	assert_non_null(strstr(said, "no longer suspect: port " PORT " of n1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hysteresis),
		cmocka_unit_test(test_only_clean_intervals_clear),
		cmocka_unit_test(test_what_is_no_fault_of_the_link),
		cmocka_unit_test(test_broken_rounds_are_refused),
		cmocka_unit_test_setup_teardown(test_marks_are_written_and_jobs_named, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_marks_survive, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
