/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subnet.c - see subnet.h.
 *
 * Everything is appended while it is read; one sort at the end makes equal things neighbours, which
 * are then merged. So a fabric of 10 000 hosts costs a few sorts and no table is needed.
 */
#include "subnet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subnet *subnet_new(void)
{
	return calloc(1, sizeof(struct subnet));
}

void subnet_free(struct subnet *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->node_count; i++)
		free(s->nodes[i].description);
	free(s->nodes);
	free(s->ports);
	free(s->cables);
	free(s->bare);
	free(s->counts);
	notes_clear(&s->missing);
	notes_clear(&s->warnings);
	free(s);
}

/* Makes room for one more element behind *count ones. */
static int make_room(void **array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *bigger;

	if (count < *room)
		return 0;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = more;
	return 0;
}

int subnet_add_node(struct subnet *s, const struct subnet_node *node)
{
	struct subnet_node *copy;

	if (make_room((void **)&s->nodes, s->node_count, &s->node_room, sizeof(*s->nodes)) < 0)
		return -ENOMEM;
	copy = &s->nodes[s->node_count];
	*copy = *node;
	if (node->description && !(copy->description = strdup(node->description)))
		return -ENOMEM;
	s->node_count++;
	return 0;
}

int subnet_add_port(struct subnet *s, uint64_t node, int number, uint64_t guid)
{
	if (make_room((void **)&s->ports, s->port_count, &s->port_room, sizeof(*s->ports)) < 0)
		return -ENOMEM;
	s->ports[s->port_count++] = (struct subnet_port){ node, number, guid };
	return 0;
}

static int compare_ends(const struct subnet_end *a, const struct subnet_end *b)
{
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->port - b->port;
}

int subnet_add_cable(struct subnet *s, struct subnet_end a, struct subnet_end b,
		     const struct fabric_wire *wire, bool both)
{
	struct subnet_cable *cable;

	if (make_room((void **)&s->cables, s->cable_count, &s->cable_room, sizeof(*s->cables)) < 0)
		return -ENOMEM;
	cable = &s->cables[s->cable_count++];
	*cable = (struct subnet_cable){ a, b, *wire, true, both };
	if (compare_ends(&a, &b) > 0)
		*cable = (struct subnet_cable){ b, a, *wire, both, true };
	return 0;
}

int subnet_add_bare(struct subnet *s, struct subnet_end end, bool up)
{
	if (make_room((void **)&s->bare, s->bare_count, &s->bare_room, sizeof(*s->bare)) < 0)
		return -ENOMEM;
	s->bare[s->bare_count++] = (struct subnet_bare){ end, up };
	return 0;
}

int subnet_add_counts(struct subnet *s, const struct fabric_counts *counts)
{
	if (make_room((void **)&s->counts, s->counts_count, &s->counts_room, sizeof(*s->counts)) <
	    0)
		return -ENOMEM;
	s->counts[s->counts_count++] = *counts;
	return 0;
}

/* Described nodes come before those that were only named or are absent, so that merging keeps them.
 */
static int by_node(const void *x, const void *y)
{
	const struct subnet_node *a = x, *b = y;
	const char *da = a->description ? a->description : "",
		   *db = b->description ? b->description : "";

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	if (a->described != b->described)
		return a->described ? -1 : 1;
	if (a->absent_ns != b->absent_ns)
		return a->absent_ns < b->absent_ns ? -1 : 1;
	return strcmp(db, da);
}

static void merge_node(struct subnet *s, struct subnet_node *into, struct subnet_node *from)
{
	if (into->kind != from->kind)
		notes_add(&s->warnings, "node 0x%016llx is told of as two kinds of node",
			  (unsigned long long)into->guid);
	if (!into->system_guid)
		into->system_guid = from->system_guid;
	if (!into->ports)
		into->ports = from->ports;
	if (!into->vendor)
		into->vendor = from->vendor;
	if (!into->device)
		into->device = from->device;
	if (!into->description || !*into->description) {
		free(into->description);
		into->description = from->description;
	} else {
		free(from->description);
	}
	from->description = NULL;
}

static void merge_nodes(struct subnet *s)
{
	size_t kept = 0;

	if (s->node_count)
		qsort(s->nodes, s->node_count, sizeof(*s->nodes), by_node);
	for (size_t i = 0; i < s->node_count; i++) {
		if (kept && s->nodes[kept - 1].guid == s->nodes[i].guid)
			merge_node(s, &s->nodes[kept - 1], &s->nodes[i]);
		else
			s->nodes[kept++] = s->nodes[i];
	}
	s->node_count = kept;
}

static int by_port(const void *x, const void *y)
{
	const struct subnet_port *a = x, *b = y;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->number != b->number)
		return a->number - b->number;
	return a->guid < b->guid ? -1 : a->guid > b->guid;
}

static void merge_ports(struct subnet *s)
{
	size_t kept = 0;

	if (s->port_count)
		qsort(s->ports, s->port_count, sizeof(*s->ports), by_port);
	for (size_t i = 0; i < s->port_count; i++) {
		const struct subnet_port *p = &s->ports[i];
		if (!kept || s->ports[kept - 1].node != p->node ||
		    s->ports[kept - 1].number != p->number)
			s->ports[kept++] = *p;
		else if (s->ports[kept - 1].guid != p->guid)
			notes_add(&s->warnings, "port %d of node 0x%016llx has two GUIDs",
				  p->number, (unsigned long long)p->node);
	}
	s->port_count = kept;
}

static int by_cable(const void *x, const void *y)
{
	const struct subnet_cable *a = x, *b = y;
	int order = compare_ends(&a->a, &b->a);

	return order ? order : compare_ends(&a->b, &b->b);
}

/* What one end supports is possible when the other does, too: lanes and speed of a lane. */
static void merge_best(struct fabric_wire *into, const struct fabric_wire *from)
{
	int width = into->best_width < from->best_width ? into->best_width : from->best_width;
	uint64_t a, b;

	if (!from->best_width || !from->best_speed_bps)
		return;
	if (!into->best_width || !into->best_speed_bps) {
		into->best_width = from->best_width;
		into->best_speed_bps = from->best_speed_bps;
		return;
	}
	a = into->best_speed_bps * (uint64_t)width / (uint64_t)into->best_width;
	b = from->best_speed_bps * (uint64_t)width / (uint64_t)from->best_width;
	into->best_width = width;
	into->best_speed_bps = a < b ? a : b;
}

/* What two ends say of one wire: the worse, where they differ. */
static void merge_wire(struct fabric_wire *into, const struct fabric_wire *from)
{
	if (!into->width || (from->width && from->width < into->width))
		into->width = from->width;
	if (!into->speed_bps || (from->speed_bps && from->speed_bps < into->speed_bps))
		into->speed_bps = from->speed_bps;
	merge_best(into, from);
	if (into->state == LINK_UNKNOWN ||
	    (from->state != LINK_UNKNOWN && from->state < into->state))
		into->state = from->state;
}

static void merge_cables(struct subnet *s)
{
	size_t kept = 0;

	if (s->cable_count)
		qsort(s->cables, s->cable_count, sizeof(*s->cables), by_cable);
	for (size_t i = 0; i < s->cable_count; i++) {
		struct subnet_cable *last = kept ? &s->cables[kept - 1] : NULL;
		if (!last || by_cable(last, &s->cables[i]) != 0) {
			s->cables[kept++] = s->cables[i];
			continue;
		}
		merge_wire(&last->wire, &s->cables[i].wire);
		last->from_a |= s->cables[i].from_a;
		last->from_b |= s->cables[i].from_b;
	}
	s->cable_count = kept;
}

struct end_of {
	struct subnet_end end;
	size_t cable;
};

static int by_end(const void *x, const void *y)
{
	const struct end_of *a = x, *b = y;
	int order = compare_ends(&a->end, &b->end);

	return order ? order : (a->cable > b->cable) - (a->cable < b->cable);
}

static int by_bare(const void *x, const void *y)
{
	return compare_ends(&((const struct subnet_bare *)x)->end,
			    &((const struct subnet_bare *)y)->end);
}

static void merge_bare(struct subnet *s)
{
	size_t kept = 0;

	if (s->bare_count)
		qsort(s->bare, s->bare_count, sizeof(*s->bare), by_bare);
	for (size_t i = 0; i < s->bare_count; i++) {
		if (kept && by_bare(&s->bare[kept - 1], &s->bare[i]) == 0)
			s->bare[kept - 1].up |= s->bare[i].up;
		else
			s->bare[kept++] = s->bare[i];
	}
	s->bare_count = kept;
}

static int by_counts(const void *x, const void *y)
{
	const struct fabric_counts *a = x, *b = y;

	if (a->node_guid != b->node_guid)
		return a->node_guid < b->node_guid ? -1 : 1;
	return a->port - b->port;
}

static void merge_counts(struct subnet *s)
{
	size_t kept = 0;

	if (s->counts_count)
		qsort(s->counts, s->counts_count, sizeof(*s->counts), by_counts);
	for (size_t i = 0; i < s->counts_count; i++)
		if (!kept || by_counts(&s->counts[kept - 1], &s->counts[i]) != 0)
			s->counts[kept++] = s->counts[i];
	s->counts_count = kept;
}

const struct subnet_bare *subnet_find_bare(const struct subnet *s, struct subnet_end end)
{
	struct subnet_bare wanted = { .end = end };

	return s->bare_count ? bsearch(&wanted, s->bare, s->bare_count, sizeof(wanted), by_bare)
			     : NULL;
}

static int by_place(const void *x, const void *y)
{
	return compare_ends(x, y);
}

struct subnet_end *subnet_ends(const struct subnet *s)
{
	struct subnet_end *ends = calloc(s->cable_count * 2 + 1, sizeof(*ends));

	for (size_t i = 0; ends && i < s->cable_count; i++) {
		ends[i * 2] = s->cables[i].a;
		ends[i * 2 + 1] = s->cables[i].b;
	}
	if (ends)
		qsort(ends, s->cable_count * 2, sizeof(*ends), by_place);
	return ends;
}

bool subnet_has_end(const struct subnet *s, const struct subnet_end *ends, struct subnet_end end)
{
	return bsearch(&end, ends, s->cable_count * 2, sizeof(end), by_place) != NULL;
}

static const char *describe(const struct subnet *s, uint64_t guid)
{
	size_t i = subnet_find(s, guid);

	return i != FABRIC_NONE && s->nodes[i].description ? s->nodes[i].description
							   : "no description";
}

/* A loop-back plug: its port is its own peer. That is no cable between two ports. */
static bool is_plug(struct subnet *s, const struct subnet_cable *c)
{
	if (compare_ends(&c->a, &c->b) != 0)
		return false;
	notes_add(&s->warnings, "port %d of node 0x%016llx (%s) is its own peer; a loop-back plug?",
		  c->a.port, (unsigned long long)c->a.node, describe(s, c->a.node));
	return true;
}

/* A broken cache names ports of nodes that it does not have. */
static bool has_both_nodes(struct subnet *s, const struct subnet_cable *c)
{
	bool a = subnet_find(s, c->a.node) != FABRIC_NONE;

	if (a && subnet_find(s, c->b.node) != FABRIC_NONE)
		return true;
	notes_add(&s->missing,
		  "a cable goes from port %d of node 0x%016llx to node 0x%016llx, of which nothing "
		  "else is told",
		  a ? c->a.port : c->b.port, (unsigned long long)(a ? c->a.node : c->b.node),
		  (unsigned long long)(a ? c->b.node : c->a.node));
	return false;
}

/*
 * A port holds one cable: of several the first is kept, and the discovery is not to be trusted.
 * Cables that are none are dropped as well.
 */
static int drop_wrong_cables(struct subnet *s)
{
	struct end_of *ends = calloc(s->cable_count * 2 + 1, sizeof(*ends));
	bool *drop = calloc(s->cable_count + 1, sizeof(*drop));
	size_t kept = 0;

	if (!ends || !drop) {
		free(ends);
		free(drop);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->cable_count; i++) {
		ends[i * 2] = (struct end_of){ s->cables[i].a, i };
		ends[i * 2 + 1] = (struct end_of){ s->cables[i].b, i };
	}
	qsort(ends, s->cable_count * 2, sizeof(*ends), by_end);
	for (size_t i = 1; i < s->cable_count * 2; i++) {
		if (compare_ends(&ends[i - 1].end, &ends[i].end) != 0 ||
		    ends[i].cable == ends[i - 1].cable)
			continue;
		drop[ends[i].cable] = true;
		notes_add(&s->missing,
			  "port %d of node 0x%016llx (%s) is told of with two peers; the fabric "
			  "changed "
			  "while it was discovered",
			  ends[i].end.port, (unsigned long long)ends[i].end.node,
			  describe(s, ends[i].end.node));
	}
	for (size_t i = 0; i < s->cable_count; i++)
		if (!drop[i] && has_both_nodes(s, &s->cables[i]) && !is_plug(s, &s->cables[i]))
			s->cables[kept++] = s->cables[i];
	s->cable_count = kept;
	free(ends);
	free(drop);
	return 0;
}

/* Who was at the other end of a switch's port before, as a sentence's end; "": nobody knows. */
static void tell_before(const struct subnet *s, struct subnet_end end, char text[192])
{
	const struct fabric *was = s->was;
	size_t sw = was ? fabric_find_switch(was, end.node) : FABRIC_NONE;

	text[0] = '\0';
	for (size_t i = 0; sw != FABRIC_NONE && i < was->port_count; i++) {
		const struct fabric_port *p = &was->ports[i];
		if (p->sw == sw && p->sw_port == end.port && p->host != FABRIC_NONE)
			snprintf(text, 192, "; %s %s was there", was->hosts[p->host].name,
				 p->device ? p->device : "");
	}
	for (size_t i = 0; sw != FABRIC_NONE && i < was->link_count; i++) {
		const struct fabric_link *l = &was->links[i];
		bool a = l->a == sw && l->a_port == end.port;
		if (a || (l->b == sw && l->b_port == end.port))
			snprintf(text, 192, "; port %d of %s was there", a ? l->b_port : l->a_port,
				 was->switches[a ? l->b : l->a].name);
	}
}

/* A port that is up has somebody behind it. */
static int check_bare(struct subnet *s)
{
	struct subnet_end *ends = subnet_ends(s);
	char before[192];

	for (size_t i = 0; ends && i < s->bare_count; i++) {
		const struct subnet_bare *b = &s->bare[i];
		if (!b->up || subnet_has_end(s, ends, b->end))
			continue;
		tell_before(s, b->end, before);
		notes_add(&s->missing,
			  "port %d of node 0x%016llx (%s) is up, but what is behind it did not "
			  "answer%s",
			  b->end.port, (unsigned long long)b->end.node, describe(s, b->end.node),
			  before);
	}
	free(ends);
	return ends ? 0 : -ENOMEM;
}

/* Both ends of a cable tell of it when both were discovered whole. */
static void check_far_end(struct subnet *s, const struct subnet_end *told,
			  const struct subnet_end *silent)
{
	size_t i = subnet_find(s, silent->node);

	if (i == FABRIC_NONE || !s->nodes[i].described)
		return; /* check_nodes() says so, once per node */
	notes_add(
		&s->missing,
		"port %d of node 0x%016llx (%s) does not tell of its cable to port %d of 0x%016llx",
		silent->port, (unsigned long long)silent->node, describe(s, silent->node),
		told->port, (unsigned long long)told->node);
}

static int check_cables(struct subnet *s)
{
	int rc = check_bare(s);

	for (size_t i = 0; i < s->cable_count; i++) {
		const struct subnet_cable *c = &s->cables[i];
		if (!c->from_b)
			check_far_end(s, &c->a, &c->b);
		if (!c->from_a)
			check_far_end(s, &c->b, &c->a);
	}
	return rc;
}

static void check_description(struct subnet *s, uint64_t guid)
{
	const struct fabric *was = s->was;
	size_t sw = was ? fabric_find_switch(was, guid) : FABRIC_NONE, host = FABRIC_NONE;
	const char *name = sw == FABRIC_NONE ? NULL : was->switches[sw].name;

	for (size_t i = 0; was && i < was->port_count; i++)
		if (was->ports[i].node_guid == guid)
			host = was->ports[i].host;
	if (host != FABRIC_NONE)
		name = was->hosts[host].name;
	notes_add(&s->missing,
		  "node 0x%016llx has no description; it did not answer that query%s%s",
		  (unsigned long long)guid, name ? "; it was of " : "", name ? name : "");
}

static void check_nodes(struct subnet *s)
{
	for (size_t i = 0; i < s->node_count; i++) {
		const struct subnet_node *node = &s->nodes[i];
		/* ibnetdiscover -g leaves out routers that are inside a switch's box. */
		if (!node->described && node->kind != SUBNET_ROUTER)
			notes_add(&s->missing,
				  "node 0x%016llx (%s) is the far end of a cable, but nothing "
				  "tells of itself",
				  (unsigned long long)node->guid, describe(s, node->guid));
		else if (node->described && (!node->description || !*node->description))
			check_description(s, node->guid);
	}
}

static int rename_node(struct subnet_node *node, const char *name)
{
	char *copy = name ? strdup(name) : NULL;

	if (!name)
		return 0;
	free(node->description);
	node->description = copy;
	return copy ? 0 : -ENOMEM;
}

/* A node's own GUID has the last word over those of its ports. */
static int rename_nodes(struct subnet *s)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->port_count; i++) {
		size_t node = subnet_find(s, s->ports[i].node);
		if (node != FABRIC_NONE)
			rc = rename_node(&s->nodes[node], namemap_find(s->names, s->ports[i].guid));
	}
	for (size_t i = 0; rc == 0 && i < s->node_count; i++)
		rc = rename_node(&s->nodes[i], namemap_find(s->names, s->nodes[i].guid));
	return rc;
}

int subnet_sort(struct subnet *s)
{
	merge_nodes(s);
	merge_ports(s);
	merge_bare(s);
	merge_counts(s);
	if (rename_nodes(s) < 0)
		return -ENOMEM;
	merge_cables(s);
	return drop_wrong_cables(s);
}

int subnet_finish(struct subnet *s)
{
	if (subnet_sort(s) < 0)
		return -ENOMEM;
	check_nodes(s);
	return check_cables(s);
}

size_t subnet_find(const struct subnet *s, uint64_t guid)
{
	size_t low = 0, high = s->node_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (s->nodes[mid].guid < guid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->node_count && s->nodes[low].guid == guid ? low : FABRIC_NONE;
}

uint64_t subnet_port_guid(const struct subnet *s, uint64_t node, int number)
{
	size_t low = 0, high = s->port_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct subnet_port *p = &s->ports[mid];
		if (p->node < node || (p->node == node && p->number < number))
			low = mid + 1;
		else
			high = mid;
	}
	if (low < s->port_count && s->ports[low].node == node && s->ports[low].number == number)
		return s->ports[low].guid;
	return 0;
}

uint64_t subnet_speed_bps(const char *word, int width)
{
	static const struct {
		const char *word;
		uint64_t signalling, payload, coded; /* bits of payload in so many on the wire */
	} speeds[] = {
		{ "SDR", 2500000000u, 8, 10 },	 { "DDR", 5000000000u, 8, 10 },
		{ "QDR", 10000000000u, 8, 10 },	 { "FDR10", 10312500000u, 64, 66 },
		{ "FDR", 14062500000u, 64, 66 }, { "EDR", 25781250000u, 64, 66 },
		{ "HDR", 50000000000u, 1, 1 },	 { "NDR", 100000000000u, 1, 1 },
		{ "XDR", 200000000000u, 1, 1 },
	};

	for (size_t i = 0; width > 0 && i < sizeof(speeds) / sizeof(speeds[0]); i++)
		if (strcmp(word, speeds[i].word) == 0)
			return speeds[i].signalling * (uint64_t)width * speeds[i].payload /
			       speeds[i].coded;
	return 0;
}
