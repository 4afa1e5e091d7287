/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_machine.c - a node's devices as sysfs and procfs tell them: the parts of the input are the
 * files of one HCA port and one GPU. The map that is made of them can be read again.
 */
#include <unistd.h>

#include "choose.h"
#include "fuzz.h"
#include "machine.h"

#define HCA "sys/class/infiniband/mlx5_0/"

static const char *const files[] = {
	HCA "ports/1/state",
	HCA "ports/1/rate",
	HCA "ports/1/lid",
	HCA "ports/1/link_layer",
	HCA "ports/1/gids/0",
	HCA "node_guid",
	"proc/driver/nvidia/gpus/0000:18:00.0/information",
	"proc/sys/kernel/random/boot_id",
	"sys/class/kfd/kfd/topology/nodes/1/properties",
	"proc/driver/nvidia/capabilities/gpu0/mig/gi1/access",
	"proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access",
};

#define FILES (sizeof(files) / sizeof(files[0]))

static void make_folder(void)
{
	static bool ready;
	char *path;

	if (ready)
		return;
	ready = true;
	path = fuzz_have(io_format("%s/sys/bus/pci/devices", fuzz_folder()));
	must(io_mkdirs(path, 0755, NULL) == 0);
	free(path);
	fuzz_put("sys/devices/system/cpu/online", "0\n", 2);
	fuzz_put("sys/devices/system/cpu/possible", "0\n", 2);
	fuzz_put("sys/devices/system/cpu/cpu0/topology/package_cpus", "1\n", 2);
	fuzz_put("sys/devices/system/cpu/cpu0/topology/core_cpus", "1\n", 2);
	fuzz_put("sys/devices/system/node/online", "0\n", 2);
	fuzz_put("sys/devices/system/node/node0/cpumap", "1\n", 2);
}

static void check_map(const struct map *m)
{
	struct err err = { "" };
	char *text = fuzz_have(map_text(m));
	struct map *again = map_parse(text, strlen(text), "fuzz", &err);

	if (!again)
		fuzz_broken(__FILE__, __LINE__, err.text);
	map_free(again);
	free(text);
}

static void run(const char *data, size_t len)
{
	struct choose_filter filter = { .ethernet = len & 1 };
	char *text = fuzz_text(data, len), *parts[FILES];
	size_t count = fuzz_cut(text, parts, FILES);
	struct err err = { "" };
	struct machine *m;
	struct map *map;

	make_folder();
	for (size_t i = 0; i < FILES; i++)
		fuzz_put(files[i], parts[i < count ? i : 0], strlen(parts[i < count ? i : 0]));
	m = machine_read(fuzz_folder(), &err);
	if (!m)
		fuzz_broken(__FILE__, __LINE__, err.text);
	map = fuzz_have(choose_map(m, &filter, "n1", &err));
	check_map(map);
	map_free(map);
	machine_free(m);
	free(text);
}

const struct fuzz_target fuzz_machine = { "machine", "", run };
