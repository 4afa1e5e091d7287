/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_conf.c - fabric.conf (include/conf.h), host lists (include/hosts.h), and that the sample
 * file that is shipped parses.
 */
#include "conf.h"
#include "hosts.h"
#include "meaning.h"
#include "slurmconf.h"
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
	assert_string_equal(c->servers[0], "a:1");
	assert_string_equal(c->servers[1], "b:6827");
	assert_string_equal(c->fabric_json, "/x/fabric.json");
	assert_int_equal(c->sample_ns, 250000000);
	assert_string_equal(c->port_deny[0], "mlx5_8");
	assert_true(c->ethernet);
	assert_int_equal(c->class_count, 6); /* one of each kind, and wide */
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
		{ "server = {\"a\", \"none\"}\n", ":1: server \"none\"" },
		{ "server = {\"none\", \"a\"}\n", ":1: server \"none\"" },
		{ "\nserver = {\"http://a\"}\n", ":2: server" },
		{ "server = {\"\"}\n", ":1: server" },
		{ "\nstate_dir = \"${HOME}\"\n", ":2: \"${\"" },
		{ "state_dir = ${HOME}\n", ":1: \"${\"" },
		{ "state_dir = \"/x\n#${HOME}\"\n", ":2: \"${\"" },
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

static void servers(void **state)
{
	static const struct {
		const char *slurm_conf, *server, *is; /* is: the servers with a blank behind each */
	} cases[] = {
		{ "ClusterName=x\nSlurmctldHost=ctl1\n", "", "ctl1:6827 " },
		{ "slurmctldhost = ctl1(10.0.0.1) # SlurmctldHost=no\nSlurmctldHost=\"ctl2\"\r\n", "",
		  "10.0.0.1:6827 ctl2:6827 " },
		{ "SlurmctldHost=a(fd00::1)\n#SlurmctldHost=b\nNodeName=SlurmctldHost\n", "",
		  "[fd00::1]:6827 " },
		{ "Include more.conf\nInclude slurm.conf\n", "", "more:6827 " },
		{ "SlurmctldHost=\nSlurmctldHost\nSlurmctldHost=(\nSlurmctldHost=@\n", "", "" },
		{ "SlurmctldHost=ctl1\n", "server = {\"none\"}\n", "" },
		{ "SlurmctldHost=ctl1\n", "server = {\"other:7\", \"::1\", \"[::2]\", \"[::3]:8\"}\n",
		  "other:7 [::1]:6827 [::2]:6827 [::3]:8 " },
	};
	char *folder = test_folder(), *conf = io_format("%s/slurm.conf", folder),
	     *more = io_format("%s/more.conf", folder);
	struct err err = { "" };

	(void)state;
	assert_int_equal(io_write_atomic(more, "SlurmctldHost=more", 18, 0644, &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = io_format("slurm_conf = \"%s\"\n%s", conf, cases[i].server), is[256] = "";
		struct conf *c;

		assert_int_equal(io_write_atomic(conf, cases[i].slurm_conf,
						 strlen(cases[i].slurm_conf), 0644, &err), 0);
		c = load(text, 0644, &err);
		if (!c)
			fail_msg("%s", err.text);
		for (size_t j = 0; j < c->server_count && j < 5; j++)
			snprintf(is + strlen(is), 50, "%s ", c->servers[j]);
		if (strcmp(is, cases[i].is) != 0)
			fail_msg("case %zu: \"%s\"", i, is);
		/* no host at all is no "none": sfabricctld may be at work all the same */
		assert_int_equal(c->without_server, strstr(cases[i].server, "none") != NULL);
		conf_free(c);
		free(text);
	}
	unlink(conf);
	unlink(more);
	rmdir(folder);
	free(conf);
	free(more);
	free(folder);
}

static void cluster_name(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/slurm.conf", folder);
	static const char text[] = "Foo=1 ClusterName = \"Big_1\" # ClusterName=no\n";
	struct slurmconf s;
	struct err err = { "" };

	(void)state;
	assert_int_equal(io_write_atomic(path, text, strlen(text), 0644, &err), 0);
	assert_int_equal(slurmconf_load(path, &s, &err), 0);
	assert_string_equal(s.cluster, "big_1");
	assert_int_equal(s.host_count, 0);
	slurmconf_clear(&s);
	unlink(path);
	assert_int_equal(slurmconf_load(path, &s, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	slurmconf_clear(&s);
	rmdir(folder);
	free(path);
	free(folder);
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
	text = hosts_fold(names, 1);
	assert_string_equal(text, names[0]);
	free(text);
	text = hosts_fold(NULL, 0);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(hosts_expand("n[1-5000]", 1000, &out, &count, &err), -E2BIG);
	assert_int_equal(hosts_expand("n[0001-0003]", 1000, &out, &count, &err), 0);
	assert_string_equal(out[2], "n0003");
	hosts_free(out, count);
}

/* What libslurm would take for other hosts than were meant, or expand until memory is gone. */
static void bad_host_lists(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{ "n[1-", -EINVAL },	{ "n[1-3", -EINVAL },	  { "n1]", -EINVAL },
		{ "n[3-1]", -EINVAL },	{ "n[a]", -EINVAL },	  { "n[]", -EINVAL },
		{ "n[1,]", -EINVAL },	{ "n[1-99999999]", -E2BIG }, { "n[0-9][0-9][0-9][0-9]", -E2BIG },
		{ "n[0-999999999999999999]", -E2BIG }, { "n[0-999],m[0-999]", -E2BIG },
		{ "n[99999999999999999999]", -EINVAL },
		{ "n[1-30][1-30]", 0 }, { "a,b,n[1-997]", 0 }, { "n[1-3,5],m", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };
		char **out;
		size_t count;
		int rc = hosts_expand(cases[i].text, 1000, &out, &count, &err);

		if (rc != cases[i].rc)
			fail_msg("%s: %d %s", cases[i].text, rc, err.text);
		if (rc == 0)
			hosts_free(out, count);
		else
			assert_non_null(strstr(err.text, "\"n"));
	}
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
		cmocka_unit_test(meanings),	  cmocka_unit_test(servers),   cmocka_unit_test(cluster_name),
		cmocka_unit_test(bad_host_lists),
	};

	setenv("SLURM_CONF", "/nonexistent/slurm.conf", 1);
	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
