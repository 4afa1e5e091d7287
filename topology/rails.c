/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rails.c - which rail each port of a multi-rail unit is on; see groups.h.
 *
 * People number rails by the HCAs of a host: the first device in natural order is rail 0. That
 * holds when the full hosts of a unit (those with most ports) have the same leaf behind the same
 * position; a host with a dark HCA then takes its numbers from them, by device or by leaf. Where
 * full hosts disagree, device order says nothing and the rail is the position of the leaf among the
 * unit's, by name. A unit with one leaf has no rails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "names.h"

#define RAIL_MAX 255

static const char *device_of(const struct fabric_port *port)
{
	return port->device ? port->device : "";
}

/* By host (those without last), then as the host's devices are counted. */
static int by_host(const void *x, const void *y)
{
	const struct fabric_port *a = *(struct fabric_port *const *)x,
				 *b = *(struct fabric_port *const *)y;
	int order;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	order = names_compare(device_of(a), device_of(b));
	if (order == 0 && a->node_guid != b->node_guid)
		order = a->node_guid < b->node_guid ? -1 : 1;
	return order ? order : a->port - b->port;
}

static bool is_leaf_of(const struct fabric_unit *unit, size_t sw)
{
	for (size_t i = 0; i < unit->leaf_count; i++)
		if (unit->leaves[i] == sw)
			return true;
	return false;
}

struct host_ports {
	struct fabric_port **ports; /* on the unit's leaves, in device order */
	size_t count;
	size_t unit;
};

static int by_unit(const void *x, const void *y)
{
	const struct host_ports *a = x, *b = y;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1; /* full hosts first */
	return (a->ports > b->ports) - (a->ports < b->ports);
}

/* Every full host must have the leaves of the first one, position by position. */
static bool agree(const struct host_ports *hosts, size_t count)
{
	for (size_t i = 1; i < count && hosts[i].count == hosts[0].count; i++)
		for (size_t j = 0; j < hosts[0].count; j++)
			if (hosts[i].ports[j]->sw != hosts[0].ports[j]->sw)
				return false;
	return true;
}

/* The position that a port of a host with dark HCAs has on a full host. */
static int position(const struct host_ports *full, const struct fabric_port *port)
{
	int by_leaf = -1;
	size_t same_leaf = 0;

	for (size_t i = 0; i < full->count; i++) {
		if (full->ports[i]->sw != port->sw)
			continue;
		if (port->device && full->ports[i]->device && full->ports[i]->port == port->port &&
		    strcmp(port->device, full->ports[i]->device) == 0)
			return (int)i;
		by_leaf = (int)i;
		same_leaf++;
	}
	return same_leaf == 1 ? by_leaf : -1;
}

static void number_by_device(struct host_ports *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < hosts[i].count; j++)
			hosts[i].ports[j]->rail = hosts[i].count == hosts[0].count
							  ? (int)j
							  : position(&hosts[0], hosts[i].ports[j]);
}

/* How many leaves of the unit come before leaf by name. */
static int rank(const struct fabric *f, const struct fabric_unit *unit, size_t leaf)
{
	int before = 0;

	for (size_t i = 0; i < unit->leaf_count; i++)
		before += names_compare(f->switches[unit->leaves[i]].name, f->switches[leaf].name) <
			  0;
	return before;
}

static void number_unit(struct fabric *f, struct host_ports *hosts, size_t count)
{
	const struct fabric_unit *unit = &f->units[hosts[0].unit];

	if (unit->leaf_count < 2 || hosts[0].count > RAIL_MAX)
		return;
	if (agree(hosts, count)) {
		number_by_device(hosts, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < hosts[i].count; j++)
			hosts[i].ports[j]->rail = rank(f, unit, hosts[i].ports[j]->sw);
}

/* The ports of each host that are on its unit's leaves; returns the number of such hosts. */
static size_t collect(struct fabric *f, struct fabric_port **sorted, struct fabric_port **ports,
		      struct host_ports *hosts)
{
	size_t used = 0, n = 0;

	for (size_t i = 0, end; i < f->port_count && sorted[i]->host != FABRIC_NONE; i = end) {
		size_t unit = f->hosts[sorted[i]->host].unit;
		struct host_ports *host = &hosts[n];
		*host = (struct host_ports){ ports + used, 0, unit };
		for (end = i; end < f->port_count && sorted[end]->host == sorted[i]->host; end++)
			if (unit != FABRIC_NONE && !sorted[end]->skipped &&
			    is_leaf_of(&f->units[unit], sorted[end]->sw))
				host->ports[host->count++] = sorted[end];
		used += host->count;
		n += host->count > 0;
	}
	return n;
}

int rails_assign(struct fabric *f)
{
	struct fabric_port **sorted = calloc(f->port_count + 1, sizeof(*sorted));
	struct fabric_port **ports = calloc(f->port_count + 1, sizeof(*ports));
	struct host_ports *hosts = calloc(f->host_count + 1, sizeof(*hosts));
	int rc = sorted && ports && hosts ? 0 : -ENOMEM;
	size_t n = 0;

	for (size_t i = 0; rc == 0 && i < f->port_count; i++) {
		f->ports[i].rail = -1;
		sorted[i] = &f->ports[i];
	}
	if (rc == 0) {
		qsort(sorted, f->port_count, sizeof(*sorted), by_host);
		n = collect(f, sorted, ports, hosts);
		qsort(hosts, n, sizeof(*hosts), by_unit);
	}
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && hosts[end].unit == hosts[i].unit;)
			end++;
		number_unit(f, &hosts[i], end - i);
	}
	free(sorted);
	free(ports);
	free(hosts);
	return rc;
}
