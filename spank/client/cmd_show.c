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

/* ---- tables ---- */

#define COLUMNS 9
#define CELL 256

struct table {
	size_t columns, rows;
	bool right[COLUMNS]; /* numbers */
	char (*cells)[COLUMNS][CELL];
};

static bool table_make(struct table *t, size_t columns, size_t rows)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->cells = calloc(rows + 1, sizeof(*t->cells));
	return t->cells;
}

/* The cell of the row that is being filled. */
static char *cell(struct table *t, size_t column)
{
	return t->cells[t->rows][column];
}

static void set(struct table *t, size_t column, const char *text)
{
	text_printable(text && text[0] ? text : "-", cell(t, column), CELL);
}

static void set_titles(struct table *t, const char *const *titles)
{
	for (size_t i = 0; i < t->columns; i++)
		set(t, i, titles[i]);
	t->rows++;
}

/* Characters, not bytes: names may be UTF-8. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static size_t column_width(const struct table *t, size_t column)
{
	size_t widest = 0;

	for (size_t row = 0; row < t->rows; row++)
		if (width_of(t->cells[row][column]) > widest)
			widest = width_of(t->cells[row][column]);
	return widest;
}

static void table_print(const struct table *t)
{
	size_t widths[COLUMNS] = { 0 };

	for (size_t i = 0; i < t->columns; i++)
		widths[i] = column_width(t, i);
	for (size_t row = 0; row < t->rows; row++) {
		for (size_t i = 0; i < t->columns; i++) {
			const char *text = t->cells[row][i];
			int pad = (int)(widths[i] - width_of(text));
			bool last = i + 1 == t->columns;

			printf("  %*s%s%*s", t->right[i] ? pad : 0, "", text,
			       t->right[i] || last ? 0 : pad, "");
		}
		putchar('\n');
	}
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

#define LINE 100     /* columns */
#define NODES_MAX 24 /* columns; a longer host list has a line of its own */

/* Words in lines of at most LINE columns, those after the first with an indent. */
struct lines {
	size_t indent, column;
};

static void print_word(struct lines *l, const char *word)
{
	size_t width = width_of(word);

	if (l->column > l->indent && l->column + 1 + width > LINE) {
		printf("\n%*s", (int)l->indent, "");
		l->column = l->indent;
	} else if (l->column > l->indent) {
		putchar(' ');
		l->column++;
	}
	fputs(word, stdout);
	l->column += width;
}

/* "mlx5_0:1" as "mlx5_0": nearly all ports are the first of their device. */
static void add_port(char *text, const char *port)
{
	size_t used = strlen(text), len = strlen(port);
	char safe[CELL];

	text_printable(port, safe, sizeof(safe));
	len = strlen(safe);
	if (len > 2 && !strcmp(safe + len - 2, ":1"))
		safe[len - 2] = '\0';
	snprintf(text + used, WORD - used, "%s%s", used && text[used - 1] != '=' ? "+" : "", safe);
}

static const char *string_at(json_object *array, size_t i)
{
	json_object *value = i < length(array) ? json_object_array_get_idx(array, i) : NULL;

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "?";
}

/* The distance of all GPUs to their ports when it is one; NULL: they differ. */
static const char *one_class(json_object *gpus)
{
	const char *class = NULL;

	json_object_object_foreach(gpus, gpu, ports)
	{
		(void)gpu;
		if (!json_object_is_type(ports, json_type_array) || !length(ports) ||
		    (class && strcmp(class, string_at(ports, 0)) != 0))
			return NULL;
		class = string_at(ports, 0);
	}
	return class;
}

/* "3=mlx5_4+mlx5_5", with "(PXB)" where GPUs differ in it; "3=-" for no port. */
static void print_gpu(struct lines *l, const char *gpu, json_object *ports, bool with_class)
{
	char text[WORD], safe[CELL];
	size_t used;

	snprintf(text, sizeof(text), "%s=", text_printable(gpu, safe, 32));
	if (!json_object_is_type(ports, json_type_array) || length(ports) < 2)
		strcat(text, "-");
	else
		for (size_t i = 1; i < length(ports); i++)
			add_port(text, string_at(ports, i));
	used = strlen(text);
	if (with_class && json_object_is_type(ports, json_type_array) && length(ports))
		snprintf(text + used, sizeof(text) - used, "(%s)",
			 text_printable(string_at(ports, 0), safe, 16));
	print_word(l, text);
}

static void print_ports(struct lines *l, json_object *ports)
{
	for (size_t i = 0; i < length(ports); i++) {
		char text[WORD] = "";

		add_port(text, string_at(ports, i));
		print_word(l, text);
	}
	if (!length(ports))
		print_word(l, "-");
}

/* The width of the column of host lists. */
static size_t nodes_column(json_object *map)
{
	size_t widest = strlen("NODES");
	char nodes[WORD];

	for (size_t i = 0; i < length(map); i++) {
		const char *text = get_text(json_object_array_get_idx(map, i), "nodes", nodes);
		size_t width = text ? width_of(text) : 1;

		if (width > widest && width <= NODES_MAX)
			widest = width;
	}
	return widest;
}

/* "in 2 PCIe switch trees: 0,1 and 4,5; on this node they would fit in 1" */
static void print_trees(json_object *pattern, size_t indent)
{
	json_object *trees = get(pattern, "trees", json_type_array);
	struct lines l = { indent, indent };
	char text[WORD];
	int64_t fewest;

	if (!length(trees))
		return;
	printf("%*s", (int)indent, "");
	snprintf(text, sizeof(text), "in %zu PCIe switch tree%s:", length(trees),
		 length(trees) == 1 ? "" : "s");
	print_word(&l, text);
	for (size_t i = 0; i < length(trees); i++) {
		json_object *tree = json_object_array_get_idx(trees, i);
		size_t used = 0,
		       count = json_object_is_type(tree, json_type_array) ? length(tree) : 0;

		text[0] = '\0';
		for (size_t k = 0; k < count && used + 16 < sizeof(text); k++)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%d", k ? "," : "",
				json_object_get_int(json_object_array_get_idx(tree, k)));
		print_word(&l, text);
	}
	if (get_number(pattern, "trees_fewest", &fewest))
		printf("\n%*s(as many GPUs of this node lie in %" PRId64 ", if they are free)",
		       (int)indent, "", fewest);
	putchar('\n');
}

/* A pattern is a line where it fits one. */
static void print_pattern(json_object *pattern, size_t column)
{
	json_object *gpus = get(pattern, "gpus", json_type_object);
	const char *class = gpus ? one_class(gpus) : NULL;
	struct lines l = { column + 10, column + 10 };
	char nodes[WORD], safe[16];

	if (!get_text(pattern, "nodes", nodes))
		strcpy(nodes, "?");
	printf("  %s", nodes);
	if (width_of(nodes) > column)
		printf("\n%*s", (int)column + 4, "");
	else
		printf("%*s", (int)(column - width_of(nodes)) + 2, "");
	printf("%-6s", class ? text_printable(class, safe, sizeof(safe)) : gpus ? "" : "-");
	if (gpus) {
		json_object_object_foreach(gpus, gpu, ports) print_gpu(&l, gpu, ports, !class);
	} else {
		print_ports(&l, get(pattern, "ports", json_type_array));
	}
	putchar('\n');
	if (get(pattern, "whole_node", json_type_boolean))
		printf("%*s(all GPUs of the node: the job's are not known)\n", (int)l.indent, "");
	print_trees(pattern, column + 10);
}

struct leaf_row {     /* one leaf on one rail */
	int64_t rail; /* INT64_MAX unknown: last */
	const char *leaf, *hosts;
};

static int by_rail_and_leaf(const void *a, const void *b)
{
	const struct leaf_row *x = a, *y = b;

	if (x->rail != y->rail)
		return x->rail < y->rail ? -1 : 1;
	return strverscmp(x->leaf, y->leaf);
}

/* All leaves of all rails; malloc'ed, NULL without memory. The texts are the story's. */
static struct leaf_row *leaf_rows(json_object *rails, size_t *count)
{
	size_t most = 0;
	struct leaf_row *rows;

	*count = 0;
	for (size_t i = 0; i < length(rails); i++) {
		json_object *leaves =
			get(json_object_array_get_idx(rails, i), "leaves", json_type_object);

		most += leaves ? (size_t)json_object_object_length(leaves) : 0;
	}
	rows = calloc(most + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < length(rails); i++) {
		json_object *rail = json_object_array_get_idx(rails, i);
		json_object *leaves = get(rail, "leaves", json_type_object);
		int64_t number = INT64_MAX;

		if (!leaves)
			continue;
		get_number(rail, "rail", &number);
		json_object_object_foreach(leaves, leaf, hosts)
		{
			rows[(*count)++] =
				(struct leaf_row){ number, leaf, json_object_get_string(hosts) };
		}
	}
	if (rows)
		qsort(rows, *count, sizeof(*rows), by_rail_and_leaf);
	return rows;
}

static void print_rails(json_object *rails, json_object *switches)
{
	static const char *const titles[] = { "RAIL", "LEAF", "GUID", "NODES" };
	size_t count;
	struct leaf_row *rows = leaf_rows(rails, &count);
	struct table t;
	char guid[WORD];

	if (rows && count && table_make(&t, 4, count)) {
		t.right[0] = true;
		set_titles(&t, titles);
		for (size_t i = 0; i < count; i++, t.rows++) {
			if (rows[i].rail == INT64_MAX)
				set(&t, 0, NULL);
			else
				snprintf(cell(&t, 0), CELL, "%" PRId64, rows[i].rail);
			set(&t, 1, rows[i].leaf);
			set(&t, 2, get_text(switches, rows[i].leaf, guid));
			set(&t, 3, rows[i].hosts);
		}
		putchar('\n');
		table_print(&t);
		free(t.cells);
	}
	free(rows);
}

/* Nodes that are not like the others: where to look for a crossed cable or a dark port. */
static void print_odd(json_object *folded)
{
	json_object *odd = get(folded, "odd", json_type_array);
	int64_t more;

	if (length(odd))
		puts("\n  not like their peers:");
	for (size_t i = 0; i < length(odd); i++) {
		json_object *entry = json_object_array_get_idx(odd, i);
		char nodes[WORD], has[WORD], peers[WORD];

		if (get_text(entry, "nodes", nodes) && get_text(entry, "has", has) &&
		    get_text(entry, "peers", peers))
			printf("  %s: %s; on most: %s\n", nodes, has, peers);
	}
	if (get_number(folded, "odd_more", &more))
		printf("  and %" PRId64 " more differences\n", more);
}

static void print_map(json_object *story)
{
	json_object *folded = get(story, "folded", json_type_object);
	json_object *map = get(folded, "map", json_type_array);
	size_t column = nodes_column(map);
	char text[WORD];
	int64_t more;

	if (length(map))
		printf("\n  %-*s  %-6s%s\n", (int)column, "NODES", "NEAR", "GPU=PORT");
	for (size_t i = 0; i < length(map); i++)
		print_pattern(json_object_array_get_idx(map, i), column);
	if (get_number(folded, "map_more", &more))
		printf("  and %" PRId64 " more groups of nodes\n", more);
	if (get_text(folded, "no_map", text))
		printf("  %s: no map was published\n", text);
	print_rails(get(folded, "rails", json_type_array),
		    get(folded, "switches", json_type_object));
	if (get_text(folded, "leaf_open", text))
		printf("  %s: the switch of a port is not known\n", text);
	print_odd(folded);
}

/* The total of one meaning; with "+" where some nodes do not know theirs. */
static void set_total(struct table *t, size_t column, json_object *step, const char *key,
		      bool bytes)
{
	char text[32], whole[64];
	int64_t nodes;

	snprintf(whole, sizeof(whole), "%s%s",
		 total_text(get(step, "totals", json_type_object), key, bytes, text),
		 get_number(get(step, "unknown_on", json_type_object), key, &nodes) ? "+" : "");
	set(t, column, whole);
}

static void set_step(struct table *t, json_object *step)
{
	char name[WORD], elapsed[32] = "-", reported[64];
	int64_t ns, nodes, count = 0;

	set(t, 0, get_text(step, "step", name));
	if (get_number(step, "elapsed_ns", &ns))
		elapsed_text(ns, elapsed);
	set(t, 1, elapsed);
	get_number(step, "reported", &count);
	if (get_number(step, "nodes", &nodes))
		snprintf(reported, sizeof(reported), "%" PRId64 " of %" PRId64, count, nodes);
	else
		snprintf(reported, sizeof(reported), "%" PRId64, count);
	set(t, 2, reported);
	set_total(t, 3, step, "rx_bytes", true);
	set_total(t, 4, step, "tx_bytes", true);
	set_total(t, 5, step, "retransmits", false);
	set_total(t, 6, step, "errors", false);
	set_total(t, 7, step, "read_bytes", true);
	set_total(t, 8, step, "write_bytes", true);
}

static void print_steps(json_object *steps)
{
	static const char *const titles[] = { "STEP",	 "ELAPSED", "REPORTED", "IN",	  "OUT",
					      "RETRANS", "ERRORS",  "READ",	"WRITTEN" };
	bool plus = false;
	struct table t;

	if (!length(steps)) {
		printf("\nsteps   none is known\n");
		return;
	}
	if (!table_make(&t, COLUMNS, length(steps)))
		return;
	for (size_t i = 1; i < COLUMNS; i++)
		t.right[i] = true;
	set_titles(&t, titles);
	for (size_t i = 0; i < length(steps); i++, t.rows++) {
		json_object *step = json_object_array_get_idx(steps, i);

		set_step(&t, step);
		plus = plus || get(step, "unknown_on", json_type_object);
	}
	putchar('\n');
	table_print(&t);
	free(t.cells);
	if (plus)
		printf("  +: at least; some of the nodes that reported do not know theirs\n");
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
		char safe[sizeof(err.text)];

		fprintf(stderr, "sfabric: %s\n", text_printable(err.text, safe, sizeof(safe)));
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
