/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_classes.c - placement classes: what --fabric may say and what is asked of Slurm; and the
 * plugin itself (its source is included), with the test in slurmctld's place.
 */
#include "unit.h"

#define WATCH_MS 10
#include "job_submit_fabric.c"

#include <fcntl.h>

/* What slurmctld has for its plugins. */

slurm_conf_t slurm_conf;

char *slurm_xstrdup(const char *text)
{
	return strdup(text);
}

void slurm_xfree(void **item)
{
	free(*item);
	*item = NULL;
}

void slurm_info(const char *fmt, ...)
{
	(void)fmt;
}

void slurm_error(const char *fmt, ...)
{
	(void)fmt;
}

#define SECONDS INT64_C(1000000000)

static struct class_wish parsed(const char *text)
{
	struct class_wish wish;
	struct err err = { "" };

	if (class_parse(text, &wish, &err) < 0)
		fail_msg("%s", err.text);
	return wish;
}

static void good_classes_are_read(void **state)
{
	struct class_wish wish;

	(void)state;
	wish = parsed("any");
	assert_string_equal(wish.name, "any");
	assert_int_equal(wish.modifiers, 0);
	assert_int_equal(wish.prefer_min, 0);
	wish = parsed("compact,healthy,prefer=10080,strict,rank");
	assert_string_equal(wish.name, "compact");
	assert_int_equal(wish.modifiers, CLASS_STRICT | CLASS_HEALTHY | CLASS_RANK);
	assert_int_equal(wish.prefer_min, 10080);
	wish = parsed("abcdefghijklmnopqrstuvwxyz-01234");
	assert_int_equal(strlen(wish.name), CLASS_NAME_MAX);
	assert_string_equal(parsed("off").name, CLASS_OFF);
}

static void bad_classes_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		",",
		",strict",
		"compact,",
		"compact,,rank",
		"Compact",
		"com_pact",
		"compact ",
		"compact,hard",
		"compact,strict,strict",
		"compact,prefer=",
		"compact,prefer=0",
		"compact,prefer=-1",
		"compact,prefer=10081",
		"compact,prefer=5,prefer=6",
		"compact,prefer=5m",
		"compact,strictly",
		"off,strict",
		"com\npact",
		"\033[2J",
		"abcdefghijklmnopqrstuvwxyz-012345",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct class_wish wish;
		struct err err = { "" };

		if (class_parse(bad[i], &wish, &err) != -EINVAL)
			fail_msg("\"%s\" was accepted", bad[i]);
		assert_non_null(strstr(err.text, "prefer=MINUTES")); /* says what is accepted */
		assert_null(strpbrk(err.text, "\n\033"));
	}
}

static void the_last_class_in_the_environment_wins(void **state)
{
	static const char *const env[] = {
		"_SLURM_SPANK_OPTION_fabric_fabric=any",
		NULL,
		"_SLURM_SPANK_OPTION_fabric_fabric=compact",
		"_SLURM_SPANK_OPTION_fabric_fabric_sample=1s",
		"X_SLURM_SPANK_OPTION_fabric_fabric=big",
		"_SLURM_SPANK_OPTION_other_fabric=big",
	};

	(void)state;
	assert_string_equal(class_find(env, 6), "compact");
	assert_string_equal(class_find(env, 2), "any");
	assert_null(class_find(env + 3, 3));
	assert_null(class_find(NULL, 0));
}

/* On a fabric of two units with two hosts each. */
static struct class_plan plan_for(const char *wish_text, struct class_job job, int64_t wait_ns,
				  uint32_t max_wait_s)
{
	struct class_wish wish = parsed(wish_text);
	struct class_plan plan;

	job.fabric = true;
	job.fewest = job.nodes > 4 ? 0 : (job.nodes + 1) / 2;
	class_decide(&wish, wait_ns, &job, max_wait_s, &plan);
	return plan;
}

static void compact_asks_for_the_fewest(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("compact", (struct class_job){ .nodes = 2 }, 300 * SECONDS, 300);
	assert_true(plan.place);
	assert_int_equal(plan.switches, 1);
	assert_int_equal(plan.wait_s, 300);
	assert_string_equal(plan.note, "");
	plan = plan_for("compact,prefer=1", (struct class_job){ .nodes = 3 }, 300 * SECONDS, 300);
	assert_true(plan.place);
	assert_int_equal(plan.switches, 2);
	assert_int_equal(plan.wait_s, 60);
}

static void the_wait_is_cut_and_told(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("compact,prefer=60", (struct class_job){ .nodes = 2 }, 0, 300);
	assert_true(plan.place);
	assert_int_equal(plan.wait_s, 300);
	assert_non_null(strstr(plan.note, "at most 300 s"));
	plan = plan_for("compact", (struct class_job){ .nodes = 2 }, 0, 300);
	assert_false(plan.place); /* a class that lets nobody wait */
}

static void jobs_that_are_left_alone(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("compact", (struct class_job){ .nodes = 2, .own = "--nodelist" }, SECONDS,
			300);
	assert_false(plan.place);
	assert_non_null(strstr(plan.note, "--nodelist"));
	plan = plan_for("compact", (struct class_job){ .nodes = 0 }, SECONDS, 300);
	assert_false(plan.place);
	assert_non_null(strstr(plan.note, "-N"));
	plan = plan_for("compact", (struct class_job){ .nodes = 1 }, SECONDS, 300);
	assert_false(plan.place);
	assert_string_equal(plan.note, "");
	plan = plan_for("compact", (struct class_job){ .nodes = 5 }, SECONDS, 300);
	assert_false(plan.place);
	assert_non_null(strstr(plan.note, "5 nodes"));
}

static void without_a_fabric_nothing_is_asked(void **state)
{
	struct class_wish wish = parsed("compact");
	struct class_job job = { .nodes = 4 };
	struct class_plan plan;

	(void)state;
	class_decide(&wish, SECONDS, &job, 300, &plan);
	assert_false(plan.place);
	assert_string_equal(plan.note, "");
}

static void long_notes_are_cut(void **state)
{
	struct class_plan plan =
		plan_for("abcdefghijklmnopqrstuvwxyz-01234,strict,healthy,rank,prefer=10080",
			 (struct class_job){ .nodes = 2 }, 0, 300);

	(void)state;
	assert_true(plan.place);
	assert_true(strlen(plan.note) < sizeof(plan.note));
	assert_non_null(strstr(plan.note, "\"healthy\""));
}

static void max_switch_wait_is_found(void **state)
{
	(void)state;
	assert_int_equal(class_max_wait(NULL), 300);
	assert_int_equal(class_max_wait(""), 300);
	assert_int_equal(class_max_wait("bf_interval=2,max_switch_wait=900,defer"), 900);
	assert_int_equal(class_max_wait("max_switch_wait=0"), 0);
	assert_int_equal(class_max_wait("xmax_switch_wait=9"), 300);
	assert_int_equal(class_max_wait("max_switch_wait=,defer"), 300);
	assert_int_equal(class_max_wait("max_switch_wait=99999999999999999999"), 300);
}

/* The plugin. */

struct place {
	char *folder, *conf, *fabric;
};

static void write_file(const char *path, const char *text)
{
	struct err err = { "" };

	if (io_write_atomic(path, text, strlen(text), 0644, &err) < 0)
		fail_msg("%s", err.text);
}

/* fabric.conf and the golden fabric.json (two units of two hosts) in a folder of their own. */
static struct place make_place(void)
{
	struct place p = { .folder = test_folder() };
	char *text;
	size_t len;

	p.conf = io_format("%s/fabric.conf", p.folder);
	p.fabric = io_format("%s/fabric.json", p.folder);
	text = io_format("server = {\"none\"}\nstate_dir = \"%s\"\n", p.folder);
	write_file(p.conf, text);
	free(text);
	text = test_data("contract/fabric.json", &len);
	write_file(p.fabric, text);
	free(text);
	setenv(CONF_VARIABLE, p.conf, 1);
	assert_int_equal(init(), SLURM_SUCCESS);
	return p;
}

static void remove_place(struct place *p)
{
	fini();
	unsetenv(CONF_VARIABLE);
	unlink(p->conf);
	unlink(p->fabric);
	rmdir(p->folder);
	free(p->conf);
	free(p->fabric);
	free(p->folder);
}

/* Submits a job of that class and so many nodes; *switches gets what Slurm is asked for. */
static int submitted(const char *class, uint32_t nodes, uint32_t *switches, char **said)
{
	char *option = io_format("_SLURM_SPANK_OPTION_fabric_fabric=%s", class);
	job_desc_msg_t job = {
		.spank_job_env = &option,
		.spank_job_env_size = 1,
		.min_nodes = nodes,
		.max_nodes = nodes,
		.req_switch = NO_VAL,
	};
	int rc;

	*said = NULL;
	rc = job_submit(&job, 1000, said);
	*switches = job.req_switch;
	free(option);
	return rc;
}

static void assert_switches(const char *class, uint32_t nodes, uint32_t switches)
{
	uint32_t is;
	char *said;

	assert_int_equal(submitted(class, nodes, &is, &said), SLURM_SUCCESS);
	assert_int_equal(is, switches);
	free(said);
}

/* Slurm does not look at its topology then: a number of switches would promise what it can't do. */
static void contiguous_nodes_are_not_placed(void **state)
{
	char option[] = "_SLURM_SPANK_OPTION_fabric_fabric=compact", *env = option, *said = NULL;
	job_desc_msg_t job = {
		.spank_job_env = &env,
		.spank_job_env_size = 1,
		.min_nodes = 2,
		.max_nodes = 2,
		.req_switch = NO_VAL,
		.contiguous = 1,
	};
	struct place p = make_place();

	(void)state;
	assert_int_equal(job_submit(&job, 1000, &said), SLURM_SUCCESS);
	assert_int_equal(job.req_switch, NO_VAL);
	assert_non_null(said);
	assert_non_null(strstr(said, "--contiguous decides the placement"));
	free(said);
	remove_place(&p);
}

static void the_plugin_places(void **state)
{
	struct place p = make_place();
	uint32_t switches;
	char *said;

	(void)state;
	assert_switches("compact", 2, 1);
	assert_switches("compact", 3, 2);
	assert_switches("any", 3, NO_VAL);
	assert_switches("compact", 5, NO_VAL);
	assert_int_equal(submitted("nosuch", 2, &switches, &said), ESLURM_NOT_SUPPORTED);
	assert_non_null(strstr(said, "any, compact, and off"));
	free(said);
	remove_place(&p);
}

/* Waits until a class is known, or no longer: for some seconds at most. */
static bool comes_true(const char *class, bool known)
{
	for (int i = 0; i < 1000; i++) {
		uint32_t switches;
		char *said;
		int rc = submitted(class, 1, &switches, &said);

		free(said);
		if ((rc == SLURM_SUCCESS) == known)
			return true;
		usleep(10000);
	}
	return false;
}

static void changed_files_are_seen(void **state)
{
	struct place p = make_place();
	char *text = io_format("server = {\"none\"}\nstate_dir = \"%s\"\nclass \"wide\" { }\n",
			       p.folder);

	(void)state;
	assert_switches("compact", 3, 2);
	write_file(p.conf, text);
	assert_true(comes_true("wide", true));
	write_file(p.conf, "bogus = 1\n"); /* a broken one changes nothing */
	write_file(p.fabric, "{");
	usleep(100000);
	assert_true(comes_true("wide", true));
	assert_switches("compact", 3, 2);
	free(text);
	remove_place(&p);
}

/* slurmctld's locks are held in job_submit(): it must not wait for a file that is being read. */
static void no_job_waits_for_a_file(void **state)
{
	struct place p = make_place();
	int fd;

	(void)state;
	assert_switches("compact", 3, 2);
	unlink(p.fabric);
	assert_int_equal(mkfifo(p.fabric, 0600), 0);
	/* A writer can open it when the thread is about to read: from there on it waits for us. */
	fd = open(p.fabric, O_WRONLY);
	assert_true(fd >= 0);
	assert_switches("compact", 3, 2);
	assert_switches("compact", 2, 1);
	assert_int_equal(write(fd, "{", 1), 1);
	assert_switches("compact", 3, 2);
	unlink(p.fabric);
	close(fd);
	remove_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_classes_are_read),
		cmocka_unit_test(bad_classes_are_refused),
		cmocka_unit_test(the_last_class_in_the_environment_wins),
		cmocka_unit_test(compact_asks_for_the_fewest),
		cmocka_unit_test(the_wait_is_cut_and_told),
		cmocka_unit_test(jobs_that_are_left_alone),
		cmocka_unit_test(without_a_fabric_nothing_is_asked),
		cmocka_unit_test(long_notes_are_cut),
		cmocka_unit_test(max_switch_wait_is_found),
		cmocka_unit_test(the_plugin_places),
		cmocka_unit_test(contiguous_nodes_are_not_placed),
		cmocka_unit_test(changed_files_are_seen),
		cmocka_unit_test(no_job_waits_for_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
