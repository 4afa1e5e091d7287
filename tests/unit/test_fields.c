/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fields.c - the rule by which sfabricctld asks Slurm and writes its job fields, as a table of
 * situations; times in seconds.
 */
#include "unit.h"

#include "fields.h"
#include "story.h"

#define S INT64_C(1000000000)

struct situation {
	const char *what;
	struct fields_view view; /* its times are seconds here */
	enum fields_action action;
	int64_t due_s; /* checked for FIELDS_NOTHING */
};

#define RUNS .facts = true, .running = true
#define ENDED .facts = true, .ended = true, .end_ns = 1000

static const struct situation situations[] = {
	{ "a new job is asked about", { .now_ns = 10, .first_ns = 10 }, FIELDS_LOOK, 0 },
	{ "Slurm did not answer: later",
	  { .now_ns = 10, .first_ns = 5, .next_ns = 14 },
	  FIELDS_NOTHING,
	  14 },
	{ "a job nobody knows is given up", { .now_ns = 86500, .first_ns = 5 }, FIELDS_CLOSE, 0 },
	{ "known and running: the tag", { .now_ns = 10, RUNS, .look_ns = 9 }, FIELDS_TAG, 0 },
	{ "the tag failed: later",
	  { .now_ns = 10, RUNS, .look_ns = 9, .next_ns = 12 },
	  FIELDS_NOTHING,
	  12 },
	{ "tagged: the next look",
	  { .now_ns = 10, RUNS, .look_ns = 9, .field = FIELD_RUNNING, .field_ns = 10 },
	  FIELDS_NOTHING,
	  39 },
	{ "watched",
	  { .now_ns = 39, RUNS, .look_ns = 9, .field = FIELD_RUNNING, .field_ns = 10 },
	  FIELDS_LOOK,
	  0 },
	{ "not before ten minutes again",
	  { .now_ns = 609, RUNS, .look_ns = 608, .field = FIELD_RUNNING, .field_ns = 10 },
	  FIELDS_NOTHING,
	  610 },
	{ "set back by an hour: not an hour until the next look",
	  { .now_ns = 10,
	    RUNS,
	    .first_ns = 3600,
	    .look_ns = 3609,
	    .field = FIELD_RUNNING,
	    .field_ns = 3610 },
	  FIELDS_NOTHING,
	  40 },
	{ "nor until a failure is tried again",
	  { .now_ns = 10, RUNS, .look_ns = 9, .next_ns = 3612 },
	  FIELDS_NOTHING,
	  310 },
	{ "nor for the record of a job that ended before",
	  { .now_ns = 100, ENDED, .field = FIELD_RUNNING },
	  FIELDS_NOTHING,
	  110 },
	{ "the tag is renewed",
	  { .now_ns = 610, RUNS, .look_ns = 608, .field = FIELD_RUNNING, .field_ns = 10 },
	  FIELDS_TAG,
	  0 },
	{ "somebody else's field is left",
	  { .now_ns = 700, RUNS, .look_ns = 699, .field = FIELD_FOREIGN },
	  FIELDS_NOTHING,
	  729 },
	{ "pending again: no tag",
	  { .now_ns = 10, .facts = true, .look_ns = 9 },
	  FIELDS_NOTHING,
	  39 },
	{ "the batch step reported: at once",
	  { .now_ns = 21,
	    RUNS,
	    .look_ns = 9,
	    .batch_ns = 20,
	    .field = FIELD_RUNNING,
	    .field_ns = 10 },
	  FIELDS_LOOK,
	  0 },
	{ "and soon again",
	  { .now_ns = 22,
	    RUNS,
	    .look_ns = 21,
	    .batch_ns = 20,
	    .field = FIELD_RUNNING,
	    .field_ns = 10 },
	  FIELDS_NOTHING,
	  23 },
	{ "but not for ever",
	  { .now_ns = 43,
	    RUNS,
	    .look_ns = 42,
	    .batch_ns = 20,
	    .field = FIELD_RUNNING,
	    .field_ns = 10 },
	  FIELDS_NOTHING,
	  72 },
	{ "ended, all reported: the record",
	  { .now_ns = 1001, ENDED, .complete = true, .field = FIELD_RUNNING },
	  FIELDS_RECORD,
	  0 },
	{ "ended, some are missing: a moment",
	  { .now_ns = 1001, ENDED, .field = FIELD_RUNNING },
	  FIELDS_NOTHING,
	  1010 },
	{ "then what is there",
	  { .now_ns = 1010, ENDED, .field = FIELD_RUNNING },
	  FIELDS_RECORD,
	  0 },
	{ "once",
	  { .now_ns = 1020, ENDED, .field = FIELD_PARTIAL, .news = true },
	  FIELDS_NOTHING,
	  1000 + STORY_FINAL_AFTER_S },
	{ "until ten minutes are over",
	  { .now_ns = 1000 + STORY_FINAL_AFTER_S, ENDED, .field = FIELD_PARTIAL },
	  FIELDS_RECORD,
	  0 },
	{ "or the last one reports",
	  { .now_ns = 1020, ENDED, .complete = true, .field = FIELD_PARTIAL },
	  FIELDS_RECORD,
	  0 },
	{ "slurmdbd is down: later",
	  { .now_ns = 1020, ENDED, .complete = true, .next_ns = 1030 },
	  FIELDS_NOTHING,
	  1030 },
	{ "written: read back later",
	  { .now_ns = 1020, ENDED, .complete = true, .field = FIELD_FINAL, .field_ns = 1015 },
	  FIELDS_NOTHING,
	  1075 },
	{ "read back",
	  { .now_ns = 1075, ENDED, .complete = true, .field = FIELD_FINAL, .field_ns = 1015 },
	  FIELDS_RECORD,
	  0 },
	{ "still there: done",
	  { .now_ns = 1076,
	    ENDED,
	    .complete = true,
	    .field = FIELD_FINAL,
	    .field_ns = 1075,
	    .verified = true },
	  FIELDS_CLOSE,
	  0 },
	{ "a late record rewrites it",
	  { .now_ns = 9000,
	    ENDED,
	    .complete = true,
	    .field = FIELD_FINAL,
	    .verified = true,
	    .news = true },
	  FIELDS_RECORD,
	  0 },
	{ "several late records: once in half a minute",
	  { .now_ns = 9000,
	    ENDED,
	    .complete = true,
	    .field = FIELD_FINAL,
	    .field_ns = 8990,
	    .news = true },
	  FIELDS_NOTHING,
	  9020 },
	{ "Slurm does not take it for a week: given up",
	  { .now_ns = 9000, ENDED, .complete = true, .next_ns = 9300, .tries = FIELDS_TRIES },
	  FIELDS_CLOSE,
	  0 },
	{ "nor says what became of it",
	  { .now_ns = 9000, RUNS, .next_ns = 9300, .tries = FIELDS_TRIES },
	  FIELDS_CLOSE,
	  0 },
	{ "another node writes: nothing to do",
	  { .now_ns = 12, RUNS, .elsewhere = true, .last_ns = 9, .look_ns = 10 },
	  FIELDS_CLOSE,
	  0 },
	{ "it spoke after the question: the next look will tell",
	  { .now_ns = 12, RUNS, .elsewhere = true, .last_ns = 11, .look_ns = 10 },
	  FIELDS_NOTHING,
	  40 },
	{ "whether it is of another run",
	  { .now_ns = 40, RUNS, .elsewhere = true, .last_ns = 11, .look_ns = 10 },
	  FIELDS_LOOK,
	  0 },
	{ "but not when the job has ended",
	  { .now_ns = 1001, ENDED, .elsewhere = true, .last_ns = 1000, .look_ns = 999 },
	  FIELDS_CLOSE,
	  0 },
	{ "requeued: nothing to write",
	  { .now_ns = 1020, ENDED, .field = FIELD_SUPERSEDED },
	  FIELDS_CLOSE,
	  0 },
};

static void every_situation_has_its_action(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++) {
		const struct situation *s = &situations[i];
		struct fields_view v = s->view;
		enum fields_action action;
		int64_t due_ns = -1;

		v.now_ns *= S;
		v.first_ns *= S;
		v.last_ns *= S;
		v.batch_ns *= S;
		v.end_ns *= S;
		v.look_ns *= S;
		v.field_ns *= S;
		v.next_ns *= S;
		action = fields_decide(&v, &due_ns);
		if (action != s->action)
			fail_msg("%s: action %d, not %d", s->what, action, s->action);
		if (action == FIELDS_NOTHING && due_ns != s->due_s * S)
			fail_msg("%s: due at %lld s, not %lld", s->what, (long long)(due_ns / S),
				 (long long)s->due_s);
	}
}

/* Whatever the state: either something is done at once, or a time in the future is named. */
static void it_never_spins_and_never_sleeps_for_ever(void **state)
{
	(void)state;
	for (unsigned int bits = 0; bits < 1u << 14; bits++) {
		struct fields_view v = {
			.now_ns = 5000 * S,
			.first_ns = 4000 * S,
			.facts = bits & 1,
			.running = bits & 2,
			.ended = bits & 4,
			.complete = bits & 8,
			.verified = bits & 16,
			.news = bits & 32,
			.batch_ns = bits & 64 ? 4999 * S : 0,
			.look_ns = bits & 128 ? 4990 * S : 0,
			.field = (enum field_state)((bits >> 8) % 6),
			.field_ns = 4950 * S,
			.end_ns = 4980 * S,
			.next_ns = bits & 2048 ? 5010 * S : 0,
			.elsewhere = bits & 4096,
			.last_ns = (bits & 8192 ? 4995 : 4985) * S,
		};
		int64_t due_ns = -1;
		enum fields_action action = fields_decide(&v, &due_ns);

		if (action == FIELDS_NOTHING)
			assert_true(due_ns > v.now_ns && due_ns < v.now_ns + 86400 * S);
	}
}

static void backoff_grows_and_stops_growing(void **state)
{
	int64_t before = 0;

	(void)state;
	for (int64_t tries = 0; tries < 100; tries++) {
		int64_t wait = fields_backoff_ns(tries);

		assert_true(wait >= before && wait >= 2 * S && wait <= 300 * S);
		before = wait;
	}
	assert_int_equal(before, 300 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_situation_has_its_action),
		cmocka_unit_test(it_never_spins_and_never_sleeps_for_ever),
		cmocka_unit_test(backoff_grows_and_stops_growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
