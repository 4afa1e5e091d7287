/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_classes.c - placement classes: what --fabric may say and what is asked of Slurm; and the
 * plugin itself (its source is included), with the test in slurmctld's place.
 */
#include "unit.h"

#define WATCH_MS 10
#include "job_submit_fabric.c"

#include <fcntl.h>

/* What slurmctld has for its plugins; its memory is libslurm's here as well. */

slurm_conf_t slurm_conf;

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

static int decided;

/* On a fabric of two units with two hosts each, in one pod. */
static struct class_plan plan_for(const char *wish_text, enum conf_kind kind, struct class_job job,
				  int64_t wait_ns, uint32_t max_wait_s)
{
	struct class_wish wish = parsed(wish_text);
	struct conf_class class = { .name = wish.name,
				    .kind = kind,
				    .segment = kind == KIND_SEGMENTS ? 2 : 0,
				    .wait_ns = wait_ns };
	struct class_plan plan;

	job.fabric = true;
	job.room = (struct room_size){ job.nodes > 4 ? 0 : (job.nodes + 1) / 2, 2, 4 };
	decided = class_decide(&wish, &class, &job, max_wait_s, &plan);
	return plan;
}

static void compact_asks_for_the_fewest(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("compact", KIND_COMPACT, (struct class_job){ .nodes = 2 }, 300 * SECONDS,
			300);
	assert_int_equal(plan.switches, 1);
	assert_int_equal(plan.wait_s, 300);
	assert_string_equal(plan.note, "");
	plan = plan_for("compact,prefer=1", KIND_COMPACT, (struct class_job){ .nodes = 3 },
			300 * SECONDS, 300);
	assert_int_equal(plan.switches, 2);
	assert_int_equal(plan.wait_s, 60);
	plan = plan_for("compact,strict", KIND_COMPACT, (struct class_job){ .nodes = 3 }, SECONDS,
			300);
	assert_int_equal(plan.wait_s, 300);
	assert_string_equal(plan.note, "\"strict\" holds for 300 s (max_switch_wait)");
}

static void the_wait_is_cut_and_told(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("compact,prefer=60", KIND_COMPACT, (struct class_job){ .nodes = 2 }, 0,
			300);
	assert_int_equal(plan.switches, 1);
	assert_int_equal(plan.wait_s, 300);
	assert_non_null(strstr(plan.note, "at most 300 s"));
	plan = plan_for("compact", KIND_COMPACT, (struct class_job){ .nodes = 2 }, 0, 300);
	assert_int_equal(plan.switches, 0); /* a class that lets nobody wait */
}

static void one_unit_or_one_pod(void **state)
{
	struct class_job two = { .nodes = 2,
				 .unit_features = "[unit-a|unit-b]",
				 .pod_features = "[pod-p]" };
	struct class_plan plan;

	(void)state;
	plan = plan_for("same-leaf", KIND_SAME_LEAF, two, SECONDS, 300);
	assert_int_equal(plan.switches, 1);
	assert_null(plan.features);
	assert_string_equal(plan.note, "");
	plan = plan_for("same-leaf,strict", KIND_SAME_LEAF, two, SECONDS, 300);
	assert_int_equal(plan.switches, 0);
	assert_string_equal(plan.features, "[unit-a|unit-b]");
	plan = plan_for("same-pod,strict", KIND_SAME_POD, two, SECONDS, 300);
	assert_string_equal(plan.features, "[pod-p]");
	assert_string_equal(plan.note, "");
	plan = plan_for("same-pod", KIND_SAME_POD, (struct class_job){ .nodes = 3 }, SECONDS, 300);
	assert_int_equal(plan.switches, 2);
	assert_non_null(strstr(plan.note, "only with \"strict\""));
	/* no features: for as long as Slurm lets it wait */
	plan = plan_for("same-leaf,strict", KIND_SAME_LEAF, (struct class_job){ .nodes = 2 },
			SECONDS, 300);
	assert_int_equal(plan.switches, 1);
	assert_int_equal(plan.wait_s, 300);
	assert_non_null(strstr(plan.note, "holds for 300 s"));
}

static void no_unit_has_room(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("same-leaf", KIND_SAME_LEAF, (struct class_job){ .nodes = 3 }, SECONDS,
			300);
	assert_int_equal(decided, 0);
	assert_int_equal(plan.switches, 2);
	assert_string_equal(plan.note,
			    "no unit has 3 nodes, the largest has 2: as close together as "
			    "possible instead");
	plan = plan_for("same-leaf,strict", KIND_SAME_LEAF, (struct class_job){ .nodes = 3 },
			SECONDS, 300);
	assert_int_equal(decided, -ENOSPC);
	assert_string_equal(plan.note, "no unit has 3 nodes, the largest has 2: ask for fewer, or "
				       "without \"strict\"");
}

static void spread_and_segments(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("spread", KIND_SPREAD, (struct class_job){ .nodes = 3 }, SECONDS, 300);
	assert_true(plan.spread);
	assert_int_equal(plan.switches, 0);
	plan = plan_for("pairs", KIND_SEGMENTS, (struct class_job){ .nodes = 4, .segments = true },
			SECONDS, 300);
	assert_int_equal(plan.segment, 2);
	assert_string_equal(plan.note, "");
	plan = plan_for("pairs", KIND_SEGMENTS, (struct class_job){ .nodes = 4 }, SECONDS, 300);
	assert_int_equal(plan.segment, 0);
	assert_int_equal(plan.switches, 2);
	assert_non_null(strstr(plan.note, "topology/block"));
	plan = plan_for("pairs", KIND_SEGMENTS, (struct class_job){ .nodes = 3, .segments = true },
			SECONDS, 300);
	assert_int_equal(decided, -ENOSPC);
	assert_non_null(strstr(plan.note, "parts of 2"));
}

static void jobs_that_are_left_alone(void **state)
{
	struct class_plan plan;

	(void)state;
	plan = plan_for("compact", KIND_COMPACT,
			(struct class_job){ .nodes = 2, .own = "--nodelist" }, SECONDS, 300);
	assert_int_equal(plan.switches, 0);
	assert_non_null(strstr(plan.note, "--nodelist"));
	plan = plan_for("compact", KIND_COMPACT, (struct class_job){ .nodes = 0 }, SECONDS, 300);
	assert_int_equal(plan.switches, 0);
	assert_non_null(strstr(plan.note, "-N"));
	plan = plan_for("compact", KIND_COMPACT, (struct class_job){ .nodes = 1 }, SECONDS, 300);
	assert_int_equal(plan.switches, 0);
	assert_string_equal(plan.note, "");
	plan = plan_for("compact", KIND_COMPACT, (struct class_job){ .nodes = 5 }, SECONDS, 300);
	assert_int_equal(plan.switches, 0);
	assert_non_null(strstr(plan.note, "5 nodes"));
	plan = plan_for("any", KIND_ANY, (struct class_job){ .nodes = 0 }, SECONDS, 300);
	assert_int_equal(plan.switches, 0);
	assert_string_equal(plan.note, "");
}

static void without_a_fabric_nothing_is_asked(void **state)
{
	struct conf_class class = { .name = (char *)"compact",
				    .kind = KIND_COMPACT,
				    .wait_ns = SECONDS };
	struct class_wish wish = parsed("compact");
	struct class_job job = { .nodes = 4 };
	struct class_plan plan;

	(void)state;
	assert_int_equal(class_decide(&wish, &class, &job, 300, &plan), 0);
	assert_int_equal(plan.switches, 0);
	assert_string_equal(plan.note, "");
}

static void long_notes_are_cut(void **state)
{
	struct class_plan plan =
		plan_for("abcdefghijklmnopqrstuvwxyz-01234,strict,healthy,rank,prefer=10080",
			 KIND_COMPACT, (struct class_job){ .nodes = 2 }, 0, 300);

	(void)state;
	assert_int_equal(plan.switches, 1);
	assert_true(strlen(plan.note) < sizeof(plan.note));
	assert_non_null(strstr(plan.note, "\"healthy\""));
}

static void limits_of_a_class(void **state)
{
	static char *partitions[] = { (char *)"gpu", (char *)"big" },
		    *accounts[] = { (char *)"physics" };
	struct conf_class class = { .name = (char *)"wide", .max_nodes = 8 };
	struct err err = { "" };

	(void)state;
	assert_int_equal(class_allowed(&class, 8, NULL, NULL, &err), 0);
	assert_int_equal(class_allowed(&class, 9, NULL, NULL, &err), -EPERM);
	assert_string_equal(err.text, "--fabric=wide is for jobs of at most 8 nodes");
	class.partitions = partitions;
	class.partition_count = 2;
	assert_int_equal(class_allowed(&class, 8, "big,gpu", NULL, &err), 0);
	assert_int_equal(class_allowed(&class, 8, "gpu,cpu", NULL, &err), -EPERM);
	assert_string_equal(err.text, "--fabric=wide is for partition gpu, big, not gpu,cpu");
	assert_int_equal(class_allowed(&class, 8, "g\033", NULL, &err), -EPERM);
	assert_null(strchr(err.text, '\033'));
	assert_int_equal(class_allowed(&class, 8, "gp", NULL, &err), -EPERM);
	assert_int_equal(class_allowed(&class, 8, NULL, NULL, &err), -EPERM);
	assert_string_equal(err.text, "--fabric=wide is for partition gpu, big: name it (-p)");
	class.partition_count = 0;
	class.accounts = accounts;
	class.account_count = 1;
	assert_int_equal(class_allowed(&class, 8, NULL, "physics", &err), 0);
	assert_int_equal(class_allowed(&class, 8, NULL, "chemistry", &err), -EPERM);
}

/* ---- what partitions have ---- */

/* Pod p of units a (n1-n4) and b (n5-n6), pod q of unit c (n7-n9), in one island; n0 is on no
 * switch. */
static struct room *make_room(const char *conf_text)
{
	static struct fabric_island island = { .name = (char *)"i" };
	static struct fabric_pod pods[] = { { .name = (char *)"p", .area = FABRIC_NONE },
					    { .name = (char *)"q", .area = FABRIC_NONE } };
	static struct fabric_unit units[] = { { .name = (char *)"a", .pod = 0 },
					      { .name = (char *)"b", .pod = 0 },
					      { .name = (char *)"c", .pod = 1 } };
	static const size_t unit_of[] = { FABRIC_NONE, 0, 0, 0, 0, 1, 1, 2, 2, 2 };
	static struct fabric_host hosts[10];
	static char names[10][16];
	struct fabric f = { .islands = &island,
			    .island_count = 1,
			    .pods = pods,
			    .pod_count = 2,
			    .units = units,
			    .unit_count = 3,
			    .hosts = hosts,
			    .host_count = 10 };
	char *folder = test_folder(), *path = io_format("%s/slurm.conf", folder);
	struct slurmconf slurm = { 0 };
	struct err err = { "" };
	struct room *r;

	for (int i = 0; i < 10; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		hosts[i] = (struct fabric_host){ .name = names[i], .unit = unit_of[i] };
	}
	if (conf_text) {
		assert_int_equal(io_write_atomic(path, conf_text, strlen(conf_text), 0644, &err),
				 0);
		assert_int_equal(slurmconf_load(path, &slurm, &err), 0);
		unlink(path);
	}
	r = room_make(&f, conf_text ? &slurm : NULL, &err);
	assert_non_null(r);
	slurmconf_clear(&slurm);
	rmdir(folder);
	free(path);
	free(folder);
	return r;
}

static void assert_room(const struct room *r, const char *partitions, const char *excluded,
			uint32_t nodes, uint32_t fewest, uint32_t unit, uint32_t pod)
{
	struct room_size size;

	assert_int_equal(room_for(r, partitions, excluded, nodes, &size), 0);
	assert_int_equal(size.fewest_units, fewest);
	assert_int_equal(size.largest_unit, unit);
	assert_int_equal(size.largest_pod, pod);
}

static void assert_features(const struct room *r, const char *partition, const char *excluded,
			    enum room_level level, uint32_t nodes, const char *text)
{
	char *is = room_features(r, partition, excluded, level, nodes, 2);

	if (text)
		assert_string_equal(is, text);
	else
		assert_null(is);
	free(is);
}

static void room_of_partitions(void **state)
{
	struct room *r = make_room(
		"NodeName=n[0-7]\nNodeName=n8 NodeHostname=localhost\nPartitionName=all Nodes=ALL\n"
		"PartitionName=few Nodes=n[3-7] Default=YES\n"
		"PartitionName=set Nodes=nodeset1\nPartitionName=none Nodes=n0\n");

	(void)state;
	assert_room(r, "all", NULL, 5, 2, 4, 6); /* n9 is no node of Slurm's */
	assert_room(r, "all", NULL, 8, 3, 4, 6);
	assert_room(r, "all", NULL, 9, 0, 4, 6);
	assert_room(r, NULL, NULL, 4, 2, 2, 4);
	assert_room(r, "few", "n[3-4]", 3, 2, 2, 2);
	assert_room(r, "few", "n[3-4]", 4, 0, 2, 2);
	assert_room(r, "all,few", NULL, 3, 2, 2, 4); /* the worst of them */
	assert_room(r, "all,none", NULL, 3, 0, 0, 0);
	assert_room(r, "set", NULL, 5, 2, 4, 6);
	assert_room(r, "unheard-of", "[[", 5, 2, 4, 6);
	assert_room(r, "all", "x[1-1000000]", 5, 2, 4, 6);
	assert_features(r, "all", NULL, ROOM_UNIT, 2, NULL); /* more than two */
	assert_features(r, "all", "n[5,7]", ROOM_UNIT, 2, "[unit-a]");
	assert_features(r, "few", NULL, ROOM_UNIT, 2, "[unit-a|unit-b]");
	assert_features(r, "few", NULL, ROOM_UNIT, 3, NULL); /* none */
	assert_features(r, "all", NULL, ROOM_POD, 2, "[pod-p|pod-q]");
	assert_features(r, "all", NULL, ROOM_POD, 3, "[pod-p]");
	room_free(r);
	r = make_room(NULL);
	assert_room(r, "all", NULL, 9, 3, 4, 6);
	room_free(r);
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
	text = io_format("server = {\"none\"}\nstate_dir = \"%s\"\nslurm_conf = \"%s/none\"\n",
			 p.folder, p.folder);
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
	slurm_xfree((void **)&said);
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
	slurm_xfree((void **)&said);
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
	assert_non_null(strstr(said, "any, compact, same-leaf, same-pod, spread, and off"));
	slurm_xfree((void **)&said);
	remove_place(&p);
}

/* Waits until a class is known, or no longer: for some seconds at most. */
static bool comes_true(const char *class, bool known)
{
	for (int i = 0; i < 1000; i++) {
		uint32_t switches;
		char *said;
		int rc = submitted(class, 1, &switches, &said);

		slurm_xfree((void **)&said);
		if ((rc == SLURM_SUCCESS) == known)
			return true;
		usleep(10000);
	}
	return false;
}

static void changed_files_are_seen(void **state)
{
	struct place p = make_place();
	char *text = io_format("server = {\"none\"}\nstate_dir = \"%s\"\nslurm_conf = "
			       "\"/nowhere\"\nclass \"wide\" { }\n",
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
		cmocka_unit_test(one_unit_or_one_pod),
		cmocka_unit_test(no_unit_has_room),
		cmocka_unit_test(spread_and_segments),
		cmocka_unit_test(jobs_that_are_left_alone),
		cmocka_unit_test(without_a_fabric_nothing_is_asked),
		cmocka_unit_test(long_notes_are_cut),
		cmocka_unit_test(limits_of_a_class),
		cmocka_unit_test(room_of_partitions),
		cmocka_unit_test(max_switch_wait_is_found),
		cmocka_unit_test(the_plugin_places),
		cmocka_unit_test(contiguous_nodes_are_not_placed),
		cmocka_unit_test(changed_files_are_seen),
		cmocka_unit_test(no_job_waits_for_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
