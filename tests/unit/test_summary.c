/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_summary.c - the arithmetic of counters: wraps, saturation, resets, gaps, sums and rates.
 */
#include "summary.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)

static struct series series(const char *name, enum meaning meaning, int width,
			    enum series_behaviour behaviour, uint32_t scale)
{
	return (struct series){ .source = "test",
				.name = (char *)(uintptr_t)name,
				.device = (char *)(uintptr_t) "mlx5_0:1",
				.meaning = meaning,
				.behaviour = behaviour,
				.width = width,
				.scale = scale };
}

/* Feeds one series with values a second apart; UINT64_MAX - 1 stands for "not readable". */
#define GAP (UINT64_MAX - 1)

static struct record *feed(const struct series *s, const uint64_t *values, size_t count,
			   char *trouble)
{
	struct summary *sum = summary_new(SECOND);
	struct record *r = record_new();

	assert_int_equal(summary_add_series(sum, s), 0);
	for (size_t i = 0; i < count; i++) {
		bool valid = values[i] != GAP;

		summary_pass(sum, (int64_t)(i + 1) * SECOND, &values[i], &valid, 1, i + 1 == count);
	}
	assert_int_equal(summary_fill(sum, r), 0);
	trouble[0] = '\0';
	summary_trouble(sum, trouble, 256);
	summary_free(sum);
	return r;
}

static void check(const struct series *s, const uint64_t *values, size_t count, bool known,
		  uint64_t total, const char *trouble)
{
	char said[256];
	struct record *r = feed(s, values, count, said);
	const struct record_value *v = record_find(r, "mlx5_0:1", s->meaning);

	if (known != (v != NULL))
		fail_msg("%s: %s", s->name, v ? "known" : "unknown");
	if (v)
		assert_true(v->total == total);
	if (trouble)
		assert_non_null(strstr(said, trouble));
	else
		assert_string_equal(said, "");
	record_free(r);
}

#define CHECK(s, known, total, trouble, ...)                                                       \
	check(&(s), (const uint64_t[]){ __VA_ARGS__ },                                             \
	      sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), known, total, trouble)

static void plain(void **state)
{
	struct series s = series("port_rcv_data", M_RX_BYTES, 64, SERIES_WRAPS, 4);

	(void)state;
	CHECK(s, true, 120, NULL, 10, 20, 40);
	CHECK(s, true, 0, NULL, 10, 10);
	CHECK(s, false, 0, NULL, 10);
	CHECK(s, false, 0, NULL, GAP, GAP);
	CHECK(s, true, 40, NULL, 10, GAP, 20);
	CHECK(s, true, 40, "at the begin", GAP, 10, 20);
	CHECK(s, true, 40, "at the end", 10, 20, GAP);
}

static void wraps(void **state)
{
	struct series s = series("packet_seq_err", M_RETRANSMITS, 32, SERIES_WRAPS, 1);

	(void)state;
	CHECK(s, true, 15, NULL, UINT32_MAX - 4, 10);
	CHECK(s, true, 7, "reset", 1000, 7);
	CHECK(s, true, 108, "reset", UINT32_MAX / 2, UINT32_MAX / 2 + 100, 8);
}

static void wide_ones_only_reset(void **state)
{
	struct series s = series("port_rcv_data", M_RX_BYTES, 64, SERIES_WRAPS, 4);

	(void)state;
	CHECK(s, true, 4 * (10 + 3), "reset", UINT64_C(1) << 40, (UINT64_C(1) << 40) + 10, 3);
	CHECK(s, false, 0, NULL, 0, UINT64_MAX / 3); /* the total fits no 64 bits: not known */
}

static void saturates(void **state)
{
	struct series s = series("symbol_error", M_ERRORS, 16, SERIES_SATURATES, 1);

	(void)state;
	CHECK(s, true, 5, NULL, 65529, 65534);
	CHECK(s, false, 0, "highest value", 65529, 65535);
	CHECK(s, false, 0, NULL, 65535, 65535); /* was there before: as if it were not there */
	s = series("port_rcv_data", M_RX_BYTES, 32, SERIES_SATURATES, 4);
	CHECK(s, true, 4 * UINT64_C(0x100000000), NULL, 0, UINT64_C(0x100000000)); /* it is wider */
}

static void sums_of_one_meaning(void **state)
{
	struct series a = series("symbol_error", M_ERRORS, 16, SERIES_SATURATES, 1);
	struct series b = series("link_downed", M_ERRORS, 8, SERIES_SATURATES, 1);
	const uint64_t passes[3][2] = { { 1, 255 }, { 2, 255 }, { 4, 255 } };
	const bool valid[2] = { true, true };
	struct summary *sum = summary_new(SECOND);
	struct record *r = record_new();

	(void)state;
	assert_int_equal(summary_add_series(sum, &a), 0);
	assert_int_equal(summary_add_series(sum, &b), 0);
	for (int i = 0; i < 3; i++)
		summary_pass(sum, (i + 1) * SECOND, passes[i], valid, 2, i == 2);
	assert_int_equal(summary_fill(sum, r), 0);
	assert_int_equal(r->value_count, 1);
	assert_int_equal(r->values[0].total, 3); /* b stood at its end from the begin */
	record_free(r);
	summary_free(sum);
}

static void rates_are_percentiles(void **state)
{
	struct series s = series("port_rcv_data", M_RX_BYTES, 64, SERIES_WRAPS, 1);
	struct summary *sum = summary_new(SECOND);
	struct record *r = record_new();
	const struct record_value *v;
	uint64_t value = 0;
	bool valid = true;

	(void)state;
	assert_int_equal(summary_add_series(sum, &s), 0);
	for (int i = 0; i <= 100; i++) {
		value += (uint64_t)i;
		summary_pass(sum, (i + 1) * SECOND, &value, &valid, 1, false);
	}
	/* An end sample right behind the last one is no interval of its own. */
	value += 1000;
	summary_pass(sum, 101 * SECOND + SECOND / 100, &value, &valid, 1, true);
	assert_int_equal(summary_fill(sum, r), 0);
	v = record_find(r, "mlx5_0:1", M_RX_BYTES);
	assert_non_null(v);
	assert_true(v->has_rates);
	assert_int_equal(v->total, 5050 + 1000);
	assert_true(v->p50 == 50 && v->p95 == 95 && v->max == 100);
	record_free(r);
	summary_free(sum);
}

static void long_steps_keep_good_percentiles(void **state)
{
	struct series s = series("port_rcv_data", M_RX_BYTES, 64, SERIES_WRAPS, 1);
	struct summary *sum = summary_new(SECOND);
	struct record *r = record_new();
	const struct record_value *v;
	uint64_t value = 0;
	bool valid = true;

	(void)state;
	assert_int_equal(summary_add_series(sum, &s), 0);
	for (int i = 0; i < 100000; i++) {
		value += (uint64_t)(i % 1000);
		summary_pass(sum, (i + 1) * SECOND, &value, &valid, 1, false);
	}
	assert_int_equal(summary_fill(sum, r), 0);
	v = record_find(r, "mlx5_0:1", M_RX_BYTES);
	assert_non_null(v);
	assert_true(v->p50 > 400 && v->p50 < 600);
	assert_true(v->p95 > 900 && v->p95 < 1000);
	assert_true(v->max == 999);
	record_free(r);
	summary_free(sum);
}

static void rare_series_have_no_rates(void **state)
{
	struct series s = series("symbol_error", M_ERRORS, 16, SERIES_SATURATES, 1);
	uint64_t values[6] = { 0, 1, 2, 3, 4, 5 };
	char said[256];
	struct record *r;

	(void)state;
	s.rare = true;
	r = feed(&s, values, 6, said);
	assert_int_equal(r->values[0].total, 5);
	assert_false(r->values[0].has_rates);
	record_free(r);
}

static void a_port_that_comes_later(void **state)
{
	struct series a = series("port_rcv_data", M_RX_BYTES, 64, SERIES_WRAPS, 1), b = a;
	struct summary *sum = summary_new(SECOND);
	struct record *r = record_new();
	uint64_t values[2] = { 0, 500 };
	bool valid[2] = { true, true };
	char said[256];

	(void)state;
	b.device = (char *)(uintptr_t) "mlx5_1:1";
	assert_int_equal(summary_add_series(sum, &a), 0);
	summary_pass(sum, SECOND, values, valid, 1, false);
	assert_int_equal(summary_add_series(sum, &b), 0);
	values[0] = 10;
	summary_pass(sum, 2 * SECOND, values, valid, 2, false);
	values[1] = 503;
	summary_pass(sum, 3 * SECOND, values, valid, 2, true);
	assert_int_equal(summary_fill(sum, r), 0);
	assert_int_equal(record_find(r, "mlx5_0:1", M_RX_BYTES)->total, 10);
	assert_int_equal(record_find(r, "mlx5_1:1", M_RX_BYTES)->total, 3);
	assert_true(summary_trouble(sum, said, sizeof(said)));
	assert_non_null(strstr(said, "mlx5_1:1"));
	record_free(r);
	summary_free(sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(wraps),
		cmocka_unit_test(wide_ones_only_reset),
		cmocka_unit_test(saturates),
		cmocka_unit_test(sums_of_one_meaning),
		cmocka_unit_test(rates_are_percentiles),
		cmocka_unit_test(long_steps_keep_good_percentiles),
		cmocka_unit_test(rare_series_have_no_rates),
		cmocka_unit_test(a_port_that_comes_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
