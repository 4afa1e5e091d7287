/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_classes.c - placement classes: what --fabric may say, the fewest units that hold a job
 * (against trying all sets of units), and what is asked of Slurm.
 */
#include "unit.h"

#include "classes.h"

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

/* The same by trying every set of units. */
static uint32_t fewest_by_trying(const struct class_unit *units, size_t count, uint32_t hosts)
{
	uint32_t fewest = 0;

	for (uint32_t set = 1; set < 1u << count; set++) {
		uint32_t held = 0, used = 0;
		size_t island = FABRIC_NONE;
		bool apart = false;

		for (size_t i = 0; i < count; i++)
			if (set & 1u << i) {
				apart |= island != FABRIC_NONE && island != units[i].island;
				island = units[i].island;
				held += units[i].hosts;
				used++;
			}
		if (!apart && held >= hosts && (fewest == 0 || used < fewest))
			fewest = used;
	}
	return fewest;
}

static void fewest_units_are_fewest(void **state)
{
	unsigned int seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct fabric_pod pods[3] = { { .island = 2 }, { .island = 0 }, { .island = 2 } };
		struct fabric_unit f_units[6] = { 0 };
		struct fabric_host hosts[24] = { 0 };
		struct fabric f = { .pods = pods,
				    .pod_count = 3,
				    .units = f_units,
				    .unit_count = 6,
				    .hosts = hosts,
				    .host_count = 24 };
		struct class_unit *units;
		size_t count;

		for (size_t i = 0; i < 6; i++)
			f_units[i].pod = (size_t)(rand_r(&seed) % 3);
		for (size_t i = 0; i < 24; i++)
			hosts[i].unit =
				rand_r(&seed) % 8 == 0 ? FABRIC_NONE : (size_t)(rand_r(&seed) % 6);
		units = class_units(&f, &count);
		assert_non_null(units);
		assert_int_equal(count, 6);
		for (uint32_t n = 1; n <= 25; n++)
			assert_int_equal(class_fewest(units, count, n),
					 fewest_by_trying(units, count, n));
		free(units);
	}
}

static void no_fabric_no_units(void **state)
{
	struct fabric f = { 0 };
	size_t count = 1;

	(void)state;
	assert_null(class_units(&f, &count));
	assert_int_equal(count, 0);
	assert_int_equal(class_fewest(NULL, 0, 4), 0);
}

static const struct class_unit two_by_two[] = { { 0, 2 }, { 0, 2 } };

static struct class_plan plan_for(const char *wish_text, struct class_job job, int64_t wait_ns,
				  uint32_t max_wait_s)
{
	struct class_wish wish = parsed(wish_text);
	struct class_plan plan;

	class_decide(&wish, wait_ns, two_by_two, 2, &job, max_wait_s, &plan);
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
	class_decide(&wish, SECONDS, NULL, 0, &job, 300, &plan);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_classes_are_read),
		cmocka_unit_test(bad_classes_are_refused),
		cmocka_unit_test(the_last_class_in_the_environment_wins),
		cmocka_unit_test(fewest_units_are_fewest),
		cmocka_unit_test(no_fabric_no_units),
		cmocka_unit_test(compact_asks_for_the_fewest),
		cmocka_unit_test(the_wait_is_cut_and_told),
		cmocka_unit_test(jobs_that_are_left_alone),
		cmocka_unit_test(without_a_fabric_nothing_is_asked),
		cmocka_unit_test(long_notes_are_cut),
		cmocka_unit_test(max_switch_wait_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
