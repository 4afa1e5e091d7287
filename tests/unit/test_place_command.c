/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_place_command.c - sfabric place: what it makes of sinfo's states, and what it prints.
 *
 * The fabric is that of the contract: n1 and n2 in one unit, n3 and n4 in another, in one pod.
 */
#include "unit.h"

#include <sys/stat.h>

#include "commands.h"
#include "sinfo.h"

static char *folder;

static int make_folder(void **state)
{
	(void)state;
	folder = test_folder();
	return 0;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "nodes", "sinfo", "health.json" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *path = io_format("%s/%s", folder, names[i]);

		unlink(path);
		free(path);
	}
	assert_int_equal(rmdir(folder), 0);
	free(folder);
	return 0;
}

/* A file in the folder; its path is the caller's. */
static char *put(const char *name, const char *text, mode_t mode)
{
	char *path = io_format("%s/%s", folder, name);
	struct err err = { "" };

	assert_non_null(path);
	if (io_write_atomic(path, text, strlen(text), mode, &err) < 0)
		fail_msg("%s", err.text);
	return path;
}

/* Runs the command; what it printed (standard output, then errors) is the caller's. */
static char *run(int *status, const char *const *words)
{
	struct conf_class classes[] = {
		{ .name = (char *)"wide", .kind = KIND_SPREAD },
		{ .name = (char *)"threes", .kind = KIND_SEGMENTS, .segment = 3 },
	};
	struct conf conf = { .state_dir = folder,
			     .fabric_json = (char *)TEST_DATA "/contract/fabric.json",
			     .classes = classes,
			     .class_count = 2 };
	FILE *out = stdout, *bad = stderr;
	char *argv[20] = { (char *)"place" }, *text = NULL;
	size_t len;
	int argc = 1;

	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)words[argc - 1];
	stdout = stderr = open_memstream(&text, &len);
	assert_non_null(stdout);
	*status = cmd_place(&conf, argc, argv);
	fclose(stdout);
	stdout = out;
	stderr = bad;
	return text;
}

/* The command with these words and a sinfo of these lines. */
static char *place(const char *nodes, int expected, const char *const *words)
{
	char *path = put("nodes", nodes, 0600), *text;
	const char *all[20] = { "--sinfo", path };
	int status;

	for (size_t i = 0; words[i]; i++)
		all[i + 2] = words[i];
	text = run(&status, all);
	if (status != expected)
		fail_msg("status %d: %s", status, text);
	free(path);
	return text;
}

#define PLACE(nodes, expected, ...)                                                                \
	place(nodes, expected, (const char *const[]){ __VA_ARGS__, NULL })

static const char all_idle[] = "n1 idle\nn2 idle\nn3 idle\nn4 idle\n";

static void expect(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

static void expect_part(char *text, const char *expected)
{
	if (!strstr(text, expected))
		fail_msg("\"%s\" is not in: %s", expected, text);
	free(text);
}

static void states_decide_what_is_free(void **state)
{
	static const char text[] = "a idle\na allocated\nb idle~\nc idle*\nd mixed\ne drained\n"
				   "f planned\ng idle-\nh idle#\ni allocated*\nj unheard\n";
	static const enum place_node what[] = { PLACE_FREE, PLACE_FREE, PLACE_DOWN, PLACE_BUSY,
						PLACE_DOWN, PLACE_BUSY, PLACE_BUSY, PLACE_FREE,
						PLACE_DOWN, PLACE_DOWN };
	struct err err = { "" };
	struct sinfo *s = sinfo_parse(text, strlen(text), "text", &err);

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->count, 10);
	for (uint32_t i = 0; i < s->count; i++) {
		assert_int_equal(s->names[i][0], 'a' + (int)i);
		assert_int_equal(s->what[i], what[i]);
	}
	sinfo_free(s);
}

static void what_is_not_sinfos_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "\n", "n1\n", "n1 \n", " idle\n", "n1;x idle\n", "n1 idle\n\033[2J idle\n"
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = '\0';
		assert_null(sinfo_parse(bad[i], strlen(bad[i]), "FILE", &err));
		assert_non_null(strstr(err.text, "FILE"));
	}
	sinfo_parse("n1 idle\nn2", 10, "FILE", &err);
	assert_non_null(strstr(err.text, "FILE:2: not \"NODE STATE\""));
}

static void the_nodes_are_printed(void **state)
{
	(void)state;
	expect(PLACE(all_idle, 0, "-N", "2"), "n[1-2]\n");
	expect(PLACE("n1 idle\nn2 mixed\nn3 idle\nn4 idle\n", 0, "-N2"), "n[3-4]\n");
	expect(PLACE(all_idle, 0, "-N", "2", "--class", "spread", "--rank"), "n1\nn3\n");
	expect(PLACE(all_idle, 0, "-N", "2", "--class", "wide", "--rank"), "n1\nn3\n");
	expect_part(PLACE(all_idle, 1, "-N3", "--class=threes,strict"), "3");
	expect(PLACE(all_idle, 0, "-N2", "-w", "n2", "-x", "n1"), "n[2-3]\n");
	expect(PLACE(all_idle, 0, "-N", "2-9"), "n[1-4]\n");
	expect(PLACE("zzz idle\n", 0, "-N", "1"), "zzz\n");
}

static void explain_says_why(void **state)
{
	(void)state;
	expect(PLACE("n1 idle\nn2 down\nn3 idle\nn4 down\n", 0, "-N2", "--class", "same-leaf",
		     "--explain"),
	       "n[1,3]\n"
	       "units: 2, fewest with what is free: 2, fewest possible: 1\n"
	       "pods: 1, fewest with what is free: 1, fewest possible: 1\n"
	       "suspect nodes: 0 used, 0 free ones left out\n"
	       "given up: class same-leaf, what is free has no room for it\n"
	       "unit su1-leaf of pod spine: n1\n"
	       "unit su2-leaf of pod spine: n3\n");
	expect_part(PLACE(all_idle, 0, "-N3", "--class=same-leaf", "--json"),
		    "\"given_up\":[\n    \"class\"\n  ]");
	expect_part(PLACE(all_idle, 1, "-N3", "--class=same-leaf,strict"), "in one unit");
}

static void marks_are_heeded_until_they_run_out(void **state)
{
	static const char marks[] =
		"{\"format\":\"slurm-fabric/health\",\"version\":1,\"marks\":["
		"{\"port\":\"0xb83fd20300100001\",\"since_ns\":1,\"until_ns\":9000000000000000000,"
		"\"by\":\"admin root\",\"why\":\"loose\"},"
		"{\"host\":\"n3\",\"since_ns\":1,\"until_ns\":2,\"by\":\"admin root\","
		"\"why\":\"old\"}]}";
	char *path = put("health.json", marks, 0600);

	(void)state;
	expect(PLACE(all_idle, 0, "-N2"), "n[3-4]\n"); /* the port is n1's */
	expect(PLACE(all_idle, 0, "-N1"), "n1\n");
	expect(PLACE(all_idle, 0, "-N1", "--class", "compact,healthy"), "n2\n");
	expect_part(PLACE(all_idle, 1, "-N4", "--class", "compact,healthy,strict"), "healthy");
	unlink(path);
	expect(PLACE(all_idle, 0, "-N2"), "n[1-2]\n");
	expect_part(PLACE(all_idle, 3, "-N2", "--health", path), "health.json");
	free(path);
}

static void the_histogram_counts_jobs(void **state)
{
	(void)state;
	expect(PLACE("n1 idle\nn2 idle\nn3 idle\nn4 mixed\n", 0, "--histogram"),
	       "   NODES     UNIT      POD\n"
	       "       1        3        3\n"
	       "       2        1        1\n"
	       "       4        0        0\n");
	expect_part(PLACE(all_idle, 0, "--histogram", "--json"),
		    "\"nodes\":4,\n      \"units\":0,\n      \"pods\":1");
}

static void wrong_use_is_told(void **state)
{
	(void)state;
	expect_part(PLACE(all_idle, 2, "--explain"), "give -N, or --histogram");
	expect_part(PLACE(all_idle, 2, "-N", "0"), "no such option, class or number");
	expect_part(PLACE(all_idle, 2, "-N", "4-2"), "no such option");
	expect_part(PLACE(all_idle, 2, "-N2", "--class", "fast"), "no such option");
	expect_part(PLACE(all_idle, 2, "-N2", "--class", "any,loud"), "no such option");
	expect_part(PLACE(all_idle, 2, "-N2", "--what\033[2J"), "--what?[2J");
	expect_part(PLACE(all_idle, 2, "-N2", "-w", "n9"), "no node \"n9\"");
	expect_part(PLACE(all_idle, 2, "-N2", "--histogram"), "give -N, or --histogram");
	expect_part(PLACE(all_idle, 0, "--help"), "Usage: sfabric place");
	expect_part(PLACE("?", 3, "-N2"), "nodes:1: not");
	expect_part(PLACE(all_idle, 3, "-N2", "--fabric", "/nonexistent"), "/nonexistent");
}

static void sinfo_is_run(void **state)
{
	char *script = put("sinfo",
			   "#!/bin/sh\n[ \"$*\" = '-h -N -o %N %T -p gpu' ] || exit 9\n"
			   "echo n3 idle; echo n4 idle\n",
			   0755);
	const char *words[] = { "-N2", "-p", "gpu", NULL }, *old = getenv("PATH");
	char *path = io_format("%s:%s", folder, old);
	int status;

	(void)state;
	old = strdup(old);
	assert_int_equal(setenv("PATH", path, 1), 0);
	expect(run(&status, words), "n[3-4]\n");
	assert_int_equal(status, 0);
	words[1] = NULL;
	expect_part(run(&status, words), "sinfo failed");
	assert_int_equal(status, 3);
	assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
	expect_part(run(&status, words), "is Slurm's bin folder in PATH?");
	assert_int_equal(status, 3);
	setenv("PATH", old, 1);
	free((char *)old);
	free(path);
	free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_decide_what_is_free),
		cmocka_unit_test(what_is_not_sinfos_is_refused),
		cmocka_unit_test(the_nodes_are_printed),
		cmocka_unit_test(explain_says_why),
		cmocka_unit_test(marks_are_heeded_until_they_run_out),
		cmocka_unit_test(the_histogram_counts_jobs),
		cmocka_unit_test(wrong_use_is_told),
		cmocka_unit_test(sinfo_is_run),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
