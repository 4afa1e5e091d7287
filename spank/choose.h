/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choose.h - which HCA ports each GPU uses: from a machine to a map, without any I/O.
 *
 * The rule, in six steps: (1) all devices of the node, (2) ports filtered before they are ranked,
 * each ignored one with its reason, (3) ranked by distance: same PCIe switch tree (fewer bridges
 * first), same host bridge, same NUMA node, same package, anywhere else, unknown; bandwidth plays
 * no part, and two unknown NUMA nodes are not the same one, (4) GPUs that have the same best set
 * share it out among themselves in PCI order, ports of one card together as long as there are
 * cards enough, (5) an ordered list for each GPU, (6) a reason, most of all where there is none.
 * The whole node is seen at once, so that every process gets the same answer.
 */
#ifndef SPANK_CHOOSE_H
#define SPANK_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "conf.h"
#include "err.h"
#include "machine.h"
#include "map.h"

/* What Slurm's gres index follows, which gres.conf decides. */
enum choose_gres {
	GRES_MINOR,  /* the names of device files: File= lines */
	GRES_NVIDIA, /* the same of whole GPUs: AutoDetect=nvidia knows no MIG */
	GRES_PCI,    /* PCI addresses: AutoDetect=nvml and rsmi */
};

struct choose_filter {
	/* device names (patterns of the shell's), DEVICE:PORT, BDFs, port GUIDs, PCI ids of cards
	 * ("15b3:a2dc"); none: all */
	char *const *allow;
	size_t allow_count;
	char *const *deny;
	size_t deny_count;
	bool ethernet; /* RoCE ports are fabric ports */
	enum choose_gres gres;
};

struct choose_filter choose_filter_from(const struct conf *conf);

/*
 * The map of the machine, for the caller; host is copied, boot id and fingerprint are unknown.
 * NULL with errno ENOMEM.
 */
struct map *choose_map(const struct machine *machine, const struct choose_filter *filter,
		       const char *host, struct err *err);

#endif
