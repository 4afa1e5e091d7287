/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_hints.c - sfabric-topology hints: what else a fabric tells a Slurm cluster, a kind at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "conf.h"
#include "hints.h"
#include "hints_gres.h"
#include "io.h"
#include "slurm_api.h"
#include "wanted.h"

static const char hints_help[] =
	"Usage: sfabric-topology hints KIND [OPTION]...\n"
	"Writes what else a fabric tells a Slurm cluster.\n"
	"\n"
	"  features   node features: unit, pod, area, island, rails, planes\n"
	"  ranks      the nodes of a job in an order that follows the wires\n"
	"  switches   --switches by job size\n"
	"  weights    node weights, where they don't work against the topology\n"
	"  gres       gres.conf's lines of GPUs, from node maps\n"
	"\n"
	"      --format FORMAT    features: conf (lines of slurm.conf; default) or scontrol;\n"
	"                         ranks: hostfile (for SLURM_HOSTFILE; default), rankfile (Open "
	"MPI),\n"
	"                         list (on one line)\n"
	"      --tasks N          ranks: so many tasks on each node (1)\n"
	"      --cpus N           ranks, rankfile: so many cores for each task (1)\n"
	"      --job ID           ranks: the nodes of this job, which must be running\n"
	"      --flat             weights: for a cluster without a topology plugin\n"
	"      --map FILE         gres: a node's map, as sfabric map --json writes it; can be "
	"repeated\n"
	"      --cores S:C[:N]    gres: nodes have S sockets of C cores and N NUMA nodes (1) each\n"
	"      --links N          gres: N NVLinks between each two GPUs\n"
	"      --nodes LIST       only these hosts (a Slurm host list); slurm: the nodes of\n"
	"                         slurm.conf; all: every host (default)\n"
	"      --slurm-conf FILE  for --nodes slurm; default: where fabric.conf or Slurm has it\n"
	"      --fabric FILE      the fabric.json to use; default: fabric_json of fabric.conf\n"
	"      --from FILE        use recorded files instead, as discover does; with --names, "
	"--only\n"
	"                         and --skip\n"
	"  -o, --output FILE      replace FILE atomically, only if the text changed\n"
	"      --accept-partial   write also when something is known to be missing\n"
	"  -h, --help             this text\n" EXIT_HELP;

enum {
	OPT_FORMAT = OPT_OWN,
	OPT_TASKS,
	OPT_CPUS,
	OPT_JOB,
	OPT_FLAT,
	OPT_MAP,
	OPT_CORES,
	OPT_LINKS
};

static const struct option hints_options[] = {
	DISCOVERY_OPTIONS,
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "tasks", required_argument, NULL, OPT_TASKS },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "job", required_argument, NULL, OPT_JOB },
	{ "flat", no_argument, NULL, OPT_FLAT },
	{ "map", required_argument, NULL, OPT_MAP },
	{ "cores", required_argument, NULL, OPT_CORES },
	{ "links", required_argument, NULL, OPT_LINKS },
	{ "nodes", required_argument, NULL, OPT_NODES },
	{ "slurm-conf", required_argument, NULL, OPT_SLURM_CONF },
	{ "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

enum kind { FEATURES, RANKS, SWITCHES, WEIGHTS, GRES, KINDS };
static const char *const kind_names[KINDS] = { "features", "ranks", "switches", "weights", "gres" };

struct hints_options {
	enum kind kind;
	const char *format; /* NULL: the first one of the kind */
	enum feature_format features;
	struct rank_options ranks;
	unsigned job; /* 0: none */
	bool flat;
	struct gres_layout layout;
	struct map **maps;
	size_t map_count;
};

/* --map; false after saying what is wrong. */
static bool take_map(struct hints_options *h)
{
	struct map **more = reallocarray(h->maps, h->map_count + 1, sizeof(struct map *));
	struct err err = { "out of memory" };
	char *text = NULL;
	size_t len;

	if (more)
		h->maps = more;
	if (more && io_read(optarg, MAP_MAX_BYTES, &text, &len, &err) == 0) {
		more[h->map_count] = map_parse(text, len, optarg, &err);
		free(text);
		if (more[h->map_count]) {
			h->map_count++;
			return true;
		}
	}
	say("--map: %s", err.text);
	return false;
}

static bool take(int c, void *own)
{
	struct hints_options *h = own;

	switch (c) {
	case OPT_FORMAT:
		h->format = optarg;
		return true;
	case OPT_TASKS:
		return number("--tasks", optarg, 100000, &h->ranks.tasks);
	case OPT_CPUS:
		return number("--cpus", optarg, 100000, &h->ranks.cpus);
	case OPT_JOB:
		return number("--job", optarg, INT32_MAX, &h->job);
	case OPT_MAP:
		return take_map(h);
	case OPT_CORES:
		if (gres_layout_parse(optarg, &h->layout))
			return true;
		say("--cores takes sockets, cores and NUMA nodes of one such as 2:56 or 2:56:4, "
		    "not \"%s\"",
		    optarg);
		return false;
	case OPT_LINKS:
		return number("--links", optarg, 1000, &h->layout.links);
	default:
		return h->flat = true;
	}
}

static const struct command hints_command = {
	.help = hints_help,
	.letters = "o:h",
	.options = hints_options,
	.files = 1,
	.take = take,
};

static bool find_word(const char *text, const char *const *words, size_t count, unsigned *at)
{
	for (size_t i = 0; i < count; i++) {
		*at = (unsigned)i;
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

/* KIND, and whether the options are that kind's; false after saying what is wrong. */
static bool check_kind(struct hints_options *h, const struct options *o)
{
	static const char *const features[] = { "conf", "scontrol" };
	static const char *const ranks[] = { "hostfile", "rankfile", "list" };
	unsigned at = 0;

	if (!o->file_count || !find_word(o->files[0], kind_names, KINDS, &at)) {
		say("%s%s%s", o->file_count ? "\"" : "",
		    o->file_count ? o->files[0] : "a kind of hints is needed",
		    o->file_count ? "\" is no kind of hints; try --help" : "; try --help");
		return false;
	}
	h->kind = at;
	at = 0;
	if (h->format && !(h->kind == FEATURES && find_word(h->format, features, 2, &at)) &&
	    !(h->kind == RANKS && find_word(h->format, ranks, 3, &at)))
		say("%s has no --format %s", kind_names[h->kind], h->format);
	else if (h->kind != RANKS && (h->job || h->ranks.tasks != 1 || h->ranks.cpus != 1))
		say("--job, --tasks and --cpus are for ranks");
	else if (h->kind != WEIGHTS && h->flat)
		say("--flat is for weights");
	else if ((h->kind == GRES) != (h->map_count > 0))
		say("%s", h->kind == GRES ? "gres needs --map" : "--map is for gres");
	else if (h->kind != GRES && (h->layout.sockets || h->layout.links))
		say("--cores and --links are for gres");
	else if (h->kind == RANKS && !h->job && !o->nodes)
		say("ranks needs --nodes or --job");
	else if (h->job && o->nodes)
		say("--job and --nodes exclude each other");
	else {
		h->features = h->kind == FEATURES ? at : FEATURES_CONF;
		h->ranks.format = h->kind == RANKS ? at : RANKS_HOSTFILE;
		return true;
	}
	return false;
}

/* The nodes of a running job, as Slurm says them; libslurm ends this program without slurm.conf. */
static int job_nodes(unsigned id, struct wanted_list *wanted)
{
	struct err err = { "" };
	job_info_msg_t *msg = NULL;
	const char *nodes = NULL;
	int rc = 0;

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0)
	slurm_init(NULL);
#endif
	if (slurm_load_job(&msg, STEP_OF_JOB(id), SHOW_ALL) != SLURM_SUCCESS) {
		say("job %u: %s", id, slurm_strerror(errno));
		return FAILED;
	}
	if (msg->record_count)
		nodes = msg->job_array[0].nodes;
	if (nodes && *nodes)
		rc = wanted_parse(wanted, nodes, &err);
	else
		rc = err_set(&err, ENODATA, "it has no nodes");
	if (rc < 0)
		say("job %u: %s", id, err.text);
	slurm_free_job_info_msg(msg);
	return rc < 0 ? FAILED : DONE;
}

/* How long class compact lets jobs wait. */
static int64_t compact_wait(void)
{
	struct conf *conf = conf_load(conf_default_path(), true, NULL);
	const struct conf_class *class = conf ? conf_find_class(conf, "compact") : NULL;
	int64_t wait_s = class ? class->wait_ns / INT64_C(1000000000) : 300;

	conf_free(conf);
	return wait_s;
}

static char *make_hints(const struct hints_options *h, const struct fabric *f,
			struct hint_nodes nodes, char **left_out, struct err *err)
{
	switch (h->kind) {
	case FEATURES:
		return hints_features(f, nodes, h->features, left_out, err);
	case RANKS:
		return hints_ranks(f, nodes, &h->ranks, left_out, err);
	case SWITCHES:
		return hints_switches(f, nodes, compact_wait(), left_out, err);
	default:
		return hints_weights(f, nodes, h->flat, left_out, err);
	}
}

static int write_hints(const struct hints_options *h, const struct options *o, struct outcome *out,
		       const struct wanted_list *wanted)
{
	const struct hint_nodes nodes = { wanted->nodes, wanted->count };
	struct err err = { "" };
	char *left_out = NULL, *text = make_hints(h, out->fabric, nodes, &left_out, &err);
	int status = text		? write_text(o, text, &out->changed)
		     : errno == ENODATA ? NOTHING
					: FAILED;

	if (!text)
		say("%s", err.text);
	if (left_out && *left_out)
		say("%s: not in the fabric, or on no switch: %s",
		    h->kind == RANKS ? "last, in no order" : "left out", left_out);
	free(left_out);
	free(text);
	return status;
}

/* Needs no fabric: maps say all. */
static int write_gres(const struct hints_options *h, const struct options *o, struct outcome *out)
{
	struct err err = { "" };
	char *text = hints_gres((const struct map *const *)h->maps, h->map_count, &h->layout, &err);
	int status = text ? write_text(o, text, &out->changed) : FAILED;

	if (!text)
		say("%s", err.text);
	free(text);
	return status;
}

static int run(struct hints_options *h, struct options *o, struct outcome *out)
{
	struct wanted_list wanted = { 0 };
	int status = check_output(o);

	if (status == DONE && h->kind == GRES)
		return write_gres(h, o, out);
	if (status == DONE)
		status = h->job ? job_nodes(h->job, &wanted) : read_nodes(o, &wanted);
	if (status == DONE)
		status = o->from_count ? discover(o, out) : read_fabric(o, out);
	if (status == DONE)
		status = judge(o, out);
	if (status == DONE)
		status = write_hints(h, o, out, &wanted);
	wanted_clear(&wanted);
	return status;
}

int cmd_hints(int argc, char **argv)
{
	struct hints_options h = { .ranks = { .tasks = 1, .cpus = 1 } };
	struct outcome out = { .command = "hints" };
	struct options o;
	int status;

	if (read_options(&hints_command, argc, argv, &o, &h, &status)) {
		status = check_kind(&h, &o) ? run(&h, &o, &out) : WRONG_USE;
		status = finish(&o, &out, status);
	}
	for (size_t i = 0; i < h.map_count; i++)
		map_free(h.maps[i]);
	free(h.maps);
	return status;
}
