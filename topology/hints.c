/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hints.c - see hints.h.
 *
 * All hints come from one list: the wanted nodes in the order of the fabric, each with its unit.
 * Nodes with equal words are folded to one line. Pure: the same fabric and nodes give the same
 * text.
 */
#include "hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "io.h"

#define RAILS_MAX 256
#define AREAS_MAX 32 /* levels of areas; a fabric has fewer */
#define EVERY_SIZE 16

struct node {
	const char *name; /* Slurm's */
	size_t host;	  /* FABRIC_NONE: not in the fabric */
	size_t unit;	  /* FABRIC_NONE: on no switch */
	char *words;	  /* what a line says of it; NULL: nothing */
};

struct list {
	const struct fabric *f;
	struct node *nodes; /* those on a switch first, in the order of the fabric */
	size_t count;
	size_t placed;
};

/* The areas around a pod, the outermost first. */
static size_t areas_of(const struct fabric *f, size_t pod, size_t areas[AREAS_MAX])
{
	size_t count = 0, at = f->pods[pod].area, depth;

	for (; at != FABRIC_NONE && count < AREAS_MAX; at = f->areas[at].parent)
		areas[count++] = at;
	depth = count;
	for (size_t i = 0; i < depth / 2; i++) {
		size_t other = areas[i];
		areas[i] = areas[depth - 1 - i];
		areas[depth - 1 - i] = other;
	}
	return depth;
}

static int unit_order(const struct fabric *f, size_t a, size_t b)
{
	size_t pa = f->units[a].pod, pb = f->units[b].pod, in_a[AREAS_MAX], in_b[AREAS_MAX];
	size_t depth_a, depth_b;
	int order;

	if (pa == pb)
		return strverscmp(f->units[a].name, f->units[b].name);
	order = strverscmp(f->islands[f->pods[pa].island].name,
			   f->islands[f->pods[pb].island].name);
	depth_a = areas_of(f, pa, in_a);
	depth_b = areas_of(f, pb, in_b);
	for (size_t i = 0; order == 0 && i < depth_a && i < depth_b; i++)
		if (in_a[i] != in_b[i])
			order = strverscmp(f->areas[in_a[i]].name, f->areas[in_b[i]].name);
	return order ? order : strverscmp(f->pods[pa].name, f->pods[pb].name);
}

static int by_wires(const void *x, const void *y, void *fabric)
{
	const struct node *a = x, *b = y;

	if ((a->unit == FABRIC_NONE) != (b->unit == FABRIC_NONE))
		return a->unit == FABRIC_NONE ? 1 : -1;
	if (a->unit != b->unit && unit_order(fabric, a->unit, b->unit) != 0)
		return unit_order(fabric, a->unit, b->unit);
	return strverscmp(a->name, b->name);
}

static void list_clear(struct list *l)
{
	for (size_t i = 0; l->nodes && i < l->count; i++)
		free(l->nodes[i].words);
	free(l->nodes);
}

static char *fold_left_out(const struct list *l)
{
	const char **names = calloc(l->count + 1, sizeof(*names));
	size_t count = 0;
	char *text;

	for (size_t i = l->placed; names && i < l->count; i++)
		names[count++] = l->nodes[i].name;
	text = names ? hosts_fold(names, count) : NULL;
	free(names);
	return text;
}

/* 0, -ENODATA when no node is on a switch, or -ENOMEM. Clear l either way. */
static int list_make(struct list *l, const struct fabric *f, struct hint_nodes wanted,
		     char **left_out, struct err *err)
{
	size_t count = wanted.nodes ? wanted.count : f->host_count;

	*l = (struct list){ .f = f, .nodes = calloc(count + 1, sizeof(*l->nodes)) };
	*left_out = NULL;
	if (!l->nodes)
		return err_set(err, ENOMEM, "out of memory");
	for (; l->count < count; l->count++) {
		struct node *n = &l->nodes[l->count];
		n->name = wanted.nodes ? wanted.nodes[l->count].name : f->hosts[l->count].name;
		n->host =
			wanted.nodes ? fabric_find_host(f, wanted.nodes[l->count].host) : l->count;
		n->unit = n->host == FABRIC_NONE ? FABRIC_NONE : f->hosts[n->host].unit;
		l->placed += n->unit != FABRIC_NONE;
	}
	if (l->count)
		qsort_r(l->nodes, l->count, sizeof(*l->nodes), by_wires, (void *)f);
	*left_out = fold_left_out(l);
	if (!*left_out)
		return err_set(err, ENOMEM, "out of memory");
	return l->placed ? 0
			 : err_set(err, ENODATA,
				   "none of the wanted nodes is on a switch of this fabric");
}

/* Ends the text; NULL and errno when something failed. */
static char *list_end(struct list *l, struct io_text *out, int rc, struct err *err)
{
	char *text = io_end(out);

	list_clear(l);
	if (rc == 0 && text)
		return text;
	if (rc == 0)
		rc = err_set(err, ENOMEM, "out of memory");
	free(text);
	errno = -rc;
	return NULL;
}

/* Lines. */

static int by_words(const void *x, const void *y)
{
	const struct node *a = *(const struct node *const *)x, *b = *(const struct node *const *)y;
	int order = strverscmp(a->words, b->words);

	return order ? order : a < b ? -1 : a > b;
}

/* "before NODES words after" for each set of nodes with equal words; in the order of the words. */
static int write_folded(const struct list *l, struct io_text *out, const char *before,
			const char *between)
{
	const struct node **sorted = calloc(l->count + 1, sizeof(*sorted));
	const char **names = calloc(l->count + 1, sizeof(*names));
	size_t count = 0;
	int rc = sorted && names ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < l->placed; i++)
		if (l->nodes[i].words)
			sorted[count++] = &l->nodes[i];
	if (rc == 0 && count)
		qsort(sorted, count, sizeof(*sorted), by_words);
	for (size_t i = 0, end; rc == 0 && i < count; i = end) {
		char *folded;
		for (end = i; end < count && strcmp(sorted[end]->words, sorted[i]->words) == 0;
		     end++)
			names[end - i] = sorted[end]->name;
		folded = hosts_fold(names, end - i);
		rc = folded ? 0 : -ENOMEM;
		if (folded)
			io_add(out, "%s%s%s%s\n", before, folded, between, sorted[i]->words);
		free(folded);
	}
	free(sorted);
	free(names);
	return rc;
}

/* Features. */

struct seen {
	bool rails[RAILS_MAX], planes[RAILS_MAX];
};

static bool is_up(const struct fabric_port *port)
{
	return port->sw != FABRIC_NONE && !port->skipped && port->wire.state != LINK_DOWN;
}

static void see_ports(const struct fabric *f, const size_t *node_of, struct seen *seen)
{
	for (size_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *port = &f->ports[i];
		int plane;
		if (port->host == FABRIC_NONE || node_of[port->host] == FABRIC_NONE || !is_up(port))
			continue;
		plane = f->switches[port->sw].plane;
		if (port->rail >= 0 && port->rail < RAILS_MAX)
			seen[node_of[port->host]].rails[port->rail] = true;
		if (plane >= 0 && plane < RAILS_MAX)
			seen[node_of[port->host]].planes[plane] = true;
	}
}

static char *feature_words(const struct fabric *f, const struct node *n, const struct seen *seen)
{
	const struct fabric_unit *unit = &f->units[n->unit];
	const struct fabric_pod *pod = &f->pods[unit->pod];
	size_t areas[AREAS_MAX], depth = areas_of(f, unit->pod, areas);
	struct io_text out = { 0 };

	io_add(&out, "unit-%s,pod-%s", unit->name, pod->name);
	for (size_t i = depth; i-- > 0;)
		io_add(&out, ",area-%s", f->areas[areas[i]].name);
	if (f->island_count > 1)
		io_add(&out, ",island-%s", f->islands[pod->island].name);
	for (int i = 0; i < RAILS_MAX; i++)
		if (seen->rails[i])
			io_add(&out, ",rail-%d", i);
	for (int i = 0; i < RAILS_MAX; i++)
		if (seen->planes[i])
			io_add(&out, ",plane-%d", i);
	return io_end(&out);
}

static int word_features(struct list *l)
{
	const struct fabric *f = l->f;
	struct seen *seen = calloc(l->placed + 1, sizeof(*seen));
	size_t *node_of = calloc(f->host_count + 1, sizeof(*node_of));
	int rc = seen && node_of ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->host_count; i++)
		node_of[i] = FABRIC_NONE;
	for (size_t i = 0; rc == 0 && i < l->placed; i++)
		node_of[l->nodes[i].host] = i;
	if (rc == 0)
		see_ports(f, node_of, seen);
	for (size_t i = 0; rc == 0 && i < l->placed; i++) {
		/* several nodes of Slurm's on one host share what the last one saw */
		l->nodes[i].words =
			feature_words(f, &l->nodes[i], &seen[node_of[l->nodes[i].host]]);
		rc = l->nodes[i].words ? 0 : -ENOMEM;
	}
	free(seen);
	free(node_of);
	return rc;
}

char *hints_features(const struct fabric *f, struct hint_nodes nodes, enum feature_format format,
		     char **left_out, struct err *err)
{
	struct io_text out = { 0 };
	struct list l;
	int rc = list_make(&l, f, nodes, left_out, err);

	if (rc == 0 && word_features(&l) < 0)
		rc = err_set(err, ENOMEM, "out of memory");
	if (rc == 0 && format == FEATURES_CONF) {
		io_add(&out, "# Node features of the fabric. A node has one NodeName line in "
			     "slurm.conf: put these\n# words into its Feature= there.\n");
		rc = write_folded(&l, &out, "NodeName=", " Feature=");
	} else if (rc == 0) {
		io_add(&out, "# Lasts until slurmctld reads slurm.conf again, and replaces the "
			     "features that nodes have:\n# add those to the words here.\n");
		rc = write_folded(&l, &out, "scontrol update NodeName='", "' AvailableFeatures=");
	}
	return list_end(&l, &out, rc, err);
}

/* Ranks. */

static void write_rank(struct io_text *out, const struct node *n, size_t first,
		       const struct rank_options *how)
{
	for (unsigned i = 0; i < how->tasks; i++) {
		unsigned cpu = i * how->cpus;
		if (how->format == RANKS_HOSTFILE)
			io_add(out, "%s\n", n->name);
		else if (how->cpus > 1)
			io_add(out, "rank %zu=%s slot=%u-%u\n", first + i, n->name, cpu,
			       cpu + how->cpus - 1);
		else
			io_add(out, "rank %zu=%s slot=%u\n", first + i, n->name, cpu);
	}
}

char *hints_ranks(const struct fabric *f, struct hint_nodes nodes, const struct rank_options *how,
		  char **left_out, struct err *err)
{
	struct io_text out = { 0 };
	struct list l;
	int rc = list_make(&l, f, nodes, left_out, err);

	for (size_t i = 0; rc == 0 && i < l.count; i++) {
		if (how->format == RANKS_LIST)
			io_add(&out, "%s%s", i ? "," : "", l.nodes[i].name);
		else
			write_rank(&out, &l.nodes[i], i * how->tasks, how);
	}
	if (rc == 0 && how->format == RANKS_LIST)
		io_add(&out, "\n");
	return list_end(&l, &out, rc, err);
}

/* Switches. */

static int by_size(const void *x, const void *y)
{
	const struct fabric_unit_size *a = x, *b = y;

	if (a->island != b->island)
		return a->island < b->island ? -1 : 1;
	return a->hosts > b->hosts ? -1 : a->hosts < b->hosts;
}

/* The wanted nodes in each unit, as fabric_fewest_units() wants them; those with none are last. */
static struct fabric_unit_size *unit_sizes(const struct list *l)
{
	const struct fabric *f = l->f;
	struct fabric_unit_size *sizes = calloc(f->unit_count + 1, sizeof(*sizes));

	for (size_t i = 0; sizes && i < f->unit_count; i++)
		sizes[i].island = f->pods[f->units[i].pod].island;
	for (size_t i = 0; sizes && i < l->placed; i++)
		sizes[l->nodes[i].unit].hosts++;
	if (sizes && f->unit_count)
		qsort(sizes, f->unit_count, sizeof(*sizes), by_size);
	return sizes;
}

/* The most nodes that `units` units of one island have. */
static uint32_t most_nodes(const struct fabric_unit_size *sizes, size_t count, size_t units)
{
	uint32_t most = 0, sum = 0;
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || sizes[i].island != sizes[i - 1].island)
			sum = 0, taken = 0;
		if (taken++ < units)
			sum += sizes[i].hosts;
		if (sum > most)
			most = sum;
	}
	return most;
}

static void write_switches(struct io_text *out, const struct fabric_unit_size *sizes, size_t count,
			   int64_t wait_s)
{
	uint32_t before = 0, all = most_nodes(sizes, count, count);

	for (size_t units = 1; before < all; units += units < EVERY_SIZE ? 1 : units / 4) {
		uint32_t most = most_nodes(sizes, count, units);
		while (most_nodes(sizes, count, units - 1) == all) /* the last step was too wide */
			units--;
		io_add(out, "%7u %7u   --switches=%zu@%lld:%02lld\n", before + 1, most, units,
		       (long long)(wait_s / 60), (long long)(wait_s % 60));
		before = most;
	}
}

char *hints_switches(const struct fabric *f, struct hint_nodes nodes, int64_t wait_s,
		     char **left_out, struct err *err)
{
	struct fabric_unit_size *sizes = NULL;
	struct io_text out = { 0 };
	struct list l;
	int rc = list_make(&l, f, nodes, left_out, err);

	if (rc == 0 && !(sizes = unit_sizes(&l)))
		rc = err_set(err, ENOMEM, "out of memory");
	if (rc == 0) {
		io_add(&out, "# The fewest switches that hold so many whole nodes. A job waits for "
			     "them at most as long\n# as it says, and as max_switch_wait of "
			     "slurm.conf allows. Larger jobs span islands: none can.\n"
			     "#  from      to   option\n");
		write_switches(&out, sizes, f->unit_count, wait_s);
	}
	free(sizes);
	return list_end(&l, &out, rc, err);
}

/* Weights. */

static size_t island_of(const struct list *l, size_t node)
{
	return l->f->pods[l->f->units[l->nodes[node].unit].pod].island;
}

/* How many nodes each island has. */
static size_t *count_islands(const struct list *l, size_t *used)
{
	size_t *counts = calloc(l->f->island_count + 1, sizeof(*counts));

	*used = 0;
	for (size_t i = 0; counts && i < l->placed; i++)
		*used += counts[island_of(l, i)]++ == 0;
	return counts;
}

/* The smallest island gets the lowest weight; of equal ones the first. */
static unsigned island_weight(const struct fabric *f, const size_t *counts, size_t island)
{
	unsigned weight = 1;

	for (size_t i = 0; i < f->island_count; i++)
		weight += counts[i] && (counts[i] < counts[island] ||
					(counts[i] == counts[island] && i < island));
	return weight;
}

static int word_weights(struct list *l, const size_t *counts, bool flat)
{
	unsigned weight = 0;

	for (size_t i = 0; i < l->placed; i++) {
		if (!flat)
			weight = island_weight(l->f, counts, island_of(l, i));
		else if (i == 0 || l->nodes[i].unit != l->nodes[i - 1].unit)
			weight++;
		l->nodes[i].words = io_format("%u", weight);
		if (!l->nodes[i].words)
			return -ENOMEM;
	}
	return 0;
}

static const char no_weights[] = "# No weights: with topology/tree a node's weight goes before the "
				 "topology. Slurm would take "
				 "the\n# nodes of the lowest weight first and spread a job over "
				 "leaves and pods for it. Only "
				 "weights that\n# are equal in a whole island are harmless, and "
				 "here is one island. --flat has "
				 "those for a cluster\n# without a topology plugin.\n";

static const char island_weights[] =
	"# Weights that are equal in a whole island: no job spans islands, so they work against no "
	"placement.\n# Small islands are filled first, and large jobs find the large ones free.\n";

static const char flat_weights[] =
	"# For a cluster without a topology plugin only: unit after unit is filled. With "
	"topology/tree these\n# would go before the topology.\n";

char *hints_weights(const struct fabric *f, struct hint_nodes nodes, bool flat, char **left_out,
		    struct err *err)
{
	struct io_text out = { 0 };
	size_t *counts = NULL, islands = 0;
	struct list l;
	int rc = list_make(&l, f, nodes, left_out, err);

	if (rc == 0 && !(counts = count_islands(&l, &islands)))
		rc = err_set(err, ENOMEM, "out of memory");
	if (rc == 0) {
		io_add(&out, "%s", flat ? flat_weights : islands > 1 ? island_weights : no_weights);
		if (flat || islands > 1)
			rc = word_weights(&l, counts, flat);
		rc = rc ? rc : write_folded(&l, &out, "NodeName=", " Weight=");
	}
	free(counts);
	return list_end(&l, &out, rc, err);
}
