/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_peers.c - what the maps of a job's nodes say about each other: the nodes that are not like
 * their peers, and in which PCIe switch trees a part of a node's GPUs lies.
 */
#include "unit.h"

#include "fold.h"
#include "peers.h"

#define NODES 8
#define GPUS 4

static struct map maps[NODES];
static struct map_gpu gpus[NODES][GPUS];
static struct map_port ports[NODES][GPUS];
static struct map_near nears[NODES][GPUS];
static struct fold_host hosts[NODES];
static json_object *object;

/* GPU i uses port i, whose rail is i; two GPUs in each switch tree. */
static int setup(void **state)
{
	static const char *const names[] = { "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8" };
	static const char *const devices[] = { "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3" };

	(void)state;
	for (size_t n = 0; n < NODES; n++) {
		for (size_t i = 0; i < GPUS; i++) {
			nears[n][i] = (struct map_near){ .port = i, .class = MAP_PIX, .tie = 1 };
			ports[n][i] = (struct map_port){
				.device = (char *)devices[i],
				.port = 1,
				.state = LINK_ACTIVE,
				.leaf = { .source = LEAF_FABRIC, .guid = 1 + i, .rail = (int)i }
			};
			gpus[n][i] = (struct map_gpu){ .gres = (int)i,
						       .model = (char *)"H100",
						       .tree = (char *)(i < 2 ? "0000:01:00.0"
									      : "0000:81:00.0"),
						       .near = &nears[n][i],
						       .near_count = 1 };
		}
		maps[n] = (struct map){ .host = (char *)names[n],
					.gpus = gpus[n],
					.gpu_count = GPUS,
					.ports = ports[n],
					.port_count = GPUS };
		hosts[n] = (struct fold_host){ .name = names[n], .map = &maps[n] };
	}
	object = json_object_new_object();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_object_put(object);
	return 0;
}

static void says(size_t count, const char *text)
{
	assert_int_equal(peers_put(object, hosts, count, 2), 0);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), text);
}

static void nodes_that_are_alike(void **state)
{
	(void)state;
	hosts[4].map = NULL;
	says(NODES, "{}");
}

/* The cables of two HCAs are crossed. */
static void a_crossed_cable(void **state)
{
	(void)state;
	ports[2][1].leaf.rail = 2;
	ports[2][2].leaf.rail = 1;
	says(4, "{\"odd\":[{\"nodes\":\"n3\",\"has\":\"rail of mlx5_1:1: 2\",\"peers\":\"1\"}]}");
}

static void a_dark_port(void **state)
{
	(void)state;
	ports[5][3].ignored = ports[6][3].ignored = (char *)"its state is down";
	gpus[5][3].near_count = gpus[6][3].near_count = 0;
	says(NODES, "{\"odd\":[{\"nodes\":\"n[6-7]\",\"has\":\"port mlx5_3:1: its state is down\","
		    "\"peers\":\"used\"}]}");
}

static void an_adapter_in_another_slot(void **state)
{
	(void)state;
	nears[0][0].class = MAP_SYS;
	says(3, "{\"odd\":[{\"nodes\":\"n1\",\"has\":\"GPU 0: SYS mlx5_0:1\","
		"\"peers\":\"PIX mlx5_0:1\"}]}");
}

static void a_missing_gpu_and_one_too_many(void **state)
{
	(void)state;
	maps[1].gpu_count = 3;
	says(3,
	     "{\"odd\":[{\"nodes\":\"n2\",\"has\":\"GPU 3: none\",\"peers\":\"PIX mlx5_3:1\"}]}");
	json_object_put(object);
	object = json_object_new_object();
	maps[0].gpu_count = maps[2].gpu_count = 3;
	maps[1].gpu_count = 4;
	says(3,
	     "{\"odd\":[{\"nodes\":\"n2\",\"has\":\"GPU 3: PIX mlx5_3:1\",\"peers\":\"none\"}]}");
}

static void two_are_no_peers(void **state)
{
	(void)state;
	ports[1][1].leaf.rail = 2;
	says(2, "{}");
}

static void without_a_majority(void **state)
{
	(void)state;
	ports[0][1].leaf.rail = ports[1][1].leaf.rail = 2;
	says(4, "{}");
}

/* Each node has other names for its adapters; one has a port less. */
static void adapters_called_otherwise_on_each_node(void **state)
{
	static const char *const devices[] = { "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3" };

	(void)state;
	for (size_t n = 0; n < 4; n++)
		for (size_t i = 0; i < GPUS; i++)
			ports[n][i].device = (char *)devices[(i + n) % GPUS];
	says(4, "{}");
	ports[2][3].ignored = (char *)"its state is down";
	says(4,
	     "{\"odd\":[{\"nodes\":\"n3\",\"has\":\"ports used: 3 of 4\",\"peers\":\"4 of 4\"}]}");
}

static void another_model_is_another_kind(void **state)
{
	(void)state;
	gpus[7][0].model = (char *)"A100";
	nears[7][0].class = MAP_SYS;
	gpus[6][0].model = NULL;
	nears[6][0].class = MAP_SYS;
	says(NODES, "{}");
}

static void a_rail_that_is_not_known(void **state)
{
	(void)state;
	ports[0][0].leaf.source = LEAF_OPEN;
	ports[1][0].leaf.rail = -1;
	says(NODES, "{}");
}

static void too_many_differences(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		ports[i][i].leaf.rail = 9;
	assert_int_equal(peers_put(object, hosts, NODES, 2), 0);
	assert_string_equal(
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
		"{\"odd\":[{\"nodes\":\"n1\",\"has\":\"rail of mlx5_0:1: 9\",\"peers\":\"0\"},"
		"{\"nodes\":\"n2\",\"has\":\"rail of mlx5_1:1: 9\",\"peers\":\"1\"}],"
		"\"odd_more\":1}");
}

/* ---- trees ---- */

/* The keys about trees of the only pattern, for a job that has these GPUs of n1. */
static const char *trees(int *indexes, size_t count)
{
	struct job_gpus job = { .known = true, .index = indexes, .count = count };
	json_object *map = NULL, *pattern;
	const char *text, *at;

	hosts[0].gpus = &job;
	json_object_put(object);
	object = json_object_new_object();
	assert_int_equal(fold_put_patterns(object, hosts, 1, 8), 0);
	json_object_object_get_ex(object, "map", &map);
	pattern = json_object_array_get_idx(map, 0);
	text = json_object_to_json_string_ext(pattern, JSON_C_TO_STRING_PLAIN);
	at = strstr(text, "\"trees");
	return at ? at : "";
}

static void a_job_with_a_part_of_the_gpus(void **state)
{
	(void)state;
	assert_string_equal(trees((int[]){ 0, 2 }, 2), "\"trees\":[[0],[2]],\"trees_fewest\":1}");
	assert_string_equal(trees((int[]){ 2, 3 }, 2), "\"trees\":[[2,3]]}");
	assert_string_equal(trees((int[]){ 0, 1, 2 }, 3), "\"trees\":[[0,1],[2]]}");
	assert_string_equal(trees((int[]){ 0, 1, 2, 3 }, 4), ""); /* there is no choice */
	gpus[0][3].tree = NULL;
	assert_string_equal(trees((int[]){ 0, 2 }, 2), "");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nodes_that_are_alike),
		TEST(a_crossed_cable),
		TEST(a_dark_port),
		TEST(an_adapter_in_another_slot),
		TEST(a_missing_gpu_and_one_too_many),
		TEST(two_are_no_peers),
		TEST(without_a_majority),
		TEST(adapters_called_otherwise_on_each_node),
		TEST(another_model_is_another_kind),
		TEST(a_rail_that_is_not_known),
		TEST(too_many_differences),
		TEST(a_job_with_a_part_of_the_gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
