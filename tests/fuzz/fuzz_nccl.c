/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_nccl.c - NCCL's topology, as a machine and as the tree of another one: what is taken has
 * bridges that end, and devices below bridges that are there.
 */
#include "choose.h"
#include "fuzz.h"
#include "machine.h"

static void check_bridge(const struct machine *m, size_t bridge)
{
	size_t steps = 0;

	must(bridge == MACHINE_NONE || bridge < m->bridge_count);
	for (; bridge != MACHINE_NONE; bridge = m->bridges[bridge].parent)
		must(bridge < m->bridge_count && ++steps <= m->bridge_count);
}

static void check(const struct machine *m)
{
	struct choose_filter filter = { .ethernet = true };
	struct map *map = fuzz_have(choose_map(m, &filter, "n1", NULL));

	for (size_t i = 0; i < m->gpu_count; i++)
		check_bridge(m, m->gpus[i].place.bridge);
	for (size_t i = 0; i < m->port_count; i++)
		check_bridge(m, m->ports[i].place.bridge);
	must(map->gpu_count == m->gpu_count && map->port_count == m->port_count);
	map_free(map);
}

static void run(const char *data, size_t len)
{
	const char *path = fuzz_file(data, len);
	struct err err = { "" };
	struct machine *m = calloc(1, sizeof(*m));

	/* first as a tree: an hwloc file is refused there, and hwloc is not what is tested */
	must(m);
	if (machine_place(m, path, &err) < 0) {
		must(err.text[0]);
		machine_free(m);
		return;
	}
	machine_free(m);
	m = fuzz_have(machine_read_xml(path, &err));
	check(m);
	must(machine_place(m, path, &err) == 0);
	check(m);
	machine_free(m);
}

const struct fuzz_target fuzz_nccl = { "nccl", "machine/nccl-*.xml", run };
