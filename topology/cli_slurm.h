/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli_slurm.h - the commands' view of Slurm: its release, its tools, its topology files.
 */
#ifndef TOPOLOGY_CLI_SLURM_H
#define TOPOLOGY_CLI_SLURM_H

#include "check.h"
#include "cli.h"
#include "layout.h"

/*
 * Runs a tool found by PATH and takes what it prints, errors too: *said is malloc'ed. Its exit
 * status, or a negative errno (-ETIME after timeout_s, it is then killed).
 */
int slurm_run(const char *const argv[], int timeout_s, char **said);

/*
 * The release that --slurm names (NULL: not given), else the installed one, else the one that we
 * were built for; 0 after saying that it is none.
 */
int slurm_release(const char *option);

/* Reads a topology.conf or topology.yaml, which it shows itself. Exit status; clear l either way.
 */
int read_layout(const char *path, struct layout *l, struct findings *findings);

/* The same from a text; name is for sentences. */
int parse_layout(const char *name, const char *text, size_t len, struct layout *l,
		 struct findings *findings);

/* What slurm.conf says (--slurm-conf, fabric.conf's, Slurm's own). Exit status. */
int read_slurmconf(const struct options *o, struct slurmconf *s);

#endif
