/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.h - a node's map: GPU to HCA port to switch, contract map and env file.
 *
 * Made by sfabricd for the whole node, never for one process, and published to sfabricctld (JSON)
 * and to fabric.so (the env file: ready-made lists, one line for each GPU). The switch of a port is
 * left open by a node that can't ask for it; sfabricctld fills it in from fabric.json by port GUID.
 */
#ifndef FABRIC_MAP_H
#define FABRIC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fabric.h"
#include "json.h"

#define MAP_FORMAT "slurm-fabric/map"
#define MAP_VERSION 1
#define MAP_MAX_BYTES (1u << 20)
#define MAP_MAX_DEVICES 1024 /* GPUs, and ports, of one node */
#define MAP_SLINGSHOT "Slingshot" /* the layer of a HPE NIC: mapped, but no verbs port */
#define ENV_MAX_BYTES (64u << 10)

/* How far a GPU and a port are apart, best first; the names are those of nvidia-smi topo -m. */
enum map_class { MAP_PIX, MAP_PXB, MAP_PHB, MAP_NODE, MAP_SYS, MAP_UNKNOWN };

enum leaf_source { LEAF_OPEN, LEAF_SMP, LEAF_LLDP, LEAF_FABRIC };

struct map_leaf {
	enum leaf_source source; /* LEAF_OPEN: nothing below is known */
	uint64_t guid;
	char *name;
	int port;
	int rail; /* -1 unknown */
	struct fabric_wire wire;
};

struct map_port {
	char *device; /* "mlx5_0" */
	int port;
	uint64_t guid;      /* port GUID, 0 unknown */
	uint64_t node_guid; /* 0 unknown */
	char *bdf;          /* "0000:17:00.0", NULL unknown */
	int numa;           /* -1 unknown */
	char *layer;        /* "InfiniBand", "Ethernet", as the kernel says; MAP_SLINGSHOT; NULL unknown */
	enum link_state state;
	uint64_t rate_bps; /* 0 unknown */
	char *ignored;     /* why it is kept out of every list; NULL: it is in */
	struct map_leaf leaf;
};

struct map_near {
	size_t port; /* index into ports */
	enum map_class class;
	int tie; /* how many GPUs share this set of ports, this one included */
};

struct map_gpu {
	int index;   /* the vendor's (PCI order for NVIDIA) */
	int gres;    /* Slurm's gres index; -1 unknown */
	int minor;   /* of the device node; -1 unknown */
	char *bdf;
	char *part;  /* "1/0": MIG's GPU and compute instance; NULL: the whole GPU */
	char *uuid;  /* NULL unknown */
	char *model; /* NULL unknown */
	int numa;    /* -1 unknown */
	char *tree;  /* its topmost PCIe switch, or itself where it hangs on none; NULL unknown */
	struct map_near *near; /* best first */
	size_t near_count;
	char *reason; /* how they were chosen, or why there is none; never NULL */
};

struct map {
	char *host;
	char *boot_id;     /* NULL unknown */
	char *fingerprint; /* changes when devices or port states do; NULL unknown */
	struct map_gpu *gpus; /* sorted by PCI address, partitions of one GPU by index */
	size_t gpu_count;
	struct map_port *ports; /* sorted by device (natural order) and port */
	size_t port_count;
};

void map_free(struct map *m);
struct map *map_parse(const char *text, size_t len, const char *source, struct err *err);
struct map *map_from_json(json_object *object, const char *source, struct err *err);
json_object *map_to_json(const struct map *m); /* a reference for the caller; NULL without memory */
char *map_text(const struct map *m);           /* canonical, malloc'ed */

/* Order of ports: mlx5_2:1, mlx5_2:2, mlx5_10:1. */
int map_port_order(const struct map_port *a, const struct map_port *b);

/*
 * Fills in the switch of each port from the fabric by port GUID where it is open or came from an
 * earlier fabric. *differ: how many ports name another switch or switch port than the fabric does
 * (they keep their own). Returns 0 or -ENOMEM.
 */
int map_join_fabric(struct map *m, const struct fabric *f, size_t *differ);

const char *map_class_name(enum map_class class); /* "PIX" ... "SYS", "unknown" */

/*
 * The env file: line 1 "fabric-env 1 BOOT_ID"; "nccl =a:1,b:1" when the ports that GPUs use are not
 * all the active ones; "gpu GRES UCX_LIST NVSHMEM_LIST" for each GPU with a known gres index and at
 * least one port, "-" for none. Ports that are no verbs ports, and names that could not stand in a
 * list, are left out. Without a boot id it names none, so that nobody takes it for valid. At most
 * ENV_MAX_BYTES: GPUs whose line does not fit have none. malloc'ed; NULL without memory.
 */
char *map_env_text(const struct map *m);

#endif
