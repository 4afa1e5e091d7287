/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peers.c - see peers.h.
 *
 * Of each node's map a few lines are written, "THING: VALUE", one for each GPU (its ports and their
 * distance), each port (whether it is used) and each port's rail, where that is known. Nodes with
 * the same lines are alike. An odd node's first line that has another value than on the nodes that
 * are most is what is said of it. A rail that is not known is no difference. Where no lines are
 * those of most nodes, as the adapters are called otherwise on each of them, the nodes are compared
 * by numbers of ports and GPUs alone.
 */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "io.h"

#define LEAST_PEERS 3

struct node {
	const char *name, *model;
	const struct map *map;
	char *lines;
	char *has, *peers; /* of an odd one; NULL: it is none */
};

/* ---- lines ---- */

static void add_gpu(struct io_text *text, const struct map *m, size_t i)
{
	const struct map_gpu *g = &m->gpus[i];

	io_add(text, "GPU %zu: ", i);
	if (g->near_count == 0)
		io_add(text, "no port");
	else
		io_add(text, "%s", map_class_name(g->near[0].class));
	for (size_t k = 0; k < g->near_count; k++)
		io_add(text, "%s%s:%d", k ? "+" : " ", m->ports[g->near[k].port].device,
		       m->ports[g->near[k].port].port);
	io_add(text, "\n");
}

static char *names_of(const struct map *m)
{
	struct io_text text = { 0 };

	for (size_t i = 0; i < m->port_count; i++)
		io_add(&text, "port %s:%d: %s\n", m->ports[i].device, m->ports[i].port,
		       m->ports[i].ignored ? m->ports[i].ignored : "used");
	for (size_t i = 0; i < m->gpu_count; i++)
		add_gpu(&text, m, i);
	for (size_t i = 0; i < m->port_count; i++)
		if (m->ports[i].leaf.source != LEAF_OPEN && m->ports[i].leaf.rail >= 0)
			io_add(&text, "rail of %s:%d: %d\n", m->ports[i].device, m->ports[i].port,
			       m->ports[i].leaf.rail);
	return io_end(&text);
}

static char *numbers_of(const struct map *m)
{
	struct io_text text = { 0 };
	size_t used = 0, near[MAP_UNKNOWN + 1] = { 0 };

	for (size_t i = 0; i < m->port_count; i++)
		used += !m->ports[i].ignored;
	for (size_t i = 0; i < m->gpu_count; i++)
		if (m->gpus[i].near_count)
			near[m->gpus[i].near[0].class]++;
	io_add(&text, "ports used: %zu of %zu\nGPUs: %zu\n", used, m->port_count, m->gpu_count);
	for (int i = 0; i <= MAP_UNKNOWN; i++)
		io_add(&text, "GPUs with a port at %s: %zu\n", map_class_name(i), near[i]);
	return io_end(&text);
}

/* The length of a line, and of its thing with ": " behind it. */
static size_t line_len(const char *line)
{
	return strcspn(line, "\n");
}

static size_t thing_len(const char *line)
{
	const char *end = memmem(line, line_len(line), ": ", 2);

	return end ? (size_t)(end - line) + 2 : line_len(line);
}

/* The line of lines that is about the same thing; NULL: there is none. */
static const char *same_thing(const char *lines, const char *line)
{
	size_t len = thing_len(line);

	while (*lines && strncmp(lines, line, len) != 0) {
		lines += line_len(lines);
		lines += *lines == '\n';
	}
	return *lines ? lines : NULL;
}

static bool is_rail(const char *line)
{
	return !strncmp(line, "rail of ", 8);
}

/* What a node has where its peers have line; malloc'ed. */
static int say(struct node *n, const char *line, const char *has)
{
	if (has)
		n->has = strndup(has, line_len(has));
	else
		n->has = io_format("%.*snone", (int)thing_len(line), line);
	n->peers = strndup(line + thing_len(line), line_len(line) - thing_len(line));
	return n->has && n->peers ? 0 : -ENOMEM;
}

/* The first difference to the lines that most have; what only this node has comes last. */
static int compare(struct node *n, const char *most)
{
	for (const char *line = most; *line; line += line_len(line) + 1) {
		const char *has = same_thing(n->lines, line);
		bool equal = has && line_len(has) == line_len(line) &&
			     !strncmp(has, line, line_len(line));

		if (!equal && (has || !is_rail(line)))
			return say(n, line, has);
	}
	for (const char *line = n->lines; *line; line += line_len(line) + 1)
		if (!is_rail(line) && !same_thing(most, line)) {
			n->has = strndup(line, line_len(line));
			n->peers = strdup("none");
			return n->has && n->peers ? 0 : -ENOMEM;
		}
	return 0;
}

/* ---- who is like whom ---- */

static int by_lines(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return strcmp(x->lines, y->lines);
}

static int by_model(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return strcmp(x->model, y->model);
}

/*
 * nodes are of one model: compares the others with the largest group that has the same lines. 1: no
 * group is more than half of them.
 */
static int compare_all(struct node *nodes, size_t count, char *(*lines_of)(const struct map *m))
{
	size_t best = 0, largest = 0;
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		free(nodes[i].lines);
		nodes[i].lines = lines_of(nodes[i].map);
		if (!nodes[i].lines)
			return -ENOMEM;
	}
	qsort(nodes, count, sizeof(*nodes), by_lines);
	for (size_t i = 0, n; i < count; i += n) {
		for (n = 1; i + n < count && !strcmp(nodes[i].lines, nodes[i + n].lines); n++)
			;
		if (n > largest) {
			largest = n;
			best = i;
		}
	}
	if (largest * 2 <= count)
		return 1;
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (i < best || i >= best + largest)
			rc = compare(&nodes[i], nodes[best].lines);
	return rc;
}

/* ---- what is said ---- */

static int by_difference(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int order;

	if (!x->has || !y->has)
		return (x->has == NULL) - (y->has == NULL);
	order = strcmp(x->has, y->has);
	order = order ? order : strcmp(x->peers, y->peers);
	return order ? order : strverscmp(x->name, y->name);
}

static json_object *entry_json(const struct node *nodes, size_t count)
{
	json_object *entry = json_object_new_object();
	const char **names = calloc(count, sizeof(*names));
	char *folded = NULL;
	int rc = entry && names ? 0 : -ENOMEM;

	for (size_t i = 0; names && i < count; i++)
		names[i] = nodes[i].name;
	if (rc == 0)
		folded = hosts_fold(names, count);
	rc = folded ? json_put_string(entry, "nodes", folded) : -ENOMEM;
	rc = rc ? rc : json_put_string(entry, "has", nodes[0].has);
	rc = rc ? rc : json_put_string(entry, "peers", nodes[0].peers);
	free(folded);
	free(names);
	if (rc == 0)
		return entry;
	json_object_put(entry);
	return NULL;
}

static int put_odd(json_object *object, struct node *nodes, size_t count, size_t max)
{
	json_object *array = NULL;
	size_t more = 0;
	int rc = 0;

	qsort(nodes, count, sizeof(*nodes), by_difference);
	for (size_t i = 0, n; rc == 0 && i < count && nodes[i].has; i += n) {
		for (n = 1;
		     i + n < count && nodes[i + n].has && !strcmp(nodes[i].has, nodes[i + n].has) &&
		     !strcmp(nodes[i].peers, nodes[i + n].peers);
		     n++)
			;
		if (!array) {
			array = json_object_new_array();
			rc = json_put_value(object, "odd", array);
		}
		if (json_object_array_length(array) >= max)
			more++;
		else if (rc == 0)
			rc = json_append(array, entry_json(nodes + i, n));
	}
	return rc || !more ? rc : json_put_u64(object, "odd_more", more);
}

int peers_put(json_object *object, const struct fold_host *hosts, size_t count, size_t max)
{
	struct node *nodes = calloc(count + 1, sizeof(*nodes));
	size_t known = 0;
	int rc = nodes ? 0 : -ENOMEM;

	for (size_t i = 0; nodes && i < count; i++) {
		const struct map *m = hosts[i].map;

		if (!m)
			continue;
		nodes[known++] = (struct node){
			.name = hosts[i].name,
			.model = m->gpu_count && m->gpus[0].model ? m->gpus[0].model : "",
			.map = m,
		};
	}
	if (known)
		qsort(nodes, known, sizeof(*nodes), by_model);
	for (size_t i = 0, n; rc == 0 && i < known; i += n) {
		for (n = 1; i + n < known && !strcmp(nodes[i].model, nodes[i + n].model); n++)
			;
		if (n >= LEAST_PEERS)
			rc = compare_all(nodes + i, n, names_of);
		if (rc == 1)
			rc = compare_all(nodes + i, n, numbers_of);
		rc = rc < 0 ? rc : 0;
	}
	rc = rc || !known ? rc : put_odd(object, nodes, known, max);
	for (size_t i = 0; nodes && i < known; i++) {
		free(nodes[i].lines);
		free(nodes[i].has);
		free(nodes[i].peers);
	}
	free(nodes);
	return rc;
}
