/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model.c - from what was discovered to what it means; see model.h.
 *
 * Pure: a subnet in, a fabric out. This file names switches and hosts, sorts cables into links and
 * ports, and finds degraded wires; levels.c finds the leaves, groups.c units, pods and islands,
 * rails.c the rails. Aggregation nodes (SHARP's CA inside each switch) and routers are no hosts:
 * taken for hosts, they would make a leaf of every switch.
 */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "levels.h"
#include "names.h"
#include "io.h"

struct identity { /* who an HCA says it is */
	char host[NAME_ROOM];
	char device[NAME_ROOM];
	int port; /* 0: all of its ports */
	size_t node;
};

struct card { /* a board with one or more HCAs */
	uint64_t system_guid;
	struct identity *id;
};

struct extender { /* a "switch" of two ports that carries a cable further */
	size_t node;
	const struct subnet_cable *cables[2];
	size_t cable_count;
};

struct model {
	const struct subnet *s;
	const struct model_options *options;
	struct fabric *f;
	struct notes *notes;
	size_t *switch_of;	    /* node to switch, FABRIC_NONE */
	size_t *box;		    /* switch to the one that stands for it (groups.h) */
	struct extender *extenders; /* by node */
	size_t extender_count;
	bool *is_hca;	      /* node is a host's HCA */
	struct identity *ids; /* one per HCA, by node */
	size_t id_count;
	size_t *id_of; /* node to identity, FABRIC_NONE */
};

static const char *description_of(const struct subnet_node *node)
{
	return node->description ? node->description : "";
}

/* Switches. */

static int add_switches(struct model *m)
{
	struct fabric *f = m->f;

	f->switches = calloc(m->s->node_count + 1, sizeof(*f->switches));
	m->switch_of = calloc(m->s->node_count + 1, sizeof(*m->switch_of));
	if (!f->switches || !m->switch_of)
		return -ENOMEM;
	for (size_t i = 0; i < m->s->node_count; i++) {
		const struct subnet_node *node = &m->s->nodes[i];
		m->switch_of[i] = FABRIC_NONE;
		if (node->kind != SUBNET_SWITCH)
			continue;
		m->switch_of[i] = f->switch_count;
		f->switches[f->switch_count++] = (struct fabric_switch){
			.guid = node->guid,
			.system_guid = node->system_guid,
			.level = -1,
			.plane = -1,
			.ports = node->ports,
			.absent_ns = node->absent_ns,
		};
	}
	return 0;
}

struct title { /* a switch and what it would like to be called */
	char name[NAME_ROOM];
	size_t sw;
};

static int by_title(const void *x, const void *y)
{
	const struct title *a = x, *b = y;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->sw > b->sw) - (a->sw < b->sw);
}

/* The name of a switch: its title when it has it alone, else with its GUID, else the GUID. */
static char *switch_name(const struct title *title, uint64_t guid, bool alone)
{
	char name[NAME_ROOM];

	if (alone && title->name[0])
		return strdup(title->name);
	if (title->name[0])
		snprintf(name, sizeof(name), "%.46s-%016llx", title->name,
			 (unsigned long long)guid);
	else
		names_switch_guid(guid, name);
	return strdup(name);
}

/* The first index behind i whose title is another. */
static size_t end_of_title(const struct title *titles, size_t i, size_t count)
{
	size_t end = i + 1;

	while (end < count && strcmp(titles[i].name, titles[end].name) == 0)
		end++;
	return end;
}

/* A title made to look like another switch's name with its GUID behind: both get the GUID alone. */
static int undo_doubles(struct fabric *f, struct title *titles)
{
	for (size_t i = 0; i < f->switch_count; i++) {
		snprintf(titles[i].name, NAME_ROOM, "%s", f->switches[i].name);
		titles[i].sw = i;
	}
	qsort(titles, f->switch_count, sizeof(*titles), by_title);
	for (size_t i = 0, end; i < f->switch_count; i = end) {
		end = end_of_title(titles, i, f->switch_count);
		for (size_t j = i; end > i + 1 && j < end; j++) {
			struct fabric_switch *sw = &f->switches[titles[j].sw];
			char name[NAME_ROOM];
			names_switch_guid(sw->guid, name);
			free(sw->name);
			if (!(sw->name = strdup(name)))
				return -ENOMEM;
		}
	}
	return 0;
}

static int name_switches(struct model *m)
{
	struct fabric *f = m->f;
	struct title *titles = calloc(f->switch_count + 1, sizeof(*titles));
	int rc = titles ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < m->s->node_count; i++) {
		size_t sw = m->switch_of[i];
		if (sw == FABRIC_NONE)
			continue;
		names_switch(description_of(&m->s->nodes[i]), titles[sw].name);
		titles[sw].sw = sw;
	}
	if (rc == 0)
		qsort(titles, f->switch_count, sizeof(*titles), by_title);
	for (size_t i = 0, end; rc == 0 && i < f->switch_count; i = end) {
		end = end_of_title(titles, i, f->switch_count);
		for (size_t j = i; j < end && rc == 0; j++) {
			struct fabric_switch *sw = &f->switches[titles[j].sw];
			sw->name = switch_name(&titles[j], sw->guid, end == i + 1);
			rc = sw->name ? 0 : -ENOMEM;
		}
	}
	if (rc == 0)
		rc = undo_doubles(f, titles);
	free(titles);
	return rc;
}

static int by_system(const void *x, const void *y)
{
	const struct fabric_switch *a = *(struct fabric_switch *const *)x;
	const struct fabric_switch *b = *(struct fabric_switch *const *)y;

	if (a->system_guid != b->system_guid)
		return a->system_guid < b->system_guid ? -1 : 1;
	return (a->guid > b->guid) - (a->guid < b->guid);
}

/* What the managed switches of one box agree on, or what all names of it have in common; "": none.
 */
static int chassis_title(const struct model *m, struct fabric_switch *const *of, size_t count,
			 char name[NAME_ROOM])
{
	const char **names = calloc(count + 1, sizeof(*names));
	char other[NAME_ROOM];
	bool agreed = true;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t node = subnet_find(m->s, of[i]->guid);
		names_chassis(description_of(&m->s->nodes[node]), i ? other : name);
		agreed = agreed && name[0] && (i == 0 || strcmp(name, other) == 0);
		names[i] = of[i]->name;
	}
	if (!agreed)
		names_common(names, count, name);
	free(names);
	return 0;
}

/* Boxes that would have one name are called by their system image GUIDs. */
static int name_boxes(struct fabric *f, struct title *titles, size_t count,
		      struct fabric_switch **sorted)
{
	qsort(titles, count, sizeof(*titles), by_title);
	for (size_t i = 0, end; i < count; i = end) {
		end = end_of_title(titles, i, count);
		for (size_t j = i; j < end; j++) {
			struct fabric_switch **sw = &sorted[titles[j].sw];
			uint64_t system = (*sw)->system_guid;
			if (end > i + 1 || titles[j].name[0] == '\0')
				snprintf(titles[j].name, NAME_ROOM, "chassis-%016llx",
					 (unsigned long long)system);
			for (; sw < sorted + f->switch_count && (*sw)->system_guid == system; sw++)
				if (!((*sw)->chassis = strdup(titles[j].name)))
					return -ENOMEM;
		}
	}
	return 0;
}

/* Several switches with one system image GUID are one box; the first by GUID may stand for it. */
static int find_chassis(struct model *m)
{
	struct fabric *f = m->f;
	struct fabric_switch **sorted = calloc(f->switch_count + 1, sizeof(*sorted));
	struct title *titles = calloc(f->switch_count + 1, sizeof(*titles));
	size_t boxes = 0;
	int rc;

	m->box = calloc(f->switch_count + 1, sizeof(*m->box));
	rc = sorted && titles && m->box ? 0 : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < f->switch_count; i++) {
		sorted[i] = &f->switches[i];
		m->box[i] = i;
	}
	if (rc == 0)
		qsort(sorted, f->switch_count, sizeof(*sorted), by_system);
	for (size_t i = 0, end; rc == 0 && i < f->switch_count; i = end) {
		for (end = i + 1;
		     end < f->switch_count && sorted[end]->system_guid == sorted[i]->system_guid;)
			end++;
		if (end == i + 1 || sorted[i]->system_guid == 0)
			continue;
		for (size_t j = i; m->options->directors_are_one && j < end; j++)
			m->box[sorted[j] - f->switches] = (size_t)(sorted[i] - f->switches);
		titles[boxes].sw = i;
		rc = chassis_title(m, &sorted[i], end - i, titles[boxes++].name);
	}
	if (rc == 0)
		rc = name_boxes(f, titles, boxes, sorted);
	free(sorted);
	free(titles);
	return rc;
}

/* HCAs and hosts. */

static int by_guid(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Whatever it is called: Mellanox' device of that kind (ConnectX have numbers below 0x2000). */
static bool is_aggregation_node(const struct subnet_node *node)
{
	return node->vendor == 0x2c9 && node->device == 0xcf09;
}

/* A CA with the system image GUID of a switch is inside that switch: an aggregation node, a
 * gateway. */
static int find_hcas(struct model *m)
{
	uint64_t *boxes = calloc(m->f->switch_count + 1, sizeof(*boxes));

	m->is_hca = calloc(m->s->node_count + 1, sizeof(*m->is_hca));
	if (!boxes || !m->is_hca) {
		free(boxes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->f->switch_count; i++)
		boxes[i] = m->f->switches[i].system_guid;
	qsort(boxes, m->f->switch_count, sizeof(*boxes), by_guid);
	for (size_t i = 0; i < m->s->node_count; i++) {
		const struct subnet_node *node = &m->s->nodes[i];
		m->is_hca[i] = node->kind == SUBNET_CA && !is_aggregation_node(node) &&
			       !names_appliance(description_of(node)) &&
			       (node->system_guid == 0 ||
				!bsearch(&node->system_guid, boxes, m->f->switch_count,
					 sizeof(*boxes), by_guid));
	}
	free(boxes);
	return 0;
}

static int by_identity(const void *x, const void *y)
{
	const struct identity *a = *(struct identity *const *)x, *b = *(struct identity *const *)y;
	int order = strcmp(a->host, b->host);

	if (order == 0)
		order = strcmp(a->device, b->device);
	if (order == 0)
		order = a->port - b->port;
	return order ? order : (a->node > b->node) - (a->node < b->node);
}

/*
 * A host has each device once. Two HCAs that are the same device of the same host are of two hosts
 * that were given one name; neither can be trusted, nor the name.
 */
static int distrust_doubles(struct model *m)
{
	struct identity **sorted = calloc(m->id_count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < m->id_count; i++)
		sorted[i] = &m->ids[i];
	qsort(sorted, m->id_count, sizeof(*sorted), by_identity);
	for (size_t i = 0, end; i < m->id_count; i = end) {
		char host[NAME_ROOM];
		bool twice = false;
		memcpy(host, sorted[i]->host, sizeof(host));
		for (end = i + 1; end < m->id_count && strcmp(sorted[end]->host, host) == 0; end++)
			twice = twice ||
				(sorted[end]->device[0] &&
				 sorted[end]->port == sorted[end - 1]->port &&
				 strcmp(sorted[end]->device, sorted[end - 1]->device) == 0);
		if (host[0] == '\0' || !twice)
			continue;
		notes_add(m->notes,
			  "several hosts call themselves %s (one device of it is there twice); "
			  "none of "
			  "them is taken for it",
			  host);
		for (size_t j = i; j < end; j++)
			sorted[j]->host[0] = '\0';
	}
	free(sorted);
	return 0;
}

static int by_card(const void *x, const void *y)
{
	const struct card *a = x, *b = y;

	if (a->system_guid != b->system_guid)
		return a->system_guid < b->system_guid ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* The one host that the named HCAs of a card agree on; NULL: none, or they don't. */
static const struct identity *host_of_card(const struct card *cards, size_t count)
{
	const struct identity *named = NULL;

	for (size_t i = 0; i < count; i++) {
		if (cards[i].id->host[0] == '\0')
			continue;
		if (named && strcmp(named->host, cards[i].id->host) != 0)
			return NULL;
		named = cards[i].id;
	}
	return named;
}

/* HCAs of one card are in one host, also those that nobody has named yet. */
static int ask_siblings(struct model *m)
{
	struct card *cards = calloc(m->id_count + 1, sizeof(*cards));

	if (!cards)
		return -ENOMEM;
	for (size_t i = 0; i < m->id_count; i++)
		cards[i] = (struct card){ m->s->nodes[m->ids[i].node].system_guid, &m->ids[i] };
	qsort(cards, m->id_count, sizeof(*cards), by_card);
	for (size_t i = 0, end; i < m->id_count; i = end) {
		const struct identity *named;
		for (end = i + 1;
		     end < m->id_count && cards[end].system_guid == cards[i].system_guid;)
			end++;
		named = cards[i].system_guid ? host_of_card(&cards[i], end - i) : NULL;
		for (size_t j = i; named && j < end; j++)
			if (cards[j].id->host[0] == '\0')
				memcpy(cards[j].id->host, named->host, NAME_ROOM);
	}
	free(cards);
	return 0;
}

static int find_identities(struct model *m)
{
	m->ids = calloc(m->s->node_count + 1, sizeof(*m->ids));
	m->id_of = calloc(m->s->node_count + 1, sizeof(*m->id_of));
	if (!m->ids || !m->id_of)
		return -ENOMEM;
	for (size_t i = 0; i < m->s->node_count; i++) {
		struct identity *id = &m->ids[m->id_count];
		m->id_of[i] = FABRIC_NONE;
		if (!m->is_hca[i])
			continue;
		names_host(description_of(&m->s->nodes[i]), id->host, id->device);
		id->port = m->s->nodes[i].only_port;
		id->node = i;
		m->id_of[i] = m->id_count++;
	}
	return distrust_doubles(m) < 0 ? -ENOMEM : ask_siblings(m);
}

static int by_host_name(const void *x, const void *y)
{
	return strcmp(((const struct fabric_host *)x)->name, ((const struct fabric_host *)y)->name);
}

/* Marks the HCAs that have a cable: a host without any is not in the fabric. */
static int add_hosts(struct model *m, const bool *cabled)
{
	struct fabric *f = m->f;
	size_t kept = 0;

	f->hosts = calloc(m->id_count + 1, sizeof(*f->hosts));
	if (!f->hosts)
		return -ENOMEM;
	for (size_t i = 0; i < m->id_count; i++) {
		struct fabric_host *host = &f->hosts[f->host_count];
		if (m->ids[i].host[0] == '\0' || !cabled[m->ids[i].node])
			continue;
		*host = (struct fabric_host){ strdup(m->ids[i].host), FABRIC_NONE };
		if (!host->name)
			return -ENOMEM;
		f->host_count++;
	}
	if (f->host_count)
		qsort(f->hosts, f->host_count, sizeof(*f->hosts), by_host_name);
	for (size_t i = 0; i < f->host_count; i++) {
		if (kept && strcmp(f->hosts[kept - 1].name, f->hosts[i].name) == 0)
			free(f->hosts[i].name);
		else
			f->hosts[kept++] = f->hosts[i];
	}
	f->host_count = kept;
	return 0;
}

/* Cables. */

static void add_link(struct model *m, const struct subnet_cable *c, size_t a, size_t b)
{
	struct fabric_link *link = &m->f->links[m->f->link_count++];

	*link = (struct fabric_link){ m->switch_of[a], m->switch_of[b], c->a.port, c->b.port,
				      c->wire };
}

/* A link's ends are in GUID order already: switches are, and so are cable ends. */
static int add_port(struct model *m, size_t node, int number, size_t peer, int peer_port,
		    const struct fabric_wire *wire)
{
	struct fabric *f = m->f;
	const struct subnet_node *hca = &m->s->nodes[node];
	const struct identity *id = &m->ids[m->id_of[node]];
	struct fabric_port *port = &f->ports[f->port_count];

	*port = (struct fabric_port){
		.guid = subnet_port_guid(m->s, hca->guid, number),
		.node_guid = hca->guid,
		.system_guid = hca->system_guid,
		.port = number,
		.sw = m->switch_of[peer],
		.rail = -1,
		.wire = *wire,
	};
	port->sw_port = port->sw == FABRIC_NONE ? 0 : peer_port;
	port->host = id->host[0] ? fabric_find_host(f, id->host) : FABRIC_NONE;
	if (id->device[0] && !(port->device = strdup(id->device)))
		return -ENOMEM;
	f->port_count++;
	if (port->host == FABRIC_NONE && port->sw != FABRIC_NONE)
		notes_add(m->notes, "port 0x%016llx on %s port %d has no host name (\"%s\")",
			  (unsigned long long)port->guid, f->switches[port->sw].name, port->sw_port,
			  description_of(hca));
	return 0;
}

static int by_port_guid(const void *x, const void *y)
{
	const struct fabric_port *a = x, *b = y;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	if (a->node_guid != b->node_guid)
		return a->node_guid < b->node_guid ? -1 : 1;
	return a->port - b->port;
}

/* A GUID that two ports claim identifies neither. */
static void drop_double_guids(struct model *m)
{
	struct fabric *f = m->f;
	bool any = false;

	for (size_t i = 0, end; i < f->port_count; i = end) {
		uint64_t guid = f->ports[i].guid;
		for (end = i + 1; end < f->port_count && f->ports[end].guid == guid;)
			end++;
		if (guid == 0 || end == i + 1)
			continue;
		notes_add(m->notes, "port GUID 0x%016llx is there %zu times; it is not used",
			  (unsigned long long)guid, end - i);
		for (size_t j = i; j < end; j++)
			f->ports[j].guid = 0;
		any = true;
	}
	if (any)
		qsort(f->ports, f->port_count, sizeof(*f->ports), by_port_guid);
}

/* Range extenders. */

static bool is_extender(const struct subnet_node *node)
{
	return node->kind == SUBNET_SWITCH &&
	       (node->ports == 2 ||
		(node->ports == 0 && strstr(description_of(node), "Longbow") != NULL));
}

static int by_extender(const void *x, const void *y)
{
	const struct extender *a = x, *b = y;

	return (a->node > b->node) - (a->node < b->node);
}

static struct extender *find_extender(const struct model *m, uint64_t guid)
{
	struct extender wanted = { 0 };

	if (m->extender_count == 0)
		return NULL;
	wanted.node = subnet_find(m->s, guid);
	return bsearch(&wanted, m->extenders, m->extender_count, sizeof(wanted), by_extender);
}

static void plug_in(struct extender *e, const struct subnet_cable *c)
{
	if (e && e->cable_count < 2)
		e->cables[e->cable_count] = c;
	if (e)
		e->cable_count++;
}

static int find_extenders(struct model *m)
{
	const struct subnet *s = m->s;
	size_t kept = 0;

	m->extenders = calloc(s->node_count + 1, sizeof(*m->extenders));
	if (!m->extenders)
		return -ENOMEM;
	for (size_t i = 0; i < s->node_count; i++)
		if (is_extender(&s->nodes[i]))
			m->extenders[m->extender_count++].node = i;
	for (size_t i = 0; i < s->cable_count; i++) {
		plug_in(find_extender(m, s->cables[i].a.node), &s->cables[i]);
		plug_in(find_extender(m, s->cables[i].b.node), &s->cables[i]);
	}
	for (size_t i = 0; i < m->extender_count; i++) {
		const struct subnet_node *node = &s->nodes[m->extenders[i].node];
		if (m->extenders[i].cable_count > 2)
			continue; /* a switch after all */
		m->extenders[kept++] = m->extenders[i];
		notes_add(m->notes,
			  "0x%016llx (%s) has two ports: a range extender, taken for a cable",
			  (unsigned long long)node->guid, description_of(node));
	}
	m->extender_count = kept;
	return 0;
}

/*
 * Follows a cable from end `from` through extenders to what is no extender, in *out. False when it
 * leads nowhere, or when the other side will tell of it (the lower end does).
 */
static bool follow(const struct model *m, const struct subnet_cable *c, bool from_a,
		   struct subnet_cable *out)
{
	struct subnet_end start = from_a ? c->a : c->b, end = from_a ? c->b : c->a;
	struct fabric_wire wire = c->wire;

	for (size_t steps = 0; steps <= m->extender_count; steps++) {
		const struct extender *e = find_extender(m, end.node);
		const struct subnet_cable *next;
		if (!e) {
			*out = (struct subnet_cable){ start, end, wire, true, true };
			return start.node < end.node ||
			       (start.node == end.node && start.port < end.port);
		}
		next = e->cables[0] == c ? e->cables[1] : e->cables[0];
		if (!next || next == c)
			return false;
		end = next->a.node == m->s->nodes[e->node].guid ? next->b : next->a;
		if (next->wire.speed_bps && next->wire.speed_bps < wire.speed_bps)
			wire = next->wire;
		c = next;
	}
	return false;
}

static int add_cable(struct model *m, const struct subnet_cable *c)
{
	size_t a = subnet_find(m->s, c->a.node), b = subnet_find(m->s, c->b.node);
	int rc = 0;

	if (m->switch_of[a] != FABRIC_NONE && m->switch_of[b] != FABRIC_NONE)
		add_link(m, c, a, b);
	if (m->is_hca[a])
		rc = add_port(m, a, c->a.port, b, c->b.port, &c->wire);
	if (rc == 0 && m->is_hca[b])
		rc = add_port(m, b, c->b.port, a, c->a.port, &c->wire);
	return rc;
}

/* A cable as it is, or all of it from its end without an extender. */
static int add_whole_cable(struct model *m, const struct subnet_cable *c)
{
	bool a = find_extender(m, c->a.node) != NULL, b = find_extender(m, c->b.node) != NULL;
	struct subnet_cable whole;

	if (a == b)
		return a ? 0 : add_cable(m, c);
	return follow(m, c, b, &whole) ? add_cable(m, &whole) : 0;
}

static int by_link(const void *x, const void *y)
{
	const struct fabric_link *a = x, *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	if (a->a_port != b->a_port)
		return a->a_port - b->a_port;
	if (a->b != b->b)
		return a->b < b->b ? -1 : 1;
	return a->b_port - b->b_port;
}

static int add_cables(struct model *m)
{
	const struct subnet *s = m->s;
	struct fabric *f = m->f;
	bool *cabled = calloc(s->node_count + 1, sizeof(*cabled));
	int rc = cabled ? 0 : -ENOMEM;

	f->links = calloc(s->cable_count + 1, sizeof(*f->links));
	f->ports = calloc(s->cable_count * 2 + 1, sizeof(*f->ports));
	if (!f->links || !f->ports)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < s->cable_count; i++) {
		cabled[subnet_find(s, s->cables[i].a.node)] = true;
		cabled[subnet_find(s, s->cables[i].b.node)] = true;
	}
	if (rc == 0)
		rc = add_hosts(m, cabled) < 0 || find_extenders(m) < 0 ? -ENOMEM : 0;
	for (size_t i = 0; rc == 0 && i < s->cable_count; i++)
		rc = add_whole_cable(m, &s->cables[i]);
	if (rc == 0 && m->extender_count)
		qsort(f->links, f->link_count, sizeof(*f->links), by_link);
	if (rc == 0 && f->port_count) {
		qsort(f->ports, f->port_count, sizeof(*f->ports), by_port_guid);
		drop_double_guids(m);
	}
	free(cabled);
	return rc;
}

/* Levels. */

static void graph_free(struct switch_graph *g)
{
	free(g->start);
	free(g->peers);
	free(g->cables);
	free(g->hosts);
}

struct arc {
	size_t from, to;
};

static int by_arc(const void *x, const void *y)
{
	const struct arc *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Both directions of each link that is not a loop, sorted. */
static struct arc *list_arcs(const struct fabric *f, const size_t *box, size_t *count)
{
	struct arc *arcs = calloc(f->link_count * 2 + 1, sizeof(*arcs));

	*count = 0;
	for (size_t i = 0; arcs && i < f->link_count; i++) {
		const struct fabric_link *link = &f->links[i];
		size_t a = box[link->a], b = box[link->b];
		if (a == b)
			continue;
		arcs[(*count)++] = (struct arc){ a, b };
		arcs[(*count)++] = (struct arc){ b, a };
	}
	if (arcs)
		qsort(arcs, *count, sizeof(*arcs), by_arc);
	return arcs;
}

/*
 * A fabric manager hangs on any switch, so that its port says nothing about the level of it. Where
 * most hosts seem to be managers, that is how the site calls its hosts.
 */
static bool has_managers(const struct fabric *f)
{
	size_t managers = 0;

	for (size_t i = 0; i < f->host_count; i++)
		managers += names_manager(f->hosts[i].name);
	return managers * 2 < f->host_count;
}

static bool counts(const struct fabric *f, const struct fabric_port *port, bool managers)
{
	return port->sw != FABRIC_NONE && !port->skipped &&
	       !(managers && port->host != FABRIC_NONE && names_manager(f->hosts[port->host].name));
}

static int graph_build(const struct fabric *f, const size_t *box, struct switch_graph *g)
{
	size_t count, kept = 0;
	struct arc *arcs = list_arcs(f, box, &count);
	bool managers = has_managers(f);

	*g = (struct switch_graph){ .count = f->switch_count };
	g->start = calloc(f->switch_count + 2, sizeof(*g->start));
	g->hosts = calloc(f->switch_count + 1, sizeof(*g->hosts));
	g->peers = arcs ? calloc(count + 1, sizeof(*g->peers)) : NULL;
	g->cables = arcs ? calloc(count + 1, sizeof(*g->cables)) : NULL;
	if (!g->start || !g->hosts || !g->peers || !g->cables) {
		free(arcs);
		graph_free(g);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || by_arc(&arcs[i - 1], &arcs[i]) != 0) {
			g->peers[kept++] = arcs[i].to;
			g->start[arcs[i].from + 1] = kept;
		}
		g->cables[kept - 1]++;
	}
	for (size_t i = 0; i < f->switch_count; i++)
		if (g->start[i + 1] < g->start[i])
			g->start[i + 1] = g->start[i];
	for (size_t i = 0; i < f->port_count; i++)
		if (counts(f, &f->ports[i], managers))
			g->hosts[box[f->ports[i].sw]]++;
	free(arcs);
	return 0;
}

static int find_levels(struct model *m, const struct switch_graph *g)
{
	int *level = calloc(m->f->switch_count + 1, sizeof(*level));
	int rc = level ? levels_find(g, level) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < m->f->switch_count; i++)
		m->f->switches[i].level = level[m->box[i]];
	free(level);
	return rc;
}

/* Degraded wires. */

struct kind { /* wires that should be equal: same levels and devices at their ends */
	uint64_t low, high;
	struct fabric_wire *wire;
};

static int by_kind(const void *x, const void *y)
{
	const struct kind *a = x, *b = y;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->wire->speed_bps != b->wire->speed_bps)
		return a->wire->speed_bps < b->wire->speed_bps ? -1 : 1;
	return a->wire->width - b->wire->width;
}

static uint64_t end_kind(const struct model *m, uint64_t guid, int level)
{
	const struct subnet_node *node = &m->s->nodes[subnet_find(m->s, guid)];

	return (uint64_t)(unsigned)(level + 1) << 56 | (uint64_t)(node->vendor & 0xffffff) << 32 |
	       node->device;
}

/*
 * It could run on more lanes or faster ones; false when that is not known. Ports say that they
 * support 8 or 12 lanes which have a socket for 4.
 */
static bool below_best(const struct fabric_wire *w)
{
	if (!w->best_width)
		return false;
	return (w->width < w->best_width && w->width < 4) ||
	       w->speed_bps / (uint64_t)w->width < w->best_speed_bps / (uint64_t)w->best_width;
}

static bool below(const struct fabric_wire *w, const struct fabric_wire *most)
{
	return w->speed_bps < most->speed_bps || w->width < most->width;
}

/* One lane, or SDR, is what training falls back to. */
static bool is_fallback(const struct fabric_wire *w)
{
	return w->width == 1 || w->speed_bps == subnet_speed_bps("SDR", w->width);
}

/* Half of a cable of 4 lanes and HDR or faster, which switches and HCAs are sold for. */
static bool is_half(const struct fabric_wire *w)
{
	return w->width == 2 && w->speed_bps >= subnet_speed_bps("HDR", 2);
}

/*
 * A wire is degraded when most of its kind run better, unless it runs at the best that its ends
 * support (an HDR100 HCA among HDR ones); when it is at what training falls back to and its ends
 * support more; and when it has no peers, or these disagree, and its ends support more, unless it
 * is half a cable.
 */
static void judge_kind(struct kind *kinds, size_t count)
{
	const struct fabric_wire *most = NULL;

	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count &&
				  kinds[end].wire->speed_bps == kinds[i].wire->speed_bps &&
				  kinds[end].wire->width == kinds[i].wire->width;)
			end++;
		if ((end - i) * 2 > count && count > 1)
			most = kinds[i].wire;
	}
	for (size_t i = 0; i < count; i++) {
		struct fabric_wire *w = kinds[i].wire;
		bool could = below_best(w);
		if (most && below(w, most))
			w->degraded = could || !w->best_width;
		else
			w->degraded = could && (is_fallback(w) || (!most && !is_half(w)));
	}
}

/* Judges the wires whose width and speed are known, among those of their kind. */
static int find_degraded(struct model *m)
{
	struct fabric *f = m->f;
	struct kind *kinds = calloc(f->link_count + f->port_count + 1, sizeof(*kinds));
	size_t n = 0;

	if (!kinds)
		return -ENOMEM;
	for (size_t i = 0; i < f->link_count; i++) {
		const struct fabric_switch *a = &f->switches[f->links[i].a],
					   *b = &f->switches[f->links[i].b];
		uint64_t ka = end_kind(m, a->guid, a->level), kb = end_kind(m, b->guid, b->level);
		kinds[n++] =
			(struct kind){ ka < kb ? ka : kb, ka < kb ? kb : ka, &f->links[i].wire };
	}
	for (size_t i = 0; i < f->port_count; i++)
		kinds[n++] = (struct kind){ end_kind(m, f->ports[i].node_guid, 254), UINT64_MAX,
					    &f->ports[i].wire };
	for (size_t i = n; i > 0; i--)
		if (!kinds[i - 1].wire->width || !kinds[i - 1].wire->speed_bps)
			kinds[i - 1] = kinds[--n];
	qsort(kinds, n, sizeof(*kinds), by_kind);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1;
		     end < n && kinds[end].low == kinds[i].low && kinds[end].high == kinds[i].high;)
			end++;
		judge_kind(&kinds[i], end - i);
	}
	free(kinds);
	return 0;
}

static int add_missing(struct model *m)
{
	const struct notes *missing = &m->s->missing;
	struct fabric *f = m->f;

	f->missing = calloc(missing->kept + 2, sizeof(*f->missing));
	if (!f->missing)
		return -ENOMEM;
	for (size_t i = 0; i < missing->kept; i++) {
		if (!(f->missing[i] = strdup(missing->lines[i])))
			return -ENOMEM;
		f->missing_count++;
	}
	if (missing->total > missing->kept) {
		char more[64];
		snprintf(more, sizeof(more), "and %zu more", missing->total - missing->kept);
		if (!(f->missing[f->missing_count] = strdup(more)))
			return -ENOMEM;
		f->missing_count++;
	}
	return 0;
}

static int add_counts(struct model *m)
{
	m->f->counts = calloc(m->s->counts_count + 1, sizeof(*m->f->counts));
	if (!m->f->counts)
		return -ENOMEM;
	if (m->s->counts_count)
		memcpy(m->f->counts, m->s->counts, m->s->counts_count * sizeof(*m->s->counts));
	m->f->counts_count = m->s->counts_count;
	return 0;
}

static void skip_ports(struct model *m)
{
	const struct model_options *o = m->options;

	for (size_t i = 0; i < m->f->port_count; i++)
		m->f->ports[i].skipped =
			!picks_count(o->picks, o->pick_count, o->partitions, m->f, &m->f->ports[i]);
}

/* Levels and groups of all that is linked and plugged. */
static int find_structure(struct model *m)
{
	struct groups_options options = { m->s->links_unknown, m->box };
	struct switch_graph g;
	int rc = graph_build(m->f, m->box, &g);

	if (rc < 0)
		return rc;
	rc = find_levels(m, &g);
	if (rc == 0)
		rc = groups_build(m->f, &g, &options);
	graph_free(&g);
	return rc;
}

/* Planes, which a choice of ports may name, are those of all ports; the rest counts only the
 * chosen. */
static int find_again(struct model *m)
{
	struct fabric *f = m->f;
	int *planes = calloc(f->switch_count + 1, sizeof(*planes));
	int rc;

	if (!planes)
		return -ENOMEM;
	skip_ports(m);
	groups_clear(f);
	for (size_t i = 0; i < f->switch_count; i++)
		planes[i] = f->switches[i].plane;
	rc = find_structure(m);
	for (size_t i = 0; i < f->switch_count; i++)
		f->switches[i].plane = planes[i];
	free(planes);
	return rc;
}

static int build(struct model *m, const char *how, const char *source)
{
	struct fabric *f = m->f;
	int rc;

	f->how = io_printable(how);
	f->source = io_printable(source);
	if (!f->how || !f->source || (rc = add_missing(m)) < 0 || (rc = add_counts(m)) < 0 ||
	    (rc = add_switches(m)) < 0 || (rc = name_switches(m)) < 0 ||
	    (rc = find_chassis(m)) < 0 || (rc = find_hcas(m)) < 0 ||
	    (rc = find_identities(m)) < 0 || (rc = add_cables(m)) < 0)
		return -ENOMEM;
	rc = find_structure(m);
	if (rc == 0 && m->options->pick_count)
		rc = find_again(m);
	if (rc == 0)
		rc = rails_assign(f);
	return rc < 0 ? rc : find_degraded(m);
}

struct fabric *model_build(const struct subnet *s, const char *how, const char *source,
			   int64_t seen_ns, const struct model_options *options,
			   struct notes *notes, struct err *err)
{
	static const struct model_options none = { NULL, 0, NULL, false };
	struct model m = { .s = s,
			   .options = options ? options : &none,
			   .notes = notes,
			   .f = calloc(1, sizeof(*m.f)) };
	int rc = m.f ? build(&m, how, source) : -ENOMEM;

	if (m.f)
		m.f->seen_ns = seen_ns;
	free(m.switch_of);
	free(m.box);
	free(m.extenders);
	free(m.is_hca);
	free(m.ids);
	free(m.id_of);
	if (rc == 0)
		return m.f;
	err_set(err, ENOMEM, "%s: out of memory", source);
	fabric_free(m.f);
	return NULL;
}
