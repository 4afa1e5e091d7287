/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf.h - fabric.conf, one grammar (libconfuse) for every program but fabric.so.
 *
 * All keys and their defaults are in the table in conf.c and in fabric.conf(5). An unknown key, a
 * bad value or a file that others than root could write is an error with file and line.
 */
#ifndef FABRIC_CONF_H
#define FABRIC_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* What a class asks for. A class of another name is one of these with limits of its own. */
enum conf_kind {
	KIND_ANY,
	KIND_COMPACT,
	KIND_SAME_LEAF,
	KIND_SAME_POD,
	KIND_SPREAD,
	KIND_SEGMENTS
};

struct conf_class {
	char *name;
	enum conf_kind kind;
	uint32_t segment; /* nodes of a part; KIND_SEGMENTS */
	int64_t wait_ns;  /* how long a job may wait for the better placement */
	/* who may ask for it */
	uint32_t max_nodes;	       /* 0: any number */
	char **partitions, **accounts; /* none: all */
	size_t partition_count, account_count;
};

struct conf {
	char *path;    /* the file it came from */
	char *cluster; /* Slurm's ClusterName; "" ask Slurm */

	/* where things are */
	char *run_dir;	    /* %n: node name */
	char *spool_dir;    /* sfabricd's records and timelines; %n */
	char *state_dir;    /* fabric.json, health.json, sfabricctld's store */
	char *fabric_json;  /* default: state_dir/fabric.json */
	char *root;	    /* "/": where sysfs and procfs of the devices are read */
	char *munge_socket; /* "" the library's own */
	char *slurm_conf;   /* "" Slurm's own */

	/* node to cluster service */
	char **servers; /* "host:port"; without `server`, slurmctld's hosts */
	size_t server_count;
	bool without_server; /* {"none"}: there is no sfabricctld, sfabricd writes job fields */
	char *server_user;   /* account of sfabricctld */
	char *listen;	     /* sfabricctld: "address:port" */

	/* sampling */
	int64_t sample_ns, sample_min_ns, sample_max_ns;
	uint64_t spool_max; /* bytes */

	/* the map */
	char **port_allow; /* device names, BDFs or port GUIDs; none: all */
	size_t port_allow_count;
	char **port_deny;
	size_t port_deny_count;
	bool ethernet;	  /* RoCE ports are fabric ports */
	char *gres_order; /* what Slurm's gres index follows: AutoDetect=, "minor" or "pci" */
	char *pci_tree;	  /* NCCL's topology of a virtual machine; "" the machine's own tree */

	/* which ports are suspect */
	unsigned int suspect_after, clear_after; /* intervals with errors, and without */
	int64_t suspect_for_ns;			 /* since the last error */

	/* placement */
	bool features;		    /* nodes have those that sfabric-topology hints names */
	struct conf_class *classes; /* one of each kind is always there, but segments */
	size_t class_count;
};

/* Reads path. A missing file is an error unless optional, then all defaults hold. */
struct conf *conf_load(const char *path, bool optional, struct err *err);
void conf_free(struct conf *c);

/* run_dir, spool_dir with %n replaced; malloc'ed. */
char *conf_expand(const char *dir, const char *node);

const char *conf_kind_name(enum conf_kind kind); /* "any", "compact", "same-leaf", ... */
const struct conf_class *conf_find_class(const struct conf *c, const char *name);

/* SYSCONFDIR/slurm-fabric/fabric.conf and .../off */
const char *conf_default_path(void);
const char *conf_off_path(void);

#endif
