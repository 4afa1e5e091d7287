/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_slurm_call.c - the exchange with a helper that is as bad as a child process can be: scripts
 * in the place of sfabric-slurm. This program leaves SIGPIPE as a process gets it, so that a write
 * to somebody who is gone would end it.
 */
#include "unit.h"

#include "slurm_call.h"

#define TIMEOUT_MS 120000 /* never waited for */
#define SHORT_MS 300

struct fixture {
	char *folder, *helper;
	struct conf conf;
	json_object *small,
		*large; /* a request that fits into a socket's buffer, and one that doesn't */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char *filler = calloc(1, (4u << 20) + 1);

	assert_non_null(f);
	assert_non_null(filler);
	memset(filler, 'x', 4u << 20);
	f->folder = test_folder();
	f->helper = io_format("%s/helper", f->folder);
	f->conf.slurm_conf = (char *)"/etc/some/slurm.conf";
	f->small = json_tokener_parse("{\"op\":\"job\"}");
	f->large = json_object_new_object();
	json_object_object_add(f->large, "op", json_object_new_string(filler));
	free(filler);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unlink(f->helper);
	rmdir(f->folder);
	json_object_put(f->small);
	json_object_put(f->large);
	free(f->helper);
	free(f->folder);
	free(f);
	return 0;
}

/* The exchange with a script as the helper; its result, and what it said of a failure. */
static int call(struct fixture *f, const char *script, json_object *request, int timeout_ms,
		json_object **reply, struct err *err)
{
	char *text = io_format("#!/bin/sh\n%s\n", script);

	assert_non_null(text);
	assert_int_equal(io_write_atomic(f->helper, text, strlen(text), 0755, NULL), 0);
	free(text);
	return slurm_call(&f->conf, f->helper, request, timeout_ms, reply, err);
}

static void expect_failure(struct fixture *f, const char *script, json_object *request,
			   int timeout_ms, int rc, const char *says)
{
	json_object *reply = f->small;
	struct err err = { "" };

	assert_int_equal(call(f, script, request, timeout_ms, &reply, &err), rc);
	assert_null(reply);
	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void requests_and_replies_are_whole(void **state)
{
	struct fixture *f = *state;
	json_object *reply, *value;

	assert_int_equal(call(f, "cat", f->large, TIMEOUT_MS, &reply, NULL), 0);
	assert_true(json_object_equal(reply, f->large));
	json_object_put(reply);
	assert_int_equal(call(f, "printf '{\"conf\":\"%s\"}' \"$SLURM_CONF\"", f->small, TIMEOUT_MS,
			      &reply, NULL),
			 0);
	assert_true(json_object_object_get_ex(reply, "conf", &value));
	assert_string_equal(json_object_get_string(value), f->conf.slurm_conf);
	json_object_put(reply);
}

static void a_helper_that_does_not_read_harms_nobody(void **state)
{
	struct fixture *f = *state;
	json_object *reply;

	expect_failure(f, "exit 1", f->small, TIMEOUT_MS, -EPROTO, "ended without an answer");
	expect_failure(f, "exit 1", f->large, TIMEOUT_MS, -EPROTO, "ended without an answer");
	expect_failure(f, "exec <&-; sleep 0.2", f->large, TIMEOUT_MS, -EPROTO,
		       "ended without an answer");
	assert_int_equal(
		call(f, "exec <&-; sleep 0.2; echo '{}'", f->large, TIMEOUT_MS, &reply, NULL), 0);
	json_object_put(reply);
}

static void a_bad_answer_is_told(void **state)
{
	struct fixture *f = *state;

	expect_failure(f, "cat >/dev/null; exec sleep 20", f->small, SHORT_MS, -ETIMEDOUT,
		       "in time");
	expect_failure(f, "exec sleep 20", f->large, SHORT_MS, -ETIMEDOUT, "in time");
	expect_failure(f, "cat >/dev/null; echo nonsense", f->small, TIMEOUT_MS, -EPROTO,
		       "no valid JSON");
	expect_failure(f, "cat >/dev/null; echo '[1]'", f->small, TIMEOUT_MS, -EPROTO,
		       "no JSON object");
	expect_failure(f, "exec cat /dev/zero", f->small, TIMEOUT_MS, -EFBIG, "large");
}

static void no_helper_is_told(void **state)
{
	struct fixture *f = *state;
	struct err err = { "" };
	json_object *reply;

	assert_int_equal(
		slurm_call(&f->conf, "/nonexistent/helper", f->small, TIMEOUT_MS, &reply, &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/helper"));
	assert_null(reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_and_replies_are_whole),
		cmocka_unit_test(a_helper_that_does_not_read_harms_nobody),
		cmocka_unit_test(a_bad_answer_is_told),
		cmocka_unit_test(no_helper_is_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
