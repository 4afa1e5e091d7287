/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sfabric.c - what people run: main, options, and the table of commands.
 *
 * Options before the command are sfabric's, all behind it are the command's. Nothing is read but
 * fabric.conf before a command is known.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

static const struct {
	const char *name;
	int (*run)(const struct conf *conf, int argc, char **argv);
	const char *what;
} commands[] = {
	{ "show", cmd_show, "JOB [--json]: a job's story" },
	{ "map", cmd_map, "NODE | --from FILE [--json]: a node's GPUs, ports and switches" },
	{ "place", cmd_place,
	  "-N NODES [--class CLASS] [--explain]: where a job would go, and why" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	fprintf(out, "Usage: sfabric [-f FILE] COMMAND ...\n"
		     "What the fabric did for a job.\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-5s %s\n", commands[i].name, commands[i].what);
	fprintf(out,
		"\n  -f, --conf FILE  settings (default %s)\n"
		"  -h, --help       this text\n"
		"  -V, --version    the version\n"
		"Exit status: 0 done, 1 not known, 2 wrong use, 3 no answer.\n",
		conf_default_path());
}

/* Returns -1 to go on, or an exit status. */
static int parse_options(int argc, char **argv, const char **path)
{
	static const struct option longs[] = {
		{ "conf", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+f:hV", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			*path = optarg;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			printf("sfabric %s\n", PACKAGE_VERSION);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc)
		return -1;
	usage(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	struct err err = { "" };
	struct conf *conf;
	int status = parse_options(argc, argv, &path), first = optind;

	if (status >= 0)
		return status;
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[first], commands[i].name) != 0)
			continue;
		conf = conf_load(path ? path : conf_default_path(), !path, &err);
		if (!conf) {
			fprintf(stderr, "sfabric: %s\n", err.text);
			return 3;
		}
		optind = 0; /* the command has its own options */
		status = commands[i].run(conf, argc - first, argv + first);
		conf_free(conf);
		return status;
	}
	fprintf(stderr, "sfabric: no command is called \"%s\"\n", argv[first]);
	usage(stderr);
	return 2;
}
