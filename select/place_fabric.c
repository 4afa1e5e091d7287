/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_fabric.c - the placement engine's model of a fabric.json; see place.h.
 *
 * Groups are the file's: its areas, and behind them its islands. A tier's oversubscription is what
 * comes into its switches from below over what they have upwards, in bits per second of the links
 * that are up; a tier with a link of unknown speed has none that is known.
 */
#include <errno.h>
#include <stdlib.h>

#include "fabric.h"
#include "place.h"

/* Bandwidth into and out of the switches of one level. */
struct tier {
	uint64_t down_bps, up_bps;
	bool unknown;
};

static void add_wire(uint64_t *bps, bool *unknown, const struct fabric_wire *wire)
{
	if (wire->state == LINK_DOWN)
		return;
	if (wire->speed_bps == 0)
		*unknown = true;
	*bps += wire->speed_bps;
}

static void count_tiers(const struct fabric *f, struct tier tier[2])
{
	for (size_t i = 0; i < f->port_count; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (p->sw != FABRIC_NONE && !p->skipped && f->switches[p->sw].level == 0)
			add_wire(&tier[0].down_bps, &tier[0].unknown, &p->wire);
	}
	for (size_t i = 0; i < f->link_count; i++) {
		int a = f->switches[f->links[i].a].level, b = f->switches[f->links[i].b].level;
		int low = a < b ? a : b;

		if (low < 0 || low > 1 || (a > b ? a : b) != low + 1)
			continue;
		add_wire(&tier[low].up_bps, &tier[low].unknown, &f->links[i].wire);
		if (low == 0)
			add_wire(&tier[1].down_bps, &tier[1].unknown, &f->links[i].wire);
	}
}

static uint32_t over(const struct tier *tier)
{
	double ratio;

	if (tier->unknown || tier->down_bps == 0 || tier->up_bps == 0)
		return 0;
	ratio = 1000.0 * (double)tier->down_bps / (double)tier->up_bps;
	return ratio > 1000000 ? 1000000 : (uint32_t)(ratio + 0.5);
}

/* The caller's arrays of a shape, one behind the other. */
static void fill(const struct fabric *f, const char *const *names, uint32_t *unit_of,
		 uint32_t *pod_of, uint32_t *group_of, uint32_t *parent, uint32_t nodes)
{
	uint32_t areas = (uint32_t)f->area_count;

	for (uint32_t i = 0; i < nodes; i++) {
		size_t host = fabric_find_host(f, names[i]);
		size_t unit = host == FABRIC_NONE ? FABRIC_NONE : f->hosts[host].unit;

		unit_of[i] = unit == FABRIC_NONE ? PLACE_NONE : (uint32_t)unit;
	}
	for (size_t i = 0; i < f->unit_count; i++)
		pod_of[i] = (uint32_t)f->units[i].pod;
	for (size_t i = 0; i < f->pod_count; i++)
		group_of[i] = f->pods[i].area == FABRIC_NONE ? areas + (uint32_t)f->pods[i].island
							     : (uint32_t)f->pods[i].area;
	for (size_t i = 0; i < f->area_count; i++)
		parent[i] = f->areas[i].parent == FABRIC_NONE ? areas + (uint32_t)f->areas[i].island
							      : (uint32_t)f->areas[i].parent;
	for (size_t i = 0; i < f->island_count; i++)
		parent[areas + i] = PLACE_NONE;
}

struct place_model *place_model_of(const struct fabric *f, const char *const *names, uint32_t count,
				   struct err *err)
{
	size_t groups = f->area_count + f->island_count;
	uint32_t *room = calloc(count + f->unit_count + f->pod_count + groups + 1, sizeof(*room));
	uint32_t *pod_of, *group_of, *parent;
	struct tier tier[2] = { 0 };
	struct place_model *m;

	if (!room) {
		err_set(err, ENOMEM, "placement: out of memory");
		return NULL;
	}
	pod_of = room + count;
	group_of = pod_of + f->unit_count;
	parent = group_of + f->pod_count;
	fill(f, names, room, pod_of, group_of, parent, count);
	count_tiers(f, tier);
	m = place_model_make(&(struct place_shape){ .nodes = count,
						    .units = (uint32_t)f->unit_count,
						    .pods = (uint32_t)f->pod_count,
						    .groups = (uint32_t)groups,
						    .unit_of = room,
						    .pod_of = pod_of,
						    .group_of = group_of,
						    .parent = parent,
						    .unit_over = over(&tier[0]),
						    .pod_over = over(&tier[1]) },
			     err);
	free(room);
	return m;
}
