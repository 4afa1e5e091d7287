/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.h - what the commands of sfabric-topology share (cli.c, cli_fabric.c).
 *
 * A command is a file cmd_*.c with one function. It describes itself (struct command), reads its
 * options, gets its fabric, and hands a text to write_text() or print().
 */
#ifndef TOPOLOGY_CLI_H
#define TOPOLOGY_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "absent.h"
#include "fabric.h"
#include "json.h"
#include "live.h"
#include "notes.h"
#include "pick.h"
#include "tree_conf.h"
#include "wanted.h"

enum { DONE = 0, NOTHING = 1, WRONG_USE = 2, INCOMPLETE = 3, FAILED = 4 };

#define FROM_MAX 64 /* a folder is one */
#define PICKS_MAX 32
#define FILES_MAX 2

int cmd_discover(int argc, char **argv);
int cmd_conf(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_hints(int argc, char **argv);
int cmd_watch(int argc, char **argv);

/* The end of a command's help. */
#define EXIT_HELP                                                                                  \
	"\n"                                                                                       \
	"Exit status: 0 done, 1 nothing to write (no hosts), 2 wrong use, 3 the discovery was\n"   \
	"incomplete and nothing was written, 4 an input or output failed.\n"

/* Options that several commands have; a command's own begin at OPT_OWN. */
enum {
	OPT_FROM = 256,
	OPT_FABRIC,
	OPT_TIMEOUT,
	OPT_MAX_SMPS,
	OPT_ACCEPT,
	OPT_JSON,
	OPT_NODES,
	OPT_SLURM_CONF,
	OPT_NAMES,
	OPT_ONLY,
	OPT_SKIP,
	OPT_DIRECTORS,
	OPT_PARTITIONS,
	OPT_OWN
};

/* clang-format off */
/* Lines of a command's table: how a fabric is discovered. */
#define DISCOVERY_OPTIONS                                                   \
	{ "from", required_argument, NULL, OPT_FROM },                      \
	{ "names", required_argument, NULL, OPT_NAMES },                    \
	{ "only", required_argument, NULL, OPT_ONLY },                      \
	{ "skip", required_argument, NULL, OPT_SKIP },                      \
	{ "directors", required_argument, NULL, OPT_DIRECTORS },            \
	{ "partitions", required_argument, NULL, OPT_PARTITIONS },          \
	{ "accept-partial", no_argument, NULL, OPT_ACCEPT }
/* clang-format on */

struct options {
	const char *from[FROM_MAX]; /* none: live, or fabric.json */
	size_t from_count;
	const char *fabric;	/* NULL: the one of fabric.conf */
	const char *output;	/* NULL: standard output */
	char *target;		/* output with symbolic links followed: what is replaced */
	const char *nodes;	/* NULL: all */
	const char *slurm_conf; /* NULL: that of fabric.conf, or Slurm's own */
	const char *names;	/* file of names for GUIDs, or NULL */
	struct pick picks[PICKS_MAX];
	size_t pick_count;
	struct live_options live;
	const char *partitions; /* file for pkey=, or NULL */
	const char *directors;	/* NULL, "many" or "one" */
	bool accept_partial, json, help;
	const char *files[FILES_MAX]; /* arguments that are no options */
	size_t file_count;
};

struct command {
	const char *help;
	const char *letters; /* of getopt(3); with o:, --json needs -o */
	const struct option *options;
	bool live;			/* without --from it discovers; else it has --fabric */
	size_t files;			/* how many arguments it can have */
	bool (*take)(int c, void *own); /* an option of its own, in optarg; NULL: it has none */
};

/*
 * Reads the options; own is for take(). False when there is nothing left to do, *status then says
 * why: DONE after --help, WRONG_USE after saying what is wrong.
 */
bool read_options(const struct command *command, int argc, char **argv, struct options *o,
		  void *own, int *status);

/* A number from 1 to max; false after saying what is wrong. */
bool number(const char *option, const char *text, unsigned max, unsigned *value);

/* A sentence to standard error; at most ten of many. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_all(const char *label, char *const *lines, size_t kept, size_t total);

/* Whether --nodes slurm was given. */
bool wants_slurm(const struct options *o);

/* What a run found out, for the summary. */
struct outcome {
	const char *command;
	const struct fabric
		*was; /* not owned: what discover() finds out what is absent from, or NULL */
	struct absent_options absent;
	struct fabric *fabric;
	struct notes warnings, notes;
	struct tree_report tree;
	bool changed; /* what -o names */
};

/* All of these return an exit status, and have said why when it is not DONE. */

/* Discovers, from files or live, into out->fabric. */
int discover(const struct options *o, struct outcome *out);
/* Reads the fabric.json that was named, or the one that fabric.conf names, into out->fabric. */
int read_fabric(const struct options *o, struct outcome *out);
/* Whom --nodes names: nobody, a host list, or slurm.conf's. Clear wanted either way. */
int read_nodes(const struct options *o, struct wanted_list *wanted);
/* Says what is missing and noteworthy; DONE when there is something to write. */
int judge(const struct options *o, struct outcome *out);
/* Prints the summary if it was asked for, and frees all of out and o. Returns status. */
int finish(struct options *o, struct outcome *out, int status);

/* Text to standard output. */
int print(const char *text);
/* top with array under key to standard output, both taken over; rc < 0: one of them is not whole.
 */
int print_object(json_object *top, const char *key, json_object *array, int rc);
/* Before any work: whether -o names what can be replaced. */
int check_output(struct options *o);
/* Text to -o, if it says something else, or to standard output; *changed: whether it did. */
int write_text(const struct options *o, const char *text, bool *changed);

#endif
