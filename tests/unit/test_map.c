/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_map.c - the node's map: the golden file is canonical, what is unknown stays unknown, broken
 * texts are refused with a sentence, the fabric fills in open switches only, and the env file says
 * what the map says.
 */
#include "unit.h"

#include "map.h"

static struct map *golden(void)
{
	struct err err = { "" };
	size_t len;
	char *text = test_data("contract/map.json", &len);
	struct map *m = map_parse(text, len, "map.json", &err);

	if (!m)
		fail_msg("%s", err.text);
	free(text);
	return m;
}

static struct map *parse(const char *text, struct err *err)
{
	*err = (struct err){ "" };
	return map_parse(text, strlen(text), "test", err);
}

static void golden_file_is_canonical(void **state)
{
	size_t len;
	char *text = test_data("contract/map.json", &len), *again;
	struct map *m = golden();

	(void)state;
	again = map_text(m);
	assert_string_equal(again, text);
	assert_true(len < 16384); /* 8 GPUs and 10 ports: far below what the wire takes */
	free(again);
	free(text);
	map_free(m);
}

static void golden_file_is_understood(void **state)
{
	struct map *m = golden();

	(void)state;
	assert_int_equal(m->gpu_count, 8);
	assert_int_equal(m->port_count, 10);
	assert_int_equal(m->gpus[6].gres, 7);
	assert_int_equal(m->gpus[0].near[0].class, MAP_PXB);
	assert_string_equal(m->ports[m->gpus[6].near[0].port].device, "mlx5_10");
	assert_int_equal(m->ports[2].guid, UINT64_C(0xb83fd20300100101));
	assert_int_equal(m->ports[2].numa, -1);
	assert_int_equal(m->ports[2].rate_bps, 0);
	assert_int_equal(m->ports[1].guid, 0);
	assert_non_null(m->ports[1].ignored);
	assert_int_equal(m->ports[3].leaf.source, LEAF_SMP);
	assert_int_equal(m->ports[7].leaf.source, LEAF_OPEN);
	assert_true(m->ports[8].leaf.wire.degraded);
	map_free(m);
}

static void every_cut_is_refused(void **state)
{
	size_t len;
	char *text = test_data("contract/map.json", &len);

	(void)state;
	for (size_t i = 0; i + 2 < len; i++) {
		struct err err = { "" };
		char *part = malloc(i + 1);
		memcpy(part, text, i);
		assert_null(map_parse(part, i, "cut", &err));
		assert_true(err.text[0] != '\0');
		free(part);
	}
	free(text);
}

/* Whatever a byte becomes: a map or a sentence, and a map that is read is written again. */
static void no_byte_can_hurt(void **state)
{
	static const char bytes[] = "\0\"{}[]:,-9aZ\n\xff";
	size_t len;
	char *text = test_data("contract/map.json", &len);

	(void)state;
	for (size_t i = 0; i < len; i += 3) {
		char was = text[i];
		struct err err = { "" };
		struct map *m;
		text[i] = bytes[i / 3 % (sizeof(bytes) - 1)];
		m = map_parse(text, len, "changed", &err);
		if (m) {
			char *again = map_text(m), *env = map_env_text(m);
			assert_non_null(again);
			assert_non_null(env);
			free(again);
			free(env);
		} else {
			assert_true(err.text[0] != '\0');
		}
		map_free(m);
		text[i] = was;
	}
	free(text);
}

#define HEAD "{\"format\":\"slurm-fabric/map\",\"version\":1,\"host\":\"n\","
#define PORT "{\"name\":\"mlx5_0:1\",\"state\":\"active\"}"
#define GPU(near) "{\"index\":0,\"bdf\":\"0000:01:00.0\",\"near\":[" near "],\"reason\":\"r\"}"

static void broken_texts_are_refused(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "[]", "a JSON object is needed" },
		{ "{}", "\"format\" is missing" },
		{ "{\"format\":\"slurm-fabric/fabric\",\"version\":1}", "is needed" },
		{ "{\"format\":\"slurm-fabric/map\",\"version\":2}", "newer" },
		{ HEAD "\"gpus\":[]}", "\"ports\" is missing" },
		{ HEAD "\"boot_id\":\"a\\nb\"}", "no boot id" },
		{ HEAD "\"ports\":[],\"gpus\":{}}", "must be of type array" },
		{ HEAD "\"ports\":[7],\"gpus\":[]}", "must be of type object" },
		{ HEAD "\"ports\":[{\"name\":\"mlx5_0\",\"state\":\"active\"}],\"gpus\":[]}",
		  "DEVICE:NUMBER" },
		{ HEAD "\"ports\":[{\"name\":\":1\",\"state\":\"active\"}],\"gpus\":[]}",
		  "DEVICE:NUMBER" },
		{ HEAD "\"ports\":[{\"name\":\"a:1\",\"state\":\"up\"}],\"gpus\":[]}", "no state" },
		{ HEAD "\"ports\":[{\"name\":\"a:1\",\"guid\":\"0x1\"}],\"gpus\":[]}",
		  "a GUID is" },
		{ HEAD "\"ports\":[" PORT "," PORT "],\"gpus\":[]}", "there twice" },
		{ HEAD
		  "\"ports\":[{\"name\":\"a:1\",\"leaf\":{\"source\":\"guess\"}}],\"gpus\":[]}",
		  "not known" },
		{ HEAD "\"ports\":[" PORT "],\"gpus\":[" GPU(
			  "{\"port\":\"mlx5_0:2\",\"class\":\"PIX\",\"tie\":1}") "]}",
		  "does not have" },
		{ HEAD "\"ports\":[" PORT "],\"gpus\":[" GPU(
			  "{\"port\":\"mlx5_0:1\",\"class\":\"NEAR\",\"tie\":1}") "]}",
		  "class \"NEAR\"" },
		{ HEAD "\"ports\":[" PORT "],\"gpus\":[" GPU(
			  "{\"port\":\"mlx5_0:1\",\"class\":\"PIX\",\"tie\":0}") "]}",
		  "outside" },
		{ HEAD "\"ports\":[],\"gpus\":[" GPU(
			  "{\"port\":\"mlx5_0:1\",\"class\":\"PIX\",\"tie\":1}") "]}",
		  "at most 0" },
		{ HEAD "\"ports\":[],\"gpus\":[{\"index\":-1}]}", "outside" },
		{ HEAD "\"ports\":[],\"gpus\":[{\"index\":\"0\"}]}", "must be of type int" },
		{ HEAD "\"ports\":[],\"gpus\":[{\"index\":0,\"bdf\":\"x\",\"near\":[]}]}",
		  "\"reason\" is missing" },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct map *m = parse(cases[i].text, &err);
		if (m || !strstr(err.text, cases[i].sentence))
			fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].text, err.text,
				 cases[i].sentence);
	}
}

static void what_is_unknown_stays_out(void **state)
{
	struct err err;
	struct map *m = parse(HEAD "\"ports\":[" PORT "],\"gpus\":[" GPU("") "]}", &err);
	char *text;

	(void)state;
	assert_non_null(m);
	assert_int_equal(m->gpus[0].gres, -1);
	assert_int_equal(m->gpus[0].numa, -1);
	assert_int_equal(m->ports[0].leaf.rail, -1);
	assert_null(m->boot_id);
	text = map_text(m);
	assert_null(strstr(text, "gres"));
	assert_null(strstr(text, "numa"));
	assert_null(strstr(text, "guid"));
	assert_null(strstr(text, "leaf"));
	assert_null(strstr(text, "boot_id"));
	free(text);
	map_free(m);
}

static void text_can_be_too_long(void **state)
{
	char *text = calloc(1, MAP_MAX_BYTES + 2);
	struct err err = { "" };

	(void)state;
	memset(text, ' ', MAP_MAX_BYTES + 1);
	assert_null(map_parse(text, MAP_MAX_BYTES + 1, "long", &err));
	assert_non_null(strstr(err.text, "longer than"));
	free(text);
}

/* Three ports of the golden map in a fabric of two leaves. */
static struct fabric_switch switches[] = {
	{ .guid = 0x10, .name = "left", .ports = 40 },
	{ .guid = 0x20, .name = "right", .ports = 40 },
};
static struct fabric_port ports[] = {
	{ .guid = UINT64_C(0xb83fd20300100001),
	  .sw = 0,
	  .sw_port = 9,
	  .rail = 3,
	  .wire = { .width = 4, .speed_bps = 100, .state = LINK_ACTIVE } },
	{ .guid = UINT64_C(0xb83fd20300100011), .sw = 1, .sw_port = 4, .rail = -1 },
	{ .guid = UINT64_C(0xb83fd20300100051), .sw = 1, .sw_port = 5, .rail = -1 },
	{ .guid = UINT64_C(0xb83fd20300100061), .sw = FABRIC_NONE },
};
static const struct fabric fabric = {
	.switches = switches, .switch_count = 2, .ports = ports, .port_count = 4
};

static void fabric_fills_what_is_open(void **state)
{
	struct map *m = golden();
	size_t differ;

	(void)state;
	assert_int_equal(map_join_fabric(m, &fabric, &differ), 0);
	/* open before */
	assert_int_equal(m->ports[7].leaf.source, LEAF_FABRIC);
	assert_string_equal(m->ports[7].leaf.name, "right");
	assert_int_equal(m->ports[7].leaf.port, 5);
	/* from an earlier fabric: replaced, or open where this one does not have it */
	assert_int_equal(m->ports[0].leaf.guid, 0x10);
	assert_int_equal(m->ports[0].leaf.rail, 3);
	assert_int_equal(m->ports[0].leaf.wire.speed_bps, 100);
	assert_int_equal(m->ports[8].leaf.source, LEAF_OPEN);
	assert_int_equal(m->ports[4].leaf.source, LEAF_OPEN);
	/* the node asked for itself and says otherwise: it keeps its own */
	assert_int_equal(differ, 1);
	assert_int_equal(m->ports[3].leaf.source, LEAF_SMP);
	assert_string_equal(m->ports[3].leaf.name, "su1-leaf1");
	map_free(m);
}

static void joining_twice_changes_nothing(void **state)
{
	struct map *m = golden();
	char *once, *twice;
	size_t differ;

	(void)state;
	assert_int_equal(map_join_fabric(m, &fabric, &differ), 0);
	once = map_text(m);
	assert_int_equal(map_join_fabric(m, &fabric, &differ), 0);
	twice = map_text(m);
	assert_string_equal(once, twice);
	free(once);
	free(twice);
	map_free(m);
}

static void env_file_is_the_golden_one(void **state)
{
	size_t len;
	char *expected = test_data("contract/env", &len), *text;
	struct map *m = golden();

	(void)state;
	text = map_env_text(m);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
	map_free(m);
}

/* NCCL is told only when the active ports are not those that GPUs use. */
static void nccl_line_only_where_it_differs(void **state)
{
	struct map *m = golden();
	char *text;

	(void)state;
	m->ports[1].state = LINK_DOWN;
	text = map_env_text(m);
	assert_null(strstr(text, "nccl"));
	free(text);
	m->gpus[0].near_count = 0;
	text = map_env_text(m);
	assert_non_null(strstr(text, "nccl =mlx5_3:1,"));
	assert_null(strstr(text, "gpu 0 "));
	free(text);
	map_free(m);
}

/* A node with more ports than a list has room for: fabric.so would take neither list nor file. */
static void the_env_file_is_bounded(void **state)
{
	struct map_near near[1000];
	struct map_gpu gpu = { .bdf = "0000:17:00.0", .near = near, .near_count = 999 };
	struct map m = { .boot_id = "5b7c1f0e", .gpus = &gpu, .gpu_count = 1, .port_count = 1000 };
	char *text;

	(void)state;
	m.ports = calloc(m.port_count, sizeof(*m.ports));
	for (size_t i = 0; i < m.port_count; i++) {
		m.ports[i].device = io_format("m%063zu", i);
		m.ports[i].port = 1;
		m.ports[i].state = LINK_ACTIVE;
		near[i] = (struct map_near){ .port = i, .tie = 1 };
	}
	text = map_env_text(&m);
	assert_string_equal(text, "fabric-env 1 5b7c1f0e\n");
	free(text);
	for (size_t i = 0; i < m.port_count; i++)
		free(m.ports[i].device);
	free(m.ports);
}

static void unusable_names_are_not_listed(void **state)
{
	struct map *m = golden();
	char *text;

	(void)state;
	free(m->ports[0].device);
	m->ports[0].device = strdup("a b\nc");
	free(m->ports[3].layer);
	m->ports[3].layer = strdup(MAP_SLINGSHOT);
	m->gpus[2].gres = -1;
	free(m->boot_id);
	m->boot_id = NULL;
	text = map_env_text(m);
	assert_non_null(strstr(text, "fabric-env 1 -\n"));
	assert_non_null(strstr(text, "\ngpu 0 - -\n"));
	assert_non_null(strstr(text, "\ngpu 1 - -\n"));
	assert_null(strstr(text, "\ngpu 2 "));
	assert_null(strstr(text, "a b"));
	free(text);
	map_free(m);
}

static void class_names(void **state)
{
	(void)state;
	assert_string_equal(map_class_name(MAP_PIX), "PIX");
	assert_string_equal(map_class_name(MAP_SYS), "SYS");
	assert_string_equal(map_class_name(MAP_UNKNOWN), "unknown");
	assert_string_equal(map_class_name((enum map_class)99), "unknown");
	map_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_file_is_canonical),
		cmocka_unit_test(golden_file_is_understood),
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(no_byte_can_hurt),
		cmocka_unit_test(broken_texts_are_refused),
		cmocka_unit_test(what_is_unknown_stays_out),
		cmocka_unit_test(text_can_be_too_long),
		cmocka_unit_test(fabric_fills_what_is_open),
		cmocka_unit_test(joining_twice_changes_nothing),
		cmocka_unit_test(env_file_is_the_golden_one),
		cmocka_unit_test(nccl_line_only_where_it_differs),
		cmocka_unit_test(the_env_file_is_bounded),
		cmocka_unit_test(unusable_names_are_not_listed),
		cmocka_unit_test(class_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
