/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main.c - sfabric-topology: discovers the fabric, writes fabric.json, makes topology.conf of it.
 *
 * The only file of topology/ that reads, prints and exits: it gets a subnet (live, or from a file)
 * or a fabric.json, hands it to the pure parts, and puts their text where it was asked for. Results
 * go to standard output or -o, everything for people to standard error.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conf.h"
#include "fabric.h"
#include "files.h"
#include "io.h"
#include "json.h"
#include "live.h"
#include "model.h"
#include "namemap.h"
#include "partitions.h"
#include "pick.h"
#include "shape.h"
#include "text.h"
#include "tree_conf.h"
#include "wanted.h"

enum { DONE = 0, NOTHING = 1, WRONG_USE = 2, INCOMPLETE = 3, FAILED = 4 };

#define SHOWN 10    /* sentences of a kind on standard error; --json has all that were kept */
#define FROM_MAX 64 /* a folder is one */
#define PICKS_MAX 32

static const char top_help[] =
	"Usage: sfabric-topology COMMAND [OPTION]...\n"
	"Discovers an InfiniBand or RoCE fabric and makes Slurm's topology.conf of it.\n"
	"\n"
	"  discover   find out what the fabric is; fabric.json\n"
	"  conf       topology.conf for topology/tree\n"
	"\n"
	"  -h, --help      this text; behind a command, that command's options\n"
	"  -V, --version   version\n";

static const char exit_help[] =
	"\n"
	"Exit status: 0 done, 1 nothing to write (no hosts), 2 wrong use, 3 the discovery was\n"
	"incomplete and nothing was written, 4 an input or output failed.\n";

static const char discover_help[] =
	"Usage: sfabric-topology discover [OPTION]...\n"
	"Finds out what the fabric is and writes fabric.json, to standard output without -o.\n"
	"Without --from it asks the fabric itself, through every InfiniBand port that is up "
	"(root).\n"
	"\n"
	"      --from FILE        read recorded files instead, or a folder of them; can be "
	"repeated\n"
	"                         (ibnetdiscover's text or cache, lldpcli's JSON); - is standard "
	"input\n"
	"      --names FILE       names for GUIDs, as in rdma's node name map\n"
	"      --only KEY=VALUE   HCA ports that count: device=, host=, switch=, pkey= and a "
	"pattern,\n"
	"                         plane=NUMBER, speed=GBPS and more; can be repeated\n"
	"      --skip KEY=VALUE   HCA ports that don't\n"
	"      --partitions FILE  opensm's partitions.conf, for pkey=\n"
	"      --directors one|many  switches of one box (system image GUID) are one switch, or "
	"many\n"
	"                         (default)\n"
	"  -o, --output FILE      replace FILE atomically, only if the fabric changed\n"
	"      --timeout MS       wait so long for an answer before asking again, 3 times (1000)\n"
	"      --max-smps N       packets on the wire at a time (32)\n"
	"      --accept-partial   write also when something is known to be missing\n"
	"      --json             a summary as JSON on standard output; needs -o\n"
	"  -h, --help             this text\n";

static const char conf_help[] =
	"Usage: sfabric-topology conf [OPTION]...\n"
	"Writes topology.conf for TopologyPlugin=topology/tree, to standard output without -o.\n"
	"\n"
	"      --fabric FILE      the fabric.json to use; default: fabric_json of fabric.conf\n"
	"      --from FILE        use recorded files instead, as discover does; with --names, "
	"--only\n"
	"                         and --skip\n"
	"  -o, --output FILE      replace FILE atomically, only if the text changed\n"
	"      --nodes LIST       only these hosts (a Slurm host list); slurm: the nodes of\n"
	"                         slurm.conf; all: every host (default)\n"
	"      --slurm-conf FILE  for --nodes slurm; default: where fabric.conf or Slurm has it\n"
	"      --accept-partial   write also when something is known to be missing\n"
	"      --json             a summary as JSON on standard output; needs -o\n"
	"  -h, --help             this text\n";

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
};

/* What a run found out, for the summary. */
struct outcome {
	const char *command;
	struct fabric *fabric;
	struct notes warnings, notes;
	struct tree_report tree;
	bool written, changed;
};

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Names of files and what is in them come from outside: nothing of it moves the terminal. */
static void say(const char *fmt, ...)
{
	char raw[2048], safe[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	fprintf(stderr, "sfabric-topology: %s\n", text_printable(raw, safe, sizeof(safe)));
}

static void say_all(const char *label, char *const *lines, size_t kept, size_t total)
{
	size_t shown = kept < SHOWN ? kept : SHOWN;

	for (size_t i = 0; i < shown; i++)
		say("%s%s", label, lines[i]);
	if (total > shown)
		say("%sand %zu more", label, total - shown);
}

/* Options. */

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
	OPT_PARTITIONS
};

static const struct option discover_options[] = {
	{ "from", required_argument, NULL, OPT_FROM },
	{ "names", required_argument, NULL, OPT_NAMES },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "skip", required_argument, NULL, OPT_SKIP },
	{ "directors", required_argument, NULL, OPT_DIRECTORS },
	{ "partitions", required_argument, NULL, OPT_PARTITIONS },
	{ "output", required_argument, NULL, 'o' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "max-smps", required_argument, NULL, OPT_MAX_SMPS },
	{ "accept-partial", no_argument, NULL, OPT_ACCEPT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const struct option conf_options[] = {
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "names", required_argument, NULL, OPT_NAMES },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "skip", required_argument, NULL, OPT_SKIP },
	{ "directors", required_argument, NULL, OPT_DIRECTORS },
	{ "partitions", required_argument, NULL, OPT_PARTITIONS },
	{ "output", required_argument, NULL, 'o' },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "slurm-conf", required_argument, NULL, OPT_SLURM_CONF },
	{ "accept-partial", no_argument, NULL, OPT_ACCEPT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* A number from 1 to max; false after saying what is wrong. */
static bool number(const char *option, const char *text, unsigned max, unsigned *value)
{
	uint64_t n;

	if (!u64_parse(text, max, &n) || n == 0) {
		say("%s takes a number from 1 to %u, not \"%s\"", option, max, text);
		return false;
	}
	*value = (unsigned)n;
	return true;
}

static bool wants_slurm(const struct options *o)
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

static bool read_options(struct options *o, int argc, char **argv, const struct option *known)
{
	int c;

	argv[0] = (char *)"sfabric-topology"; /* getopt's sentences begin with it */
	*o = (struct options){ .live = { .timeout_ms = 1000, .max_smps = 32 } };
	while ((c = getopt_long(argc, argv, "o:h", known, NULL)) != -1)
		if (!take_option(o, c))
			return false;
	if (o->help)
		return true;
	if (optind < argc) {
		say("\"%s\" is no option", argv[optind]);
		return false;
	}
	if (o->json && !o->output) {
		say("--json needs -o: standard output can't hold both texts");
		return false;
	}
	if (o->from_count && o->fabric) {
		say("--from and --fabric exclude each other");
		return false;
	}
	if (!o->partitions != !picks_have(o->picks, o->pick_count, PICK_PKEY)) {
		say("--partitions and a choice of pkey= need each other");
		return false;
	}
	return true;
}

/* A snapshot has its names, and which ports count, in it. */
static bool check_conf_options(const struct options *o)
{
	if (!o->from_count && (o->names || o->pick_count || o->directors))
		say("--names, --only, --skip and --directors need --from; a snapshot was made with "
		    "its "
		    "own");
	else if (o->slurm_conf && !wants_slurm(o))
		say("--slurm-conf needs --nodes slurm");
	else
		return true;
	return false;
}

/* Input. */

/* What an administrator gives beside the fabric itself. */
struct aids {
	struct namemap *names;
	struct partitions *partitions;
};

static void aids_free(struct aids *aids)
{
	namemap_free(aids->names);
	partitions_free(aids->partitions);
}

static int read_aids(const struct options *o, struct aids *aids, struct notes *notes,
		     struct err *err)
{
	char *text = NULL;
	size_t len;
	int rc = 0;

	if (o->names && (rc = io_read(o->names, NAMEMAP_MAX_BYTES, &text, &len, err)) == 0) {
		aids->names = namemap_parse(text, len, o->names, notes, err);
		rc = aids->names ? 0 : -EINVAL;
		free(text);
	}
	if (rc == 0 && o->partitions &&
	    (rc = io_read(o->partitions, PARTITIONS_MAX_BYTES, &text, &len, err)) == 0) {
		aids->partitions = partitions_parse(text, len, o->partitions, err);
		rc = aids->partitions ? 0 : -EINVAL;
		free(text);
	}
	return rc;
}

/* Discovers, from files or live, into out->fabric. */
static int discover(const struct options *o, struct outcome *out)
{
	struct model_options choice = { o->picks, o->pick_count, NULL,
					o->directors && strcmp(o->directors, "one") == 0 };
	struct live_options live = o->live;
	struct aids aids = { NULL, NULL };
	struct err err = { "" };
	struct subnet *s = NULL;
	char *source = NULL;

	if (read_aids(o, &aids, &out->notes, &err) == 0) {
		live.names = aids.names;
		choice.partitions = aids.partitions;
		s = o->from_count ? files_read(o->from, o->from_count, aids.names, &source, &err)
				  : live_discover(&live, &source, &err);
	}
	if (s) {
		out->fabric = model_build(s, o->from_count ? "file" : "live", source, io_now_ns(),
					  &choice, &out->notes, &err);
		out->warnings = s->warnings; /* taken over */
		memset(&s->warnings, 0, sizeof(s->warnings));
	}
	subnet_free(s);
	aids_free(&aids);
	free(source);
	if (out->fabric)
		return DONE;
	say("%s", err.text);
	return FAILED;
}

/* Reads the fabric.json that was named, or the one that fabric.conf names. */
static int read_fabric(const struct options *o, struct outcome *out)
{
	struct err err = { "" };
	struct conf *conf = NULL;

	if (!o->fabric && !(conf = conf_load(conf_default_path(), true, &err))) {
		say("%s", err.text);
		return FAILED;
	}
	out->fabric = fabric_load(o->fabric ? o->fabric : conf->fabric_json, &err);
	conf_free(conf);
	if (out->fabric)
		return DONE;
	say("%s", err.text);
	return FAILED;
}

/* Says what is missing and noteworthy; DONE when there is something to write. */
static int judge(const struct options *o, struct outcome *out)
{
	const struct fabric *f = out->fabric;

	if (shape_check(f, &out->notes) < 0) {
		say("out of memory");
		return FAILED;
	}
	say_all("", out->warnings.lines, out->warnings.kept, out->warnings.total);
	say_all("", out->notes.lines, out->notes.kept, out->notes.total);
	say_all("missing: ", f->missing, f->missing_count, f->missing_count);
	if (f->host_count == 0) {
		say("nothing to write: there is no host with a cable and a name among %zu switches "
		    "and %zu ports",
		    f->switch_count, f->port_count);
		return NOTHING;
	}
	if (o->pick_count && f->unit_count == 0) {
		say("nothing to write: no host has a port that counts; see --only and --skip");
		return NOTHING;
	}
	if (f->missing_count && !o->accept_partial) {
		say("the discovery is incomplete, nothing is written; discover again, with a "
		    "longer "
		    "--timeout if packets were lost; --accept-partial writes it nevertheless");
		return INCOMPLETE;
	}
	return DONE;
}

/* Output. */

static int print(const char *text)
{
	if (fputs(text, stdout) == EOF || fflush(stdout) == EOF) {
		say("standard output: %s", strerror(errno));
		return FAILED;
	}
	return DONE;
}

/*
 * A rename puts the new file in the place of whatever was there: that must be a file, or nothing.
 * Found out before the fabric is asked, which can take minutes.
 */
static int check_output(struct options *o)
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

static int write_fabric(const struct options *o, struct outcome *out)
{
	struct err err = { "" };
	char *text;
	int rc;

	if (o->output) {
		rc = fabric_save(out->fabric, o->target, &out->changed, &err);
		if (rc < 0)
			say("%s", err.text);
		return rc < 0 ? FAILED : DONE;
	}
	text = fabric_text(out->fabric);
	if (!text)
		say("out of memory");
	rc = text ? print(text) : FAILED;
	free(text);
	out->changed = true;
	return rc;
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

static int write_text(const struct options *o, struct outcome *out, const char *text)
{
	struct err err = { "" };

	out->changed = true;
	if (!o->output)
		return print(text);
	out->changed = !holds_already(o->target, text);
	if (out->changed && io_write_atomic(o->target, text, strlen(text), 0644, &err) < 0) {
		say("%s", err.text);
		return FAILED;
	}
	return DONE;
}

static int put_lines(json_object *top, const char *key, char *const *lines, size_t count)
{
	json_object *array = json_object_new_array();

	if (!array || json_object_object_add(top, key, array) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (json_object_array_add(array, json_object_new_string(lines[i])) != 0)
			return -ENOMEM;
	return 0;
}

static int put_summary(json_object *top, const struct options *o, const struct outcome *out,
		       int status)
{
	const struct fabric *f = out->fabric;
	const struct {
		const char *key;
		size_t value;
	} counts[] = {
		{ "switches", f->switch_count }, { "links", f->link_count },
		{ "ports", f->port_count },	 { "hosts", f->host_count },
		{ "units", f->unit_count },	 { "pods", f->pod_count },
		{ "areas", f->area_count },	 { "islands", f->island_count },
	};
	int rc = json_put_string(top, "command", out->command);

	if (rc == 0)
		rc = json_put_string(top, "output", o->output);
	if (rc == 0)
		rc = json_put_int(top, "status", status);
	if (rc == 0)
		rc = json_put_bool(top, "written", status == DONE && out->changed);
	for (size_t i = 0; rc == 0 && i < sizeof(counts) / sizeof(counts[0]); i++)
		rc = json_put_u64(top, counts[i].key, counts[i].value);
	if (rc == 0 && out->tree.unplaced)
		rc = json_put_string(top, "unplaced", out->tree.unplaced);
	if (rc == 0 && out->tree.unknown)
		rc = json_put_string(top, "unknown", out->tree.unknown);
	if (rc == 0)
		rc = put_lines(top, "missing", f->missing, f->missing_count);
	if (rc == 0)
		rc = put_lines(top, "notes", out->notes.lines, out->notes.kept);
	return rc < 0 ? rc : put_lines(top, "warnings", out->warnings.lines, out->warnings.kept);
}

static int print_summary(const struct options *o, const struct outcome *out, int status)
{
	json_object *top = json_object_new_object();
	char *text = top && put_summary(top, o, out, status) == 0 ? json_text(top) : NULL;

	json_object_put(top);
	if (!text)
		say("out of memory");
	else if (print(text) != DONE)
		status = FAILED;
	free(text);
	return text ? status : FAILED;
}

static void outcome_clear(struct outcome *out)
{
	fabric_free(out->fabric);
	notes_clear(&out->warnings);
	notes_clear(&out->notes);
	tree_report_clear(&out->tree);
}

/* Commands. */

static int finish(struct options *o, struct outcome *out, int status)
{
	if (o->json && out->fabric)
		status = print_summary(o, out, status);
	outcome_clear(out);
	free(o->target);
	return status;
}

static int cmd_discover(int argc, char **argv)
{
	struct outcome out = { .command = "discover" };
	struct options o;
	int status;

	if (!read_options(&o, argc, argv, discover_options))
		return WRONG_USE;
	if (o.help) {
		fputs(discover_help, stdout);
		return print(exit_help);
	}
	status = check_output(&o);
	if (status == DONE)
		status = discover(&o, &out);
	if (status == DONE)
		status = judge(&o, &out);
	if (status == DONE)
		status = write_fabric(&o, &out);
	if (status == DONE)
		say("%zu switches, %zu hosts in %zu units, %zu pods, %zu islands%s%s",
		    out.fabric->switch_count, out.fabric->host_count, out.fabric->unit_count,
		    out.fabric->pod_count, out.fabric->island_count,
		    o.output ? out.changed ? "; wrote " : "; unchanged: " : "",
		    o.output ? o.output : "");
	return finish(&o, &out, status);
}

/* "fabric.json of live mlx5_0:1, first seen 2025-11-30T19:00:00Z": equal for an equal fabric. */
static char *describe_snapshot(const struct options *o, const struct fabric *f)
{
	time_t seconds = (time_t)(f->seen_ns / 1000000000);
	char when[32];
	struct tm tm;

	if (o->from_count)
		return io_format("from %s", f->source);
	if (!gmtime_r(&seconds, &tm) ||
	    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return io_format("%s %s", f->how, f->source);
	return io_format("%s %s, first seen %s", f->how, f->source, when);
}

static void say_tree(const struct options *o, const struct outcome *out)
{
	const struct tree_report *t = &out->tree;

	if (t->unplaced_count)
		say("left out, on no switch: %s", t->unplaced);
	if (t->unknown_count)
		say("left out, not in the fabric: %s", t->unknown);
	say("%zu hosts in %zu units, %zu pods, %zu roots%s%s", t->hosts, t->units, t->pods,
	    t->roots, o->output ? out->changed ? "; wrote " : "; unchanged: " : "",
	    o->output ? o->output : "");
}

static int write_tree(const struct options *o, struct outcome *out,
		      const struct wanted_list *wanted)
{
	char *snapshot = describe_snapshot(o, out->fabric), *text = NULL;
	struct err err = { "out of memory" };
	int status;

	if (snapshot)
		text = tree_conf_text(out->fabric, wanted->nodes, wanted->count,
				      "sfabric-topology " PACKAGE_VERSION, snapshot, &out->tree,
				      &err);
	free(snapshot);
	if (!text) {
		if (out->tree.unknown_count)
			say("not in the fabric: %.400s", out->tree.unknown);
		say("%s", err.text);
		return out->tree.unknown ? NOTHING : FAILED;
	}
	status = write_text(o, out, text);
	free(text);
	if (status == DONE)
		say_tree(o, out);
	return status;
}

/* Whom --nodes names: nobody, a host list, or slurm.conf's. */
static int read_nodes(const struct options *o, struct wanted_list *wanted)
{
	struct err err = { "" };
	struct conf *conf = NULL;
	int rc;

	if (!o->nodes)
		return DONE;
	if (!wants_slurm(o)) {
		rc = wanted_parse(wanted, o->nodes, &err);
	} else if (o->slurm_conf) {
		rc = wanted_load(wanted, o->slurm_conf, &err);
	} else {
		conf = conf_load(conf_default_path(), true, &err);
		rc = conf ? wanted_load(wanted, conf->slurm_conf, &err) : -EINVAL;
		conf_free(conf);
	}
	if (rc == 0)
		return DONE;
	say("--nodes: %s", err.text);
	return wants_slurm(o) ? FAILED : WRONG_USE;
}

static int cmd_conf(int argc, char **argv)
{
	struct outcome out = { .command = "conf" };
	struct wanted_list wanted = { 0 };
	struct options o;
	int status;

	if (!read_options(&o, argc, argv, conf_options))
		return WRONG_USE;
	if (o.help) {
		fputs(conf_help, stdout);
		return print(exit_help);
	}
	if (!check_conf_options(&o))
		return WRONG_USE;
	status = read_nodes(&o, &wanted);
	if (status == DONE)
		status = check_output(&o);
	if (status == DONE)
		status = o.from_count ? discover(&o, &out) : read_fabric(&o, &out);
	if (status == DONE)
		status = judge(&o, &out);
	if (status == DONE)
		status = write_tree(&o, &out, &wanted);
	wanted_clear(&wanted);
	return finish(&o, &out, status);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (strcmp(command, "discover") == 0)
		return cmd_discover(argc - 1, argv + 1);
	if (strcmp(command, "conf") == 0)
		return cmd_conf(argc - 1, argv + 1);
	if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
		fputs(top_help, stdout);
		return print(exit_help);
	}
	if (strcmp(command, "--version") == 0 || strcmp(command, "-V") == 0)
		return print("sfabric-topology " PACKAGE_VERSION "\n");
	say("%s%s%s; try --help", *command ? "\"" : "", *command ? command : "a command is needed",
	    *command ? "\" is no command" : "");
	return WRONG_USE;
}
