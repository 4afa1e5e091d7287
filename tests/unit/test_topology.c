/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_topology.c - from dumps and made-up subnets to fabrics and topology.conf (topology/).
 *
 * Structure is tested on subnets built here (struct net), reading on the dumps of data/topology and
 * on texts. FABRIC_CORPUS, when set, names a folder of real dumps with known answers.
 */
#include "absent.h"
#include "fabric.h"
#include "hosts.h"
#include "input.h"
#include "lost.h"
#include "model.h"
#include "names.h"
#include "pick.h"
#include "portinfo.h"
#include "sets.h"
#include "shape.h"
#include "subnet.h"
#include "tree_conf.h"
#include "unit.h"
#include "wanted.h"

#include <infiniband/umad.h>
/* mad.h after umad.h: it uses its types */
#include <infiniband/mad.h>
#include <sys/stat.h>

int topology_main(int argc, char **argv);
#define main topology_main
#include "main.c"
#undef main

/* In place of live.c, which needs a fabric. */
struct subnet *live_discover(const struct live_options *options, char **source, struct err *err)
{
	(void)options;
	*source = NULL;
	err_set(err, ENODEV, "no fabric in unit tests");
	return NULL;
}

/* A subnet under construction: node n has GUID base + n. */

#define SWITCH_GUID UINT64_C(0x1000)
#define HCA_GUID UINT64_C(0x500000)

static void add_switch(struct subnet *s, unsigned n, const char *name)
{
	struct subnet_node node = { .guid = SWITCH_GUID + n,
				    .system_guid = SWITCH_GUID + n,
				    .kind = SUBNET_SWITCH,
				    .description = (char *)name,
				    .ports = 40,
				    .vendor = 0x2c9,
				    .device = 0xd2f0,
				    .described = true };

	assert_int_equal(subnet_add_node(s, &node), 0);
}

static struct fabric_wire wire_of(const char *speed, int width)
{
	return (struct fabric_wire){ .width = width, .speed_bps = subnet_speed_bps(speed, width) };
}

static void add_link_wire(struct subnet *s, unsigned a, int a_port, unsigned b, int b_port,
			  struct fabric_wire wire)
{
	struct subnet_end x = { SWITCH_GUID + a, a_port }, y = { SWITCH_GUID + b, b_port };

	assert_int_equal(subnet_add_cable(s, x, y, &wire, true), 0);
}

static void add_link(struct subnet *s, unsigned a, int a_port, unsigned b, int b_port)
{
	add_link_wire(s, a, a_port, b, b_port, wire_of("HDR", 4));
}

/* An HCA with one port on port sw_port of switch sw. */
static void add_hca_wire(struct subnet *s, unsigned n, const char *description, unsigned sw,
			 int sw_port, struct fabric_wire wire)
{
	struct subnet_node node = { .guid = HCA_GUID + n,
				    .system_guid = HCA_GUID + n,
				    .kind = SUBNET_CA,
				    .description = (char *)description,
				    .ports = 1,
				    .vendor = 0x2c9,
				    .device = 0x101b,
				    .described = true };
	struct subnet_end here = { HCA_GUID + n, 1 }, there = { SWITCH_GUID + sw, sw_port };

	assert_int_equal(subnet_add_node(s, &node), 0);
	assert_int_equal(subnet_add_port(s, HCA_GUID + n, 1, HCA_GUID + n), 0);
	assert_int_equal(subnet_add_cable(s, here, there, &wire, true), 0);
}

static void add_hca(struct subnet *s, unsigned n, const char *description, unsigned sw, int sw_port)
{
	add_hca_wire(s, n, description, sw, sw_port, wire_of("HDR", 4));
}

/* Finishes s, makes the fabric, checks that the file it becomes can be read, and frees s. */
static struct fabric *fabric_of_dump(const char *name);

static struct fabric *fabric_of(struct subnet *s)
{
	struct notes notes = { 0 };
	struct err err = { "" };
	struct fabric *f, *again;
	char *text;

	assert_int_equal(subnet_finish(s), 0);
	f = model_build(s, "file", "test", 7, NULL, &notes, &err);
	assert_non_null(f);
	text = fabric_text(f);
	again = fabric_parse(text, strlen(text), "made", &err);
	if (!again)
		fail_msg("%s", err.text);
	fabric_free(again);
	free(text);
	notes_clear(&notes);
	subnet_free(s);
	return f;
}

static const struct fabric_switch *find_switch(const struct fabric *f, const char *name)
{
	for (size_t i = 0; i < f->switch_count; i++)
		if (strcmp(f->switches[i].name, name) == 0)
			return &f->switches[i];
	fail_msg("no switch is called %s", name);
	return NULL;
}

static const struct fabric_unit *unit_of(const struct fabric *f, const char *host)
{
	size_t i = fabric_find_host(f, host);

	if (i == FABRIC_NONE)
		fail_msg("no host is called %s", host);
	return f->hosts[i].unit == FABRIC_NONE ? NULL : &f->units[f->hosts[i].unit];
}

static const char *pod_of(const struct fabric *f, const char *host)
{
	return f->pods[unit_of(f, host)->pod].name;
}

static const char *island_of(const struct fabric *f, const char *host)
{
	return f->islands[f->pods[unit_of(f, host)->pod].island].name;
}

static char *tree_in(const struct fabric *f, bool full)
{
	struct tree_report report;
	struct err err = { "" };
	char *text = tree_conf_text(f, NULL, 0, full, "sfabric-topology 0", "test", &report, &err);

	if (!text)
		fail_msg("%s", err.text);
	tree_report_clear(&report);
	return text;
}

static char *tree_of(const struct fabric *f)
{
	return tree_in(f, false);
}

/* The lines of a topology.conf without its comments. */
static char *lines_of(const char *text)
{
	char *out = calloc(strlen(text) + 1, 1);

	assert_non_null(out);
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n") + 1;
		if (*line != '#')
			strncat(out, line, n);
		line += n;
	}
	return out;
}

static void assert_tree_in(const struct fabric *f, bool full, const char *lines)
{
	char *text = tree_in(f, full), *is = lines_of(text);

	assert_string_equal(is, lines);
	free(is);
	free(text);
}

static void assert_tree(const struct fabric *f, const char *lines)
{
	assert_tree_in(f, false, lines);
}

/* Names. */

static void host_names(void **state)
{
	static const struct {
		const char *description, *host, *device;
	} cases[] = {
		{ "gpu01 mlx5_0", "gpu01", "mlx5_0" },
		{ "gpu01 HCA-1", "gpu01", "HCA-1" },
		{ "gpu01.example.org mlx5_bond_0", "gpu01", "mlx5_bond_0" },
		{ "stage114", "stage114", "" },
		{ "  stage114  ", "stage114", "" },
		{ "a08-p1-dgx-04-c01 mlx5_5", "a08-p1-dgx-04-c01", "mlx5_5" },
		{ "node7 hfi1_0", "node7", "hfi1_0" },
		{ "n1 spare slot mlx5_2", "n1", "mlx5_2" },
		{ "n1 storage", "n1", "" },
		{ "mlx5_0 n1", "n1", "mlx5_0" },
		{ "n1:mlx5_0", "n1", "mlx5_0" },
		{ "n1.example.org/HCA-2", "n1", "HCA-2" },
		{ "mlx5_3@n1", "n1", "mlx5_3" },
		{ "rack1-n1-mlx5_0", "rack1-n1", "mlx5_0" },
		{ "n1_mlx5_0", "n1", "mlx5_0" },
		{ "n1-HCA-1", "n1", "HCA-1" },
		{ "n1-ib0", "n1-ib0", "" },
		{ "n1-ibp5", "n1-ibp5", "" },
		{ "HCA-1", NULL, NULL },
		{ ":mlx5_0", NULL, NULL },
		{ "MT4129 ConnectX7   Mellanox Technologies", NULL, NULL },
		{ "MT25408 ConnectX Mellanox Technologies", NULL, NULL },
		{ "MT4129", NULL, NULL },
		{ "Mellanox Technologies Aggregation Node", NULL, NULL },
		{ "Quantum Mellanox Technologies", NULL, NULL },
		{ "localhost HCA-2", NULL, NULL },
		{ "localhost.localdomain mlx5_0", NULL, NULL },
		{ "ubuntu mlx5_0", NULL, NULL },
		{ "mlx5_0", NULL, NULL },
		{ "ALL mlx5_0", NULL, NULL },
		{ "", NULL, NULL },
		{ "   ", NULL, NULL },
		{ "10.1.2.3 mlx5_0", NULL, NULL },
		{ "a lot of words", NULL, NULL },
		{ "n[1-2] mlx5_0", NULL, NULL },
		{ "n1,n2 mlx5_0", NULL, NULL },
		{ "-x mlx5_0", NULL, NULL },
		{ "DEFAULT mlx5_0", NULL, NULL },
		{ "n18446744073709551616 mlx5_0", NULL, NULL },
		{ "n999999999999999999 mlx5_0", "n999999999999999999", "mlx5_0" },
		{ "n\033[2J mlx5_0", NULL, NULL },
		{ "0123456789012345678901234567890123456789012345678901234567890123 mlx5_0", NULL,
		  NULL },
	};
	char host[NAME_ROOM], device[NAME_ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = names_host(cases[i].description, host, device);
		if (found != (cases[i].host != NULL))
			fail_msg("\"%s\" gives %s", cases[i].description, host);
		assert_string_equal(host, cases[i].host ? cases[i].host : "");
		assert_string_equal(device, cases[i].device ? cases[i].device : "");
	}
}

static void switch_names(void **state)
{
	static const struct {
		const char *description, *name;
	} cases[] = {
		{ "MF0;A09-P1-IBLEAF-04-04:MQM9701/U1", "A09-P1-IBLEAF-04-04" },
		{ "MF0;box:Q3400_RA/U2", "box-U2" },
		{ "Voltaire 4036 # 4036-8C5C", "Voltaire-4036-4036-8C5C" },
		{ " 5FB0406-spine-IB02 ", "5FB0406-spine-IB02" },
		{ "leaf[1-2],x=y", "leaf-1-2-x-y" },
		{ "a\nSwitchName=b", "a-SwitchName-b" },
		{ "Infiniscale-IV Mellanox Technologies", "" },
		{ "S-0002c90200417670", "" },
		{ "default", "" },
		{ "", "" },
		{ ";;;", "" },
		{ "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij",
		  "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc" },
		{ "leaf18446744073709551616", "" }, /* not what it is when a host list is read */
		{ "leaf999999999999999999", "leaf999999999999999999" },
	};
	char name[NAME_ROOM];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		names_switch(cases[i].description, name);
		assert_string_equal(name, cases[i].name);
	}
}

static void common_names(void **state)
{
	static const char *const rails[] = { "A09-P1-IBLEAF-01-04", "A09-P1-IBLEAF-04-04",
					     "A09-P1-IBLEAF-02-04" };
	static const char *const plain[] = { "su1-leaf0", "su1-leaf10" };
	static const char *const other[] = { "su1-leaf0", "su1-leaf" };
	static const char *const apart[] = { "a-leaf0", "b-leaf0" };
	static const char *const numbers[] = { "1-2", "1-3" };
	char name[NAME_ROOM];

	(void)state;
	names_common(rails, 3, name);
	assert_string_equal(name, "A09-P1-IBLEAF-04");
	names_common(plain, 2, name);
	assert_string_equal(name, "su1-leaf");
	names_common(other, 2, name);
	assert_string_equal(name, "");
	names_common(apart, 2, name);
	assert_string_equal(name, "");
	names_common(numbers, 2, name);
	assert_string_equal(name, "");
	names_common(plain, 1, name);
	assert_string_equal(name, "su1-leaf0");
	names_common(plain, 0, name);
	assert_string_equal(name, "");
}

/* Equal descriptions get the GUID behind; a copy of such a name can't take it away. */
static void switch_names_are_unique(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f;

	(void)state;
	add_switch(s, 1, "leaf");
	add_switch(s, 2, "leaf");
	add_switch(s, 3, "leaf-0000000000001002");
	add_switch(s, 4, "Quantum Mellanox Technologies");
	add_switch(s, 5, "alone");
	f = fabric_of(s);
	assert_string_equal(f->switches[0].name, "leaf-0000000000001001");
	assert_string_equal(f->switches[1].name, "S-0000000000001002");
	assert_string_equal(f->switches[2].name, "S-0000000000001003");
	assert_string_equal(f->switches[3].name, "S-0000000000001004");
	assert_string_equal(f->switches[4].name, "alone");
	fabric_free(f);
}

/* A description that claims another switch's GUID form, in the form of a managed switch. */
static void no_switch_takes_a_guid_name(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f;

	(void)state;
	add_switch(s, 1, "Quantum Mellanox Technologies");
	add_switch(s, 2, "MF0;S-0000000000001001:MQM9700/U1");
	add_switch(s, 3, "MF0;S-0000000000001002:MQM9700/U1");
	add_switch(s, 4, "MF0;default:MQM9700/U1");
	f = fabric_of(s);
	for (unsigned i = 0; i < 4; i++) {
		char name[NAME_ROOM];
		names_switch_guid(SWITCH_GUID + 1 + i, name);
		assert_string_equal(f->switches[i].name, name);
	}
	fabric_free(f);
}

/* What is cut off long names must not make two groups one name. */
static void long_names_stay_apart(void **state)
{
	static const char *const names[] = {
		"datacentre-north-row-17-rack-0042-position-38-leaf-switch-one-a",
		"datacentre-north-row-17-rack-0042-position-38-leaf-switch-one-b",
	};
	struct subnet *s = subnet_new();
	struct fabric *f;

	(void)state;
	add_switch(s, 1, names[0]); /* two islands of one switch */
	add_switch(s, 2, names[1]);
	add_hca(s, 1, "n1", 1, 1);
	add_hca(s, 2, "n2", 1, 2);
	add_hca(s, 3, "n3", 2, 1);
	add_hca(s, 4, "n4", 2, 2);
	f = fabric_of(s);
	assert_string_equal(unit_of(f, "n1")->name, names[0]);
	assert_string_not_equal(pod_of(f, "n1"), pod_of(f, "n3"));
	assert_string_not_equal(island_of(f, "n1"), island_of(f, "n3"));
	free(tree_of(f));
	fabric_free(f);
}

/* Reading. */

/* NULL and err when it is no input. */
static struct subnet *parse_bytes(const char *text, size_t len, struct err *err)
{
	struct input *in = input_new(NULL);

	assert_non_null(in);
	if (input_add(in, text, len, "dump", err) == 0)
		return input_finish(in, err);
	input_free(in);
	return NULL;
}

static struct subnet *parse(const char *text)
{
	struct err err = { "" };
	struct subnet *s = parse_bytes(text, strlen(text), &err);

	if (!s)
		fail_msg("%s", err.text);
	return s;
}

static void reads_a_dump(void **state)
{
	size_t len;
	char *text = test_data("topology/rails.topo", &len);
	struct subnet *s = parse(text);
	size_t i;

	(void)state;
	assert_int_equal(s->node_count, 18 + 18 + 32);
	assert_int_equal(s->cable_count, 18 + 32 + 32);
	assert_int_equal(s->missing.total, 0);
	assert_int_equal(s->warnings.total, 0);
	i = subnet_find(s, UINT64_C(0xb83fd20300200010));
	assert_int_not_equal(i, FABRIC_NONE);
	assert_string_equal(s->nodes[i].description, "gpu01 mlx5_1");
	assert_int_equal(s->nodes[i].device, 0x101b);
	assert_int_equal(s->nodes[i].vendor, 0x2c9);
	assert_int_equal(subnet_port_guid(s, UINT64_C(0xb83fd20300200010), 1),
			 UINT64_C(0xb83fd20300200010));
	assert_int_equal(subnet_port_guid(s, UINT64_C(0xb83fd20300200010), 2), 0);
	i = subnet_find(s, UINT64_C(0x2c5eab0300100008));
	assert_int_equal(s->nodes[i].system_guid, UINT64_C(0x2c5eab0300100000));
	subnet_free(s);
	free(text);
}

static void reads_what_people_save(void **state)
{
	struct subnet *s = parse(
		"\xef\xbb\xbf[root@head ~]# ibnetdiscover -g\r\n"
		"#\r\n# Topology file\r\n#\r\n"
		"Chassis 1 (guid 0x1)\r\n"
		"Non-Chassis Nodes\r\n"
		"vendid=0x2c9\r\ndevid=0xd2f2\r\nsysimgguid=0x10\r\nswitchguid=0x10(10)\t# Line "
		"1\r\n"
		"Switch  40 \"S-0000000000000010\"         # \"a \"quoted\" leaf\" enhanced port 0 "
		"lid 7 lmc 0\r\n"
		"[1][ext 7]    \"H-0000000000000020\"[1](20000)          # \"n1 mlx5_0\" lid 4 "
		"4xNDR\r\n"
		"  [2](2)\t\"H-0000000000000030\"[2](30001) \t\t# \"n2 mlx5_0\" lid 4 2xXDR\r\n"
		"[3]\t\"S-0000000000000010\"[4][ext 2] # \"a \"quoted\" leaf\" lid 7 4xFDR10 s=1 "
		"w=2\r\n"
		"[4]\t\"S-0000000000000010\"[3] # \"a \"quoted\" leaf\" lid 7 4xFDR10\r\n"
		"devid=0x101b\r\ncaguid=0x20\r\n" /* no blank line before it */
		"Ca\t1 \"H-0000000000000020\"\t\t# \"n1 mlx5_0\"\r\n"
		"[1](20000) \t\"S-0000000000000010\"[1]\t\t# lid 4 lmc 0 \"a \"quoted\" leaf\" lid "
		"7 4xNDR\r\n"
		"Hca 2 \"H-0000000000000030\" # \"n2 mlx5_0\"\r\n"
		"[2](30001) \"S-0000000000000010\"[2] # lid 4 lmc 0 \"a leaf\" lid 7 2xXDR\r\n"
		"what is this\r\n");
	char *first = s->warnings.lines[0];

	(void)state;
	assert_int_equal(s->missing.total, 0);
	assert_int_equal(s->warnings.total, 2);
	assert_string_equal(first, "dump:1: not understood: [root@head ~]# ibnetdiscover -g");
	assert_string_equal(s->warnings.lines[1], "dump:22: not understood: what is this");
	assert_int_equal(s->node_count, 3);
	assert_string_equal(s->nodes[0].description, "a \"quoted\" leaf");
	assert_int_equal(s->cable_count, 3);
	assert_int_equal(s->cables[0].wire.width, 4);
	assert_true(s->cables[0].wire.speed_bps == 400000000000u);
	assert_true(s->cables[1].wire.speed_bps == 400000000000u);
	assert_int_equal(s->cables[1].wire.width, 2);
	assert_true(s->cables[2].wire.speed_bps == 40000000000u);
	assert_int_equal(subnet_port_guid(s, 0x30, 2), 0x30001);
	subnet_free(s);
}

static void says_what_is_lost(void **state)
{
	static const struct {
		const char *text, *says;
		size_t missing, warnings;
	} cases[] = {
		/* the far end was cut off */
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\n[1] \"H-0000000000000020\"[1](20000) # "
		  "\"n1 mlx5_0\" lid 4 4xNDR\n",
		  "0x0000000000000020 (n1 mlx5_0) is the far end", 1, 0 },
		/* the line of one end was lost */
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\n[1] \"H-0000000000000020\"[1](20000) # "
		  "\"n1 mlx5_0\" lid 4 4xNDR\n"
		  "Ca 1 \"H-0000000000000020\" # \"n1 mlx5_0\"\n",
		  "does not tell of its cable", 1, 0 },
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\n[1] \"H-00000000000000",
		  "dump:2: this port is not understood", 1, 0 },
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\n[1] \"Hca1\"[1]\n",
		  "dump:2: this port is not understood", 1, 0 },
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\n[300] \"S-0000000000000010\"[1]\n",
		  "dump:2: this port", 1, 0 },
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\nSwitch 8 \"Switch1\"\n[1] "
		  "\"Hca1\"[1]\n",
		  "dump:2: this node is not", 2, 0 },
		{ "[1] \"S-0000000000000010\"[1]\nSwitch 8 \"S-0000000000000010\" # \"a\"\n",
		  "dump:1: this port belongs to no node", 1, 0 },
		{ "Switch 8 \"S-0000000000000010\" # \"\"\n", "has no description", 1, 0 },
		{ "src/query_smp.c:195; umad (DR path slid 0; 0,1 Attr 0x11:0) bad status 110; "
		  "Connection timed out\n"
		  "Switch 8 \"S-0000000000000010\" # \"a\"\n",
		  "dump:1: the discovery itself", 1, 0 },
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\nvendid=none\n", NULL, 0, 1 },
		{ "Switch 8 \"S-0000000000000010\" # \"a\"\n[1] \"S-0000000000000010\"[2] # \"a\" "
		  "lid 0 4xABC\n"
		  "[2] \"S-0000000000000010\"[1] # \"a\" lid 0 3xHDR\n",
		  NULL, 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct subnet *s = parse(cases[i].text);
		if (s->missing.total != cases[i].missing || s->warnings.total != cases[i].warnings)
			fail_msg("%zu: %zu missing (%s), %zu warnings", i, s->missing.total,
				 s->missing.kept ? s->missing.lines[0] : "", s->warnings.total);
		if (cases[i].says && !strstr(s->missing.lines[0], cases[i].says))
			fail_msg("%zu: %s", i, s->missing.lines[0]);
		subnet_free(s);
	}
}

static void refuses_what_is_no_dump(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		"hello\n",
		"Switch : 0x10 ports 36 \"x\" base port 0 lid 1 lmc 0\n",
		"CA   134  1 7cfe9003003b4bde 4x EDR\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err err = { "" };
		assert_null(parse_bytes(texts[i], strlen(texts[i]), &err));
		assert_memory_equal(err.text, "dump: there is no node", 22);
	}
}

/* A port in two cables: the first is kept, and that is said. */
static void two_peers(void **state)
{
	struct subnet *s = subnet_new();

	(void)state;
	add_switch(s, 1, "a");
	add_switch(s, 2, "b");
	add_switch(s, 3, "c");
	add_link(s, 1, 1, 2, 1);
	add_link(s, 1, 1, 3, 1);
	assert_int_equal(subnet_finish(s), 0);
	assert_int_equal(s->cable_count, 1);
	assert_int_equal(s->missing.total, 1);
	assert_non_null(strstr(s->missing.lines[0], "two peers"));
	subnet_free(s);
}

/* A loop-back plug is told of, and is no link: fabric.json could not be read with it. */
static void a_loop_back_plug(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f;

	(void)state;
	add_switch(s, 1, "a");
	add_link(s, 1, 1, 1, 1);
	add_hca(s, 1, "n1", 1, 2);
	assert_int_equal(subnet_finish(s), 0);
	assert_int_equal(s->cable_count, 1);
	assert_int_equal(s->missing.total, 0);
	assert_int_equal(s->warnings.total, 1);
	assert_non_null(strstr(s->warnings.lines[0], "loop-back"));
	f = fabric_of(s);
	assert_int_equal(f->link_count, 0);
	fabric_free(f);
}

static void sentences_are_bounded(void **state)
{
	struct notes n = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		notes_add(&n, "\033[2J%d%0500d", i, 0);
	assert_int_equal(n.total, 1000);
	assert_int_equal(n.kept, NOTES_KEPT);
	assert_int_equal(strlen(n.lines[0]), 400);
	assert_int_equal(n.lines[0][0], '?');
	notes_clear(&n);
}

/* What a text of any kind becomes can be written, read and made a tree of (whole). */
static void whole_way(const char *text, size_t len, bool whole)
{
	struct err err = { "" };
	struct subnet *s = parse_bytes(text, len, &err);
	struct notes notes = { 0 };
	struct tree_report report = { 0 };
	struct fabric *f, *again = NULL;
	char *json;

	if (!s) {
		assert_memory_equal(err.text, "dump: ", 6);
		return;
	}
	f = model_build(s, "file", "dump", 0, NULL, &notes, &err);
	assert_non_null(f);
	if (whole) {
		json = fabric_text(f);
		again = fabric_parse(json, strlen(json), "made", &err);
		if (!again)
			fail_msg("%s", err.text);
		free(json);
	}
	json = tree_conf_text(whole ? again : f, NULL, 0, false, "x", "y", &report, &err);
	if (!json && f->host_count && f->unit_count)
		fail_msg("%s", err.text);
	free(json);
	tree_report_clear(&report);
	notes_clear(&notes);
	fabric_free(f);
	fabric_free(again);
	subnet_free(s);
}

static void cut_anywhere(void **state)
{
	size_t len;
	char *text = test_data("topology/islands.topo", &len);

	(void)state;
	for (size_t n = 0; n <= len; n++) {
		char *cut =
			malloc(n + 1); /* its own memory, so that reading behind its end is seen */
		assert_non_null(cut);
		memcpy(cut, text, n);
		whole_way(cut, n, n % 16 == 0);
		free(cut);
	}
	free(text);
}

static void any_bytes(void **state)
{
	static const char alphabet[] = "\"[]()SHR-0129aFx# \n\r\t=\0\xff";
	uint64_t seed = 88172645463325252u;
	size_t len;
	char *text = test_data("topology/tree3.topo", &len);

	(void)state;
	for (int round = 0; round < 300; round++) {
		char *copy = malloc(len);
		assert_non_null(copy);
		memcpy(copy, text, len);
		for (int i = 0; i < 1 + round % 40; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			copy[seed % len] = alphabet[(seed >> 32) % (sizeof(alphabet) - 1)];
		}
		whole_way(copy, len, true);
		free(copy);
	}
	free(text);
}

/* Structure. */

/* leaves 1..n, spines 101..m, full mesh; hosts per leaf named hL-I. */
static struct subnet *two_levels(unsigned leaves, unsigned spines, unsigned hosts)
{
	struct subnet *s = subnet_new();
	char name[64];

	assert_non_null(s);
	for (unsigned j = 1; j <= spines; j++) {
		snprintf(name, sizeof(name), "spine%u", j);
		add_switch(s, 100 + j, name);
	}
	for (unsigned i = 1; i <= leaves; i++) {
		snprintf(name, sizeof(name), "leaf%u", i);
		add_switch(s, i, name);
		for (unsigned j = 1; j <= spines; j++)
			add_link(s, i, 20 + (int)j, 100 + j, (int)i);
		for (unsigned h = 1; h <= hosts; h++) {
			snprintf(name, sizeof(name), "h%u-%u mlx5_0", i, h);
			add_hca(s, i * 100 + h, name, i, (int)h);
		}
	}
	return s;
}

static void assert_level(const struct fabric *f, const char *name, int level)
{
	if (find_switch(f, name)->level != level)
		fail_msg("%s is at level %d, not %d", name, find_switch(f, name)->level, level);
}

static void a_host_on_a_spine(void **state)
{
	/* hosts on a leaf, hosts on spine1 */
	static const unsigned shapes[][2] = { { 8, 1 }, { 8, 3 }, { 2, 1 }, { 1, 1 }, { 4, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct subnet *s = two_levels(4, 2, shapes[i][0]);
		struct fabric *f;
		for (unsigned h = 0; h < shapes[i][1]; h++) {
			char name[32];
			snprintf(name, sizeof(name), "tank%u mlx5_0", h + 1);
			add_hca(s, 5000 + h, name, 101, 30 + (int)h);
		}
		f = fabric_of(s);
		assert_level(f, "leaf1", 0);
		assert_level(f, "leaf4", 0);
		assert_level(f, "spine1", 1);
		assert_level(f, "spine2", 1);
		assert_string_equal(unit_of(f, "tank1")->name, "spine1");
		assert_string_equal(pod_of(f, "tank1"), pod_of(f, "h1-1"));
		assert_int_equal(f->unit_count, 5);
		assert_int_equal(f->pod_count, 1);
		fabric_free(f);
	}
}

/* All switches listed: a spine that hosts hang on, and three levels. */
static void every_switch(void **state)
{
	struct subnet *s = two_levels(2, 2, 1);
	struct fabric *f;

	(void)state;
	add_hca(s, 5000, "tank mlx5_0", 101, 30);
	f = fabric_of(s);
	assert_tree_in(f, true,
		       "SwitchName=leaf1 Nodes=h1-1\nSwitchName=leaf2 Nodes=h2-1\n"
		       "SwitchName=spine1 Nodes=tank\n"
		       "SwitchName=spine1-switch Switches=leaf[1-2],spine1\n"
		       "SwitchName=spine2 Switches=leaf[1-2]\n");
	fabric_free(f);
	f = fabric_of_dump("topology/tree3.topo");
	assert_tree_in(f, true,
		       "SwitchName=pod0-leaf0 Nodes=n[1-2]\nSwitchName=pod0-leaf1 Nodes=n[3-4]\n"
		       "SwitchName=pod1-leaf0 Nodes=n[5-6]\nSwitchName=pod1-leaf1 Nodes=n[7-8]\n"
		       "SwitchName=pod0-spine0 Switches=pod0-leaf[0-1]\n"
		       "SwitchName=pod0-spine1 Switches=pod0-leaf[0-1]\n"
		       "SwitchName=pod1-spine0 Switches=pod1-leaf[0-1]\n"
		       "SwitchName=pod1-spine1 Switches=pod1-leaf[0-1]\n"
		       "SwitchName=core0 Switches=pod0-spine0,pod1-spine0\n"
		       "SwitchName=core1 Switches=pod0-spine1,pod1-spine1\n");
	fabric_free(f);
}

static void a_host_on_every_spine(void **state)
{
	struct subnet *s = two_levels(4, 2, 6);
	struct fabric *f;

	(void)state;
	add_hca(s, 5000, "tank1 mlx5_0", 101, 30);
	add_hca(s, 5001, "tank2 mlx5_0", 102, 30);
	f = fabric_of(s);
	assert_level(f, "leaf1", 0);
	assert_level(f, "spine1", 1);
	assert_level(f, "spine2", 1);
	assert_tree(f, "SwitchName=leaf1 Nodes=h1-[1-6]\nSwitchName=leaf2 Nodes=h2-[1-6]\n"
		       "SwitchName=leaf3 Nodes=h3-[1-6]\nSwitchName=leaf4 Nodes=h4-[1-6]\n"
		       "SwitchName=spine1 Nodes=tank1\nSwitchName=spine2 Nodes=tank2\n"
		       "SwitchName=fabric Switches=leaf[1-4],spine[1-2]\n");
	fabric_free(f);
}

/* A leaf whose hosts are off, all or all but one, is still a leaf. */
static void dark_leaves(void **state)
{
	struct subnet *s = two_levels(4, 3, 8);
	struct fabric *f;

	(void)state;
	add_switch(s, 8, "dark");
	add_switch(s, 9, "dim");
	for (unsigned j = 1; j <= 3; j++) {
		add_link(s, 8, 20 + (int)j, 100 + j, 8);
		add_link(s, 9, 20 + (int)j, 100 + j, 9);
	}
	add_hca(s, 6000, "lonely mlx5_0", 9, 1);
	f = fabric_of(s);
	assert_level(f, "dark", 0);
	assert_level(f, "dim", 0);
	assert_level(f, "spine3", 1);
	fabric_free(f);
}

/* Pods of two leaves and two spines each, two cores that touch each spine of their number. */
static struct subnet *three_levels(unsigned pods, unsigned hosts)
{
	struct subnet *s = subnet_new();
	char name[64];

	assert_non_null(s);
	add_switch(s, 201, "core1");
	add_switch(s, 202, "core2");
	for (unsigned p = 1; p <= pods; p++) {
		for (unsigned j = 1; j <= 2; j++) {
			snprintf(name, sizeof(name), "p%u-spine%u", p, j);
			add_switch(s, 100 + p * 10 + j, name);
			add_link(s, 100 + p * 10 + j, 30, 200 + j, (int)p);
		}
		for (unsigned i = 1; i <= 2; i++) {
			snprintf(name, sizeof(name), "p%u-leaf%u", p, i);
			add_switch(s, p * 10 + i, name);
			for (unsigned j = 1; j <= 2; j++)
				add_link(s, p * 10 + i, 20 + (int)j, 100 + p * 10 + j, (int)i);
			for (unsigned h = 1; h <= hosts; h++) {
				snprintf(name, sizeof(name), "p%ul%uh%u mlx5_0", p, i, h);
				add_hca(s, p * 1000 + i * 100 + h, name, p * 10 + i, (int)h);
			}
		}
	}
	return s;
}

static void three_level_tree(void **state)
{
	struct fabric *f = fabric_of(three_levels(3, 4));

	(void)state;
	assert_level(f, "p1-leaf1", 0);
	assert_level(f, "p3-spine2", 1);
	assert_level(f, "core1", 2);
	assert_int_equal(f->unit_count, 6);
	assert_int_equal(f->pod_count, 3);
	assert_int_equal(f->island_count, 1);
	assert_tree(f,
		    "SwitchName=p1-leaf1 Nodes=p1l1h[1-4]\nSwitchName=p1-leaf2 Nodes=p1l2h[1-4]\n"
		    "SwitchName=p2-leaf1 Nodes=p2l1h[1-4]\nSwitchName=p2-leaf2 Nodes=p2l2h[1-4]\n"
		    "SwitchName=p3-leaf1 Nodes=p3l1h[1-4]\nSwitchName=p3-leaf2 Nodes=p3l2h[1-4]\n"
		    "SwitchName=p1-spine Switches=p1-leaf[1-2]\nSwitchName=p2-spine "
		    "Switches=p2-leaf[1-2]\n"
		    "SwitchName=p3-spine Switches=p3-leaf[1-2]\n"
		    "SwitchName=fabric Switches=p1-spine,p2-spine,p3-spine\n");
	fabric_free(f);
}

static void a_host_on_a_core(void **state)
{
	struct subnet *s = three_levels(3, 4);
	struct fabric *f;

	(void)state;
	add_hca(s, 9000, "ufm mlx5_0", 201, 30);
	f = fabric_of(s);
	assert_level(f, "core1", 2);
	assert_level(f, "core2", 2);
	assert_level(f, "p1-spine1", 1);
	assert_string_equal(unit_of(f, "ufm")->name, "core1");
	assert_int_equal(f->pod_count, 4);
	assert_int_equal(f->island_count, 1);
	fabric_free(f);
}

/* Uneven: a storage leaf directly below the cores, a leaf with one cable up instead of two. */
static void uneven_tree(void **state)
{
	struct subnet *s = three_levels(2, 4);
	struct fabric *f;

	(void)state;
	add_switch(s, 90, "storage");
	add_link(s, 90, 1, 201, 20);
	add_link(s, 90, 2, 202, 20);
	for (unsigned h = 0; h < 4; h++) {
		char name[32];
		snprintf(name, sizeof(name), "oss%u mlx5_0", h);
		add_hca(s, 9000 + h, name, 90, 10 + (int)h);
	}
	add_switch(s, 91, "p1-leaf3");
	add_link(s, 91, 21, 111, 9);
	for (unsigned h = 0; h < 4; h++) {
		char name[32];
		snprintf(name, sizeof(name), "x%u mlx5_0", h);
		add_hca(s, 9100 + h, name, 91, 10 + (int)h);
	}
	f = fabric_of(s);
	assert_level(f, "storage", 0);
	assert_level(f, "p1-leaf3", 0);
	assert_string_equal(pod_of(f, "x0"), pod_of(f, "p1l1h1"));
	assert_string_not_equal(pod_of(f, "oss0"), pod_of(f, "p1l1h1"));
	assert_string_not_equal(pod_of(f, "p2l1h1"), pod_of(f, "p1l1h1"));
	assert_int_equal(f->island_count, 1);
	fabric_free(f);
}

/* No spines at all: a ring of leaves, and a single switch. */
static void no_spines(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f;
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "ring%u", i);
		add_switch(s, i, name);
		for (unsigned h = 0; h < 3; h++) {
			snprintf(name, sizeof(name), "r%u-%u mlx5_0", i, h);
			add_hca(s, i * 100 + h, name, i, (int)h + 1);
		}
	}
	for (unsigned i = 0; i < 4; i++)
		add_link(s, i, 20, (i + 1) % 4, 21);
	f = fabric_of(s);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(f->switches[i].level, 0);
	for (int full = 0; full < 2; full++)
		assert_tree_in(f, full,
			       "SwitchName=ring0 Nodes=r0-[0-2]\nSwitchName=ring1 Nodes=r1-[0-2]\n"
			       "SwitchName=ring2 Nodes=r2-[0-2]\nSwitchName=ring3 Nodes=r3-[0-2]\n"
			       "SwitchName=fabric Switches=ring[0-3]\n");
	fabric_free(f);

	s = subnet_new();
	add_switch(s, 1, "only");
	add_link(s, 1, 30, 1, 31); /* a loop cable */
	add_hca(s, 1, "a mlx5_0", 1, 1);
	add_hca(s, 2, "b mlx5_0", 1, 2);
	f = fabric_of(s);
	assert_tree(f, "SwitchName=only Nodes=a,b\n");
	fabric_free(f);
}

/* units of `rails` leaves, each host on all of them; dark(unit, host, rail) leaves HCAs dark. */
static struct subnet *rail_net(unsigned units, unsigned hosts, unsigned rails,
			       bool (*dark)(unsigned unit, unsigned host, unsigned rail))
{
	struct subnet *s = subnet_new();
	char name[64];

	assert_non_null(s);
	add_switch(s, 901, "spine1");
	add_switch(s, 902, "spine2");
	for (unsigned u = 0; u < units; u++) {
		for (unsigned r = 0; r < rails; r++) {
			unsigned leaf = u * 20 + r;
			snprintf(name, sizeof(name), "su%u-leaf%u", u, r);
			add_switch(s, leaf, name);
			add_link(s, leaf, 31, 901, (int)leaf + 1);
			add_link(s, leaf, 32, 902, (int)leaf + 1);
			for (unsigned h = 0; h < hosts; h++) {
				snprintf(name, sizeof(name), "u%uh%u mlx5_%u", u, h, r * 2);
				if (!dark || !dark(u, h, r))
					add_hca(s, u * 10000 + h * 100 + r, name, leaf, (int)h + 1);
			}
		}
	}
	return s;
}

static bool some_dark(unsigned unit, unsigned host, unsigned rail)
{
	return unit == 0 && ((host < 3 && host == rail) || (host == 3 && rail < 3));
}

static void rails_and_dark_rails(void **state)
{
	struct fabric *f = fabric_of(rail_net(2, 6, 4, some_dark));
	size_t i;

	(void)state;
	assert_int_equal(f->unit_count, 2);
	assert_string_equal(f->units[0].name, "su0-leaf");
	assert_int_equal(f->units[0].leaf_count, 4);
	assert_ptr_equal(unit_of(f, "u0h3"), unit_of(f, "u0h5"));
	for (i = 0; i < f->port_count; i++) {
		int device = atoi(f->ports[i].device + 5);
		assert_int_equal(f->ports[i].rail, device / 2);
	}
	assert_tree(f, "SwitchName=su0-leaf Nodes=u0h[0-5]\nSwitchName=su1-leaf Nodes=u1h[0-5]\n"
		       "SwitchName=fabric Switches=su0-leaf,su1-leaf\n");
	fabric_free(f);
}

static bool rail_3_half_dark(unsigned unit, unsigned host, unsigned rail)
{
	return unit == 0 && rail == 3 && host > 0;
}

/* Most hosts of a unit without one rail: still one unit. */
static void a_rail_mostly_dark(void **state)
{
	struct fabric *f = fabric_of(rail_net(2, 6, 4, rail_3_half_dark));

	(void)state;
	assert_int_equal(f->unit_count, 2);
	assert_int_equal(unit_of(f, "u0h5")->leaf_count, 4);
	fabric_free(f);
}

/* Devices in another order on some hosts: rails by leaf. No rails in a fabric of single leaves. */
static void rails_by_leaf(void **state)
{
	struct subnet *s = rail_net(1, 2, 2, NULL);
	struct fabric *f;

	(void)state;
	add_hca(s, 700, "odd mlx5_0", 1, 9);
	add_hca(s, 701, "odd mlx5_1", 0, 9);
	f = fabric_of(s);
	assert_int_equal(f->unit_count, 1);
	for (size_t i = 0; i < f->port_count; i++) {
		const char *leaf = f->switches[f->ports[i].sw].name;
		assert_int_equal(f->ports[i].rail, leaf[strlen(leaf) - 1] - '0');
	}
	fabric_free(f);

	f = fabric_of(two_levels(2, 1, 2));
	for (size_t i = 0; i < f->port_count; i++)
		assert_int_equal(f->ports[i].rail, -1);
	fabric_free(f);
}

/* A login node with a leg in two leaves of a single-rail fabric does not make them one unit. */
static void a_dual_homed_host(void **state)
{
	struct subnet *s = two_levels(2, 2, 6);
	struct fabric *f;

	(void)state;
	add_hca(s, 7000, "login mlx5_0", 1, 10);
	add_hca(s, 7001, "login mlx5_1", 2, 10);
	f = fabric_of(s);
	assert_string_equal(unit_of(f, "h1-1")->name, "leaf1");
	assert_string_equal(unit_of(f, "h2-1")->name, "leaf2");
	assert_int_equal(unit_of(f, "login")->leaf_count, 2);
	assert_int_equal(f->unit_count, 3);
	assert_int_equal(f->pod_count, 1);
	fabric_free(f);
}

static struct fabric *fabric_of_dump(const char *name)
{
	size_t len;
	char *text = test_data(name, &len);
	struct subnet *s = parse(text);
	struct notes notes = { 0 };
	struct fabric *f = model_build(s, "file", "dump", 7, NULL, &notes, NULL);

	assert_non_null(f);
	notes_clear(&notes);
	subnet_free(s);
	free(text);
	return f;
}

static void islands_stay_apart(void **state)
{
	struct fabric *f = fabric_of_dump("topology/islands.topo");

	(void)state;
	assert_int_equal(f->island_count, 2);
	assert_string_not_equal(island_of(f, "a1"), island_of(f, "b1"));
	assert_string_equal(island_of(f, "a1"), island_of(f, "a4"));
	assert_tree(f, "SwitchName=a-leaf0 Nodes=a[1-2]\nSwitchName=a-leaf0-x2 Nodes=login\n"
		       "SwitchName=a-leaf1 Nodes=a[3-4]\nSwitchName=b-leaf0 Nodes=b[1-2]\n"
		       "SwitchName=b-leaf1 Nodes=b[3-4]\n"
		       "SwitchName=island-a-leaf0 Switches=a-leaf0,a-leaf0-x2,a-leaf1\n"
		       "SwitchName=island-b-leaf0 Switches=b-leaf[0-1]\n");
	fabric_free(f);
}

/* Rails that are subnets of their own: one island, because every host is on all of them. */
static void separate_planes(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f;
	char name[32];

	(void)state;
	for (unsigned r = 0; r < 2; r++) {
		snprintf(name, sizeof(name), "plane%u-spine", r);
		add_switch(s, 100 + r, name);
		for (unsigned u = 0; u < 2; u++) {
			snprintf(name, sizeof(name), "su%u-leaf%u", u, r);
			add_switch(s, u * 10 + r, name);
			add_link(s, u * 10 + r, 31, 100 + r, (int)u + 1);
			for (unsigned h = 0; h < 3; h++) {
				snprintf(name, sizeof(name), "u%uh%u mlx5_%u", u, h, r);
				add_hca(s, u * 1000 + h * 10 + r, name, u * 10 + r, (int)h + 1);
			}
		}
	}
	f = fabric_of(s);
	assert_int_equal(f->island_count, 1);
	assert_int_equal(f->unit_count, 2);
	assert_tree(f, "SwitchName=su0-leaf Nodes=u0h[0-2]\nSwitchName=su1-leaf Nodes=u1h[0-2]\n"
		       "SwitchName=fabric Switches=su0-leaf,su1-leaf\n");
	fabric_free(f);
}

/* Aggregation nodes and routers are no hosts, and no leaves come of them. */
static void sharp_and_routers(void **state)
{
	struct subnet *s = two_levels(2, 1, 3);
	struct subnet_node agg = {
		0x9001, SWITCH_GUID + 101, SUBNET_CA, (char *)"n1 mlx5_0", 1, 0, 0, true, 0, 0
	};
	struct subnet_node router = { 0x9002, 0x9002, SUBNET_ROUTER, (char *)"rt1 x", 8, 0, 0, true,
				      0,      0 };
	struct fabric_wire wire = { 0 };
	struct fabric *f;

	(void)state;
	add_hca(s, 8000, "Mellanox Technologies Aggregation Node", 1, 39);
	add_hca(s, 8001, "Mellanox Technologies Aggregation Node", 101, 39);
	assert_int_equal(subnet_add_node(s, &agg), 0); /* by its system image GUID: inside spine1 */
	assert_int_equal(subnet_add_node(s, &router), 0);
	assert_int_equal(subnet_add_cable(s, (struct subnet_end){ 0x9001, 1 },
					  (struct subnet_end){ SWITCH_GUID + 101, 38 }, &wire,
					  true),
			 0);
	assert_int_equal(subnet_add_cable(s, (struct subnet_end){ 0x9002, 1 },
					  (struct subnet_end){ SWITCH_GUID + 101, 37 }, &wire,
					  true),
			 0);
	f = fabric_of(s);
	assert_int_equal(f->host_count, 6);
	assert_int_equal(f->port_count, 6);
	assert_level(f, "spine1", 1);
	fabric_free(f);
}

/* Whatever a CA is called: the device of an aggregation node, a port of a managed box, a gateway.
 */
static void appliances(void **state)
{
	static const char *const names[] = { "n9 mlx5_0", "MF0;gw1:MGA100-HS2/U1", "IB Gateway 7" };
	struct subnet *s = two_levels(2, 1, 3);
	struct fabric_wire wire = { 0 };
	struct fabric *f;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct subnet_node node = { 0x9001 + i, 0x9001 + i, SUBNET_CA, (char *)names[i],
					    1,		0x2c9,	    0x1017,    true,
					    0,		0 };
		struct subnet_end here = { 0x9001 + i, 1 };
		struct subnet_end there = { SWITCH_GUID + 101, 36 + (int)i };
		node.device = i ? node.device : 0xcf09;
		assert_int_equal(subnet_add_node(s, &node), 0);
		assert_int_equal(subnet_add_cable(s, here, there, &wire, true), 0);
	}
	f = fabric_of(s);
	assert_int_equal(f->host_count, 6);
	assert_int_equal(f->port_count, 6);
	fabric_free(f);
}

/* The switch that only the fabric manager hangs on is no leaf; in a fabric of managers it is. */
static void managers(void **state)
{
	struct subnet *s = three_levels(2, 2);
	struct fabric *f;

	(void)state;
	for (unsigned i = 1; i <= 2; i++) {
		add_hca(s, 9000 + i, i == 1 ? "site-UFM-01 mlx5_0" : "site-UFM-02 mlx5_0", 200 + i,
			30);
		add_hca(s, 9010 + i, i == 1 ? "site-UFM-01 mlx5_1" : "site-UFM-02 mlx5_1", 200 + i,
			31);
	}
	f = fabric_of(s);
	assert_level(f, "core1", 2);
	assert_level(f, "p1-spine1", 1);
	assert_level(f, "p2-leaf2", 0);
	assert_string_equal(unit_of(f, "site-UFM-01")->name, "core1");
	fabric_free(f);

	s = subnet_new();
	add_switch(s, 1, "only");
	add_hca(s, 1, "ufm1 mlx5_0", 1, 1);
	add_hca(s, 2, "ufm2 mlx5_0", 1, 2);
	f = fabric_of(s);
	assert_level(f, "only", 0);
	fabric_free(f);
}

/* An HCA without a name is in the host of the other HCA on its card, if all agree on that. */
static void siblings(void **state)
{
	struct subnet *s = two_levels(1, 1, 2);
	struct fabric *f;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		static const char *const names[] = { "h1-1 mlx5_9",
						     "MT4129 ConnectX7 Mellanox Technologies",
						     "h1-1 mlx5_8", "h1-2 mlx5_8",
						     "localhost mlx5_0" };
		add_hca(s, 7000 + i, names[i], 1, 10 + (int)i);
		s->nodes[s->node_count - 1].system_guid = i < 2 ? 0x77 : 0x78;
	}
	f = fabric_of(s);
	assert_int_equal(f->ports[fabric_find_port(f, HCA_GUID + 7001)].host,
			 fabric_find_host(f, "h1-1"));
	assert_null(f->ports[fabric_find_port(f, HCA_GUID + 7001)].device);
	assert_int_equal(f->ports[fabric_find_port(f, HCA_GUID + 7004)].host, FABRIC_NONE);
	fabric_free(f);
}

/* Two ports of one HCA, from a list that has the GUIDs of ports only. */
static void listed_ports(void **state)
{
	struct subnet *s = parse("SW 7 1 0x10 4x NDR - CA 4 1 0x21 ( 'a' - 'n1 HCA-1' )\n"
				 "SW 7 2 0x10 4x NDR - CA 5 2 0x22 ( 'a' - 'n1 HCA-1' )\n"
				 "CA 4 1 0x21 4x NDR - SW 7 1 0x10 ( 'n1 HCA-1' - 'a' )\n"
				 "CA 5 2 0x22 4x NDR - SW 7 2 0x10 ( 'n1 HCA-1' - 'a' )\n");
	struct notes notes = { 0 };
	struct fabric *f = model_build(s, "file", "list", 7, NULL, &notes, NULL);

	(void)state;
	assert_int_equal(s->missing.total, 0);
	assert_int_equal(notes.total, 0);
	assert_int_equal(f->host_count, 1);
	assert_int_equal(f->port_count, 2);
	assert_int_equal(f->ports[1].port, 2);
	fabric_free(f);
	subnet_free(s);
}

/* Which HCA ports count: rails of two fabrics, compute and storage. */

static const char partitions_conf[] =
	"# the storage ports\nDefault=0x7fff, ipoib : ALL=limited, SELF=full ;\n"
	"gpu = 0x8001 : 0x500000=full,0x50000a, # two\n  0x500014, 0x5003e8=both, "
	"0x5003f2,0x5003fc;\n"
	"noise : mgid=ff12:401b::1, ALL_SWITCHES=full, 0xzz, 0x0;";

static void partitions(void **state)
{
	struct err err = { "" };
	struct partitions *p =
		partitions_parse(partitions_conf, sizeof(partitions_conf) - 1, "p", &err);

	(void)state;
	assert_non_null(p);
	assert_true(partitions_hold(p, 0x500000, "0x8001"));
	assert_true(partitions_hold(p, 0x50000a, "0x1"));
	assert_true(partitions_hold(p, 0x5003fc, "g*"));
	assert_false(partitions_hold(p, 0x5003fd, "gpu"));
	assert_true(partitions_hold(p, 0x5003fd, "0xffff"));
	assert_false(partitions_hold(p, 0x500000, "noise"));
	assert_false(partitions_hold(p, 0, "0x7fff"));
	partitions_free(p);
	assert_null(partitions_parse("# none\n", 7, "p", &err));
	assert_memory_equal(err.text, "p: there is no partition", 24);
	for (size_t n = 0; n < sizeof(partitions_conf); n++) {
		char *cut = malloc(n + 1);
		memcpy(cut, partitions_conf, n);
		partitions_free(partitions_parse(cut, n, "p", &err));
		free(cut);
	}
}

static struct fabric *picked(const char *only, const char *skip)
{
	struct model_options options = { NULL, 0, NULL, false };
	struct notes notes = { 0 };
	struct err err = { "" };
	struct pick picks[2];
	struct subnet *s = subnet_new();
	struct fabric *f;
	char name[64];

	for (unsigned r = 0; r < 2; r++) {
		add_switch(s, 100 + r, r ? "storage-spine" : "compute-spine");
		for (unsigned u = 0; u < 2; u++) {
			snprintf(name, sizeof(name), "%s-leaf%u", r ? "storage" : "compute", u);
			add_switch(s, u * 10 + r, name);
			add_link(s, u * 10 + r, 31, 100 + r, (int)u + 1);
			for (unsigned h = 0; h < 3; h++) {
				/* the racks of the storage fabric are others */
				unsigned leaf = r ? (u * 3 + h) % 2 * 10 + r : u * 10 + r;
				snprintf(name, sizeof(name), "n%u mlx5_%u", u * 3 + h, r);
				add_hca_wire(s, u * 1000 + h * 10 + r, name, leaf,
					     (int)(u * 3 + h) + 1, wire_of(r ? "HDR" : "NDR", 4));
			}
		}
	}
	if (only && pick_parse(&picks[options.pick_count++], only, false, &err) < 0)
		fail_msg("%s", err.text);
	if (skip && pick_parse(&picks[options.pick_count++], skip, true, &err) < 0)
		fail_msg("%s", err.text);
	options.picks = picks;
	options.partitions = partitions_parse(partitions_conf, strlen(partitions_conf), "p", &err);
	assert_int_equal(subnet_finish(s), 0);
	f = model_build(s, "file", "x", 7, &options, &notes, NULL);
	partitions_free((struct partitions *)options.partitions);
	notes_clear(&notes);
	subnet_free(s);
	return f;
}

static void ports_that_count(void **state)
{
	static const char *const ways[][2] = {
		{ "device=mlx5_0", NULL },    { NULL, "device=mlx5_1" },
		{ "switch=compute-*", NULL }, { NULL, "switch=storage*" },
		{ "plane=0", NULL },	      { NULL, "plane=1" },
		{ "pkey=0x8001", NULL },      { "pkey=gp?", NULL },
		{ "speed=400", NULL },	      { "host=n*", "device=*_1" },
	};
	static const char *const wrong[] = { "device",	"device=",  "=x", "color=red",
					     "plane=x", "speed=-1", "" };
	struct fabric *f = picked(NULL, NULL), *again;
	struct err err = { "" };
	struct pick pick;
	char *text;

	(void)state;
	assert_int_equal(f->unit_count, 4); /* no host has the same two leaves as all of its rack */
	assert_int_equal(f->island_count, 1);
	assert_int_equal(find_switch(f, "compute-leaf1")->plane, 0);
	assert_int_equal(find_switch(f, "storage-spine")->plane, 1);
	fabric_free(f);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		f = picked(ways[i][0], ways[i][1]);
		assert_tree(f, "SwitchName=compute-leaf0 Nodes=n[0-2]\n"
			       "SwitchName=compute-leaf1 Nodes=n[3-5]\n"
			       "SwitchName=fabric Switches=compute-leaf[0-1]\n");
		assert_int_equal(find_switch(f, "storage-leaf1")->plane, 1);
		assert_int_equal(find_switch(f, "storage-leaf1")->level, -1);
		text = fabric_text(f);
		again = fabric_parse(text, strlen(text), "made", &err);
		assert_true(again->ports[1].skipped);
		assert_false(again->ports[0].skipped);
		fabric_free(again);
		free(text);
		fabric_free(f);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(pick_parse(&pick, wrong[i], false, &err), -EINVAL);
}

/* Two-port "switches" between two sites, and between a host and its leaf, are cables. */
static void range_extenders(void **state)
{
	struct subnet *s = two_levels(2, 1, 3);
	struct fabric *f;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		add_switch(s, 300 + i, "Obsidian Longbow C400 - LBC4xxxxx");
		s->nodes[s->node_count - 1].ports = 2;
	}
	add_switch(s, 3, "far-leaf");
	for (unsigned h = 1; h <= 3; h++) {
		char name[32];
		snprintf(name, sizeof(name), "far%u mlx5_0", h);
		add_hca(s, 300 + h, name, 3, (int)h);
	}
	add_link(s, 3, 9, 300, 1);
	add_link_wire(s, 300, 2, 301, 1, wire_of("QDR", 4));
	add_link(s, 301, 2, 101, 30);
	add_hca(s, 400, "desk mlx5_0", 302, 2); /* a host behind one */
	add_link(s, 302, 1, 1, 15);
	add_link(s, 303, 1, 1, 16); /* one that leads nowhere */
	f = fabric_of(s);
	assert_level(f, "far-leaf", 0);
	assert_level(f, "spine1", 1);
	for (size_t i = 0; i < f->switch_count; i++)
		if (strstr(f->switches[i].name, "Longbow"))
			assert_int_equal(f->switches[i].level, -1);
	assert_int_equal(f->link_count, 3);
	assert_int_equal(f->links[2].a_port, 9);
	assert_int_equal(f->links[2].b_port, 30);
	assert_true(f->links[2].wire.speed_bps == 32000000000u); /* of its slowest part */
	assert_string_equal(unit_of(f, "desk")->name, "leaf1");
	assert_string_equal(pod_of(f, "far1"), pod_of(f, "h1-1"));
	assert_int_equal(f->ports[fabric_find_port(f, HCA_GUID + 400)].sw_port, 15);
	fabric_free(f);
}

static struct fabric *director(bool one)
{
	struct model_options options = { NULL, 0, NULL, one };
	struct subnet *s = two_levels(3, 2, 2); /* leaf1 and leaf2 are the box's, with its spines */
	struct notes notes = { 0 };
	struct err err = { "" };
	struct fabric *f;

	for (size_t i = 0; i < s->node_count; i++)
		if (s->nodes[i].kind == SUBNET_SWITCH && s->nodes[i].guid != SWITCH_GUID + 3)
			s->nodes[i].system_guid = 0x77;
	add_switch(s, 501, "box2-L1");
	add_switch(s, 502, "box2-L2");
	s->nodes[s->node_count - 1].system_guid = s->nodes[s->node_count - 2].system_guid = 0x78;
	assert_int_equal(subnet_finish(s), 0);
	f = model_build(s, "file", "x", 7, &options, &notes, &err);
	assert_non_null(f);
	assert_int_equal(shape_check(f, &notes), 0);
	assert_int_equal(notes.total, 0);
	subnet_free(s);
	return f;
}

static void directors(void **state)
{
	struct fabric *f = director(false);

	(void)state;
	assert_string_equal(find_switch(f, "box2-L1")->chassis, "box2-L");
	assert_string_equal(find_switch(f, "leaf1")->chassis, "chassis-0000000000000077");
	assert_null(find_switch(f, "leaf3")->chassis);
	assert_tree(f, "SwitchName=leaf1 Nodes=h1-[1-2]\nSwitchName=leaf2 Nodes=h2-[1-2]\n"
		       "SwitchName=leaf3 Nodes=h3-[1-2]\nSwitchName=fabric Switches=leaf[1-3]\n");
	fabric_free(f);

	f = director(true);
	assert_int_equal(f->unit_count, 2);
	assert_int_equal(unit_of(f, "h1-1")->leaf_count, 2); /* its switches that hosts are on */
	assert_tree(f, "SwitchName=chassis-0000000000000077 Nodes=h1-[1-2],h2-[1-2]\n"
		       "SwitchName=leaf3 Nodes=h3-[1-2]\n"
		       "SwitchName=fabric Switches=chassis-0000000000000077,leaf3\n");
	fabric_free(f);
}

/* Two areas of two pods of two leaves: a level more than pods and islands can say. */
static void four_levels(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f, *again;
	struct err err = { "" };
	char name[64], *text, *at;

	(void)state;
	add_switch(s, 900, "top1");
	for (unsigned a = 1; a <= 2; a++) {
		snprintf(name, sizeof(name), "a%u-core1", a);
		add_switch(s, 800 + a, name);
		add_link(s, 800 + a, 30, 900, (int)a);
		for (unsigned p = 1; p <= 2; p++) {
			unsigned spine = 700 + a * 10 + p;
			snprintf(name, sizeof(name), "a%up%u-spine1", a, p);
			add_switch(s, spine, name);
			add_link(s, spine, 30, 800 + a, (int)p);
			for (unsigned l = 1; l <= 2; l++) {
				unsigned leaf = a * 100 + p * 10 + l;
				snprintf(name, sizeof(name), "a%up%ul%u", a, p, l);
				add_switch(s, leaf, name);
				add_link(s, leaf, 30, spine, (int)l);
				snprintf(name, sizeof(name), "h%u mlx5_0", leaf);
				add_hca(s, leaf, name, leaf, 1);
			}
		}
	}
	f = fabric_of(s);
	assert_int_equal(f->area_count, 2);
	assert_level(f, "top1", 3);
	assert_tree(f, "SwitchName=a1p1l1 Nodes=h111\nSwitchName=a1p1l2 Nodes=h112\n"
		       "SwitchName=a1p2l1 Nodes=h121\nSwitchName=a1p2l2 Nodes=h122\n"
		       "SwitchName=a2p1l1 Nodes=h211\nSwitchName=a2p1l2 Nodes=h212\n"
		       "SwitchName=a2p2l1 Nodes=h221\nSwitchName=a2p2l2 Nodes=h222\n"
		       "SwitchName=a1p1-spine1 Switches=a1p1l[1-2]\n"
		       "SwitchName=a1p2-spine1 Switches=a1p2l[1-2]\n"
		       "SwitchName=a2p1-spine1 Switches=a2p1l[1-2]\n"
		       "SwitchName=a2p2-spine1 Switches=a2p2l[1-2]\n"
		       "SwitchName=a1-core1 Switches=a1p1-spine1,a1p2-spine1\n"
		       "SwitchName=a2-core1 Switches=a2p1-spine1,a2p2-spine1\n"
		       "SwitchName=fabric Switches=a1-core1,a2-core1\n");
	text = fabric_text(f);
	again = fabric_parse(text, strlen(text), "made", &err);
	assert_int_equal(again->area_count, 2);
	assert_int_equal(again->pods[3].area, 1);
	fabric_free(again);
	/* an area that is inside itself; the key it replaces was needed, too */
	at = strstr(text, "\"areas\"");
	at = strstr(at, "\"island\":\"fabric\"");
	assert_non_null(at);
	memcpy(at, "\"area\":\"a1-core1\"", strlen("\"area\":\"a1-core1\""));
	assert_null(fabric_parse(text, strlen(text), "made", &err));
	free(text);
	fabric_free(f);
}

/* What is no tree is said; a full mesh is one level, and a chain of leaves has no circle. */
static void shapes(void **state)
{
	static const struct {
		unsigned count;
		bool ring, mesh;
		size_t said;
	} cases[] = { { 5, true, false, 1 },
		      { 3, true, false, 0 },
		      { 5, false, true, 0 },
		      { 5, false, false, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct subnet *s = subnet_new();
		struct notes notes = { 0 };
		struct fabric *f;
		char name[32];
		for (unsigned j = 0; j < cases[i].count; j++) {
			snprintf(name, sizeof(name), "sw%u", j);
			add_switch(s, j, name);
			snprintf(name, sizeof(name), "h%u mlx5_0", j);
			add_hca(s, j, name, j, 1);
			for (unsigned k = 0; k < j; k++)
				if (cases[i].mesh || k + 1 == j ||
				    (cases[i].ring && j - k == cases[i].count - 1))
					add_link(s, j, 10 + (int)k, k, 10 + (int)j);
		}
		f = fabric_of(s);
		assert_int_equal(shape_check(f, &notes), 0);
		assert_int_equal(notes.total, cases[i].said);
		notes_clear(&notes);
		fabric_free(f);
	}
}

/* Two machines of one name can't be told apart, so neither has it. */
static void doubled_hosts(void **state)
{
	struct subnet *s = two_levels(2, 1, 2);
	struct fabric *f;

	(void)state;
	add_hca(s, 8000, "image mlx5_0", 1, 30);
	add_hca(s, 8001, "image mlx5_0", 2, 30);
	f = fabric_of(s);
	assert_int_equal(fabric_find_host(f, "image"), FABRIC_NONE);
	assert_int_equal(f->port_count, 6);
	assert_int_equal(f->ports[fabric_find_port(f, HCA_GUID + 8000)].host, FABRIC_NONE);
	fabric_free(f);
}

/* What is absent. */

#define FORGET_NS 1000

/* The fabric of s, which is freed, and of what was has and it does not. */
static struct fabric *fabric_with(struct subnet *s, const struct fabric *was, int64_t now_ns,
				  size_t *lost)
{
	struct absent_options options = { now_ns, FORGET_NS };
	struct notes notes = { 0 };
	struct fabric *now, *f;

	assert_int_equal(subnet_finish(s), 0);
	now = model_build(s, "live", "x", now_ns, NULL, &notes, NULL);
	assert_int_equal(absent_keep(s, now, was, &options, &notes), 0);
	fabric_free(now);
	f = model_build(s, "live", "x", now_ns, NULL, &notes, NULL);
	assert_non_null(f);
	*lost = f->missing_count;
	notes_clear(&notes);
	subnet_free(s);
	return f;
}

/* Of four hosts on each of three leaves below two spines those that are there; bits of without. */
enum { NO_HOST = 1, NO_LEAF = 2, NO_SPINE = 4, NO_RAIL = 8 };

static struct subnet *part_of(unsigned without)
{
	struct subnet *s = subnet_new();

	for (unsigned j = 101; j <= 102; j++)
		if (j == 101 || !(without & NO_SPINE))
			add_switch(s, j, j == 101 ? "spine1" : "spine2");
	for (unsigned i = 1; i <= 3; i++) {
		char name[32];
		if (i == 2 && without & NO_LEAF)
			continue;
		snprintf(name, sizeof(name), "leaf%u", i);
		add_switch(s, i, name);
		for (unsigned j = 101; j <= 102; j++)
			if (j == 101 || !(without & NO_SPINE))
				add_link(s, i, 20 + (int)j - 100, j, (int)i);
		for (unsigned h = 1; h <= 4; h++) {
			if (i == 2 && h == 3 && without & NO_HOST)
				continue;
			snprintf(name, sizeof(name), "h%u-%u mlx5_0", i, h);
			add_hca(s, i * 100 + h, name, i, (int)h);
		}
	}
	if (!(without & NO_RAIL))
		add_hca(s, 5000, "h1-1 mlx5_1", 1, 9);
	return s;
}

static const struct fabric_port *port_of(const struct fabric *f, unsigned n)
{
	size_t i = fabric_find_port(f, HCA_GUID + n);

	return i == FABRIC_NONE ? NULL : &f->ports[i];
}

static void absent_parts_stay(void **state)
{
	struct fabric *was = fabric_of(part_of(0));
	size_t lost;

	(void)state;
	for (unsigned without = 0; without < 16; without++) {
		struct fabric *f = fabric_with(part_of(without), was, 500, &lost), *again;
		char *text, *text_again;
		assert_int_equal(lost, 0);
		assert_int_equal(f->switch_count, was->switch_count);
		assert_int_equal(f->link_count, was->link_count);
		assert_int_equal(f->port_count, was->port_count);
		for (size_t i = 0; i < was->host_count; i++) {
			assert_string_equal(f->hosts[i].name, was->hosts[i].name);
			assert_string_equal(f->units[f->hosts[i].unit].name,
					    was->units[was->hosts[i].unit].name);
		}
		for (size_t i = 0; i < was->switch_count; i++) {
			assert_string_equal(f->switches[i].name, was->switches[i].name);
			assert_int_equal(f->switches[i].level, was->switches[i].level);
		}
		assert_int_equal(port_of(f, 203)->wire.absent_ns,
				 without & (NO_HOST | NO_LEAF) ? 500 : 0);
		assert_int_equal(port_of(f, 204)->wire.absent_ns, without & NO_LEAF ? 500 : 0);
		assert_int_equal(port_of(f, 5000)->wire.absent_ns, without & NO_RAIL ? 500 : 0);
		assert_int_equal(find_switch(f, "spine2")->absent_ns, without & NO_SPINE ? 500 : 0);
		/* later it is the same to the byte */
		again = fabric_with(part_of(without), f, 1499, &lost);
		again->seen_ns = f->seen_ns;
		text = fabric_text(f);
		text_again = fabric_text(again);
		assert_string_equal(text, text_again);
		free(text);
		free(text_again);
		fabric_free(again);
		/* and at last it is forgotten */
		again = fabric_with(part_of(without), f, 1500, &lost);
		assert_int_equal(lost, 0);
		assert_int_equal(port_of(again, 203) == NULL, (without & (NO_HOST | NO_LEAF)) != 0);
		assert_int_equal(port_of(again, 5000) == NULL, (without & NO_RAIL) != 0);
		assert_int_equal(again->switch_count, was->switch_count -
							      ((without & NO_LEAF) != 0) -
							      ((without & NO_SPINE) != 0));
		fabric_free(again);
		fabric_free(f);
	}
	fabric_free(was);
}

static void replaced_parts_go(void **state)
{
	struct fabric *was = fabric_of(part_of(0)), *f;
	struct subnet *s;
	size_t lost;

	(void)state;
	s = part_of(NO_HOST); /* moved, by the same HCA */
	add_hca(s, 203, "h2-3 mlx5_0", 3, 10);
	f = fabric_with(s, was, 500, &lost);
	assert_string_equal(f->switches[port_of(f, 203)->sw].name, "leaf3");
	assert_int_equal(port_of(f, 203)->wire.absent_ns, 0);
	fabric_free(f);

	s = part_of(NO_HOST); /* moved, with another one */
	add_hca(s, 6000, "h2-3 mlx5_7", 3, 10);
	f = fabric_with(s, was, 500, &lost);
	assert_null(port_of(f, 203));
	fabric_free(f);

	s = part_of(NO_HOST); /* its place is taken */
	add_hca(s, 6000, "new mlx5_0", 2, 3);
	f = fabric_with(s, was, 500, &lost);
	assert_null(port_of(f, 203));
	assert_int_equal(fabric_find_host(f, "h2-3"), FABRIC_NONE);
	fabric_free(f);

	s = part_of(NO_SPINE); /* another switch on the same cables */
	add_switch(s, 103, "spine3");
	for (unsigned i = 1; i <= 3; i++)
		add_link(s, i, 22, 103, (int)i);
	f = fabric_with(s, was, 500, &lost);
	assert_int_equal(lost, 0);
	assert_int_equal(f->switch_count, was->switch_count);
	assert_string_equal(find_switch(f, "spine3")->name, "spine3");
	fabric_free(f);
	fabric_free(was);
}

/* Another fabric altogether: through another port of this host, or another host's. */
static void nothing_leads_there(void **state)
{
	struct fabric *was = fabric_of(part_of(0)), *f;
	struct subnet *s = subnet_new();
	size_t lost;

	(void)state;
	add_switch(s, 900, "other");
	add_hca(s, 9000, "elsewhere mlx5_0", 900, 1);
	free(was->how);
	was->how = strdup("live");
	f = fabric_with(s, was, 500, &lost);
	assert_int_equal(lost, 1);
	fabric_free(f);

	free(was->how); /* of files, another file is another fabric */
	was->how = strdup("file");
	s = subnet_new();
	add_switch(s, 900, "other");
	add_hca(s, 9000, "elsewhere mlx5_0", 900, 1);
	f = fabric_with(s, was, 500, &lost);
	assert_int_equal(lost, 0);
	assert_int_equal(f->switch_count, 1);
	assert_int_equal(f->host_count, 1);
	fabric_free(f);
	fabric_free(was);
}

static void lost_queries(void **state)
{
	static const char *const others[] = {
		"",
		"ibwarn: [1] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0)",
		"x; umad (DR path slid 0; dlid 0; 1,2 Attr 0x11:0) bad status 110;",
		"x; umad (DR path slid 0; dlid 0; 0,1,300 Attr 0x11:0) bad status 110;",
		"x; umad (DR path slid 0; dlid 0; Attr 0x11:0) bad status 110;",
		"x; umad (DR path slid 0; dlid 0; 0,1, Attr 0x11:0) bad status 110;",
		"x; umad (DR path slid 0; dlid 0; 0,1 Attr 0x:0) bad status 110;",
		"x; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11) bad status 110;"
	};
	struct lost_query q;

	(void)state;
	assert_true(lost_parse("./libibnetdisc/query_smp.c:186; umad (DR path slid 0; dlid 0; "
			       "0,1,12,4 Attr 0x15:7) bad status 110; Connection timed out",
			       &q));
	assert_int_equal(q.hops, 3);
	assert_int_equal(q.path[2], 12);
	assert_int_equal(q.modifier, 7);
	assert_string_equal(lost_name(&q), "PortInfo");
	q.attribute = 0xff90;
	assert_null(lost_name(&q));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(lost_parse(others[i], &q));
}

static void degraded_links(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f;
	size_t bad = 0;

	(void)state;
	add_switch(s, 1, "leaf1");
	add_switch(s, 2, "leaf2");
	add_switch(s, 101, "spine");
	for (int i = 1; i <= 4; i++)
		add_link(s, 1, 20 + i, 101, i);
	add_link_wire(s, 2, 21, 101, 21, wire_of("HDR", 1));
	add_link_wire(s, 2, 22, 101, 22, wire_of("EDR", 4));
	add_link_wire(s, 2, 23, 101, 23, (struct fabric_wire){ 0 }); /* unknown is not degraded */
	for (unsigned i = 0; i < 6; i++) {
		char name[32];
		snprintf(name, sizeof(name), "n%u mlx5_0", i);
		add_hca_wire(s, i, name, 1 + i % 2, (int)i + 1, wire_of("HDR", i == 3 ? 2 : 4));
	}
	f = fabric_of(s);
	for (size_t i = 0; i < f->link_count; i++) {
		const struct fabric_link *l = &f->links[i];
		assert_int_equal(l->wire.degraded,
				 l->a_port == 21 && l->a == 1 ? 1 : l->a_port == 22 && l->a == 1);
		bad += l->wire.degraded;
	}
	assert_int_equal(bad, 2);
	for (size_t i = 0; i < f->port_count; i++)
		assert_int_equal(f->ports[i].wire.degraded, f->ports[i].guid == HCA_GUID + 3);
	fabric_free(f);
}

/* A wire at `width` x `speed` whose ends support best_width x best_speed. */
struct rate {
	const char *speed;
	int width;
	const char *best_speed;
	int best_width;
	bool degraded;
};

/* What ends support, beside what peers do: each row is the links of one pair of switches. */
static void degraded_by_support(void **state)
{
	static const struct rate rows[][4] = {
		/* half cables and HDR100 HCAs run at their best */
		{ { "HDR", 4, "HDR", 4, false },
		  { "HDR", 4, "HDR", 4, false },
		  { "HDR", 4, "HDR", 4, false },
		  { "HDR", 2, "HDR", 2, false } },
		{ { "HDR", 4, "HDR", 4, false },
		  { "HDR", 4, "HDR", 4, false },
		  { "HDR", 4, "HDR", 4, false },
		  { "HDR", 2, "HDR", 4, true } },
		/* all of them fell back */
		{ { "HDR", 1, "HDR", 4, true }, { "HDR", 1, "HDR", 4, true } },
		{ { "SDR", 4, "EDR", 4, true }, { "SDR", 4, "EDR", 4, true } },
		/* a lane is all that an XDR plane has */
		{ { "XDR", 1, "XDR", 1, false }, { "XDR", 1, "XDR", 1, false } },
		/* all alike, as by older cables */
		{ { "EDR", 4, "HDR", 4, false }, { "EDR", 4, "HDR", 4, false } },
		/* without a peer its ends alone say it, but for half a cable */
		{ { "EDR", 4, "HDR", 4, true } },
		{ { "HDR", 4, "HDR", 12, false } },
		{ { "NDR", 2, "NDR", 4, false } },
		{ { "EDR", 2, "EDR", 4, true } },
		{ { "EDR", 4, NULL, 0, false } },
		/* peers that disagree */
		{ { "EDR", 4, "HDR", 4, true }, { "HDR", 4, "HDR", 4, false } },
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct subnet *s = subnet_new();
		struct fabric *f;
		add_switch(s, 1, "leaf");
		add_switch(s, 101, "spine");
		add_hca_wire(s, 1, "n1 mlx5_0", 1, 30, (struct fabric_wire){ 0 });
		for (int i = 0; i < 4 && rows[r][i].speed; i++) {
			const struct rate *rate = &rows[r][i];
			struct fabric_wire wire = wire_of(rate->speed, rate->width);
			wire.best_width = rate->best_width;
			if (rate->best_width)
				wire.best_speed_bps =
					subnet_speed_bps(rate->best_speed, rate->best_width);
			add_link_wire(s, 1, i + 1, 101, i + 1, wire);
		}
		f = fabric_of(s);
		for (size_t i = 0; i < f->link_count; i++)
			if (f->links[i].wire.degraded != rows[r][i].degraded)
				fail_msg("row %zu, link %zu", r, i);
		fabric_free(f);
	}
}

/* Each end tells what it supports, and the link can do what both do. */
static void best_of_both_ends(void **state)
{
	struct fabric_wire a = { .width = 1, .best_width = 4 }, b = { .best_width = 2 };
	struct subnet *s = subnet_new();
	struct fabric *f;

	(void)state;
	a.best_speed_bps = subnet_speed_bps("NDR", 4);
	b.best_speed_bps = subnet_speed_bps("XDR", 2);
	add_switch(s, 1, "leaf");
	add_switch(s, 101, "spine");
	for (int i = 0; i < 2; i++) {
		struct subnet_end x = { SWITCH_GUID + 1, 1 }, y = { SWITCH_GUID + 101, 1 };
		assert_int_equal(subnet_add_cable(s, i ? y : x, i ? x : y, i ? &b : &a, false), 0);
	}
	f = fabric_of(s);
	assert_int_equal(f->link_count, 1);
	assert_int_equal(f->links[0].wire.best_width, 2);
	assert_true(f->links[0].wire.best_speed_bps == subnet_speed_bps("NDR", 2));
	fabric_free(f);
}

static struct fabric_wire decoded(unsigned widths, unsigned speeds, unsigned extended,
				  unsigned active)
{
	uint8_t info[IB_SMP_DATA_SIZE] = { 0 };

	mad_set_field(info, 0, IB_PORT_CAPMASK_F, 1u << 14);
	mad_set_field(info, 0, IB_PORT_LINK_WIDTH_SUPPORTED_F, widths);
	mad_set_field(info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, 1);
	mad_set_field(info, 0, IB_PORT_LINK_SPEED_SUPPORTED_F, speeds);
	mad_set_field(info, 0, IB_PORT_LINK_SPEED_ACTIVE_F, 4);
	mad_set_field(info, 0, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F, extended);
	mad_set_field(info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F, active);
	return portinfo_wire(info, info, NULL);
}

static void supported_rates(void **state)
{
	struct fabric_wire w = decoded(0x1f, 7, 0x0f, 4);

	(void)state;
	assert_int_equal(w.width, 1);
	assert_int_equal(w.best_width, 12);
	assert_true(w.best_speed_bps == subnet_speed_bps("NDR", 12));
	w = decoded(0x13, 7, 0x07, 2);
	assert_int_equal(w.best_width, 4);
	assert_true(w.best_speed_bps == subnet_speed_bps("HDR", 4));
	w = decoded(0x11, 7, 0x04, 4);
	assert_int_equal(w.best_width, 2);
	w = decoded(0x03, 3, 0, 0);
	assert_true(w.best_speed_bps == subnet_speed_bps("DDR", 4));
	w = decoded(0x01, 7, 0x04, 8); /* it runs at more than it says: unknown */
	assert_int_equal(w.best_width, 0);
	w = decoded(0, 7, 0x04, 4);
	assert_int_equal(w.best_width, 0);
}

static void speeds(void **state)
{
	(void)state;
	assert_true(subnet_speed_bps("SDR", 4) == 8000000000u);
	assert_true(subnet_speed_bps("QDR", 4) == 32000000000u);
	assert_true(subnet_speed_bps("FDR10", 4) == 40000000000u);
	assert_true(subnet_speed_bps("FDR", 4) == 54545454545u);
	assert_true(subnet_speed_bps("EDR", 4) == 100000000000u);
	assert_true(subnet_speed_bps("HDR", 4) == 200000000000u);
	assert_true(subnet_speed_bps("NDR", 4) == 400000000000u);
	assert_true(subnet_speed_bps("XDR", 4) == 800000000000u);
	assert_true(subnet_speed_bps("XDR", 1) == 200000000000u);
	assert_true(subnet_speed_bps("GDR", 4) == 0);
	assert_true(subnet_speed_bps("HDR", 0) == 0);
}

/* ASICs of one box; the box's name when they agree on one. */
static void chassis(void **state)
{
	struct subnet *s = subnet_new();
	struct fabric *f;

	(void)state;
	for (unsigned i = 1; i <= 4; i++) {
		struct subnet_node node = { i, 77, SUBNET_SWITCH, NULL, 72, 0, 0, true, 0, 0 };
		node.description = io_format("MF0;big:Q3400_RA/U%u", i);
		assert_int_equal(subnet_add_node(s, &node), 0);
		free(node.description);
	}
	add_switch(s, 1, "MF0;small:MQM8700/U1");
	f = fabric_of(s);
	assert_string_equal(f->switches[0].name, "big");
	assert_string_equal(f->switches[1].name, "big-U2");
	assert_string_equal(f->switches[3].chassis, "big");
	assert_null(f->switches[4].chassis);
	fabric_free(f);
}

/* The order in which nodes are met changes nothing, to the byte. */
static void order_does_not_matter(void **state)
{
	size_t len;
	char *text = test_data("topology/rails.topo", &len), *parts[200], *save = NULL, *again;
	struct fabric *f = fabric_of_dump("topology/rails.topo"), *g;
	char *first = fabric_text(f);
	struct notes notes = { 0 };
	struct subnet *s;
	size_t n = 0;
	FILE *out;

	(void)state;
	for (char *at = strstr(text, "\n\nvendid"); at; at = strstr(at + 2, "\n\nvendid"))
		at[1] = '\1';
	for (char *part = strtok_r(text, "\1", &save); part && n < 200;
	     part = strtok_r(NULL, "\1", &save))
		parts[n++] = part;
	assert_true(n > 50);
	out = open_memstream(&again, &len);
	for (size_t i = n; i > 0; i--)
		fprintf(out, "%s\n", parts[i - 1]);
	fclose(out);
	s = parse(again);
	g = model_build(s, "file", "dump", 7, NULL, &notes, NULL);
	free(again);
	again = fabric_text(g);
	assert_string_equal(again, first);
	free(again);
	free(first);
	free(text);
	notes_clear(&notes);
	subnet_free(s);
	fabric_free(f);
	fabric_free(g);
}

static void grouping_sets(void **state)
{
	static const size_t a[] = { 1, 2, 3, 4 }, b[] = { 1, 2 }, c[] = { 2, 3, 5 }, d[] = { 2 },
			    e[] = { 7 };
	struct set sets[] = {
		{ a, 4, 9, 0 }, { b, 2, 3, 0 }, { c, 3, 9, 0 }, { d, 1, 1, 0 }, { e, 1, 1, 0 }
	};

	(void)state;
	assert_int_equal(sets_group(sets, 5), 0);
	assert_int_equal(sets[0].group, 0);
	assert_int_equal(sets[1].group, 0);
	assert_int_equal(sets[2].group, 2);
	assert_int_equal(sets[3].group, 3); /* a and c both hold it */
	assert_int_equal(sets[4].group, 4);
	assert_int_equal(sets_group(NULL, 0), 0);
}

/* topology.conf. */

static void wanted_nodes(void **state)
{
	static const struct wanted nodes[] = { { (char *)"gpu03", (char *)"gpu03" },
					       { (char *)"gpu01", (char *)"gpu01" },
					       { (char *)"gpu09", (char *)"gpu09" },
					       { (char *)"gpu10", (char *)"gpu10" } };
	struct fabric *f = fabric_of_dump("topology/rails.topo");
	struct tree_report report;
	struct err err = { "" };
	char *text = tree_conf_text(f, nodes, 4, false, "w", "a\nSwitchName=evil Nodes=x\\", &report,
				    &err),
	     *lines;

	(void)state;
	assert_non_null(text);
	lines = lines_of(text);
	assert_string_equal(lines,
			    "SwitchName=su1-leaf Nodes=gpu01\nSwitchName=su2-leaf Nodes=gpu03\n"
			    "SwitchName=fabric Switches=su1-leaf,su2-leaf\n");
	assert_int_equal(report.hosts, 2);
	assert_int_equal(report.units, 2);
	assert_int_equal(report.roots, 1);
	assert_int_equal(report.unknown_count, 2);
	assert_string_equal(report.unknown, "gpu[09-10]");
	assert_string_equal(report.unplaced, "");
	assert_non_null(strstr(text, "# Left out, not in the fabric: gpu[09-10].\n"));
	assert_null(strstr(text, "\\\n"));
	tree_report_clear(&report);
	free(lines);
	free(text);

	assert_null(tree_conf_text(f, nodes + 2, 2, false, "w", "s", &report, &err));
	assert_int_equal(report.unknown_count, 2);
	tree_report_clear(&report);

	text = tree_conf_text(f, nodes, 1, false, "w", "s", &report, &err);
	lines = lines_of(text);
	assert_string_equal(lines,
			    "SwitchName=su2-leaf Nodes=gpu03\n"); /* alone: no root above it */
	tree_report_clear(&report);
	free(lines);
	free(text);
	fabric_free(f);
}

/* A host that hangs on no switch is said, not written and not lost. */
static void nodes_of_slurm(void **state)
{
	struct fabric *f = fabric_of_dump("topology/rails.topo");
	struct wanted_list list;
	struct tree_report report;
	struct err err = { "" };
	char *folder = test_folder(), *path = io_format("%s/slurm.conf", folder), *text, *lines;
	static const char conf[] =
		"NodeName=DEFAULT CPUs=1\nClusterName=x\n"
		"NodeName=a[1-2] \\\n  NodeHostname=gpu01.example.org,gpu02.example.org CPUs=2\n"
		"nodename=v[1-2] Port=[7-8] NodeHostName=gpu03 # two slurmd\n"
		"NodeName=gpu04,gone\n";

	(void)state;
	assert_int_equal(io_write_atomic(path, conf, sizeof(conf) - 1, 0644, &err), 0);
	if (wanted_load(&list, path, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(list.count, 6);
	text = tree_conf_text(f, list.nodes, list.count, false, "w", "s", &report, &err);
	lines = lines_of(text);
	assert_string_equal(lines, "SwitchName=su1-leaf Nodes=a[1-2]\n"
				   "SwitchName=su2-leaf Nodes=gpu04,v[1-2]\n"
				   "SwitchName=fabric Switches=su1-leaf,su2-leaf\n");
	assert_string_equal(report.unknown, "gone");
	tree_report_clear(&report);
	wanted_clear(&list);
	free(lines);
	free(text);

	assert_int_equal(
		io_write_atomic(path, "NodeName=a[1-2] NodeHostname=b[1-3]\n", 37, 0644, &err), 0);
	assert_int_equal(wanted_load(&list, path, &err), -EINVAL);
	wanted_clear(&list);
	assert_int_equal(io_write_atomic(path, "ClusterName=a\n", 14, 0644, &err), 0);
	assert_int_equal(wanted_load(&list, path, &err), -ENODATA);
	wanted_clear(&list);
	unlink(path);
	rmdir(folder);
	free(path);
	free(folder);
	fabric_free(f);
}

static void unplaced_hosts(void **state)
{
	struct subnet *s = two_levels(2, 1, 2);
	struct subnet_node node = { 0x9001, 0x9001, SUBNET_CA, (char *)"back mlx5_0", 1, 0, 0,
				    true,   0,	    0 };
	struct fabric_wire wire = { 0 };
	struct tree_report report;
	struct err err = { "" };
	struct fabric *f;
	char *text;

	(void)state;
	assert_int_equal(subnet_add_node(s, &node), 0);
	node.guid = 0x9002;
	node.description = (char *)"toback mlx5_0";
	assert_int_equal(subnet_add_node(s, &node), 0);
	assert_int_equal(subnet_add_cable(s, (struct subnet_end){ 0x9001, 1 },
					  (struct subnet_end){ 0x9002, 1 }, &wire, true),
			 0);
	f = fabric_of(s);
	assert_null(unit_of(f, "back"));
	text = tree_conf_text(f, NULL, 0, false, "w", "s", &report, &err);
	assert_non_null(text);
	assert_string_equal(report.unplaced, "back,toback");
	assert_int_equal(report.unplaced_count, 2);
	assert_int_equal(report.hosts, 4);
	tree_report_clear(&report);
	free(text);
	fabric_free(f);
}

static void clashing_names(void **state)
{
	struct fabric *f = fabric_of_dump("topology/rails.topo");
	struct tree_report report;
	struct err err = { "" };

	(void)state;
	free(f->islands[0].name);
	f->islands[0].name = strdup("su1-leaf");
	assert_null(tree_conf_text(f, NULL, 0, false, "w", "s", &report, &err));
	assert_non_null(strstr(err.text, "su1-leaf"));
	tree_report_clear(&report);
	fabric_free(f);
}

/* The program, its source included. */

static struct {
	char *folder, *out, *said;
} run;

/* Runs sfabric-topology with these arguments (NULL at the end); its output is in run.out, .said. */
static int topology(const char *first, ...)
{
	char *argv[16] = { (char *)"sfabric-topology", (char *)first };
	int argc = 1, out = dup(STDOUT_FILENO), said = dup(STDERR_FILENO), status;
	va_list ap;

	va_start(ap, first);
	while (argv[argc] && argc < 14)
		argv[++argc] = va_arg(ap, char *);
	va_end(ap);
	assert_non_null(freopen(run.out, "w", stdout));
	assert_non_null(freopen(run.said, "w", stderr));
	optind = 0;
	status = topology_main(argc, argv);
	fflush(stdout);
	fflush(stderr);
	dup2(out, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	close(out);
	close(said);
	return status;
}

static char *content(const char *path)
{
	struct err err = { "" };
	char *text;
	size_t len;

	if (io_read(path, 1u << 20, &text, &len, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

static void assert_said(const char *words)
{
	char *said = content(run.said);

	if (!strstr(said, words))
		fail_msg("\"%s\" does not say \"%s\"", said, words);
	free(said);
}

static void start_runs(void)
{
	run.folder = test_folder();
	run.out = io_format("%s/out", run.folder);
	run.said = io_format("%s/said", run.folder);
}

static void end_runs(void)
{
	unlink(run.out);
	unlink(run.said);
	assert_int_equal(rmdir(run.folder), 0); /* no file is left half written */
	free(run.folder);
	free(run.out);
	free(run.said);
}

static void exit_statuses(void **state)
{
	char *dump = io_format("%s/topology/rails.topo", TEST_DATA), *file, *text;

	(void)state;
	start_runs();
	file = io_format("%s/topology.conf", run.folder);
	assert_int_equal(topology("conf", "--from", dump, "-o", file, NULL), 0);
	assert_said("wrote ");
	assert_int_equal(topology("conf", "--from", dump, "-o", file, NULL), 0);
	assert_said("unchanged: ");
	assert_int_equal(topology("conf", "--from", dump, "--nodes", "x[1-3]", "-o", file, NULL),
			 1);
	assert_said("x[1-3]");
	assert_int_equal(topology("conf", "--from", dump, "--json", NULL), 2);
	assert_int_equal(topology("conf", "--from", dump, "--nodes", "x[1-", NULL), 2);
	assert_int_equal(topology("conf", "--from", "/nonexistent", "-o", file, NULL), 4);
	assert_int_equal(topology("conf", "--from", dump, "-o", "/nonexistent/x", NULL), 4);
	assert_int_equal(topology("conf", "--from", dump, "--names", "/nonexistent", NULL), 4);
	assert_int_equal(topology("conf", "--from", dump, "--names", dump, NULL), 4); /* no map */
	assert_int_equal(topology("conf", "--from", dump, "--only", "pkey=1", NULL), 2);
	assert_int_equal(topology("conf", "--from", dump, "--only", "color=red", NULL), 2);
	assert_int_equal(topology("conf", "--from", dump, "--directors", "two", NULL), 2);
	assert_int_equal(topology("conf", "--skip", "plane=0", NULL),
			 2); /* a snapshot has its own */
	assert_int_equal(topology("conf", "--from", dump, "--slurm-conf", dump, NULL), 2);
	assert_int_equal(
		topology("conf", "--from", dump, "--nodes", "slurm", "--slurm-conf", dump, NULL),
		4); /* no nodes in it */
	assert_int_equal(topology("conf", "--from", dump, "--skip", "switch=*", "-o", file, NULL),
			 1);
	assert_said("no host has a port that counts");
	assert_int_equal(topology("discover", "--from", dump, "--from", dump, "--only",
				  "device=mlx5_[0-3]", "-o", file, "--json", NULL),
			 0);
	text = content(file);
	assert_non_null(strstr(text, "\"skipped\":true"));
	free(text);
	assert_int_equal(topology("conf", "--from", dump, "-o", file, NULL), 0);
	text = content(file);
	assert_non_null(strstr(text, "\nSwitchName="));
	free(text);
	unlink(file);
	end_runs();
	free(file);
	free(dump);
}

/* A rename over /dev/null would take it away from everybody. */
static void only_files_are_replaced(void **state)
{
	char *dump = io_format("%s/topology/rails.topo", TEST_DATA), *fifo, *file, *link, *text;
	struct stat st;

	(void)state;
	start_runs();
	fifo = io_format("%s/fifo", run.folder);
	file = io_format("%s/file", run.folder);
	link = io_format("%s/link", run.folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(topology("discover", "--from", dump, "-o", fifo, NULL), 4);
	assert_said("no regular file");
	assert_int_equal(topology("conf", "--from", dump, "-o", run.folder, NULL), 4);
	assert_int_equal(topology("conf", "--from", dump, "-o", link, NULL), 4); /* to nothing */
	assert_int_equal(stat(fifo, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	fclose(fopen(file, "w"));
	assert_int_equal(topology("conf", "--from", dump, "-o", link, NULL), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode)); /* what it points to was written */
	text = content(file);
	assert_non_null(strstr(text, "SwitchName="));
	free(text);
	unlink(fifo);
	unlink(file);
	unlink(link);
	end_runs();
	free(fifo);
	free(file);
	free(link);
	free(dump);
}

static void nothing_moves_the_terminal(void **state)
{
	char *text;

	(void)state;
	start_runs();
	assert_int_equal(topology("conf", "--from", "/nonexistent/\033[2J", NULL), 4);
	text = content(run.said);
	assert_null(strchr(text, '\033'));
	free(text);
	end_runs();
}

/* Real fabrics. */

struct answer {
	const char *file;
	size_t switches, leaves, hosts, units, islands;
};

static void corpus(void **state)
{
	static const struct answer answers[] = {
		{ "topograph/example.out", 40, 31, 120, 8, 1 },
		{ "topograph/example-bad.out", 0, 0, 0, 0, 0 },
		{ "kalcher/topo", 8, 6, 144, 7, 1 },
		{ "ltaulell-X5/X5.topofile", 11, 6, 0, 0, 0 },
		{ "ibtopotool/1.topo", 2, 2, 0, 0, 0 },
		{ "ibtopotool/2.topo", 1, 1, 2, 1, 1 },
		{ "ibtopotool/3.topo", 2, 2, 5, 2, 1 },
		{ "ibtopotool/4.topo", 1, 1, 1, 1, 1 },
	};
	const char *folder = getenv("FABRIC_CORPUS");

	(void)state;
	for (size_t i = 0; folder && i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct answer *a = &answers[i];
		char *path = io_format("%s/%s", folder, a->file), *text;
		struct notes notes = { 0 };
		struct err err = { "" };
		size_t len, leaves = 0;
		struct fabric *f;
		struct subnet *s;
		if (io_read(path, INPUT_MAX_BYTES, &text, &len, &err) < 0)
			fail_msg("%s", err.text);
		whole_way(text, len, true);
		s = parse(text);
		assert_int_equal(s->warnings.total, 0);
		f = model_build(s, "file", a->file, 0, NULL, &notes, &err);
		notes_clear(&notes);
		for (size_t j = 0; j < f->switch_count; j++)
			leaves += f->switches[j].level == 0;
		if (f->switch_count != a->switches || leaves != a->leaves ||
		    f->host_count != a->hosts || f->unit_count != a->units ||
		    f->island_count != a->islands)
			fail_msg("%s: %zu switches, %zu leaves, %zu hosts, %zu units, %zu islands",
				 a->file, f->switch_count, leaves, f->host_count, f->unit_count,
				 f->island_count);
		fabric_free(f);
		subnet_free(s);
		free(text);
		free(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_names),
		cmocka_unit_test(switch_names),
		cmocka_unit_test(common_names),
		cmocka_unit_test(switch_names_are_unique),
		cmocka_unit_test(no_switch_takes_a_guid_name),
		cmocka_unit_test(long_names_stay_apart),
		cmocka_unit_test(reads_a_dump),
		cmocka_unit_test(reads_what_people_save),
		cmocka_unit_test(says_what_is_lost),
		cmocka_unit_test(refuses_what_is_no_dump),
		cmocka_unit_test(two_peers),
		cmocka_unit_test(a_loop_back_plug),
		cmocka_unit_test(sentences_are_bounded),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(a_host_on_a_spine),
		cmocka_unit_test(every_switch),
		cmocka_unit_test(a_host_on_every_spine),
		cmocka_unit_test(dark_leaves),
		cmocka_unit_test(three_level_tree),
		cmocka_unit_test(a_host_on_a_core),
		cmocka_unit_test(uneven_tree),
		cmocka_unit_test(no_spines),
		cmocka_unit_test(rails_and_dark_rails),
		cmocka_unit_test(a_rail_mostly_dark),
		cmocka_unit_test(rails_by_leaf),
		cmocka_unit_test(a_dual_homed_host),
		cmocka_unit_test(islands_stay_apart),
		cmocka_unit_test(separate_planes),
		cmocka_unit_test(sharp_and_routers),
		cmocka_unit_test(appliances),
		cmocka_unit_test(managers),
		cmocka_unit_test(siblings),
		cmocka_unit_test(listed_ports),
		cmocka_unit_test(partitions),
		cmocka_unit_test(ports_that_count),
		cmocka_unit_test(range_extenders),
		cmocka_unit_test(directors),
		cmocka_unit_test(four_levels),
		cmocka_unit_test(shapes),
		cmocka_unit_test(doubled_hosts),
		cmocka_unit_test(absent_parts_stay),
		cmocka_unit_test(replaced_parts_go),
		cmocka_unit_test(nothing_leads_there),
		cmocka_unit_test(lost_queries),
		cmocka_unit_test(degraded_links),
		cmocka_unit_test(degraded_by_support),
		cmocka_unit_test(best_of_both_ends),
		cmocka_unit_test(supported_rates),
		cmocka_unit_test(speeds),
		cmocka_unit_test(chassis),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(grouping_sets),
		cmocka_unit_test(wanted_nodes),
		cmocka_unit_test(nodes_of_slurm),
		cmocka_unit_test(unplaced_hosts),
		cmocka_unit_test(clashing_names),
		cmocka_unit_test(exit_statuses),
		cmocka_unit_test(only_files_are_replaced),
		cmocka_unit_test(nothing_moves_the_terminal),
		cmocka_unit_test(corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
