/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fold.c - see fold.h.
 *
 * A host's pattern is the JSON text of its GPUs and ports: hosts with the same text fold. Which
 * GPUs count is Slurm's word (gres indexes); where Slurm's indexes and the map do not meet, all
 * GPUs of the node are shown and the pattern says so.
 */
#include "fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "io.h"
#include "text.h"

#define PORT_TEXT 80

static int append_port(json_object *array, const struct map_port *p)
{
	char name[PORT_TEXT];

	snprintf(name, sizeof(name), "%s:%d", p->device, p->port);
	return json_append(array, json_object_new_string(name));
}

/* ---- which GPUs and ports of a host count ---- */

static const struct map_gpu *gpu_by_gres(const struct map *m, int gres)
{
	for (size_t i = 0; i < m->gpu_count; i++)
		if (m->gpus[i].gres == gres)
			return &m->gpus[i];
	return NULL;
}

/* True when Slurm's word on the job's GPUs here can be followed in the map. */
static bool gpus_usable(const struct fold_host *h)
{
	if (!h->gpus || !h->gpus->known)
		return false;
	for (size_t i = 0; i < h->gpus->count; i++)
		if (!gpu_by_gres(h->map, h->gpus->index[i]))
			return false;
	return true;
}

struct chosen { /* the GPUs of one host that count */
	const struct map_gpu **gpus;
	size_t count;
	bool whole_node; /* because the job's own are unknown */
};

static int choose(const struct fold_host *h, struct chosen *c)
{
	bool usable = gpus_usable(h);

	memset(c, 0, sizeof(*c));
	c->whole_node = !usable;
	c->gpus = calloc(h->map->gpu_count + (usable ? h->gpus->count : 0) + 1, sizeof(*c->gpus));
	if (!c->gpus)
		return -ENOMEM;
	if (usable)
		for (size_t i = 0; i < h->gpus->count; i++)
			c->gpus[c->count++] = gpu_by_gres(h->map, h->gpus->index[i]);
	else
		for (size_t i = 0; i < h->map->gpu_count; i++)
			c->gpus[c->count++] = &h->map->gpus[i];
	return 0;
}

/* Marks the ports that count: those near a chosen GPU, or all that are not ignored without GPUs. */
static void mark_ports(const struct map *m, const struct chosen *c, bool *used)
{
	for (size_t i = 0; i < m->port_count; i++)
		used[i] = c->count == 0 && !m->ports[i].ignored;
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < c->gpus[i]->near_count; k++)
			used[c->gpus[i]->near[k].port] = true;
}

/* ---- patterns ---- */

static json_object *gpu_json(const struct map *m, const struct map_gpu *g)
{
	json_object *array = json_object_new_array();
	int rc = 0;

	if (g->near_count)
		rc = json_append(array, json_object_new_string(map_class_name(g->near[0].class)));
	for (size_t i = 0; rc == 0 && i < g->near_count; i++)
		rc = append_port(array, &m->ports[g->near[i].port]);
	if (rc == 0)
		return array;
	json_object_put(array);
	return NULL;
}

/* ---- the switch trees of a part of a node's GPUs ---- */

/* How many of list hang in g's tree. */
static size_t in_tree(const struct map_gpu *g, const struct map_gpu *const *list, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += !strcmp(list[i]->tree, g->tree);
	return n;
}

static bool first_of_tree(const struct map_gpu *const *list, size_t i)
{
	return in_tree(list[i], list, i) == 0;
}

static int most_gpus_first(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x < y) - (x > y);
}

/* In how few of the node's trees so many GPUs fit. */
static int fewest_trees(const struct map_gpu *const *all, size_t count, size_t wanted,
			size_t *fewest)
{
	size_t *sizes = calloc(count + 1, sizeof(*sizes)), n = 0;

	if (!sizes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (first_of_tree(all, i))
			sizes[n++] = in_tree(all[i], all, count);
	qsort(sizes, n, sizeof(*sizes), most_gpus_first);
	for (*fewest = 0; wanted > 0 && *fewest < n; (*fewest)++)
		wanted -= sizes[*fewest] < wanted ? sizes[*fewest] : wanted;
	free(sizes);
	return 0;
}

static int put_tree_list(json_object *object, const struct chosen *c, size_t *used)
{
	json_object *trees = json_object_new_array();
	int rc = json_put_value(object, "trees", trees);

	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		json_object *tree;

		if (!first_of_tree(c->gpus, i))
			continue;
		tree = json_object_new_array();
		rc = json_append(trees, tree);
		for (size_t k = i; rc == 0 && k < c->count; k++)
			if (!strcmp(c->gpus[k]->tree, c->gpus[i]->tree))
				rc = json_append(tree, json_object_new_int(c->gpus[k]->gres));
		(*used)++;
	}
	return rc;
}

static int put_trees(json_object *object, const struct map *m, const struct chosen *c)
{
	const struct map_gpu **all;
	size_t used = 0, fewest = 0, known = 0;
	int rc;

	if (c->whole_node || c->count >= m->gpu_count)
		return 0;
	all = calloc(m->gpu_count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	while (known < m->gpu_count && m->gpus[known].tree) {
		all[known] = &m->gpus[known];
		known++;
	}
	rc = known < m->gpu_count ? 0 : put_tree_list(object, c, &used);
	if (rc == 0 && used)
		rc = fewest_trees(all, known, c->count, &fewest);
	if (rc == 0 && fewest < used)
		rc = json_put_u64(object, "trees_fewest", fewest);
	free(all);
	return rc;
}

static int put_gpus(json_object *object, const struct map *m, const struct chosen *c)
{
	json_object *gpus = json_object_new_object();
	int rc = json_put_value(object, "gpus", gpus);

	for (size_t i = 0; rc == 0 && i < c->count; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%d",
			 c->gpus[i]->gres >= 0 ? c->gpus[i]->gres : c->gpus[i]->index);
		rc = json_put_value(gpus, key, gpu_json(m, c->gpus[i]));
	}
	if (rc == 0 && c->whole_node)
		rc = json_put_bool(object, "whole_node", true);
	return rc ? rc : put_trees(object, m, c);
}

static int put_ports(json_object *object, const struct map *m)
{
	json_object *ports = json_object_new_array();
	int rc = json_put_value(object, "ports", ports);

	for (size_t i = 0; rc == 0 && i < m->port_count; i++)
		if (!m->ports[i].ignored)
			rc = append_port(ports, &m->ports[i]);
	return rc;
}

/* The pattern's text of one host, malloc'ed. */
static char *pattern_text(const struct fold_host *h)
{
	json_object *object = json_object_new_object();
	struct chosen c;
	char *text = NULL;

	if (object && choose(h, &c) == 0) {
		if ((c.count ? put_gpus(object, h->map, &c) : put_ports(object, h->map)) == 0)
			text = json_line(object);
		free(c.gpus);
	}
	json_object_put(object);
	return text;
}

struct pattern {
	char *text;
	const char *host;
	size_t size; /* hosts with that text; set at the first of them, 0 at the others */
};

static int by_text(const void *a, const void *b)
{
	const struct pattern *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : strverscmp(x->host, y->host);
}

static int by_size(const void *a, const void *b)
{
	const struct pattern *x = *(const struct pattern *const *)a;
	const struct pattern *y = *(const struct pattern *const *)b;

	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return strverscmp(x->host, y->host);
}

/* One entry of "map": the hosts of a pattern, which lie one after the other from p on. */
static json_object *pattern_json(const struct pattern *p)
{
	json_object *entry = json_object_new_object(), *parsed = NULL;
	const char **names = calloc(p->size, sizeof(*names));
	char *folded = NULL;
	int rc = -ENOMEM;

	for (size_t i = 0; names && i < p->size; i++)
		names[i] = p[i].host;
	folded = names ? hosts_fold(names, p->size) : NULL;
	parsed = json_parse(p->text, strlen(p->text), "pattern", NULL);
	if (entry && folded && parsed) {
		rc = json_put_string(entry, "nodes", folded);
		json_object_object_foreach(parsed, key, value) rc =
			rc ? rc : json_put_value(entry, key, json_object_get(value));
	}
	json_object_put(parsed);
	free(folded);
	free(names);
	if (rc == 0)
		return entry;
	json_object_put(entry);
	return NULL;
}

/* patterns are sorted by text; counts equal ones and adds them by size. */
static int put_groups(json_object *object, struct pattern *patterns, size_t count, size_t max)
{
	const struct pattern **groups = calloc(count, sizeof(*groups));
	json_object *array = json_object_new_array();
	size_t n = 0;
	int rc = groups ? json_put_value(object, "map", array) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (i == 0 || strcmp(patterns[i].text, groups[n - 1]->text) != 0)
			groups[n++] = &patterns[i];
		patterns[groups[n - 1] - patterns].size++;
	}
	if (rc == 0)
		qsort(groups, n, sizeof(*groups), by_size);
	for (size_t i = 0; rc == 0 && i < n && i < max; i++)
		rc = json_append(array, pattern_json(groups[i]));
	if (rc == 0 && n > max)
		rc = json_put_u64(object, "map_more", n - max);
	if (!groups)
		json_object_put(array);
	free(groups);
	return rc;
}

static int put_host_list(json_object *object, const char *key, const char *const *names,
			 size_t count)
{
	char *folded;
	int rc;

	if (!count)
		return 0;
	folded = hosts_fold(names, count);
	rc = folded ? json_put_string(object, key, folded) : -ENOMEM;
	free(folded);
	return rc;
}

int fold_put_patterns(json_object *object, const struct fold_host *hosts, size_t count,
		      size_t max_patterns)
{
	struct pattern *patterns = calloc(count + 1, sizeof(*patterns));
	const char **unknown = calloc(count + 1, sizeof(*unknown));
	size_t known_count = 0, unknown_count = 0;
	int rc = patterns && unknown ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (!hosts[i].map) {
			unknown[unknown_count++] = hosts[i].name;
			continue;
		}
		patterns[known_count].host = hosts[i].name;
		patterns[known_count].text = pattern_text(&hosts[i]);
		rc = patterns[known_count].text ? 0 : -ENOMEM;
		known_count += rc == 0;
	}
	if (rc == 0 && known_count) {
		qsort(patterns, known_count, sizeof(*patterns), by_text);
		rc = put_groups(object, patterns, known_count, max_patterns);
	}
	if (rc == 0)
		rc = put_host_list(object, "no_map", unknown, unknown_count);
	for (size_t i = 0; patterns && i < known_count; i++)
		free(patterns[i].text);
	free(patterns);
	free(unknown);
	return rc;
}

/* ---- rails ---- */

struct use { /* a host uses a leaf on a rail */
	int rail;
	uint64_t guid;
	const char *name; /* NULL or "" unknown */
	const char *host;
	bool ambiguous; /* another switch has that name, too */
};

struct uses {
	struct use *list;
	size_t count;
	const char **open; /* hosts with a port whose switch is unknown */
	size_t open_count;
};

static int by_rail(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->rail != y->rail)
		return x->rail < y->rail ? -1 : 1;
	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return strverscmp(x->host, y->host);
}

static int add_host_uses(struct uses *u, const struct fold_host *h)
{
	struct use *grown =
		reallocarray(u->list, u->count + h->map->port_count + 1, sizeof(*grown));
	bool *used = calloc(h->map->port_count + 1, sizeof(*used)), open = false;
	struct chosen c = { NULL, 0, false };
	int rc = grown && used ? choose(h, &c) : -ENOMEM;

	if (grown)
		u->list = grown;
	if (rc == 0)
		mark_ports(h->map, &c, used);
	for (size_t i = 0; rc == 0 && i < h->map->port_count; i++) {
		const struct map_leaf *leaf = &h->map->ports[i].leaf;

		if (!used[i])
			continue;
		if (leaf->source == LEAF_OPEN)
			open = true;
		else
			u->list[u->count++] =
				(struct use){ leaf->rail, leaf->guid, leaf->name, h->name, false };
	}
	if (open)
		u->open[u->open_count++] = h->name;
	free(c.gpus);
	free(used);
	return rc;
}

/* Its name, or its GUID when it has none or shares it with another switch of the list. */
static const char *leaf_name(const struct use *u, char text[GUID_TEXT])
{
	return u->name && u->name[0] && !u->ambiguous ? u->name : guid_format(u->guid, text);
}

static int by_leaf_name(const void *a, const void *b)
{
	const struct use *x = *(const struct use *const *)a, *y = *(const struct use *const *)b;

	return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

/* Marks the uses of leaves whose names say more than one switch. */
static int mark_ambiguous(struct uses *u)
{
	struct use **sorted = calloc(u->count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < u->count; i++)
		sorted[i] = &u->list[i];
	qsort(sorted, u->count, sizeof(*sorted), by_leaf_name);
	for (size_t i = 0, n; i < u->count; i += n) {
		bool several = false;

		for (n = 1; i + n < u->count && by_leaf_name(&sorted[i], &sorted[i + n]) == 0; n++)
			several = several || sorted[i + n]->guid != sorted[i]->guid;
		for (size_t k = 0; k < n; k++)
			sorted[i + k]->ambiguous = several;
	}
	free(sorted);
	return 0;
}

/* The uses from list[0] on that are the same leaf on the same rail. */
static size_t same_leaf(const struct use *list, size_t count)
{
	size_t n = 1;

	while (n < count && list[n].rail == list[0].rail && list[n].guid == list[0].guid)
		n++;
	return n;
}

static int put_leaf(json_object *leaves, const struct use *list, size_t count)
{
	const char **names = calloc(count, sizeof(*names));
	char guid[GUID_TEXT];
	int rc = names ? 0 : -ENOMEM;

	for (size_t i = 0; names && i < count; i++)
		names[i] = list[i].host;
	if (rc == 0)
		rc = put_host_list(leaves, leaf_name(list, guid), names, count);
	free(names);
	return rc;
}

static int put_rail_list(json_object *rails, const struct use *list, size_t count)
{
	json_object *leaves = NULL;
	int rc = 0;

	for (size_t i = 0, n; rc == 0 && i < count; i += n) {
		n = same_leaf(list + i, count - i);
		if (i == 0 || list[i].rail != list[i - 1].rail) {
			json_object *rail = json_object_new_object();

			leaves = json_object_new_object();
			rc = json_append(rails, rail);
			if (rc == 0 && list[i].rail >= 0)
				rc = json_put_int(rail, "rail", list[i].rail);
			if (rc == 0)
				rc = json_put_value(rail, "leaves", leaves);
			else
				json_object_put(leaves);
		}
		if (rc == 0)
			rc = put_leaf(leaves, list + i, n);
	}
	return rc;
}

static int put_switches(json_object *object, const struct use *list, size_t count)
{
	json_object *switches = json_object_new_object();
	int rc = json_put_value(object, "switches", switches);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		char guid[GUID_TEXT];

		if (list[i].name && list[i].name[0] && list[i].guid && !list[i].ambiguous)
			rc = json_put_string(switches, list[i].name,
					     guid_format(list[i].guid, guid));
	}
	return rc;
}

int fold_put_rails(json_object *object, const struct fold_host *hosts, size_t count, bool guids)
{
	struct uses u = { NULL, 0, calloc(count + 1, sizeof(*u.open)), 0 };
	json_object *rails = NULL;
	int rc = u.open ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++)
		if (hosts[i].map)
			rc = add_host_uses(&u, &hosts[i]);
	rc = rc ? rc : mark_ambiguous(&u);
	if (rc == 0 && u.count) {
		qsort(u.list, u.count, sizeof(*u.list), by_rail);
		rails = json_object_new_array();
		rc = json_put_value(object, "rails", rails);
		rc = rc ? rc : put_rail_list(rails, u.list, u.count);
		if (rc == 0 && guids)
			rc = put_switches(object, u.list, u.count);
		if (rc == 0)
			rc = put_host_list(object, "leaf_open", u.open, u.open_count);
	}
	free(u.list);
	free(u.open);
	return rc;
}
