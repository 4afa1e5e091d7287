/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_map.c - sfabric map: which HCA ports and switches the GPUs of a node use, and why.
 *
 * Without an argument the map of this machine, made on the spot with fabric.conf's filter; with a
 * node's name the one that node published, from sfabricctld; with --from one made from what was
 * recorded: an XML file of hwloc or NCCL, a folder that holds sys/ and proc/, or a map as --json
 * writes it.
 * Goes to standard output as two tables or as the contract's JSON.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choose.h"
#include "commands.h"
#include "io.h"
#include "json.h"
#include "machine.h"
#include "map.h"
#include "text.h"
#include "wire.h"

#define TIMEOUT_MS 5000
#define CELL 320

enum { DONE = 0, UNKNOWN = 1, WRONG_USE = 2, NO_ANSWER = 3 };

static const char usage[] =
	"Usage: sfabric map [--json] [NODE | --from FILE | --from FOLDER]\n"
	"Shows which HCA ports, and which switches behind them, each GPU of a node uses, and why.\n"
	"\n"
	"  NODE            the map that this node's sfabricd published, from sfabricctld;\n"
	"                  without it and without --from: this machine, as it is\n"
	"  --from FILE     an XML file of hwloc (lstopo --whole-io) or of NCCL or RCCL\n"
	"                  (NCCL_TOPO_DUMP_FILE), or a map written by --json\n"
	"  --from FOLDER   a recorded machine: a folder that holds its sys/ and proc/\n"
	"  --json          the map as JSON (format slurm-fabric/map)\n"
	"  --help          this text\n"
	"\n"
	"Exit status: 0 shown; 1 the node is not known, or its map may not be seen; 2 wrong use;\n"
	"3 no answer from sfabricctld, or what was to be read is broken.\n";

/* ---- where the map comes from ---- */

/* A map and, for a person, what its source lacks (malloc'ed or NULL). */
struct found {
	struct map *map;
	char *remark;
	int status; /* exit status when map is NULL */
};

static void from_machine(struct machine *m, const struct conf *conf, const char *host,
			 struct found *found, struct err *err)
{
	struct choose_filter filter = choose_filter_from(conf);

	if (!m)
		return;
	found->map = choose_map(m, &filter, m->host ? m->host : host, err);
	if (found->map) {
		found->map->boot_id = m->boot_id;
		m->boot_id = NULL;
		found->remark = m->remark;
		m->remark = NULL;
	}
	machine_free(m);
}

/* The name of a file or folder without its folders and, for a file, its last ending. */
static char *name_of(const char *path, bool file)
{
	size_t len = strlen(path);
	const char *start, *dot;
	char *name;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (start = path + len; start > path && start[-1] != '/'; start--)
		;
	name = strndup(start, len - (size_t)(start - path));
	dot = name && file ? strrchr(name, '.') : NULL;
	if (dot && dot != name)
		name[dot - name] = '\0';
	return name;
}

/* JSON begins with a brace, XML does not. */
static bool looks_like_json(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '{';
}

static void from_file(const struct conf *conf, const char *path, struct found *found,
		      struct err *err)
{
	char *text, *host;
	size_t len;

	if (io_read(path, MACHINE_XML_MAX_BYTES, &text, &len, err) < 0)
		return;
	if (looks_like_json(text)) {
		found->map = map_parse(text, len, path, err);
		free(text);
		return;
	}
	free(text);
	host = name_of(path, true);
	if (host)
		from_machine(machine_read_xml(path, err), conf, host, found, err);
	free(host);
}

static void from_path(const struct conf *conf, const char *path, struct found *found,
		      struct err *err)
{
	struct stat st;
	char *host;

	found->status = NO_ANSWER;
	if (stat(path, &st) < 0) {
		int code = errno;
		err_set(err, code, "%s: %s", path, strerror(code));
	} else if (S_ISDIR(st.st_mode)) {
		host = name_of(path, false);
		if (host)
			from_machine(machine_read_conf(conf, path, err), conf, host, found, err);
		free(host);
	} else {
		from_file(conf, path, found, err);
	}
}

static void from_here(const struct conf *conf, struct found *found, struct err *err)
{
	char host[256];

	found->status = NO_ANSWER;
	if (gethostname(host, sizeof(host)) < 0) {
		err_set(err, errno, "this machine's name is not known: %s", strerror(errno));
		return;
	}
	host[sizeof(host) - 1] = '\0';
	host[strcspn(host, ".")] = '\0'; /* Slurm's NodeName is the short one */
	from_machine(machine_read_conf(conf, conf->root, err), conf, host, found, err);
}

static void read_reply(const struct wire_reply *reply, const char *node, struct found *found,
		       struct err *err)
{
	if (reply->status >= 200 && reply->status < 300 && reply->json) {
		found->map = map_parse(reply->json, reply->length, "sfabricctld", err);
	} else if (reply->status == 404) {
		found->status = UNKNOWN;
		err_set(err, ENOENT,
			"%s: sfabricctld has no map of it: is that a node's name, and does "
			"sfabricd run there?",
			node);
	} else if (reply->status == 401 || reply->status == 403) {
		found->status = UNKNOWN;
		err_set(err, EACCES, "%s: sfabricctld does not show its map to you", node);
	} else {
		err_set(err, EPROTO,
			"%s: sfabricctld answered with HTTP status %d; its log says why", node,
			reply->status);
	}
}

static void from_server(const struct conf *conf, const char *node, struct found *found,
			struct err *err)
{
	struct wire_reply reply = { 0 };
	char *path;

	found->status = NO_ANSWER;
	if (!name_valid(node, 255)) {
		found->status = WRONG_USE;
		err_set(err, EINVAL,
			"that is no node's name (for a file: sfabric map --from FILE)");
		return;
	}
	path = io_format("/v1/maps/%s", node);
	if (path && wire_get(conf, path, TIMEOUT_MS, &reply, err) == 0)
		read_reply(&reply, node, found, err);
	wire_reply_clear(&reply);
	free(path);
}

/* ---- tables ---- */

struct table {
	size_t columns, rows;
	char (*cells)[CELL];
};

static bool table_make(struct table *t, size_t columns, size_t rows)
{
	t->columns = columns;
	t->rows = 0;
	t->cells = calloc(columns * rows, sizeof(*t->cells));
	return t->cells;
}

/* The cell of the row that is being filled. Text from outside is made safe when it is printed. */
static char *cell(struct table *t, size_t column)
{
	return t->cells[t->rows * t->columns + column];
}

static void set(struct table *t, size_t column, const char *text)
{
	text_printable(text && *text ? text : "-", cell(t, column), CELL);
}

static void set_int(struct table *t, size_t column, int value)
{
	if (value < 0)
		set(t, column, NULL);
	else
		snprintf(cell(t, column), CELL, "%d", value);
}

static void set_guid(struct table *t, size_t column, uint64_t guid)
{
	char text[GUID_TEXT];

	set(t, column, guid ? guid_format(guid, text) : NULL);
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

	for (size_t row = 0; row < t->rows; row++) {
		size_t width = width_of(t->cells[row * t->columns + column]);
		if (width > widest)
			widest = width;
	}
	return widest;
}

static void table_print(const struct table *t)
{
	for (size_t row = 0; row < t->rows; row++) {
		for (size_t i = 0; i < t->columns; i++) {
			const char *text = t->cells[row * t->columns + i];
			bool last = i + 1 == t->columns;
			printf("%s%*s", text,
			       last ? 0 : (int)(column_width(t, i) - width_of(text) + 2), "");
		}
		putchar('\n');
	}
}

static void set_row(struct table *t, const char *const *titles)
{
	for (size_t i = 0; i < t->columns; i++)
		set(t, i, titles[i]);
	t->rows++;
}

/* "mlx5_0:1 PIX, mlx5_1:1 PIX", cut where the cell ends. */
static void set_near(struct table *t, size_t column, const struct map *m, const struct map_gpu *g)
{
	char text[CELL] = "";
	size_t used = 0;

	for (size_t i = 0; i < g->near_count && used < sizeof(text) - 1; i++) {
		const struct map_port *p = &m->ports[g->near[i].port];
		int n = snprintf(text + used, sizeof(text) - used, "%s%s:%d %s", i ? ", " : "",
				 p->device, p->port, map_class_name(g->near[i].class));
		if (n > 0)
			used += (size_t)n;
	}
	set(t, column, text);
}

/* "0000:17:00.0", "0000:17:00.0 MIG 1/0" */
static void set_address(struct table *t, size_t column, const struct map_gpu *g)
{
	char text[CELL];

	snprintf(text, sizeof(text), "%s MIG %s", g->bdf, g->part ? g->part : "");
	set(t, column, g->part ? text : g->bdf);
}

static int print_gpus(const struct map *m)
{
	static const char *const titles[] = { "GPU", "GRES", "BDF", "NUMA", "NEAR", "REASON" };
	struct table t;

	if (m->gpu_count == 0) {
		puts("no GPU was found");
		return 0;
	}
	if (!table_make(&t, 6, m->gpu_count + 1))
		return -ENOMEM;
	set_row(&t, titles);
	for (size_t i = 0; i < m->gpu_count; i++, t.rows++) {
		const struct map_gpu *g = &m->gpus[i];
		set_int(&t, 0, g->index);
		set_int(&t, 1, g->gres);
		set_address(&t, 2, g);
		set_int(&t, 3, g->numa);
		set_near(&t, 4, m, g);
		set(&t, 5, g->reason);
	}
	table_print(&t);
	free(t.cells);
	return 0;
}

static void set_rate(struct table *t, size_t column, uint64_t bps)
{
	if (bps == 0)
		set(t, column, NULL);
	else
		snprintf(cell(t, column), CELL, "%.4g Gb/s", (double)bps / 1e9);
}

static int print_ports(const struct map *m)
{
	static const char *const titles[] = { "PORT",	"GUID", "STATE", "RATE",
					      "SWITCH", "PORT", "RAIL",	 "IGNORED" };
	struct table t;

	if (m->port_count == 0) {
		puts("no HCA port was found");
		return 0;
	}
	if (!table_make(&t, 8, m->port_count + 1))
		return -ENOMEM;
	set_row(&t, titles);
	for (size_t i = 0; i < m->port_count; i++, t.rows++) {
		const struct map_port *p = &m->ports[i];
		bool leaf = p->leaf.source != LEAF_OPEN;
		char name[CELL];
		snprintf(name, sizeof(name), "%s:%d", p->device, p->port);
		set(&t, 0, name);
		set_guid(&t, 1, p->guid);
		set(&t, 2, link_state_name(p->state));
		set_rate(&t, 3, p->rate_bps);
		set(&t, 4, leaf ? p->leaf.name : NULL);
		set_int(&t, 5, leaf ? p->leaf.port : -1);
		set_int(&t, 6, leaf ? p->leaf.rail : -1);
		set(&t, 7, p->ignored);
	}
	table_print(&t);
	free(t.cells);
	return 0;
}

static int print_tables(const struct found *found)
{
	char text[CELL];
	int rc;

	printf("node %s\n", text_printable(found->map->host, text, sizeof(text)));
	if (found->remark)
		printf("%s\n", text_printable(found->remark, text, sizeof(text)));
	putchar('\n');
	rc = print_gpus(found->map);
	putchar('\n');
	return rc < 0 ? rc : print_ports(found->map);
}

static int print_json(const struct map *m)
{
	char *text = map_text(m);

	if (!text)
		return -ENOMEM;
	fputs(text, stdout);
	free(text);
	return 0;
}

/* ---- the command ---- */

struct options {
	const char *from; /* NULL: not given */
	const char *node; /* NULL: not given */
	bool json;
	bool help;
};

static int wrong_option(int c, const char *word)
{
	char text[CELL];

	fprintf(stderr, "sfabric map: %s: %s\n", text_printable(word, text, sizeof(text)),
		c == ':' ? "a file or folder has to follow" : "no such option");
	return -EINVAL;
}

static int parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = { { "from", required_argument, NULL, 'f' },
					       { "json", no_argument, NULL, 'j' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	int c;

	optind = 0; /* glibc: start over, sfabric has parsed its own options */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":f:jh", longs, NULL)) != -1) {
		if (c == 'f')
			o->from = optarg;
		else if (c == 'j')
			o->json = true;
		else if (c == 'h')
			o->help = true;
		else
			return wrong_option(c, argv[optind - 1]);
	}
	if (optind < argc)
		o->node = argv[optind++];
	if (optind == argc && !(o->node && o->from))
		return 0;
	fputs("sfabric map: give one node, or one --from\n", stderr);
	return -EINVAL;
}

static int print_found(const struct found *found, bool json)
{
	int rc = json ? print_json(found->map) : print_tables(found);

	if (rc < 0)
		fprintf(stderr, "sfabric map: %s\n", strerror(-rc));
	else if (fflush(stdout) == 0)
		return DONE;
	else
		fprintf(stderr, "sfabric map: standard output: %s\n", strerror(errno));
	return NO_ANSWER;
}

int cmd_map(const struct conf *conf, int argc, char **argv)
{
	struct options o = { 0 };
	struct found found = { 0 };
	struct err err = { "" };
	char safe[sizeof(err.text)];
	int status;

	if (parse_options(&o, argc, argv) < 0) {
		fputs("Try 'sfabric map --help'.\n", stderr);
		return WRONG_USE;
	}
	if (o.help) {
		fputs(usage, stdout);
		return DONE;
	}
	if (o.from)
		from_path(conf, o.from, &found, &err);
	else if (o.node)
		from_server(conf, o.node, &found, &err);
	else
		from_here(conf, &found, &err);
	status = found.status;
	if (found.map)
		status = print_found(&found, o.json);
	else
		fprintf(stderr, "sfabric map: %s\n",
			text_printable(err.text[0] ? err.text : "out of memory", safe,
				       sizeof(safe)));
	map_free(found.map);
	free(found.remark);
	return status;
}
