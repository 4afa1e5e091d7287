/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_place.c - sfabric place: where a job would go at this moment, and why; or how many would fit.
 *
 * The placement engine is asked with what everybody may see: nodes and their states from sinfo, the
 * fabric from fabric.json, marks of suspect ports and hosts from the health.json beside it. Nothing
 * is asked of Slurm's scheduler: other jobs' priorities, reservations and limits are not looked at.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "classes.h"
#include "commands.h"
#include "fabric.h"
#include "health.h"
#include "hosts.h"
#include "io.h"
#include "json.h"
#include "place.h"
#include "sinfo.h"
#include "text.h"

enum { DONE = 0, UNKNOWN = 1, WRONG_USE = 2, NO_ANSWER = 3 };

static const char usage[] =
	"Usage: sfabric place -N NODES [--class CLASS] [OPTIONS]\n"
	"       sfabric place --histogram [OPTIONS]\n"
	"Shows which free nodes a job would get from the placement engine, or how many jobs fit.\n"
	"\n"
	"  -N, --nodes MIN[-MAX]  nodes, whole ones\n"
	"  --class CLASS          any, compact (default), same-leaf, same-pod, spread, "
	"segments=NODES;\n"
	"                         behind it \",strict\" and \",healthy\" as for sbatch --fabric\n"
	"  -w, --nodelist HOSTS   nodes that must be among them\n"
	"  -x, --exclude HOSTS    nodes that must not\n"
	"  -p, --partition NAME   only this partition's nodes\n"
	"  --explain              why these: units and pods used, what was given up\n"
	"  --rank                 a node on each line, in the order that follows the wires\n"
	"  --histogram            how many jobs of each size fit whole into units and pods\n"
	"  --json                 the answer as JSON\n"
	"  --fabric FILE          a fabric.json (default: the one of fabric.conf)\n"
	"  --health FILE          a health.json (default: beside the other state, if it is there)\n"
	"  --sinfo FILE           what sinfo -h -N -o '" SINFO_FORMAT
	"' wrote; \"-\" standard input\n"
	"  --help                 this text\n"
	"\n"
	"Exit status: 0 shown; 1 there is no such placement with what is free; 2 wrong use; 3 "
	"sinfo\n"
	"or a file can't be read.\n";

struct options {
	struct place_request request;
	const char *required, *excluded, *partition, *fabric, *health, *sinfo;
	bool explain, rank, histogram, json, help;
};

/* ---- what is known ---- */

struct known {
	struct fabric *fabric;
	struct sinfo *nodes;
	struct place_model *model;
	struct place_state *state;
};

static void known_clear(struct known *k)
{
	place_state_free(k->state);
	place_model_free(k->model);
	sinfo_free(k->nodes);
	fabric_free(k->fabric);
}

/* The number of a node; PLACE_NONE: Slurm has none of that name. */
static uint32_t find_node(const struct known *k, const char *name)
{
	for (uint32_t i = 0; i < k->nodes->count; i++)
		if (strcmp(k->nodes->names[i], name) == 0)
			return i;
	return PLACE_NONE;
}

static void add_mark(struct known *k, const struct health_mark *mark)
{
	const char *host = mark->host;
	size_t port = mark->port ? fabric_find_port(k->fabric, mark->port) : FABRIC_NONE;

	if (port != FABRIC_NONE && k->fabric->ports[port].host != FABRIC_NONE)
		host = k->fabric->hosts[k->fabric->ports[port].host].name;
	if (host)
		place_suspect(k->state, find_node(k, host), true);
}

/* A health.json that nobody asked for may be missing. */
static int add_health(struct known *k, const struct conf *conf, const char *path, struct err *err)
{
	char *own = path ? NULL : io_format("%s/health.json", conf->state_dir);
	struct health *health = NULL;
	int64_t now = io_now_ns();
	bool missing;

	if (!path && !own)
		return err_set(err, ENOMEM, "out of memory");
	missing = own && access(own, F_OK) < 0 && errno == ENOENT;
	if (!missing)
		health = health_load(path ? path : own, err);
	for (size_t i = 0; health && i < health->count; i++)
		if (health->marks[i].until_ns > now)
			add_mark(k, &health->marks[i]);
	free(own);
	if (!health && !missing)
		return -EPROTO;
	health_free(health);
	return 0;
}

static int known_load(struct known *k, const struct conf *conf, const struct options *o,
		      struct err *err)
{
	k->fabric = fabric_load(o->fabric ? o->fabric : conf->fabric_json, err);
	if (!k->fabric)
		return -errno;
	k->nodes = o->sinfo ? sinfo_read(o->sinfo, err) : sinfo_run(o->partition, err);
	if (!k->nodes)
		return -EPROTO;
	k->model = place_model_of(k->fabric, (const char *const *)k->nodes->names, k->nodes->count,
				  err);
	if (!k->model)
		return -ENOMEM;
	k->state = place_state_make(k->model);
	if (!k->state)
		return err_set(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < k->nodes->count; i++)
		place_set(k->state, i, k->nodes->what[i]);
	return add_health(k, conf, o->health, err);
}

/* The numbers of a host list's nodes, malloc'ed; NULL and err. */
static uint32_t *find_nodes(const struct known *k, const char *text, uint32_t *count,
			    struct err *err)
{
	char **names = NULL;
	size_t n = 0;
	uint32_t *found;

	*count = 0;
	if (hosts_expand(text, k->nodes->count, &names, &n, err) < 0)
		return NULL;
	found = calloc(n + 1, sizeof(*found));
	if (!found)
		err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; found && i < n; i++) {
		uint32_t node = find_node(k, names[i]);

		if (node == PLACE_NONE) {
			err_set(err, ENOENT, "sinfo shows no node \"%s\"", names[i]);
			free(found);
			found = NULL;
			break;
		}
		found[(*count)++] = node;
	}
	hosts_free(names, n);
	return found;
}

/* ---- what is printed ---- */

struct answer {
	const struct known *known;
	const struct place_request *request;
	struct place_result result;
	uint32_t *nodes;
	const char **names; /* of nodes */
	char *hosts;	    /* the same, folded */
};

static const struct fabric_unit *unit_of(const struct answer *a, uint32_t i)
{
	const struct fabric *f = a->known->fabric;
	size_t host = fabric_find_host(f, a->names[i]);

	return host == FABRIC_NONE || f->hosts[host].unit == FABRIC_NONE
		       ? NULL
		       : &f->units[f->hosts[host].unit];
}

/* The end of the nodes from first on that are in the same unit. */
static uint32_t unit_end(const struct answer *a, uint32_t first)
{
	uint32_t i = first;

	while (i < a->result.count && unit_of(a, i) == unit_of(a, first))
		i++;
	return i;
}

static int print_units(const struct answer *a)
{
	for (uint32_t i = 0, end; i < a->result.count; i = end) {
		const struct fabric_unit *unit = unit_of(a, i);
		char *hosts;

		end = unit_end(a, i);
		hosts = hosts_fold(a->names + i, end - i);
		if (!hosts)
			return -ENOMEM;
		if (unit)
			printf("unit %s of pod %s: %s\n", unit->name,
			       a->known->fabric->pods[unit->pod].name, hosts);
		else
			printf("in no unit: %s\n", hosts);
		free(hosts);
	}
	return 0;
}

static int print_answer(const struct answer *a, const struct options *o)
{
	char text[1024];

	if (o->rank)
		for (uint32_t i = 0; i < a->result.count; i++)
			puts(a->names[i]);
	else
		puts(a->hosts);
	if (!o->explain)
		return 0;
	fputs(place_explain(a->request, &a->result, text, sizeof(text)), stdout);
	return print_units(a);
}

static int put_number(int rc, json_object *o, const char *key, uint32_t value)
{
	return rc < 0 ? rc : json_put_int(o, key, value);
}

/* A number of which 0 says that there is none. */
static int put_known(int rc, json_object *o, const char *key, uint32_t value)
{
	return value ? put_number(rc, o, key, value) : rc;
}

static int put_given_up(int rc, json_object *o, unsigned int given_up)
{
	static const char *const words[] = { "class", "health", "fabric" };
	json_object *array = json_object_new_array();

	for (size_t i = 0; array && rc == 0 && i < sizeof(words) / sizeof(*words); i++)
		if (given_up & 1u << i)
			rc = json_append(array, json_object_new_string(words[i]));
	if (rc == 0)
		return json_put_value(o, "given_up", array);
	json_object_put(array);
	return rc;
}

static int print_object(int rc, json_object *o)
{
	char *text = rc == 0 && o ? json_text(o) : NULL;

	json_object_put(o);
	if (!text)
		return -ENOMEM;
	fputs(text, stdout);
	free(text);
	return 0;
}

static int print_answer_json(const struct answer *a)
{
	json_object *o = json_object_new_object(), *nodes = json_object_new_array();
	const struct place_result *r = &a->result;
	int rc = o ? json_put_format(o, "slurm-fabric/place", 1) : -ENOMEM;

	for (uint32_t i = 0; nodes && rc == 0 && i < r->count; i++)
		rc = json_append(nodes, json_object_new_string(a->names[i]));
	if (rc == 0)
		rc = json_put_string(o, "class", place_class_name(a->request->class));
	if (rc == 0)
		rc = json_put_string(o, "hosts", a->hosts);
	if (rc == 0)
		rc = json_put_value(o, "ranks", nodes);
	else
		json_object_put(nodes);
	rc = put_number(rc, o, "units", r->units);
	rc = put_known(rc, o, "units_now", r->units_now);
	rc = put_known(rc, o, "units_fewest", r->units_fewest);
	rc = put_number(rc, o, "pods", r->pods);
	rc = put_known(rc, o, "pods_now", r->pods_now);
	rc = put_known(rc, o, "pods_fewest", r->pods_fewest);
	rc = put_number(rc, o, "suspects", r->suspects);
	rc = put_number(rc, o, "suspects_avoided", r->suspects_avoided);
	rc = put_number(rc, o, "unknown", r->unknown);
	rc = rc < 0 ? rc : put_given_up(rc, o, r->given_up);
	return print_object(rc, o);
}

/* Sizes by doubling, as long as one such job fits anywhere. */
static int print_histogram(const struct known *k, bool json)
{
	json_object *o = json ? json_object_new_object() : NULL, *sizes = NULL;
	int rc = 0;

	if (json) {
		rc = o ? json_put_format(o, "slurm-fabric/histogram", 1) : -ENOMEM;
		sizes = rc == 0 ? json_object_new_array() : NULL;
		rc = sizes ? 0 : -ENOMEM;
	} else {
		printf("%8s %8s %8s\n", "NODES", "UNIT", "POD");
	}
	for (uint32_t n = 1; rc == 0 && n <= k->nodes->count; n *= 2) {
		uint32_t units = place_fit_units(k->state, n), pods = place_fit_pods(k->state, n);
		json_object *line;

		if (!json) {
			printf("%8u %8u %8u\n", n, units, pods);
			continue;
		}
		line = json_object_new_object();
		rc = json_append(sizes, line);
		rc = put_number(rc, line, "nodes", n);
		rc = put_number(rc, line, "units", units);
		rc = put_number(rc, line, "pods", pods);
	}
	if (!json)
		return 0;
	if (rc == 0)
		rc = json_put_value(o, "sizes", sizes);
	else
		json_object_put(sizes);
	return print_object(rc, o);
}

/* ---- the command ---- */

static bool parse_nodes(const char *text, struct place_request *r)
{
	char first[16];
	size_t len = strcspn(text, "-");
	uint64_t min, max;

	if (len >= sizeof(first))
		return false;
	memcpy(first, text, len);
	first[len] = '\0';
	if (!u64_parse(first, PLACE_NODES_MAX, &min) || min == 0)
		return false;
	max = min;
	if (text[len] && (!u64_parse(text + len + 1, PLACE_NODES_MAX, &max) || max < min))
		return false;
	r->min = (uint32_t)min;
	r->max = (uint32_t)max;
	return true;
}

/* A class of the engine, or one of fabric.conf's, which is a compact one; and modifiers. */
static bool parse_class(const struct conf *conf, const char *text, struct place_request *r)
{
	char word[CLASS_NAME_MAX + 1], any[128];
	size_t len = strcspn(text, ",");
	const struct conf_class *class;
	struct class_wish wish;

	if (len >= sizeof(word) || strlen(text) >= sizeof(any) - sizeof("any"))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	class = conf_find_class(conf, word);
	if (class && class->kind == KIND_SEGMENTS)
		snprintf(word, sizeof(word), "segments=%u", class->segment);
	else if (class)
		snprintf(word, sizeof(word), "%s", conf_kind_name(class->kind));
	if (!place_class_parse(word, r))
		return false;
	snprintf(any, sizeof(any), "any%s", text + len);
	if (class_parse(any, &wish, NULL) < 0)
		return false;
	r->strict = wish.modifiers & CLASS_STRICT;
	r->healthy = wish.modifiers & CLASS_HEALTHY;
	return true;
}

enum { CLASS = 256, EXPLAIN, RANK, HISTOGRAM, JSON, FABRIC, HEALTH, SINFO };

static const struct option longs[] = { { "nodes", required_argument, NULL, 'N' },
				       { "class", required_argument, NULL, CLASS },
				       { "nodelist", required_argument, NULL, 'w' },
				       { "exclude", required_argument, NULL, 'x' },
				       { "partition", required_argument, NULL, 'p' },
				       { "explain", no_argument, NULL, EXPLAIN },
				       { "rank", no_argument, NULL, RANK },
				       { "histogram", no_argument, NULL, HISTOGRAM },
				       { "json", no_argument, NULL, JSON },
				       { "fabric", required_argument, NULL, FABRIC },
				       { "health", required_argument, NULL, HEALTH },
				       { "sinfo", required_argument, NULL, SINFO },
				       { "help", no_argument, NULL, 'h' },
				       { NULL, 0, NULL, 0 } };

/* One option; false when it, or what stands behind it, is wrong. */
static bool set_option(const struct conf *conf, struct options *o, int c)
{
	switch (c) {
	case 'N':
		return parse_nodes(optarg, &o->request);
	case CLASS:
		return parse_class(conf, optarg, &o->request);
	case 'w':
		o->required = optarg;
		return true;
	case 'x':
		o->excluded = optarg;
		return true;
	case 'p':
		o->partition = optarg;
		return true;
	case FABRIC:
		o->fabric = optarg;
		return true;
	case HEALTH:
		o->health = optarg;
		return true;
	case SINFO:
		o->sinfo = optarg;
		return true;
	}
	o->explain |= c == EXPLAIN;
	o->rank |= c == RANK;
	o->histogram |= c == HISTOGRAM;
	o->json |= c == JSON;
	o->help |= c == 'h';
	return c != '?' && c != ':';
}

static int parse_options(const struct conf *conf, struct options *o, int argc, char **argv)
{
	char text[160];
	int c;

	optind = 0; /* glibc: start over, sfabric has parsed its own options */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":N:w:x:p:h", longs, NULL)) != -1) {
		if (set_option(conf, o, c))
			continue;
		fprintf(stderr, "sfabric place: %s: no such option, class or number\n",
			text_printable(argv[optind - 1], text, sizeof(text)));
		return -EINVAL;
	}
	if (o->help || (optind == argc && (o->request.min > 0) != o->histogram))
		return 0;
	fputs("sfabric place: give -N, or --histogram\n", stderr);
	return -EINVAL;
}

/* Names the nodes and prints. */
static int show(struct answer *a, const struct options *o)
{
	int rc;

	a->names = calloc((size_t)a->result.count + 1, sizeof(*a->names));
	for (uint32_t i = 0; a->names && i < a->result.count; i++)
		a->names[i] = a->known->nodes->names[a->nodes[i]];
	a->hosts = a->names ? hosts_fold(a->names, a->result.count) : NULL;
	rc = !a->hosts ? -ENOMEM : o->json ? print_answer_json(a) : print_answer(a, o);
	free(a->hosts);
	free(a->names);
	return rc;
}

static int place(const struct known *k, struct options *o, struct err *err)
{
	struct answer a = { .known = k, .request = &o->request };
	uint32_t *required =
		find_nodes(k, o->required ? o->required : "", &o->request.required_count, err);
	uint32_t *excluded =
		find_nodes(k, o->excluded ? o->excluded : "", &o->request.excluded_count, err);
	int rc, status = WRONG_USE;

	o->request.required = required;
	o->request.excluded = excluded;
	a.nodes = calloc((size_t)k->nodes->count + 1, sizeof(*a.nodes));
	if (required && excluded && a.nodes) {
		rc = place_decide(k->state, &o->request, &a.result, a.nodes, err);
		status = rc == -EINVAL ? WRONG_USE : UNKNOWN;
		if (rc == 0)
			status = show(&a, o) == 0 ? DONE : NO_ANSWER;
	}
	free(required);
	free(excluded);
	free(a.nodes);
	return status;
}

int cmd_place(const struct conf *conf, int argc, char **argv)
{
	struct options o = { .request = { .class = PLACE_COMPACT } };
	struct known known = { 0 };
	struct err err = { "" };
	char safe[sizeof(err.text)];
	int status = NO_ANSWER;

	if (parse_options(conf, &o, argc, argv) < 0) {
		fputs("Try 'sfabric place --help'.\n", stderr);
		return WRONG_USE;
	}
	if (o.help) {
		fputs(usage, stdout);
		return DONE;
	}
	if (known_load(&known, conf, &o, &err) == 0) {
		if (!o.histogram)
			status = place(&known, &o, &err);
		else if (print_histogram(&known, o.json) == 0)
			status = DONE;
	}
	known_clear(&known);
	if (status == DONE && fflush(stdout) != 0) {
		err_set(&err, errno, "standard output: %s", strerror(errno));
		status = NO_ANSWER;
	}
	if (status != DONE)
		fprintf(stderr, "sfabric place: %s\n",
			text_printable(err.text[0] ? err.text : "out of memory", safe,
				       sizeof(safe)));
	return status;
}
