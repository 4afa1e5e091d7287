/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.c - the snapshot from sysfs and procfs, and its fingerprint; see machine.h.
 *
 * hwloc lists the PCI devices with the tree above them (machine_hwloc.c); this file adds what only
 * the drivers say: HCA ports from sys/class/infiniband, NVIDIA's numbers from proc/driver/nvidia,
 * NUMA nodes as the kernel has them (-1 stays unknown). All paths are below one folder and are
 * resolved inside it, so that a recorded machine is read like the running one and can't point
 * outside itself. Every file is short and is read with a bound.
 */
#include "machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "choose.h"
#include "io.h"
#include "machine_hwloc.h"
#include "machine_nccl.h"
#include "text.h"

#define PATH_SIZE 512
#define LINE_SIZE 256
#define INFORMATION_MAX_BYTES 8192
#define MAX_NAMES 65536 /* entries of one folder */

/* ---- the struct ---- */

void machine_free(struct machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->gpu_count; i++) {
		free(m->gpus[i].part);
		free(m->gpus[i].uuid);
		free(m->gpus[i].model);
	}
	for (size_t i = 0; i < m->port_count; i++) {
		free(m->ports[i].device);
		free(m->ports[i].layer);
	}
	free(m->gpus);
	free(m->ports);
	free(m->bridges);
	free(m->remark);
	free(m->host);
	free(m->boot_id);
	free(m);
}

struct machine_gpu *machine_add_gpu(struct machine *m, const struct machine_pci *pci)
{
	struct machine_gpu *more;

	if (m->gpu_count >= MAP_MAX_DEVICES)
		return NULL;
	more = reallocarray(m->gpus, m->gpu_count + 1, sizeof(*more));
	if (!more)
		return NULL;
	m->gpus = more;
	more[m->gpu_count] = (struct machine_gpu){
		.place = pci->place, .vendor = pci->vendor, .index = -1, .minor = -1
	};
	return &more[m->gpu_count++];
}

struct machine_port *machine_add_port(struct machine *m, const char *device, int port)
{
	struct machine_port *more;
	char *name = m->port_count < MAP_MAX_DEVICES ? io_printable(device) : NULL;

	if (!name)
		return NULL;
	more = reallocarray(m->ports, m->port_count + 1, sizeof(*more));
	if (!more) {
		free(name);
		return NULL;
	}
	m->ports = more;
	more[m->port_count] = (struct machine_port){
		.place = { .bridge = MACHINE_NONE, .numa = -1, .package = -1 },
		.device = name,
		.port = port,
		.lid = -1,
	};
	return &more[m->port_count++];
}

int machine_bdf_order(const struct machine_bdf *a, const struct machine_bdf *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	if (a->bus != b->bus)
		return a->bus < b->bus ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

/* Hexadecimal digits, from least to most of them; moves *text behind them. */
static bool hex_field(const char **text, size_t least, size_t most, uint32_t *value)
{
	size_t n = strspn(*text, "0123456789abcdefABCDEF");
	char digits[9];

	if (n < least || n > most)
		return false;
	memcpy(digits, *text, n);
	digits[n] = '\0';
	*value = (uint32_t)strtoul(digits, NULL, 16);
	*text += n;
	return true;
}

bool machine_bdf_parse(const char *text, struct machine_bdf *bdf)
{
	uint32_t domain, bus, device, function;

	if (!hex_field(&text, 4, 8, &domain) || *text++ != ':' || !hex_field(&text, 2, 2, &bus) ||
	    *text++ != ':' || !hex_field(&text, 2, 2, &device) || *text++ != '.' ||
	    !hex_field(&text, 1, 1, &function) || *text != '\0' || device > 31 || function > 7)
		return false;
	*bdf = (struct machine_bdf){ domain, (uint8_t)bus, (uint8_t)device, (uint8_t)function };
	return true;
}

char *machine_bdf_text(const struct machine_bdf *bdf)
{
	return io_format("%04x:%02x:%02x.%x", bdf->domain, bdf->bus, bdf->device, bdf->function);
}

/* Parts as Slurm has them: by the names of their files. */
static int gpu_order(const void *a, const void *b)
{
	const struct machine_gpu *ga = a, *gb = b;
	const int keys[][2] = { { ga->caps[0], gb->caps[0] },
				{ ga->caps[1], gb->caps[1] },
				{ ga->index, gb->index },
				{ ga->minor, gb->minor } };
	int order = machine_bdf_order(&ga->place.bdf, &gb->place.bdf);

	for (size_t i = 0; order == 0 && i < sizeof(keys) / sizeof(keys[0]); i++)
		order = (keys[i][0] > keys[i][1]) - (keys[i][0] < keys[i][1]);
	return order;
}

static int port_order(const void *a, const void *b)
{
	const struct machine_port *pa = a, *pb = b;
	int order = strverscmp(pa->device, pb->device);

	return order ? order : (pa->port > pb->port) - (pa->port < pb->port);
}

/* Sorts, and drops a port that is there twice (an XML file can say so; a name means one port). */
static void sort_devices(struct machine *m)
{
	size_t kept = 0;

	if (m->gpu_count)
		qsort(m->gpus, m->gpu_count, sizeof(*m->gpus), gpu_order);
	if (m->port_count)
		qsort(m->ports, m->port_count, sizeof(*m->ports), port_order);
	for (size_t i = 0; i < m->port_count; i++) {
		if (kept && port_order(&m->ports[kept - 1], &m->ports[i]) == 0) {
			free(m->ports[i].device);
			free(m->ports[i].layer);
		} else {
			m->ports[kept++] = m->ports[i];
		}
	}
	m->port_count = kept;
}

/* ---- switches that show more levels than they have ---- */

uint64_t machine_bridge_id(uint16_t vendor, uint16_t device, uint16_t subvendor, uint16_t subdevice)
{
	return (uint64_t)vendor << 48 | (uint64_t)device << 32 | (uint64_t)subvendor << 16 |
	       subdevice;
}

/* Broadcom's PEX switches of PCIe 4 (c010) and 5 (c030). */
static bool is_part(uint64_t id, uint64_t above)
{
	const uint64_t model = ~UINT64_C(0xfff);

	if ((id & model) == UINT64_C(0x1000c0101000a000))
		return id == above;
	return (id & model) == UINT64_C(0x1000c03010001000) &&
	       (above & model) == UINT64_C(0x1000c03010000000);
}

static size_t parent_of(const struct machine *m, size_t bridge)
{
	return bridge < m->bridge_count ? m->bridges[bridge].parent : MACHINE_NONE;
}

/* Below a root port every second bridge is the port of a switch that leads up. */
static bool leads_up(const struct machine *m, size_t bridge)
{
	size_t above = 0;

	while ((bridge = parent_of(m, bridge)) < m->bridge_count && !m->bridges[bridge].host)
		if (++above > m->bridge_count)
			return false;
	return above % 2 == 1;
}

/*
 * One chip of these shows itself as a switch with switches below it. As NCCL does
 * (ncclTopoFlattenBcmSwitches in its topo.cc), what hangs below the lower ones is put below the
 * upper one, since the way from one to the other is no longer than inside one of them.
 */
static int flatten_switches(struct machine *m)
{
	size_t *upper = calloc(m->bridge_count + 1, sizeof(*upper));

	if (!upper)
		return -ENOMEM;
	for (size_t i = 0; i < m->bridge_count; i++) {
		size_t above = parent_of(m, parent_of(m, i));

		upper[i] = MACHINE_NONE;
		if (above < m->bridge_count && leads_up(m, i) &&
		    is_part(m->bridges[i].id, m->bridges[above].id))
			upper[i] = above;
	}
	for (size_t i = 0; i < m->bridge_count; i++)
		while (m->bridges[i].parent < m->bridge_count &&
		       upper[m->bridges[i].parent] != MACHINE_NONE)
			m->bridges[i].parent = upper[m->bridges[i].parent];
	free(upper);
	return 0;
}

static int finish(struct machine *m)
{
	sort_devices(m);
	return flatten_switches(m);
}

/* ---- reading below a root ---- */

/* The path of a device's file: "sys/class/infiniband" and so on. False when it is too long. */
static bool path_format(char path[PATH_SIZE], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static bool path_format(char path[PATH_SIZE], const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, PATH_SIZE, fmt, ap);
	va_end(ap);
	return n >= 0 && n < PATH_SIZE;
}

/*
 * Opens path below root; symbolic links, absolute ones too, are followed inside it. Kernels before
 * 5.6 do not have openat2 (and some sandboxes forbid it), and EAGAIN means that somebody mounted
 * or renamed at the same moment: in the end links are followed as they are.
 */
static int open_below(int root, const char *path, int flags)
{
	struct open_how how = { .resolve = RESOLVE_IN_ROOT };
	long fd = -1;

	flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY);
	how.flags = (uint64_t)flags;
	for (int tries = 0; tries < 8; tries++) {
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
		return openat(root, path, flags);
	return (int)fd;
}

/* The first line of a short file, without blanks at its end; false: not there or not readable. */
static bool read_line(int root, const char *path, char line[LINE_SIZE])
{
	int fd = open_below(root, path, O_RDONLY);
	ssize_t n;
	size_t len;

	if (fd < 0)
		return false;
	n = read(fd, line, LINE_SIZE - 1);
	close(fd);
	if (n <= 0)
		return false;
	line[n] = '\0';
	len = strcspn(line, "\n");
	while (len > 0 && strchr(" \t\r", line[len - 1]))
		len--;
	line[len] = '\0';
	return len > 0;
}

/* Calls each() for every name in a folder until it fails. A folder that is not there has none. */
static int for_each_name(int root, const char *path, int (*each)(void *arg, const char *name),
			 void *arg)
{
	int fd = open_below(root, path, O_RDONLY | O_DIRECTORY), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		rc = errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (int n = 0; rc == 0 && n < MAX_NAMES && (entry = readdir(dir)); n++)
		if (entry->d_name[0] != '.')
			rc = each(arg, entry->d_name);
	closedir(dir);
	return rc;
}

/* The folder that a link leads to, as the kernel writes it: a link may have several ways ("../..").
 */
static bool read_link_path(int root, const char *folder, const char *link, char target[PATH_MAX])
{
	char path[PATH_SIZE], own[64];
	ssize_t n;
	int fd;

	if (!path_format(path, "%s/%s", folder, link))
		return false;
	fd = open_below(root, path, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return false;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	n = readlink(own, target, PATH_MAX - 1);
	close(fd);
	target[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_link_name(int root, const char *folder, const char *link, char name[LINE_SIZE])
{
	char target[PATH_MAX], *slash;

	if (!read_link_path(root, folder, link, target))
		return false;
	slash = strrchr(target, '/');
	return (size_t)snprintf(name, LINE_SIZE, "%s", slash ? slash + 1 : target) < LINE_SIZE;
}

/*
 * The PCI function that a link leads to; *inside: to something in it (".../0000:17:00.0/
 * mlx5_core.sf.4"), which is a part of it.
 */
static bool read_link_pci(int root, const char *folder, const char *link, struct machine_bdf *bdf,
			  bool *inside)
{
	char target[PATH_MAX], *slash;

	*inside = false;
	if (!read_link_path(root, folder, link, target))
		return false;
	while ((slash = strrchr(target, '/'))) {
		if (machine_bdf_parse(slash + 1, bdf))
			return true;
		*inside = true;
		*slash = '\0';
	}
	return false;
}

/* ---- places ---- */

/* What is gathered while a root is read. */
struct reader {
	int root;
	struct machine *machine;
	struct machine_pci_list pci;
	struct kfd_node *kfd; /* in the order ROCm counts them */
	size_t kfd_count;
};

static int package_of_node(const struct reader *r, int numa)
{
	for (size_t i = 0; i < r->pci.node_count; i++)
		if (r->pci.nodes[i].numa == numa)
			return r->pci.nodes[i].package;
	return -1;
}

/* The kernel's word on the NUMA node goes first: hwloc takes -1 (unknown) for "all of them". */
static void correct_place(const struct reader *r, const char *bdf, struct machine_place *place)
{
	char path[PATH_SIZE], line[LINE_SIZE];
	uint64_t numa;

	if (!path_format(path, "sys/bus/pci/devices/%s/numa_node", bdf) ||
	    !read_line(r->root, path, line))
		return;
	if (!u64_parse(line, INT32_MAX, &numa)) {
		place->numa = -1;
		return;
	}
	place->numa = (int)numa;
	if (place->package < 0)
		place->package = package_of_node(r, place->numa);
}

static const struct machine_pci *find_pci(const struct reader *r, const struct machine_bdf *bdf)
{
	for (size_t i = 0; i < r->pci.count; i++)
		if (machine_bdf_order(&r->pci.devices[i].place.bdf, bdf) == 0)
			return &r->pci.devices[i];
	return NULL;
}

/* ---- GPUs ---- */

/*
 * "Device Minor: \t 3": the value behind a name at the start of a line, printable and malloc'ed;
 * NULL: not there.
 */
static char *information_field(const char *text, const char *name)
{
	size_t len = strlen(name), n;
	char *value;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) != 0 || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		n = strcspn(line, "\r\n");
		while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
			n--;
		value = n ? strndup(line, n) : NULL;
		return value ? text_printable(line, value, n + 1) : NULL;
	}
	return NULL;
}

static void parse_information(const char *text, struct machine_gpu *g)
{
	char *minor = information_field(text, "Device Minor");
	uint64_t value;

	if (minor && u64_parse(minor, 65535, &value))
		g->minor = (int)value;
	free(minor);
	g->model = information_field(text, "Model");
	g->uuid = information_field(text, "GPU UUID");
	/* The driver prints "GPU-????????-..." until the GPU is initialised for the first time. */
	if (g->uuid && strchr(g->uuid, '?')) {
		free(g->uuid);
		g->uuid = NULL;
	}
}

/* Up to max bytes of a file below the root, malloc'ed; NULL: not there, too long, not readable. */
static char *read_text(const struct reader *r, const char *path, size_t max)
{
	int fd = open_below(r->root, path, O_RDONLY);
	char *text = NULL;
	size_t len;

	if (fd >= 0 && io_read_fd(fd, path, max, &text, &len, NULL) < 0)
		text = NULL;
	if (fd >= 0)
		close(fd);
	return text;
}

static void read_information(const struct reader *r, const char *bdf, struct machine_gpu *g)
{
	char path[PATH_SIZE], *text = NULL;

	if (path_format(path, "proc/driver/nvidia/gpus/%s/information", bdf))
		text = read_text(r, path, INFORMATION_MAX_BYTES);
	if (text)
		parse_information(text, g);
	free(text);
}

/* ---- MIG: a GPU in parts ---- */

/* The folders of one GPU's instances while they are read. */
struct mig {
	const struct reader *r;
	const char *folder;
	struct machine_gpu whole; /* its strings are those of the machine's own entry */
	int instance, cap;	  /* of the GPU instance whose compute instances are read */
	size_t count;
};

/* The number behind "DeviceFileMinor:" of a capability's access file, -1 unknown. */
static int capability(const struct reader *r, const char *folder)
{
	char path[PATH_SIZE], *text = NULL, *field = NULL;
	uint64_t value;
	int cap = -1;

	if (path_format(path, "%s/access", folder))
		text = read_text(r, path, INFORMATION_MAX_BYTES);
	if (text)
		field = information_field(text, "DeviceFileMinor");
	if (field && u64_parse(field, INT32_MAX, &value))
		cap = (int)value;
	free(field);
	free(text);
	return cap;
}

/* "gi3" */
static int instance_number(const char *name, const char *prefix)
{
	uint64_t value;

	return !strncmp(name, prefix, 2) && u64_parse(name + 2, 255, &value) ? (int)value : -1;
}

static int add_part(struct mig *mig, int compute, int cap)
{
	const struct machine_gpu *whole = &mig->whole;
	const struct machine_pci pci = { .place = whole->place, .vendor = whole->vendor };
	struct machine_gpu *g = machine_add_gpu(mig->r->machine, &pci);

	if (!g)
		return -ENOMEM;
	mig->count++;
	g->minor = whole->minor;
	g->caps[0] = mig->cap;
	g->caps[1] = cap;
	g->part = io_format("%d/%d", mig->instance, compute);
	if (whole->model)
		g->model = strdup(whole->model);
	/* CUDA's older form, for which no library has to be asked */
	if (whole->uuid)
		g->uuid = io_format("MIG-%s/%d/%d", whole->uuid, mig->instance, compute);
	return g->part && !g->model == !whole->model && !g->uuid == !whole->uuid ? 0 : -ENOMEM;
}

static int read_compute_instance(void *arg, const char *name)
{
	struct mig *mig = arg;
	int number = instance_number(name, "ci");
	char path[PATH_SIZE];

	if (number < 0 || !path_format(path, "%s/gi%d/%s", mig->folder, mig->instance, name))
		return 0;
	return add_part(mig, number, capability(mig->r, path));
}

static int read_gpu_instance(void *arg, const char *name)
{
	struct mig *mig = arg;
	char path[PATH_SIZE];

	mig->instance = instance_number(name, "gi");
	if (mig->instance < 0 || !path_format(path, "%s/%s", mig->folder, name))
		return 0;
	mig->cap = capability(mig->r, path);
	return for_each_name(mig->r->root, path, read_compute_instance, mig);
}

/* Puts the parts of the last GPU in its place, where it has any. */
static int read_parts(const struct reader *r)
{
	struct machine *m = r->machine;
	size_t at = m->gpu_count - 1;
	char folder[PATH_SIZE];
	struct mig mig = { .r = r, .folder = folder, .whole = m->gpus[at] };
	int rc;

	if (mig.whole.minor < 0 ||
	    !path_format(folder, "proc/driver/nvidia/capabilities/gpu%d/mig", mig.whole.minor))
		return 0;
	rc = for_each_name(r->root, folder, read_gpu_instance, &mig);
	if (mig.count == 0)
		return rc;
	free(mig.whole.model);
	free(mig.whole.uuid);
	m->gpu_count--;
	memmove(&m->gpus[at], &m->gpus[at + 1], (m->gpu_count - at) * sizeof(*m->gpus));
	return rc;
}

/* ---- AMD: KFD's nodes, which are what ROCm counts ---- */

struct kfd_node {
	int number;
	struct machine_bdf bdf;
	int minor;
	uint64_t unique_id; /* 0 unknown */
};

struct kfd {
	const struct reader *r;
	struct kfd_node *nodes; /* those with a GPU */
	size_t count;
};

/* "simd_count 304": the number behind a name at the start of a line. */
static bool property(const char *text, const char *name, uint64_t *value)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ' &&
		    strspn(line + len + 1, "0123456789") > 0) {
			*value = strtoull(line + len + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

/*
 * location_id is bus, device and function (amdkfd's kfd_topology_add_device()); the number of a
 * partition was added to the function by some kernels and is in the upper bits in others.
 */
static struct machine_bdf kfd_address(const struct reader *r, uint64_t domain, uint64_t location)
{
	struct machine_bdf bdf = { (uint32_t)domain, (uint8_t)(location >> 8), location >> 3 & 0x1f,
				   location & 7 };

	if (!find_pci(r, &bdf))
		bdf.function = 0;
	return bdf;
}

static int read_kfd_node(void *arg, const char *name)
{
	struct kfd *kfd = arg;
	uint64_t number, simds = 0, location = 0, domain = 0, minor = 0;
	struct kfd_node *more;
	char path[PATH_SIZE], *text = NULL;

	if (u64_parse(name, 65535, &number) &&
	    path_format(path, "sys/class/kfd/kfd/topology/nodes/%s/properties", name))
		text = read_text(kfd->r, path, INFORMATION_MAX_BYTES);
	if (!text || !property(text, "simd_count", &simds) || simds == 0 ||
	    !property(text, "location_id", &location)) {
		free(text);
		return 0;
	}
	property(text, "domain", &domain);
	more = reallocarray(kfd->nodes, kfd->count + 1, sizeof(*more));
	if (more) {
		kfd->nodes = more;
		more[kfd->count] = (struct kfd_node){
			.number = (int)number,
			.bdf = kfd_address(kfd->r, domain, location),
			.minor = property(text, "drm_render_minor", &minor) && minor > 0 &&
						 minor < 65536
					 ? (int)minor
					 : -1,
		};
		property(text, "unique_id", &more[kfd->count++].unique_id);
	}
	free(text);
	return more ? 0 : -ENOMEM;
}

static int by_number(const void *a, const void *b)
{
	const struct kfd_node *na = a, *nb = b;

	return (na->number > nb->number) - (na->number < nb->number);
}

static int read_kfd(struct reader *r)
{
	struct kfd kfd = { .r = r };
	int rc = for_each_name(r->root, "sys/class/kfd/kfd/topology/nodes", read_kfd_node, &kfd);

	if (kfd.count)
		qsort(kfd.nodes, kfd.count, sizeof(*kfd.nodes), by_number);
	r->kfd = kfd.nodes;
	r->kfd_count = kfd.count;
	return rc;
}

/* ---- a PCI device that is a GPU ---- */

static int take_render_minor(void *arg, const char *name)
{
	struct machine_gpu *g = arg;
	uint64_t value;

	if (!strncmp(name, "renderD", 7) && u64_parse(name + 7, 65535, &value))
		g->minor = (int)value;
	return 0;
}

/* An AMD function that another driver than amdgpu has is a display, or given to a guest. */
static bool driven_by_other(const struct reader *r, const char *bdf)
{
	char path[PATH_SIZE], driver[LINE_SIZE];

	return path_format(path, "sys/bus/pci/devices/%s", bdf) &&
	       read_link_name(r->root, path, "driver", driver) && strcmp(driver, "amdgpu") != 0;
}

static struct machine_gpu *add_gpu(const struct reader *r, const struct machine_pci *pci,
				   const char *bdf)
{
	struct machine_gpu *g = machine_add_gpu(r->machine, pci);

	if (g)
		correct_place(r, bdf, &g->place);
	return g;
}

static int fill_amd(const struct reader *r, const char *bdf, struct machine_gpu *g, size_t kfd)
{
	char path[PATH_SIZE], line[LINE_SIZE];

	if (kfd < r->kfd_count) {
		g->index = (int)kfd;
		g->minor = r->kfd[kfd].minor;
		if (r->kfd[kfd].unique_id)
			g->uuid =
				io_format("GPU-%016llx", (unsigned long long)r->kfd[kfd].unique_id);
	}
	if (path_format(path, "sys/bus/pci/devices/%s/product_name", bdf) &&
	    read_line(r->root, path, line))
		g->model = io_printable(line);
	if (g->minor >= 0 || !path_format(path, "sys/bus/pci/devices/%s/drm", bdf))
		return 0;
	return for_each_name(r->root, path, take_render_minor, g);
}

/* As many GPUs as KFD has nodes there (MI300 can be cut into partitions); without KFD it is one. */
static int read_amd(const struct reader *r, const struct machine_pci *pci, const char *bdf)
{
	struct machine_gpu *g;
	int rc = 0;
	bool any = false;

	for (size_t i = 0; rc == 0 && i < r->kfd_count; i++) {
		if (machine_bdf_order(&r->kfd[i].bdf, &pci->place.bdf) != 0)
			continue;
		any = true;
		g = add_gpu(r, pci, bdf);
		rc = g ? fill_amd(r, bdf, g, i) : -ENOMEM;
	}
	if (any || driven_by_other(r, bdf))
		return rc;
	g = add_gpu(r, pci, bdf);
	return g ? fill_amd(r, bdf, g, r->kfd_count) : -ENOMEM;
}

static int read_nvidia(const struct reader *r, const struct machine_pci *pci, const char *bdf)
{
	struct machine_gpu *g = add_gpu(r, pci, bdf);

	if (!g)
		return -ENOMEM;
	read_information(r, bdf, g);
	return read_parts(r);
}

static int read_gpu(const struct reader *r, const struct machine_pci *pci)
{
	char *bdf = machine_bdf_text(&pci->place.bdf);
	int rc = -ENOMEM;

	if (bdf)
		rc = pci->vendor == VENDOR_NVIDIA ? read_nvidia(r, pci, bdf)
						  : read_amd(r, pci, bdf);
	free(bdf);
	return rc;
}

/* What NVIDIA's driver lists is a GPU, also where PCI said too little (or hwloc left it out). */
static int read_listed_gpu(void *arg, const char *name)
{
	const struct reader *r = arg;
	struct machine_pci pci = { .place = { .bridge = MACHINE_NONE, .numa = -1, .package = -1 } };
	const struct machine_pci *known;

	if (!machine_bdf_parse(name, &pci.place.bdf))
		return 0;
	for (size_t i = 0; i < r->machine->gpu_count; i++)
		if (machine_bdf_order(&r->machine->gpus[i].place.bdf, &pci.place.bdf) == 0)
			return 0;
	known = find_pci(r, &pci.place.bdf);
	if (known)
		pci = *known;
	pci.vendor = VENDOR_NVIDIA;
	return read_gpu(r, &pci);
}

/* ---- ports ---- */

/* "4: ACTIVE" */
static enum link_state parse_state(const char *line)
{
	switch (line[0]) {
	case '1':
		return LINK_DOWN;
	case '2':
		return LINK_INIT;
	case '3':
		return LINK_ARMED;
	case '4':
		return LINK_ACTIVE;
	}
	return LINK_UNKNOWN;
}

/*
 * "200 Gb/sec (4X HDR)" to bits per second after encoding: lanes times the lane speed of the name
 * (IBTA 1.4, 14.2.5.6, LinkSpeedActive: 8b/10b up to QDR, 64b/66b from FDR on); the number itself
 * is before encoding for SDR to FDR. 0 where that can't be read.
 */
static uint64_t parse_rate(const char *line)
{
	static const struct {
		const char *name;
		uint64_t lane_bps;
	} speeds[] = {
		{ "SDR", 2000000000 },	  { "DDR", 4000000000 },   { "QDR", 8000000000 },
		{ "FDR10", 10000000000 }, { "FDR", 13636363636 },  { "EDR", 25000000000 },
		{ "HDR", 50000000000 },	  { "NDR", 100000000000 }, { "XDR", 200000000000 },
	};
	unsigned int lanes = 0;
	char name[8] = "";
	double gigabits;

	if (sscanf(line, "%lf Gb/sec (%2uX %7[A-Z0-9])", &gigabits, &lanes, name) < 1)
		return 0;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
		if (lanes > 0 && !strcmp(name, speeds[i].name))
			return lanes * speeds[i].lane_bps;
	return gigabits > 0 && gigabits < 1e6 ? (uint64_t)(gigabits * 1e9) : 0;
}

static uint64_t read_guid(const struct reader *r, const char *path)
{
	char line[LINE_SIZE];
	uint64_t guid = 0;

	return read_line(r->root, path, line) && guid_parse_sysfs(line, &guid) ? guid : 0;
}

/* The port GUID is the low half of the first GID; on Ethernet that is made from a MAC instead. */
static uint64_t read_port_guid(const struct reader *r, const char *folder, const char *layer)
{
	char path[PATH_SIZE], line[LINE_SIZE];
	uint64_t guid = 0;

	if ((layer && strcasecmp(layer, "InfiniBand") != 0) ||
	    !path_format(path, "%s/gids/0", folder) || !read_line(r->root, path, line) ||
	    strlen(line) != 39)
		return 0;
	return guid_parse_sysfs(line + 20, &guid) ? guid : 0;
}

static bool port_line(const struct reader *r, const char *folder, const char *file,
		      char line[LINE_SIZE])
{
	char path[PATH_SIZE];

	return path_format(path, "%s/%s", folder, file) && read_line(r->root, path, line);
}

static int fill_port(const struct reader *r, const char *folder, struct machine_port *p)
{
	char line[LINE_SIZE];
	unsigned long lid;

	if (port_line(r, folder, "state", line))
		p->state = parse_state(line);
	if (port_line(r, folder, "rate", line))
		p->rate_bps = parse_rate(line);
	if (port_line(r, folder, "lid", line)) {
		lid = strtoul(line, NULL, 0);
		p->lid = lid <= 0xffff ? (int)lid : -1;
	}
	if (port_line(r, folder, "link_layer", line) && strncmp(line, "Un", 2) != 0) {
		p->layer = io_printable(line);
		if (!p->layer)
			return -ENOMEM;
	}
	p->guid = read_port_guid(r, folder, p->layer);
	return 0;
}

/* One HCA while its ports are read; model is what they have in common. */
struct device {
	const struct reader *reader;
	const char *name;
	struct machine_port model;
};

static int read_port(void *arg, const char *name)
{
	const struct device *d = arg;
	char folder[PATH_SIZE];
	struct machine_port *p;
	uint64_t number;

	if (!u64_parse(name, 255, &number) ||
	    !path_format(folder, "sys/class/infiniband/%s/ports/%s", d->name, name))
		return 0;
	p = machine_add_port(d->reader->machine, d->name, (int)number);
	if (!p)
		return -ENOMEM;
	p->place = d->model.place;
	p->placed = d->model.placed;
	p->vendor = d->model.vendor;
	p->model = d->model.model;
	p->node_guid = d->model.node_guid;
	p->system_guid = d->model.system_guid;
	p->virtual_function = d->model.virtual_function;
	p->physical = d->model.physical;
	return fill_port(d->reader, folder, p);
}

/* Where the device is that folder/device leads to; false: no PCI device is known. */
static bool place_device(const struct reader *r, const char *folder, struct machine_port *p)
{
	const struct machine_pci *pci;
	char path[PATH_SIZE], *bdf;
	bool inside;

	if (!read_link_pci(r->root, folder, "device", &p->place.bdf, &inside))
		return false;
	p->placed = true;
	pci = find_pci(r, &p->place.bdf);
	if (pci) {
		p->place = pci->place;
		p->vendor = pci->vendor;
		p->model = pci->device;
	}
	p->virtual_function = inside;
	p->physical = p->place.bdf;
	bdf = machine_bdf_text(&p->place.bdf);
	if (!bdf)
		return true;
	correct_place(r, bdf, &p->place);
	if (path_format(path, "sys/bus/pci/devices/%s", bdf) &&
	    read_link_pci(r->root, path, "physfn", &p->physical, &inside))
		p->virtual_function = true;
	free(bdf);
	return true;
}

static int read_device(void *arg, const char *name)
{
	const struct reader *r = arg;
	struct device d = { .reader = r, .name = name };
	char path[PATH_SIZE];

	d.model.place = (struct machine_place){ .bridge = MACHINE_NONE, .numa = -1, .package = -1 };
	if (path_format(path, "sys/class/infiniband/%s", name))
		place_device(r, path, &d.model);
	if (path_format(path, "sys/class/infiniband/%s/node_guid", name))
		d.model.node_guid = read_guid(r, path);
	if (path_format(path, "sys/class/infiniband/%s/sys_image_guid", name))
		d.model.system_guid = read_guid(r, path);
	if (!path_format(path, "sys/class/infiniband/%s/ports", name))
		return 0;
	return for_each_name(r->root, path, read_port, &d);
}

static int take_cxi_name(void *arg, const char *name)
{
	char *to = arg;

	if (!strncmp(name, "cxi", 3))
		snprintf(to, LINE_SIZE, "%s", name);
	return 0;
}

/*
 * HPE's NICs are no verbs devices: their cxi device stands for them, which is what libfabric calls
 * them, or without its driver's class their network interface.
 */
static int read_slingshot(void *arg, const char *name)
{
	const struct reader *r = arg;
	char folder[PATH_SIZE], path[PATH_SIZE], line[LINE_SIZE], device[LINE_SIZE];
	struct machine_port model = { .place = { .bridge = MACHINE_NONE,
						 .numa = -1,
						 .package = -1 } },
			    *p;

	if (!path_format(folder, "sys/class/net/%s", name) ||
	    !path_format(path, "%s/device/vendor", folder) || !read_line(r->root, path, line) ||
	    strtoul(line, NULL, 16) != VENDOR_HPE || !place_device(r, folder, &model))
		return 0;
	snprintf(device, sizeof(device), "%s", name);
	if (path_format(path, "%s/device/cxi", folder))
		for_each_name(r->root, path, take_cxi_name, device);
	p = machine_add_port(r->machine, device, 1);
	if (!p)
		return -ENOMEM;
	p->place = model.place;
	p->placed = true;
	p->vendor = VENDOR_HPE;
	p->model = model.model;
	if (port_line(r, folder, "operstate", line))
		p->state = !strcmp(line, "up") ? LINK_ACTIVE : LINK_DOWN;
	p->layer = strdup(MAP_SLINGSHOT);
	return p->layer ? 0 : -ENOMEM;
}

/* A virtual function counts as one only where its physical function is a port of this host too. */
static void check_virtual(struct machine *m)
{
	for (size_t i = 0; i < m->port_count; i++) {
		bool found = false;
		for (size_t k = 0; m->ports[i].virtual_function && k < m->port_count; k++)
			found |= k != i && m->ports[k].placed &&
				 strcmp(m->ports[k].device, m->ports[i].device) != 0 &&
				 machine_bdf_order(&m->ports[k].place.bdf, &m->ports[i].physical) ==
					 0;
		m->ports[i].virtual_function = found;
	}
}

/* ---- the snapshot ---- */

static int read_devices(struct reader *r)
{
	int rc = read_kfd(r);

	for (size_t i = 0; rc == 0 && i < r->pci.count; i++)
		if (machine_pci_is_gpu(&r->pci.devices[i]))
			rc = read_gpu(r, &r->pci.devices[i]);
	if (rc == 0)
		rc = for_each_name(r->root, "proc/driver/nvidia/gpus", read_listed_gpu, r);
	if (rc == 0)
		rc = for_each_name(r->root, "sys/class/infiniband", read_device, r);
	if (rc == 0)
		rc = for_each_name(r->root, "sys/class/net", read_slingshot, r);
	if (rc < 0)
		return rc;
	check_virtual(r->machine);
	return finish(r->machine);
}

static int read_boot_id(struct reader *r)
{
	char line[LINE_SIZE];

	if (!read_line(r->root, "proc/sys/kernel/random/boot_id", line) || !name_valid(line, 36))
		return 0;
	r->machine->boot_id = strdup(line);
	return r->machine->boot_id ? 0 : -ENOMEM;
}

static int open_root(const char *root, struct err *err)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		int code = errno;
		return err_set(err, code, "%s: can't be opened as a machine's root: %s", root,
			       strerror(code));
	}
	return fd;
}

/* hwloc's own answer to a folder that is no machine is "Invalid argument". */
static int check_root(const struct reader *r, const char *root, struct err *err)
{
	int fd = open_below(r->root, "sys/bus", O_PATH | O_DIRECTORY);

	if (fd < 0)
		return err_set(err, ENOENT, "%s: no recorded machine: it holds no folder sys/bus",
			       root);
	close(fd);
	return 0;
}

static int read_root(struct reader *r, const char *root, struct err *err)
{
	int rc = check_root(r, root, err);

	if (rc == 0)
		rc = machine_hwloc_root(r->machine, root, &r->pci, err);
	if (rc < 0)
		return rc;
	r->machine->live = true;
	if (r->pci.count == 0) {
		r->machine->remark =
			io_format("%s/sys/bus/pci holds no devices", strcmp(root, "/") ? root : "");
		if (!r->machine->remark)
			return err_set(err, ENOMEM, "%s: out of memory", root);
	}
	rc = read_boot_id(r);
	if (rc == 0)
		rc = read_devices(r);
	if (rc < 0)
		return err_set(err, -rc, "%s: its devices can't be read: %s", root, strerror(-rc));
	return 0;
}

struct machine *machine_read(const char *root, struct err *err)
{
	struct reader r = { .root = open_root(root, err) };
	int rc = r.root;

	if (r.root >= 0) {
		r.machine = calloc(1, sizeof(*r.machine));
		rc = r.machine ? read_root(&r, root, err)
			       : err_set(err, ENOMEM, "%s: out of memory", root);
		machine_pci_list_clear(&r.pci);
		free(r.kfd);
		close(r.root);
	}
	if (rc >= 0)
		return r.machine;
	machine_free(r.machine);
	errno = -rc;
	return NULL;
}

/* list: what an NCCL topology has besides, the caller's to clear. */
static struct machine *read_xml(const char *path, struct machine_pci_list *list, bool nccl,
				struct err *err)
{
	struct machine *m = calloc(1, sizeof(*m));
	char *text = NULL;
	size_t len;
	int rc;

	rc = m ? io_read(path, MACHINE_XML_MAX_BYTES, &text, &len, err)
	       : err_set(err, ENOMEM, "%s: out of memory", path);
	if (rc == 0)
		rc = nccl || machine_nccl_looks_so(text)
			     ? machine_nccl_xml(m, text, len, path, list, err)
			     : machine_hwloc_xml(m, text, len, path, err);
	free(text);
	if (rc == 0 && finish(m) < 0)
		rc = err_set(err, ENOMEM, "%s: out of memory", path);
	if (rc == 0)
		return m;
	machine_free(m);
	errno = -rc;
	return NULL;
}

struct machine *machine_read_xml(const char *path, struct err *err)
{
	struct machine_pci_list list = { 0 };
	struct machine *m = read_xml(path, &list, false, err);
	int code = errno;

	machine_pci_list_clear(&list);
	errno = code;
	return m;
}

/* ---- a tree from elsewhere ---- */

static size_t bridge_at(const struct machine *m, size_t count, const struct machine_bdf *bdf)
{
	for (size_t i = 0; i < count; i++)
		if (m->bridges[i].placed && machine_bdf_order(&m->bridges[i].bdf, bdf) == 0)
			return i;
	return MACHINE_NONE;
}

/*
 * Adds the tree's bridges behind m's; now[i] is where bridge i is then: one whose address m has is
 * m's own, so that devices below it that the tree does not know meet those that it does.
 */
static int add_bridges(struct machine *m, const struct machine *tree, size_t *now)
{
	size_t count = m->bridge_count;
	struct machine_bridge *more =
		reallocarray(m->bridges, count + tree->bridge_count + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->bridges = more;
	for (size_t i = 0; i < tree->bridge_count; i++) {
		const struct machine_bridge *b = &tree->bridges[i];

		now[i] = b->placed ? bridge_at(m, count, &b->bdf) : MACHINE_NONE;
		if (now[i] != MACHINE_NONE)
			continue;
		now[i] = m->bridge_count++;
		m->bridges[now[i]] = *b;
	}
	for (size_t i = 0; i < tree->bridge_count; i++)
		if (now[i] >= count && tree->bridges[i].parent < tree->bridge_count)
			m->bridges[now[i]].parent = now[tree->bridges[i].parent];
	return 0;
}

/* Functions of a card share its place; a tree names the first of them. */
static void put_in_place(struct machine_place *place, const struct machine_pci_list *list,
			 const size_t *now)
{
	const struct machine_pci *found = NULL;

	for (size_t i = 0; i < list->count; i++) {
		struct machine_bdf first = place->bdf;
		const struct machine_pci *pci = &list->devices[i];

		first.function = 0;
		if (machine_bdf_order(&pci->place.bdf, &place->bdf) == 0)
			found = pci;
		else if (!found && machine_bdf_order(&pci->place.bdf, &first) == 0)
			found = pci;
	}
	if (!found)
		return;
	place->bridge = now[found->place.bridge];
	if (found->place.numa >= 0)
		place->numa = found->place.numa;
}

int machine_place(struct machine *m, const char *path, struct err *err)
{
	struct machine_pci_list list = { 0 };
	struct machine *tree = read_xml(path, &list, true, err);
	int rc = tree ? 0 : -errno;
	size_t *now = NULL;

	if (rc == 0) {
		now = calloc(tree->bridge_count + 1, sizeof(*now));
		rc = now ? add_bridges(m, tree, now) : -ENOMEM;
		if (rc < 0)
			err_set(err, -rc, "%s: out of memory", path);
	}
	for (size_t i = 0; rc == 0 && i < m->gpu_count; i++)
		put_in_place(&m->gpus[i].place, &list, now);
	for (size_t i = 0; rc == 0 && i < m->port_count; i++)
		if (m->ports[i].placed)
			put_in_place(&m->ports[i].place, &list, now);
	free(now);
	machine_pci_list_clear(&list);
	machine_free(tree);
	return rc;
}

/* ---- the fingerprint ---- */

/*
 * The sum of a hash for each thing that is there: folders are listed in any order. FNV-1a, 64 bit
 * (draft-eastlake-fnv: offset basis and prime).
 */
struct print {
	int root;
	uint64_t sum;
	const char *kind;
	const char *device;
};

static void print_add(struct print *p, const char *kind, const char *a, const char *b,
		      const char *c)
{
	const char *parts[] = { kind, a, b, c };
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *at = parts[i];; at++) {
			hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
			if (*at == '\0')
				break;
		}
	p->sum += hash;
}

static int print_name(void *arg, const char *name)
{
	struct print *p = arg;

	print_add(p, p->kind, name, "", "");
	return 0;
}

/* MIG's instances come and go without anything else changing. */
static int print_gpu_instance(void *arg, const char *name)
{
	struct print *p = arg;
	char path[PATH_SIZE];

	if (strncmp(name, "gi", 2) != 0 ||
	    !path_format(path, "proc/driver/nvidia/capabilities/%s/mig/%s", p->device, name))
		return 0;
	p->kind = name;
	print_add(p, "mig", p->device, name, "");
	return for_each_name(p->root, path, print_name, p);
}

static int print_capability(void *arg, const char *name)
{
	struct print *p = arg;
	char path[PATH_SIZE];

	if (strncmp(name, "gpu", 3) != 0 ||
	    !path_format(path, "proc/driver/nvidia/capabilities/%s/mig", name))
		return 0;
	p->device = name;
	return for_each_name(p->root, path, print_gpu_instance, p);
}

static int print_port(void *arg, const char *name)
{
	struct print *p = arg;
	char path[PATH_SIZE], state[LINE_SIZE] = "", lid[LINE_SIZE] = "";

	if (path_format(path, "sys/class/infiniband/%s/ports/%s/state", p->device, name) &&
	    !read_line(p->root, path, state))
		state[0] = '\0';
	if (path_format(path, "sys/class/infiniband/%s/ports/%s/lid", p->device, name) &&
	    !read_line(p->root, path, lid))
		lid[0] = '\0';
	print_add(p, p->device, name, state, lid);
	return 0;
}

static int print_device(void *arg, const char *name)
{
	struct print *p = arg;
	char path[PATH_SIZE], target[LINE_SIZE] = "";

	if (!path_format(path, "sys/class/infiniband/%s", name) ||
	    !read_link_name(p->root, path, "device", target))
		target[0] = '\0';
	print_add(p, "hca", name, target, "");
	if (!path_format(path, "sys/class/infiniband/%s/ports", name))
		return 0;
	p->device = name;
	return for_each_name(p->root, path, print_port, p);
}

static int print_slingshot(void *arg, const char *name)
{
	struct print *p = arg;
	char path[PATH_SIZE], vendor[LINE_SIZE], state[LINE_SIZE];

	if (path_format(path, "sys/class/net/%s/device/vendor", name) &&
	    read_line(p->root, path, vendor) && strtoul(vendor, NULL, 16) == VENDOR_HPE &&
	    path_format(path, "sys/class/net/%s/operstate", name) &&
	    read_line(p->root, path, state))
		print_add(p, "net", name, state, "");
	return 0;
}

static int print_all(struct print *p)
{
	int rc;

	p->kind = "pci";
	rc = for_each_name(p->root, "sys/bus/pci/devices", print_name, p);
	p->kind = "nvidia";
	if (rc == 0)
		rc = for_each_name(p->root, "proc/driver/nvidia/gpus", print_name, p);
	p->kind = "kfd";
	if (rc == 0)
		rc = for_each_name(p->root, "sys/class/kfd/kfd/topology/nodes", print_name, p);
	if (rc == 0)
		rc = for_each_name(p->root, "proc/driver/nvidia/capabilities", print_capability, p);
	if (rc == 0)
		rc = for_each_name(p->root, "sys/class/infiniband", print_device, p);
	if (rc == 0)
		rc = for_each_name(p->root, "sys/class/net", print_slingshot, p);
	return rc;
}

int machine_fingerprint(const char *root, const char *boot_id, char text[MACHINE_FINGERPRINT],
			struct err *err)
{
	struct print p = { .root = open_root(root, err) };
	int rc;

	if (p.root < 0)
		return p.root;
	print_add(&p, "boot", boot_id, "", "");
	rc = print_all(&p);
	close(p.root);
	if (rc < 0)
		return err_set(err, -rc, "%s: its devices can't be listed: %s", root,
			       strerror(-rc));
	snprintf(text, MACHINE_FINGERPRINT, "%016llx", (unsigned long long)p.sum);
	return 0;
}

/* ---- the map ---- */

struct machine *machine_read_conf(const struct conf *conf, const char *root, struct err *err)
{
	struct machine *m = machine_read(root, err);
	int rc = m && conf->pci_tree && conf->pci_tree[0] ? machine_place(m, conf->pci_tree, err)
							  : 0;

	if (rc == 0)
		return m;
	machine_free(m);
	errno = -rc;
	return NULL;
}

static struct map *read_and_choose(const struct conf *conf, const char *host, struct err *err)
{
	struct choose_filter filter = choose_filter_from(conf);
	struct machine *m = machine_read_conf(conf, conf->root, err);
	struct map *map = m ? choose_map(m, &filter, host, err) : NULL;
	int code = errno;

	machine_free(m);
	errno = code;
	return map;
}

struct map *machine_map(const struct conf *conf, const char *host, struct err *err)
{
	char boot_id[37], fingerprint[MACHINE_FINGERPRINT];
	struct map *map;
	int rc = io_boot_id(boot_id, err);

	if (rc == 0)
		rc = machine_fingerprint(conf->root, boot_id, fingerprint, err);
	if (rc < 0) {
		errno = -rc;
		return NULL;
	}
	map = read_and_choose(conf, host, err);
	if (!map)
		return NULL;
	map->boot_id = strdup(boot_id);
	map->fingerprint = strdup(fingerprint);
	if (map->boot_id && map->fingerprint)
		return map;
	map_free(map);
	errno = -err_set(err, ENOMEM, "the node's map: out of memory");
	return NULL;
}
