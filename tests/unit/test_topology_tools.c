/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_topology_tools.c - what sfabric-topology makes of a known fabric beside topology.conf: a
 * picture, hints, and events of its ports.
 *
 * Fabrics are built here as they stand in fabric.json, without a discovery: two or three levels,
 * of any size.
 */
#include "fabric.h"
#include "graph.h"
#include "hints.h"
#include "hints_gres.h"
#include "picture.h"
#include "unit.h"
#include "watch.h"

static char *name(const char *fmt, size_t a, size_t b)
{
	char *text = NULL;

	if (fmt[0] == '%')
		text = io_format("pod%zu-%s%zu", a, fmt + 1, b);
	else
		text = io_format("%s%zu", fmt, a);
	assert_non_null(text);
	return text;
}

static struct fabric_wire good_wire(void)
{
	return (struct fabric_wire){ .width = 4,
				     .speed_bps = UINT64_C(400000000000),
				     .state = LINK_ACTIVE };
}

/* Switches: all leaves, pod by pod, then spines, then cores. */
struct plan {
	size_t pods, leaves, spines, cores, hosts; /* a pod: leaves and spines; a leaf: hosts */
};

static size_t add_switch(struct fabric *f, char *called, int level)
{
	struct fabric_switch *sw = &f->switches[f->switch_count];

	*sw = (struct fabric_switch){
		.guid = 0x100 + f->switch_count, .name = called, .level = level, .plane = -1
	};
	return f->switch_count++;
}

static void add_link(struct fabric *f, size_t low, size_t high)
{
	struct fabric_link *l = &f->links[f->link_count++];

	*l = (struct fabric_link){ low, high, (int)high + 1, (int)low + 1, good_wire() };
}

static void add_host(struct fabric *f, size_t unit, size_t leaf, size_t number)
{
	struct fabric_port *port = &f->ports[f->port_count++];

	*port = (struct fabric_port){ .guid = 0x10000 + f->port_count,
				      .node_guid = 0x10000 + f->port_count,
				      .host = f->host_count,
				      .device = strdup("mlx5_0"),
				      .port = 1,
				      .sw = leaf,
				      .sw_port = (int)number + 100,
				      .rail = -1,
				      .wire = good_wire() };
	f->hosts[f->host_count].unit = unit;
	f->hosts[f->host_count].name = io_format("n%04zu", f->host_count);
	f->host_count++;
}

static void add_pod(struct fabric *f, const struct plan *plan, size_t pod)
{
	f->pods[pod] = (struct fabric_pod){ name("pod", pod, 0), 0, FABRIC_NONE };
	f->pod_count++;
	for (size_t i = 0; i < plan->leaves; i++) {
		size_t leaf = add_switch(f, name("%leaf", pod, i), 0);
		struct fabric_unit *unit = &f->units[f->unit_count++];

		*unit = (struct fabric_unit){ strdup(f->switches[leaf].name),
					      malloc(sizeof(size_t)), 1, pod };
		unit->leaves[0] = leaf;
		for (size_t h = 0; h < plan->hosts; h++)
			add_host(f, f->unit_count - 1, leaf, h);
	}
}

static void join(struct fabric *f, const struct plan *plan)
{
	size_t spines = plan->pods * plan->leaves;
	size_t cores = spines + plan->pods * plan->spines;

	for (size_t i = 0; i < plan->pods * plan->spines; i++)
		add_switch(f, name("%spine", i / plan->spines, i % plan->spines), 1);
	for (size_t i = 0; i < plan->cores; i++)
		add_switch(f, name("core", i, 0), 2);
	for (size_t i = 0; i < plan->pods * plan->spines; i++) {
		for (size_t j = 0; j < plan->leaves; j++)
			add_link(f, i / plan->spines * plan->leaves + j, spines + i);
		for (size_t j = 0; j < plan->cores; j++)
			add_link(f, spines + i, cores + j);
	}
}

static struct fabric *make_fabric(struct plan plan)
{
	struct fabric *f = calloc(1, sizeof(*f));
	size_t switches = plan.pods * (plan.leaves + plan.spines) + plan.cores;
	size_t hosts = plan.pods * plan.leaves * plan.hosts;

	f->how = strdup("file");
	f->source = strdup("test");
	f->switches = calloc(switches, sizeof(*f->switches));
	f->links = calloc(switches * switches, sizeof(*f->links));
	f->ports = calloc(hosts, sizeof(*f->ports));
	f->hosts = calloc(hosts, sizeof(*f->hosts));
	f->units = calloc(plan.pods * plan.leaves, sizeof(*f->units));
	f->pods = calloc(plan.pods, sizeof(*f->pods));
	f->islands = calloc(1, sizeof(*f->islands));
	f->islands[0].name = strdup("fabric");
	f->island_count = 1;
	for (size_t i = 0; i < plan.pods; i++)
		add_pod(f, &plan, i);
	join(f, &plan);
	return f;
}

/* Pictures. */

static char *draw(const struct fabric *f, bool dot)
{
	struct err err = { "" };
	struct picture *p = picture_make(f, &err);
	char *text;

	assert_non_null(p);
	text = dot ? graph_dot(p, "a \"title\" <b>\\", &err)
		   : graph_html(p, "a \"title\" <b>\\", &err);
	assert_non_null(text);
	picture_free(p);
	return text;
}

static void test_golden_dot(void **state)
{
	size_t len, want_len;
	char *json = test_data("topology/graph.json", &len);
	char *want = test_data("topology/graph.dot", &want_len), *is;
	struct err err = { "" };
	struct fabric *f = fabric_parse(json, len, "graph.json", &err);
	struct picture *p;

	(void)state;
	assert_non_null(f);
	p = picture_make(f, &err);
	assert_non_null(p);
	is = graph_dot(p, "fabric file two-levels.topo", &err);
	assert_string_equal(is, want);
	picture_free(p);
	fabric_free(f);
	free(is);
	free(want);
	free(json);
}

static size_t count_kind(const struct picture *p, enum picture_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < p->box_count; i++)
		count += p->boxes[i].kind == kind;
	return count;
}

static size_t count_used(const struct picture *p)
{
	size_t used = 0;

	for (size_t i = 0; i < p->frame_count; i++)
		used += p->frames[i].used;
	return used;
}

static void test_few_switches_stand_alone(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 1, 2, 2, 0, 5 });
	struct picture *p = picture_make(f, NULL);

	(void)state;
	assert_int_equal(count_kind(p, PICTURE_UNIT), 2);
	assert_int_equal(count_kind(p, PICTURE_SWITCHES), 2);
	assert_int_equal(p->edge_count, 4);
	assert_int_equal(p->fault_count, 0);
	assert_int_equal(count_used(p), 1); /* an island of one pod is one frame */
	assert_string_equal(p->boxes[0].names, "n[0000-0004]");
	assert_string_equal(p->boxes[0].wires, "5 x 400G");
	picture_free(p);
	fabric_free(f);
}

/* 5 120 hosts: a box a unit, one for the spines of a pod, one for the cores. */
static void test_large_fabric_is_folded(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 10, 16, 8, 32, 32 });
	struct picture *p = picture_make(f, NULL);

	(void)state;
	assert_int_equal(f->host_count, 5120);
	assert_int_equal(count_kind(p, PICTURE_UNIT), 160);
	assert_int_equal(count_kind(p, PICTURE_SWITCHES), 11);
	assert_int_equal(p->edge_count, 170);
	assert_int_equal(count_used(p), 11);
	for (size_t i = 0; i < p->edge_count; i++)
		if (p->boxes[p->edges[i].lower].kind == PICTURE_UNIT) {
			assert_string_equal(p->edges[i].wires, "8 x 400G");
			assert_int_equal(p->boxes[p->edges[i].lower].frame,
					 p->boxes[p->edges[i].upper].frame);
		}
	picture_free(p);
	fabric_free(f);
}

static void test_faults_are_told(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 1, 2, 2, 0, 5 });
	struct picture *p;

	(void)state;
	f->links[0].wire = (struct fabric_wire){ .width = 1,
						 .speed_bps = UINT64_C(25000000000),
						 .state = LINK_ACTIVE,
						 .degraded = true };
	f->ports[7].wire.state = LINK_INIT;
	f->ports[9].sw = FABRIC_NONE; /* a dark HCA in unit 1 */
	p = picture_make(f, NULL);
	assert_int_equal(p->fault_count, 3);
	assert_string_equal(p->faults[0].text,
			    "pod0-leaf0[3] - pod0-spine0[1]: 25G (1x), should be "
			    "400G (4x)");
	assert_int_equal(p->faults[0].box, 0);
	assert_string_equal(p->faults[1].text,
			    "n0007 mlx5_0:1 - pod0-leaf1[102]: is init, should be active");
	assert_string_equal(p->faults[2].text, "n0009: no link to pod0-leaf1");
	assert_true(p->faults[2].missing);
	assert_int_equal(p->boxes[1].faults, 2);
	picture_free(p);
	fabric_free(f);
}

/* Without a subnet manager all links are in init: that is no fault of a link. */
static void test_a_fabric_without_manager_is_whole(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 1, 2, 2, 0, 5 });
	struct picture *p;

	(void)state;
	for (size_t i = 0; i < f->link_count; i++)
		f->links[i].wire.state = LINK_INIT;
	for (size_t i = 0; i < f->port_count; i++)
		f->ports[i].wire.state = LINK_INIT;
	p = picture_make(f, NULL);
	assert_int_equal(p->fault_count, 0);
	picture_free(p);
	fabric_free(f);
}

static void test_hostile_texts(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 1, 2, 2, 0, 5 });
	char *dot, *html;

	(void)state;
	free(f->ports[0].device);
	f->ports[0].device = strdup("</title><script>alert(1)</script>\"]; evil [\033[2J&lt;\\");
	f->ports[0].wire.degraded = true;
	f->missing = calloc(1, sizeof(*f->missing));
	f->missing[0] = strdup("'><img src=x onerror=alert(2)>");
	f->missing_count = 1;
	dot = draw(f, true);
	html = draw(f, false);
	assert_null(strstr(html, "<script>alert"));
	assert_null(strstr(html, "<img"));
	assert_null(strstr(html, "<b>"));
	assert_null(strchr(html, '\033'));
	assert_non_null(strstr(html, "&#60;script&#62;alert(1)"));
	assert_non_null(strstr(dot, "\\\"]; evil [?[2J&amp;lt;\\\\:1"));
	assert_non_null(strstr(dot, "label=\"a \\\"title\\\" <b>\\\\\""));
	free(dot);
	free(html);
	fabric_free(f);
}

/* One file that asks for nothing else. */
static void test_html_is_alone(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 3, 4, 2, 2, 4 });
	char *html = draw(f, false), *again = draw(f, false);

	(void)state;
	assert_string_equal(html, again);
	assert_null(strstr(html, "src="));
	assert_null(strstr(html, "url("));
	assert_null(strstr(html, "href=\"h"));
	assert_non_null(strstr(html, "default-src 'none'"));
	assert_non_null(strstr(html, "n0047"));
	free(html);
	free(again);
	fabric_free(f);
}

/* Hints. */

static const struct hint_nodes all_hosts = { NULL, 0 };

static void assert_text(char *is, const char *want)
{
	assert_non_null(is);
	assert_string_equal(is, want);
	free(is);
}

static void test_features(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 2, 1, 1, 1, 2 });
	char *left_out = NULL;

	(void)state;
	f->ports[1].rail = 3;
	f->ports[2].rail = 1;
	f->ports[3].rail = 1;
	f->ports[3].wire.state = LINK_DOWN;
	f->switches[1].plane = 7;
	assert_text(
		hints_features(f, all_hosts, FEATURES_SCONTROL, &left_out, NULL),
		"# Lasts until slurmctld reads slurm.conf again, and replaces the features that "
		"nodes have:\n# add those to the words here.\n"
		"scontrol update NodeName='n0000' AvailableFeatures=unit-pod0-leaf0,pod-pod0\n"
		"scontrol update NodeName='n0001' "
		"AvailableFeatures=unit-pod0-leaf0,pod-pod0,rail-3\n"
		"scontrol update NodeName='n0003' AvailableFeatures=unit-pod1-leaf0,pod-pod1\n"
		"scontrol update NodeName='n0002' "
		"AvailableFeatures=unit-pod1-leaf0,pod-pod1,rail-1,plane-7\n");
	assert_string_equal(left_out, "");
	free(left_out);
	fabric_free(f);
}

/* Names that say nothing of the wires: neighbours in the list are neighbours in the fabric. */
static void test_ranks_follow_the_wires(void **state)
{
	struct wanted nodes[] = { { (char *)"x", (char *)"nowhere" },
				  { (char *)"a", (char *)"n0003" },
				  { (char *)"b", (char *)"n0000" },
				  { (char *)"c", (char *)"n0002" },
				  { (char *)"d", (char *)"n0001" } };
	const struct hint_nodes wanted = { nodes, 5 };
	struct fabric *f = make_fabric((struct plan){ 2, 2, 1, 1, 1 });
	struct rank_options how = { RANKS_LIST, 1, 1 };
	char *left_out = NULL;

	(void)state;
	assert_text(hints_ranks(f, wanted, &how, &left_out, NULL), "b,d,c,a,x\n");
	assert_string_equal(left_out, "x");
	free(left_out);
	how = (struct rank_options){ RANKS_HOSTFILE, 2, 1 };
	assert_text(hints_ranks(f, (struct hint_nodes){ nodes + 1, 2 }, &how, &left_out, NULL),
		    "b\nb\na\na\n");
	free(left_out);
	how = (struct rank_options){ RANKS_RANKFILE, 2, 4 };
	assert_text(hints_ranks(f, (struct hint_nodes){ nodes + 1, 2 }, &how, &left_out, NULL),
		    "rank 0=b slot=0-3\nrank 1=b slot=4-7\nrank 2=a slot=0-3\nrank 3=a slot=4-7\n");
	free(left_out);
	fabric_free(f);
}

static void test_switches(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 2, 10, 1, 1, 4 });
	char *left_out = NULL, *text = hints_switches(f, all_hosts, 90, &left_out, NULL);

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "\n      1       4   --switches=1@1:30\n"
				     "      5       8   --switches=2@1:30\n"));
	assert_non_null(strstr(text, "     61      64   --switches=16@1:30\n"
				     "     65      80   --switches=20@1:30\n"));
	assert_null(strstr(text, "81"));
	free(text);
	free(left_out);
	fabric_free(f);
}

static void test_weights_never_against_topology(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 2, 2, 1, 1, 2 });
	struct fabric_island *islands = calloc(2, sizeof(*islands));
	char *left_out = NULL, *text = hints_weights(f, all_hosts, false, &left_out, NULL);

	(void)state;
	assert_null(strstr(text, "NodeName"));
	free(text);
	free(left_out);
	islands[0] = f->islands[0];
	islands[1].name = strdup("small");
	free(f->islands);
	f->islands = islands;
	f->island_count = 2;
	f->pods[1].island = 1;
	f->hosts[7].unit = FABRIC_NONE;
	text = hints_weights(f, all_hosts, false, &left_out, NULL);
	assert_non_null(strstr(text, "NodeName=n[0004-0006] Weight=1\n"
				     "NodeName=n[0000-0003] Weight=2\n"));
	assert_string_equal(left_out, "n0007");
	free(text);
	free(left_out);
	fabric_free(f);
}

static void test_no_hints_without_hosts(void **state)
{
	struct wanted stranger = { (char *)"x", (char *)"x" };
	struct fabric *f = make_fabric((struct plan){ 1, 1, 1, 0, 1 });
	struct err err = { "" };
	char *left_out = NULL;

	(void)state;
	assert_null(hints_features(f, (struct hint_nodes){ &stranger, 1 }, FEATURES_CONF, &left_out,
				   &err));
	assert_int_equal(errno, ENODATA);
	assert_string_equal(left_out, "x");
	free(left_out);
	fabric_free(f);
}

static void test_gres(void **state)
{
	struct map_gpu gpus[] = { { .minor = 1, .numa = 0, .bdf = (char *)"0000:01:00.0" },
				  { .minor = 0, .numa = 3, .bdf = (char *)"0000:02:00.0" },
				  { .minor = 2, .numa = 3, .bdf = (char *)"0000:03:00.0" },
				  { .minor = 3, .numa = -1, .bdf = (char *)"0000:04:00.0" } };
	struct map_gpu other = { .minor = -1, .numa = 0, .bdf = (char *)"0000:01:00.0" };
	struct map first = { .host = (char *)"n1", .gpus = gpus, .gpu_count = 4 };
	struct map second = { .host = (char *)"n2", .gpus = gpus, .gpu_count = 4 };
	struct map third = { .host = (char *)"n3", .gpus = &other, .gpu_count = 1 };
	const struct map *maps[] = { &first, &second, &third };
	struct gres_layout layout = { 0 };
	char *text;

	(void)state;
	assert_true(gres_layout_parse("2:48:2", &layout));
	text = hints_gres(maps, 3, &layout, NULL);
	assert_non_null(strstr(text, "\n# n3: the device file of a GPU is not known\n"
				     "NodeName=n[1-2] Name=gpu File=/dev/nvidia1 Cores=0-47\n"
				     "NodeName=n[1-2] Name=gpu File=/dev/nvidia[0,2] Cores=48-95\n"
				     "NodeName=n[1-2] Name=gpu File=/dev/nvidia3\n"));
	free(text);
	layout.links = 18;
	text = hints_gres(maps, 1, &layout, NULL);
	assert_non_null(strstr(text, "NodeName=n1 Name=gpu File=/dev/nvidia0 Cores=48-95 "
				     "Links=18,-1,18,18\n"));
	free(text);
	assert_false(gres_layout_parse("2", &layout));
	assert_false(gres_layout_parse("2:", &layout));
	assert_false(gres_layout_parse("2:0", &layout));
	assert_false(gres_layout_parse("2:4:1:1", &layout));
}

/* Watch. */

#define SECOND INT64_C(1000000000)
#define START INT64_C(1700000000000000000)

static struct watch_reading reading(uint64_t sw, int port, int64_t second, uint32_t symbols)
{
	struct watch_reading r = { .sw = sw,
				   .port = port,
				   .read = true,
				   .time_ns = START + second * SECOND,
				   .mono_ns = (second + 1) * SECOND,
				   .half_ns = 500000 };

	r.value[COUNTER_SYMBOL_ERRORS] = symbols;
	return r;
}

/* One port, one round; the events' count, the first one in *event. */
static size_t take_one(struct watch *w, struct watch_reading r, struct watch_event *event)
{
	struct watch_event *events;
	size_t count;

	assert_int_equal(watch_take(w, &r, 1, 1000000, &events, &count), 0);
	if (count)
		*event = events[0];
	free(events);
	return count;
}

static void test_watch_deltas(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 1, 2, 1, 0, 1 });
	struct watch *w = watch_new(f);
	struct watch_event e;

	(void)state;
	assert_int_equal(take_one(w, reading(0x100, 100, 0, 5), &e), 0); /* where it stands */
	assert_int_equal(take_one(w, reading(0x100, 100, 60, 5), &e), 0);
	assert_int_equal(take_one(w, reading(0x100, 100, 120, 12), &e), 1);
	assert_int_equal(e.delta, 7);
	assert_int_equal(e.interval_ns, 60 * SECOND);
	assert_int_equal(e.error_ns, 1500000);
	assert_text(watch_event_text(w, &e),
		    "2023-11-14T22:15:20.000Z pod0-leaf0[100] symbol_errors +7 in 60.000 s (clock "
		    "+-1.500 ms), link to n0000 mlx5_0:1");
	watch_free(w);
	fabric_free(f);
}

/* A link between switches is told with the hosts whose way it is: those below its lower end. */
static void test_watch_ways(void **state)
{
	static const char *const below[] = { ", a way of n[0000-0001]", ", a way of n[0002-0003]",
					     ", a way of n[0004-0005]", ", a way of n[0006-0007]",
					     ", a way of n[0000-0003]", ", a way of n[0004-0007]" };
	struct fabric *f = make_fabric((struct plan){ 2, 2, 1, 1, 2 });
	struct watch *w = watch_new(f);
	struct watch_event e;

	(void)state;
	assert_int_equal(f->link_count, 6);
	for (size_t i = 0; i < f->link_count; i++) {
		const struct fabric_link *l = &f->links[i];
		char *text;
		take_one(w, reading(f->switches[l->b].guid, l->b_port, 0, 0), &e);
		take_one(w, reading(f->switches[l->b].guid, l->b_port, 60, 1), &e);
		text = watch_event_text(w, &e);
		assert_string_equal(strstr(text, ", a way of"), below[l->a]);
		free(text);
		f->switches[l->a].level++; /* as in a ring */
		text = watch_event_text(w, &e);
		assert_null(strstr(text, "a way of"));
		free(text);
		f->switches[l->a].level--;
	}
	watch_free(w);
	fabric_free(f);
}

static void test_watch_resets_and_ends(void **state)
{
	struct watch *w = watch_new(NULL);
	struct watch_reading unread = { .sw = 1, .port = 2 };
	struct watch_event e;
	char *text;

	(void)state;
	take_one(w, reading(1, 2, 0, 100), &e);
	assert_int_equal(take_one(w, reading(1, 2, 60, 3), &e),
			 0); /* reset: unknown, not negative */
	assert_int_equal(take_one(w, reading(1, 2, 120, 65535), &e), 1);
	assert_true(e.saturated);
	assert_int_equal(e.delta, 0);
	assert_int_equal(take_one(w, reading(1, 2, 180, 65535), &e), 0);
	text = watch_prometheus(w);
	assert_null(strstr(text, "errors_total{"));
	assert_non_null(strstr(text, "saturated{switch=\"0x0000000000000001\",guid=\"0x"));
	free(text);
	assert_int_equal(take_one(w, reading(1, 2, 240, 1), &e), 0);
	assert_int_equal(take_one(w, unread, &e), 0);
	assert_int_equal(take_one(w, reading(1, 2, 360, 4), &e), 1); /* over both intervals */
	assert_int_equal(e.delta, 3);
	assert_int_equal(e.interval_ns, 120 * SECOND);
	watch_free(w);
}

static void test_watch_texts(void **state)
{
	struct fabric *f = make_fabric((struct plan){ 1, 2, 1, 0, 1 });
	struct watch_reading first[] = { reading(0x101, 3, 0, 0), reading(0x100, 100, 0, 0) };
	struct watch_reading second[] = { reading(0x101, 3, 60, 2), reading(0x100, 100, 60, 9) };
	struct watch *w = watch_new(f);
	struct watch_event *events;
	char *text;
	size_t count;

	(void)state;
	free(f->hosts[0].name);
	f->hosts[0].name = strdup("a\"b\\c\nd");
	second[1].value[COUNTER_LINK_DOWNED] = 255;
	watch_take(w, first, 2, -1, &events, &count);
	free(events);
	watch_take(w, second, 2, -1, &events, &count);
	assert_int_equal(count, 3);
	assert_int_equal(events[0].sw, 0x100); /* sorted */
	text = watch_prometheus(w);
	assert_non_null(strstr(text, "sfabric_switch_port_errors_total{switch=\"pod0-leaf0\",guid="
				     "\"0x0000000000000100\",port=\"100\",peer_host=\"a\\\"b\\\\c?d"
				     "\",counter=\"symbol_errors\"} 9\n"));
	assert_non_null(strstr(text, "sfabric_watch_unread_ports 0\n"));
	free(text);
	assert_text(watch_event_json(w, &events[2]),
		    "{\"time_ns\":1700000060000000000,\"interval_ns\":60000000000,\"switch\":"
		    "\"pod0-leaf1\",\"switch_guid\":\"0x0000000000000101\",\"port\":3,\"counter\":"
		    "\"symbol_errors\",\"delta\":2,\"peer\":{\"switch\":\"pod0-spine0\",\"guid\":"
		    "\"0x0000000000000102\",\"port\":2},\"way_of\":\"n0001\"}\n");
	assert_text(
		watch_message(w, "watch on n1", events, count),
		"{\"format\":\"slurm-fabric/observations\",\"version\":1,\"ports\":[{\"switch\":"
		"\"0x0000000000000100\",\"name\":\"pod0-leaf0\",\"switch_port\":100,\"port\":"
		"\"0x0000000000010001\",\"counters\":{\"symbol_errors\":9}},{\"switch\":"
		"\"0x0000000000000101\",\"name\":\"pod0-leaf1\",\"switch_port\":3,\"counters\":"
		"{\"symbol_errors\":2}}],\"by\":\"watch on n1\",\"since_ns\":1700000000000000000,"
		"\"until_ns\":1700000060000000000,\"unread\":[]}");
	free(events);
	watch_free(w);
	fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_dot),
		cmocka_unit_test(test_few_switches_stand_alone),
		cmocka_unit_test(test_large_fabric_is_folded),
		cmocka_unit_test(test_faults_are_told),
		cmocka_unit_test(test_a_fabric_without_manager_is_whole),
		cmocka_unit_test(test_hostile_texts),
		cmocka_unit_test(test_html_is_alone),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_ranks_follow_the_wires),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_weights_never_against_topology),
		cmocka_unit_test(test_no_hints_without_hosts),
		cmocka_unit_test(test_gres),
		cmocka_unit_test(test_watch_deltas),
		cmocka_unit_test(test_watch_ways),
		cmocka_unit_test(test_watch_resets_and_ends),
		cmocka_unit_test(test_watch_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
