/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_fabric.c - fabric.json: what is read is written in its canonical form, which stays as it is;
 * everything in it is found; and both readers say the same about groups.
 */
#include "fabric.h"
#include "fuzz.h"

static void check_found(const struct fabric *f)
{
	for (size_t i = 0; i < f->switch_count; i++)
		must(fabric_find_switch(f, f->switches[i].guid) == i);
	for (size_t i = 0; i < f->host_count; i++)
		must(fabric_find_host(f, f->hosts[i].name) == i);
	for (size_t i = 0; i < f->port_count; i++)
		must(!f->ports[i].guid || fabric_find_port(f, f->ports[i].guid) == i);
}

static void check_sizes(const struct fabric *f)
{
	struct fabric_unit_size *sizes;
	size_t count, hosts = 0;

	sizes = fabric_unit_sizes(f, &count);
	must(count == f->unit_count);
	for (size_t i = 0; i < count; i++)
		hosts += sizes[i].hosts;
	must(hosts <= f->host_count);
	if (hosts)
		must(fabric_fewest_units(sizes, count, (uint32_t)hosts) <= count);
	free(sizes);
}

static void check_groups(const struct fabric *f, const struct fabric *groups)
{
	must(groups->host_count == f->host_count && groups->unit_count == f->unit_count);
	must(groups->pod_count == f->pod_count && groups->island_count == f->island_count);
	for (size_t i = 0; i < f->host_count; i++)
		must(fuzz_same(groups->hosts[i].name, f->hosts[i].name) &&
		     groups->hosts[i].unit == f->hosts[i].unit);
	for (size_t i = 0; i < f->unit_count; i++)
		must(fuzz_same(groups->units[i].name, f->units[i].name) &&
		     groups->units[i].pod == f->units[i].pod);
}

static void run(const char *data, size_t len)
{
	struct err err = { "" };
	struct fabric *f = fabric_parse(data, len, "fuzz", &err), *again, *groups;
	char *text, *same;

	must(f || err.text[0]);
	groups = fabric_parse_groups(data, len, "fuzz", NULL);
	if (f && groups)
		check_groups(f, groups);
	fabric_free(groups);
	if (!f)
		return;
	check_found(f);
	check_sizes(f);
	text = fuzz_have(fabric_text(f));
	again = fuzz_have(fabric_parse(text, strlen(text), "fuzz", &err));
	same = fuzz_have(fabric_text(again));
	must(fuzz_same(text, same));
	groups = fuzz_have(fabric_parse_groups(text, strlen(text), "fuzz", &err));
	check_groups(f, groups);
	fabric_free(groups);
	fabric_free(again);
	fabric_free(f);
	free(same);
	free(text);
}

const struct fuzz_target fuzz_fabric = { "fabric", "contract/fabric.json", run };
