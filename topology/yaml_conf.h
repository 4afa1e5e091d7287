/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yaml_conf.h - topology.yaml out of topologies.
 */
#ifndef TOPOLOGY_YAML_CONF_H
#define TOPOLOGY_YAML_CONF_H

#include "layout.h"

/*
 * The text of a topology.yaml with the topologies of l, malloc'ed, behind comments, which are lines
 * that begin with '#'. NULL without memory.
 */
char *yaml_conf_text(const struct layout *l, const char *comments);

#endif
