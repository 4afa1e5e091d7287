/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fabric.c - reading, checking and writing fabric.json; see fabric.h.
 *
 * The file refers by GUID or name and the struct by index, so that a person can read the one and a
 * program walk the other; loading checks each reference and the order of each array, and a wrong
 * one is named with its key and index. What is unknown has no key. The keys:
 *
 *   format, version    "slurm-fabric/fabric", 1
 *   discovered.how     "live" or "file"
 *   discovered.source  local ports, or the file that was read
 *   discovered.seen_ns when this content was first discovered, ns since the epoch
 *   discovered.complete  true: nothing is known to be lost
 *   discovered.missing [sentence] what is known to be lost
 *   switches           [{guid, system_guid, name, chassis, level (0 leaf), plane, ports,
 *                      absent_since_ns}]
 *   links              [{a: {switch, port}, b: {switch, port}, WIRE}] between switches
 *   ports              [{guid, node_guid, system_guid, host, device, port, switch, switch_port,
 *                      rail, skipped (true, or no key), WIRE}] of HCAs; port is the number on
 *                      the HCA
 *   counters           [{node_guid, port, time_ns, symbol_errors, ... (fabric_counter_name())}] of
 *                      ports that answered; no key unless they were asked for
 *   hosts              [{name, unit}]
 *   units              [{name, leaves: [switch GUID], pod}]
 *   pods               [{name, area, island}]
 *   areas              [{name, area (around it), island}]; no key where there are none
 *   islands            [{name}]
 *   WIRE               width (lanes), speed_bps (whole link), best_width and best_speed_bps (the
 *                      most that both ends support), state ("active", "armed", "init", "down"),
 *                      degraded, absent_since_ns
 *   absent_since_ns    time of the first discovery that did not see it; no key: it is there
 */
#include "fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "text.h"

static const char *const state_names[] = { "unknown", "down", "init", "armed", "active" };

const char *link_state_name(enum link_state state)
{
	return state_names[state];
}

const char *fabric_counter_name(enum fabric_counter counter)
{
	static const char *const names[FABRIC_COUNTERS] = {
		[COUNTER_SYMBOL_ERRORS] = "symbol_errors",
		[COUNTER_LINK_RECOVERIES] = "link_recoveries",
		[COUNTER_LINK_DOWNED] = "link_downed",
		[COUNTER_RCV_ERRORS] = "rcv_errors",
		[COUNTER_RCV_REMOTE_PHYSICAL] = "rcv_remote_physical_errors",
		[COUNTER_RCV_SWITCH_RELAY] = "rcv_switch_relay_errors",
		[COUNTER_XMIT_DISCARDS] = "xmit_discards",
		[COUNTER_XMIT_CONSTRAINT] = "xmit_constraint_errors",
		[COUNTER_RCV_CONSTRAINT] = "rcv_constraint_errors",
		[COUNTER_LOCAL_INTEGRITY] = "local_integrity_errors",
		[COUNTER_BUFFER_OVERRUNS] = "buffer_overruns",
		[COUNTER_VL15_DROPPED] = "vl15_dropped",
		[COUNTER_XMIT_WAIT] = "xmit_wait",
		[COUNTER_XMIT_BYTES] = "xmit_bytes",
		[COUNTER_RCV_BYTES] = "rcv_bytes",
		[COUNTER_XMIT_PACKETS] = "xmit_packets",
		[COUNTER_RCV_PACKETS] = "rcv_packets",
	};

	return names[counter];
}

bool link_state_parse(const char *text, enum link_state *state)
{
	for (size_t i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++) {
		if (strcmp(text, state_names[i]) == 0) {
			*state = (enum link_state)i;
			return true;
		}
	}
	return false;
}

struct fabric *fabric_share(struct fabric *f)
{
	if (f)
		atomic_fetch_add(&f->sharers, 1);
	return f;
}

void fabric_free(struct fabric *f)
{
	if (!f || atomic_fetch_sub(&f->sharers, 1) > 0)
		return;
	free(f->how);
	free(f->source);
	for (size_t i = 0; i < f->missing_count; i++)
		free(f->missing[i]);
	free(f->missing);
	for (size_t i = 0; i < f->switch_count; i++) {
		free(f->switches[i].name);
		free(f->switches[i].chassis);
	}
	free(f->switches);
	free(f->links);
	for (size_t i = 0; i < f->port_count; i++)
		free(f->ports[i].device);
	free(f->ports);
	free(f->counts);
	for (size_t i = 0; i < f->host_count; i++)
		free(f->hosts[i].name);
	free(f->hosts);
	for (size_t i = 0; i < f->unit_count; i++) {
		free(f->units[i].name);
		free(f->units[i].leaves);
	}
	free(f->units);
	for (size_t i = 0; i < f->pod_count; i++)
		free(f->pods[i].name);
	free(f->pods);
	for (size_t i = 0; i < f->area_count; i++)
		free(f->areas[i].name);
	free(f->areas);
	for (size_t i = 0; i < f->island_count; i++)
		free(f->islands[i].name);
	free(f->islands);
	free(f);
}

/* Finding: the arrays are sorted, so each is a binary search. */

size_t fabric_find_switch(const struct fabric *f, uint64_t guid)
{
	size_t low = 0, high = f->switch_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (f->switches[mid].guid < guid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->switch_count && f->switches[low].guid == guid ? low : FABRIC_NONE;
}

size_t fabric_find_port(const struct fabric *f, uint64_t guid)
{
	size_t low = 0, high = f->port_count;

	if (guid == 0)
		return FABRIC_NONE;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (f->ports[mid].guid < guid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->port_count && f->ports[low].guid == guid ? low : FABRIC_NONE;
}

/* Index of name among count elements of size bytes whose first member is their name, sorted. */
static size_t find_name(const void *base, size_t count, size_t size, const char *name)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(*(char *const *)((const char *)base + mid * size), name);
		if (order == 0)
			return mid;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return FABRIC_NONE;
}

_Static_assert(offsetof(struct fabric_host, name) == 0, "find_name() reads the first member");
_Static_assert(offsetof(struct fabric_unit, name) == 0, "find_name() reads the first member");
_Static_assert(offsetof(struct fabric_pod, name) == 0, "find_name() reads the first member");
_Static_assert(offsetof(struct fabric_area, name) == 0, "find_name() reads the first member");
_Static_assert(offsetof(struct fabric_island, name) == 0, "find_name() reads the first member");

size_t fabric_find_host(const struct fabric *f, const char *name)
{
	return find_name(f->hosts, f->host_count, sizeof(*f->hosts), name);
}

/* Reading. */

struct loader {
	struct json_reader r; /* its source is where, inside an array */
	const char *file;
	char where[320];
	struct fabric *f;
	bool groups_only; /* there are no switches to refer to */
};

/* The array under key and zeroed room for its elements; NULL when r says why. */
static void *start_array(struct loader *l, json_object *top, const char *key, size_t size,
			 json_object **array)
{
	void *room;

	*array = json_read_array(&l->r, top, key);
	if (!*array)
		return NULL;
	room = calloc(json_object_array_length(*array) + 1, size);
	if (!room)
		l->r.rc = err_set(l->r.err, ENOMEM, "%s: out of memory", l->file);
	return room;
}

static json_object *element(struct loader *l, json_object *array, size_t i, const char *key)
{
	snprintf(l->where, sizeof(l->where), "%.240s: %s[%zu]", l->file, key, i);
	l->r.source = l->where;
	return json_item_object(&l->r, array, i, key);
}

static void end_array(struct loader *l)
{
	l->r.source = l->file;
}

/* A required word that is safe wherever names go: topology.conf, terminals, job fields. */
static char *read_name(struct loader *l, json_object *o, const char *key)
{
	char *name = json_read_strdup(&l->r, o, key);

	if (name && !name_valid(name, FABRIC_NAME_MAX)) {
		json_fail(&l->r, "key \"%s\" is no name: 1 to %d letters, digits, '_', '.', '-'",
			  key, FABRIC_NAME_MAX);
	}
	return name;
}

static char *read_optional_name(struct loader *l, json_object *o, const char *key)
{
	return json_has(o, key) ? read_name(l, o, key) : NULL;
}

static int read_optional_int(struct loader *l, json_object *o, const char *key, int max,
			     int unknown)
{
	return json_has(o, key) ? (int)json_read_int(&l->r, o, key, 0, max) : unknown;
}

static void need_order(struct loader *l, bool in_order, const char *by)
{
	if (!in_order)
		json_fail(&l->r,
			  "not behind the element before it: they are sorted by %s, each once", by);
}

/* The index of the switch that key names by GUID. */
static size_t read_switch(struct loader *l, json_object *o, const char *key)
{
	uint64_t guid = json_read_guid(&l->r, o, key);
	size_t i = fabric_find_switch(l->f, guid);

	if (l->r.rc == 0 && i == FABRIC_NONE)
		json_fail(&l->r, "key \"%s\": there is no switch 0x%016llx in \"switches\"", key,
			  (unsigned long long)guid);
	return i;
}

/* The index of the element of another array that key names. */
static size_t read_reference(struct loader *l, json_object *o, const char *key, const void *base,
			     size_t count, size_t size)
{
	const char *name = json_read_string(&l->r, o, key);
	size_t i = name ? find_name(base, count, size, name) : FABRIC_NONE;

	if (name && i == FABRIC_NONE)
		json_fail(&l->r, "key \"%s\": there is no %s \"%.64s\" in \"%ss\"", key, key, name,
			  key);
	return i;
}

static int64_t read_absent(struct loader *l, json_object *o)
{
	return json_has(o, "absent_since_ns")
		       ? json_read_int(&l->r, o, "absent_since_ns", 1, INT64_MAX)
		       : 0;
}

static bool width_valid(int width)
{
	return width == 1 || width == 2 || width == 4 || width == 8 || width == 12;
}

static void read_rate(struct loader *l, json_object *o, const char *width_key,
		      const char *speed_key, int *width, uint64_t *speed_bps)
{
	*width = read_optional_int(l, o, width_key, 12, 0);
	if (json_has(o, width_key) && !width_valid(*width))
		json_fail(&l->r, "key \"%s\" is %d; links have 1, 2, 4, 8 or 12 lanes", width_key,
			  *width);
	if (json_has(o, speed_key))
		*speed_bps = (uint64_t)json_read_int(&l->r, o, speed_key, 1, INT64_MAX);
}

static void read_wire(struct loader *l, json_object *o, struct fabric_wire *wire)
{
	const char *state;

	read_rate(l, o, "width", "speed_bps", &wire->width, &wire->speed_bps);
	read_rate(l, o, "best_width", "best_speed_bps", &wire->best_width, &wire->best_speed_bps);
	state = json_has(o, "state") ? json_read_string(&l->r, o, "state") : NULL;
	if (state && !link_state_parse(state, &wire->state))
		json_fail(&l->r, "key \"state\" is \"%.32s\", not active, armed, init or down",
			  state);
	wire->degraded = json_has(o, "degraded") && json_read_bool(&l->r, o, "degraded");
	wire->absent_ns = read_absent(l, o);
}

static void load_discovered(struct loader *l, json_object *top)
{
	json_object *o = json_read_object(&l->r, top, "discovered"), *missing;
	struct fabric *f = l->f;
	bool complete;

	f->how = json_read_strdup(&l->r, o, "how");
	f->source = json_read_strdup(&l->r, o, "source");
	f->seen_ns = json_read_int(&l->r, o, "seen_ns", 0, INT64_MAX);
	complete = json_read_bool(&l->r, o, "complete");
	f->missing = start_array(l, o, "missing", sizeof(*f->missing), &missing);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(missing); i++) {
		const char *text = json_item_string(&l->r, missing, i, "missing");
		char *copy = text ? strdup(text) : NULL;
		if (copy)
			f->missing[f->missing_count++] = copy;
		else if (text)
			l->r.rc = err_set(l->r.err, ENOMEM, "%s: out of memory", l->file);
	}
	if (l->r.rc == 0 && complete != (f->missing_count == 0))
		json_fail(&l->r, "key \"complete\" contradicts \"missing\"");
}

static void load_islands(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	f->islands = start_array(l, top, "islands", sizeof(*f->islands), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "islands");
		struct fabric_island *island = &f->islands[f->island_count++];
		island->name = read_name(l, o, "name");
		if (l->r.rc == 0 && i)
			need_order(l, strcmp(island[-1].name, island->name) < 0, "name");
	}
	end_array(l);
}

static size_t read_area(struct loader *l, json_object *o)
{
	return json_has(o, "area") ? read_reference(l, o, "area", l->f->areas, l->f->area_count,
						    sizeof(*l->f->areas))
				   : FABRIC_NONE;
}

/* Each area must lead to its island in fewer steps than there are areas. */
static void check_areas(struct loader *l)
{
	struct fabric *f = l->f;

	for (size_t i = 0; l->r.rc == 0 && i < f->area_count; i++) {
		size_t at = i, steps = 0;
		while (at != FABRIC_NONE && steps <= f->area_count) {
			if (f->areas[at].island != f->areas[i].island)
				json_fail(&l->r, "area \"%s\" is in an area of another island",
					  f->areas[i].name);
			at = f->areas[at].parent;
			steps++;
		}
		if (at != FABRIC_NONE)
			json_fail(&l->r, "area \"%s\" is inside itself", f->areas[i].name);
	}
}

static void load_areas(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array, *o;

	if (l->r.rc || !json_has(top, "areas"))
		return;
	f->areas = start_array(l, top, "areas", sizeof(*f->areas), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		struct fabric_area *area = &f->areas[f->area_count++];
		o = element(l, array, i, "areas");
		area->name = read_name(l, o, "name");
		area->parent = FABRIC_NONE;
		area->island = read_reference(l, o, "island", f->islands, f->island_count,
					      sizeof(*f->islands));
		if (l->r.rc == 0 && i)
			need_order(l, strcmp(area[-1].name, area->name) < 0, "name");
	}
	/* An area may stand before the one around it. */
	for (size_t i = 0; l->r.rc == 0 && i < f->area_count; i++)
		f->areas[i].parent = read_area(l, element(l, array, i, "areas"));
	check_areas(l);
	end_array(l);
}

static void load_pods(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	f->pods = start_array(l, top, "pods", sizeof(*f->pods), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "pods");
		struct fabric_pod *pod = &f->pods[f->pod_count++];
		pod->name = read_name(l, o, "name");
		pod->island = read_reference(l, o, "island", f->islands, f->island_count,
					     sizeof(*f->islands));
		pod->area = read_area(l, o);
		if (l->r.rc == 0 && pod->area != FABRIC_NONE &&
		    f->areas[pod->area].island != pod->island)
			json_fail(&l->r, "pod \"%s\" is in an area of another island", pod->name);
		if (l->r.rc == 0 && i)
			need_order(l, strcmp(pod[-1].name, pod->name) < 0, "name");
	}
	end_array(l);
}

static void load_switches(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	f->switches = start_array(l, top, "switches", sizeof(*f->switches), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "switches");
		struct fabric_switch *sw = &f->switches[f->switch_count++];
		sw->guid = json_read_guid(&l->r, o, "guid");
		if (json_has(o, "system_guid"))
			sw->system_guid = json_read_guid(&l->r, o, "system_guid");
		sw->name = read_name(l, o, "name");
		sw->chassis = read_optional_name(l, o, "chassis");
		sw->level = read_optional_int(l, o, "level", 64, -1);
		sw->plane = read_optional_int(l, o, "plane", 255, -1);
		sw->ports = read_optional_int(l, o, "ports", 255, 0);
		sw->absent_ns = read_absent(l, o);
		if (l->r.rc == 0 && i)
			need_order(l, sw[-1].guid < sw->guid, "GUID");
	}
	end_array(l);
}

static void load_end(struct loader *l, json_object *o, const char *key, size_t *sw, int *port)
{
	json_object *end = json_read_object(&l->r, o, key);

	*sw = read_switch(l, end, "switch");
	*port = (int)json_read_int(&l->r, end, "port", 1, 255);
}

static bool link_before(const struct fabric_link *a, const struct fabric_link *b)
{
	if (a->a != b->a)
		return a->a < b->a;
	if (a->a_port != b->a_port)
		return a->a_port < b->a_port;
	if (a->b != b->b)
		return a->b < b->b;
	return a->b_port < b->b_port;
}

static void load_links(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	f->links = start_array(l, top, "links", sizeof(*f->links), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "links");
		struct fabric_link *link = &f->links[f->link_count++];
		load_end(l, o, "a", &link->a, &link->a_port);
		load_end(l, o, "b", &link->b, &link->b_port);
		read_wire(l, o, &link->wire);
		if (l->r.rc == 0 &&
		    (link->a > link->b || (link->a == link->b && link->a_port >= link->b_port)))
			json_fail(&l->r, "\"a\" must be the lower end");
		if (l->r.rc == 0 && i)
			need_order(l, link_before(link - 1, link), "\"a\", then \"b\"");
	}
	end_array(l);
}

static void load_leaves(struct loader *l, json_object *o, struct fabric_unit *unit)
{
	json_object *leaves;

	unit->leaves = start_array(l, o, "leaves", sizeof(*unit->leaves), &leaves);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(leaves); i++) {
		const char *text = json_item_string(&l->r, leaves, i, "leaves");
		uint64_t guid = 0;
		size_t sw = FABRIC_NONE;
		if (text && guid_parse(text, &guid))
			sw = fabric_find_switch(l->f, guid);
		if (text && sw == FABRIC_NONE)
			json_fail(&l->r, "leaves %zu: \"%.40s\" is no GUID of \"switches\"", i,
				  text);
		unit->leaves[unit->leaf_count++] = sw;
		if (l->r.rc == 0 && i)
			need_order(l, unit->leaves[i - 1] < sw, "GUID (\"leaves\")");
	}
	if (l->r.rc == 0 && unit->leaf_count == 0)
		json_fail(&l->r, "key \"leaves\" is empty; a unit has at least one");
}

static void load_units(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	f->units = start_array(l, top, "units", sizeof(*f->units), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "units");
		struct fabric_unit *unit = &f->units[f->unit_count++];
		unit->name = read_name(l, o, "name");
		unit->pod = read_reference(l, o, "pod", f->pods, f->pod_count, sizeof(*f->pods));
		if (!l->groups_only)
			load_leaves(l, o, unit);
		if (l->r.rc == 0 && i)
			need_order(l, strcmp(unit[-1].name, unit->name) < 0, "name");
	}
	end_array(l);
}

static void load_hosts(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	f->hosts = start_array(l, top, "hosts", sizeof(*f->hosts), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "hosts");
		struct fabric_host *host = &f->hosts[f->host_count++];
		host->name = read_name(l, o, "name");
		host->unit = FABRIC_NONE;
		if (json_has(o, "unit"))
			host->unit = read_reference(l, o, "unit", f->units, f->unit_count,
						    sizeof(*f->units));
		if (l->r.rc == 0 && i)
			need_order(l, strcmp(host[-1].name, host->name) < 0, "name");
	}
	end_array(l);
}

static bool port_before(const struct fabric_port *a, const struct fabric_port *b)
{
	if (a->guid != b->guid)
		return a->guid < b->guid;
	if (a->guid)
		return false; /* a port GUID is there once */
	if (a->node_guid != b->node_guid)
		return a->node_guid < b->node_guid;
	return a->port < b->port;
}

static void load_port(struct loader *l, json_object *o, struct fabric_port *port)
{
	struct fabric *f = l->f;

	if (json_has(o, "guid"))
		port->guid = json_read_guid(&l->r, o, "guid");
	port->node_guid = json_read_guid(&l->r, o, "node_guid");
	if (json_has(o, "system_guid"))
		port->system_guid = json_read_guid(&l->r, o, "system_guid");
	port->host = FABRIC_NONE;
	if (json_has(o, "host"))
		port->host =
			read_reference(l, o, "host", f->hosts, f->host_count, sizeof(*f->hosts));
	port->device = read_optional_name(l, o, "device");
	port->port = (int)json_read_int(&l->r, o, "port", 1, 255);
	port->sw = json_has(o, "switch") ? read_switch(l, o, "switch") : FABRIC_NONE;
	if (json_has(o, "switch"))
		port->sw_port = (int)json_read_int(&l->r, o, "switch_port", 1, 255);
	port->rail = read_optional_int(l, o, "rail", 255, -1);
	port->skipped = json_has(o, "skipped") && json_read_bool(&l->r, o, "skipped");
	read_wire(l, o, &port->wire);
}

static void load_ports(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	f->ports = start_array(l, top, "ports", sizeof(*f->ports), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "ports");
		struct fabric_port *port = &f->ports[f->port_count++];
		load_port(l, o, port);
		if (l->r.rc == 0 && i)
			need_order(l, port_before(port - 1, port), "GUID");
	}
	end_array(l);
}

static void load_counts(struct loader *l, json_object *top)
{
	struct fabric *f = l->f;
	json_object *array;

	if (l->r.rc || !json_has(top, "counters"))
		return;
	f->counts = start_array(l, top, "counters", sizeof(*f->counts), &array);
	for (size_t i = 0; l->r.rc == 0 && i < json_object_array_length(array); i++) {
		json_object *o = element(l, array, i, "counters");
		struct fabric_counts *c = &f->counts[f->counts_count++];
		c->node_guid = json_read_guid(&l->r, o, "node_guid");
		c->port = (int)json_read_int(&l->r, o, "port", 1, 255);
		c->time_ns = json_read_int(&l->r, o, "time_ns", 0, INT64_MAX);
		for (size_t n = 0; n < FABRIC_COUNTERS; n++) {
			const char *key = fabric_counter_name((enum fabric_counter)n);
			c->value[n] = json_has(o, key) ? json_read_u64(&l->r, o, key) : UINT64_MAX;
		}
		if (l->r.rc == 0 && i)
			need_order(
				l,
				c[-1].node_guid < c->node_guid ||
					(c[-1].node_guid == c->node_guid && c[-1].port < c->port),
				"GUID and port");
	}
	end_array(l);
}

/* What refers comes behind what it refers to, whatever the order of the keys in the file. */
static void load_all(struct loader *l, json_object *top)
{
	json_read_format(&l->r, top, FABRIC_FORMAT, FABRIC_VERSION);
	load_discovered(l, top);
	load_switches(l, top);
	load_islands(l, top);
	load_areas(l, top);
	load_pods(l, top);
	load_units(l, top);
	load_hosts(l, top);
	load_ports(l, top);
	load_counts(l, top);
	load_links(l, top);
}

static void load_groups(struct loader *l, json_object *top)
{
	l->groups_only = true;
	json_read_format(&l->r, top, FABRIC_FORMAT, FABRIC_VERSION);
	load_islands(l, top);
	load_areas(l, top);
	load_pods(l, top);
	load_units(l, top);
	load_hosts(l, top);
}

/* A fabric of what load reads from top, which is taken over; NULL and err when it can't be. */
static struct fabric *load_object(json_object *top, const char *source, struct err *err,
				  void (*load)(struct loader *l, json_object *top))
{
	struct loader l = { .r = { source, err, 0 }, .file = source };
	int code;

	if (!top)
		return NULL;
	l.f = calloc(1, sizeof(*l.f));
	if (!l.f)
		err_set(err, ENOMEM, "%s: out of memory", source);
	else
		load(&l, top);
	json_object_put(top);
	if (l.f && l.r.rc == 0)
		return l.f;
	code = l.f ? -l.r.rc : ENOMEM;
	fabric_free(l.f);
	errno = code;
	return NULL;
}

struct fabric *fabric_parse(const char *text, size_t len, const char *source, struct err *err)
{
	return load_object(json_parse(text, len, source, err), source, err, load_all);
}

struct fabric *fabric_parse_groups(const char *text, size_t len, const char *source,
				   struct err *err)
{
	static const char *const keys[] = { "format", "version", "islands", "areas",
					    "pods",   "units",	 "hosts",   NULL };

	return load_object(json_parse_keys(text, len, keys, source, err), source, err, load_groups);
}

static struct fabric *load_file(const char *path, struct err *err,
				struct fabric *(*parse)(const char *text, size_t len,
							const char *source, struct err *err))
{
	struct fabric *f;
	char *text;
	size_t len;
	int rc = io_read(path, FABRIC_MAX_BYTES, &text, &len, err);

	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	f = parse(text, len, path, err);
	free(text);
	return f;
}

struct fabric *fabric_load(const char *path, struct err *err)
{
	return load_file(path, err, fabric_parse);
}

struct fabric *fabric_load_groups(const char *path, struct err *err)
{
	return load_file(path, err, fabric_parse_groups);
}

/* By island, and in it the largest unit first. */
static int by_island(const void *a, const void *b)
{
	const struct fabric_unit_size *x = a, *y = b;

	if (x->island != y->island)
		return x->island < y->island ? -1 : 1;
	return x->hosts > y->hosts ? -1 : x->hosts < y->hosts;
}

void fabric_sort_units(struct fabric_unit_size *sizes, size_t count)
{
	if (count)
		qsort(sizes, count, sizeof(*sizes), by_island);
}

struct fabric_unit_size *fabric_unit_sizes(const struct fabric *f, size_t *count)
{
	struct fabric_unit_size *sizes =
		f->unit_count ? calloc(f->unit_count, sizeof(*sizes)) : NULL;

	*count = sizes ? f->unit_count : 0;
	if (!sizes)
		return NULL;
	for (size_t i = 0; i < f->unit_count; i++)
		sizes[i].island = f->pods[f->units[i].pod].island;
	for (size_t i = 0; i < f->host_count; i++)
		if (f->hosts[i].unit != FABRIC_NONE)
			sizes[f->hosts[i].unit].hosts++;
	fabric_sort_units(sizes, f->unit_count);
	return sizes;
}

uint32_t fabric_fewest_units(const struct fabric_unit_size *sizes, size_t count, uint32_t hosts)
{
	uint32_t fewest = 0;

	for (size_t i = 0; i < count;) {
		size_t island = sizes[i].island;
		uint64_t held = 0;
		uint32_t used = 0;

		for (; i < count && sizes[i].island == island; i++)
			if (held < hosts) {
				held += sizes[i].hosts;
				used++;
			}
		if (held >= hosts && (fewest == 0 || used < fewest))
			fewest = used;
	}
	return fewest;
}

/*
 * Writing: straight into the text, in the form of json_text() (two blanks a level, a line a value).
 * A tree of json-c in between would cost more memory and time than all that leads to it.
 */

struct writer {
	char *text;
	size_t used, room;
	int depth;
	bool empty; /* nothing is in what was opened last */
	bool failed;
};

static void put_bytes(struct writer *w, const char *bytes, size_t len)
{
	if (!w->failed && len >= w->room - w->used) {
		size_t room = w->room * 2 + len + 4096;
		char *more = realloc(w->text, room);
		w->failed = !more;
		w->text = more ? more : w->text;
		w->room = more ? room : w->room;
	}
	if (w->failed)
		return;
	memcpy(w->text + w->used, bytes, len);
	w->used += len;
}

static void put_line(struct writer *w)
{
	put_bytes(w, "\n", 1);
	for (int i = 0; i < w->depth; i++)
		put_bytes(w, "  ", 2);
}

/* A line of its own for what follows, behind its key if it has one. */
static void put_key(struct writer *w, const char *key)
{
	if (!w->empty)
		put_bytes(w, ",", 1);
	w->empty = false;
	put_line(w);
	if (!key)
		return;
	put_bytes(w, "\"", 1);
	put_bytes(w, key, strlen(key));
	put_bytes(w, "\":", 2);
}

static void put_open(struct writer *w, const char *key, const char *bracket)
{
	put_key(w, key);
	put_bytes(w, bracket, 1);
	w->depth++;
	w->empty = true;
}

static void put_close(struct writer *w, const char *bracket)
{
	w->depth--;
	put_line(w);
	put_bytes(w, bracket, 1);
	w->empty = false;
}

/* Nothing of it has to be escaped. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			return false;
	return true;
}

static void put_string(struct writer *w, const char *key, const char *value)
{
	json_object *o;
	const char *text;

	put_key(w, key);
	if (is_plain(value)) {
		put_bytes(w, "\"", 1);
		put_bytes(w, value, strlen(value));
		put_bytes(w, "\"", 1);
		return;
	}
	errno = 0; /* json-c says nothing of a text that it had no memory to end */
	o = json_object_new_string(value);
	text = o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
	if (text && errno != ENOMEM)
		put_bytes(w, text, strlen(text));
	else
		w->failed = true;
	json_object_put(o);
}

static void put_name(struct writer *w, const char *key, const char *value)
{
	if (value)
		put_string(w, key, value);
}

static void put_u64(struct writer *w, const char *key, uint64_t value)
{
	char digits[20], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	put_key(w, key);
	put_bytes(w, at, (size_t)(digits + sizeof(digits) - at));
}

/* A number whose unknown value is below min. */
static void put_int(struct writer *w, const char *key, int64_t value, int64_t min)
{
	if (value >= min)
		put_u64(w, key, (uint64_t)value);
}

static void put_bool(struct writer *w, const char *key, bool value)
{
	put_key(w, key);
	put_bytes(w, value ? "true" : "false", value ? 4 : 5);
}

static void put_known_guid(struct writer *w, const char *key, uint64_t guid)
{
	char text[] = "\"0x0000000000000000\"";

	for (int i = 18; guid; i--, guid >>= 4)
		text[i] = "0123456789abcdef"[guid & 15];
	put_key(w, key);
	put_bytes(w, text, sizeof(text) - 1);
}

static void put_guid(struct writer *w, const char *key, uint64_t guid)
{
	if (guid)
		put_known_guid(w, key, guid);
}

static void put_wire(struct writer *w, const struct fabric_wire *wire)
{
	put_int(w, "width", wire->width, 1);
	put_int(w, "speed_bps", (int64_t)wire->speed_bps, 1);
	put_int(w, "best_width", wire->best_width, 1);
	put_int(w, "best_speed_bps", (int64_t)wire->best_speed_bps, 1);
	if (wire->state != LINK_UNKNOWN)
		put_name(w, "state", link_state_name(wire->state));
	if (wire->degraded || (wire->width && wire->speed_bps))
		put_bool(w, "degraded", wire->degraded);
	put_int(w, "absent_since_ns", wire->absent_ns, 1);
}

static void put_discovered(struct writer *w, const struct fabric *f)
{
	put_open(w, "discovered", "{");
	put_name(w, "how", f->how);
	put_name(w, "source", f->source);
	put_int(w, "seen_ns", f->seen_ns, 0);
	put_bool(w, "complete", f->missing_count == 0);
	put_open(w, "missing", "[");
	for (size_t i = 0; i < f->missing_count; i++)
		put_string(w, NULL, f->missing[i]);
	put_close(w, "]");
	put_close(w, "}");
}

static void put_switches(struct writer *w, const struct fabric *f)
{
	put_open(w, "switches", "[");
	for (size_t i = 0; i < f->switch_count; i++) {
		const struct fabric_switch *sw = &f->switches[i];
		put_open(w, NULL, "{");
		put_known_guid(w, "guid", sw->guid);
		put_guid(w, "system_guid", sw->system_guid);
		put_name(w, "name", sw->name);
		put_name(w, "chassis", sw->chassis);
		put_int(w, "level", sw->level, 0);
		put_int(w, "plane", sw->plane, 0);
		put_int(w, "ports", sw->ports, 1);
		put_int(w, "absent_since_ns", sw->absent_ns, 1);
		put_close(w, "}");
	}
	put_close(w, "]");
}

static void put_end(struct writer *w, const char *key, uint64_t guid, int port)
{
	put_open(w, key, "{");
	put_known_guid(w, "switch", guid);
	put_int(w, "port", port, 0);
	put_close(w, "}");
}

static void put_links(struct writer *w, const struct fabric *f)
{
	put_open(w, "links", "[");
	for (size_t i = 0; i < f->link_count; i++) {
		const struct fabric_link *link = &f->links[i];
		put_open(w, NULL, "{");
		put_end(w, "a", f->switches[link->a].guid, link->a_port);
		put_end(w, "b", f->switches[link->b].guid, link->b_port);
		put_wire(w, &link->wire);
		put_close(w, "}");
	}
	put_close(w, "]");
}

static void put_port(struct writer *w, const struct fabric *f, const struct fabric_port *port)
{
	put_open(w, NULL, "{");
	put_guid(w, "guid", port->guid);
	put_known_guid(w, "node_guid", port->node_guid);
	put_guid(w, "system_guid", port->system_guid);
	if (port->host != FABRIC_NONE)
		put_name(w, "host", f->hosts[port->host].name);
	put_name(w, "device", port->device);
	put_int(w, "port", port->port, 0);
	if (port->sw != FABRIC_NONE) {
		put_known_guid(w, "switch", f->switches[port->sw].guid);
		put_int(w, "switch_port", port->sw_port, 0);
	}
	put_int(w, "rail", port->rail, 0);
	if (port->skipped)
		put_bool(w, "skipped", true);
	put_wire(w, &port->wire);
	put_close(w, "}");
}

static void put_ports(struct writer *w, const struct fabric *f)
{
	put_open(w, "ports", "[");
	for (size_t i = 0; i < f->port_count; i++)
		put_port(w, f, &f->ports[i]);
	put_close(w, "]");
}

static void put_counts(struct writer *w, const struct fabric *f)
{
	if (!f->counts_count)
		return;
	put_open(w, "counters", "[");
	for (size_t i = 0; i < f->counts_count; i++) {
		const struct fabric_counts *c = &f->counts[i];
		put_open(w, NULL, "{");
		put_known_guid(w, "node_guid", c->node_guid);
		put_int(w, "port", c->port, 0);
		put_int(w, "time_ns", c->time_ns, 0);
		for (size_t n = 0; n < FABRIC_COUNTERS; n++)
			if (c->value[n] != UINT64_MAX)
				put_u64(w, fabric_counter_name((enum fabric_counter)n),
					c->value[n]);
		put_close(w, "}");
	}
	put_close(w, "]");
}

static void put_hosts(struct writer *w, const struct fabric *f)
{
	put_open(w, "hosts", "[");
	for (size_t i = 0; i < f->host_count; i++) {
		const struct fabric_host *host = &f->hosts[i];
		put_open(w, NULL, "{");
		put_name(w, "name", host->name);
		if (host->unit != FABRIC_NONE)
			put_name(w, "unit", f->units[host->unit].name);
		put_close(w, "}");
	}
	put_close(w, "]");
}

static void put_units(struct writer *w, const struct fabric *f)
{
	put_open(w, "units", "[");
	for (size_t i = 0; i < f->unit_count; i++) {
		const struct fabric_unit *unit = &f->units[i];
		put_open(w, NULL, "{");
		put_name(w, "name", unit->name);
		put_open(w, "leaves", "[");
		for (size_t j = 0; j < unit->leaf_count; j++)
			put_known_guid(w, NULL, f->switches[unit->leaves[j]].guid);
		put_close(w, "]");
		put_name(w, "pod", f->pods[unit->pod].name);
		put_close(w, "}");
	}
	put_close(w, "]");
}

/* area: the one it is in, or FABRIC_NONE. */
static void put_group(struct writer *w, const struct fabric *f, const char *name, size_t area,
		      size_t island)
{
	put_open(w, NULL, "{");
	put_name(w, "name", name);
	if (area < f->area_count)
		put_name(w, "area", f->areas[area].name);
	put_name(w, "island", f->islands[island].name);
	put_close(w, "}");
}

static void put_groups(struct writer *w, const struct fabric *f)
{
	put_open(w, "pods", "[");
	for (size_t i = 0; i < f->pod_count; i++)
		put_group(w, f, f->pods[i].name, f->pods[i].area, f->pods[i].island);
	put_close(w, "]");
	if (f->area_count) {
		put_open(w, "areas", "[");
		for (size_t i = 0; i < f->area_count; i++)
			put_group(w, f, f->areas[i].name, f->areas[i].parent, f->areas[i].island);
		put_close(w, "]");
	}
	put_open(w, "islands", "[");
	for (size_t i = 0; i < f->island_count; i++) {
		put_open(w, NULL, "{");
		put_name(w, "name", f->islands[i].name);
		put_close(w, "}");
	}
	put_close(w, "]");
}

char *fabric_text(const struct fabric *f)
{
	struct writer w = { .depth = 1, .empty = true };

	put_bytes(&w, "{", 1);
	put_string(&w, "format", FABRIC_FORMAT);
	put_int(&w, "version", FABRIC_VERSION, 0);
	put_discovered(&w, f);
	put_switches(&w, f);
	put_links(&w, f);
	put_ports(&w, f);
	put_counts(&w, f);
	put_hosts(&w, f);
	put_units(&w, f);
	put_groups(&w, f);
	put_close(&w, "}");
	put_bytes(&w, "\n", sizeof("\n"));
	if (!w.failed)
		return w.text;
	free(w.text);
	return NULL;
}

/* True when path holds what f says, whenever that was first seen. */
static bool same_as(const struct fabric *f, const char *path)
{
	struct fabric *old = NULL, twin = *f;
	char *was = NULL, *is = NULL;
	bool same = false;
	size_t len;

	if (io_read(path, FABRIC_MAX_BYTES, &was, &len, NULL) < 0)
		return false;
	old = fabric_parse(was, len, path, NULL);
	if (old) {
		twin.seen_ns = old->seen_ns;
		is = fabric_text(&twin);
		same = is && strlen(is) == len && memcmp(is, was, len) == 0;
	}
	free(is);
	free(was);
	fabric_free(old);
	return same;
}

int fabric_save(const struct fabric *f, const char *path, bool *changed, struct err *err)
{
	char *text;
	int rc;

	*changed = !same_as(f, path);
	if (!*changed)
		return 0;
	text = fabric_text(f);
	if (!text)
		return err_set(err, ENOMEM, "%s: out of memory", path);
	rc = io_write_atomic(path, text, strlen(text), 0644, err);
	free(text);
	return rc;
}
