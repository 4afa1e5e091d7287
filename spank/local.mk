# SPDX-License-Identifier: GPL-2.0-or-later
#
# A plugin and four programs, a folder each; beside the folders, what agent and client share: the
# node's map (machine, choose) and the wire. Convenience libraries, so that tests link the same code.

# --- plugin/: fabric.so, with libbase.la only, so that it links libc and nothing else ---
if BUILD_PLUGIN
plugin_LTLIBRARIES += spank/fabric.la
endif
spank_fabric_la_SOURCES = \
	select/classes.c select/classes.h \
	spank/plugin/local.c \
	spank/plugin/options.c \
	spank/plugin/plugin.c spank/plugin/plugin.h \
	spank/plugin/remote.c \
	spank/plugin/syntax.c \
	spank/plugin/task.c
spank_fabric_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/select
spank_fabric_la_LIBADD = include/libbase.la
spank_fabric_la_LDFLAGS = $(PLUGIN_LDFLAGS) \
	-Wl,--version-script=$(top_srcdir)/spank/plugin/fabric.map
spank_fabric_la_DEPENDENCIES = include/libbase.la spank/plugin/fabric.map
EXTRA_DIST += spank/plugin/fabric.map

# --- the node's map, and the wire ---
if BUILD_CLIENT
noinst_LTLIBRARIES += spank/libmap.la spank/libwire.la
bin_PROGRAMS += spank/sfabric
endif
spank_libmap_la_SOURCES = \
	spank/choose.c spank/choose.h \
	spank/machine.c spank/machine.h \
	spank/machine_hwloc.c spank/machine_hwloc.h \
	spank/machine_nccl.c spank/machine_nccl.h
spank_libmap_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS) $(JSONC_CFLAGS)
spank_libmap_la_LIBADD = include/libcore.la $(HWLOC_LIBS)

spank_libwire_la_SOURCES = spank/wire.c spank/wire.h
spank_libwire_la_CPPFLAGS = $(AM_CPPFLAGS) $(MUNGE_CFLAGS) $(CURL_CFLAGS)
spank_libwire_la_LIBADD = include/libcore.la $(MUNGE_LIBS) $(CURL_LIBS)

# --- client/: sfabric ---
spank_sfabric_SOURCES = \
	select/classes.c select/classes.h \
	spank/client/cmd_map.c \
	spank/client/cmd_place.c \
	spank/client/cmd_show.c \
	spank/client/commands.h \
	spank/client/sfabric.c \
	spank/client/sinfo.c spank/client/sinfo.h
spank_sfabric_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/spank -I$(top_srcdir)/spank/server \
	-I$(top_srcdir)/select $(JSONC_CFLAGS)
spank_sfabric_LDADD = select/libplace.la spank/libmap.la spank/libwire.la include/libhosts.la include/libcore.la
dist_man_MANS += spank/client/sfabric.1

# --- server/, without its sockets: what merges, stores and writes Slurm's fields ---
SERVICE_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/spank $(SQLITE_CFLAGS) $(JSONC_CFLAGS)
EXTRA_LTLIBRARIES = spank/libservice.la
CLEANFILES += $(EXTRA_LTLIBRARIES)
spank_libservice_la_SOURCES = \
	spank/server/fields.c spank/server/fields.h \
	spank/server/fold.c spank/server/fold.h \
	spank/server/marks.c spank/server/marks.h \
	spank/server/peers.c spank/server/peers.h \
	spank/server/service.c spank/server/service.h \
	spank/server/slurm_call.c spank/server/slurm_call.h \
	spank/server/store.c spank/server/store.h \
	spank/server/story.c spank/server/story.h \
	spank/server/take.c spank/server/take.h \
	spank/server/take_health.c spank/server/take_health.h
spank_libservice_la_CPPFLAGS = $(SERVICE_CPPFLAGS)
spank_libservice_la_LIBADD = include/libhosts.la include/libcore.la $(SQLITE_LIBS) -lpthread

# --- agent/: sfabricd ---
if BUILD_AGENT
noinst_LTLIBRARIES += spank/libagent.la
sbin_PROGRAMS += spank/sfabricd
endif
spank_libagent_la_SOURCES = \
	spank/agent/agent_log.h \
	spank/agent/local.c spank/agent/local.h \
	spank/agent/marker.c spank/agent/marker.h \
	spank/agent/publish.c spank/agent/publish.h \
	spank/agent/recover.c \
	spank/agent/sampler.c spank/agent/sampler.h \
	spank/agent/sender.c spank/agent/sender.h \
	spank/agent/source.h spank/agent/source_list.c \
	spank/agent/source_diskstats.c \
	spank/agent/source_infiniband.c \
	spank/agent/source_pressure.c \
	spank/agent/source_processes.c spank/agent/source_processes.h \
	spank/agent/spool.c spank/agent/spool.h \
	spank/agent/steps.c spank/agent/steps.h spank/agent/steps_own.h \
	spank/agent/summary.c spank/agent/summary.h \
	spank/agent/timeline.c spank/agent/timeline.h
spank_libagent_la_CPPFLAGS = $(SERVICE_CPPFLAGS) -I$(top_srcdir)/spank/server
spank_libagent_la_LIBADD = spank/libmap.la spank/libservice.la spank/libwire.la \
	include/libcore.la $(SQLITE_LIBS) -lpthread -lm
spank_sfabricd_SOURCES = spank/agent/sfabricd.c
spank_sfabricd_CPPFLAGS = $(SERVICE_CPPFLAGS)
spank_sfabricd_LDADD = spank/libagent.la -lm
dist_man_MANS += spank/agent/sfabricd.8

# --- server/: sfabricctld, and the helper that speaks to Slurm ---
if BUILD_SERVER
noinst_LTLIBRARIES += spank/libserver.la
sbin_PROGRAMS += spank/sfabricctld
endif
if BUILD_HELPER
pkglibexec_PROGRAMS += spank/sfabric-slurm
endif
SERVER_CPPFLAGS = $(SERVICE_CPPFLAGS) $(MHD_CFLAGS)
spank_libserver_la_SOURCES = \
	spank/server/api.c spank/server/api.h \
	spank/server/http_server.c spank/server/http_server.h
spank_libserver_la_CPPFLAGS = $(SERVER_CPPFLAGS)
spank_libserver_la_LIBADD = spank/libservice.la spank/libwire.la $(MHD_LIBS)
spank_sfabricctld_SOURCES = spank/server/sfabricctld.c
spank_sfabricctld_CPPFLAGS = $(SERVER_CPPFLAGS)
spank_sfabricctld_LDADD = spank/libserver.la
man_MANS += spank/server/sfabricctld.8
GENERATED += spank/server/sfabricctld.8

# libslurmfull has what libslurm lacks for slurmdbd's error paths; the two never meet in a process,
# so hosts.c is compiled in here and libhosts.la is not.
spank_sfabric_slurm_SOURCES = spank/server/sfabric-slurm.c include/hosts.c
spank_sfabric_slurm_CPPFLAGS = $(SERVICE_CPPFLAGS)
spank_sfabric_slurm_LDFLAGS = $(AM_LDFLAGS) -L$(slurm_plugindir) -Wl,-rpath,$(slurm_plugindir)
spank_sfabric_slurm_LDADD = include/libcore.la -lslurmfull
