/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_machine.c - reading a machine: a small tree of sys/ and proc/ that is made here, and XML
 * files of hwloc and NCCL from tests/data/machine. tests/map/corpus has real ones.
 */
#include "unit.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include "choose.h"
#include "conf.h"
#include "machine.h"

/* ---- a tree ---- */

static char *root;

static void make_parents(const char *path)
{
	char *copy = strdup(path), *slash = strrchr(copy, '/');
	struct err err;

	*slash = '\0';
	assert_int_equal(io_mkdirs(copy, 0755, &err), 0);
	free(copy);
}

static void put_bytes(const char *name, const void *data, size_t len)
{
	char *path = io_format("%s/%s", root, name);
	FILE *file;

	make_parents(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	fclose(file);
	free(path);
}

static void put(const char *folder, const char *name, const char *text)
{
	char *path = io_format("%s/%s", folder, name), *line = io_format("%s\n", text);

	put_bytes(path, line, strlen(line));
	free(path);
	free(line);
}

static void put_link(const char *name, const char *target)
{
	char *path = io_format("%s/%s", root, name);

	make_parents(path);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
	free(path);
}

static void remove_name(const char *name)
{
	char *path = io_format("%s/%s", root, name);

	assert_int_equal(remove(path), 0);
	free(path);
}

/*
 * A PCI function; ids: vendor, device and the three bytes of the class. A bridge (last > 0) has
 * its bus numbers in its configuration space, which is where hwloc takes the tree from.
 */
static void put_pci(const char *folder, const char *numa, const char *vendor, const char *device,
		    const char *class, uint8_t secondary, uint8_t last)
{
	const char *bdf = strrchr(folder, '/') + 1;
	unsigned char config[64] = { 0 };
	unsigned long ids = strtoul(vendor, NULL, 16) | strtoul(device, NULL, 16) << 16;
	unsigned long kind = strtoul(class, NULL, 16);
	char *name = io_format("sys/bus/pci/devices/%s", bdf);
	char *target = io_format("/%s", folder); /* absolute: it has to be found inside the root */

	for (int i = 0; i < 4; i++)
		config[i] = (unsigned char)(ids >> 8 * i);
	for (int i = 0; i < 3; i++)
		config[9 + i] = (unsigned char)(kind >> 8 * i);
	config[14] = last ? 1 : 0;
	config[24] = (unsigned char)strtoul(bdf + 5, NULL, 16);
	config[25] = secondary;
	config[26] = last;
	put(folder, "vendor", vendor);
	put(folder, "device", device);
	put(folder, "class", class);
	put(folder, "numa_node", numa);
	put(folder, "local_cpus", !strcmp(numa, "0") ? "1" : !strcmp(numa, "1") ? "2" : "3");
	free(name);
	name = io_format("%s/config", folder);
	put_bytes(name, config, sizeof(config));
	free(name);
	/* hwloc follows links with openat alone, so those of the tree itself have to be relative */
	name = io_format("sys/bus/pci/devices/%s", bdf);
	free(target);
	target = io_format("../../../../%s", folder);
	put_link(name, target);
	free(name);
	free(target);
}

static void put_hca(const char *device, const char *folder, const char *guid, const char *state)
{
	char *path = io_format("sys/class/infiniband/%s", device),
	     *port = io_format("%s/ports/1", path);
	char *gid = io_format("fe80:0000:0000:0000:%s", guid), *link = io_format("%s/device", path);
	char *target = io_format("../../../../%s", folder);

	put(path, "node_guid", "b83f:d203:0010:0000");
	put(path, "sys_image_guid", "b83f:d203:0010:0000");
	put(port, "state", state);
	put(port, "rate", "400 Gb/sec (4X NDR)");
	put(port, "lid", "0x12");
	put(port, "link_layer", "InfiniBand");
	put(port, "gids/0", gid);
	put_link(link, target);
	free(path);
	free(port);
	free(gid);
	free(link);
	free(target);
}

static void put_processors(void)
{
	for (int i = 0; i < 2; i++) {
		char *cpu = io_format("sys/devices/system/cpu/cpu%d/topology", i);
		char *node = io_format("sys/devices/system/node/node%d", i);
		put(cpu, "physical_package_id", i ? "1" : "0");
		put(cpu, "core_id", "0");
		put(cpu, "thread_siblings", i ? "2" : "1");
		put(cpu, "core_siblings", i ? "2" : "1");
		put(node, "cpumap", i ? "2" : "1");
		free(cpu);
		free(node);
	}
	put("sys/devices/system/cpu", "online", "0-1");
	put("sys/devices/system/cpu", "possible", "0-1");
	put("sys/devices/system/node", "online", "0-1");
}

#define SWITCH "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/"
#define GPU0 SWITCH "0000:02:00.0/0000:03:00.0"
#define HCA0 SWITCH "0000:02:04.0/0000:04:00.0"
#define GPU1 "sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0"
#define HCA1 "sys/devices/pci0000:90/0000:90:01.0/0000:91:00.0"

/*
 * GPU 03:00.0 and mlx5_0 behind one switch on NUMA node 0; GPU 81:00.0 and mlx5_1 each below a host
 * bridge of its own on node 1; the device files count the GPUs the other way round.
 */
static int make_tree(void **state)
{
	(void)state;
	root = test_folder();
	put_processors();
	put("proc/sys/kernel/random", "boot_id", "5b7c1f0e-2f4a-4d0e-9f3b-6a1d8c2e7b90");
	put_pci("sys/devices/pci0000:00/0000:00:01.0", "0", "0x8086", "0x347a", "0x060400", 1, 4);
	put_pci("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "0", "0x1000", "0xc010",
		"0x060400", 2, 4);
	put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "subsystem_vendor", "0x1000");
	put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "subsystem_device", "0xa096");
	put_pci(SWITCH "0000:02:00.0", "0", "0x1000", "0xc010", "0x060400", 3, 3);
	put_pci(SWITCH "0000:02:04.0", "0", "0x1000", "0xc010", "0x060400", 4, 4);
	put_pci(GPU0, "0", "0x10de", "0x2330", "0x030200", 0, 0);
	put_pci(HCA0, "0", "0x15b3", "0x1021", "0x020700", 0, 0);
	put_pci("sys/devices/pci0000:80/0000:80:01.0", "1", "0x8086", "0x347a", "0x060400", 0x81,
		0x81);
	put_pci(GPU1, "1", "0x10de", "0x2330", "0x030200", 0, 0);
	put_pci("sys/devices/pci0000:90/0000:90:01.0", "1", "0x8086", "0x347a", "0x060400", 0x91,
		0x91);
	put_pci(HCA1, "1", "0x15b3", "0x1021", "0x020700", 0, 0);
	put_hca("mlx5_0", HCA0, "b83f:d203:0010:0001", "4: ACTIVE");
	put_hca("mlx5_1", HCA1, "b83f:d203:0010:0011", "4: ACTIVE");
	put("proc/driver/nvidia/gpus/0000:03:00.0", "information",
	    "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 100\nGPU UUID: \t GPU-aaaa\n"
	    "Bus Location: \t 0000:03:00.0\nDevice Minor: \t 1");
	put("proc/driver/nvidia/gpus/0000:81:00.0", "information",
	    "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-\?\?\?\?\nDevice Minor: \t 0");
	return 0;
}

static int remove_tree(void **state)
{
	char *command = io_format("rm -rf '%s'", root);
	int rc = system(command);

	(void)state;
	free(command);
	free(root);
	return rc;
}

static struct machine *read_tree(void)
{
	struct err err = { "" };
	struct machine *m = machine_read(root, &err);

	if (!m)
		fail_msg("%s", err.text);
	return m;
}

static struct map *map_of(struct machine *m)
{
	struct choose_filter filter = { 0 };
	struct map *map = choose_map(m, &filter, "n1", NULL);

	assert_non_null(map);
	machine_free(m);
	return map;
}

static void tree_is_read(void **state)
{
	struct machine *m = read_tree();

	(void)state;
	size_t above;

	assert_null(m->remark);
	above = m->bridges[m->bridges[m->gpus[0].place.bridge].parent].parent;
	assert_int_equal(m->bridges[m->bridges[m->gpus[0].place.bridge].parent].id,
			 UINT64_C(0x1000c0101000a096));
	assert_int_equal(m->bridges[above].bdf.device, 1);
	assert_true(m->bridges[m->bridges[above].parent].host);
	assert_string_equal(m->boot_id, "5b7c1f0e-2f4a-4d0e-9f3b-6a1d8c2e7b90");
	assert_int_equal(m->gpu_count, 2);
	assert_int_equal(m->gpus[0].minor, 1);
	assert_string_equal(m->gpus[0].uuid, "GPU-aaaa");
	assert_string_equal(m->gpus[0].model, "NVIDIA H100 80GB HBM3");
	assert_null(m->gpus[1].uuid); /* not known before the GPU is first used */
	assert_int_equal(m->gpus[1].place.numa, 1);
	assert_int_equal(m->gpus[1].place.package, 1);
	assert_int_equal(m->port_count, 2);
	assert_string_equal(m->ports[1].device, "mlx5_1");
	assert_int_equal(m->ports[1].place.bdf.bus, 0x91);
	assert_int_equal(m->ports[0].guid, UINT64_C(0xb83fd20300100001));
	assert_int_equal(m->ports[0].node_guid, UINT64_C(0xb83fd20300100000));
	assert_int_equal(m->ports[0].state, LINK_ACTIVE);
	assert_int_equal(m->ports[0].rate_bps, UINT64_C(400000000000));
	assert_int_equal(m->ports[0].lid, 0x12);
	machine_free(m);
}

static void tree_gives_the_right_map(void **state)
{
	struct map *map = map_of(read_tree());

	(void)state;
	assert_int_equal(map->gpus[0].near_count, 1);
	assert_int_equal(map->gpus[0].near[0].port, 0);
	assert_int_equal(map->gpus[0].near[0].class, MAP_PIX);
	assert_int_equal(map->gpus[1].near[0].port, 1);
	assert_int_equal(map->gpus[1].near[0].class, MAP_NODE);
	assert_int_equal(map->gpus[0].index, 0);
	assert_int_equal(map->gpus[0].gres, 1);
	assert_int_equal(map->gpus[1].gres, 0);
	map_free(map);
}

/* The kernel's -1 wins over what hwloc makes of the processors. */
static void numa_node_minus_one_is_unknown(void **state)
{
	struct machine *m;

	(void)state;
	put(GPU1, "numa_node", "-1");
	m = read_tree();
	assert_int_equal(m->gpus[1].place.numa, -1);
	machine_free(m);
}

static void without_the_driver_a_gpu_is_still_one(void **state)
{
	struct map *map;

	(void)state;
	remove_name("proc/driver/nvidia/gpus/0000:81:00.0/information");
	map = map_of(read_tree());
	assert_int_equal(map->gpu_count, 2);
	assert_int_equal(map->gpus[1].minor, -1);
	assert_int_equal(map->gpus[1].gres, -1);
	assert_int_equal(map->gpus[0].gres, 0);
	map_free(map);
}

static void what_the_driver_lists_is_a_gpu(void **state)
{
	struct machine *m;

	(void)state;
	put("proc/driver/nvidia/gpus/10001:05:00.0", "information", "Device Minor: 7");
	put("proc/driver/nvidia/gpus/nonsense", "information", "Device Minor: 8");
	m = read_tree();
	assert_int_equal(m->gpu_count, 3);
	assert_int_equal(m->gpus[2].place.bdf.domain, 0x10001);
	assert_int_equal(m->gpus[2].minor, 7);
	assert_int_equal(m->gpus[2].place.numa, -1);
	machine_free(m);
}

static void amd_gpus_are_found_by_class(void **state)
{
	struct machine *m;

	(void)state;
	remove_name("proc/driver/nvidia/gpus/0000:81:00.0/information");
	remove_name("proc/driver/nvidia/gpus/0000:81:00.0");
	put_pci(GPU1, "1", "0x1002", "0x74a1", "0x120000", 0, 0);
	put(GPU1, "drm/renderD130/dev", "226:130");
	put_pci("sys/devices/pci0000:a0/0000:a0:01.0", "1", "0x1002", "0x515e", "0x030000", 0, 0);
	m = read_tree();
	assert_int_equal(m->gpu_count, 2); /* the second is a server board's VGA */
	assert_int_equal(m->gpus[1].vendor, VENDOR_AMD);
	assert_int_equal(m->gpus[1].minor, 130);
	machine_free(m);
	put_link(GPU1 "/driver", "../../../../bus/pci/drivers/vfio-pci");
	put("sys/bus/pci/drivers/vfio-pci", "bind", "");
	m = read_tree();
	assert_int_equal(m->gpu_count, 1);
	machine_free(m);
}

static void put_instance(int gpu, const char *name, const char *minor)
{
	char *folder = io_format("proc/driver/nvidia/capabilities/gpu%d/mig/%s", gpu, name);
	char *text =
		io_format("DeviceFileMinor: %s\nDeviceFileMode: 292\nDeviceFileModify: 1", minor);

	put(folder, "access", text);
	free(folder);
	free(text);
}

/* GPU 03:00.0 (minor 1) in three, 81:00.0 (minor 0) whole, though MIG is known to its driver. */
static void put_mig(void)
{
	put_instance(0, "config", "1");
	put_instance(1, "config", "2");
	put_instance(1, "gi10", "102");
	put_instance(1, "gi10/ci0", "103");
	put_instance(1, "gi2", "30");
	put_instance(1, "gi2/ci1", "32");
	put_instance(1, "gi2/ci0", "31");
	put_instance(1, "gix/ci0", "7");
	put_instance(1, "gi2/cix", "8");
}

static void mig_instances_are_gpus(void **state)
{
	struct machine *m;
	struct map *map;

	(void)state;
	put_mig();
	m = read_tree();
	assert_int_equal(m->gpu_count, 4);
	assert_string_equal(m->gpus[0].part, "2/0");
	assert_string_equal(m->gpus[0].uuid, "MIG-GPU-aaaa/2/0");
	assert_string_equal(m->gpus[0].model, "NVIDIA H100 80GB HBM3");
	assert_string_equal(m->gpus[1].part, "2/1");
	assert_string_equal(m->gpus[2].part, "10/0"); /* by the numbers of their files */
	assert_int_equal(m->gpus[2].minor, 1);
	assert_null(m->gpus[3].part);
	map = map_of(m);
	assert_int_equal(map->gpus[2].index, 0);
	assert_int_equal(map->gpus[3].index, 1);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(map->gpus[i].near[0].port, 0);
		assert_int_equal(map->gpus[i].near[0].tie, 3);
	}
	map_free(map);
}

/* gres indexes of put_mig() under each word of gres.conf's AutoDetect */
static void gres_indexes_with_mig(void **state)
{
	static const struct {
		enum choose_gres gres;
		int index[4];
	} cases[] = { { GRES_MINOR, { 1, 2, 3, 0 } },
		      { GRES_NVIDIA, { 1, 1, 1, 0 } },
		      { GRES_PCI, { 0, 1, 2, 3 } } };

	(void)state;
	put_mig();
	for (size_t i = 0; i < 3; i++) {
		struct choose_filter filter = { .gres = cases[i].gres };
		struct machine *m = read_tree();
		struct map *map = choose_map(m, &filter, "n1", NULL);

		for (size_t k = 0; k < 4; k++)
			assert_int_equal(map->gpus[k].gres, cases[i].index[k]);
		map_free(map);
		machine_free(m);
	}
}

static void put_kfd(int number, const char *simds, unsigned int location, int minor)
{
	char *folder = io_format("sys/class/kfd/kfd/topology/nodes/%d", number);
	char *text = io_format("cpu_cores_count 0\nsimd_count %s\nlocation_id %u\ndomain 0\n"
			       "drm_render_minor %d\nunique_id %d",
			       simds, location, minor, 1000 + number);

	put(folder, "properties", text);
	free(folder);
	free(text);
}

/* MI300 in SPX (03:00.0) and DPX (81:00.0): KFD counts otherwise than PCI. */
static void amd_partitions_are_gpus(void **state)
{
	struct machine *m;
	struct map *map;

	(void)state;
	remove_name("proc/driver/nvidia/gpus/0000:03:00.0/information");
	remove_name("proc/driver/nvidia/gpus/0000:03:00.0");
	remove_name("proc/driver/nvidia/gpus/0000:81:00.0/information");
	remove_name("proc/driver/nvidia/gpus/0000:81:00.0");
	put_pci(GPU0, "0", "0x1002", "0x74a1", "0x120000", 0, 0);
	put_pci(GPU1, "1", "0x1002", "0x74a1", "0x120000", 0, 0);
	put(GPU1, "product_name", "AMD Instinct MI300X");
	put_kfd(0, "0", 0, 0); /* processors */
	put_kfd(2, "304", 0x8100, 129);
	put_kfd(3, "304", 0x10008100, 130); /* as newer kernels number a partition */
	put_kfd(10, "304", 0x0300, 128);
	put("sys/class/kfd/kfd/topology/nodes/11", "properties", "simd_count many");
	m = read_tree();
	assert_int_equal(m->gpu_count, 3);
	assert_int_equal(m->gpus[0].index, 2);
	assert_int_equal(m->gpus[0].minor, 128);
	assert_int_equal(m->gpus[1].index, 0);
	assert_int_equal(m->gpus[2].index, 1);
	assert_int_equal(m->gpus[2].minor, 130);
	assert_string_equal(m->gpus[2].uuid, "GPU-00000000000003eb");
	assert_string_equal(m->gpus[2].model, "AMD Instinct MI300X");
	map = map_of(m);
	assert_int_equal(map->gpus[0].gres, 0);
	assert_int_equal(map->gpus[2].gres, 2);
	assert_int_equal(map->gpus[2].near[0].tie, 2);
	map_free(map);
	put_kfd(3, "304", 0x8101, 130); /* as some older ones do */
	m = read_tree();
	assert_int_equal(m->gpu_count, 3);
	machine_free(m);
}

static void virtual_functions_are_seen(void **state)
{
	struct map *map;

	(void)state;
	put_link(HCA1 "/physfn", "/" HCA0); /* an absolute link stays inside the root */
	map = map_of(read_tree());
	assert_string_equal(map->ports[1].ignored, "a virtual function of 0000:04:00.0");
	map_free(map);
	put_link(HCA1 "/physfn", "/nowhere/0000:04:00.0");
	map = map_of(read_tree());
	assert_null(map->ports[1].ignored);
	map_free(map);
}

/* A scalable function of HCA1's own: its device is a part of the PCI function. */
static void sub_functions_are_seen(void **state)
{
	struct map *map;

	(void)state;
	put(HCA1 "/mlx5_core.sf.4", "sfnum", "88");
	put_hca("mlx5_9", HCA1 "/mlx5_core.sf.4", "b83f:d203:0010:0099", "4: ACTIVE");
	map = map_of(read_tree());
	assert_int_equal(map->port_count, 3);
	assert_string_equal(map->ports[2].bdf, "0000:91:00.0");
	assert_string_equal(map->ports[2].ignored, "a virtual function of 0000:91:00.0");
	assert_null(map->ports[1].ignored);
	map_free(map);
}

/*
 * What sysfs has of a device of each driver: its name, PCI ids, link layer and LID (from the
 * drivers' get_link_layer and query_port), and whether it is for jobs without and with ethernet.
 */
static const struct driver {
	const char *device, *vendor, *model, *layer, *lid;
	bool plain, ethernet;
} drivers[] = {
	{ "mlx4_0", "0x15b3", "0x1003", "InfiniBand", "0x5", true, true },
	{ "mlx5_0", "0x15b3", "0x1021", "InfiniBand", "0x12", true, true },
	{ "mlx5_0", "0x15b3", "0x1021", "InfiniBand", "0xffff", false, false },
	{ "mlx5_bond_0", "0x15b3", "0x101d", "Ethernet", "0x0", false, true },
	{ "bnxt_re0", "0x14e4", "0x1750", "Ethernet", "0x0", false, true },
	{ "irdma0", "0x8086", "0x1592", "Ethernet", "0x1", false, true },
	{ "rocep1s0", "0x8086", "0x1592", "Ethernet", "0x1", false, true },
	{ "ionic_0", "0x1dd8", "0x1002", "Ethernet", "0x0", false, true },
	{ "mana_0", "0x1414", "0x00ba", "Ethernet", "0x0", false, true },
	{ "rxe0", "0x8086", "0x1592", "Ethernet", "0x0", false, true },
	{ "rdmap0s6", "0x1d0f", "0xefa2", "Unknown", "0x0", true, true },
	{ "hfi1_0", "0x8086", "0x24f0", "InfiniBand", "0x2", true, true },
};

static bool driver_is_for_jobs(const struct driver *d, bool ethernet)
{
	struct choose_filter filter = { .ethernet = ethernet };
	char *folder = io_format("sys/class/infiniband/%s/ports/1", d->device);
	struct machine *m;
	struct map *map;
	bool taken;

	put_pci(HCA0, "0", d->vendor, d->model, "0x020000", 0, 0);
	put_hca(d->device, HCA0, "0000:0000:0000:0000", "4: ACTIVE");
	put(folder, "link_layer", d->layer);
	put(folder, "lid", d->lid);
	m = read_tree();
	assert_int_equal(m->port_count, 1);
	assert_int_equal(m->ports[0].model, strtoul(d->model, NULL, 16));
	map = choose_map(m, &filter, "n1", NULL);
	taken = !map->ports[0].ignored;
	if (taken)
		assert_int_equal(map->gpus[0].near[0].class, MAP_PIX);
	map_free(map);
	machine_free(m);
	free(folder);
	return taken;
}

static void remove_hcas(void)
{
	char *command = io_format("rm -rf '%s/sys/class/infiniband'", root);

	assert_int_equal(system(command), 0);
	free(command);
}

static void each_driver_has_its_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		for (int ethernet = 0; ethernet < 2; ethernet++) {
			const struct driver *d = &drivers[i];

			remove_hcas();
			if (driver_is_for_jobs(d, ethernet) != (ethernet ? d->ethernet : d->plain))
				fail_msg("%s with ethernet = %d", d->device, ethernet);
		}
}

static void slingshot_is_no_verbs_device(void **state)
{
	struct machine *m;
	struct map *map;
	char *env;

	(void)state;
	remove_hcas();
	put_pci(HCA0, "0", "0x17db", "0x0501", "0x020000", 0, 0);
	put("sys/class/net/hsn0", "operstate", "up");
	put_link("sys/class/net/hsn0/device", "../../../../" HCA0);
	m = read_tree();
	assert_string_equal(m->ports[0].device, "hsn0");
	machine_free(m);
	put(HCA0 "/cxi/cxi3", "dev", "1:2");
	m = read_tree();
	assert_int_equal(m->port_count, 1);
	assert_string_equal(m->ports[0].device, "cxi3");
	assert_int_equal(m->ports[0].state, LINK_ACTIVE);
	map = map_of(m);
	assert_int_equal(map->gpus[0].near[0].class, MAP_PIX);
	env = map_env_text(map);
	assert_null(strstr(env, "cxi3"));
	free(env);
	map_free(map);
	put("sys/class/net/hsn0", "operstate", "down");
	map = map_of(read_tree());
	assert_string_equal(map->ports[0].ignored, "its state is down");
	map_free(map);
}

static uint64_t rate_of(const char *text)
{
	struct machine *m;
	uint64_t rate;

	put("sys/class/infiniband/mlx5_0/ports/1", "rate", text);
	m = read_tree();
	rate = m->ports[0].rate_bps;
	machine_free(m);
	return rate;
}

static void rates_are_after_encoding(void **state)
{
	(void)state;
	assert_int_equal(rate_of("100 Gb/sec (4X EDR)"), UINT64_C(100000000000));
	assert_int_equal(rate_of("100 Gb/sec (2X HDR)"), UINT64_C(100000000000));
	assert_int_equal(rate_of("40 Gb/sec (4X QDR)"), UINT64_C(32000000000));
	assert_int_equal(rate_of("56 Gb/sec (4X FDR)"), UINT64_C(54545454544));
	assert_int_equal(rate_of("2.5 Gb/sec (1X SDR)"), UINT64_C(2000000000));
	assert_int_equal(rate_of("25 Gb/sec (1X EDR)"), UINT64_C(25000000000));
	assert_int_equal(rate_of("1600 Gb/sec (8X ZDR)"), UINT64_C(1600000000000));
	assert_int_equal(rate_of("fast"), 0);
	assert_int_equal(rate_of("1e300 Gb/sec"), 0);
	assert_int_equal(rate_of("-5 Gb/sec"), 0);
	assert_int_equal(rate_of("nan Gb/sec (4X"), 0);
}

/* Any content of any file: a machine is read, and what makes no sense is unknown. */
static void broken_files_are_unknown(void **state)
{
	struct machine *m;
	char *noise = malloc(100000);

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		noise[i] = (char)(i * 2654435761u >> 13);
	put_bytes("sys/class/infiniband/mlx5_0/ports/1/state", noise, 100000);
	put_bytes("sys/class/infiniband/mlx5_0/ports/1/rate", noise + 7, 1000);
	put_bytes("sys/class/infiniband/mlx5_0/ports/1/lid", "0x99999999999999", 16);
	put_bytes("sys/class/infiniband/mlx5_0/ports/1/gids/0", "", 0);
	put_bytes("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Unknown\n", 8);
	put_bytes("sys/class/infiniband/mlx5_0/node_guid", noise + 50, 300);
	put_bytes("sys/class/infiniband/not_a_device", noise, 10);
	put_bytes("proc/driver/nvidia/gpus/0000:03:00.0/information", noise, 100000);
	put("proc/driver/nvidia/gpus/0000:81:00.0", "information",
	    "Device Minor: many\nModel:\nGPU UUID");
	put_bytes(GPU1 "/config", noise, 3);
	put("proc/sys/kernel/random", "boot_id", "a b");
	m = read_tree();
	assert_null(m->boot_id);
	assert_int_equal(m->port_count, 2);
	assert_int_equal(m->ports[0].state, LINK_UNKNOWN);
	assert_int_equal(m->ports[0].rate_bps, 0);
	assert_int_equal(m->ports[0].lid, -1);
	assert_int_equal(m->ports[0].guid, 0);
	assert_int_equal(m->ports[0].node_guid, 0);
	assert_null(m->ports[0].layer);
	assert_int_equal(m->gpus[0].minor, -1);
	assert_null(m->gpus[0].model);
	assert_int_equal(m->gpus[1].minor, -1);
	machine_free(m);
	free(noise);
}

static void a_folder_that_is_no_machine(void **state)
{
	struct err err = { "" };
	char *proc = io_format("%s/proc", root);

	(void)state;
	assert_null(machine_read(proc, &err));
	assert_non_null(strstr(err.text, "no recorded machine"));
	assert_null(machine_read("/nonexistent", &err));
	assert_int_equal(errno, ENOENT);
	free(proc);
}

static void our_settings_for_hwloc_are_put_back(void **state)
{
	(void)state;
	setenv("HWLOC_FSROOT", "/somewhere/else", 1);
	unsetenv("HWLOC_COMPONENTS");
	setenv("HWLOC_SYNTHETIC", "numa:4 pu:1", 1);
	machine_free(read_tree());
	assert_string_equal(getenv("HWLOC_FSROOT"), "/somewhere/else");
	assert_string_equal(getenv("HWLOC_SYNTHETIC"), "numa:4 pu:1");
	assert_null(getenv("HWLOC_COMPONENTS"));
	unsetenv("HWLOC_FSROOT");
	unsetenv("HWLOC_SYNTHETIC");
}

static int environment_changes;

int setenv(const char *name, const char *value, int overwrite)
{
	static int (*real)(const char *, const char *, int);

	environment_changes++;
	if (!real)
		real = (int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "setenv");
	return real(name, value, overwrite);
}

int unsetenv(const char *name)
{
	static int (*real)(const char *);

	environment_changes++;
	if (!real)
		real = (int (*)(const char *))dlsym(RTLD_NEXT, "unsetenv");
	return real(name);
}

/* A thread that changes the environment takes it away under all others. */
static void a_prepared_environment_is_left_alone(void **state)
{
	struct machine *m;

	(void)state;
	assert_int_equal(machine_environment(root), 0);
	environment_changes = 0;
	m = machine_read(root, NULL);
	assert_non_null(m);
	machine_free(m);
	assert_int_equal(environment_changes, 0);
	assert_int_equal(unsetenv("HWLOC_FSROOT") | unsetenv("HWLOC_COMPONENTS"), 0);
}

static void addresses(void **state)
{
	static const char *const bad[] = {
		"",	   "0000:17:00",  "0000:17:00.8",      "0000:17:20.0", "0000:17:00.0 ",
		"17:00.0", "0000:1:00.0", "000000000:17:00.0", "0000:17:00.00"
	};
	struct machine_bdf bdf;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (machine_bdf_parse(bad[i], &bdf))
			fail_msg("\"%s\" was taken for an address", bad[i]);
	assert_true(machine_bdf_parse("10000:E1:1F.7", &bdf));
	text = machine_bdf_text(&bdf);
	assert_string_equal(text, "10000:e1:1f.7");
	free(text);
}

/* ---- the fingerprint and the map as sfabricd asks for it ---- */

static void fingerprint(char text[MACHINE_FINGERPRINT])
{
	struct err err = { "" };

	if (machine_fingerprint(root, "boot", text, &err))
		fail_msg("%s", err.text);
}

static void fingerprint_changes_with_the_machine(void **state)
{
	char first[MACHINE_FINGERPRINT], second[MACHINE_FINGERPRINT];
	struct err err;

	(void)state;
	fingerprint(first);
	fingerprint(second);
	assert_string_equal(first, second);
	put("sys/class/infiniband/mlx5_0/ports/1", "state", "1: DOWN");
	fingerprint(second);
	assert_string_not_equal(first, second);
	put("sys/class/infiniband/mlx5_0/ports/1", "state", "4: ACTIVE");
	put("sys/class/infiniband/mlx5_0/ports/1/counters", "port_xmit_data", "1");
	fingerprint(second);
	assert_string_equal(first, second);
	put("sys/class/infiniband/mlx5_0/ports/1", "lid", "0x13");
	fingerprint(second);
	assert_string_not_equal(first, second);
	put("sys/class/infiniband/mlx5_0/ports/1", "lid", "0x12");
	fingerprint(second);
	assert_string_equal(first, second);
	put_instance(1, "gi2/ci0", "31");
	fingerprint(second);
	assert_string_not_equal(first, second);
	fingerprint(first);
	put_instance(1, "gi2/ci1", "32");
	fingerprint(second);
	assert_string_not_equal(first, second);
	put_kfd(3, "304", 0x8100, 130);
	fingerprint(first);
	assert_string_not_equal(first, second);
	put("proc/driver/nvidia/gpus/0000:99:00.0", "information", "");
	fingerprint(second);
	assert_string_not_equal(first, second);
	fingerprint(first);
	assert_int_equal(machine_fingerprint(root, "another boot", first, &err), 0);
	assert_string_not_equal(first, second);
	assert_int_equal(machine_fingerprint("/nonexistent", "boot", first, &err), -ENOENT);
}

static void sfabricd_gets_it_in_one_call(void **state)
{
	struct err err = { "" };
	char boot_id[37], print[MACHINE_FINGERPRINT];
	struct conf conf = { .root = root, .gres_order = (char *)"pci" };
	struct map *map = machine_map(&conf, "n7", &err);

	(void)state;
	if (!map)
		fail_msg("%s", err.text);
	assert_int_equal(io_boot_id(boot_id, &err), 0);
	assert_int_equal(machine_fingerprint(root, boot_id, print, &err), 0);
	assert_string_equal(map->host, "n7");
	assert_string_equal(map->boot_id, boot_id); /* the running kernel's, for the env file */
	assert_string_equal(map->fingerprint, print);
	assert_int_equal(map->gpus[0].gres, 0);
	map_free(map);
	conf.root = (char *)"/nonexistent";
	assert_null(machine_map(&conf, "n7", &err));
}

/* ---- hwloc XML ---- */

static struct machine *read_xml(const char *name, struct err *err)
{
	char *path = io_format("%s/machine/%s", TEST_DATA, name);
	struct machine *m = machine_read_xml(path, err);

	free(path);
	return m;
}

static void xml_is_read(void **state)
{
	struct err err = { "" };
	struct machine *m = read_xml("two-sockets.xml", &err);
	struct map *map;

	(void)state;
	if (!m)
		fail_msg("%s", err.text);
	assert_string_equal(m->host, "n1");
	assert_int_equal(m->gpu_count, 3);
	assert_int_equal(m->gpus[0].index, 1); /* nvml's number, not the PCI order */
	assert_string_equal(m->gpus[0].uuid, "GPU-1");
	assert_int_equal(m->gpus[1].place.numa, 1);
	assert_int_equal(m->port_count, 4);
	assert_int_equal(m->ports[0].lid, 0x12);
	assert_int_equal(m->ports[0].guid, UINT64_C(0xb83fd20300100001));
	assert_int_equal(m->ports[1].state, LINK_DOWN);
	map = map_of(m);
	assert_int_equal(map->gpus[0].near_count, 1);
	assert_int_equal(map->gpus[0].near[0].port, 0);
	assert_int_equal(map->gpus[0].near[0].class, MAP_PIX);
	assert_non_null(map->ports[1].ignored);
	assert_int_equal(map->gpus[1].near[0].port, 3);
	assert_int_equal(map->gpus[1].near[0].class, MAP_NODE);
	assert_int_equal(map->gpus[2].near[0].port, 3);
	assert_non_null(map->ports[2].ignored); /* active without a LID: RoCE */
	map_free(map);
}

static void partitions_share_an_address(void **state)
{
	struct err err = { "" };
	struct machine *m = read_xml("partitions.xml", &err);
	struct map *map;

	(void)state;
	if (!m)
		fail_msg("%s", err.text);
	assert_int_equal(m->gpu_count, 3);
	assert_int_equal(m->gpus[2].index, 2);
	assert_string_equal(m->ports[0].device, "hsi0");
	map = map_of(m);
	assert_int_equal(map->gpus[2].near_count, 1);
	assert_int_equal(map->gpus[2].near[0].tie, 3);
	assert_string_equal(map->ports[0].layer, MAP_SLINGSHOT);
	map_free(map);
}

static void xml_that_says_too_little(void **state)
{
	struct err err = { "" };
	struct machine *m = read_xml("no-io.xml", &err);

	(void)state;
	assert_non_null(m);
	assert_non_null(strstr(m->remark, "no I/O devices"));
	machine_free(m);
}

static void xml_that_can_not_be_read(void **state)
{
	struct err err = { "" };

	(void)state;
	assert_null(read_xml("version3.xml", &err));
	assert_non_null(strstr(err.text, "version 3.0"));
	assert_null(read_xml("../contract/env", &err));
	assert_non_null(strstr(err.text, "no topology of hwloc"));
	assert_null(read_xml("absent.xml", &err));
	assert_int_equal(errno, ENOENT);
}

/* A file that was cut says so, wherever the cut is. */
static void xml_cut_anywhere(void **state)
{
	size_t len;
	char *text = test_data("machine/two-sockets.xml", &len),
	     *path = io_format("%s/cut.xml", root);

	(void)state;
	for (size_t i = 0; i < len - 1; i += 37) {
		struct err err = { "" };
		put_bytes("cut.xml", text, i);
		assert_null(machine_read_xml(path, &err));
		assert_non_null(strstr(err.text, i < 100 ? "no topology of hwloc" : "it was cut"));
	}
	free(path);
	free(text);
}

/* ---- NCCL's topology ---- */

static void nccl_is_read(void **state)
{
	struct err err = { "" };
	struct machine *m = read_xml("nccl-hgx.xml", &err);
	struct map *map;

	(void)state;
	if (!m)
		fail_msg("%s", err.text);
	assert_int_equal(m->gpu_count, 2);
	assert_int_equal(m->gpus[0].index, 1);
	assert_int_equal(m->gpus[0].vendor, VENDOR_NVIDIA);
	assert_int_equal(m->gpus[1].place.numa, 1);
	assert_int_equal(m->port_count, 3); /* eth0 is none */
	assert_int_equal(m->ports[1].port, 1);
	assert_int_equal(m->ports[1].system_guid, UINT64_C(0x946dae030050709a));
	assert_int_equal(m->ports[1].rate_bps, UINT64_C(200000000000));
	map = map_of(m);
	/* the two levels are one chip, and both HCAs are one card */
	assert_int_equal(map->gpus[0].near_count, 2);
	assert_int_equal(map->gpus[0].near[1].port, 1);
	assert_int_equal(map->gpus[0].near[0].class, MAP_PIX);
	assert_int_equal(map->gpus[1].near[0].class, MAP_SYS);
	map_free(map);
}

static int read_text(const char *text, struct err *err)
{
	char *path = io_format("%s/t.xml", root);
	struct machine *m;
	int code;

	put_bytes("t.xml", text, strlen(text));
	m = machine_read_xml(path, err);
	code = errno;
	free(path);
	if (!m)
		return -code;
	code = (int)m->gpu_count;
	machine_free(m);
	return code;
}

/* What is wrong is said with its line. */
static void nccl_that_can_not_be_read(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "<system version=\"3\"/>", "\"3\"" },
		{ "<system>\n<cpu numaid=\"0\">\n</system>", "t.xml:3: its elements do not fit" },
		{ "<system>\n<cpu numaid=\"0\">", "was it cut?" },
		{ "<system>\n<cpu numaid=\"0\"", "was it cut?" },
		{ "<system><!-- ", "was it cut?" },
		{ "<system></system></system>", "do not fit" },
		{ "<system>\n<cpu>\n<pci/></cpu></system>", "t.xml:3: a pci element has no busid" },
		{ "<system><cpu><pci busid=\"17:00.0\"/></cpu></system>", "no busid" },
		{ "<system><cpu><gpu dev=\"0\"/></cpu></system>", "gpu element stands outside" },
		{ "<graphs version=\"1\"/>", "no topology" },
	};
	struct err err;
	char deep[2048] = "<system>";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		if (read_text(bad[i].text, &err) >= 0 || !strstr(err.text, bad[i].says))
			fail_msg("%s: \"%s\"", bad[i].text, err.text);
	}
	for (int i = 0; i < 200; i++)
		strcat(deep, "<a>");
	assert_int_equal(read_text(deep, &err), -E2BIG);
	/* what is not known is passed over */
	assert_int_equal(
		read_text("<system><cpu numaid=\"-1\" x><what/><pci busid=\"0000:01:00.0\" "
			  "class='0x03' class=\"0x030200\"><gpu/><gpu/></pci></cpu></system>",
			  &err),
		2);
}

/* A virtual machine: GPUs and HCAs are where the file has their addresses. */
static void devices_are_placed_by_a_file(void **state)
{
	struct machine *m = read_tree();
	char *path = io_format("%s/machine/nccl-places.xml", TEST_DATA);
	struct err err = { "" };
	struct map *map;

	(void)state;
	if (machine_place(m, path, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(m->gpus[1].place.numa, 4);
	assert_int_equal(m->gpus[0].place.numa, 0);
	map = map_of(m);
	/* 03:00.0 is not in it, but the switch above 91:00.0 is the machine's own above 03:00.0 */
	assert_int_equal(map->gpus[0].near[0].port, 1);
	assert_int_equal(map->gpus[0].near[0].class, MAP_PIX);
	assert_int_equal(map->gpus[1].near[0].port, 0);
	assert_int_equal(map->gpus[1].near[0].class, MAP_PIX);
	map_free(map);
	free(path);
	m = read_tree();
	assert_int_equal(machine_place(m, "/nonexistent", &err), -ENOENT);
	machine_free(m);
}

static void the_configured_file_is_used(void **state)
{
	char *path = io_format("%s/machine/nccl-places.xml", TEST_DATA);
	struct conf conf = { .root = root, .pci_tree = path };
	struct err err = { "" };
	struct machine *m = machine_read_conf(&conf, root, &err);

	(void)state;
	assert_non_null(m);
	assert_int_equal(m->gpus[1].place.numa, 4);
	machine_free(m);
	conf.pci_tree = (char *)"/nonexistent";
	assert_null(machine_read_conf(&conf, root, &err));
	assert_int_equal(errno, ENOENT);
	free(path);
}

#define TREE(function) cmocka_unit_test_setup_teardown(function, make_tree, remove_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE(tree_is_read),
		TREE(tree_gives_the_right_map),
		TREE(numa_node_minus_one_is_unknown),
		TREE(without_the_driver_a_gpu_is_still_one),
		TREE(what_the_driver_lists_is_a_gpu),
		TREE(amd_gpus_are_found_by_class),
		TREE(mig_instances_are_gpus),
		TREE(gres_indexes_with_mig),
		TREE(amd_partitions_are_gpus),
		TREE(virtual_functions_are_seen),
		TREE(sub_functions_are_seen),
		TREE(each_driver_has_its_way),
		TREE(slingshot_is_no_verbs_device),
		TREE(rates_are_after_encoding),
		TREE(broken_files_are_unknown),
		TREE(a_folder_that_is_no_machine),
		TREE(our_settings_for_hwloc_are_put_back),
		TREE(a_prepared_environment_is_left_alone),
		cmocka_unit_test(addresses),
		TREE(fingerprint_changes_with_the_machine),
		TREE(sfabricd_gets_it_in_one_call),
		cmocka_unit_test(xml_is_read),
		cmocka_unit_test(partitions_share_an_address),
		cmocka_unit_test(xml_that_says_too_little),
		cmocka_unit_test(xml_that_can_not_be_read),
		TREE(xml_cut_anywhere),
		cmocka_unit_test(nccl_is_read),
		TREE(nccl_that_can_not_be_read),
		TREE(devices_are_placed_by_a_file),
		TREE(the_configured_file_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
