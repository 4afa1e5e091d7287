/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * picture.c - see picture.h.
 *
 * A switch belongs to the smallest frame that has all that is below it: a spine to its pod, a core
 * to its area or island. What a link should be is what most good links between the same levels are;
 * fabric.json only says that a link is degraded. The order of everything comes from the order in
 * the fabric, so that the same fabric gives the same picture.
 */
#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "io.h"

#define HOST_LEVEL (-2) /* of the host's end of a wire */

/* A wire of the fabric between two boxes, or within one. */
struct arc {
	size_t upper, lower; /* boxes */
	const struct fabric_wire *wire;
	bool faulty;
	bool host; /* a host's port */
};

struct work {
	struct picture *p;
	const struct fabric *f;
	size_t *frame_of; /* of each switch; FABRIC_NONE: not known (yet) */
	size_t *unit_of;  /* of each switch: the only unit that it is a leaf of, or FABRIC_NONE */
	size_t *box_of;	  /* of each switch: the picture's switch_box */
	size_t loose_box; /* FABRIC_NONE: every host is on a switch */
	struct arc *arcs;
	size_t arc_count;
	bool active; /* most links are, so one that is not is a fault */
};

void picture_free(struct picture *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->box_count; i++) {
		free(p->boxes[i].names);
		free(p->boxes[i].leaves);
		free(p->boxes[i].wires);
	}
	for (size_t i = 0; i < p->edge_count; i++)
		free(p->edges[i].wires);
	for (size_t i = 0; i < p->fault_count; i++)
		free(p->faults[i].text);
	free(p->switch_box);
	free(p->frames);
	free(p->boxes);
	free(p->edges);
	free(p->faults);
	free(p);
}

/* Frames: islands, then areas in the order of their depth, then pods. */

static size_t area_depth(const struct fabric *f, size_t area)
{
	size_t depth = 0;

	for (size_t at = f->areas[area].parent; at != FABRIC_NONE; at = f->areas[at].parent)
		depth++;
	return depth;
}

static int make_frames(struct work *w, size_t **area_frame)
{
	const struct fabric *f = w->f;
	struct picture *p = w->p;
	size_t *at = calloc(f->area_count + 1, sizeof(*at));

	*area_frame = at;
	p->frames = calloc(f->island_count + f->area_count + f->pod_count + 1, sizeof(*p->frames));
	if (!p->frames || !at)
		return -ENOMEM;
	for (size_t i = 0; i < f->island_count; i++)
		p->frames[p->frame_count++] =
			(struct picture_frame){ "island", f->islands[i].name, FABRIC_NONE, false };
	for (size_t depth = 0, left = f->area_count; left; depth++) {
		for (size_t i = 0; i < f->area_count; i++) {
			const struct fabric_area *area = &f->areas[i];
			if (area_depth(f, i) != depth)
				continue;
			at[i] = p->frame_count;
			p->frames[p->frame_count++] = (struct picture_frame){
				"area", area->name,
				area->parent == FABRIC_NONE ? area->island : at[area->parent], false
			};
			left--;
		}
	}
	for (size_t i = 0; i < f->pod_count; i++)
		p->frames[p->frame_count++] = (struct picture_frame){ "pod", f->pods[i].name,
								      f->pods[i].area == FABRIC_NONE
									      ? f->pods[i].island
									      : at[f->pods[i].area],
								      false };
	return 0;
}

static size_t pod_frame(const struct fabric *f, size_t pod)
{
	return f->island_count + f->area_count + pod;
}

/* The smallest frame around both; FABRIC_NONE: there is none. */
static size_t common_frame(const struct picture *p, size_t a, size_t b)
{
	while (a != b && a != FABRIC_NONE && b != FABRIC_NONE) {
		if (a > b) /* parents have lower indexes */
			a = p->frames[a].parent;
		else
			b = p->frames[b].parent;
	}
	return a == b ? a : FABRIC_NONE;
}

/* Makes *frame large enough for what is in `more`; what is in another island does not count. */
static void widen(const struct picture *p, size_t *frame, size_t more)
{
	size_t both = more == FABRIC_NONE ? FABRIC_NONE : common_frame(p, *frame, more);

	if (*frame == FABRIC_NONE)
		*frame = more;
	else if (both != FABRIC_NONE)
		*frame = both;
}

static void take_units(struct work *w)
{
	const struct fabric *f = w->f;

	for (size_t i = 0; i < f->switch_count; i++)
		w->frame_of[i] = w->unit_of[i] = w->box_of[i] = FABRIC_NONE;
	for (size_t u = 0; u < f->unit_count; u++) {
		for (size_t j = 0; j < f->units[u].leaf_count; j++) {
			size_t leaf = f->units[u].leaves[j];
			bool first = w->frame_of[leaf] == FABRIC_NONE;
			widen(w->p, &w->frame_of[leaf], pod_frame(f, f->units[u].pod));
			w->unit_of[leaf] = first && f->switches[leaf].level <= 0 ? u : FABRIC_NONE;
		}
	}
}

/* Switches of one level take the frame of what is below them; true when one of them has. */
static bool take_from(struct work *w, size_t sw, size_t other, bool upward)
{
	const struct fabric *f = w->f;
	int level = f->switches[sw].level, peer = f->switches[other].level;
	size_t was = w->frame_of[sw];

	if (upward ? peer >= level || level < 1 : was != FABRIC_NONE)
		return false;
	widen(w->p, &w->frame_of[sw], w->frame_of[other]);
	return was != w->frame_of[sw];
}

static void place_switches(struct work *w)
{
	const struct fabric *f = w->f;
	int top = 0;
	bool more = true;

	for (size_t i = 0; i < f->switch_count; i++)
		if (f->switches[i].level > top)
			top = f->switches[i].level;
	for (int level = 1; level <= top; level++) {
		for (size_t i = 0; i < f->link_count; i++) {
			const struct fabric_link *l = &f->links[i];
			if (f->switches[l->a].level == level)
				take_from(w, l->a, l->b, true);
			if (f->switches[l->b].level == level)
				take_from(w, l->b, l->a, true);
		}
	}
	while (more) { /* without hosts below: where its neighbours are */
		more = false;
		for (size_t i = 0; i < f->link_count; i++) {
			more = take_from(w, f->links[i].a, f->links[i].b, false) || more;
			more = take_from(w, f->links[i].b, f->links[i].a, false) || more;
		}
	}
}

/* Boxes. */

/* A list of names that grows. */
struct names {
	const char **names;
	size_t count;
};

static char *fold(const struct names *l)
{
	return hosts_fold(l->names, l->count);
}

static int box_hosts(struct work *w, size_t unit, struct names *room, struct picture_box *box)
{
	const struct fabric *f = w->f;

	room->count = 0;
	for (size_t i = 0; i < f->host_count; i++)
		if (f->hosts[i].unit == unit)
			room->names[room->count++] = f->hosts[i].name;
	box->count = room->count;
	box->names = fold(room);
	return box->names ? 0 : -ENOMEM;
}

static int box_unit(struct work *w, size_t unit, struct names *room)
{
	const struct fabric *f = w->f;
	struct picture_box *box = &w->p->boxes[w->p->box_count++];
	int rc = box_hosts(w, unit, room, box);

	box->kind = PICTURE_UNIT;
	box->frame = pod_frame(f, f->units[unit].pod);
	box->level = -1;
	box->unit = f->units[unit].name;
	room->count = 0;
	for (size_t j = 0; j < f->units[unit].leaf_count; j++) {
		size_t leaf = f->units[unit].leaves[j];
		if (w->unit_of[leaf] != unit)
			continue;
		w->box_of[leaf] = unit;
		room->names[room->count++] = f->switches[leaf].name;
	}
	box->leaf_count = room->count;
	box->leaves = fold(room);
	return rc < 0 || !box->leaves ? -ENOMEM : 0;
}

static int box_loose(struct work *w, struct names *room)
{
	struct picture_box *box = &w->p->boxes[w->p->box_count];
	int rc = box_hosts(w, FABRIC_NONE, room, box);

	if (rc == 0 && box->count == 0) {
		free(box->names);
		box->names = NULL;
		return 0;
	}
	w->loose_box = w->p->box_count++;
	box->kind = PICTURE_LOOSE;
	box->frame = FABRIC_NONE;
	box->level = -1;
	return rc;
}

/* qsort has no argument of its own: what is compared is made beforehand. */
struct spare {
	size_t sw, frame;
	int level;
	const char *name;
};

static int by_place(const void *x, const void *y)
{
	const struct spare *a = x, *b = y;

	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	if (a->level != b->level)
		return b->level - a->level;
	return strcmp(a->name, b->name);
}

static int box_run(struct work *w, const struct spare *spares, size_t count, struct names *room)
{
	struct picture_box *box = &w->p->boxes[w->p->box_count];

	room->count = 0;
	for (size_t i = 0; i < count; i++) {
		w->box_of[spares[i].sw] = w->p->box_count;
		room->names[room->count++] = spares[i].name;
	}
	*box = (struct picture_box){ .kind = PICTURE_SWITCHES,
				     .frame = spares[0].frame,
				     .level = spares[0].level,
				     .names = fold(room),
				     .count = count };
	w->p->box_count++;
	return box->names ? 0 : -ENOMEM;
}

/* Switches that are in no unit's box: single where they are few, together where they are many. */
static int box_switches(struct work *w, struct names *room)
{
	const struct fabric *f = w->f;
	struct spare *spares = calloc(f->switch_count + 1, sizeof(*spares));
	size_t count = 0, many = f->unit_count > PICTURE_LARGE ? 1 : PICTURE_MANY;
	int rc = spares ? 0 : -ENOMEM;

	for (size_t i = 0; spares && i < f->switch_count; i++)
		if (w->box_of[i] == FABRIC_NONE)
			spares[count++] = (struct spare){ i, w->frame_of[i], f->switches[i].level,
							  f->switches[i].name };
	if (count)
		qsort(spares, count, sizeof(*spares), by_place);
	for (size_t i = 0, end; rc == 0 && i < count; i = end) {
		for (end = i + 1; end < count && spares[end].frame == spares[i].frame &&
				  spares[end].level == spares[i].level;)
			end++;
		if (end - i > many)
			rc = box_run(w, &spares[i], end - i, room);
		for (size_t j = i; rc == 0 && end - i <= many && j < end; j++)
			rc = box_run(w, &spares[j], 1, room);
	}
	free(spares);
	return rc;
}

static int make_boxes(struct work *w)
{
	const struct fabric *f = w->f;
	struct names room = { calloc(f->host_count + f->switch_count + 1, sizeof(*room.names)), 0 };
	int rc = 0;

	w->p->boxes = calloc(f->unit_count + f->switch_count + 2, sizeof(*w->p->boxes));
	if (!room.names || !w->p->boxes)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < f->unit_count; i++)
		rc = box_unit(w, i, &room);
	rc = rc ? rc : box_loose(w, &room);
	rc = rc ? rc : box_switches(w, &room);
	free(room.names);
	return rc;
}

/* A frame says something when it has boxes, or more than one frame, in it. */
static void use_frames(struct picture *p, size_t *inside)
{
	for (size_t i = 0; i < p->box_count; i++)
		if (p->boxes[i].frame != FABRIC_NONE)
			p->frames[p->boxes[i].frame].used = true;
	for (size_t i = p->frame_count; i-- > 0;) { /* from the inside out */
		size_t parent = p->frames[i].parent;
		p->frames[i].used = p->frames[i].used || inside[i];
		if (p->frames[i].used && parent != FABRIC_NONE)
			inside[parent]++;
	}
	for (size_t i = 0; i < p->frame_count; i++) { /* one frame in an empty one is that one */
		size_t parent = p->frames[i].parent;
		bool own = false;
		if (!p->frames[i].used || parent == FABRIC_NONE || inside[parent] != 1)
			continue;
		for (size_t j = 0; j < p->box_count && !own; j++)
			own = p->boxes[j].frame == parent;
		if (own)
			continue;
		for (size_t j = 0; j < p->box_count; j++)
			if (p->boxes[j].frame == i)
				p->boxes[j].frame = parent;
		for (size_t j = i + 1; j < p->frame_count; j++)
			if (p->frames[j].parent == i)
				p->frames[j].parent = parent;
		inside[parent] = inside[i];
		p->frames[i].used = false;
	}
}

/* Wires. */

static char *speed_text(uint64_t bps)
{
	return bps ? io_format("%gG", (double)bps / 1e9) : strdup("?");
}

static void add_wire(struct io_text *t, const struct fabric_wire *wire)
{
	io_add(t, "%gG", (double)wire->speed_bps / 1e9);
	if (wire->width)
		io_add(t, " (%dx)", wire->width);
}

static int by_arc(const void *x, const void *y)
{
	const struct arc *a = x, *b = y;

	if (a->upper != b->upper)
		return a->upper < b->upper ? -1 : 1;
	if (a->lower != b->lower)
		return a->lower < b->lower ? -1 : 1;
	if (a->host != b->host)
		return a->host ? -1 : 1;
	if (a->wire->speed_bps != b->wire->speed_bps)
		return a->wire->speed_bps > b->wire->speed_bps ? -1 : 1;
	return 0;
}

/* "31 x 400G, 1 x 100G"; "" for none. */
static char *wires_text(const struct arc *arcs, size_t count)
{
	struct io_text t = { 0 };

	io_add(&t, "%s", "");
	for (size_t i = 0, end; i < count; i = end) {
		char *speed = speed_text(arcs[i].wire->speed_bps);
		for (end = i; end < count && arcs[end].wire->speed_bps == arcs[i].wire->speed_bps;)
			end++;
		if (speed)
			io_add(&t, "%s%zu x %s", i ? ", " : "", end - i, speed);
		else
			t.failed = true;
		free(speed);
	}
	return io_end(&t);
}

static int level_of_end(const struct work *w, const struct fabric_port *port, size_t sw)
{
	return port ? HOST_LEVEL : w->f->switches[sw].level;
}

/* What most good wires between these levels are; NULL: none is known. */
static const struct fabric_wire *usual_wire(const struct work *w, int low, int high,
					    const struct fabric_wire *bad)
{
	const struct fabric *f = w->f;
	const struct fabric_wire *best = NULL;
	size_t most = 0;

	for (size_t pass = 0; pass < f->link_count + f->port_count; pass++) {
		bool port = pass >= f->link_count;
		const struct fabric_port *p = port ? &f->ports[pass - f->link_count] : NULL;
		const struct fabric_link *l = port ? NULL : &f->links[pass];
		const struct fabric_wire *is = p ? &p->wire : &l->wire;
		int a, b;
		if (is->degraded || !is->speed_bps || (p && (p->sw == FABRIC_NONE || p->skipped)))
			continue;
		a = level_of_end(w, p, l ? l->a : 0);
		b = f->switches[p ? p->sw : l->b].level;
		if ((a < b ? a : b) != low || (a < b ? b : a) != high ||
		    (is->speed_bps <= bad->speed_bps && is->width <= bad->width))
			continue;
		if (!best || is->speed_bps == best->speed_bps) {
			best = best ? best : is;
			most++;
		} else if (most-- == 0) { /* Boyer and Moore: the majority, where there is one */
			best = is;
			most = 1;
		}
	}
	return best;
}

static bool is_inactive(const struct work *w, const struct fabric_wire *wire)
{
	return w->active && wire->state != LINK_UNKNOWN && wire->state != LINK_ACTIVE;
}

static int add_fault(struct work *w, size_t box, bool missing, char *text)
{
	struct picture *p = w->p;
	struct picture_fault *more;

	if (!text)
		return -ENOMEM;
	more = reallocarray(p->faults, p->fault_count + 1, sizeof(*more));
	if (!more) {
		free(text);
		return -ENOMEM;
	}
	p->faults = more;
	more[p->fault_count++] = (struct picture_fault){ box, missing, text };
	if (box != FABRIC_NONE)
		p->boxes[box].faults++;
	return 0;
}

/* "leaf3[17] - spine2[4]: 100G (1x), should be 400G (4x)" */
static int add_wire_fault(struct work *w, size_t box, const char *ends,
			  const struct fabric_wire *wire, const struct fabric_wire *usual)
{
	struct io_text t = { 0 };

	io_add(&t, "%s: ", ends);
	if (wire->degraded) {
		add_wire(&t, wire);
		if (usual) {
			io_add(&t, ", should be ");
			add_wire(&t, usual);
		}
	}
	if (is_inactive(w, wire))
		io_add(&t, "%sis %s, should be active", wire->degraded ? "; " : "",
		       link_state_name(wire->state));
	return add_fault(w, box, false, io_end(&t));
}

static int take_link(struct work *w, const struct fabric_link *l)
{
	const struct fabric_switch *a = &w->f->switches[l->a], *b = &w->f->switches[l->b];
	bool a_low = a->level <= b->level;
	size_t low = w->box_of[a_low ? l->a : l->b], high = w->box_of[a_low ? l->b : l->a];
	bool faulty = l->wire.degraded || is_inactive(w, &l->wire);
	char *ends;
	int rc;

	w->arcs[w->arc_count++] = (struct arc){ high, low, &l->wire, faulty, false };
	if (!faulty)
		return 0;
	ends = io_format("%s[%d] - %s[%d]", a->name, l->a_port, b->name, l->b_port);
	rc = ends ? add_wire_fault(w, low, ends, &l->wire,
				   usual_wire(w, a_low ? a->level : b->level,
					      a_low ? b->level : a->level, &l->wire))
		  : -ENOMEM;
	free(ends);
	return rc;
}

static int take_port(struct work *w, const struct fabric_port *port)
{
	const struct fabric *f = w->f;
	size_t box = port->host == FABRIC_NONE || f->hosts[port->host].unit == FABRIC_NONE
			     ? FABRIC_NONE
			     : f->hosts[port->host].unit;
	bool faulty = port->wire.degraded || is_inactive(w, &port->wire);
	char *ends;
	int rc;

	if (port->skipped || port->sw == FABRIC_NONE)
		return 0;
	if (box == FABRIC_NONE)
		w->p->boxes[w->box_of[port->sw]].unnamed++;
	else
		w->arcs[w->arc_count++] =
			(struct arc){ w->box_of[port->sw], box, &port->wire, faulty, true };
	if (!faulty)
		return 0;
	ends = io_format("%s %s:%d - %s[%d]",
			 port->host == FABRIC_NONE ? "an HCA" : f->hosts[port->host].name,
			 port->device ? port->device : "port", port->port,
			 f->switches[port->sw].name, port->sw_port);
	rc = ends ? add_wire_fault(
			    w, box == FABRIC_NONE ? w->box_of[port->sw] : box, ends, &port->wire,
			    usual_wire(w, HOST_LEVEL, f->switches[port->sw].level, &port->wire))
		  : -ENOMEM;
	free(ends);
	return rc;
}

static int take_wires(struct work *w)
{
	const struct fabric *f = w->f;
	size_t active = 0, known = 0;
	int rc = 0;

	w->arcs = calloc(f->link_count + f->port_count + 1, sizeof(*w->arcs));
	if (!w->arcs)
		return -ENOMEM;
	for (size_t i = 0; i < f->link_count + f->port_count; i++) {
		enum link_state state = i < f->link_count ? f->links[i].wire.state
							  : f->ports[i - f->link_count].wire.state;
		known += state != LINK_UNKNOWN;
		active += state == LINK_ACTIVE;
	}
	w->active = active * 2 > known;
	for (size_t i = 0; rc == 0 && i < f->link_count; i++)
		rc = take_link(w, &f->links[i]);
	for (size_t i = 0; rc == 0 && i < f->port_count; i++)
		rc = take_port(w, &f->ports[i]);
	if (w->arc_count)
		qsort(w->arcs, w->arc_count, sizeof(*w->arcs), by_arc);
	return rc;
}

/* Within a box: a unit's hosts to their leaves, or switches of a level among each other. */
static int within_box(struct picture_box *box, const struct arc *arcs, size_t count)
{
	size_t hosts = 0;

	while (hosts < count && arcs[hosts].host)
		hosts++;
	box->wires = wires_text(arcs, box->kind == PICTURE_UNIT ? hosts : count);
	return box->wires ? 0 : -ENOMEM;
}

static int make_edges(struct work *w)
{
	struct picture *p = w->p;
	int rc = 0;

	p->edges = calloc(w->arc_count + 1, sizeof(*p->edges));
	if (!p->edges)
		return -ENOMEM;
	for (size_t i = 0, end; rc == 0 && i < w->arc_count; i = end) {
		const struct arc *arc = &w->arcs[i];
		struct picture_edge *edge = &p->edges[p->edge_count];
		size_t faults = 0;
		for (end = i; end < w->arc_count && w->arcs[end].upper == arc->upper &&
			      w->arcs[end].lower == arc->lower;
		     end++)
			faults += w->arcs[end].faulty;
		if (arc->upper == arc->lower) {
			rc = within_box(&p->boxes[arc->upper], arc, end - i);
			continue;
		}
		*edge = (struct picture_edge){ arc->upper, arc->lower, end - i,
					       wires_text(arc, end - i), faults };
		p->edge_count++;
		rc = edge->wires ? 0 : -ENOMEM;
	}
	return rc;
}

/* Hosts that have no port on a leaf of their unit. */
static int find_dark(struct work *w, size_t unit, size_t leaf, const bool *lit, struct names *room)
{
	const struct fabric *f = w->f;
	char *hosts, *text;
	int rc;

	room->count = 0;
	for (size_t i = 0; i < f->host_count; i++)
		if (f->hosts[i].unit == unit && !lit[i])
			room->names[room->count++] = f->hosts[i].name;
	if (room->count == 0)
		return 0;
	hosts = fold(room);
	text = hosts ? io_format("%s: no link to %s", hosts, f->switches[leaf].name) : NULL;
	free(hosts);
	rc = add_fault(w, unit, true, text);
	return rc;
}

/* Ports by switch: all hosts of a leaf in a row. */
static int by_switch(const void *x, const void *y)
{
	const struct fabric_port *a = *(const struct fabric_port *const *)x;
	const struct fabric_port *b = *(const struct fabric_port *const *)y;

	return a->sw < b->sw ? -1 : a->sw > b->sw;
}

static void light(const struct work *w, const struct fabric_port *const *ports, size_t sw,
		  bool *lit, bool on)
{
	size_t low = 0, high = w->f->port_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ports[middle]->sw < sw)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < w->f->port_count && ports[low]->sw == sw; low++)
		if (ports[low]->host != FABRIC_NONE)
			lit[ports[low]->host] = on;
}

static int find_missing(struct work *w)
{
	const struct fabric *f = w->f;
	const struct fabric_port **ports = calloc(f->port_count + 1, sizeof(*ports));
	struct names room = { calloc(f->host_count + 1, sizeof(*room.names)), 0 };
	bool *lit = calloc(f->host_count + 1, sizeof(*lit));
	int rc = ports && room.names && lit ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < f->port_count; i++)
		ports[i] = &f->ports[i];
	if (rc == 0 && f->port_count)
		qsort(ports, f->port_count, sizeof(*ports), by_switch);
	for (size_t u = 0; rc == 0 && u < f->unit_count; u++) {
		for (size_t j = 0; rc == 0 && j < f->units[u].leaf_count; j++) {
			size_t leaf = f->units[u].leaves[j];
			light(w, ports, leaf, lit, true);
			rc = find_dark(w, u, leaf, lit, &room);
			light(w, ports, leaf, lit, false);
		}
	}
	for (size_t i = 0; rc == 0 && i < f->missing_count; i++)
		rc = add_fault(w, FABRIC_NONE, true, strdup(f->missing[i]));
	if (rc == 0 && w->loose_box != FABRIC_NONE)
		rc = add_fault(w, w->loose_box, true,
			       io_format("%s: on no switch", w->p->boxes[w->loose_box].names));
	free(ports);
	free(room.names);
	free(lit);
	return rc;
}

static int make(struct work *w)
{
	size_t *area_frame = NULL, *inside = NULL;
	int rc = make_frames(w, &area_frame);

	free(area_frame);
	if (rc == 0) {
		take_units(w);
		place_switches(w);
		rc = make_boxes(w);
	}
	inside = rc == 0 ? calloc(w->p->frame_count + 1, sizeof(*inside)) : NULL;
	rc = rc || inside ? rc : -ENOMEM;
	rc = rc ? rc : take_wires(w);
	rc = rc ? rc : make_edges(w);
	rc = rc ? rc : find_missing(w);
	if (rc == 0)
		use_frames(w->p, inside);
	for (size_t i = 0; rc == 0 && i < w->p->box_count; i++)
		if (!w->p->boxes[i].wires && !(w->p->boxes[i].wires = strdup("")))
			rc = -ENOMEM;
	free(inside);
	return rc;
}

struct picture *picture_make(const struct fabric *f, struct err *err)
{
	struct work w = { .f = f, .loose_box = FABRIC_NONE };
	int rc = -ENOMEM;

	w.p = calloc(1, sizeof(*w.p));
	w.frame_of = calloc(f->switch_count + 1, sizeof(*w.frame_of));
	w.unit_of = calloc(f->switch_count + 1, sizeof(*w.unit_of));
	w.box_of = calloc(f->switch_count + 1, sizeof(*w.box_of));
	if (w.p)
		w.p->switch_box = w.box_of;
	else
		free(w.box_of);
	if (w.p && w.frame_of && w.unit_of && w.box_of) {
		w.p->f = f;
		rc = make(&w);
	}
	free(w.frame_of);
	free(w.unit_of);
	free(w.arcs);
	if (rc == 0)
		return w.p;
	picture_free(w.p);
	err_set(err, ENOMEM, "out of memory");
	return NULL;
}

/* Of few things: by insertion. */
static void insert(size_t *list, size_t count, size_t index,
		   const char *(*name)(const struct picture *, size_t), const struct picture *p)
{
	size_t at = count;

	while (at > 0 && strverscmp(name(p, list[at - 1]), name(p, index)) > 0)
		at--;
	memmove(list + at + 1, list + at, (count - at) * sizeof(*list));
	list[at] = index;
}

static const char *frame_name(const struct picture *p, size_t frame)
{
	return p->frames[frame].name;
}

static const char *box_name(const struct picture *p, size_t box)
{
	return p->boxes[box].unit ? p->boxes[box].unit : p->boxes[box].names;
}

size_t picture_frames(const struct picture *p, size_t frame, size_t *list)
{
	size_t count = 0;

	for (size_t i = 0; i < p->frame_count; i++)
		if (p->frames[i].used && p->frames[i].parent == frame)
			insert(list, count++, i, frame_name, p);
	return count;
}

static int level_of(const struct picture_box *box)
{
	return box->kind == PICTURE_SWITCHES ? box->level : PICTURE_UNITS;
}

size_t picture_boxes(const struct picture *p, size_t frame, int level, size_t *list)
{
	size_t count = 0;

	for (size_t i = 0; i < p->box_count; i++)
		if (p->boxes[i].frame == frame && level_of(&p->boxes[i]) == level)
			insert(list, count++, i, box_name, p);
	return count;
}

int picture_top(const struct picture *p, size_t frame)
{
	int top = PICTURE_UNITS;

	for (size_t i = 0; i < p->box_count; i++)
		if (p->boxes[i].frame == frame && level_of(&p->boxes[i]) > top)
			top = level_of(&p->boxes[i]);
	return top;
}
