/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli.c - what the commands of sfabric-topology share: their sentences and options, and where their
 * texts go; see cli.h.
 *
 * Only cli*.c and cmd_*.c print; the pure parts hand them texts and sentences. What comes from
 * outside is made harmless to a terminal in one place, say().
 */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "text.h"

#define SHOWN 10 /* sentences of a kind on standard error; --json has all that were kept */

/* Names of files and what is in them come from outside: nothing of it moves the terminal. */
void say(const char *fmt, ...)
{
	char raw[2048], safe[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	fprintf(stderr, "sfabric-topology: %s\n", text_printable(raw, safe, sizeof(safe)));
}

void say_all(const char *label, char *const *lines, size_t kept, size_t total)
{
	size_t shown = kept < SHOWN ? kept : SHOWN;

	for (size_t i = 0; i < shown; i++)
		say("%s%s", label, lines[i]);
	if (total > shown)
		say("%sand %zu more", label, total - shown);
}

/* Options. */

bool number(const char *option, const char *text, unsigned max, unsigned *value)
{
	uint64_t n;

	if (!u64_parse(text, max, &n) || n == 0) {
		say("%s takes a number from 1 to %u, not \"%s\"", option, max, text);
		return false;
	}
	*value = (unsigned)n;
	return true;
}

bool wants_slurm(const struct options *o)
{
	return o->nodes && strcmp(o->nodes, "slurm") == 0;
}

/* --only or --skip; false after saying what is wrong. */
static bool take_pick(struct options *o, bool skip)
{
	struct err err = { "" };

	if (o->pick_count == PICKS_MAX)
		say("--only and --skip are there more than %d times", PICKS_MAX);
	else if (pick_parse(&o->picks[o->pick_count], optarg, skip, &err) == 0)
		return ++o->pick_count;
	else
		say("%s", err.text);
	return false;
}

static bool take_option(struct options *o, int c)
{
	switch (c) {
	case OPT_FROM:
		if (o->from_count == FROM_MAX) {
			say("--from is there more than %d times; give a folder", FROM_MAX);
			return false;
		}
		o->from[o->from_count++] = optarg;
		return true;
	case OPT_FABRIC:
		o->fabric = optarg;
		return true;
	case 'o':
		o->output = optarg;
		return true;
	case OPT_NODES:
		o->nodes = strcmp(optarg, "all") == 0 ? NULL : optarg;
		return true;
	case OPT_SLURM_CONF:
		o->slurm_conf = optarg;
		return true;
	case OPT_NAMES:
		o->names = optarg;
		return true;
	case OPT_PARTITIONS:
		o->partitions = optarg;
		return true;
	case OPT_DIRECTORS:
		o->directors = optarg;
		if (strcmp(optarg, "one") == 0 || strcmp(optarg, "many") == 0)
			return true;
		say("--directors takes one or many, not \"%s\"", optarg);
		return false;
	case OPT_ONLY:
	case OPT_SKIP:
		return take_pick(o, c == OPT_SKIP);
	case OPT_TIMEOUT:
		return number("--timeout", optarg, 600000, &o->live.timeout_ms);
	case OPT_MAX_SMPS:
		return number("--max-smps", optarg, 1024, &o->live.max_smps);
	case OPT_ACCEPT:
		return o->accept_partial = true;
	case OPT_JSON:
		return o->json = true;
	case 'h':
		return o->help = true;
	default:
		return false; /* getopt has said what is wrong */
	}
}

static bool take_all(const struct command *command, int argc, char **argv, struct options *o,
		     void *own)
{
	int c;

	while ((c = getopt_long(argc, argv, command->letters, command->options, NULL)) != -1)
		if (c < OPT_OWN ? !take_option(o, c) : !command->take(c, own))
			return false;
	while (!o->help && optind < argc) {
		if (o->file_count == command->files) {
			say("\"%s\" is %s", argv[optind],
			    command->files ? "one argument too many" : "no option");
			return false;
		}
		o->files[o->file_count++] = argv[optind++];
	}
	return true;
}

static bool has_option(const struct command *command, const char *name)
{
	for (const struct option *one = command->options; one->name; one++)
		if (strcmp(one->name, name) == 0)
			return true;
	return false;
}

static bool check_options(const struct command *command, const struct options *o)
{
	if (o->json && !o->output && strchr(command->letters, 'o'))
		say("--json needs -o: standard output can't hold both texts");
	else if (o->from_count && o->fabric)
		say("--from and --fabric exclude each other");
	else if (!o->from_count && !command->live && (o->names || o->pick_count || o->directors))
		say("--names, --only, --skip and --directors need --from; a snapshot was made with "
		    "its own");
	else if (o->slurm_conf && !wants_slurm(o) && has_option(command, "nodes"))
		say("--slurm-conf needs --nodes slurm");
	else if (!o->partitions != !picks_have(o->picks, o->pick_count, PICK_PKEY))
		say("--partitions and a choice of pkey= need each other");
	else
		return true;
	return false;
}

bool read_options(const struct command *command, int argc, char **argv, struct options *o,
		  void *own, int *status)
{
	argv[0] = (char *)"sfabric-topology"; /* getopt's sentences begin with it */
	*o = (struct options){ .live = { .timeout_ms = 1000, .max_smps = 32 } };
	*status = WRONG_USE;
	if (!take_all(command, argc, argv, o, own))
		return false;
	if (o->help)
		*status = print(command->help);
	return !o->help && check_options(command, o);
}

/* Output. */

int print(const char *text)
{
	if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
		say("standard output: %s", strerror(errno));
		return FAILED;
	}
	return DONE;
}

int print_object(json_object *top, const char *key, json_object *array, int rc)
{
	char *text = NULL;

	if (rc == 0 && json_object_object_add(top, key, array) == 0) {
		array = NULL;
		text = json_text(top);
	}
	json_object_put(array);
	json_object_put(top);
	if (!text)
		say("out of memory");
	rc = text ? print(text) : FAILED;
	free(text);
	return rc;
}

/*
 * A rename puts the new file in the place of whatever was there: that must be a file, or nothing.
 * Found out before the fabric is asked, which can take minutes.
 */
int check_output(struct options *o)
{
	struct stat st;

	if (!o->output)
		return DONE;
	o->target = realpath(o->output, NULL);
	if (!o->target && errno == ENOENT && lstat(o->output, &st) < 0)
		o->target = strdup(o->output);
	if (!o->target) {
		say("%s: %s", o->output, strerror(errno));
		return FAILED;
	}
	if (stat(o->target, &st) == 0 && !S_ISREG(st.st_mode)) {
		say("%s: is no regular file and would be replaced by one; without -o the result "
		    "goes to standard output",
		    o->output);
		return FAILED;
	}
	return DONE;
}

static bool holds_already(const char *path, const char *text)
{
	char *was;
	size_t len;
	bool same;

	if (io_read(path, FABRIC_MAX_BYTES, &was, &len, NULL) < 0)
		return false;
	same = len == strlen(text) && memcmp(was, text, len) == 0;
	free(was);
	return same;
}

int write_text(const struct options *o, const char *text, bool *changed)
{
	struct err err = { "" };

	*changed = true;
	if (!o->output)
		return print(text);
	*changed = !holds_already(o->target, text);
	if (*changed && io_write_atomic(o->target, text, strlen(text), 0644, &err) < 0) {
		say("%s", err.text);
		return FAILED;
	}
	return DONE;
}
