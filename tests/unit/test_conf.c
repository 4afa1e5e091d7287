/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_conf.c - fabric.conf (include/conf.h), host lists (include/hosts.h), and that the sample
 * file that is shipped parses.
 */
#include "conf.h"
#include "hosts.h"
#include "meaning.h"
#include "unit.h"

#include <sys/stat.h>

/* Loads text as a file of its own. */
static struct conf *load(const char *text, mode_t mode, struct err *err)
{
	char *folder = test_folder(), *path = io_format("%s/fabric.conf", folder);
	struct conf *c;

	assert_int_equal(io_write_atomic(path, text, strlen(text), mode, err), 0);
	c = conf_load(path, false, err);
	unlink(path);
	rmdir(folder);
	free(path);
	free(folder);
	return c;
}

static void defaults(void **state)
{
	struct err err = { "" };
	struct conf *c = conf_load("/nonexistent/fabric.conf", true, &err);

	(void)state;
	assert_non_null(c);
	assert_int_equal(c->server_count, 0);
	assert_int_equal(c->sample_ns, 1000000000);
	assert_string_equal(c->root, "/");
	assert_string_equal(strrchr(c->fabric_json, '/'), "/fabric.json");
	assert_non_null(conf_find_class(c, "any"));
	assert_non_null(conf_find_class(c, "compact"));
	assert_null(conf_find_class(c, "other"));
	conf_free(c);
	assert_null(conf_load("/nonexistent/fabric.conf", false, &err));
	assert_non_null(strstr(err.text, "/nonexistent/fabric.conf"));
}

static void values(void **state)
{
	struct err err = { "" };
	struct conf *c = load("# a comment\nserver = {\"a:1\", \"b\"}\nstate_dir = \"/x\"\nsample = \"250ms\"\n"
			      "port_deny = {\"mlx5_8\"}\nethernet = yes\n"
			      "class \"compact\" { wait = \"10m\" }\nclass \"wide\" { wait = \"1s\" }\n", 0644, &err);

	(void)state;
	if (!c)
		fail_msg("%s", err.text);
	assert_int_equal(c->server_count, 2);
	assert_string_equal(c->servers[1], "b");
	assert_string_equal(c->fabric_json, "/x/fabric.json");
	assert_int_equal(c->sample_ns, 250000000);
	assert_string_equal(c->port_deny[0], "mlx5_8");
	assert_true(c->ethernet);
	assert_int_equal(c->class_count, 3);
	assert_int_equal(conf_find_class(c, "compact")->wait_ns, INT64_C(600000000000));
	assert_int_equal(conf_find_class(c, "wide")->wait_ns, 1000000000);
	conf_free(c);
}

static void refusals(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "bogus = 1\n", ":1: " },
		{ "\n\nsample = \"1x\"\n", ":3: sample" },
		{ "spool_max = \"many\"\n", "spool_max" },
		{ "run_dir = \"relative\"\n", "absolute" },
		{ "sample = \"1h\"\n", "sample_max" },
		{ "sample_min = \"1ms\"\n", "sample_min" },
		{ "gres_order = \"luck\"\n", "gres_order" },
		{ "class \"UP\" { }\n", "class" },
		{ "class \"a\" { }\nclass \"a\" { }\n", ":2: " },
		{ "sample = \"1s\n", "fabric.conf" },
		{ "}{", "fabric.conf" },
		{ "class \"a\" { wait = \"soon\" }\n", "wait" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };
		assert_null(load(cases[i].text, 0644, &err));
		if (!strstr(err.text, cases[i].says))
			fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.text, cases[i].says);
	}
	if (geteuid() == 0) {
		struct err err = { "" };
		assert_null(load("", 0666, &err));
		assert_non_null(strstr(err.text, "root"));
	}
}

static void shipped_sample(void **state)
{
	char *path = io_format("%s/../../contrib/fabric.conf", TEST_DATA);
	struct err err = { "" };
	struct conf *c;
	size_t len;
	char *text;

	(void)state;
	assert_int_equal(io_read(path, 1u << 20, &text, &len, &err), 0);
	c = load(text, 0644, &err);
	if (!c)
		fail_msg("%s", err.text);
	conf_free(c);
	free(text);
	free(path);
}

static void expansion(void **state)
{
	char *path = conf_expand("/run/%n/x", "n1");

	(void)state;
	assert_string_equal(path, "/run/n1/x");
	free(path);
	path = conf_expand("/run/x", "n1");
	assert_string_equal(path, "/run/x");
	free(path);
}

static void host_lists(void **state)
{
	static const char *const names[] = { "n3", "n1", "n2", "n10", "n2", "x" };
	struct err err = { "" };
	char **out, *text = hosts_fold(names, 6);
	size_t count;

	(void)state;
	assert_string_equal(text, "n[1-3,10],x");
	assert_int_equal(hosts_expand(text, 100, &out, &count, &err), 0);
	assert_int_equal(count, 5);
	assert_string_equal(out[0], "n1");
	assert_string_equal(out[3], "n10");
	hosts_free(out, count);
	free(text);
	text = hosts_fold(NULL, 0);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(hosts_expand("n[1-5000]", 1000, &out, &count, &err), -E2BIG);
	assert_int_equal(hosts_expand("n[0001-0003]", 1000, &out, &count, &err), 0);
	assert_string_equal(out[2], "n0003");
	hosts_free(out, count);
}

static void meanings(void **state)
{
	enum meaning m;

	(void)state;
	for (int i = 0; i < M_COUNT; i++) {
		assert_true(meaning_parse(meaning_name((enum meaning)i), &m));
		assert_int_equal(m, i);
		assert_true(strlen(meaning_unit(m)) > 0);
	}
	assert_false(meaning_parse("magic", &m));
	assert_int_equal(meaning_domain(M_READ_BYTES), DOMAIN_STORAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),	  cmocka_unit_test(values),    cmocka_unit_test(refusals),
		cmocka_unit_test(shipped_sample), cmocka_unit_test(expansion), cmocka_unit_test(host_lists),
		cmocka_unit_test(meanings),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
