/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * room.c - see room.h.
 *
 * Nodes are sorted by name once, and each partition has a byte for each of them. A question counts
 * the nodes of each unit anew: that is a pass over a few thousand bytes.
 */
#include "room.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hosts.h"
#include "io.h"

#define NODES_MAX 1000000

struct node {
	char *name;
	size_t unit; /* FABRIC_NONE: the fabric does not know it, or on no switch */
};

struct partition {
	char *name;
	bool is_default;
	bool *has; /* each node */
};

struct group {
	char *name;
	size_t of; /* a unit's pod, a pod's island */
};

struct room {
	struct node *nodes; /* by name */
	size_t node_count;
	struct partition *partitions; /* behind them one of all nodes */
	size_t partition_count;
	struct group *units, *pods;
	size_t unit_count, pod_count;
};

static void free_groups(struct group *groups, size_t count)
{
	for (size_t i = 0; groups && i < count; i++)
		free(groups[i].name);
	free(groups);
}

void room_free(struct room *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->nodes && i < r->node_count; i++)
		free(r->nodes[i].name);
	for (size_t i = 0; r->partitions && i <= r->partition_count; i++) {
		free(r->partitions[i].name);
		free(r->partitions[i].has);
	}
	free(r->nodes);
	free(r->partitions);
	free_groups(r->units, r->unit_count);
	free_groups(r->pods, r->pod_count);
	free(r);
}

/* ---- making it ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static struct node *find_node(const struct room *r, const char *name)
{
	struct node wanted = { .name = (char *)name };

	return r->node_count ? bsearch(&wanted, r->nodes, r->node_count, sizeof(wanted), by_name)
			     : NULL;
}

static int add_node(struct room *r, const struct fabric *f, const char *name, const char *host)
{
	size_t i = fabric_find_host(f, host);
	struct node *more;

	if (i == FABRIC_NONE) /* NodeHostname=localhost, several slurmd on a host */
		i = fabric_find_host(f, name);
	if ((r->node_count & (r->node_count - 1)) == 0) {
		more = reallocarray(r->nodes, r->node_count ? r->node_count * 2 : 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->nodes = more;
	}
	r->nodes[r->node_count] =
		(struct node){ strdup(name), i == FABRIC_NONE ? FABRIC_NONE : f->hosts[i].unit };
	return r->nodes[r->node_count].name ? (r->node_count++, 0) : -ENOMEM;
}

/* The nodes of a line; what is no host list is Slurm's to refuse. */
static int add_nodes(struct room *r, const struct fabric *f, const struct slurmconf_node *line)
{
	char **names = NULL, **hosts = NULL;
	size_t count = 0, host_count = 0;
	int rc = hosts_expand(line->names, NODES_MAX, &names, &count, NULL);

	if (rc == 0 && line->hosts)
		rc = hosts_expand(line->hosts, NODES_MAX, &hosts, &host_count, NULL);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_node(r, f, names[i], host_count == count ? hosts[i] : names[i]);
	hosts_free(names, count);
	hosts_free(hosts, host_count);
	return rc == -ENOMEM ? rc : 0;
}

static int find_nodes(struct room *r, const struct fabric *f, const struct slurmconf *slurm)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && slurm && i < slurm->node_count; i++)
		rc = add_nodes(r, f, &slurm->nodes[i]);
	for (size_t i = 0; rc == 0 && (!slurm || !slurm->node_count) && i < f->host_count; i++)
		rc = add_node(r, f, f->hosts[i].name, f->hosts[i].name);
	if (rc == 0 && r->node_count)
		qsort(r->nodes, r->node_count, sizeof(*r->nodes), by_name);
	return rc;
}

/* Nodes that are not there, or no host list: a node set, which only Slurm knows. */
static int mark_nodes(struct room *r, const char *text, bool *has)
{
	char **names = NULL;
	size_t count = 0, known = 0;
	int rc = text && strcasecmp(text, "ALL")
			 ? hosts_expand(text, NODES_MAX, &names, &count, NULL)
			 : 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct node *n = find_node(r, names[i]);

		if (n)
			has[n - r->nodes] = true;
		known += n != NULL;
	}
	hosts_free(names, count);
	if (known < count || count == 0)
		memset(has, true, r->node_count);
	return rc == -ENOMEM ? rc : 0;
}

static int find_partitions(struct room *r, const struct slurmconf *slurm)
{
	size_t count = slurm && slurm->node_count ? slurm->partition_count : 0;

	r->partitions = calloc(count + 1, sizeof(*r->partitions));
	if (!r->partitions)
		return -ENOMEM;
	r->partition_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct partition *p = &r->partitions[i];

		p->name = strdup(i < count ? slurm->partitions[i].name : "");
		p->is_default = i < count && slurm->partitions[i].is_default;
		p->has = calloc(r->node_count + 1, sizeof(bool));
		if (!p->name || !p->has ||
		    mark_nodes(r, i < count ? slurm->partitions[i].nodes : NULL, p->has) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int copy_groups(struct room *r, const struct fabric *f)
{
	bool good;

	r->units = calloc(f->unit_count + 1, sizeof(*r->units));
	r->pods = calloc(f->pod_count + 1, sizeof(*r->pods));
	good = r->units && r->pods;
	for (; good && r->unit_count < f->unit_count; r->unit_count++) {
		struct group *u = &r->units[r->unit_count];

		*u = (struct group){ strdup(f->units[r->unit_count].name),
				     f->units[r->unit_count].pod };
		good = u->name != NULL;
	}
	for (; good && r->pod_count < f->pod_count; r->pod_count++) {
		struct group *p = &r->pods[r->pod_count];

		*p = (struct group){ strdup(f->pods[r->pod_count].name),
				     f->pods[r->pod_count].island };
		good = p->name != NULL;
	}
	return good ? 0 : -ENOMEM;
}

struct room *room_make(const struct fabric *f, const struct slurmconf *slurm, struct err *err)
{
	struct room *r = calloc(1, sizeof(*r));

	if (r && find_nodes(r, f, slurm) == 0 && find_partitions(r, slurm) == 0 &&
	    copy_groups(r, f) == 0)
		return r;
	err_set(err, ENOMEM, "out of memory");
	room_free(r);
	return NULL;
}

/* ---- questions ---- */

struct counts {
	struct fabric_unit_size *units; /* in the order of the room's */
	uint32_t *pods;
};

static void clear_counts(struct counts *c)
{
	free(c->units);
	free(c->pods);
}

/* out: each node that the job does not take. */
static int count(const struct room *r, const struct partition *p, const bool *out, struct counts *c)
{
	c->units = calloc(r->unit_count + 1, sizeof(*c->units));
	c->pods = calloc(r->pod_count + 1, sizeof(*c->pods));
	if (!c->units || !c->pods)
		return -ENOMEM;
	for (size_t i = 0; i < r->unit_count; i++)
		c->units[i].island = r->pods[r->units[i].of].of;
	for (size_t i = 0; i < r->node_count; i++) {
		if (!p->has[i] || out[i] || r->nodes[i].unit == FABRIC_NONE)
			continue;
		c->units[r->nodes[i].unit].hosts++;
		c->pods[r->units[r->nodes[i].unit].of]++;
	}
	return 0;
}

/* The partition that the word at *text names, which moves on; the default one for no word. */
static const struct partition *next_partition(const struct room *r, const char **text)
{
	const char *word = *text;
	size_t len = word ? strcspn(word, ",") : 0;

	*text = word && word[len] ? word + len + 1 : NULL;
	for (size_t i = 0; i < r->partition_count; i++)
		if (len ? strlen(r->partitions[i].name) == len &&
				    !strncmp(r->partitions[i].name, word, len)
			: r->partitions[i].is_default)
			return &r->partitions[i];
	return &r->partitions[r->partition_count];
}

static bool *mark_excluded(const struct room *r, const char *excluded)
{
	bool *out = calloc(r->node_count + 1, sizeof(*out));
	char **names = NULL;
	size_t n = 0;

	/* a list of more nodes than there are is Slurm's to refuse */
	if (out && excluded && hosts_expand(excluded, r->node_count, &names, &n, NULL) == -ENOMEM) {
		free(out);
		return NULL;
	}
	for (size_t i = 0; out && i < n; i++) {
		const struct node *node = find_node(r, names[i]);

		if (node)
			out[node - r->nodes] = true;
	}
	hosts_free(names, n);
	return out;
}

static uint32_t worse(uint32_t a, uint32_t b, bool largest)
{
	return (a < b) == largest ? a : b;
}

int room_for(const struct room *r, const char *partitions, const char *excluded, uint32_t nodes,
	     struct room_size *size)
{
	bool *out = mark_excluded(r, excluded), first = true;
	int rc = !out ? -ENOMEM : r->unit_count ? 0 : -ENODATA;

	do {
		const struct partition *p = next_partition(r, &partitions);
		struct counts c = { 0 };
		struct room_size s = { 0 };

		rc = rc ? rc : count(r, p, out, &c);
		for (size_t i = 0; rc == 0 && i < r->unit_count; i++)
			s.largest_unit = worse(s.largest_unit, c.units[i].hosts, false);
		for (size_t i = 0; rc == 0 && i < r->pod_count; i++)
			s.largest_pod = worse(s.largest_pod, c.pods[i], false);
		if (rc == 0) {
			fabric_sort_units(c.units, r->unit_count);
			s.fewest_units = fabric_fewest_units(c.units, r->unit_count, nodes);
			if (first)
				*size = s;
			size->largest_unit = worse(size->largest_unit, s.largest_unit, true);
			size->largest_pod = worse(size->largest_pod, s.largest_pod, true);
			size->fewest_units =
				!s.fewest_units || !size->fewest_units
					? 0
					: worse(size->fewest_units, s.fewest_units, false);
		}
		first = false;
		clear_counts(&c);
	} while (rc == 0 && partitions);
	free(out);
	return rc;
}

char *room_features(const struct room *r, const char *partitions, const char *excluded,
		    enum room_level level, uint32_t nodes, uint32_t max)
{
	const struct partition *p = next_partition(r, &partitions);
	bool *out = mark_excluded(r, excluded);
	size_t groups = level == ROOM_UNIT ? r->unit_count : r->pod_count;
	struct io_text text = { 0 };
	struct counts c = { 0 };
	uint32_t n = 0;
	char *list;
	int rc = out ? count(r, p, out, &c) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < groups; i++) {
		if ((level == ROOM_UNIT ? c.units[i].hosts : c.pods[i]) < nodes)
			continue;
		io_add(&text, "%c%s-%s", n++ ? '|' : '[', level == ROOM_UNIT ? "unit" : "pod",
		       level == ROOM_UNIT ? r->units[i].name : r->pods[i].name);
	}
	io_add(&text, "]");
	list = io_end(&text);
	clear_counts(&c);
	free(out);
	errno = rc || !list ? ENOMEM : n == 0 ? ENOENT : n > max ? E2BIG : 0;
	if (errno == 0)
		return list;
	free(list);
	return NULL;
}
