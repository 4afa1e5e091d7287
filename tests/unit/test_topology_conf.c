/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_topology_conf.c - topology files: what slurmctld refuses, blocks and topology.yaml, and what
 * moved (topology/layout.h, check.h, block_conf.h, yaml_conf.h, diff.h).
 *
 * The verdicts are those of slurmctld 22.05.8, 24.11.5 and 26.05.5; tests/topology/loads asks it.
 */
#include "block_conf.h"
#include "check.h"
#include "diff.h"
#include "hosts.h"
#include "layout.h"
#include "unit.h"
#include "yaml_conf.h"

#define LEAVES "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n"
#define GOOD LEAVES "SwitchName=t Switches=a,b\n"
#define BLOCKS "BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4]\n"

static const struct fabric *fabric;   /* for check() */
static const struct slurmconf *slurm; /* the same */
static struct findings found;	      /* by check() and moved() */

/* Checks a text against the nodes n[1-4]; what is found is in found. */
static void check(const char *text, int release)
{
	struct err err = { "" };
	struct wanted_list nodes;
	struct layout l;
	struct check_options o = { release, &nodes, slurm, fabric };
	bool yaml = strstr(text, "topology:") != NULL;

	findings_clear(&found);
	assert_int_equal(wanted_parse(&nodes, "n[1-4]", &err), 0);
	assert_int_equal((yaml ? layout_parse_yaml : layout_parse)(text, strlen(text), &l, &found),
			 0);
	assert_int_equal(layout_check(&l, &o, &found), 0);
	layout_clear(&l);
	wanted_clear(&nodes);
}

static const struct finding *find(const char *words)
{
	for (size_t i = 0; i < found.count; i++)
		if (strstr(found.all[i].text, words))
			return &found.all[i];
	return NULL;
}

static void assert_found(const char *words, bool fatal, size_t line)
{
	const struct finding *f = find(words);

	if (!f)
		fail_msg("\"%s\" is not found, but %zu others: %s", words, found.count,
			 found.count ? found.all[0].text : "");
	assert_int_equal(f->fatal, fatal);
	assert_int_equal(f->line, line);
}

static void good_files(void **state)
{
	static const char *const good[] = {
		GOOD,
		LEAVES "switchname = t SWITCHES = \"a,b\" # top\n",
		LEAVES "SwitchName=t LinkSpeed=100 \\\nSwitches=a,b\r\n",
		"# all on one\nSwitchName=a Nodes=n[1-4]",
		"BlockSizes=2,4\n" BLOCKS,
		BLOCKS,
		"- topology: x\n  cluster_default: true\n  tree:\n    switches:\n"
		"    - switch: a\n      nodes: n[1-4]\n- topology: y\n  flat: true\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		check(good[i], 2605);
		if (found.count)
			fail_msg("file %zu: %s", i, found.all[0].text);
	}
}

static void refused_files(void **state)
{
	static const struct {
		const char *text, *words;
		size_t line;
		int release;
	} bad[] = {
		{ LEAVES "SwitchName=t Switches=a Nodes=n4\n", "both", 3, 2205 },
		{ LEAVES "SwitchName=e\n", "neither", 3, 2411 },
		{ LEAVES LEAVES, "line 1", 3, 2205 },
		{ LEAVES "SwitchName=t Switches=t\n", "itself", 3, 2205 },
		{ LEAVES "SwitchName=t Switches=a,c\n", "the child c", 3, 2205 },
		{ LEAVES "SwitchName=t Switches=u\nSwitchName=u Switches=t\n", "no tree", 4, 2205 },
		{ GOOD "SwitchName=u Nodes=n4 Color=red\n", "Color", 4, 2205 },
		{ GOOD "hello\n", "hello", 4, 2205 },
		{ LEAVES "SwitchName=t Switches=a, b\n", "blanks", 3, 2205 },
		{ LEAVES "SwitchName=t Switches=a,b LinkSpeed=fast\n", "LinkSpeed", 3, 2205 },
		{ LEAVES "SwitchName=t Switches=a,b Level=1\n", "Level", 3, 2205 },
		{ LEAVES "SwitchName=c Nodes=n[4-1]\n", "no host list", 3, 2205 },
		{ LEAVES "\n\n" BLOCKS, "topology/block", 5, 2411 },
		{ "", "no switch or block", 0, 2605 },
		{ BLOCKS, "23.11", 0, 2205 },
		{ BLOCKS "BlockSizes=2,6\n", "no power of two", 3, 2411 },
		{ BLOCKS "BlockSizes=2,3\n", "no power of two", 3, 2411 },
		{ BLOCKS "BlockSizes=4,2\n", "no power of two", 3, 2411 },
		{ BLOCKS "BlockSizes=x\n", "from 1 on", 3, 2411 },
		{ BLOCKS "BlockSizes=2,131072\n", "no power of two", 3, 2411 },
		{ "BlockName=a Nodes=n[1-3]\nBlockName=b Nodes=n4\n", "base size is 3", 2, 2411 },
		{ BLOCKS "BlockName=c Nodes=x[1-2]\n", "c has 0 nodes", 3, 2411 },
		{ BLOCKS "BlockName=c\n", "25.05", 3, 2411 },
		{ "- topology: x\n  flat: true\n", "25.05", 0, 2411 },
		{ "- topology: x\n  flat: true\n  tree:\n    switches: []\n", "one of", 4, 2605 },
		{ "- topology: x\n  flat: false\n", "no tree", 1, 2605 },
		{ "topology: x\n", "no list", 1, 2605 },
		{ "- topology: [\n", "no YAML", 2, 2605 },
		{ "- topology: x\n  block:\n    block_sizes: [2, 6]\n    blocks:\n"
		  "    - block: a\n      nodes: n[1-4]\n",
		  "no power of two", 3, 2605 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check(bad[i].text, bad[i].release);
		assert_found(bad[i].words, true, bad[i].line);
	}
}

static void releases_differ(void **state)
{
	char text[200];

	(void)state;
	snprintf(text, sizeof(text), LEAVES "SwitchName=%065d Switches=a,b\n", 0);
	check(text, 2205);
	assert_found("longer", false, 3);
	check(text, 2411);
	assert_found("longer", true, 3);
	check(GOOD "SwitchName=e\n", 2605);
	assert_found("neither", false, 4);
	check("", 2411);
	assert_found("no switch", false, 0);
	check(BLOCKS "BlockName=c\nBlockSizes=2,4\n", 2605);
	assert_found("holds a position", false, 3);
	assert_int_equal(check_release("slurm-wlm 24.11.5"), 2411);
	assert_int_equal(check_release("26.05"), 2605);
	assert_int_equal(check_release("new"), 0);
	assert_int_equal(check_release("7"), 0);
}

/* A chain is settled from the top down in as many passes; 21 are slurmctld's most. */
static void deep_trees(void **state)
{
	(void)state;
	for (int depth = 20; depth <= 24; depth += 4) {
		struct io_text text = { 0 };
		char *made;
		io_add(&text, "SwitchName=d%d Nodes=n[1-4]\n", depth);
		for (int i = 0; i < depth; i++)
			io_add(&text, "SwitchName=d%d Switches=d%d\n", i, i + 1);
		made = io_end(&text);
		check(made, 2205);
		assert_int_equal(found.fatal, depth == 24);
		free(made);
	}
}

static void nodes_out_of_reach(void **state)
{
	struct slurmconf_partition parts[] = { { (char *)"all", (char *)"ALL", false },
					       { (char *)"left", (char *)"n[1-2]", false },
					       { (char *)"mixed", (char *)"n[2-3]", false } };
	struct slurmconf s = { .partitions = parts,
			       .partition_count = 3,
			       .topology_plugin = (char *)"topology/tree" };

	(void)state;
	slurm = &s;
	check(LEAVES, 2205);
	assert_found("no job spans n[1-2] and n[3-4]", false, 0);
	assert_found("partition mixed: no switch is above all nodes: no job spans n2 and n3", false,
		     0);
	assert_null(find("partition left"));
	check(LEAVES "SwitchName=t Switches=a,b\nSwitchName=u Switches=b\n", 2205);
	assert_int_equal(found.count, 0); /* two parents, and one of them is above all */
	check("SwitchName=a Nodes=n[1-3],x9\n", 2205);
	assert_found("n4 on no switch", false, 0);
	assert_found("slurm.conf has no x9", false, 0);
	check(LEAVES "SwitchName=c Nodes=n1\nSwitchName=t Switches=a,b,c\n", 2205);
	assert_found("n1 on more than one leaf", false, 0);
	s.topology_plugin = (char *)"topology/block";
	check(GOOD, 2411);
	assert_found("restart slurmctld", true, 0);
	slurm = NULL;
}

/* Two pods of three and one unit; one unit is broken. */
static struct fabric *two_pods(void)
{
	static const char *const names[] = { "u1", "u2", "u3", "v1" };
	struct fabric *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->islands = calloc(1, sizeof(*f->islands));
	f->islands[f->island_count++].name = strdup("top");
	f->pods = calloc(2, sizeof(*f->pods));
	for (size_t i = 0; i < 2; i++)
		f->pods[f->pod_count++] =
			(struct fabric_pod){ strdup(i ? "podv" : "podu"), 0, FABRIC_NONE };
	f->units = calloc(4, sizeof(*f->units));
	for (size_t i = 0; i < 4; i++)
		f->units[f->unit_count++] =
			(struct fabric_unit){ strdup(names[i]), NULL, 0, i == 3 };
	f->hosts = calloc(8, sizeof(*f->hosts));
	for (size_t i = 0; i < 8; i++)
		f->hosts[f->host_count++] = (struct fabric_host){ io_format("n%zu", i + 1), i / 2 };
	return f;
}

#define TWO_PODS                                                                                   \
	"SwitchName=u1 Nodes=n[1-2]\nSwitchName=u2 Nodes=n[3-4]\nSwitchName=u3 Nodes=n[5-6]\n"     \
	"SwitchName=v1 Nodes=n[7-8]\nSwitchName=podu Switches=u[1-3]\n"                            \
	"SwitchName=top Switches=podu,v1\n"

/* The blocks of a tree as topology.conf; NULL when there are none. */
static char *blocks_of(const char *tree, int release, long base, struct notes *notes)
{
	struct fabric *f = two_pods();
	struct findings findings = { 0 };
	struct err err = { "" };
	struct layout l, out = { 0 };
	struct layout_topology *t = layout_add(&out);
	char *text = NULL;

	assert_int_equal(layout_parse(tree, strlen(tree), &l, &findings), 0);
	if (block_conf(f, &l.topologies[0], release, base, t, notes, &err) == 0)
		text = layout_text(t, "");
	layout_clear(&l);
	layout_clear(&out);
	findings_clear(&findings);
	fabric_free(f);
	return text;
}

static void assert_blocks(const char *tree, int release, long base, const char *expected)
{
	struct notes notes = { 0 };
	char *text = blocks_of(tree, release, base, &notes);

	assert_non_null(text);
	assert_string_equal(text, expected);
	notes_clear(&notes);
	free(text);
}

static void blocks_by_position(void **state)
{
	static const char three[] = "BlockName=u1 Nodes=n[1-2]\nBlockName=u2 Nodes=n[3-4]\n"
				    "BlockName=u3 Nodes=n[5-6]\n";
	char expected[400];

	(void)state;
	snprintf(expected, sizeof(expected),
		 "%sBlockName=podu-empty1\nBlockName=v1 Nodes=n[7-8]\nBlockSizes=2,8\n", three);
	assert_blocks(TWO_PODS, 2605, 0, expected);
	snprintf(expected, sizeof(expected), "%sBlockName=v1 Nodes=n[7-8]\nBlockSizes=2\n", three);
	assert_blocks(TWO_PODS, 2411, 0, expected); /* no empty blocks: no pods */
}

static void small_blocks(void **state)
{
	static const char tree[] = "SwitchName=u1 Nodes=n[1-2]\nSwitchName=u2 Nodes=n[3-4]\n"
				   "SwitchName=u3 Nodes=n5\n";
	static const char two[] = "BlockName=u1 Nodes=n[1-2]\nBlockName=u2 Nodes=n[3-4]\n";
	struct notes notes = { 0 };
	char expected[300], *text;

	(void)state;
	text = blocks_of(tree, 2411, 0, &notes);
	snprintf(expected, sizeof(expected), "%sBlockSizes=2\n", two);
	assert_string_equal(text, expected);
	assert_non_null(strstr(notes.lines[0], "u3 has 1 nodes"));
	free(text);
	notes_clear(&notes);
	snprintf(expected, sizeof(expected), "%sBlockName=u3 Nodes=n5\nBlockSizes=2\n", two);
	assert_blocks(tree, 2605, 0, expected);
	snprintf(expected, sizeof(expected), "%sBlockName=u3 Nodes=n5\nBlockSizes=1\n", two);
	assert_blocks(tree, 2411, 1, expected);
	assert_null(blocks_of(tree, 2411, 3, &notes));
	notes_clear(&notes);
}

static void not_as_in_the_fabric(void **state)
{
	struct fabric *f = two_pods();

	(void)state;
	fabric = f;
	check("SwitchName=a Nodes=n[1-4]\n", 2205); /* units put together are fine */
	assert_int_equal(found.count, 0);
	check("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4,5]\nSwitchName=c "
	      "Nodes=n[6-7,10]\n"
	      "SwitchName=t Switches=a,b,c\n",
	      2205);
	assert_found("n6 in switch c; in the fabric they are on u3, with those of b", false, 3);
	fabric = NULL;
	fabric_free(f);
}

static void islands_under_one_root(void **state)
{
	struct fabric *f = two_pods();

	(void)state;
	f->islands = realloc(f->islands, 2 * sizeof(*f->islands));
	f->islands[f->island_count++].name = strdup("other");
	f->units[1].pod = 1;
	f->pods[1].island = 1;
	fabric = f;
	check(GOOD, 2205);
	assert_found("no cable does", false, 3);
	check(LEAVES, 2205);
	assert_null(find("no cable does"));
	fabric = NULL;
	fabric_free(f);
}

static void yaml_there_and_back(void **state)
{
	static const char conf[] = GOOD "SwitchName=no Nodes=n[8-9]\nSwitchName=1e3 Nodes=true\n";
	struct findings findings = { 0 };
	struct layout l, again;
	char *text, *back;

	(void)state;
	assert_int_equal(layout_parse(conf, strlen(conf), &l, &findings), 0);
	l.topologies[0].name = strdup("t");
	text = yaml_conf_text(&l, "# head\n");
	assert_non_null(strstr(text, "- switch: a\n      nodes: n[1-2]\n"));
	assert_non_null(strstr(text, "- switch: \"no\"\n"));
	assert_non_null(strstr(text, "- switch: \"1e3\"\n      nodes: \"true\"\n"));
	assert_int_equal(layout_parse_yaml(text, strlen(text), &again, &findings), 0);
	back = layout_text(&again.topologies[0], "");
	assert_string_equal(back, conf);
	assert_int_equal(findings.count, 0);
	free(text);
	free(back);
	layout_clear(&l);
	layout_clear(&again);
}

/* What moved from one text to another; found has it. */
static bool moved(const char *was, const char *is)
{
	struct findings findings = { 0 };
	struct layout a, b;
	bool restart;

	findings_clear(&found);
	assert_int_equal(layout_parse(was, strlen(was), &a, &findings), 0);
	assert_int_equal(layout_parse(is, strlen(is), &b, &findings), 0);
	assert_int_equal(findings.count, 0);
	assert_int_equal(layout_diff(&a, &b, &found, &restart), 0);
	layout_clear(&a);
	layout_clear(&b);
	return restart;
}

static void assert_moved(const char *was, const char *is, const char *words, size_t count)
{
	assert_false(moved(was, is));
	if (!find(words) || found.count != count)
		fail_msg("%zu changes, and \"%s\" is %samong them: %s", found.count, words,
			 find(words) ? "" : "not ", found.count ? found.all[0].text : "");
}

static void what_moved(void **state)
{
	(void)state;
	assert_false(moved(GOOD, "# c\nSwitchName=t Switches=b,a\nSwitchName=b Nodes=n4,n3\n"
				 "SwitchName=a Nodes=n1,n2\n"));
	assert_int_equal(found.count, 0);
	assert_moved(
		GOOD,
		"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[2-4]\nSwitchName=t Switches=a,b\n",
		"n2 moved from a to b", 1);
	assert_moved(
		GOOD,
		"SwitchName=a Nodes=n[1-2]\nSwitchName=c Nodes=n[3-4]\nSwitchName=t Switches=a,c\n",
		"switch b is called c now", 1);
	assert_moved(
		GOOD,
		"SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=u Switches=a,b\n",
		"switch t is called u now", 1);
	assert_moved(GOOD,
		     "SwitchName=a Nodes=n1\nSwitchName=c Nodes=n2\nSwitchName=b Nodes=n[3-4]\n"
		     "SwitchName=t Switches=a,b,c\n",
		     "switch a was split: n2 on c now", 2);
	assert_moved(GOOD, "SwitchName=a Nodes=n[1-4]\nSwitchName=t Switches=a\n",
		     "switch b, with n[3-4], is part of a now", 2);
	assert_moved(GOOD, LEAVES "SwitchName=t Switches=a\n", "switch b is a root now", 1);
	assert_moved(GOOD, LEAVES "SwitchName=p Switches=b\nSwitchName=t Switches=a,p\n",
		     "switch b is below p now, it was below t", 2);
	assert_moved(GOOD,
		     "SwitchName=a Nodes=n[1-2,9]\nSwitchName=b Nodes=n3\n"
		     "SwitchName=t Switches=a,b\n",
		     "new: n9, on switch a", 2);
	assert_non_null(find("gone: n4, from switch b"));
	assert_moved(BLOCKS "BlockSizes=2\n", BLOCKS "BlockSizes=2,4\n", "sizes are others", 1);
	assert_moved(BLOCKS, "BlockName=b Nodes=n[3-4]\nBlockName=a Nodes=n[1-2]\n",
		     "order of the blocks", 1);
	assert_true(moved(GOOD, BLOCKS));
}

static void start_cost(void **state)
{
	struct layout_topology t = { .kind = LAYOUT_TREE, .count = 1600 };
	struct layout l = { .topologies = &t, .count = 1 };

	(void)state;
	assert_in_range((uintmax_t)(check_start_seconds(&l) * 10), 80, 120); /* measured: 11 s */
	t.kind = LAYOUT_FLAT;
	assert_true(check_start_seconds(&l) == 0);
}

static int clear(void **state)
{
	(void)state;
	findings_clear(&found);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_files),
		cmocka_unit_test(refused_files),
		cmocka_unit_test(releases_differ),
		cmocka_unit_test(deep_trees),
		cmocka_unit_test(nodes_out_of_reach),
		cmocka_unit_test(blocks_by_position),
		cmocka_unit_test(small_blocks),
		cmocka_unit_test(not_as_in_the_fabric),
		cmocka_unit_test(islands_under_one_root),
		cmocka_unit_test(yaml_there_and_back),
		cmocka_unit_test(what_moved),
		cmocka_unit_test(start_cost),
	};

	return cmocka_run_group_tests(tests, NULL, clear);
}
