/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_choose.c - the six-step rule on small invented machines: each rank beats the next one, ports
 * are filtered before they are ranked, GPUs with the same best ports share them out, and where
 * there is nothing to choose the reason says so.
 */
#include "unit.h"

#include "choose.h"

#define MAX 16

/* A machine that is built up by the add_ functions. */
static struct machine_bridge bridges[MAX];
static struct machine_gpu gpus[MAX];
static struct machine_port ports[MAX];
static struct machine machine;
static struct choose_filter filter;
static struct map *map;

static int setup(void **state)
{
	(void)state;
	machine =
		(struct machine){ .live = true, .bridges = bridges, .gpus = gpus, .ports = ports };
	filter = (struct choose_filter){ 0 };
	map = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	map_free(map);
	return 0;
}

static size_t add_bridge(size_t parent)
{
	bridges[machine.bridge_count] =
		(struct machine_bridge){ .parent = parent, .host = parent == MACHINE_NONE };
	return machine.bridge_count++;
}

static struct machine_place place(uint8_t bus, size_t bridge, int numa, int package)
{
	return (struct machine_place){
		.bdf = { 0, bus, 0, 0 }, .bridge = bridge, .numa = numa, .package = package
	};
}

static struct machine_gpu *add_gpu(uint8_t bus, size_t bridge, int numa, int package)
{
	struct machine_gpu *g = &gpus[machine.gpu_count++];

	*g = (struct machine_gpu){ .place = place(bus, bridge, numa, package),
				   .vendor = VENDOR_NVIDIA,
				   .index = -1,
				   .minor = (int)machine.gpu_count - 1 };
	return g;
}

/* Ports have to be added in the order of their names, as a machine has them. */
static struct machine_port *add_port(const char *device, uint8_t bus, size_t bridge, int numa,
				     int package)
{
	struct machine_port *p = &ports[machine.port_count++];

	*p = (struct machine_port){ .place = place(bus, bridge, numa, package),
				    .placed = true,
				    .vendor = 0x15b3,
				    .device = (char *)device,
				    .port = 1,
				    .guid = 0x1000u + bus,
				    .state = LINK_ACTIVE,
				    .layer = (char *)"InfiniBand",
				    .lid = 7 };
	return p;
}

static void choose(void)
{
	struct err err = { "" };

	map_free(map);
	map = choose_map(&machine, &filter, "n1", &err);
	if (!map)
		fail_msg("%s", err.text);
}

/* "mlx5_0 mlx5_1" of a GPU, "" for none. */
static const char *near(size_t gpu)
{
	static char text[256];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < map->gpus[gpu].near_count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 map->ports[map->gpus[gpu].near[i].port].device);
	return text;
}

static enum map_class class_of(size_t gpu)
{
	assert_true(map->gpus[gpu].near_count > 0);
	return map->gpus[gpu].near[0].class;
}

/* One port of each rank; the best is taken away again and again. */
static void each_rank_beats_the_next(void **state)
{
	static const struct {
		const char *device;
		enum map_class class;
	} order[] = { { "pix", MAP_PIX },   { "pxb1", MAP_PXB },  { "pxb2", MAP_PXB },
		      { "phb", MAP_PHB },   { "node", MAP_NODE }, { "package", MAP_SYS },
		      { "system", MAP_SYS } };
	size_t host = add_bridge(MACHINE_NONE), root = add_bridge(host), up = add_bridge(root);
	size_t down = add_bridge(up), down2 = add_bridge(up), up2 = add_bridge(down2);
	size_t far = add_bridge(up2), farther = add_bridge(add_bridge(far));
	size_t other_root = add_bridge(host), other = add_bridge(MACHINE_NONE);

	(void)state;
	add_gpu(1, down, 0, 0);
	add_port("node", 9, other, 0, 0);
	add_port("package", 8, other, 1, 0);
	add_port("phb", 7, other_root, 0, 0);
	add_port("pix", 6, down2, 0, 0);
	add_port("pxb1", 5, far, 0, 0);
	add_port("pxb2", 4, farther, 0, 0);
	add_port("system", 3, other, 2, 1);
	add_port("unknown", 2, MACHINE_NONE, -1, -1);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		choose();
		assert_string_equal(near(0), order[i].device);
		assert_int_equal(class_of(0), order[i].class);
		for (size_t k = 0; k < machine.port_count; k++)
			if (!strcmp(ports[k].device, order[i].device))
				ports[k].state = LINK_DOWN;
	}
	/* what is left is at an unknown distance, but there is no other */
	choose();
	assert_string_equal(near(0), "unknown");
	assert_int_equal(class_of(0), MAP_UNKNOWN);
}

static void unknown_numa_nodes_are_not_the_same(void **state)
{
	(void)state;
	add_gpu(1, add_bridge(MACHINE_NONE), -1, -1);
	add_port("mlx5_0", 2, add_bridge(MACHINE_NONE), -1, -1);
	add_port("mlx5_1", 3, add_bridge(MACHINE_NONE), -1, -1);
	choose();
	assert_string_equal(near(0), "");
	assert_string_equal(map->gpus[0].reason, "the distance of all 2 usable ports is unknown");
}

static void known_and_far_beats_unknown(void **state)
{
	(void)state;
	add_gpu(1, MACHINE_NONE, 0, -1);
	add_port("mlx5_0", 2, MACHINE_NONE, -1, -1);
	add_port("mlx5_1", 3, MACHINE_NONE, 1, -1);
	choose();
	assert_string_equal(near(0), "mlx5_1");
	assert_int_equal(class_of(0), MAP_SYS);
}

static void two_functions_of_one_slot_are_pix(void **state)
{
	size_t root = add_bridge(add_bridge(MACHINE_NONE));

	(void)state;
	add_gpu(1, root, 0, 0);
	add_port("mlx5_0", 1, root, 0, 0);
	choose();
	assert_int_equal(class_of(0), MAP_PIX);
}

/* The near port is down: the far one is the answer, and the reason says nothing of the near one. */
static void ports_are_filtered_before_they_are_ranked(void **state)
{
	size_t root = add_bridge(add_bridge(MACHINE_NONE));

	(void)state;
	add_gpu(1, root, 0, 0);
	add_port("mlx5_0", 2, root, 0, 0)->state = LINK_DOWN;
	add_port("mlx5_1", 3, add_bridge(MACHINE_NONE), 1, 1);
	choose();
	assert_string_equal(near(0), "mlx5_1");
	assert_string_equal(map->ports[0].ignored, "its state is down");
	assert_null(map->ports[1].ignored);
	assert_string_equal(map->gpus[0].reason, "nearest: 1 port on another NUMA node");
}

static const char *ignored(size_t port)
{
	choose();
	return map->ports[port].ignored ? map->ports[port].ignored : "";
}

static void every_ignored_port_has_its_reason(void **state)
{
	struct machine_port *p = add_port("mlx5_0", 2, MACHINE_NONE, 0, 0);
	char *name = (char *)"mlx5_0";

	(void)state;
	assert_string_equal(ignored(0), "");
	p->state = LINK_INIT;
	assert_string_equal(ignored(0), "its state is init");
	p->state = LINK_UNKNOWN;
	assert_string_equal(ignored(0), "its state can't be read");
	machine.live = false; /* a recording that does not say so is no witness against it */
	assert_string_equal(ignored(0), "");
	p->state = LINK_ACTIVE;
	p->lid = 0xffff;
	assert_non_null(strstr(ignored(0), "no LID"));
	p->lid = 0;
	p->layer = NULL;
	assert_non_null(strstr(ignored(0), "no LID"));
	p->vendor = VENDOR_AMAZON; /* EFA has no LIDs */
	assert_string_equal(ignored(0), "");
	p->layer = (char *)"Ethernet";
	assert_non_null(strstr(ignored(0), "ethernet = no"));
	filter.ethernet = true;
	assert_string_equal(ignored(0), "");
	p->virtual_function = true;
	p->physical = (struct machine_bdf){ 1, 0x17, 0, 0 };
	assert_string_equal(ignored(0), "a virtual function of 0001:17:00.0");
	filter.allow = &name;
	filter.allow_count = 1;
	assert_string_equal(ignored(0), ""); /* it is asked for */
}

static void lists_name_ports_in_many_ways(void **state)
{
	static const char *const names[] = { "mlx5_1",	     "mlx5_1:1",
					     "0000:17:00.0", "0x0000000000001017",
					     "mlx?_1",	     "mlx5_[1-9]",
					     "15b3:a2dc",    "15B3:A2DC" };
	static const char *const others[] = { "mlx5_",
					      "mlx5_1:2",
					      "mlx5_1:",
					      "0000:18:00.0",
					      "0x0000000000001018",
					      "0x0000000000000000",
					      "mlx5_2*",
					      "15b3:a2dd",
					      "15b3:",
					      "0000:0000",
					      "" };
	char *word;

	(void)state;
	add_port("mlx5_1", 0x17, MACHINE_NONE, 0, 0)->model = 0xa2dc;
	add_port("mlx5_10", 0x18, MACHINE_NONE, 0, 0)->guid = 0;
	ports[1].vendor = 0; /* of no PCI card */
	filter.deny = &word;
	filter.deny_count = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		word = (char *)names[i];
		choose();
		assert_non_null(map->ports[0].ignored);
		assert_non_null(strstr(map->ports[0].ignored, word));
		assert_null(map->ports[1].ignored); /* a name is a name, no prefix */
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		word = (char *)others[i];
		choose();
		assert_null(map->ports[0].ignored);
	}
	filter = (struct choose_filter){ .allow = &word, .allow_count = 1 };
	word = (char *)"mlx5_10";
	choose();
	assert_string_equal(map->ports[0].ignored, "not in port_allow");
	assert_null(map->ports[1].ignored);
}

/* gpu_count GPUs and port_count ports of their own cards on one NUMA node, PCI order = name order.
 */
static void one_node(size_t gpu_count, size_t port_count)
{
	static const char *const names[] = { "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3",
					     "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7" };

	for (size_t i = 0; i < gpu_count; i++)
		add_gpu((uint8_t)(0x10 + i), MACHINE_NONE, 0, 0);
	for (size_t i = 0; i < port_count; i++)
		add_port(names[i], (uint8_t)(0x80 + i), MACHINE_NONE, 0, 0);
	choose();
}

/* One port at each distance but the nearest: all that were not taken are told. */
static void reasons_tell_of_the_others(void **state)
{
	size_t host = add_bridge(MACHINE_NONE), root = add_bridge(host);

	(void)state;
	add_gpu(1, root, 0, 0);
	add_port("mlx5_0", 2, root, 0, 0);
	add_port("mlx5_1", 3, add_bridge(host), 0, 0);
	add_port("mlx5_2", 4, MACHINE_NONE, 0, 0);
	add_port("mlx5_3", 5, MACHINE_NONE, 1, 0);
	add_port("mlx5_4", 6, MACHINE_NONE, 2, 1);
	add_port("mlx5_5", 7, MACHINE_NONE, 2, 1);
	add_port("mlx5_6", 8, MACHINE_NONE, -1, -1);
	add_port("mlx5_7", 9, root, 0, 0)->state = LINK_DOWN;
	choose();
	assert_string_equal(
		map->gpus[0].reason,
		"nearest: 1 port behind the same PCIe switch; farther: 1 on the same "
		"PCIe host bridge, 1 on the same NUMA node, 1 in the same package, 2 on "
		"another NUMA node, 1 at an unknown distance");
}

static void equal_numbers_are_paired(void **state)
{
	(void)state;
	one_node(4, 4);
	assert_string_equal(near(0), "mlx5_0");
	assert_string_equal(near(1), "mlx5_1");
	assert_string_equal(near(3), "mlx5_3");
	assert_int_equal(map->gpus[0].near[0].tie, 4);
	assert_string_equal(map->gpus[0].reason,
			    "nearest: 1 of 4 ports on the same NUMA node, dealt out to 4 GPUs");
}

static void more_ports_than_gpus(void **state)
{
	(void)state;
	one_node(2, 5);
	assert_string_equal(near(0), "mlx5_0 mlx5_1");
	assert_string_equal(near(1), "mlx5_2 mlx5_3 mlx5_4");
}

static void more_gpus_than_ports(void **state)
{
	(void)state;
	one_node(5, 2);
	assert_string_equal(near(0), "mlx5_0");
	assert_string_equal(near(2), "mlx5_0");
	assert_string_equal(near(3), "mlx5_1");
	assert_string_equal(near(4), "mlx5_1");
	assert_int_equal(map->gpus[4].near[0].tie, 5);
}

static void one_port_for_all(void **state)
{
	(void)state;
	one_node(3, 1);
	assert_string_equal(near(2), "mlx5_0");
	assert_string_equal(map->gpus[2].reason,
			    "nearest: 1 port on the same NUMA node, shared by 3 GPUs");
}

static void ports_are_dealt_by_address_not_by_name(void **state)
{
	(void)state;
	add_gpu(0x10, MACHINE_NONE, 0, 0);
	add_gpu(0x11, MACHINE_NONE, 0, 0);
	add_port("mlx5_0", 0x90, MACHINE_NONE, 0, 0);
	add_port("mlx5_1", 0x80, MACHINE_NONE, 0, 0);
	choose();
	assert_string_equal(near(0), "mlx5_1");
	assert_string_equal(near(1), "mlx5_0");
}

/* Two functions of a card of their own for each GPU: they stay together (BM.GPU.H100.8). */
static void ports_of_a_card_stay_together(void **state)
{
	static const char *const names[] = { "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3" };

	(void)state;
	add_gpu(0x10, MACHINE_NONE, 0, 0);
	add_gpu(0x11, MACHINE_NONE, 0, 0);
	for (size_t i = 0; i < 4; i++) {
		struct machine_port *p =
			add_port(names[i], (uint8_t)(0x80 + i / 2), MACHINE_NONE, 0, 0);
		p->place.bdf.function = i % 2;
		p->system_guid = 5 + i / 2;
	}
	choose();
	assert_string_equal(near(0), "mlx5_0 mlx5_1");
	assert_string_equal(near(1), "mlx5_2 mlx5_3");
}

/* One card with a function for each of two GPUs (AC922): it is shared out by function. */
static void a_shared_card_is_dealt_by_port(void **state)
{
	(void)state;
	add_gpu(0x10, MACHINE_NONE, 0, 0);
	add_gpu(0x11, MACHINE_NONE, 0, 0);
	add_port("mlx5_0", 0x80, MACHINE_NONE, 0, 0)->system_guid = 5;
	add_port("mlx5_1", 0x80, MACHINE_NONE, 0, 0)->system_guid = 5;
	ports[1].place.bdf.function = 1;
	choose();
	assert_string_equal(near(0), "mlx5_0");
	assert_string_equal(near(1), "mlx5_1");
}

/* What one GPU gets does not depend on which other GPUs have another best set. */
static void groups_are_dealt_apart(void **state)
{
	size_t left = add_bridge(add_bridge(MACHINE_NONE)),
	       right = add_bridge(add_bridge(MACHINE_NONE));

	(void)state;
	add_gpu(0x10, left, 0, 0);
	add_gpu(0x11, right, 0, 0);
	add_gpu(0x12, left, 0, 0);
	add_port("mlx5_0", 0x80, left, 0, 0);
	add_port("mlx5_1", 0x81, left, 0, 0);
	add_port("mlx5_2", 0x82, right, 0, 0);
	choose();
	assert_string_equal(near(0), "mlx5_0");
	assert_string_equal(near(1), "mlx5_2");
	assert_string_equal(near(2), "mlx5_1");
	assert_int_equal(map->gpus[0].near[0].tie, 2);
	assert_int_equal(map->gpus[1].near[0].tie, 1);
}

static void nothing_to_choose_says_why(void **state)
{
	(void)state;
	add_gpu(1, MACHINE_NONE, 0, 0);
	choose();
	assert_string_equal(map->gpus[0].reason, "no HCA port was found on this node");
	add_port("mlx5_0", 2, MACHINE_NONE, 0, 0)->state = LINK_DOWN;
	choose();
	assert_string_equal(map->gpus[0].reason, "the only HCA port is ignored");
	add_port("mlx5_1", 3, MACHINE_NONE, 0, 0)->state = LINK_DOWN;
	choose();
	assert_string_equal(map->gpus[0].reason, "all 2 HCA ports are ignored");
	machine.gpu_count = 0;
	choose();
	assert_int_equal(map->gpu_count, 0);
	assert_int_equal(map->port_count, 2);
}

static void gres_follows_minor_or_pci(void **state)
{
	(void)state;
	add_gpu(1, MACHINE_NONE, 0, 0)->minor = 3;
	add_gpu(2, MACHINE_NONE, 0, 0)->minor = -1;
	add_gpu(3, MACHINE_NONE, 0, 0)->minor = 1;
	choose();
	assert_int_equal(map->gpus[0].gres, 1);
	assert_int_equal(map->gpus[1].gres, -1);
	assert_int_equal(map->gpus[2].gres, 0);
	assert_int_equal(map->gpus[1].minor, -1);
	assert_int_equal(map->gpus[2].index, 2);
	filter.gres = GRES_PCI;
	choose();
	assert_int_equal(map->gpus[0].gres, 0);
	assert_int_equal(map->gpus[1].gres, -1);
	assert_int_equal(map->gpus[2].gres, 1);
	gpus[0].minor = gpus[2].minor = -1;
	choose();
	assert_int_equal(map->gpus[2].gres, 2);
	filter.gres = GRES_MINOR;
	choose();
	assert_int_equal(map->gpus[2].gres, -1);
}

static const char *tree(size_t gpu)
{
	return map->gpus[gpu].tree ? map->gpus[gpu].tree : "";
}

/* host - root port - switch - two ports; beside it a root port alone */
static void gpus_know_their_switch_tree(void **state)
{
	size_t host = add_bridge(MACHINE_NONE), root = add_bridge(host), up = add_bridge(root);

	(void)state;
	bridges[up].placed = true;
	bridges[up].bdf = (struct machine_bdf){ 0, 2, 0, 0 };
	add_gpu(0x10, add_bridge(up), 0, 0);
	add_gpu(0x11, add_bridge(up), 0, 0);
	add_gpu(0x20, add_bridge(host), 0, 0);
	add_gpu(0x30, MACHINE_NONE, 0, 0);
	choose();
	assert_string_equal(tree(0), "0000:02:00.0");
	assert_string_equal(tree(1), "0000:02:00.0");
	assert_string_equal(tree(2), "0000:20:00.0");
	assert_string_equal(tree(3), "");
	bridges[up].placed = false;
	choose();
	assert_string_equal(tree(0), "");
}

/* A bridge that is its own parent can't come from our readers; it must not hang us either. */
static void a_loop_of_bridges_ends(void **state)
{
	size_t a = add_bridge(MACHINE_NONE), b = add_bridge(a);

	(void)state;
	bridges[a] = (struct machine_bridge){ .parent = b };
	add_gpu(1, a, 0, 0);
	add_port("mlx5_0", 2, add_bridge(MACHINE_NONE), 0, 0);
	choose();
	assert_int_equal(class_of(0), MAP_NODE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_rank_beats_the_next),
		TEST(unknown_numa_nodes_are_not_the_same),
		TEST(known_and_far_beats_unknown),
		TEST(two_functions_of_one_slot_are_pix),
		TEST(ports_are_filtered_before_they_are_ranked),
		TEST(every_ignored_port_has_its_reason),
		TEST(lists_name_ports_in_many_ways),
		TEST(reasons_tell_of_the_others),
		TEST(equal_numbers_are_paired),
		TEST(more_ports_than_gpus),
		TEST(more_gpus_than_ports),
		TEST(one_port_for_all),
		TEST(ports_are_dealt_by_address_not_by_name),
		TEST(ports_of_a_card_stay_together),
		TEST(a_shared_card_is_dealt_by_port),
		TEST(groups_are_dealt_apart),
		TEST(nothing_to_choose_says_why),
		TEST(gres_follows_minor_or_pci),
		TEST(gpus_know_their_switch_tree),
		TEST(a_loop_of_bridges_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
