/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_replay.c - the replay simulator's streams of jobs, and what stock Slurm would choose. That
 * the latter is so is shown by tests/select/differential against slurmctld.
 */
#include "unit.h"

#include "jobs.h"
#include "stock.h"

static struct jobs *swf(const char *text, const char *error)
{
	struct err err = { "" };
	struct jobs *j = jobs_swf(text, strlen(text), 8, "FILE", &err);

	if (error)
		assert_non_null(strstr(err.text, error));
	else if (!j)
		fail_msg("%s", err.text);
	return j;
}

static struct jobs *sacct(const char *text, const char *error)
{
	struct err err = { "" };
	struct jobs *j = jobs_sacct(text, strlen(text), 8, "FILE", &err);

	if (error)
		assert_non_null(strstr(err.text, error));
	else if (!j)
		fail_msg("%s", err.text);
	return j;
}

static void swf_is_read(void **state)
{
	struct jobs *j = swf("; Version: 2.2\n"
			     "  2 50 0 600 17 -1 -1 17 900 -1 1 3 1 -1 1 -1 -1 -1\n"
			     "1 10 5 300 -1 -1 -1 8 100 -1 1 3 1 -1 1 -1 -1 -1\n"
			     "3 60 0 -1 8 -1 -1 8 900 -1 0 3 1 -1 1 -1 -1 -1\n\n",
			     NULL);

	(void)state;
	assert_int_equal(j->count, 2); /* the third one never ran */
	assert_true(j->job[0].submit_s < j->job[1].submit_s);
	assert_int_equal(j->job[0].nodes, 1);
	assert_true(j->job[0].limit_s >= 300);
	assert_int_equal(j->job[1].nodes, 3);
	assert_int_equal((int)j->job[1].limit_s, 900);
	jobs_free(j);
	assert_null(swf("1 10 5\n", "FILE:1: not a line"));
	assert_null(swf("; nothing\n", "no job in it ran"));
	assert_null(swf("1 10 5 x 8 -1 -1 8 900\n", "FILE:1"));
}

static void sacct_is_read(void **state)
{
	struct jobs *j = sacct("JobID|Submit|ElapsedRaw|NNodes|TimelimitRaw|Priority|AllocTRES\n"
			       "7|2026-01-02T00:00:10|60|1|UNLIMITED|5|cpu=8,gres/gpu=2,node=1\n"
			       "7.batch|2026-01-02T00:00:10|60|1||5|cpu=8\n"
			       "6|2026-01-02T00:00:00|120|4|10|9|cpu=64,gres/gpu=32,node=4\n",
			       NULL);

	(void)state;
	assert_int_equal(j->count, 2);
	assert_int_equal(j->job[0].nodes, 4);
	assert_int_equal(j->job[0].gpus, 0);
	assert_int_equal((int)j->job[0].limit_s, 600);
	assert_int_equal(j->job[0].priority, 9);
	assert_int_equal(j->job[1].gpus, 2);
	assert_int_equal((int)(j->job[1].submit_s - j->job[0].submit_s), 10);
	jobs_free(j);
	assert_null(sacct("JobID|Submit\n1|2026-01-02T00:00:10\n", "FILE:1"));
	assert_null(sacct("JobID|Submit|ElapsedRaw|NNodes\n1|yesterday|60|1\n", "FILE:2"));
	assert_null(sacct("JobID|Submit|ElapsedRaw|NNodes\n1|2026-01-02T00:00:10\n", "FILE:2"));
}

static void made_up_jobs_are_the_same_each_time(void **state)
{
	struct jobs *a = jobs_make(500, 0.5, 8, 3, NULL), *b = jobs_make(500, 0.5, 8, 3, NULL);
	uint32_t large = 0, shared = 0;

	(void)state;
	assert_int_equal(a->count, 500);
	assert_memory_equal(a->job, b->job, 500 * sizeof(*a->job));
	for (size_t i = 0; i < a->count; i++) {
		large += a->job[i].nodes >= 32;
		shared += a->job[i].gpus > 0;
		assert_in_range(a->job[i].gpus, 0, 7);
	}
	assert_in_range(large, 15, 80);
	assert_in_range(shared, 60, 180);
	jobs_free(a);
	jobs_free(b);
}

/* Pods of 2 units of 4 nodes. */
static struct stock *tree(uint32_t pods, const char *free)
{
	uint32_t unit_of[16], pod_of[4];
	struct place_shape shape = { .nodes = pods * 8,
				     .units = pods * 2,
				     .pods = pods,
				     .unit_of = unit_of,
				     .pod_of = pod_of };
	struct stock *t;

	for (uint32_t i = 0; i < 16; i++)
		unit_of[i] = i / 4;
	for (uint32_t i = 0; i < 4; i++)
		pod_of[i] = i / 2;
	t = stock_make(&shape);
	assert_non_null(t);
	for (uint32_t i = 0; free[i]; i++)
		stock_set(t, i, free[i] == 'f');
	return t;
}

static void expect(struct stock *t, enum stock_rules rules, uint32_t n, const char *expected)
{
	uint32_t nodes[16];
	char text[17];

	memset(text, '.', sizeof(text) - 1);
	text[16] = '\0';
	assert_true(stock_choose(t, rules, n, nodes));
	for (uint32_t i = 0; i < n; i++)
		text[nodes[i]] = 'x';
	assert_string_equal(text, expected);
}

/* 22.05 leaves the pod for a unit that fits closer, although the pod has room. */
static void the_rules_differ(void **state)
{
	struct stock *t = tree(2, "f...fff.ffff.fff");
	uint32_t nodes[16];

	(void)state;
	expect(t, STOCK_22_05, 5, "x.......xxxx....");
	expect(t, STOCK_24_11, 5, "........xxxx.x..");
	expect(t, STOCK_22_05, 3, "....xxx.........");
	expect(t, STOCK_LINEAR, 3, "....xxx.........");
	expect(t, STOCK_LINEAR, 5, "x.......xxxx....");
	assert_false(stock_choose(t, STOCK_22_05, 12, nodes));
	assert_false(stock_choose(t, STOCK_LINEAR, 12, nodes));
	stock_free(t);
	t = tree(1, "ff..ffff");
	expect(t, STOCK_22_05, 6, "xx..xxxx........");
	stock_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swf_is_read),
		cmocka_unit_test(sacct_is_read),
		cmocka_unit_test(made_up_jobs_are_the_same_each_time),
		cmocka_unit_test(the_rules_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
