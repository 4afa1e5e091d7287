/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_show.c - `sfabric show JOB`: a job's story from sfabricctld, for people or as it is (--json).
 *
 * The story is checked no further than needed to print it: a key that is missing or of another type
 * is not printed. All of its strings may come from users and go through text_printable().
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "hosts.h"
#include "io.h"
#include "json.h"
#include "story.h"
#include "text.h"
#include "wire.h"

#define TIMEOUT_MS 10000
#define WORD 1024

/* ---- reading what may not be there ---- */

static json_object *get(json_object *object, const char *key, json_type type)
{
	json_object *value = NULL;

	if (!json_object_is_type(object, json_type_object) ||
	    !json_object_object_get_ex(object, key, &value))
		return NULL;
	return json_object_is_type(value, type) ? value : NULL;
}

/* The string made printable in out; NULL when it is not there. */
static const char *get_text(json_object *object, const char *key, char out[WORD])
{
	json_object *value = get(object, key, json_type_string);

	return value ? text_printable(json_object_get_string(value), out, WORD) : NULL;
}

static bool get_number(json_object *object, const char *key, int64_t *number)
{
	json_object *value = get(object, key, json_type_int);

	if (value)
		*number = json_object_get_int64(value);
	return value != NULL;
}

static size_t length(json_object *array)
{
	return array ? json_object_array_length(array) : 0;
}

/* ---- forms ---- */

static const char *bytes_text(int64_t bytes, char out[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit < sizeof(units) / sizeof(units[0]) - 1) {
		value /= 1024;
		unit++;
	}
	snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return out;
}

static const char *elapsed_text(int64_t ns, char out[32])
{
	int64_t s = ns / 1000000000;

	if (s >= 60)
		snprintf(out, 32, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60,
			 s % 60);
	else
		snprintf(out, 32, "%.1f s", (double)ns / 1e9);
	return out;
}

/* A count of one meaning for a table: "-" unknown. */
static const char *total_text(json_object *totals, const char *key, bool bytes, char out[32])
{
	int64_t number;

	if (!get_number(totals, key, &number))
		return "-";
	if (bytes)
		return bytes_text(number, out);
	snprintf(out, 32, "%" PRId64, number);
	return out;
}

/* Host names of a JSON array as a host list; malloc'ed, printable; NULL for none. */
static char *fold_array(json_object *array)
{
	size_t n = length(array);
	const char **names = calloc(n + 1, sizeof(*names));
	char *folded = NULL, *safe = NULL;

	for (size_t i = 0; names && i < n; i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(array, i));

		names[i] = name ? name : "";
	}
	if (names && n)
		folded = hosts_fold(names, n);
	free(names);
	if (folded) {
		size_t size = strlen(folded) * 4 + 1;

		safe = malloc(size);
		if (safe)
			text_printable(folded, safe, size);
	}
	free(folded);
	return safe;
}

/* ---- the parts ---- */

static void print_head(json_object *story)
{
	json_object *info = get(story, "job_info", json_type_object);
	json_object *units = get(story, "units", json_type_object);
	char a[WORD], b[WORD], *hosts;
	int64_t job = 0, used, fewest;
	const char *text;

	get_number(story, "job", &job);
	printf("job %" PRId64, job);
	text = get_text(info, "name", a);
	if (text)
		printf(" \"%s\"", text);
	text = get_text(info, "user", a);
	if (text)
		printf(" of %s", text);
	text = get_text(info, "slurm_state", a);
	printf(": %s, record %s\n", text ? text : "not known to Slurm yet",
	       get_text(story, "state", b) ? b : "unknown");
	text = get_text(story, "class", a);
	printf("class   %s\n", text ? text : "none asked for");
	hosts = fold_array(get(info, "hosts", json_type_array));
	if (hosts)
		printf("hosts   %s (%zu)\n", hosts, length(get(info, "hosts", json_type_array)));
	free(hosts);
	if (get_number(units, "used", &used) && get_number(units, "fewest", &fewest))
		printf("units   %" PRId64 " used, %" PRId64 " is the fewest possible\n", used,
		       fewest);
}

static void print_words(json_object *array)
{
	char text[WORD];

	for (size_t i = 0; i < length(array); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(array, i));

		printf(" %s", word ? text_printable(word, text, sizeof(text)) : "?");
	}
	printf("\n");
}

static void print_pattern(json_object *pattern)
{
	json_object *gpus = get(pattern, "gpus", json_type_object);
	char text[WORD];

	printf("  %s%s\n", get_text(pattern, "nodes", text) ? text : "?",
	       get(pattern, "whole_node", json_type_boolean)
		       ? " (all GPUs of the node; the job's are not known)"
		       : "");
	if (gpus) {
		json_object_object_foreach(gpus, gpu, ports)
		{
			printf("    GPU %-3s", text_printable(gpu, text, sizeof(text)));
			if (json_object_is_type(ports, json_type_array) && length(ports))
				print_words(ports);
			else
				printf(" no port\n");
		}
	} else {
		printf("    ports  ");
		print_words(get(pattern, "ports", json_type_array));
	}
}

static void print_rail(json_object *rail, json_object *switches)
{
	json_object *leaves = get(rail, "leaves", json_type_object);
	char name[WORD], guid[WORD], hosts[WORD];
	int64_t number;

	if (!leaves)
		return;
	json_object_object_foreach(leaves, leaf, list)
	{
		const char *text = json_object_get_string(list);

		if (get_number(rail, "rail", &number))
			printf("  %-4" PRId64, number);
		else
			printf("  -   ");
		printf(" %-24s %-18s %s\n", text_printable(leaf, name, sizeof(name)),
		       get_text(switches, leaf, guid) ? guid : "-",
		       text ? text_printable(text, hosts, sizeof(hosts)) : "?");
	}
}

static void print_map(json_object *story)
{
	json_object *folded = get(story, "folded", json_type_object);
	json_object *map = get(folded, "map", json_type_array),
		    *rails = get(folded, "rails", json_type_array);
	char text[WORD];

	if (length(map))
		printf("\nmap\n");
	for (size_t i = 0; i < length(map); i++)
		print_pattern(json_object_array_get_idx(map, i));
	if (get_text(folded, "no_map", text))
		printf("  %s: no map was published\n", text);
	if (length(rails))
		printf("\n  RAIL LEAF                     GUID               NODES\n");
	for (size_t i = 0; i < length(rails); i++)
		print_rail(json_object_array_get_idx(rails, i),
			   get(folded, "switches", json_type_object));
	if (get_text(folded, "leaf_open", text))
		printf("  %s: the switch of a port is not known\n", text);
}

static void print_step(json_object *step)
{
	json_object *totals = get(step, "totals", json_type_object);
	char name[WORD], elapsed[32] = "-", reported[64], text[6][32];
	int64_t ns, nodes, count = 0;

	if (get_number(step, "elapsed_ns", &ns))
		elapsed_text(ns, elapsed);
	get_number(step, "reported", &count);
	if (get_number(step, "nodes", &nodes))
		snprintf(reported, sizeof(reported), "%" PRId64 " of %" PRId64, count, nodes);
	else
		snprintf(reported, sizeof(reported), "%" PRId64, count);
	printf("  %-11s %9s %11s %11s %11s %8s %8s %11s %11s\n",
	       get_text(step, "step", name) ? name : "?", elapsed, reported,
	       total_text(totals, "rx_bytes", true, text[0]),
	       total_text(totals, "tx_bytes", true, text[1]),
	       total_text(totals, "retransmits", false, text[2]),
	       total_text(totals, "errors", false, text[3]),
	       total_text(totals, "read_bytes", true, text[4]),
	       total_text(totals, "write_bytes", true, text[5]));
}

static void print_steps(json_object *steps)
{
	if (!length(steps)) {
		printf("\nsteps   none is known\n");
		return;
	}
	printf("\n  STEP          ELAPSED    REPORTED          IN         OUT  RETRANS   ERRORS    "
	       "    READ     WRITTEN\n");
	for (size_t i = 0; i < length(steps); i++)
		print_step(json_object_array_get_idx(steps, i));
}

/* Who has not reported, and what reported in part, each a line. */
static void print_gaps(json_object *step)
{
	json_object *partial = get(step, "partial", json_type_array);
	char name[WORD], node[WORD], why[WORD];
	char *missing = fold_array(get(step, "missing", json_type_array));

	if (!get_text(step, "step", name))
		strcpy(name, "?");
	if (missing)
		printf("step %s: no record from %s\n", name, missing);
	for (size_t i = 0; i < length(partial); i++) {
		json_object *entry = json_object_array_get_idx(partial, i);

		if (get_text(entry, "node", node) && get_text(entry, "why", why))
			printf("step %s: %s reported in part: %s\n", name, node, why);
	}
	free(missing);
}

static void print_suspect(const char *step, json_object *s)
{
	char node[WORD], device[WORD], text[WORD];
	int64_t number;

	printf("  step %s: %s %s", step, get_text(s, "node", node) ? node : "?",
	       get_text(s, "device", device) ? device : "?");
	if (get_text(s, "port_guid", text))
		printf(" (%s)", text);
	if (get_text(s, "switch", text))
		printf(" on %s", text);
	if (get_text(s, "switch_guid", text))
		printf(" (%s)", text);
	if (get_number(s, "switch_port", &number))
		printf(" port %" PRId64, number);
	printf(":");
	if (get_number(s, "retransmits", &number))
		printf(" %" PRId64 " retransmits", number);
	if (get_number(s, "errors", &number))
		printf("%s %" PRId64 " errors", get(s, "retransmits", json_type_int) ? "," : "",
		       number);
	if (get_number(s, "median", &number))
		printf("; the median of the step's ports is %" PRId64, number);
	printf("\n");
}

static void print_evidence(json_object *steps)
{
	bool any = false;
	char name[WORD];

	for (size_t i = 0; i < length(steps); i++) {
		json_object *step = json_object_array_get_idx(steps, i);
		json_object *suspects = get(step, "suspects", json_type_array);

		if (!get_text(step, "step", name))
			strcpy(name, "?");
		if (length(suspects) && !any) {
			printf("\nsuspects\n");
			any = true;
		}
		for (size_t k = 0; k < length(suspects); k++)
			print_suspect(name, json_object_array_get_idx(suspects, k));
	}
}

static void print_story(json_object *story)
{
	json_object *steps = get(story, "steps", json_type_array);
	char state[WORD];
	int64_t more;

	print_head(story);
	print_map(story);
	print_steps(steps);
	if (!get_text(story, "state", state) ||
	    strcmp(state, "running") != 0) /* else nobody is late */
		for (size_t i = 0; i < length(steps); i++)
			print_gaps(json_object_array_get_idx(steps, i));
	if (get_number(story, "steps_more", &more))
		printf("and %" PRId64 " more steps\n", more);
	print_evidence(steps);
	if (get(story, "cut", json_type_boolean))
		printf("\nThis job is too large to be shown whole; details of nodes were left "
		       "out.\n");
}

/* ---- the command ---- */

static int usage(FILE *out, int status)
{
	fprintf(out, "Usage: sfabric show JOB [--json]\n"
		     "JOB is a job's number, or ARRAY_TASK for a task of an array.\n");
	return status;
}

static bool job_valid(const char *job)
{
	return job[0] && strlen(job) < 32 && strspn(job, "0123456789_") == strlen(job);
}

static int refused(const struct wire_reply *reply, const char *job)
{
	json_object *object =
		reply->json ? json_parse(reply->json, reply->length, "answer", NULL) : NULL;
	char text[WORD];

	fprintf(stderr, "sfabric: job %s: %s (status %d)\n", job,
		get_text(object, "error", text) ? text : "refused", reply->status);
	json_object_put(object);
	return reply->status == 404 || reply->status == 403 ? 1 : 3;
}

static int show(const struct wire_reply *reply, bool as_json)
{
	struct err err = { "" };
	json_object *story = json_parse(reply->json, reply->length, "answer", &err);
	struct json_reader r = { .source = "answer", .err = &err };
	char *text = NULL;

	if (story)
		json_read_format(&r, story, STORY_FORMAT, STORY_VERSION);
	if (story && r.rc == 0 && as_json) {
		text = json_text(story);
		if (text)
			fputs(text, stdout);
	} else if (story && r.rc == 0) {
		print_story(story);
	} else {
		fprintf(stderr, "sfabric: %s\n", err.text);
	}
	free(text);
	json_object_put(story);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "sfabric: can't write: %s\n", strerror(errno));
		return 3;
	}
	return story && r.rc == 0 ? 0 : 3;
}

/* Asks sfabricctld and shows the answer. */
static int ask(const struct conf *conf, const char *job, bool as_json)
{
	char *path = io_format("/v1/jobs/%s", job), safe[WORD];
	struct wire_reply reply;
	struct err err = { "" };
	int rc = path ? wire_get(conf, path, TIMEOUT_MS, &reply, &err)
		      : err_set(&err, ENOMEM, "out of memory");

	free(path);
	if (rc < 0) {
		fprintf(stderr, "sfabric: no answer from sfabricctld: %s\n",
			text_printable(err.text, safe, sizeof(safe)));
		return 3;
	}
	rc = reply.status == 200 ? show(&reply, as_json) : refused(&reply, job);
	wire_reply_clear(&reply);
	return rc;
}

int cmd_show(const struct conf *conf, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool as_json = false;
	int c;

	while ((c = getopt_long(argc, argv, "jh", longs, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, 0);
		if (c != 'j')
			return usage(stderr, 2);
		as_json = true;
	}
	if (optind + 1 != argc || !job_valid(argv[optind]))
		return usage(stderr, 2);
	return ask(conf, argv[optind], as_json);
}
