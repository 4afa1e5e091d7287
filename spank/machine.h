/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - one node's devices as they are: GPUs, HCA ports, and the PCI tree they hang in.
 *
 * A snapshot without any opinion: choose.h decides from it which GPU uses which port. It is read
 * from the running machine, from a recorded root (a folder that holds sys/ and proc/), or from an
 * XML file of hwloc or NCCL, which know less. What the source did not say is unknown (-1, 0, NULL,
 * MACHINE_NONE), never a default.
 */
#ifndef SPANK_MACHINE_H
#define SPANK_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "err.h"
#include "fabric.h"
#include "map.h"

#define MACHINE_NONE ((size_t)-1)
#define MACHINE_XML_MAX_BYTES (64u << 20)
#define MACHINE_FINGERPRINT 17 /* 16 hex digits + NUL */

#define VENDOR_NVIDIA 0x10de
#define VENDOR_AMD 0x1002
#define VENDOR_AMAZON 0x1d0f
#define VENDOR_HPE 0x17db /* Cray: Slingshot */

struct machine_bdf {
	uint32_t domain;
	uint8_t bus, device, function;
};

struct machine_bridge {
	size_t parent; /* MACHINE_NONE: nothing above it is known */
	bool host;     /* a host bridge: the root of a PCI tree */
	bool placed;   /* bdf is known */
	struct machine_bdf bdf;
	uint64_t id; /* machine_bridge_id(); 0 unknown */
};

/* Where a device sits. */
struct machine_place {
	struct machine_bdf bdf;
	size_t bridge; /* right above it; MACHINE_NONE unknown */
	int numa;      /* -1 unknown */
	int package;   /* -1 unknown */
};

struct machine_gpu {
	struct machine_place place;
	uint16_t vendor;
	int index;   /* the vendor's number; -1: number by PCI address */
	int minor;   /* NVIDIA: of /dev/nvidia<minor>; AMD: of /dev/dri/renderD<minor>; -1 unknown */
	char *part;  /* "1/0": MIG's GPU and compute instance; NULL: the whole GPU */
	int caps[2]; /* of part: numbers of their files /dev/nvidia-caps/nvidia-cap<n> */
	char *uuid;  /* NULL unknown */
	char *model; /* NULL unknown */
};

struct machine_port {
	struct machine_place place;
	bool placed; /* place.bdf is known */
	uint16_t vendor, model; /* PCI's ids of the card; 0 unknown */
	char *device;
	int port;
	uint64_t guid, node_guid, system_guid; /* 0 unknown */
	enum link_state state;
	char *layer; /* NULL unknown */
	int lid;     /* -1 unknown */
	uint64_t rate_bps;
	bool virtual_function; /* or a part of one, whose device is on this host */
	struct machine_bdf physical;
};

struct machine {
	bool live;    /* from sysfs: a state that is unknown was there to be read */
	char *remark;  /* what the source lacks, a sentence; NULL: nothing */
	char *host;    /* the recorded name; NULL unknown */
	char *boot_id; /* the recorded one; NULL unknown */
	struct machine_bridge *bridges;
	size_t bridge_count;
	struct machine_gpu *gpus; /* sorted by PCI address, then part, index and minor */
	size_t gpu_count;
	struct machine_port *ports; /* sorted by device (natural order) and port */
	size_t port_count;
};

void machine_free(struct machine *m);

/* Reads sys/ and proc/ below root ("/": this machine). NULL, errno and err on failure. */
struct machine *machine_read(const char *root, struct err *err);

/*
 * Makes the environment what machine_read(root) needs and would set for itself otherwise: for a
 * program with threads, before it has any. 0 or a negative errno.
 */
int machine_environment(const char *root);

/* Reads an XML file: of hwloc (version 1 or 2), or the topology of NCCL or RCCL. */
struct machine *machine_read_xml(const char *path, struct err *err);

/*
 * Puts m's devices where the NCCL topology at path has their addresses: for virtual machines, whose
 * own tree is flat. Devices that are not in it stay where they are. 0 or a negative errno.
 */
int machine_place(struct machine *m, const char *path, struct err *err);

/* machine_read() of root, then what conf says besides (pci_tree). */
struct machine *machine_read_conf(const struct conf *conf, const char *root, struct err *err);

/* Vendor and device, and those of the subsystem, in one number. */
uint64_t machine_bridge_id(uint16_t vendor, uint16_t device, uint16_t subvendor, uint16_t subdevice);

/* -1, 0, 1. */
int machine_bdf_order(const struct machine_bdf *a, const struct machine_bdf *b);
/* "0000:17:00.0"; either case, as PCI writes it; the domain may have more than four digits. */
bool machine_bdf_parse(const char *text, struct machine_bdf *bdf);
char *machine_bdf_text(const struct machine_bdf *bdf); /* malloc'ed */

/*
 * A number that changes when devices come or go, ports change state or LID, or the machine is
 * booted. Reads names of folders, and two short files for each port: no map is made.
 */
int machine_fingerprint(const char *root, const char *boot_id, char text[MACHINE_FINGERPRINT],
			struct err *err);

/*
 * What sfabricd calls: the map of this node from conf's root under conf's filter, with the running
 * kernel's boot id and a fingerprint taken before the devices were read, so that a change in
 * between is noticed next time. NULL, errno and err on failure.
 */
struct map *machine_map(const struct conf *conf, const char *host, struct err *err);

#endif
