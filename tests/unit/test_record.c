/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_record.c - the record on the wire: golden file, what must be refused, and what is left out
 * when it does not fit.
 */
#include "packet.h"
#include "record.h"
#include "unit.h"

static char *golden(size_t *len)
{
	return test_data("contract/record.json", len);
}

static struct record *parse(const char *text)
{
	return record_parse(text, strlen(text), "test", NULL);
}

static void golden_is_canonical(void **state)
{
	size_t len;
	char *text = golden(&len), *again;
	struct record *r = record_parse(text, len, "golden", NULL);

	(void)state;
	assert_non_null(r);
	assert_int_equal(r->job, 1234);
	assert_int_equal(r->gpu_count, 8);
	assert_string_equal(r->shared_with[0], "1234.batch");
	assert_int_equal(record_find(r, "mlx5_0:1", M_RETRANSMITS)->total, 17);
	assert_true(record_find(r, "mlx5_0:1", M_RX_BYTES)->has_rates);
	assert_null(record_find(r, "mlx5_7:1", M_RX_BYTES));
	again = record_line(r);
	assert_string_equal(again, text);
	free(again);
	free(text);
	record_free(r);
}

static void every_truncation_is_refused(void **state)
{
	size_t len;
	char *text = golden(&len);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		struct err err = { "" };
		char *cut = malloc(i + 1); /* exactly as long: a read behind it is seen */

		assert_non_null(cut);
		memcpy(cut, text, i);
		assert_null(record_parse(cut, i, "cut", &err));
		assert_true(strlen(err.text) > 0);
		free(cut);
	}
	free(text);
}

/* The golden text with the first from replaced by to. */
static char *changed(const char *from, const char *to)
{
	size_t len;
	char *text = golden(&len), *at = strstr(text, from), *result;

	assert_non_null(at);
	result = io_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	free(text);
	return result;
}

static void wrong_values_are_refused(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "\"version\":1", "\"version\":2" },
		{ "slurm-fabric/record", "slurm-fabric/map" },
		{ "\"job\":1234", "\"job\":\"1234\"" },
		{ "\"job\":1234", "\"job\":-1" },
		{ "\"job\":1234", "\"job\":4294967296" },
		{ "\"step\":\"0\"", "\"step\":0" },
		{ "\"step\":\"0\"", "\"step\":\"x\"" },
		{ "5f0c1e7a9b3d4288", "5F0c1e7a9b3d4288" },
		{ "5f0c1e7a9b3d4288", "" },
		{ "\"node\":\"n1\"", "\"node\":\"../n1\"" },
		{ "\"node\":\"n1\"", "\"node\":\"\"" },
		{ "\"gpus\":[0", "\"gpus\":[-1" },
		{ "\"gpus\":[0", "\"gpus\":[\"0\"" },
		{ "\"1234.batch\"", "1" },
		{ "\"sampling\":{", "\"sampled\":{" },
		{ "\"totals\":{", "\"totals\":[],\"x\":{" },
		{ "\"mlx5_0:1\":{", "\"mlx5 0\":{" },
		{ "\"rx_bytes\":1500000000000", "\"rx_bytes\":-1" },
		{ "\"rx_bytes\":1500000000000", "\"rx_bytes\":1.5" },
		{ "[49000000000,", "[" },
		{ "[49000000000,", "[-1," },
		{ "[49000000000,", "[\"\"," },
		{ "\"rates\":{\"mlx5_0:1\"", "\"rates\":{\"mlx5_9:1\"" },
		{ "\"class\":\"compact\"", "\"class\":7" },
		{ "\"bound_ns\":95000", "\"bound_ns\":-1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = changed(cases[i].from, cases[i].to);
		struct record *r = parse(text);

		if (r)
			fail_msg("accepted: %s", cases[i].to);
		free(text);
	}
}

static void later_meanings_are_skipped(void **state)
{
	char *text = changed("\"errors\":0", "\"wormholes\":17");
	struct record *r = parse(text);

	(void)state;
	assert_non_null(r);
	assert_null(record_find(r, "mlx5_0:1", M_ERRORS));
	assert_non_null(record_find(r, "mlx5_0:1", M_LOSS));
	record_free(r);
	free(text);
}

static struct record *eight_ports(void)
{
	struct record *r = record_new();

	assert_non_null(r);
	assert_int_equal(record_make_id(r->id, NULL), 0);
	r->node = strdup("a-node-with-a-rather-long-name-0001");
	r->job = UINT32_MAX - 1;
	r->begin_ns = r->end_ns = INT64_C(1790000000123456789);
	for (int i = 0; i < 8; i++) {
		char name[24];

		snprintf(name, sizeof(name), "mlx5_%d:1", i);
		for (int m = M_RX_BYTES; m <= M_CONGESTION; m++) {
			assert_int_equal(record_add(r, name, (enum meaning)m, UINT64_MAX - 1), 0);
			assert_true(record_add_rates(r, name, (enum meaning)m, 1.2345e10, 2.5e10,
						     4.9e10));
		}
	}
	return r;
}

static void eight_ports_keep_all_totals(void **state)
{
	struct record *r = eight_ports(), *back;
	char *line = record_line(r);

	(void)state;
	assert_non_null(line);
	assert_true(strlen(line) <= RECORD_MAX_BYTES);
	back = parse(line);
	assert_non_null(back);
	assert_int_equal(back->value_count, r->value_count);
	assert_true(back->cut);
	assert_false(back->values[0].has_rates);
	assert_true(back->values[0].total == UINT64_MAX - 1);
	free(line);
	record_free(back);
	record_free(r);
}

static void zeros_go_before_numbers(void **state)
{
	struct record *r = record_new(), *back;
	char name[32], *line;

	(void)state;
	assert_int_equal(record_make_id(r->id, NULL), 0);
	r->node = strdup("n1");
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "disk%03d", i);
		assert_int_equal(record_add(r, name, M_READ_BYTES, i % 10 ? 0 : 5), 0);
	}
	line = record_line(r);
	assert_true(strlen(line) <= RECORD_MAX_BYTES);
	back = parse(line);
	assert_non_null(back);
	assert_int_equal(back->value_count, 20);
	assert_true(back->cut);
	free(line);
	record_free(back);
	record_free(r);
}

static void values_are_sorted_and_replaced(void **state)
{
	struct record *r = record_new();

	(void)state;
	assert_int_equal(record_add(r, "b", M_TX_BYTES, 1), 0);
	assert_int_equal(record_add(r, "a", M_TX_BYTES, 2), 0);
	assert_int_equal(record_add(r, "b", M_RX_BYTES, 3), 0);
	assert_int_equal(record_add(r, "b", M_TX_BYTES, 4), 0);
	assert_int_equal(record_add(r, "no device", M_TX_BYTES, 4), -EINVAL);
	assert_int_equal(r->value_count, 3);
	assert_string_equal(r->values[0].device, "a");
	assert_int_equal(r->values[1].meaning, M_RX_BYTES);
	assert_int_equal(r->values[2].total, 4);
	assert_false(record_add_rates(r, "c", M_TX_BYTES, 1, 2, 3));
	record_free(r);
}

static void unknown_is_absent(void **state)
{
	struct record *r = record_new(), *back;
	char *line;

	(void)state;
	assert_int_equal(record_make_id(r->id, NULL), 0);
	r->node = strdup("n1");
	line = record_line(r);
	assert_null(strstr(line, "tasks"));
	assert_null(strstr(line, "gpus"));
	assert_null(strstr(line, "\"end\""));
	assert_null(strstr(line, "clock"));
	back = parse(line);
	assert_non_null(back);
	assert_int_equal(back->tasks, PACKET_UNKNOWN);
	assert_false(back->gpus_known);
	assert_null(back->end);
	free(line);
	record_free(back);
	record_free(r);
	record_free(NULL);
}

/* CLOCK_REALTIME and CLOCK_MONOTONIC do not agree: the first was set. */
static void a_clock_that_was_set_is_told(void **state)
{
	struct record *r = record_new();
	char *line;

	(void)state;
	assert_int_equal(record_make_id(r->id, NULL), 0);
	r->node = strdup("n1");
	r->begin_ns = INT64_C(7200000000000);
	r->end_ns = INT64_C(3605000000000);
	r->elapsed_ns = INT64_C(5000000000);
	line = record_line(r);
	assert_non_null(strstr(line, "\"clock_set_ns\":-3600000000000"));
	free(line);
	r->end_ns = r->begin_ns + r->elapsed_ns + 1000000; /* between two looks */
	line = record_line(r);
	assert_null(strstr(line, "clock_set"));
	free(line);
	record_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_is_canonical),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(a_clock_that_was_set_is_told),
		cmocka_unit_test(wrong_values_are_refused),
		cmocka_unit_test(later_meanings_are_skipped),
		cmocka_unit_test(eight_ports_keep_all_totals),
		cmocka_unit_test(zeros_go_before_numbers),
		cmocka_unit_test(values_are_sorted_and_replaced),
		cmocka_unit_test(unknown_is_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
