/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_topology_input.c - recorded files of every flavour, as a subnet (topology/input.h).
 *
 * One small fabric is written in each flavour by this file; what is read back must be the same.
 */
#include "input.h"
#include "namemap.h"
#include "unit.h"

#include <endian.h>

static struct err err;

/* texts: pairs of name and content, NULL at the end. NULL and err when one is refused. */
static struct subnet *read_texts(const char *const *texts)
{
	struct input *in = input_new(NULL);

	assert_non_null(in);
	for (size_t i = 0; texts[i]; i += 2) {
		size_t len = strlen(texts[i + 1]);
		char *copy = malloc(len); /* so that reading behind its end is seen */
		int rc;
		memcpy(copy, texts[i + 1], len);
		rc = input_add(in, copy, len, texts[i], &err);
		free(copy);
		if (rc < 0) {
			input_free(in);
			return NULL;
		}
	}
	return input_finish(in, &err);
}

static struct subnet *read_text(const char *text)
{
	const char *const texts[] = { "dump", text, NULL };
	struct subnet *s = read_texts(texts);

	if (!s)
		fail_msg("%s", err.text);
	return s;
}

static const struct subnet_node *node_of(const struct subnet *s, uint64_t guid)
{
	size_t i = subnet_find(s, guid);

	if (i == FABRIC_NONE)
		fail_msg("no node 0x%llx", (unsigned long long)guid);
	return &s->nodes[i];
}

/* The one fabric: leaf 0x1000 with n1 (0x2000) on port 1 and a cable from 9 to port 3 of 0x1100. */
static void assert_fabric(const struct subnet *s)
{
	if (s->missing.total)
		fail_msg("%s", s->missing.lines[0]);
	assert_int_equal(s->node_count, 3);
	assert_string_equal(node_of(s, 0x1000)->description, "leaf 'a'");
	assert_int_equal(node_of(s, 0x1000)->kind, SUBNET_SWITCH);
	assert_string_equal(node_of(s, 0x1100)->description, "spine");
	assert_string_equal(node_of(s, 0x20000)->description, "n1 mlx5_0");
	assert_int_equal(node_of(s, 0x20000)->kind, SUBNET_CA);
	assert_int_equal(subnet_port_guid(s, 0x20000, 1), 0x20000);
	assert_int_equal(s->cable_count, 2);
	assert_int_equal(s->cables[0].a.node, 0x1000);
	assert_int_equal(s->cables[0].a.port, 1);
	assert_int_equal(s->cables[0].b.node, 0x20000);
	assert_int_equal(s->cables[0].wire.width, 4);
	assert_int_equal(s->cables[1].a.port, 9);
	assert_int_equal(s->cables[1].b.node, 0x1100);
	assert_int_equal(s->cables[1].b.port, 3);
}

static void text_flavours(void **state)
{
	static const char *const texts[] = {
		/* plain */
		"vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x1000\nswitchguid=0x1000(1000)\n"
		"Switch\t64 \"S-0000000000001000\"\t\t# \"leaf 'a'\" enhanced port 0 lid 7 lmc 0\n"
		"[1]\t\"H-0000000000020000\"[1](20000) \t\t# \"n1 mlx5_0\" lid 4 4xNDR\n"
		"[9]\t\"S-0000000000001100\"[3]\t\t# \"spine\" lid 8 4xNDR\n\n"
		"switchguid=0x1100(1100)\n"
		"Switch\t64 \"S-0000000000001100\"\t\t# \"spine\" enhanced port 0 lid 8 lmc 0\n"
		"[3]\t\"S-0000000000001000\"[9]\t\t# \"leaf 'a'\" lid 7 4xNDR\n\n"
		"caguid=0x20000\nCa\t1 \"H-0000000000020000\"\t\t# \"n1 mlx5_0\"\n"
		"[1](20000) \t\"S-0000000000001000\"[1]\t\t# lid 4 lmc 0 \"leaf 'a'\" lid 7 "
		"4xNDR\n",
		/* grouped: a director's switches are there twice, with external ports */
		"Chassis 1 (guid 0x1000)\nHostname: x\n\n# Spine Nodes\n"
		"sysimgguid=0x1000\t\t# Chassis 1\nswitchguid=0x1100(1100)\t# ISR9288 Spine 1 Chip "
		"1\n"
		"Switch\t64 \"S-0000000000001100\"\t\t# \"spine\" base port 0 lid 8 lmc 0\n"
		"[3]\t\"S-0000000000001000\"[9][ext 4]\t\t# \"leaf 'a'\" lid 7 4xNDR\n"
		"# Line Nodes\nswitchguid=0x1000(1000)\t# Line 1 Chip 1\n"
		"Switch\t64 \"S-0000000000001000\"\t\t# \"leaf 'a'\" base port 0 lid 7 lmc 0\n"
		"[1][ext 12]\t\"H-0000000000020000\"[1](20000) \t\t# \"n1 mlx5_0\" lid 4 4xNDR\n"
		"[9][ext 4]\t\"S-0000000000001100\"[3]\t\t# \"spine\" lid 8 4xNDR\n"
		"# Chassis Switches\nswitchguid=0x1100(1100)\t# ISR9288 Spine 1 Chip 1\n"
		"Switch\t64 \"S-0000000000001100\"\t\t# \"spine\" base port 0 lid 8 lmc 0\n"
		"[3]\t\"S-0000000000001000\"[9][ext 4]\t\t# \"leaf 'a'\" lid 7 4xNDR\n"
		"# Chassis CAs\nNon-Chassis Nodes\n"
		"caguid=0x20000\nCa\t1 \"H-0000000000020000\"\t\t# \"n1 mlx5_0\" (scp)\n"
		"[1](20000) \t\"S-0000000000001000\"[1][ext 12]\t\t# lid 4 lmc 0 \"leaf 'a'\" lid "
		"7 "
		"4xNDR s=4 w=2 v=4 e=8\n",
		/* ibdiagnet: port numbers twice, attributes twice, no LIDs; no blank lines */
		"vendid=0x2c9\nvendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x1000\nswitchguid=0x1000("
		"1000)\n"
		"switchguid=0x1000(1000)\nSwitch 64 \"S-0000000000001000\" # \"leaf 'a'\" enhanced "
		"port 0 "
		"lid  lmc 0\n"
		"[1](1) \"H-0000000000020000\"[1](20000) # \"n1 mlx5_0\" lid  4xNDR\n"
		"[9](9) \"S-0000000000001100\"[3](3) # \"spine\" lid 99999999 4xNDR\n"
		"switchguid=0x1100(1100)\n"
		"Switch 64 \"S-0000000000001100\" # \"spine\" enhanced port 0 lid -1 lmc 0\n"
		"[3](3) \"S-0000000000001000\"[9](9) # \"leaf 'a'\" lid 4xNDR\n"
		"caguid=0x20000\nCa 1 \"H-0000000000020000\" # \"n1 mlx5_0\"\n"
		"[1](20000) \"S-0000000000001000\"[1](1) # lid 4 lmc 0 \"leaf 'a'\" lid 7 4xNDR\n",
		/* a list of ports, one of them without a LID */
		"SW     7 64 0x0000000000001000 4x ???                                    'leaf "
		"'a''\n"
		"SW     7  9 0x0000000000001000 4x NDR - SW     8  3 0x0000000000001100 ( 'leaf "
		"'a'' - "
		"'spine' )\r\n"
		"SW     7  1 0x0000000000001000 4x NDR - CA     4  1 0x0000000000020000 ( 'leaf "
		"'a'' - "
		"'n1 mlx5_0' )\n"
		"SW     8  3 0x0000000000001100 4x NDR - SW     7  9 0x0000000000001000 ( 'spine' "
		"- "
		"'leaf 'a'' )\n"
		"CA        1 0x0000000000020000 4x NDR - SW     7  1 0x0000000000001000 ( 'n1 "
		"mlx5_0' "
		"- 'leaf 'a'' )\n",
		/* both in one file, as saved from a terminal */
		"\xef\xbb\xbfSwitch\t64 \"S-0000000000001000\"\t\t# \"leaf 'a'\" base port 0 lid 7 "
		"lmc 0\r\n"
		"[1]\t\"H-0000000000020000\"[1](20000) \t\t# \"n1 mlx5_0\" lid 4 4xNDR\r\n"
		"  [9]\t\"S-0000000000001100\"[3]\t\t# \"spine\" lid 8 4xNDR\r\n\r\n"
		"SW     8  3 0x0000000000001100 4x NDR - SW     7  9 0x0000000000001000 ( 'spine' "
		"- "
		"'leaf 'a'' )\r\n"
		"CA     4  1 0x0000000000020000 4x NDR - SW     7  1 0x0000000000001000 ( 'n1 "
		"mlx5_0' "
		"- 'leaf 'a'' )",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct subnet *s = read_text(texts[i]);
		assert_int_equal(s->warnings.total, 0);
		assert_fabric(s);
		subnet_free(s);
	}
}

/* Each line that says nothing to us is named with its number, and counted. */
static void lines_are_counted(void **state)
{
	struct subnet *s = read_text("# comment\n[root@head ~]# ibnetdiscover\n"
				     "Switch 8 \"S-0000000000000010\" # \"a\"\nLine of noise\n"
				     "SW here\nCA 1 2\n"
				     "SW 7 300 0x10 4x NDR - SW 8 3 0x20 ( 'a' - 'b' )\n"
				     "SW 7 3 0x10 4x NDR - SW 8 3 0x20 ( 'a' )\n"
				     "SW 7 3 0x10 - SW 8 3 0x20 ( 'a' - 'b' )\n");

	(void)state;
	assert_int_equal(s->warnings.total, 5);
	assert_string_equal(s->warnings.lines[0],
			    "dump:2: not understood: [root@head ~]# ibnetdiscover");
	assert_string_equal(s->warnings.lines[1], "dump:4: not understood: Line of noise");
	assert_string_equal(
		s->warnings.lines[4],
		"dump:7: not understood: SW 7 300 0x10 4x NDR - SW 8 3 0x20 ( 'a' - 'b' )");
	assert_int_equal(s->missing.total, 2); /* lines that told of a cable */
	assert_memory_equal(s->missing.lines[0], "dump:8: this port", 17);
	assert_memory_equal(s->missing.lines[1], "dump:9: this port", 17);
	subnet_free(s);
}

/* Attributes announce a node: without its header, its ports are not those of the node before. */
static void a_lost_header(void **state)
{
	struct subnet *s =
		read_text("Switch 8 \"S-0000000000000010\" # \"a\"\n"
			  "vendid=0x2c9\n[1] \"S-0000000000000010\"[2] # \"a\" lid 1 4xNDR\n");

	(void)state;
	assert_int_equal(s->cable_count, 0);
	assert_int_equal(s->missing.total, 1);
	assert_memory_equal(s->missing.lines[0], "dump:3: this port belongs to no node", 36);
	subnet_free(s);
}

/* ibnetdiscover -g leaves out the routers inside a switch's box: nothing is lost by that. */
static void a_router_in_a_box(void **state)
{
	struct subnet *s =
		read_text("Switch 8 \"S-0000000000000010\" # \"a\"\n"
			  "[1] \"R-0000000000000020\"[1](20000) # \"a/RT\" lid 1 4xXDR\n");

	(void)state;
	assert_int_equal(s->missing.total, 0);
	assert_int_equal(node_of(s, 0x20)->kind, SUBNET_ROUTER);
	subnet_free(s);
}

/* Two subnets, saved one by one; what both tell is there once. */
static void several_files(void **state)
{
	static const char one[] =
		"Switch 8 \"S-0000000000000010\" # \"a\"\n"
		"[1] \"H-0000000000000030\"[1](31) # \"n1 mlx5_0\" lid 1 4xNDR\n"
		"Ca 2 \"H-0000000000000030\" # \"n1 mlx5_0\"\n"
		"[1](31) \"S-0000000000000010\"[1] # lid 1 lmc 0 \"a\" lid 2 4xNDR\n";
	static const char two[] =
		"Switch 8 \"S-0000000000000020\" # \"b\"\n"
		"[1] \"H-0000000000000030\"[2](32) # \"n1 mlx5_0\" lid 1 4xNDR\n"
		"Ca 2 \"H-0000000000000030\" # \"n1 mlx5_0\"\n"
		"[2](32) \"S-0000000000000020\"[1] # lid 1 lmc 0 \"b\" lid 2 4xNDR\n";
	static const char *const texts[] = { "a", one, "b", two, NULL };
	static const char *const bad[] = { "a", one, "b", "hello\n", NULL };
	struct subnet *s = read_texts(texts);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->node_count, 3);
	assert_int_equal(s->cable_count, 2);
	assert_int_equal(s->missing.total, 0);
	subnet_free(s);
	assert_null(read_texts(bad));
	assert_memory_equal(err.text, "b: there is no node", 19);
}

/* A cache file: the head, 2 switches and an HCA, then their ports. */

struct bytes {
	uint8_t at[8192];
	size_t len;
};

static void put(struct bytes *b, uint64_t value, int bytes)
{
	for (; bytes > 0; bytes--, value >>= 8)
		b->at[b->len++] = (uint8_t)value;
}

static void put_big(uint8_t *at, uint64_t value, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--, value >>= 8)
		at[i] = (uint8_t)value;
}

static void put_node(struct bytes *b, uint64_t guid, int type, int ports, const char *description,
		     const int *kept)
{
	size_t start, count;

	put(b, 0, 4);
	b->len += 64;
	put(b, guid, 8);
	put(b, (uint64_t)type, 1);
	put(b, (uint64_t)ports, 1);
	put_big(b->at + b->len + 4, guid & ~UINT64_C(0xff), 8); /* NodeInfo.SystemImageGUID */
	put_big(b->at + b->len + 30, 0xd2f2, 2);		/* DeviceID */
	put_big(b->at + b->len + 37, 0x2c9, 3);			/* VendorID */
	b->len += 64;
	memcpy(b->at + b->len, description, strlen(description));
	b->len += 64;
	start = b->len++;
	for (count = 0; kept[count] >= 0; count++) {
		put(b, guid, 8);
		put(b, (uint64_t)kept[count], 1);
	}
	b->at[start] = (uint8_t)count;
}

static void put_port(struct bytes *b, uint64_t guid, int number, uint64_t peer, int peer_port)
{
	uint8_t *info = b->at + b->len + 13;

	put(b, guid, 8);
	put(b, (uint64_t)number, 1);
	b->len += 4;
	put_big(info + 20, 1u << 14, 4); /* CapabilityMask: extended speeds */
	info[31] = 2;			 /* LinkWidthActive: 4x */
	info[32] = 4;			 /* PortState: active */
	info[33] = 5 << 4;		 /* PortPhysicalState: up */
	info[35] = 4 << 4;		 /* LinkSpeedActive */
	info[62] = 8 << 4;		 /* LinkSpeedExtActive: NDR */
	b->len += 64;
	put(b, guid, 8);
	put(b, peer != 0, 1);
	put(b, peer, 8);
	put(b, (uint64_t)peer_port, 1);
}

static void make_cache(struct bytes *b)
{
	static const int leaf[] = { 0, 1, 9, -1 }, spine[] = { 0, 3, -1 }, hca[] = { 1, -1 };

	memset(b, 0, sizeof(*b));
	put(b, 0x8fe7832b, 4);
	put(b, 1, 4);
	put(b, 3, 4); /* nodes */
	put(b, 6, 4); /* ports */
	put(b, 0x1000, 8);
	put(b, 2, 4);
	put_node(b, 0x1000, 2, 1, "leaf 'a'", leaf);
	put_node(b, 0x1100, 2, 0, "spine", spine);
	put_node(b, 0x20000, 1, 2, "n1 mlx5_0", hca);
	put_port(b, 0x1000, 0, 0, 0);
	put_port(b, 0x1000, 1, 0x20000, 1);
	put_port(b, 0x1000, 9, 0x1100, 3);
	put_port(b, 0x1100, 0, 0, 0);
	put_port(b, 0x1100, 3, 0x1000, 9);
	put_port(b, 0x20000, 1, 0x1000, 1);
	b->at[28 + 4 + 64 + 9] = 9; /* the leaf's number of ports; 2 to 8 are not kept */
	b->at[28 + 207 + 27 + 4 + 64 + 9] = 3;
}

static struct subnet *read_cache(const struct bytes *b, size_t len)
{
	struct input *in = input_new(NULL);
	char *copy = malloc(len + 1);
	struct subnet *s = NULL;

	memcpy(copy, b->at, len);
	if (input_add(in, copy, len, "cache", &err) == 0)
		s = input_finish(in, &err);
	else
		input_free(in);
	free(copy);
	return s;
}

static void caches(void **state)
{
	struct bytes b;
	struct subnet *s;

	(void)state;
	make_cache(&b);
	s = read_cache(&b, b.len);
	if (!s)
		fail_msg("%s", err.text);
	assert_int_equal(s->missing.total, 7 + 2); /* ports that were not kept */
	assert_non_null(strstr(s->missing.lines[0],
			       "port 2 of switch 0x0000000000001000 (leaf 'a') "
			       "could not be read"));
	s->missing.total = 0;
	assert_fabric(s);
	assert_int_equal(node_of(s, 0x1000)->device, 0xd2f2);
	assert_int_equal(node_of(s, 0x1000)->vendor, 0x2c9);
	assert_int_equal(node_of(s, 0x20000)->system_guid, 0x20000);
	assert_int_equal(s->cables[0].wire.state, LINK_ACTIVE);
	assert_true(s->cables[0].wire.speed_bps == 400000000000u);
	s->missing.total = s->missing.kept;
	subnet_free(s);

	b.at[b.len - 95 * 4 + 94] = 77; /* the leaf's port 9 is said to have another peer */
	s = read_cache(&b, b.len);
	assert_int_equal(s->missing.total, 8 + 2); /* the spine alone tells of that cable */
	subnet_free(s);
	b.at[4] = 2; /* a newer version */
	assert_null(read_cache(&b, b.len));
	assert_memory_equal(err.text, "cache: no cache", 15);
}

/* Whatever was read, cables join nodes. */
static void assert_ends(struct subnet *s)
{
	for (size_t i = 0; s && i < s->cable_count; i++) {
		assert_true(subnet_find(s, s->cables[i].a.node) != FABRIC_NONE);
		assert_true(subnet_find(s, s->cables[i].b.node) != FABRIC_NONE);
	}
	subnet_free(s);
}

/* Cut anywhere, and with any byte changed. */
static void any_cache(void **state)
{
	struct bytes b;

	(void)state;
	make_cache(&b);
	for (size_t n = 0; n < b.len; n++)
		assert_null(read_cache(&b, n));
	for (size_t i = 4; i < b.len; i++) {
		static const uint8_t values[] = { 0, 1, 0x7f, 0xff };
		for (size_t j = 0; j < sizeof(values); j++) {
			uint8_t was = b.at[i];
			b.at[i] = values[j];
			assert_ends(read_cache(&b, b.len));
			b.at[i] = was;
		}
	}
}

/* LLDP. */

#define JSON0(iface, chassis, mac, caps, type, id, descr)                                          \
	"{\"name\":\"" iface                                                                       \
	"\",\"via\":\"LLDP\",\"chassis\":[{\"id\":[{\"type\":\"mac\",\"value\":\"" mac             \
	"\"}]," chassis "\"capability\":[" caps "]}],\"port\":[{\"id\":[{\"type\":\"" type         \
	"\",\"value\":\"" id "\"}],\"descr\":[{\"value\":\"" descr "\"}]}]}"
#define NAMED(name) "\"name\":[{\"value\":\"" name "\"}],"
#define JSON(iface, chassis, mac, type, id, descr)                                                 \
	"{\"" iface "\":{\"via\":\"LLDP\",\"chassis\":{\"" chassis "\":{\"id\":{\"type\":\"mac\"," \
	"\"value\":\"" mac "\"}}},\"port\":{\"id\":{\"type\":\"" type "\",\"value\":\"" id         \
	"\"},\"descr\":\"" descr "\"}}}"
#define BRIDGE "{\"type\":\"Bridge\",\"enabled\":true}"

static const char gpu1[] = "{\"lldp\":[{\"interface\":[" JSON0(
	"rail0", NAMED("leaf0.example.org"), "02:00:00:00:00:10", BRIDGE, "ifname", "swp1",
	"x") "," JSON0("rail1", NAMED("leaf1"), "02:00:00:00:00:11", BRIDGE, "mac",
		       "02:00:00:00:00:11", "swp1") "]}]}";
static const char gpu2[] = "{\"lldp\":{\"interface\":[" JSON(
	"rail0", "leaf0", "02:00:00:00:00:10", "ifname", "swp2",
	"to gpu2") "," JSON("rail1", "leaf1", "02:00:00:00:00:11", "ifname", "swp2",
			    "to gpu2") "]}}\n"
				       "{\"local-chassis\":{\"chassis\":{\"gpu2\":{\"id\":{"
				       "\"type\":\"mac\",\"value\":"
				       "\"02:00:00:00:00:02\"}}}}}";

static void lldp_of_hosts(void **state)
{
	static const char *const texts[] = { "dir/gpu1.json", gpu1, "other", gpu2, NULL };
	struct subnet *s = read_texts(texts);
	size_t hosts = 0;

	(void)state;
	if (!s)
		fail_msg("%s", err.text);
	assert_int_equal(s->missing.total, 0);
	assert_true(s->links_unknown);
	assert_int_equal(s->warnings.total, 1); /* it says so */
	assert_int_equal(s->node_count, 6);
	assert_int_equal(s->cable_count, 4);
	assert_string_equal(node_of(s, UINT64_C(0x020000fffe000010))->description, "leaf0");
	assert_int_equal(node_of(s, UINT64_C(0x020000fffe000010))->kind, SUBNET_SWITCH);
	for (size_t i = 0; i < s->node_count; i++)
		hosts += strcmp(s->nodes[i].description, "gpu2 rail1") == 0;
	assert_int_equal(hosts, 1);
	for (size_t i = 0; i < s->cable_count; i++)
		assert_int_equal(s->cables[i].a.port < 3 && s->cables[i].b.port < 3, 1);
	subnet_free(s);
}

/* The same with the switches' own words: each cable once, links between switches known. */
static void lldp_of_switches(void **state)
{
	static const char leaf0[] = "{\"lldp\":{\"interface\":[" JSON(
		"swp1", "gpu1", "02:00:00:00:00:01", "mac", "02:00:00:00:00:01",
		"rail0") "," JSON("swp2", "gpu2", "02:00:00:00:00:02", "mac", "02:00:00:00:00:02",
				  "") "," JSON("swp9", "spine", "02:00:00:00:00:20", "ifname",
					       "swp1", "") "]}}";
	static const char leaf1[] =
		"{\"lldp\":{\"interface\":{\"swp9\":{\"via\":\"LLDP\",\"chassis\":{\"spine\":{"
		"\"id\":{"
		"\"type\":\"mac\",\"value\":\"02:00:00:00:00:20\"}}},\"port\":{\"id\":{\"type\":"
		"\"ifname\",\"value\":\"swp2\"}}}}}}";
	static const char *const texts[] = { "gpu1", gpu1,    "x",   gpu2, "leaf0",
					     leaf0,  "leaf1", leaf1, NULL };
	static const char *const fewer[] = { "gpu1", gpu1, "x", gpu2, "leaf0", leaf0, NULL };
	struct subnet *s = read_texts(texts);

	(void)state;
	if (!s)
		fail_msg("%s", err.text);
	if (s->missing.total)
		fail_msg("%s", s->missing.lines[0]);
	assert_false(s->links_unknown);
	assert_int_equal(s->node_count, 7);
	assert_int_equal(s->cable_count, 6);
	subnet_free(s);

	s = read_texts(fewer); /* leaf1 has hosts only: how it is joined is not known */
	assert_int_equal(s->missing.total, 1);
	assert_non_null(strstr(s->missing.lines[0], "(leaf1)"));
	subnet_free(s);
}

static void lldp_refused(void **state)
{
	static const char *const texts[] = {
		"{",
		"{}",
		"{\"a\":1}",
		"{\"lldp\":",
		"{\"lldp\":{}}{\"lldp\":{}}{}{}{}",
		"{\"lldp\":{\"interface\":[\"x\"]}} trailing",
	};
	struct subnet *s;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *const one[] = { "x.json", texts[i], NULL };
		err.text[0] = '\0';
		if (read_texts(one))
			fail_msg("%s", texts[i]);
		assert_memory_equal(err.text, "x.json:", 7);
	}
	s = read_text(
		"{\"lldp\":{\"interface\":[\"x\",{\"e\":{\"chassis\":{}}},{\"e\":{\"chassis\":"
		"{\"id\":{}}}}, {\"e\":[]}, {\"e\":{}}]}}");
	assert_int_equal(s->node_count, 0);
	assert_int_equal(s->warnings.total, 3);
	subnet_free(s);
}

static void any_lldp(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		static const char alphabet[] = "{}[]\",:\\ a1n";
		char copy[sizeof(gpu2)];
		const char *const texts[] = { "x", copy, NULL };
		memcpy(copy, gpu2, sizeof(copy));
		for (int i = 0; i <= round % 5; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			copy[seed % (sizeof(copy) - 1)] =
				alphabet[(seed >> 32) % (sizeof(alphabet) - 1)];
		}
		subnet_free(read_texts(texts));
	}
}

/* Names for GUIDs. */

static void name_maps(void **state)
{
	static const char text[] = "# site\n0x0008f10400411f56 \"leaf 1\" # MTS9288\r\n\n"
				   "H-003048c74e4a0000 comp1\ngpu7: 0x155dfffd33ff33\n"
				   "  0002c90300a1b2c3\t\"gpu8 mlx5_0\"\n0002:c903:00a1:b2c4 gpu9\n"
				   "gpu1 gpu2\n0x12 \"open\n0x13\n\"\"\n0x0 zero\n0x14 a b\n"
				   "0x155dfffd33ff33 other";
	struct notes warnings = { 0 };
	struct namemap *m = namemap_parse(text, sizeof(text) - 1, "map", &warnings, &err);

	(void)state;
	assert_non_null(m);
	assert_string_equal(namemap_find(m, UINT64_C(0x0008f10400411f56)), "leaf 1");
	assert_string_equal(namemap_find(m, UINT64_C(0x003048c74e4a0000)), "comp1");
	assert_string_equal(namemap_find(m, UINT64_C(0x155dfffd33ff33)), "other");
	assert_string_equal(namemap_find(m, UINT64_C(0x0002c90300a1b2c3)), "gpu8 mlx5_0");
	assert_string_equal(namemap_find(m, UINT64_C(0x0002c90300a1b2c4)), "gpu9");
	assert_null(namemap_find(m, 1));
	assert_null(namemap_find(NULL, 1));
	assert_int_equal(warnings.total, 7); /* six lines, and the GUID with two names */
	assert_string_equal(warnings.lines[0], "map:8: no GUID and name: gpu1 gpu2");
	assert_non_null(strstr(warnings.lines[6], "map:14: 0x00155dfffd33ff33 was called gpu7"));
	notes_clear(&warnings);
	namemap_free(m);
	assert_null(namemap_parse("# none\n", 7, "map", &warnings, &err));
	assert_memory_equal(err.text, "map: there is no GUID", 21);
}

/* A map names nodes by their own GUID or a port's, also those that did not say anything. */
static void named_by_map(void **state)
{
	static const char map[] =
		"0x10 leaf\n0x31 \"port wins not\"\n0x30 \"gpu1 mlx5_0\"\n0x41 gpu2\n";
	static const char text[] =
		"Switch 8 \"S-0000000000000010\" # \"\"\n"
		"[1] \"H-0000000000000030\"[1](20031) # \"x\" lid 1 4xNDR\n"
		"[2] \"H-0000000000000040\"[1](20041) # \"x\" lid 1 4xNDR\n"
		"Ca 2 \"H-0000000000000030\" # \"x\"\n"
		"[1](20031) \"S-0000000000000010\"[1] # lid 1 lmc 0 \"\" lid 2 4xNDR\n"
		"Ca 2 \"H-0000000000000040\" # \"x\"\n"
		"[1](20041) \"S-0000000000000010\"[2] # lid 1 lmc 0 \"\" lid 2 4xNDR\n";
	struct notes warnings = { 0 };
	struct namemap *m = namemap_parse(map, sizeof(map) - 1, "map", &warnings, &err);
	struct input *in = input_new(m);
	struct subnet *s;

	(void)state;
	assert_int_equal(input_add(in, text, sizeof(text) - 1, "dump", &err), 0);
	s = input_finish(in, &err);
	assert_int_equal(s->missing.total, 0);
	assert_string_equal(node_of(s, 0x10)->description, "leaf");
	assert_string_equal(node_of(s, 0x30)->description, "gpu1 mlx5_0");
	assert_string_equal(node_of(s, 0x40)->description, "x"); /* 0x41 is another GUID */
	subnet_free(s);
	namemap_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_flavours),    cmocka_unit_test(lines_are_counted),
		cmocka_unit_test(a_lost_header),    cmocka_unit_test(a_router_in_a_box),
		cmocka_unit_test(several_files),    cmocka_unit_test(caches),
		cmocka_unit_test(any_cache),	    cmocka_unit_test(lldp_of_hosts),
		cmocka_unit_test(lldp_of_switches), cmocka_unit_test(lldp_refused),
		cmocka_unit_test(any_lldp),	    cmocka_unit_test(name_maps),
		cmocka_unit_test(named_by_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
