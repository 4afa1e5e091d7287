/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choose.c - the six-step rule, see choose.h.
 *
 * Each GPU gets its best set: the usable ports at the smallest distance. GPUs whose best sets are
 * equal form a group; the group's ports, sorted by PCI address, are dealt out in one go: first by
 * card, and where GPUs have to share a card, by its ports. That a group is dealt as a whole is the
 * point: each process choosing alone makes all of them take the same adapter.
 */
#include "choose.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io.h"
#include "text.h"

#define MAX_DEPTH 64 /* bridges above a device; machines have less than ten */

struct distance {
	enum map_class class;
	int steps; /* inside a class, less is nearer */
};

/* One GPU while it is decided. */
struct choice {
	bool *best; /* for each port: in the best set */
	struct distance distance;
	size_t count; /* ports in the best set */
	size_t group; /* the first GPU with this best set */
};

struct work {
	const struct machine *machine;
	struct map *map;
	struct choice *choices;
	size_t *order; /* ports by PCI address, then port number: as they are dealt */
};

static enum choose_gres gres_from(const char *word)
{
	if (!word)
		return GRES_MINOR;
	if (!strcmp(word, "pci") || !strcmp(word, "nvml") || !strcmp(word, "rsmi"))
		return GRES_PCI;
	return strcmp(word, "nvidia") ? GRES_MINOR : GRES_NVIDIA;
}

struct choose_filter choose_filter_from(const struct conf *conf)
{
	return (struct choose_filter){
		.allow = conf->port_allow,
		.allow_count = conf->port_allow_count,
		.deny = conf->port_deny,
		.deny_count = conf->port_deny_count,
		.ethernet = conf->ethernet,
		.gres = gres_from(conf->gres_order),
	};
}

/* ---- step 2: the filter ---- */

/* "15b3:a2dc", as lspci -n writes it. */
static bool is_card(const struct machine_port *p, const char *word)
{
	char id[10];

	snprintf(id, sizeof(id), "%04x:%04x", p->vendor, p->model);
	return p->vendor && !strcasecmp(word, id);
}

static bool named(const struct machine_port *p, const char *word)
{
	size_t len = strlen(p->device);
	struct machine_bdf bdf;
	uint64_t value;

	if (fnmatch(word, p->device, 0) == 0 || is_card(p, word))
		return true;
	if (!strncmp(word, p->device, len) && word[len] == ':' &&
	    u64_parse(word + len + 1, 255, &value))
		return value == (uint64_t)p->port;
	if (guid_parse(word, &value))
		return value != 0 && value == p->guid;
	return p->placed && machine_bdf_parse(word, &bdf) &&
	       machine_bdf_order(&bdf, &p->place.bdf) == 0;
}

static const char *find_name(const struct machine_port *p, char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (named(p, words[i]))
			return words[i];
	return NULL;
}

static bool has_layer(const struct machine_port *p, const char *layer)
{
	return p->layer && !strcasecmp(p->layer, layer);
}

/* An active InfiniBand port has a LID: the subnet manager gives it one before it activates it. */
static bool without_lid(const struct machine_port *p)
{
	return p->lid == 0 || p->lid == 0xffff;
}

static char *state_reason(const struct machine *m, const struct machine_port *p)
{
	if (p->state == LINK_ACTIVE || (p->state == LINK_UNKNOWN && !m->live))
		return NULL;
	if (p->state == LINK_UNKNOWN)
		return io_format("its state can't be read");
	return io_format("its state is %s", link_state_name(p->state));
}

static char *layer_reason(const struct choose_filter *f, const struct machine_port *p)
{
	if (has_layer(p, "Ethernet") && !f->ethernet)
		return io_format("Ethernet, and fabric.conf has ethernet = no");
	if (has_layer(p, "InfiniBand") && without_lid(p))
		return io_format("it has no LID: no subnet manager has seen it");
	/* Without a link layer (hwloc XML) an active port without a LID is RoCE, or Amazon's EFA.
	 */
	if (!p->layer && without_lid(p) && p->vendor != VENDOR_AMAZON && !f->ethernet)
		return io_format("it has no LID, so it is no InfiniBand port in use");
	return NULL;
}

/* Why the port is out, malloc'ed; NULL: it is in. *rc is set when memory is gone. */
static char *ignored_reason(const struct machine *m, const struct choose_filter *f,
			    const struct machine_port *p, int *rc)
{
	const char *word = find_name(p, f->deny, f->deny_count);
	char *reason, *bdf;

	errno = 0;
	if (word) {
		reason = io_format("port_deny has %s", word);
	} else if (f->allow_count > 0 && !find_name(p, f->allow, f->allow_count)) {
		reason = io_format("not in port_allow");
	} else if (p->virtual_function && f->allow_count == 0) {
		bdf = machine_bdf_text(&p->physical);
		reason = bdf ? io_format("a virtual function of %s", bdf) : NULL;
		free(bdf);
	} else {
		reason = state_reason(m, p);
		if (!reason && errno == 0)
			reason = layer_reason(f, p);
	}
	if (!reason && errno == ENOMEM)
		*rc = -ENOMEM;
	return reason;
}

/* ---- step 3: distance ---- */

/* Fills chain with the bridges above a device, nearest first; returns how many. */
static size_t chain_of(const struct machine *m, size_t bridge, size_t chain[MAX_DEPTH])
{
	size_t n = 0;

	while (bridge < m->bridge_count && n < MAX_DEPTH) {
		chain[n++] = bridge;
		bridge = m->bridges[bridge].parent;
	}
	return n;
}

/*
 * The nearest bridge above both. PIX is one switch between the two: each sits right below a bridge
 * that meets the other's (or below the same one); PXB is more than that. Where they meet only in
 * the host bridge, the number of bridges below it says nothing about the way.
 */
static bool tree_distance(const struct machine *m, size_t a, size_t b, struct distance *d)
{
	size_t chain_a[MAX_DEPTH], chain_b[MAX_DEPTH];
	size_t depth_a = chain_of(m, a, chain_a), depth_b = chain_of(m, b, chain_b);

	for (size_t i = 0; i < depth_a; i++) {
		for (size_t k = 0; k < depth_b; k++) {
			if (chain_a[i] != chain_b[k])
				continue;
			if (m->bridges[chain_a[i]].host)
				*d = (struct distance){ MAP_PHB, 0 };
			else
				*d = (struct distance){ i <= 1 && k <= 1 ? MAP_PIX : MAP_PXB,
							(int)(i + k) };
			return true;
		}
	}
	return false;
}

static struct distance distance_of(const struct machine *m, const struct machine_place *a,
				   const struct machine_place *b)
{
	struct distance d = { MAP_UNKNOWN, 0 };

	if (tree_distance(m, a->bridge, b->bridge, &d))
		return d;
	if (a->numa >= 0 && a->numa == b->numa)
		return (struct distance){ MAP_NODE, 0 };
	if (a->package >= 0 && a->package == b->package)
		return (struct distance){ MAP_SYS, 0 };
	if ((a->numa >= 0 && b->numa >= 0) || (a->package >= 0 && b->package >= 0))
		return (struct distance){ MAP_SYS, 1 };
	return d;
}

static int distance_order(struct distance a, struct distance b)
{
	if (a.class != b.class)
		return a.class < b.class ? -1 : 1;
	return (a.steps > b.steps) - (a.steps < b.steps);
}

static void find_best(const struct work *w, size_t gpu)
{
	const struct machine *m = w->machine;
	struct choice *c = &w->choices[gpu];

	for (size_t i = 0; i < m->port_count; i++) {
		struct distance d;
		int order;
		if (w->map->ports[i].ignored)
			continue;
		d = distance_of(m, &m->gpus[gpu].place, &m->ports[i].place);
		order = c->count ? distance_order(d, c->distance) : -1;
		if (order < 0) {
			memset(c->best, 0, m->port_count * sizeof(*c->best));
			c->count = 0;
			c->distance = d;
		}
		if (order <= 0) {
			c->best[i] = true;
			c->count++;
		}
	}
}

/* ---- step 4: groups and dealing ---- */

static void find_group(const struct work *w, size_t gpu)
{
	struct choice *c = &w->choices[gpu];
	size_t i;

	for (i = 0; i < gpu; i++)
		if (!memcmp(w->choices[i].best, c->best, w->machine->port_count * sizeof(*c->best)))
			break;
	c->group = i;
}

/* Ports of one card: the same slot, and the same system image GUID where both are known. */
static bool same_card(const struct machine_port *a, const struct machine_port *b)
{
	if (!strcmp(a->device, b->device))
		return true;
	return a->placed && b->placed && a->place.bdf.domain == b->place.bdf.domain &&
	       a->place.bdf.bus == b->place.bdf.bus && a->place.bdf.device == b->place.bdf.device &&
	       a->system_guid && a->system_guid == b->system_guid;
}

/* What the n-th of count takers gets of items: from *first, *many of them; always at least one. */
static void share(size_t items, size_t count, size_t n, size_t *first, size_t *many)
{
	*first = n * items / count;
	*many = items >= count ? (n + 1) * items / count - *first : 1;
}

/* How many takers before n have the same first item: n's place among those who share it. */
static size_t place_among(size_t items, size_t count, size_t n, size_t *sharers)
{
	size_t place = 0;

	*sharers = 0;
	for (size_t i = 0; i < count; i++) {
		if (i * items / count != n * items / count)
			continue;
		place += i < n;
		(*sharers)++;
	}
	return place;
}

/* The best set of a group in the order it is dealt; cards[i] counts the cards up to ports[i]. */
static size_t deck_of(const struct work *w, const struct choice *c, size_t *ports, size_t *cards)
{
	const struct machine_port *all = w->machine->ports;
	size_t n = 0;

	for (size_t i = 0; i < w->machine->port_count; i++) {
		size_t port = w->order[i];
		if (!c->best[port])
			continue;
		ports[n] = port;
		cards[n] = n == 0 ? 0 : cards[n - 1] + !same_card(&all[ports[n - 1]], &all[port]);
		n++;
	}
	return n;
}

/*
 * The ports of the n-th of count GPUs: whole cards where there are enough, else its part of the
 * card it shares with its neighbours.
 */
static void deal(const size_t *cards, size_t ports, size_t count, size_t n, size_t *first,
		 size_t *many)
{
	size_t card, card_count = cards[ports - 1] + 1, taken, sharers, place, part;

	share(card_count, count, n, &card, &taken);
	for (*first = 0; cards[*first] < card; (*first)++)
		;
	for (*many = 0; *first + *many < ports && cards[*first + *many] < card + taken; (*many)++)
		;
	if (card_count >= count)
		return;
	place = place_among(card_count, count, n, &sharers);
	share(*many, sharers, place, &part, many);
	*first += part;
}

/* ---- steps 5 and 6: lists and reasons ---- */

static const char *where(struct distance d)
{
	switch (d.class) {
	case MAP_PIX:
		return "behind the same PCIe switch";
	case MAP_PXB:
		return "in the same PCIe switch tree";
	case MAP_PHB:
		return "on the same PCIe host bridge";
	case MAP_NODE:
		return "on the same NUMA node";
	case MAP_SYS:
		return d.steps ? "on another NUMA node" : "in the same package";
	case MAP_UNKNOWN:
		break;
	}
	return "at an unknown distance";
}

static bool same_distance(struct distance a, struct distance b)
{
	return a.class == b.class && (a.class != MAP_SYS || a.steps == b.steps);
}

/* Why not the others: how many usable ports are farther away, and how far. */
static void add_farther(struct io_text *text, const struct work *w, size_t gpu)
{
	const struct machine *m = w->machine;
	static const struct distance kinds[] = { { MAP_PIX, 0 },    { MAP_PXB, 0 }, { MAP_PHB, 0 },
						 { MAP_NODE, 0 },   { MAP_SYS, 0 }, { MAP_SYS, 1 },
						 { MAP_UNKNOWN, 0 } };
	const char *between = "; farther: ";

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		size_t n = 0;
		for (size_t i = 0; i < m->port_count; i++)
			n += !w->map->ports[i].ignored && !w->choices[gpu].best[i] &&
			     same_distance(kinds[k],
					   distance_of(m, &m->gpus[gpu].place, &m->ports[i].place));
		if (n == 0)
			continue;
		io_add(text, "%s%zu %s", between, n, where(kinds[k]));
		between = ", ";
	}
}

static char *reason_text(const struct work *w, size_t gpu, size_t many, size_t of, size_t group)
{
	struct io_text text = { 0 };

	if (group == 1 || many == of)
		io_add(&text, "nearest: %zu", many);
	else
		io_add(&text, "nearest: %zu of %zu", many, of);
	io_add(&text, " port%s %s", of == 1 ? "" : "s", where(w->choices[gpu].distance));
	if (group > 1)
		io_add(&text, ", %s %zu GPUs", many == of ? "shared by" : "dealt out to", group);
	add_farther(&text, w, gpu);
	return io_end(&text);
}

static char *empty_reason(const struct work *w, size_t usable)
{
	size_t ports = w->machine->port_count;

	if (ports == 0)
		return io_format("no HCA port was found on this node");
	if (usable == 0)
		return io_format(ports == 1 ? "the only HCA port is ignored"
					    : "all %zu HCA ports are ignored",
				 ports);
	return io_format("the distance of all %zu usable ports is unknown", usable);
}

static int fill_near(const struct work *w, size_t gpu, const size_t *ports, size_t many)
{
	struct map_gpu *g = &w->map->gpus[gpu];

	g->near = calloc(many, sizeof(*g->near));
	if (!g->near)
		return -ENOMEM;
	g->near_count = many;
	for (size_t i = 0; i < many; i++)
		g->near[i] = (struct map_near){ .port = ports[i],
						.class = w->choices[gpu].distance.class };
	return 0;
}

/* Deals the best set of the group that begins with GPU first. Unknown distances choose nothing. */
static int deal_group(const struct work *w, size_t first, size_t *ports, size_t *cards)
{
	const struct choice *c = &w->choices[first];
	size_t usable = deck_of(w, c, ports, cards), members = 0, n = 0, at, many;
	int rc = 0;

	for (size_t i = first; i < w->machine->gpu_count; i++)
		members += w->choices[i].group == first;
	for (size_t i = first; rc == 0 && i < w->machine->gpu_count; i++) {
		struct map_gpu *g = &w->map->gpus[i];
		if (w->choices[i].group != first)
			continue;
		/* The only card needs no distance to be the right one. */
		if (usable == 0 ||
		    (w->choices[i].distance.class == MAP_UNKNOWN && cards[usable - 1] > 0)) {
			g->reason = empty_reason(w, usable);
		} else {
			deal(cards, usable, members, n++, &at, &many);
			rc = fill_near(w, i, ports + at, many);
			g->reason = reason_text(w, i, many, usable, members);
		}
		if (!g->reason)
			rc = -ENOMEM;
	}
	return rc;
}

/* The tie size of a port in a GPU's list: how many GPUs have the same best set. */
static void fill_ties(const struct work *w)
{
	size_t gpus = w->machine->gpu_count;

	for (size_t i = 0; i < gpus; i++) {
		int tie = 0;
		for (size_t k = 0; k < gpus; k++)
			tie += w->choices[k].group == w->choices[i].group;
		for (size_t k = 0; k < w->map->gpus[i].near_count; k++)
			w->map->gpus[i].near[k].tie = tie;
	}
}

/* By PCI address, then port number; what has no address comes last, by name. */
static int deal_order(const void *a, const void *b, void *machine)
{
	const struct machine *m = machine;
	size_t ia = *(const size_t *)a, ib = *(const size_t *)b;
	const struct machine_port *pa = &m->ports[ia], *pb = &m->ports[ib];
	int order = 0;

	if (pa->placed != pb->placed)
		return pa->placed ? -1 : 1;
	if (pa->placed)
		order = machine_bdf_order(&pa->place.bdf, &pb->place.bdf);
	return order ? order : (ia > ib) - (ia < ib);
}

static int choose_ports(struct work *w)
{
	size_t gpus = w->machine->gpu_count, ports = w->machine->port_count;
	size_t *deck = calloc(ports + 1, sizeof(*deck)), *cards = calloc(ports + 1, sizeof(*cards));
	int rc = deck && cards ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < gpus; i++) {
		w->choices[i].best = calloc(ports + 1, sizeof(bool));
		if (!w->choices[i].best) {
			rc = -ENOMEM;
			break;
		}
		find_best(w, i);
		find_group(w, i);
	}
	for (size_t i = 0; rc == 0 && i < gpus; i++)
		if (w->choices[i].group == i)
			rc = deal_group(w, i, deck, cards);
	if (rc == 0)
		fill_ties(w);
	free(deck);
	free(cards);
	return rc;
}

/* ---- step 1: the devices, as the map shows them ---- */

static int copy_string(char **to, const char *from)
{
	if (!from)
		return 0;
	*to = io_printable(from);
	return *to ? 0 : -ENOMEM;
}

static int copy_port(const struct machine *m, const struct choose_filter *f,
		     const struct machine_port *p, struct map_port *to)
{
	int rc = copy_string(&to->device, p->device);

	to->port = p->port;
	to->guid = p->guid;
	to->node_guid = p->node_guid;
	to->numa = p->place.numa;
	to->state = p->state;
	to->rate_bps = p->rate_bps;
	to->leaf.rail = -1;
	if (rc == 0)
		rc = copy_string(&to->layer, p->layer);
	if (rc == 0 && p->placed) {
		to->bdf = machine_bdf_text(&p->place.bdf);
		rc = to->bdf ? 0 : -ENOMEM;
	}
	if (rc == 0)
		to->ignored = ignored_reason(m, f, p, &rc);
	return rc;
}

/*
 * The switch right below the root port is what a GPU shares with the others of its tree. Where
 * there is no switch the GPU is alone; where no bridge is known nothing is.
 */
static int copy_tree(const struct machine *m, const struct machine_gpu *g, struct map_gpu *to)
{
	const struct machine_bdf *bdf = &g->place.bdf;
	size_t chain[MAX_DEPTH], n = chain_of(m, g->place.bridge, chain);

	if (n > 0 && m->bridges[chain[n - 1]].host)
		n--;
	if (n == 0)
		return 0;
	if (n > 1) {
		if (!m->bridges[chain[n - 2]].placed)
			return 0;
		bdf = &m->bridges[chain[n - 2]].bdf;
	}
	to->tree = machine_bdf_text(bdf);
	return to->tree ? 0 : -ENOMEM;
}

static int copy_gpu(const struct machine *m, const struct machine_gpu *g, struct map_gpu *to)
{
	int rc = copy_string(&to->uuid, g->uuid);

	to->index = g->index;
	to->minor = g->minor;
	to->gres = -1;
	to->numa = g->place.numa;
	if (rc == 0)
		rc = copy_string(&to->model, g->model);
	if (rc == 0)
		rc = copy_string(&to->part, g->part);
	if (rc == 0)
		rc = copy_tree(m, g, to);
	to->bdf = machine_bdf_text(&g->place.bdf);
	return to->bdf ? rc : -ENOMEM;
}

static bool same_address(const struct machine_gpu *a, const struct machine_gpu *b)
{
	return machine_bdf_order(&a->place.bdf, &b->place.bdf) == 0;
}

/*
 * Does GPU a come before GPU b in Slurm's list? It is sorted by the names of the device files
 * (/dev/dri/renderD* before /dev/nvidia*, numbers as numbers), and then, where a library of the
 * vendor's was asked, in its order: of NVML and ROCm SMI, PCI addresses. What a recording has of
 * that order itself goes first, since older ROCm had another one. Parts of a GPU are in m as their
 * files are.
 */
static bool gres_before(const struct machine *m, enum choose_gres gres, size_t a, size_t b)
{
	const struct machine_gpu *ga = &m->gpus[a], *gb = &m->gpus[b];

	if (gres == GRES_PCI) {
		bool told =
			!m->live && ga->vendor == gb->vendor && ga->index >= 0 && gb->index >= 0;

		return told && ga->index != gb->index ? ga->index < gb->index : a < b;
	}
	if (ga->vendor != gb->vendor)
		return ga->vendor == VENDOR_AMD;
	return ga->minor != gb->minor ? ga->minor < gb->minor : gres != GRES_NVIDIA && a < b;
}

/*
 * A GPU without a device file is none of Slurm's. In PCI order that is told only where others have
 * one: a source that knows no minor at all (XML) still has an order.
 */
static void number_gres(const struct machine *m, enum choose_gres gres, struct map *map)
{
	bool any_minor = false;

	for (size_t i = 0; i < m->gpu_count; i++)
		any_minor |= m->gpus[i].minor >= 0;
	for (size_t i = 0; i < m->gpu_count; i++) {
		int rank = 0;
		if (m->gpus[i].minor < 0 && (any_minor || gres != GRES_PCI))
			continue;
		for (size_t k = 0; k < m->gpu_count; k++) {
			/* of a GPU in parts, for those who know none, the first part counts */
			bool counts = m->gpus[k].minor >= 0 || !any_minor;
			if (gres == GRES_NVIDIA && k > 0)
				counts &= !same_address(&m->gpus[k - 1], &m->gpus[k]);
			rank += counts && gres_before(m, gres, k, i);
		}
		map->gpus[i].gres = rank;
	}
}

/*
 * The vendor's number where the source has it for all GPUs of the vendor, else the PCI order, in
 * which parts of a GPU share its number.
 */
static void number_gpus(const struct machine *m, struct map *map)
{
	for (size_t i = 0; i < m->gpu_count; i++) {
		int rank = 0;
		bool all = true;
		for (size_t k = 0; k < m->gpu_count; k++) {
			if (m->gpus[k].vendor != m->gpus[i].vendor)
				continue;
			all &= m->gpus[k].index >= 0;
			rank += k < i &&
				!(m->gpus[k].part && same_address(&m->gpus[k], &m->gpus[k + 1]));
		}
		map->gpus[i].index = all ? m->gpus[i].index : rank;
	}
}

static struct map *copy_machine(const struct machine *m, const struct choose_filter *f,
				const char *host)
{
	struct map *map = calloc(1, sizeof(*map));
	int rc;

	if (!map)
		return NULL;
	rc = copy_string(&map->host, host);
	map->gpus = calloc(m->gpu_count + 1, sizeof(*map->gpus));
	map->ports = calloc(m->port_count + 1, sizeof(*map->ports));
	if (!map->gpus || !map->ports)
		rc = -ENOMEM;
	for (; rc == 0 && map->gpu_count < m->gpu_count; map->gpu_count++)
		rc = copy_gpu(m, &m->gpus[map->gpu_count], &map->gpus[map->gpu_count]);
	for (; rc == 0 && map->port_count < m->port_count; map->port_count++)
		rc = copy_port(m, f, &m->ports[map->port_count], &map->ports[map->port_count]);
	if (rc == 0) {
		number_gpus(m, map);
		number_gres(m, f->gres, map);
		return map;
	}
	map_free(map);
	return NULL;
}

static void work_clear(struct work *w)
{
	for (size_t i = 0; w->choices && i < w->machine->gpu_count; i++)
		free(w->choices[i].best);
	free(w->choices);
	free(w->order);
}

struct map *choose_map(const struct machine *machine, const struct choose_filter *filter,
		       const char *host, struct err *err)
{
	struct work w = { .machine = machine };
	int rc = -ENOMEM;

	w.map = copy_machine(machine, filter, host);
	w.choices = calloc(machine->gpu_count + 1, sizeof(*w.choices));
	w.order = calloc(machine->port_count + 1, sizeof(*w.order));
	if (w.map && w.choices && w.order) {
		for (size_t i = 0; i < machine->port_count; i++)
			w.order[i] = i;
		qsort_r(w.order, machine->port_count, sizeof(*w.order), deal_order,
			(void *)machine);
		rc = choose_ports(&w);
	}
	work_clear(&w);
	if (rc == 0)
		return w.map;
	map_free(w.map);
	errno = -err_set(err, ENOMEM, "the node's map: out of memory");
	return NULL;
}
