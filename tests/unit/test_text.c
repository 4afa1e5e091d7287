/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_text.c - the textual forms that all contracts share (include/text.h).
 */
#include "text.h"
#include "unit.h"

static void guids(void **state)
{
	char text[GUID_TEXT];
	uint64_t guid = 7;

	(void)state;
	assert_string_equal(guid_format(0x0002c90300a1b2c3, text), "0x0002c90300a1b2c3");
	assert_true(guid_parse("0x0002c90300A1b2c3", &guid));
	assert_int_equal(guid, 0x0002c90300a1b2c3);
	assert_true(guid_parse_sysfs("0002:c903:00a1:b2c4", &guid));
	assert_int_equal(guid, 0x0002c90300a1b2c4);
	static const char *const bad[] = { "", "0x", "0x0002c90300a1b2c", "0x0002c90300a1b2c33", "0002c90300a1b2c3",
					   "0x0002c90300a1b2cg", " 0x0002c90300a1b2c3", "-x0002c90300a1b2c3" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(guid_parse(bad[i], &guid));
	assert_false(guid_parse_sysfs("0002:c903:00a1:b2c", &guid));
	assert_false(guid_parse_sysfs("0002:c903:00a1;b2c4", &guid));
	assert_int_equal(guid, 0x0002c90300a1b2c4); /* untouched by refusals */
}

static void steps(void **state)
{
	char text[STEP_TEXT];
	uint32_t step;

	(void)state;
	assert_string_equal(step_format(0, text), "0");
	assert_string_equal(step_format(STEP_ID_BATCH, text), "batch");
	assert_true(step_parse("interactive", &step));
	assert_int_equal(step, STEP_ID_INTERACTIVE);
	assert_true(step_parse("17", &step));
	assert_int_equal(step, 17);
	assert_false(step_parse("4294967291", &step)); /* the batch step has a name */
	assert_false(step_parse("-1", &step));
	assert_false(step_parse("1x", &step));
}

static void numbers(void **state)
{
	uint64_t value;
	int64_t ns;

	(void)state;
	assert_true(u64_parse("18446744073709551615", UINT64_MAX, &value));
	assert_true(value == UINT64_MAX);
	assert_false(u64_parse("18446744073709551616", UINT64_MAX, &value));
	assert_false(u64_parse("11", 10, &value));
	assert_false(u64_parse("5", 4, &value));
	assert_false(u64_parse("", 10, &value));
	assert_false(u64_parse("+1", 10, &value));
	assert_true(interval_parse("500ms", &ns));
	assert_int_equal(ns, 500000000);
	assert_true(interval_parse("2m", &ns));
	assert_int_equal(ns, INT64_C(120000000000));
	assert_false(interval_parse("1", &ns));
	assert_false(interval_parse("1.5s", &ns));
	assert_false(interval_parse("9223372036854775807h", &ns));
	assert_true(size_parse("256M", &value));
	assert_int_equal(value, 256u << 20);
	assert_true(size_parse("7", &value));
	assert_int_equal(value, 7);
	assert_false(size_parse("1Q", &value));
	assert_false(size_parse("99999999999T", &value));
}

static void words(void **state)
{
	(void)state;
	assert_true(word_valid("same-leaf", 32));
	assert_false(word_valid("", 32));
	assert_false(word_valid("Same", 32));
	assert_false(word_valid("a\nb", 32));
	assert_false(word_valid("abcd", 3));
	assert_true(name_valid("A_b.c-9", 32));
	assert_false(name_valid("a b", 32));
}

static void printable(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(text_printable("plain \xc3\xa9", out, sizeof(out)), "plain \xc3\xa9");
	assert_string_equal(text_printable("\x1b[31mred\x07\n", out, sizeof(out)), "?[31mred??");
	assert_string_equal(text_printable("\xc2\x9b" "31m", out, sizeof(out)), "??31m"); /* C1 CSI */
	assert_string_equal(text_printable("\xe2\x80\xae" "abc", out, sizeof(out)), "???abc"); /* RLO */
	assert_string_equal(text_printable("\xff\xc3", out, sizeof(out)), "??");
	assert_string_equal(text_printable("\xc0\xaf\xed\xa0\x80", out, sizeof(out)), "?????");
	assert_string_equal(text_printable("\xd8\x9c\xe2\x81\xa6x", out, sizeof(out)), "?????x");
	assert_string_equal(text_printable("\xf4\x90\x80\x80", out, sizeof(out)), "????");
	assert_string_equal(text_printable("\xf0\x9f\x98\x80", out, sizeof(out)), "\xf0\x9f\x98\x80");
	assert_string_equal(text_printable("ab\xc3\xa9", out, 4), "ab"); /* no half character */
	assert_string_equal(text_printable("abc", out, 1), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guids), cmocka_unit_test(steps),     cmocka_unit_test(numbers),
		cmocka_unit_test(words), cmocka_unit_test(printable),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
