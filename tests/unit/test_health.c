/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_health.c - the contract health.json (include/health.h).
 */
#include "fabric.h"
#include "health.h"
#include "unit.h"

static void golden(void **state)
{
	struct err err = { "" };
	size_t len;
	char *text = test_data("contract/health.json", &len), *again;
	struct health *h = health_parse(text, len, "health.json", &err);

	(void)state;
	if (!h)
		fail_msg("%s", err.text);
	assert_int_equal(h->count, 2);
	assert_int_equal(h->marks[0].port, UINT64_C(0xb83fd20300100061));
	assert_null(h->marks[0].host);
	assert_string_equal(h->marks[1].host, "n4");
	assert_int_equal(h->marks[1].port, 0);
	assert_true(h->marks[0].since_ns < h->marks[0].until_ns);
	assert_string_equal(h->marks[1].by, "admin root");
	again = health_text(h);
	assert_string_equal(again, text);
	free(again);
	health_free(h);
	free(text);
}

/* What it marks must be in the golden fabric: the two are read together. */
static void fits_the_fabric(void **state)
{
	struct err err = { "" };
	struct health *h = health_load(TEST_DATA "/contract/health.json", &err);
	struct fabric *f = fabric_load(TEST_DATA "/contract/fabric.json", &err);

	(void)state;
	assert_non_null(h);
	assert_non_null(f);
	assert_int_not_equal(fabric_find_port(f, h->marks[0].port), FABRIC_NONE);
	assert_int_not_equal(fabric_find_host(f, h->marks[1].host), FABRIC_NONE);
	health_free(h);
	fabric_free(f);
}

static void order_is_made(void **state)
{
	char a[] = "a", b[] = "b", who[] = "admin x", why[] = "y";
	struct health_mark marks[] = {
		{ 0, b, 1, 2, who, why },
		{ 9, NULL, 5, 6, who, why },
		{ 0, a, 1, 2, who, why },
		{ 9, NULL, 1, 2, who, why },
	};
	struct health h = { marks, 4 };
	struct err err = { "" };
	char *text = health_text(&h);
	struct health *again = health_parse(text, strlen(text), "x", &err);

	(void)state;
	if (!again)
		fail_msg("%s", err.text);
	assert_int_equal(again->marks[0].since_ns, 1);
	assert_int_equal(again->marks[1].since_ns, 5);
	assert_string_equal(again->marks[2].host, "a");
	assert_string_equal(again->marks[3].host, "b");
	health_free(again);
	free(text);
}

static void broken(void **state)
{
#define HEAD "{\"format\":\"slurm-fabric/health\",\"version\":1,\"marks\":["
#define TAIL "\"since_ns\":1,\"until_ns\":2,\"by\":\"b\",\"why\":\"w\"}]}"
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{}", "format" },
		{ "[]", "object" },
		{ "{\"format\":\"slurm-fabric/health\",\"version\":2,\"marks\":[]}", "newer" },
		{ "{\"format\":\"slurm-fabric/fabric\",\"version\":1,\"marks\":[]}",
		  "slurm-fabric/fabric" },
		{ HEAD "1]}", "marks[0]" },
		{ HEAD "{" TAIL, "marks[0]" },
		{ HEAD "{\"port\":\"0x0000000000000001\",\"host\":\"a\"," TAIL, "either" },
		{ HEAD "{\"port\":\"0x0000000000000000\"," TAIL, "port" },
		{ HEAD "{\"port\":\"12\"," TAIL, "GUID" },
		{ HEAD "{\"host\":\"a b\"," TAIL, "host name" },
		{ HEAD
		  "{\"host\":\"a\",\"since_ns\":3,\"until_ns\":2,\"by\":\"b\",\"why\":\"w\"}]}",
		  "until_ns" },
		{ HEAD "{\"host\":\"a\",\"since_ns\":1,\"until_ns\":2,\"why\":\"w\"}]}", "\"by\"" },
		{ HEAD "{\"host\":\"b\",\"since_ns\":1,\"until_ns\":2,\"by\":\"b\",\"why\":\"w\"},{"
		       "\"host\":\"a\"," TAIL,
		  "marks[1]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { "" };
		assert_null(health_parse(bad[i].text, strlen(bad[i].text), "h.json", &err));
		assert_memory_equal(err.text, "h.json", 6);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%zu: \"%s\" does not say %s", i, err.text, bad[i].says);
	}
}

static void cut_anywhere(void **state)
{
	size_t len;
	char *text = test_data("contract/health.json", &len);

	(void)state;
	for (size_t n = 0; n + 1 < len; n++) { /* the last byte is a newline, not needed */
		struct err err = { "" };
		assert_null(health_parse(text, n, "h.json", &err));
		assert_memory_equal(err.text, "h.json", 6);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),	 cmocka_unit_test(fits_the_fabric),
		cmocka_unit_test(order_is_made), cmocka_unit_test(broken),
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
