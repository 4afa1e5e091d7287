/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_hwloc.h - the part of machine.h that hwloc knows: PCI devices and what is above them.
 *
 * For a root, hwloc gives the tree and the packages while machine.c reads what else sysfs has. An
 * XML file has nothing beside it, so all that hwloc kept of GPUs and ports is taken from there.
 */
#ifndef SPANK_MACHINE_HWLOC_H
#define SPANK_MACHINE_HWLOC_H

#include "machine.h"

struct machine_pci {
	struct machine_place place;
	uint16_t class, vendor, device;
};

struct machine_node { /* a NUMA node */
	int numa;
	int package; /* -1 unknown or more than one */
};

struct machine_pci_list {
	struct machine_pci *devices;
	size_t count;
	struct machine_node *nodes;
	size_t node_count;
};

void machine_pci_list_clear(struct machine_pci_list *list);

/* Reads the PCI devices of root: m's bridges and the list. */
int machine_hwloc_root(struct machine *m, const char *root, struct machine_pci_list *list, struct err *err);

/* Reads len bytes of hwloc XML (followed by a NUL) into m: bridges, GPUs, ports, remark. */
int machine_hwloc_xml(struct machine *m, const char *text, size_t len, const char *source, struct err *err);

/* True for a PCI device that runs compute jobs: by class, vendor and, for old on-board VGA, device. */
bool machine_pci_is_gpu(const struct machine_pci *pci);

/* Room for one more at the end of m's arrays, everything unknown; NULL: full, or out of memory. */
struct machine_gpu *machine_add_gpu(struct machine *m, const struct machine_pci *pci);
struct machine_port *machine_add_port(struct machine *m, const char *device, int port);

#endif
