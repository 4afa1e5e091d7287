/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * absent.c - see absent.h.
 *
 * The unit of memory is the cable: a cable of before is absent when neither of its ends has a cable
 * today and nothing says that one of them was replaced. Which hosts and switches are absent follows
 * from that, because each hangs on its cables. What is kept goes into the subnet and not into the
 * fabric, so that levels, units and rails are found as if it were there. Pure: no I/O, and the time
 * is given.
 */
#include "absent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io.h"

enum fate { PRESENT, NAMELESS, ABSENT, GIVEN_UP };

struct search {
	struct subnet *s;
	const struct fabric *now, *was;
	const struct absent_options *options;
	struct notes *notes;
	struct subnet_end *ends; /* that have a cable today */
	enum fate *switches;	 /* of each switch of before */
	bool *reached;		 /* a way leads from today's switches to it */
	bool *moved;		 /* each host of before hangs elsewhere or has other HCAs */
	enum fate *links, *ports;
};

static struct subnet_end port_end(const struct fabric_port *port)
{
	return (struct subnet_end){ port->node_guid, port->port };
}

static struct subnet_end switch_end(const struct fabric *f, size_t sw, int port)
{
	return (struct subnet_end){ f->switches[sw].guid, port };
}

static bool is_cabled(const struct search *x, struct subnet_end end)
{
	return subnet_has_end(x->s, x->ends, end);
}

static bool too_long(const struct search *x, int64_t since_ns)
{
	return since_ns && x->options->now_ns - since_ns >= x->options->forget_ns;
}

static int64_t since(const struct search *x, int64_t before_ns)
{
	return before_ns ? before_ns : x->options->now_ns;
}

/*
 * A host of before is elsewhere when one of its ports today was not there, or not on that switch,
 * and it is no more when one of its ports has another host.
 */
static void find_moved(struct search *x)
{
	const struct fabric *now = x->now, *was = x->was;

	for (size_t i = 0; i < now->port_count; i++) {
		const struct fabric_port *p = &now->ports[i], *old = NULL;
		size_t host, port = fabric_find_port(was, p->guid);
		if (p->host == FABRIC_NONE || p->sw == FABRIC_NONE || p->guid == 0)
			continue;
		host = fabric_find_host(was, now->hosts[p->host].name);
		if (port != FABRIC_NONE)
			old = &was->ports[port];
		if (old && old->host != FABRIC_NONE && old->host != host)
			x->moved[old->host] = true;
		if (host != FABRIC_NONE &&
		    (!old || old->sw == FABRIC_NONE ||
		     was->switches[old->sw].guid != now->switches[p->sw].guid))
			x->moved[host] = true;
	}
}

/* It did not say who it is; the GUID does. */
static bool is_nameless(const struct search *x, uint64_t guid)
{
	size_t i = subnet_find(x->s, guid);

	return i != FABRIC_NONE && (!x->s->nodes[i].description || !*x->s->nodes[i].description);
}

static bool port_is_present(const struct search *x, const struct fabric_port *p)
{
	return is_cabled(x, port_end(p)) || fabric_find_port(x->now, p->guid) != FABRIC_NONE;
}

/*
 * A switch that is gone was replaced when more of the ports it was cabled to, and that are here,
 * have another cable than none.
 */
static int judge_switches(struct search *x)
{
	const struct fabric *was = x->was;
	size_t *other = calloc(was->switch_count + 1, sizeof(*other));
	size_t *none = calloc(was->switch_count + 1, sizeof(*none));

	for (size_t i = 0; other && none && i < was->link_count; i++) {
		const struct fabric_link *l = &was->links[i];
		if (subnet_find(x->s, was->switches[l->b].guid) != FABRIC_NONE)
			(is_cabled(x, switch_end(was, l->b, l->b_port)) ? other : none)[l->a]++;
		if (subnet_find(x->s, was->switches[l->a].guid) != FABRIC_NONE)
			(is_cabled(x, switch_end(was, l->a, l->a_port)) ? other : none)[l->b]++;
	}
	for (size_t i = 0; other && none && i < was->port_count; i++)
		if (was->ports[i].sw != FABRIC_NONE && port_is_present(x, &was->ports[i]))
			other[was->ports[i].sw]++;
	for (size_t i = 0; other && none && i < was->switch_count; i++) {
		const struct fabric_switch *sw = &was->switches[i];
		x->reached[i] = subnet_find(x->s, sw->guid) != FABRIC_NONE;
		if (x->reached[i])
			x->switches[i] = is_nameless(x, sw->guid) ? NAMELESS : PRESENT;
		else if (too_long(x, sw->absent_ns) || other[i] > none[i])
			x->switches[i] = GIVEN_UP;
		else
			x->switches[i] = ABSENT;
	}
	free(other);
	free(none);
	return other && none ? 0 : -ENOMEM;
}

static void judge_links(struct search *x)
{
	const struct fabric *was = x->was;

	for (size_t i = 0; i < was->link_count; i++) {
		const struct fabric_link *l = &was->links[i];
		bool a = is_cabled(x, switch_end(was, l->a, l->a_port));
		bool b = is_cabled(x, switch_end(was, l->b, l->b_port));
		if (a && b)
			x->links[i] = PRESENT; /* or both in other cables, which is as good */
		else if (a || b || too_long(x, l->wire.absent_ns) ||
			 x->switches[l->a] == GIVEN_UP || x->switches[l->b] == GIVEN_UP)
			x->links[i] = GIVEN_UP;
		else
			x->links[i] = ABSENT;
	}
}

static void judge_ports(struct search *x)
{
	const struct fabric *was = x->was;

	for (size_t i = 0; i < was->port_count; i++) {
		const struct fabric_port *p = &was->ports[i];
		if (p->sw == FABRIC_NONE || port_is_present(x, p))
			x->ports[i] = p->host != FABRIC_NONE && is_nameless(x, p->node_guid)
					      ? NAMELESS
					      : PRESENT;
		else if (x->switches[p->sw] == GIVEN_UP || too_long(x, p->wire.absent_ns) ||
			 is_cabled(x, switch_end(was, p->sw, p->sw_port)) ||
			 (p->host != FABRIC_NONE && x->moved[p->host]))
			x->ports[i] = GIVEN_UP;
		else
			x->ports[i] = ABSENT;
	}
}

/* Spreads from today's switches over absent links. */
static void reach(struct search *x)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < x->was->link_count; i++) {
			const struct fabric_link *l = &x->was->links[i];
			if (x->links[i] != ABSENT || x->reached[l->a] == x->reached[l->b])
				continue;
			x->reached[l->a] = x->reached[l->b] = more = true;
		}
	}
}

/* A switch of before without a cable: a range extender, which is one itself. */
static bool is_loose(const struct fabric *was, size_t sw)
{
	for (size_t i = 0; i < was->link_count; i++)
		if (was->links[i].a == sw || was->links[i].b == sw)
			return false;
	for (size_t i = 0; i < was->port_count; i++)
		if (was->ports[i].sw == sw)
			return false;
	return true;
}

/*
 * What nothing leads to: of two live discoveries, a part that was discovered through a port of this
 * host that is down. Of files, another file.
 */
static void judge_unreached(struct search *x)
{
	const struct fabric *was = x->was;
	bool live = strcmp(was->how, "live") == 0 && strcmp(x->now->how, "live") == 0;
	const char *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < was->switch_count; i++) {
		if (x->switches[i] != ABSENT || x->reached[i])
			continue;
		if (!live || is_loose(was, i)) {
			x->switches[i] = GIVEN_UP;
			continue;
		}
		count++;
		first = first ? first : was->switches[i].name;
	}
	if (live && count)
		notes_add(&x->s->missing,
			  "%zu switches, %s among them, were discovered before through %s, and "
			  "nothing leads there; is a port of this host down?",
			  count, first, was->source);
	judge_links(x); /* again: what hangs on those that were given up */
	judge_ports(x);
}

static const char *when(int64_t ns, char text[32])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		text[0] = '\0';
	return text;
}

/* One sentence for each host of which a port is absent or given up: its first such port. */
static int tell_hosts(struct search *x)
{
	const struct fabric *was = x->was;
	bool *told = calloc(was->host_count + 1, sizeof(*told));
	char text[32];

	for (size_t i = 0; told && i < was->port_count; i++) {
		const struct fabric_port *p = &was->ports[i];
		const char *name;
		bool all;
		if (x->ports[i] < ABSENT || p->host == FABRIC_NONE || told[p->host])
			continue;
		told[p->host] = true;
		name = was->hosts[p->host].name;
		all = fabric_find_host(x->now, name) == FABRIC_NONE;
		if (x->ports[i] == ABSENT)
			notes_add(x->notes, "%s%s%s is absent since %s; it stays on %s", name,
				  all || !p->device ? "" : " ", all || !p->device ? "" : p->device,
				  when(since(x, p->wire.absent_ns), text),
				  was->switches[p->sw].name);
		else if (all)
			notes_add(x->notes, "%s, which was on %s, is not there any more", name,
				  was->switches[p->sw].name);
	}
	free(told);
	return told ? 0 : -ENOMEM;
}

static void tell_switches(struct search *x)
{
	char text[32];

	for (size_t i = 0; i < x->was->switch_count; i++) {
		const struct fabric_switch *sw = &x->was->switches[i];
		if (x->switches[i] == ABSENT)
			notes_add(x->notes, "switch %s is absent since %s; it stays", sw->name,
				  when(since(x, sw->absent_ns), text));
		else if (x->switches[i] == GIVEN_UP)
			notes_add(x->notes, "switch %s is not there any more", sw->name);
	}
}

/* Keeping. */

/* The description that gives an absent switch the name it had; the GUID was added to that. */
static char *description_of(const struct fabric_switch *sw)
{
	char *guid = io_format("-%016llx", (unsigned long long)sw->guid);
	char *text = strdup(sw->name), *at = guid && text ? strstr(text, guid) : NULL;

	if (at && at != text && strcmp(at, guid) == 0 && strcmp(text, "S") != 0)
		*at = '\0';
	free(guid);
	return text;
}

static int keep_switch(struct search *x, const struct fabric_switch *sw)
{
	struct subnet_node node = {
		.guid = sw->guid,
		.system_guid = sw->system_guid,
		.kind = SUBNET_SWITCH,
		.description = description_of(sw),
		.ports = sw->ports,
		.described = true,
		.absent_ns = since(x, sw->absent_ns), /* not taken over by one that is here */
	};
	int rc = node.description ? subnet_add_node(x->s, &node) : -ENOMEM;

	free(node.description);
	return rc;
}

/* Its state is known where the port of a switch that is here says it. */
static struct fabric_wire absent_wire(const struct search *x, struct subnet_end a,
				      struct subnet_end b, int64_t before_ns)
{
	const struct subnet_bare *bare = subnet_find_bare(x->s, a);

	if (!bare)
		bare = subnet_find_bare(x->s, b);
	return (struct fabric_wire){ .state = bare && !bare->up ? LINK_DOWN : LINK_UNKNOWN,
				     .absent_ns = since(x, before_ns) };
}

static int keep_link(struct search *x, const struct fabric_link *l)
{
	struct subnet_end a = switch_end(x->was, l->a, l->a_port);
	struct subnet_end b = switch_end(x->was, l->b, l->b_port);
	struct fabric_wire wire = absent_wire(x, a, b, l->wire.absent_ns);

	return subnet_add_cable(x->s, a, b, &wire, true);
}

static int keep_port(struct search *x, const struct fabric_port *p)
{
	struct subnet_end a = port_end(p), b = switch_end(x->was, p->sw, p->sw_port);
	struct fabric_wire wire = absent_wire(x, b, a, p->wire.absent_ns);
	int rc = subnet_add_cable(x->s, a, b, &wire, true);

	if (rc == 0 && p->guid)
		rc = subnet_add_port(x->s, p->node_guid, p->port, p->guid);
	return rc;
}

static int keep_hca(struct search *x, const struct fabric_port *p)
{
	struct subnet_node node = {
		.guid = p->node_guid,
		.system_guid = p->system_guid,
		.kind = SUBNET_CA,
		.described = true,
		.absent_ns = since(x, p->wire.absent_ns),
	};
	int rc;

	if (p->host != FABRIC_NONE) {
		node.description =
			io_format("%s %s", x->was->hosts[p->host].name, p->device ? p->device : "");
		if (!node.description)
			return -ENOMEM;
	}
	rc = subnet_add_node(x->s, &node);
	free(node.description);
	return rc;
}

/* Adds in place: indexes into s->nodes are of no use from here to subnet_sort(). */
static int keep_all(struct search *x)
{
	const struct fabric *was = x->was;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < was->switch_count; i++)
		if (x->switches[i] == ABSENT || x->switches[i] == NAMELESS)
			rc = keep_switch(x, &was->switches[i]);
	for (size_t i = 0; rc == 0 && i < was->link_count; i++)
		if (x->links[i] == ABSENT)
			rc = keep_link(x, &was->links[i]);
	for (size_t i = 0; rc == 0 && i < was->port_count; i++)
		if (x->ports[i] == ABSENT || x->ports[i] == NAMELESS)
			rc = keep_hca(x, &was->ports[i]);
	for (size_t i = 0; rc == 0 && i < was->port_count; i++)
		if (x->ports[i] == ABSENT)
			rc = keep_port(x, &was->ports[i]);
	return rc < 0 ? rc : subnet_sort(x->s);
}

static int judge_all(struct search *x)
{
	int rc;

	find_moved(x);
	rc = judge_switches(x);
	if (rc < 0)
		return rc;
	judge_links(x);
	judge_ports(x);
	reach(x);
	judge_unreached(x);
	tell_switches(x);
	return tell_hosts(x);
}

int absent_keep(struct subnet *s, const struct fabric *now, const struct fabric *was,
		const struct absent_options *options, struct notes *notes)
{
	struct search x = { .s = s, .now = now, .was = was, .options = options, .notes = notes };
	int rc = -ENOMEM;

	if (options->forget_ns == 0)
		return 0;
	x.ends = subnet_ends(s);
	x.switches = calloc(was->switch_count + 1, sizeof(*x.switches));
	x.reached = calloc(was->switch_count + 1, sizeof(*x.reached));
	x.moved = calloc(was->host_count + 1, sizeof(*x.moved));
	x.links = calloc(was->link_count + 1, sizeof(*x.links));
	x.ports = calloc(was->port_count + 1, sizeof(*x.ports));
	if (x.ends && x.switches && x.reached && x.moved && x.links && x.ports)
		rc = judge_all(&x);
	if (rc == 0)
		rc = keep_all(&x);
	free(x.ends);
	free(x.switches);
	free(x.reached);
	free(x.moved);
	free(x.links);
	free(x.ports);
	return rc;
}
