/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_hwloc.c - from an hwloc topology to the plain structs of machine.h.
 *
 * hwloc is asked for everything it can tell (all I/O objects, nothing restricted) and then only
 * read by climbing ->parent: its helper for the common ancestor of two objects crashes on I/O
 * objects. It is told where to look by environment variables, the only way it offers for a root;
 * they are set for the load alone and put back, which a program with threads can't have done under
 * it: such a one calls machine_environment() before it has any. On a live machine only its linux
 * component may run: the x86 one would bind this process to each core in turn, others open GPUs or
 * X displays.
 */
#include "machine_hwloc.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "text.h"

#define MAX_DEPTH 64
#define MAX_PCI 16384

/* ---- loading ---- */

struct setting {
	const char *name;
	const char *value; /* NULL: must not be set */
	bool changed;
	char *before;
};

#define SETTINGS 7

/* What the environment must be to load root, or an XML text where root is NULL. */
static void settings_for(struct setting s[SETTINGS], const char *root)
{
	const struct setting all[SETTINGS] = {
		{ .name = "HWLOC_FSROOT", .value = root && strcmp(root, "/") ? root : NULL },
		{ .name = "HWLOC_COMPONENTS", .value = root ? "linux,stop" : NULL },
		{ .name = "HWLOC_XMLFILE" },
		{ .name = "HWLOC_SYNTHETIC" },
		{ .name = "HWLOC_THISSYSTEM" },
		{ .name = "HWLOC_PLUGINS_PATH", .value = "" }, /* no GPU or display libraries */
		{ .name = "HWLOC_HIDE_ERRORS", .value = "2" },
	};

	memcpy(s, all, sizeof(all));
}

static int setting_apply(struct setting *s)
{
	const char *before = getenv(s->name);

	if (before == s->value || (before && s->value && !strcmp(before, s->value)))
		return 0;
	s->before = before ? strdup(before) : NULL;
	if (before && !s->before)
		return -ENOMEM;
	s->changed = true;
	return (s->value ? setenv(s->name, s->value, 1) : unsetenv(s->name)) < 0 ? -errno : 0;
}

static int settings_apply(struct setting s[SETTINGS])
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < SETTINGS; i++)
		rc = setting_apply(&s[i]);
	return rc;
}

static void settings_restore(struct setting s[SETTINGS])
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (s[i].changed && s[i].before)
			setenv(s[i].name, s[i].before, 1);
		else if (s[i].changed)
			unsetenv(s[i].name);
		free(s[i].before);
	}
}

int machine_environment(const char *root)
{
	struct setting settings[SETTINGS];
	int rc;

	settings_for(settings, root);
	rc = settings_apply(settings);
	for (size_t i = 0; i < SETTINGS; i++)
		free(settings[i].before);
	return rc;
}

/* Caches, cores and the like are left out: nobody reads them here, and they are most of the time.
 */
static int configure(hwloc_topology_t t)
{
	unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;

#if HWLOC_API_VERSION >= 0x00020800
	flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
		 HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
	if (hwloc_topology_set_flags(t, flags) < 0 ||
	    hwloc_topology_set_cache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
	    hwloc_topology_set_icache_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
	    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL) < 0)
		return -errno;
	return 0;
}

static int load(hwloc_topology_t t, const char *text, size_t len)
{
	int rc = configure(t);

	if (rc == 0 && text && hwloc_topology_set_xmlbuffer(t, text, (int)len + 1) < 0)
		rc = errno ? -errno : -EINVAL;
	if (rc == 0 && hwloc_topology_load(t) < 0)
		rc = errno ? -errno : -EINVAL;
	return rc;
}

/* Loads the XML text, or where text is NULL the machine at root. */
static int load_topology(hwloc_topology_t *t, const char *root, const char *text, size_t len)
{
	struct setting settings[SETTINGS];
	int rc;

	settings_for(settings, root);
	rc = settings_apply(settings);
	*t = NULL;
	errno = 0;
	if (rc == 0 && hwloc_topology_init(t) < 0)
		rc = errno ? -errno : -ENOMEM;
	if (rc == 0)
		rc = load(*t, text, len);
	settings_restore(settings);
	if (rc < 0 && *t)
		hwloc_topology_destroy(*t);
	return rc;
}

/* ---- bridges and places ---- */

/* hwloc's bridges that have an index in machine.bridges, in that order. */
struct reader {
	hwloc_topology_t topology;
	struct machine *machine;
	hwloc_obj_t *bridges;
};

static hwloc_obj_t bridge_above(hwloc_obj_t object)
{
	do
		object = object->parent;
	while (object && object->type != HWLOC_OBJ_BRIDGE);
	return object;
}

static size_t find_bridge(const struct reader *r, hwloc_obj_t object)
{
	for (size_t i = 0; i < r->machine->bridge_count; i++)
		if (r->bridges[i] == object)
			return i;
	return MACHINE_NONE;
}

static struct machine_bridge bridge_of(hwloc_obj_t object)
{
	const struct hwloc_bridge_attr_s *attr = &object->attr->bridge;
	const struct hwloc_pcidev_attr_s *pci = &attr->upstream.pci;

	if (attr->upstream_type == HWLOC_OBJ_BRIDGE_HOST)
		return (struct machine_bridge){ .parent = MACHINE_NONE, .host = true };
	return (struct machine_bridge){
		.parent = MACHINE_NONE,
		.placed = true,
		.bdf = { pci->domain, pci->bus, pci->dev, pci->func },
		.id = machine_bridge_id(pci->vendor_id, pci->device_id, pci->subvendor_id,
					pci->subdevice_id),
	};
}

static size_t add_bridge(struct reader *r, hwloc_obj_t object)
{
	struct machine *m = r->machine;
	hwloc_obj_t *objects;
	struct machine_bridge *bridges;

	objects = reallocarray(r->bridges, m->bridge_count + 1, sizeof(*objects));
	if (!objects)
		return MACHINE_NONE;
	r->bridges = objects;
	bridges = reallocarray(m->bridges, m->bridge_count + 1, sizeof(*bridges));
	if (!bridges)
		return MACHINE_NONE;
	m->bridges = bridges;
	objects[m->bridge_count] = object;
	bridges[m->bridge_count] = bridge_of(object);
	return m->bridge_count++;
}

/* The index of the bridge above object, with all bridges above that; MACHINE_NONE without any. */
static int bridge_index(struct reader *r, hwloc_obj_t object, size_t *index)
{
	hwloc_obj_t bridge = bridge_above(object);
	size_t below = MACHINE_NONE, at;

	*index = MACHINE_NONE;
	for (int depth = 0; bridge && depth < MAX_DEPTH; depth++) {
		bool known = (at = find_bridge(r, bridge)) != MACHINE_NONE;
		if (!known && (at = add_bridge(r, bridge)) == MACHINE_NONE)
			return -ENOMEM;
		if (below == MACHINE_NONE)
			*index = at;
		else
			r->machine->bridges[below].parent = at;
		if (known)
			break;
		below = at;
		bridge = bridge_above(bridge);
	}
	return 0;
}

static int package_of(hwloc_obj_t object)
{
	while (object && object->type != HWLOC_OBJ_PACKAGE)
		object = object->parent;
	return object ? (int)object->logical_index : -1;
}

/* NUMA nodes with processors: the memory of a GPU can be a node as well, and nothing is near it. */
static bool has_processors(hwloc_obj_t node)
{
	return node->cpuset && !hwloc_bitmap_iszero(node->cpuset);
}

/* The only NUMA node with processors below object (a normal one); NULL: none or more. */
static hwloc_obj_t only_node(hwloc_topology_t t, hwloc_obj_t object)
{
	hwloc_obj_t node = NULL, only = NULL;

	if (!object || !object->nodeset)
		return NULL;
	while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node))) {
		if (!has_processors(node) || !hwloc_bitmap_isset(object->nodeset, node->os_index))
			continue;
		if (only)
			return NULL;
		only = node;
	}
	return only;
}

static int read_place(struct reader *r, hwloc_obj_t object, struct machine_place *place)
{
	const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;
	hwloc_obj_t above = hwloc_get_non_io_ancestor_obj(r->topology, object);
	hwloc_obj_t node = only_node(r->topology, above);

	place->bdf = (struct machine_bdf){ pci->domain, pci->bus, pci->dev, pci->func };
	place->numa = node && node->os_index <= INT32_MAX ? (int)node->os_index : -1;
	place->package = package_of(above);
	if (place->package < 0)
		place->package = package_of(node);
	return bridge_index(r, object, &place->bridge);
}

static int read_pci(struct reader *r, hwloc_obj_t object, struct machine_pci *pci)
{
	pci->class = object->attr->pcidev.class_id;
	pci->vendor = object->attr->pcidev.vendor_id;
	pci->device = object->attr->pcidev.device_id;
	return read_place(r, object, &pci->place);
}

bool machine_pci_is_gpu(const struct machine_pci *pci)
{
	/* Server boards' VGA chips with AMD's vendor id: Rage XL, RV100, ES1000. */
	static const uint16_t onboard[] = { 0x4752, 0x5159, 0x515e };

	if (pci->vendor == VENDOR_NVIDIA)
		return pci->class == 0x0300 || pci->class == 0x0302;
	if (pci->vendor != VENDOR_AMD)
		return false;
	for (size_t i = 0; i < sizeof(onboard) / sizeof(onboard[0]); i++)
		if (pci->device == onboard[i])
			return false;
	/* MI25, MI50: VGA; MI100, MI200: display; MI300: processing accelerator */
	return pci->class == 0x0300 || pci->class == 0x0380 || pci->class == 0x1200;
}

/* ---- a root ---- */

void machine_pci_list_clear(struct machine_pci_list *list)
{
	free(list->devices);
	free(list->nodes);
	*list = (struct machine_pci_list){ 0 };
}

static int list_nodes(hwloc_topology_t t, struct machine_pci_list *list)
{
	int count = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
	hwloc_obj_t node = NULL;

	list->nodes = calloc(count > 0 ? (size_t)count : 1, sizeof(*list->nodes));
	if (!list->nodes)
		return -ENOMEM;
	while (list->node_count < (size_t)count &&
	       (node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node)))
		list->nodes[list->node_count++] =
			(struct machine_node){ (int)node->os_index, package_of(node) };
	return 0;
}

static int list_devices(struct reader *r, struct machine_pci_list *list)
{
	hwloc_obj_t object = NULL;
	int count = hwloc_get_nbobjs_by_type(r->topology, HWLOC_OBJ_PCI_DEVICE), rc = 0;

	if (count > MAX_PCI)
		return -E2BIG;
	list->devices = calloc(count > 0 ? (size_t)count : 1, sizeof(*list->devices));
	if (!list->devices)
		return -ENOMEM;
	while (rc == 0 && list->count < (size_t)count &&
	       (object = hwloc_get_next_pcidev(r->topology, object)))
		rc = read_pci(r, object, &list->devices[list->count++]);
	return rc;
}

int machine_hwloc_root(struct machine *m, const char *root, struct machine_pci_list *list,
		       struct err *err)
{
	struct reader r = { .machine = m };
	int rc = load_topology(&r.topology, root, NULL, 0);

	if (rc < 0)
		return err_set(err, -rc, "%s: hwloc can't read the machine: %s", root,
			       strerror(-rc));
	rc = list_nodes(r.topology, list);
	if (rc == 0)
		rc = list_devices(&r, list);
	free(r.bridges);
	hwloc_topology_destroy(r.topology);
	if (rc < 0)
		return err_set(err, -rc, "%s: its PCI devices can't be listed: %s", root,
			       strerror(-rc));
	return 0;
}

/* ---- an XML file ---- */

static const char *port_info(hwloc_obj_t object, int number, const char *what)
{
	char name[32];

	snprintf(name, sizeof(name), "Port%d%s", number, what);
	return hwloc_obj_get_info_by_name(object, name);
}

/* The number at the end of names like "nvml3"; -1 when name does not begin with prefix. */
static int number_after(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	uint64_t value;

	if (!name || strncmp(name, prefix, len) != 0 || !u64_parse(name + len, 65535, &value))
		return -1;
	return (int)value;
}

static int set_string(char **to, const char *from)
{
	if (!from || *to)
		return 0;
	*to = io_printable(from);
	return *to ? 0 : -ENOMEM;
}

/* What one OS device of a GPU adds to g. AMD's UUID may be all zeros, which says nothing. */
static int read_gpu_info(hwloc_obj_t os, struct machine_gpu *g)
{
	const char *model = hwloc_obj_get_info_by_name(os, "GPUModel");
	const char *uuid = hwloc_obj_get_info_by_name(os, "NVIDIAUUID");
	int number = number_after(os->name, "nvml"), rc;

	if (number < 0)
		number = number_after(os->name, "rsmi");
	if (number >= 0 && g->index < 0)
		g->index = number;
	number = number_after(os->name, "renderD");
	if (number >= 0 && g->vendor == VENDOR_AMD && g->minor < 0)
		g->minor = number;
	if (!uuid)
		uuid = hwloc_obj_get_info_by_name(os, "AMDUUID");
	if (uuid && strspn(uuid, "0-") == strlen(uuid))
		uuid = NULL;
	rc = set_string(&g->model, model);
	return rc < 0 ? rc : set_string(&g->uuid, uuid);
}

/*
 * A PCI device is one GPU, or as many as it has rsmi devices: MI300 can be cut into partitions
 * that share an address.
 */
static int read_gpu(struct machine *m, hwloc_obj_t object, const struct machine_pci *pci)
{
	struct machine_gpu *g = machine_add_gpu(m, pci);
	int rc = 0;

	for (hwloc_obj_t os = object->io_first_child; g && rc == 0 && os; os = os->next_sibling) {
		if (os->type != HWLOC_OBJ_OS_DEVICE)
			continue;
		if (number_after(os->name, "rsmi") >= 0 && g->index >= 0) {
			g = machine_add_gpu(m, pci);
			if (!g)
				break;
		}
		rc = read_gpu_info(os, g);
	}
	return g ? rc : -ENOMEM;
}

static enum link_state state_of(const char *number)
{
	/* The numbers of PortInfo.PortState: 1 down, 2 init, 3 armed, 4 active. */
	static const enum link_state states[] = { LINK_UNKNOWN, LINK_DOWN, LINK_INIT, LINK_ARMED,
						  LINK_ACTIVE };
	uint64_t value;

	return number && u64_parse(number, 4, &value) ? states[value] : LINK_UNKNOWN;
}

/* "0x527" */
static int lid_of(const char *text)
{
	char *end;
	unsigned long value;

	if (!text || strncmp(text, "0x", 2) != 0)
		return -1;
	value = strtoul(text, &end, 16);
	return *end == '\0' && value <= 0xffff ? (int)value : -1;
}

/* The low half of "fe80:0000:0000:0000:506b:4b03:003c:eee8" is the port GUID. */
static uint64_t gid_guid(const char *gid)
{
	uint64_t guid = 0;

	return gid && strlen(gid) == 39 && guid_parse_sysfs(gid + 20, &guid) ? guid : 0;
}

static uint64_t guid_of(const char *text)
{
	uint64_t guid = 0;

	return text && guid_parse_sysfs(text, &guid) ? guid : 0;
}

static int read_verbs_port(struct machine *m, hwloc_obj_t os, const struct machine_pci *pci,
			   int number)
{
	struct machine_port *p = machine_add_port(m, os->name, number);

	if (!p)
		return -ENOMEM;
	p->place = pci->place;
	p->placed = true;
	p->vendor = pci->vendor;
	p->model = pci->device;
	p->node_guid = guid_of(hwloc_obj_get_info_by_name(os, "NodeGUID"));
	p->system_guid = guid_of(hwloc_obj_get_info_by_name(os, "SysImageGUID"));
	p->state = state_of(port_info(os, number, "State"));
	p->lid = lid_of(port_info(os, number, "LID"));
	p->guid = gid_guid(port_info(os, number, "GID0"));
	return 0;
}

/* hwloc keeps no count: a port is there when anything is said about it, and one always is. */
static int read_verbs_device(struct machine *m, hwloc_obj_t os, const struct machine_pci *pci)
{
	int rc = read_verbs_port(m, os, pci, 1);

	for (int i = 2; rc == 0 && i <= 255; i++)
		if (port_info(os, i, "State") || port_info(os, i, "LID"))
			rc = read_verbs_port(m, os, pci, i);
	return rc;
}

static int read_slingshot(struct machine *m, hwloc_obj_t os, const struct machine_pci *pci)
{
	struct machine_port *p = machine_add_port(m, os->name, 1);

	if (!p)
		return -ENOMEM;
	p->place = pci->place;
	p->placed = true;
	p->vendor = pci->vendor;
	p->model = pci->device;
	return set_string(&p->layer, MAP_SLINGSHOT);
}

static int read_nic(struct machine *m, hwloc_obj_t object, const struct machine_pci *pci)
{
	int rc = 0;

	for (hwloc_obj_t os = object->io_first_child; rc == 0 && os; os = os->next_sibling) {
		if (os->type != HWLOC_OBJ_OS_DEVICE || !os->name)
			continue;
		if (os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
			rc = read_verbs_device(m, os, pci);
		else if (os->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK &&
			 pci->vendor == VENDOR_HPE && pci->class == 0x0200)
			rc = read_slingshot(m, os, pci);
	}
	return rc;
}

static int read_devices(struct reader *r)
{
	hwloc_obj_t object = NULL;
	int rc = 0;

	while (rc == 0 && (object = hwloc_get_next_pcidev(r->topology, object))) {
		struct machine_pci pci;
		rc = read_pci(r, object, &pci);
		if (rc == 0 && machine_pci_is_gpu(&pci))
			rc = read_gpu(r->machine, object, &pci);
		else if (rc == 0)
			rc = read_nic(r->machine, object, &pci);
	}
	if (rc == 0 && hwloc_get_nbobjs_by_type(r->topology, HWLOC_OBJ_PCI_DEVICE) == 0) {
		r->machine->remark =
			strdup("the file holds no I/O devices: write it with lstopo --whole-io");
		rc = r->machine->remark ? 0 : -ENOMEM;
	}
	return rc;
}

/*
 * hwloc refuses with EINVAL alone, and leaks what it has read of a file that breaks off: both
 * common cases, a file that was cut and one that hwloc 3 wrote, are told apart before.
 */
static int check_text(const char *text, size_t len, const char *source, struct err *err)
{
	static const char end[] = "</topology>";

	if (!strstr(text, "<topology"))
		return err_set(
			err, EPROTO,
			"%s: no topology of hwloc (lstopo --whole-io FILE.xml writes it) and "
			"none of NCCL (NCCL_TOPO_DUMP_FILE)",
			source);
	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		len--;
	if (len < strlen(end) || memcmp(text + len - strlen(end), end, strlen(end)) != 0)
		return err_set(err, EPROTO, "%s: it does not end in %s: it was cut", source, end);
#if HWLOC_API_VERSION < 0x00030000
	text = strstr(text, "<topology version=\"");
	if (text && text[19] >= '3' && text[19] <= '9')
		return err_set(err, EPROTO,
			       "%s: hwloc XML version %.3s can't be read by the hwloc %d here; "
			       "export it in "
			       "version 2 (lstopo --export-xml-flags v2)",
			       source, text + 19, HWLOC_API_VERSION >> 16);
#endif
	return 0;
}

int machine_hwloc_xml(struct machine *m, const char *text, size_t len, const char *source,
		      struct err *err)
{
	struct reader r = { .machine = m };
	int rc = check_text(text, len, source, err);

	if (rc < 0)
		return rc;
	rc = load_topology(&r.topology, NULL, text, len);
	if (rc < 0)
		return err_set(err, -rc, "%s: hwloc finds its XML broken: %s", source,
			       strerror(-rc));
	rc = read_devices(&r);
	if (rc == 0)
		rc = set_string(&m->host, hwloc_obj_get_info_by_name(hwloc_get_root_obj(r.topology),
								     "HostName"));
	free(r.bridges);
	hwloc_topology_destroy(r.topology);
	if (rc < 0)
		return err_set(err, -rc, "%s: its devices can't be taken over: %s", source,
			       strerror(-rc));
	return 0;
}
