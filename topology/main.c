/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c - sfabric-topology: discovers the fabric, writes fabric.json, makes topology.conf of it.
 *
 * Finds the command that was asked for; each has a file of its own, cmd_*.c. They get a subnet
 * (live, or from a file) or a fabric.json, hand it to the pure parts, and put their text where it
 * was asked for. Results go to standard output or -o, everything for people to standard error.
 * Only watch speaks to sfabricctld, and is a program of its own beside this one: the libraries for
 * that, thirty of them, take as long to load as a discovery of a thousand HCAs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char top_help[] =
	"Usage: sfabric-topology COMMAND [OPTION]...\n"
	"Discovers an InfiniBand or RoCE fabric and makes Slurm's topology.conf of it.\n"
	"\n"
	"  discover   find out what the fabric is; fabric.json\n"
	"  conf       topology.conf or topology.yaml\n"
	"  check      whether slurmctld takes a topology file, and what is wrong with it\n"
	"  diff       what moved between two topology files or snapshots\n"
	"  apply      checks, installs, lets slurmctld read it, verifies, or puts the old one "
	"back\n"
	"  graph      a picture of the fabric\n"
	"  hints      node features, rank order, --switches, weights, gres.conf\n"
	"  watch      error counters of switch ports\n"
	"\n"
	"  -h, --help      this text; behind a command, that command's options\n"
	"  -V, --version   version\n" EXIT_HELP;

/* Becomes the program of that name in this one's folder. */
static int run_beside(const char *name, char **argv)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *end;

	if (len > 0) {
		path[len] = '\0';
		end = strrchr(path, '/') + 1;
		snprintf(end, sizeof(path) - (size_t)(end - path), "%s", name);
		execv(path, argv);
	}
	say("%s: %s", len > 0 ? path : "/proc/self/exe", strerror(errno));
	return FAILED;
}

static int run_watch(int argc, char **argv)
{
	(void)argc;
	return run_beside("sfabric-topology-watch", argv);
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "discover", cmd_discover }, { "conf", cmd_conf },   { "check", cmd_check },
	{ "diff", cmd_diff },	      { "apply", cmd_apply }, { "graph", cmd_graph },
	{ "hints", cmd_hints },	      { "watch", run_watch },
};

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(command, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0)
		return print(top_help);
	if (strcmp(command, "--version") == 0 || strcmp(command, "-V") == 0)
		return print("sfabric-topology " PACKAGE_VERSION "\n");
	say("%s%s%s; try --help", *command ? "\"" : "", *command ? command : "a command is needed",
	    *command ? "\" is no command" : "");
	return WRONG_USE;
}
