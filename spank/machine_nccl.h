/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_nccl.h - a machine from the XML that NCCL and RCCL keep of their topology.
 *
 * They write it themselves (NCCL_TOPO_DUMP_FILE), and clouds ship it for virtual machines, whose
 * own PCI tree says nothing (NCCL_TOPO_FILE). Of the second kind many name no device, only
 * addresses and the switches above them.
 */
#ifndef SPANK_MACHINE_NCCL_H
#define SPANK_MACHINE_NCCL_H

#include "machine.h"
#include "machine_hwloc.h"

/* True when the first element of text is that of such a file. */
bool machine_nccl_looks_so(const char *text);

/*
 * Reads len bytes of it (followed by a NUL) into m: bridges, GPUs, ports, remark; and every PCI
 * device that is no bridge into list, which is the caller's to clear. 0 or a negative errno.
 */
int machine_nccl_xml(struct machine *m, const char *text, size_t len, const char *source,
		     struct machine_pci_list *list, struct err *err);

#endif
