# SPDX-License-Identifier: GPL-2.0-or-later
#
# libtopology.la is the pure part of the helper, libcommands.la its commands; tests link both, with
# something else in place of main and the live discovery.
if BUILD_TOPOLOGY
noinst_LTLIBRARIES += topology/libcommands.la topology/libtopology.la
sbin_PROGRAMS += topology/sfabric-topology topology/sfabric-topology-watch
endif

topology_libtopology_la_SOURCES = \
	topology/absent.c topology/absent.h \
	topology/block_conf.c topology/block_conf.h \
	topology/cache.c topology/cache.h \
	topology/check.c topology/check.h \
	topology/diff.c topology/diff.h \
	topology/files.c topology/files.h \
	topology/graph.h \
	topology/graph_dot.c \
	topology/graph_html.c \
	topology/groups.c topology/groups.h \
	topology/hints.c topology/hints.h \
	topology/hints_gres.c topology/hints_gres.h \
	topology/ibnetdiscover.c topology/ibnetdiscover.h \
	topology/input.c topology/input.h \
	topology/layout.c topology/layout.h \
	topology/levels.c topology/levels.h \
	topology/lldp.c topology/lldp.h \
	topology/lost.c topology/lost.h \
	topology/model.c topology/model.h \
	topology/namemap.c topology/namemap.h \
	topology/names.c topology/names.h \
	topology/notes.c topology/notes.h \
	topology/partitions.c topology/partitions.h \
	topology/picture.c topology/picture.h \
	topology/pick.c topology/pick.h \
	topology/portinfo.c topology/portinfo.h \
	topology/rails.c \
	topology/sets.c topology/sets.h \
	topology/shape.c topology/shape.h \
	topology/subnet.c topology/subnet.h \
	topology/tree_conf.c topology/tree_conf.h \
	topology/wanted.c topology/wanted.h \
	topology/watch.c topology/watch.h \
	topology/yaml_conf.c topology/yaml_conf.h
topology_libtopology_la_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS) $(IBNETDISC_CFLAGS) $(YAML_CFLAGS)
topology_libtopology_la_LIBADD = $(IBNETDISC_LIBS) $(YAML_LIBS)

topology_libcommands_la_SOURCES = \
	topology/cli.c topology/cli.h \
	topology/cli_fabric.c \
	topology/cli_slurm.c topology/cli_slurm.h \
	topology/cmd_apply.c \
	topology/cmd_check.c \
	topology/cmd_conf.c \
	topology/cmd_diff.c \
	topology/cmd_discover.c \
	topology/cmd_graph.c \
	topology/cmd_hints.c \
	topology/cmd_watch.c \
	topology/counters.c topology/counters.h \
	topology/overhear.c topology/overhear.h \
	topology/watch_live.c topology/watch_live.h
topology_libcommands_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/spank $(JSONC_CFLAGS) $(IBNETDISC_CFLAGS)

topology_sfabric_topology_SOURCES = \
	topology/main.c \
	topology/live.c topology/live.h
topology_sfabric_topology_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS) $(IBNETDISC_CFLAGS)
topology_sfabric_topology_LDADD = topology/libcommands.la topology/libtopology.la \
	include/libhosts.la include/libcore.la $(IBNETDISC_LIBS)

topology_sfabric_topology_watch_SOURCES = \
	topology/main_watch.c \
	topology/live.c topology/live.h
topology_sfabric_topology_watch_CPPFLAGS = $(topology_sfabric_topology_CPPFLAGS)
topology_sfabric_topology_watch_LDADD = topology/libcommands.la topology/libtopology.la \
	spank/libwire.la include/libhosts.la include/libcore.la $(IBNETDISC_LIBS)

dist_man_MANS += topology/sfabric-topology.8
