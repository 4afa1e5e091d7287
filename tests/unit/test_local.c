/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_local.c - a node without sfabricctld: what it tells goes into its own store, and the field
 * of a job is written by the job's first host alone. A script stands in the place of sfabric-slurm:
 * it says of the job what the test wants and notes what it was asked.
 */
#include "unit.h"

#include <sys/stat.h>

#include "fabric.h"
#include "json.h"
#include "local.h"
#include "record.h"
#include "service.h"
#include "text.h"

#define S INT64_C(1000000000)

struct fixture {
	char *folder, *helper, *asked, *facts;
	struct conf conf;
	struct local *local;
	struct sender_way way;
	int64_t submit_s; /* of job 7 */
};

static void quiet(int level, const char *text)
{
	(void)level;
	(void)text;
}

static const struct agent_log log_nothing = { quiet };

static char *in_folder(const struct fixture *f, const char *name)
{
	return io_format("%s/%s", f->folder, name);
}

static void write_helper(const struct fixture *f, const char *script)
{
	char *text = io_format("#!/bin/sh\n%s\n", script);

	assert_int_equal(io_write_atomic(f->helper, text, strlen(text), 0755, NULL), 0);
	free(text);
}

/* The helper as it should be: the facts for a look, "written" for a write. */
static void write_good_helper(const struct fixture *f)
{
	char *script = io_format("read -r line\necho \"$line\" >> %s\ncase $line in\n"
				 "*'\"op\":\"job\"'*) cat %s ;;\n"
				 "*) echo '{\"result\":\"written\"}' ;;\nesac",
				 f->asked, f->facts);

	write_helper(f, script);
	free(script);
}

/* What Slurm says of job 7: its hosts, and whether it has ended. */
static void set_facts(const struct fixture *f, const char *hosts, bool ended)
{
	int64_t now_s = io_now_ns() / S;
	char *text = io_format("{\"jobs\":[{\"job\":7,\"uid\":1000,\"state\":\"%s\",\"running\":%s,"
			       "\"ended\":%s,\"hosts\":[%s],\"submit\":%lld,\"start\":%lld,"
			       "\"%s\":%lld,\"restarts\":0}]}",
			       ended ? "COMPLETED" : "RUNNING", ended ? "false" : "true",
			       ended ? "true" : "false", hosts, (long long)f->submit_s,
			       (long long)f->submit_s, ended ? "end" : "limit", (long long)now_s);

	assert_int_equal(io_write_atomic(f->facts, text, strlen(text), 0644, NULL), 0);
	free(text);
}

static void start(struct fixture *f)
{
	struct local_with with = { .conf = &f->conf,
				   .node = "n1",
				   .folder = f->folder,
				   .helper = f->helper,
				   .log = &log_nothing };
	struct err err = { "" };

	f->local = local_start(&with, &err);
	if (!f->local)
		fail_msg("%s", err.text);
	f->way = local_way(f->local);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->folder = test_folder();
	f->helper = in_folder(f, "helper");
	f->asked = in_folder(f, "asked");
	f->facts = in_folder(f, "facts");
	f->conf = (struct conf){ .path = (char *)"test.conf",
				 .cluster = (char *)"c1",
				 .slurm_conf = (char *)"",
				 .spool_max = 64u << 20,
				 .fabric_json = (char *)"/nonexistent" };
	f->submit_s = io_now_ns() / S - 5;
	write_good_helper(f);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char *command = io_format("rm -rf '%s'", f->folder);

	assert_true(local_stop(f->local));
	assert_int_equal(system(command), 0);
	free(command);
	free(f->folder);
	free(f->helper);
	free(f->asked);
	free(f->facts);
	free(f);
	return 0;
}

static int deliver(struct fixture *f, enum spool_kind kind, const char *json)
{
	struct sender_reply reply = { 0 };
	struct err err = { "" };
	int rc = f->way.deliver(f->way.arg, kind, json, 5000, &reply, &err);

	assert_false(reply.timed); /* there is no other clock */
	return rc < 0 ? rc : reply.status;
}

static void deliver_begin(struct fixture *f)
{
	char *json = io_format("{\"job\":7,\"step\":\"batch\",\"uid\":1000,\"node\":\"n1\","
			       "\"node_index\":0,\"node_count\":1,\"began_ns\":%lld}",
			       (long long)io_now_ns());

	assert_int_equal(deliver(f, SPOOL_BEGIN, json), 200);
	free(json);
}

/* A record of job 7 from this node, the index-th of count. */
static void deliver_record(struct fixture *f, uint32_t step, uint32_t index, uint32_t count)
{
	struct record *r = record_new();
	char *json;

	assert_int_equal(record_make_id(r->id, NULL), 0);
	r->node = strdup("n1");
	r->job = 7;
	r->step = step;
	r->uid = 1000;
	r->node_index = index;
	r->node_count = count;
	r->begin_ns = r->end_ns = io_now_ns();
	json = record_line(r);
	assert_int_equal(deliver(f, SPOOL_RECORD, json), 200);
	free(json);
	record_free(r);
}

/* The n-th line that the helper was given with that word in it; waits for it. malloc'ed, or NULL.
 */
static char *asked(struct fixture *f, const char *op, int n, int wait_ms)
{
	char *word = io_format("\"op\":\"%s\"", op), *line = NULL;

	for (int ms = 0; !line && ms <= wait_ms; ms += 20) {
		char *text = NULL, *save = NULL;
		size_t len;
		int left = n;

		if (io_read(f->asked, 1u << 20, &text, &len, NULL) == 0)
			for (char *at = strtok_r(text, "\n", &save); at && !line;
			     at = strtok_r(NULL, "\n", &save))
				if (strstr(at, word) && left-- == 0)
					line = strdup(at);
		free(text);
		if (!line)
			usleep(20000);
	}
	free(word);
	return line;
}

static void expect_asked(struct fixture *f, const char *op, const char *says)
{
	char *line = asked(f, op, 0, 10000);

	if (!line)
		fail_msg("the helper was not asked to \"%s\"", op);
	if (!strstr(line, says))
		fail_msg("no %s in %s", says, line);
	free(line);
}

static void the_first_host_writes(void **state)
{
	struct fixture *f = *state;
	char *line;

	start(f);
	set_facts(f, "\"n1\"", false);
	deliver_begin(f);
	expect_asked(f, "tag", "\"state\":\"running\"");
	set_facts(f, "\"n1\"", true);
	deliver_record(f, STEP_ID_BATCH, 0, 1);
	expect_asked(f, "record", "\"state\":\"final\",\"records\":1,\"nodes\":1,");
	expect_asked(f, "record", "\"step\":\"batch\",\"elapsed_ms\":0,\"nodes\":1,\"reported\":1");
	expect_asked(f, "record", "\"cluster\":\"c1\"");
	line = asked(f, "record", 1, 0);
	assert_null(line); /* once */
}

/* The record of a job that has other nodes says on how few of them it stands. */
static void one_of_two_nodes_is_not_all(void **state)
{
	struct fixture *f = *state;

	start(f);
	set_facts(f, "\"n1\",\"n2\"", false);
	deliver_begin(f);
	expect_asked(f, "tag", "\"nodes\":2,\"reported\":1");
}

static void another_host_writes_nothing(void **state)
{
	struct fixture *f = *state;
	char *line;

	start(f);
	set_facts(f, "\"n0\",\"n1\"", false);
	deliver_record(f, 0, 0, 1); /* of a step on this node alone */
	expect_asked(f, "job", "\"job\":7");
	deliver_record(f, 1, 1, 2);
	usleep(1000000);
	line = asked(f, "job", 1, 0);
	assert_null(line); /* not asked about again */
	assert_null(asked(f, "tag", 0, 0));
	assert_null(asked(f, "record", 0, 0));
}

/* A job of thousands of nodes costs slurmctld one question, not one from each. */
static void only_a_step_s_first_node_asks(void **state)
{
	struct fixture *f = *state;

	start(f);
	set_facts(f, "\"n0\",\"n1\"", false);
	deliver_record(f, 0, 1, 2);
	usleep(1000000);
	assert_null(asked(f, "job", 0, 0));
}

static void what_is_no_message_is_refused(void **state)
{
	struct fixture *f = *state;

	start(f);
	assert_int_equal(deliver(f, SPOOL_RECORD, "{}"), 400);
	assert_int_equal(deliver(f, SPOOL_BEGIN, "nonsense"), 400);
	assert_int_equal(
		deliver(f, SPOOL_MAP,
			"{\"format\":\"slurm-fabric/map\",\"version\":99,\"host\":\"n1\"}"),
		503);
}

/* Slurm hangs: what the node tells is stored all the same, and the end is not waited for. */
static void a_helper_that_hangs_holds_up_nobody(void **state)
{
	struct fixture *f = *state;
	int64_t before;

	write_helper(f, "cat > /dev/null; exec sleep 4");
	start(f);
	deliver_begin(f);
	usleep(500000);
	before = io_mono_ns();
	for (uint32_t step = 0; step < 20; step++)
		deliver_record(f, step, 0, 1);
	assert_true(io_mono_ns() - before < 2 * S);
	before = io_mono_ns();
	assert_false(local_stop(f->local));
	assert_true(io_mono_ns() - before < 3 * S);
}

/* The store can't be: the reason is told at once, and stopping does not wait for the next try. */
static void a_store_that_is_in_the_way(void **state)
{
	struct fixture *f = *state;
	char *path = in_folder(f, "store.db");
	struct sender_reply reply = { 0 };
	struct err err = { "" };
	int64_t before;

	assert_int_equal(mkdir(path, 0700), 0);
	start(f);
	assert_int_equal(f->way.deliver(f->way.arg, SPOOL_MAP, "{}", 5000, &reply, &err), -EAGAIN);
	assert_non_null(strstr(err.text, path));
	before = io_mono_ns();
	assert_true(local_stop(f->local));
	assert_true(io_mono_ns() - before < S);
	assert_int_equal(rmdir(path), 0);
	start(f);
	deliver_begin(f);
	free(path);
}

/* The end may come while the store is being opened. */
static void it_ends_at_any_moment(void **state)
{
	struct fixture *f = *state;

	for (useconds_t us = 0; us < 6000; us += 200) {
		start(f);
		usleep(us);
		assert_true(local_stop(f->local));
	}
	start(f);
}

/* No cluster's name, no question to slurmdbd: nothing is written on a guess. */
static void no_cluster_no_store(void **state)
{
	struct fixture *f = *state;
	struct sender_reply reply = { 0 };
	struct err err = { "" };

	f->conf.cluster = (char *)"";
	f->conf.slurm_conf = (char *)"/nonexistent/slurm.conf";
	start(f);
	assert_int_equal(f->way.deliver(f->way.arg, SPOOL_MAP, "{}", 5000, &reply, &err), -EAGAIN);
	assert_non_null(strstr(err.text, "cluster"));
}

/* Who reads a fabric keeps it while another one takes its place. */
static void a_fabric_is_replaced_under_a_reader(void **state)
{
	struct fixture *f = *state;
	struct service_with with = {
		.conf = &f->conf, .folder = f->folder, .fabric_max = FABRIC_MAX_BYTES, .log = quiet
	};
	struct service service;
	struct fabric *held, *next;

	f->conf.fabric_json = io_format("%s/contract/fabric.json", TEST_DATA);
	assert_int_equal(service_init(&service, &with, NULL), 0);
	held = service_fabric(&service);
	free(f->conf.fabric_json);
	f->conf.fabric_json = io_format("%s/fuzz/fabric/two-hosts", TEST_DATA);
	next = service_fabric(&service);
	assert_ptr_not_equal(next, held);
	assert_int_equal(next->host_count, 2);
	service_clear(&service);
	assert_int_equal(held->host_count, 4);
	fabric_free(held);
	fabric_free(next);
	free(f->conf.fabric_json);
}

/* Of a file that is too long for a node's memory the units are read, not the switches. */
static void a_long_fabric_is_read_in_part(void **state)
{
	struct fixture *f = *state;
	struct service_with with = { .conf = &f->conf, .folder = f->folder, .log = quiet };
	struct service service;

	f->conf.fabric_json = io_format("%s/contract/fabric.json", TEST_DATA);
	with.fabric_max = FABRIC_MAX_BYTES;
	assert_int_equal(service_init(&service, &with, NULL), 0);
	service_refresh_fabric(&service);
	assert_true(service.fabric->switch_count > 0);
	service_clear(&service);
	with.fabric_max = 100;
	assert_int_equal(service_init(&service, &with, NULL), 0);
	service_refresh_fabric(&service);
	assert_int_equal(service.fabric->switch_count, 0);
	assert_true(service.fabric->unit_count > 0);
	service_clear(&service);
	free(f->conf.fabric_json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_host_writes),
		TEST(one_of_two_nodes_is_not_all),
		TEST(another_host_writes_nothing),
		TEST(only_a_step_s_first_node_asks),
		TEST(what_is_no_message_is_refused),
		TEST(a_helper_that_hangs_holds_up_nobody),
		TEST(a_store_that_is_in_the_way),
		TEST(it_ends_at_any_moment),
		TEST(no_cluster_no_store),
		TEST(a_long_fabric_is_read_in_part),
		TEST(a_fabric_is_replaced_under_a_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
