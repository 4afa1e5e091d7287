/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_json.c - the JSON reader (include/json.h) and the job field (include/jobfield.h).
 */
#include "json.h"
#include "jobfield.h"
#include "text.h"
#include "unit.h"

static json_object *parse(const char *text, struct err *err)
{
	return json_parse(text, strlen(text), "file.json", err);
}

static void broken_text(void **state)
{
	static const char *const bad[] = {
		"", "{", "{\"a\":1", "{\"a\":1}x", "{} {}", "[1,]", "{\"a\":\"\xff\"}", "nul", "null",
		"\"\xc3", "\"\xc3\xa9\xc3\"", "\"\\\xc3\xa9\"", "{\"a\":\xc3\xa9}", "\"\xc3\xa9\"]",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { "" };
		assert_null(parse(bad[i], &err));
		assert_memory_equal(err.text, "file.json:1: ", 13);
	}
	struct err err = { "" };
	assert_null(parse("{\n\"a\": 1,\n\"b\" 2}", &err));
	assert_memory_equal(err.text, "file.json:3: ", 13);
	assert_null(json_parse("{}\0{}", 5, "file.json", &err));
	json_object *fine = parse(" {\"a\": 1}\n \n", &err);
	assert_non_null(fine);
	json_object_put(fine);
	fine = parse("\"\\\\\xc3\xa9\\\"\xf0\x9f\x98\x80\"", &err);
	assert_string_equal(json_object_get_string(fine), "\\\xc3\xa9\"\xf0\x9f\x98\x80");
	json_object_put(fine);
}

/* Some keys of an object: the others are skipped whatever is in them. */
static void some_keys(void **state)
{
	static const char *const keys[] = { "a", "long", NULL };
	static const char *const bad[] = {
		"", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{\"a\":1}x",
		"{\"a\":1 \"b\":2}", "{\"x\":[1,{}", "{\"x\":\"\\", "{\"x\":\"", "{a:1}", "{\"a\":[1}]}",
		"{\"a\":nul}", "{\"a\":\"\xff\"}", "{\"a\":{\"b\":}}", "{,}",
	};
	struct err err = { "" };
	static const char good[] = " {\"x\": [\"]\", {\"a\": 2}, \"\\\"}\"], \"a\": 1,\n\"y\": -2.5e3, "
				   "\"long\" : [ {\"x\": null} ] , \"z\":{}}\n ";
	json_object *o = json_parse_keys(good, strlen(good), keys, "file.json", &err), *value;

	(void)state;
	if (!o)
		fail_msg("%s", err.text);
	assert_int_equal(json_object_object_length(o), 2);
	assert_true(json_object_object_get_ex(o, "a", &value));
	assert_int_equal(json_object_get_int(value), 1);
	assert_true(json_object_object_get_ex(o, "long", &value));
	assert_int_equal(json_object_array_length(value), 1);
	json_object_put(o);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		o = json_parse_keys(bad[i], strlen(bad[i]), keys, "file.json", &err);
		if (o)
			fail_msg("%s was read", bad[i]);
		assert_memory_equal(err.text, "file.json:1: ", 13);
	}
	o = json_parse_keys("{}", 2, keys, "file.json", &err);
	assert_non_null(o);
	json_object_put(o);
}

static void sticky_reader(void **state)
{
	struct err err = { "" };
	json_object *o =
		parse("{\"s\":\"text\",\"i\":5,\"big\":18446744073709551615,\"neg\":-1,\"b\":true,"
		      "\"g\":\"0x0000000000000001\",\"a\":[\"x\",\"a\\u0000b\"],\"n\":null,\"nul\":"
		      "\"a\\u0000b\"}",
		      &err);
	struct json_reader r = { "file.json", &err, 0 };

	(void)state;
	assert_non_null(o);
	assert_string_equal(json_read_string(&r, o, "s"), "text");
	assert_int_equal(json_read_int(&r, o, "i", 0, 10), 5);
	assert_true(json_read_u64(&r, o, "big") == UINT64_MAX);
	assert_true(json_read_bool(&r, o, "b"));
	assert_int_equal(json_read_guid(&r, o, "g"), 1);
	assert_non_null(json_read_array(&r, o, "a"));
	assert_string_equal(json_item_string(&r, json_read_array(&r, o, "a"), 0, "a"), "x");
	assert_int_equal(r.rc, 0);
	assert_true(json_has(o, "s"));
	assert_false(json_has(o, "n"));
	assert_false(json_has(o, "absent"));

	json_read_int(&r, o, "i", 6, 10);
	assert_int_equal(r.rc, -EPROTO);
	assert_string_equal(err.text, "file.json: key \"i\" is 5, outside 6 to 10");
	assert_null(json_read_string(&r, o, "s")); /* the first error sticks */
	assert_string_equal(err.text, "file.json: key \"i\" is 5, outside 6 to 10");

	static const char *const wrong[] = { "absent", "n", "i", "nul" };
	for (size_t i = 0; i < 4; i++) {
		r.rc = 0;
		assert_null(json_read_string(&r, o, wrong[i]));
		assert_int_equal(r.rc, -EPROTO);
		assert_non_null(strstr(err.text, wrong[i]));
	}
	r.rc = 0;
	assert_null(json_item_string(&r, json_read_array(&r, o, "a"), 1, "a"));
	assert_int_equal(r.rc, -EPROTO);
	r.rc = 0;
	json_read_u64(&r, o, "neg");
	assert_int_equal(r.rc, -EPROTO);
	r.rc = 0;
	json_read_guid(&r, o, "s");
	assert_int_equal(r.rc, -EPROTO);
	json_object_put(o);
}

static void formats(void **state)
{
	struct err err = { "" };
	struct json_reader r = { "file.json", &err, 0 };
	json_object *o = parse("{\"format\":\"slurm-fabric/x\",\"version\":2}", &err);

	(void)state;
	json_read_format(&r, o, "slurm-fabric/x", 2);
	assert_int_equal(r.rc, 0);
	json_read_format(&r, o, "slurm-fabric/x", 1);
	assert_int_equal(r.rc, -EPROTO);
	assert_non_null(strstr(err.text, "newer"));
	r.rc = 0;
	json_read_format(&r, o, "slurm-fabric/y", 2);
	assert_int_equal(r.rc, -EPROTO);
	json_object_put(o);
	r.rc = 0;
	o = parse("[]", &err);
	json_read_format(&r, o, "slurm-fabric/y", 2);
	assert_int_equal(r.rc, -EPROTO);
	json_object_put(o);
}

/*
 * A string of every byte there is, and of what moves or misleads a terminal, as a value and as a
 * key: what is written is valid JSON, holds nothing of the kind, and reads as what it was.
 */
static void strings_are_escaped(void **state)
{
	static const char odd[] = "\xc2\x9b" "2J\xe2\x80\xae\xd8\x9c<b>\"'&\\\xc3\xa9\xf0\x9f\x98\x80\x7f";
	static const char fixed[] = "\xef\xbf\xbd"; /* U+FFFD */
	char all[256];
	json_object *object = json_object_new_object(), *back;
	char *(*const writers[])(json_object *) = { json_text, json_line };

	(void)state;
	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = '\0';
	json_put_string(object, "odd", odd);
	json_put_string(object, "all", all);
	json_put_string(object, all, "key");
	for (size_t i = 0; i < 2; i++) {
		char *text = writers[i](object), *safe = malloc(8192);

		assert_non_null(text);
		text_printable(text, safe, 8192);
		for (size_t k = 0; text[k]; k++)
			assert_true(text[k] == safe[k] || (text[k] == '\n' && i == 0));
		back = json_parse(text, strlen(text), "back", NULL);
		assert_non_null(back);
		assert_string_equal(json_object_get_string(json_object_object_get(back, "odd")), odd);
		assert_memory_equal(json_object_get_string(json_object_object_get(back, "all")), all, 127);
		assert_string_equal(
			json_object_get_string(json_object_object_get(back, "all")) + 127 + 3 * 127, fixed);
		assert_int_equal(json_object_object_length(back), 3);
		json_object_put(back);
		free(safe);
		free(text);
	}
	json_object_put(object);
}

static void job_field(void **state)
{
	struct err err = { "" };
	json_object *ours = parse("{\"version\":1}", &err), *back;
	char *text = NULL;

	(void)state;
	assert_int_equal(jobfield_merge(NULL, ours, 100, &text, &err), 0);
	assert_string_equal(text, "{\"fabric\":{\"version\":1}}");
	back = jobfield_extract(text);
	assert_true(json_object_equal(back, ours));
	json_object_put(back);
	free(text);
	assert_int_equal(jobfield_merge("{\"site\":[1,2],\"fabric\":{\"version\":0}}", ours, 100, &text, &err), 0);
	assert_string_equal(text, "{\"site\":[1,2],\"fabric\":{\"version\":1}}");
	free(text);
	static const char *const foreign[] = { "JS1:H4sIAAAA", "a note", "[1]", "{\"broken\":" };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(jobfield_merge(foreign[i], ours, 100, &text, &err), -EEXIST);
		assert_null(jobfield_extract(foreign[i]));
	}
	assert_int_equal(jobfield_merge("", ours, 5, &text, &err), -E2BIG);
	assert_null(jobfield_extract("{\"fabric\":3}"));
	assert_null(jobfield_extract(NULL));
	json_object_put(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_text),
		cmocka_unit_test(some_keys), cmocka_unit_test(sticky_reader),
		cmocka_unit_test(formats), cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(job_field),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
