# SPDX-License-Identifier: GPL-2.0-or-later
#
# Four programs and a plugin. What both daemons or several programs and tests need is a convenience
# library; the plugin takes libbase.la only, so that it links libc and nothing else.

# --- fabric.so ---
if BUILD_PLUGIN
plugin_LTLIBRARIES += spank/fabric.la
endif
spank_fabric_la_SOURCES = \
	spank/plugin.c spank/plugin.h \
	spank/plugin_local.c \
	spank/plugin_options.c \
	spank/plugin_remote.c \
	spank/plugin_syntax.c \
	spank/plugin_task.c \
	select/classes.c select/classes.h
spank_fabric_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/select
spank_fabric_la_LIBADD = include/libbase.la
spank_fabric_la_LDFLAGS = $(PLUGIN_LDFLAGS) -Wl,--version-script=$(top_srcdir)/spank/fabric.map
spank_fabric_la_DEPENDENCIES = include/libbase.la spank/fabric.map
EXTRA_DIST += spank/fabric.map

# --- the map: what sfabricd publishes and sfabric shows ---
if BUILD_CLIENT
noinst_LTLIBRARIES += spank/libmap.la spank/libwire.la
bin_PROGRAMS += spank/sfabric
endif
spank_libmap_la_SOURCES = \
	spank/choose.c spank/choose.h \
	spank/machine.c spank/machine.h \
	spank/machine_hwloc.c spank/machine_hwloc.h
spank_libmap_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS) $(JSONC_CFLAGS)
spank_libmap_la_LIBADD = include/libcore.la $(HWLOC_LIBS)

spank_libwire_la_SOURCES = spank/wire.c spank/wire.h
spank_libwire_la_CPPFLAGS = $(AM_CPPFLAGS) $(MUNGE_CFLAGS) $(CURL_CFLAGS)
spank_libwire_la_LIBADD = include/libcore.la $(MUNGE_LIBS) $(CURL_LIBS)

spank_sfabric_SOURCES = spank/sfabric.c spank/commands.h spank/cmd_map.c spank/cmd_show.c
spank_sfabric_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS)
spank_sfabric_LDADD = spank/libmap.la spank/libwire.la include/libhosts.la include/libcore.la
dist_man_MANS += spank/sfabric.1

# --- sfabricd ---
if BUILD_AGENT
noinst_LTLIBRARIES += spank/libagent.la
sbin_PROGRAMS += spank/sfabricd
endif
spank_libagent_la_SOURCES = \
	spank/agent_log.h \
	spank/publish.c spank/publish.h \
	spank/sampler.c spank/sampler.h \
	spank/sender.c spank/sender.h \
	spank/source.h spank/source_list.c \
	spank/source_diskstats.c \
	spank/source_infiniband.c \
	spank/source_pressure.c \
	spank/source_processes.c spank/source_processes.h \
	spank/spool.c spank/spool.h \
	spank/steps.c spank/steps.h \
	spank/summary.c spank/summary.h \
	spank/timeline.c spank/timeline.h
spank_libagent_la_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS) $(JSONC_CFLAGS)
spank_libagent_la_LIBADD = spank/libmap.la spank/libwire.la include/libcore.la $(SQLITE_LIBS) -lpthread -lm
spank_sfabricd_SOURCES = spank/sfabricd.c
spank_sfabricd_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS)
spank_sfabricd_LDADD = spank/libagent.la -lm
dist_man_MANS += spank/sfabricd.8

# --- sfabricctld and its helper that speaks to Slurm ---
if BUILD_SERVER
noinst_LTLIBRARIES += spank/libserver.la
sbin_PROGRAMS += spank/sfabricctld
pkglibexec_PROGRAMS += spank/sfabric-slurm
endif
spank_libserver_la_SOURCES = \
	spank/api.c spank/api.h \
	spank/fields.c spank/fields.h \
	spank/fold.c spank/fold.h \
	spank/http_server.c spank/http_server.h \
	spank/service.c spank/service.h \
	spank/slurm_call.c spank/slurm_call.h \
	spank/store.c spank/store.h \
	spank/story.c spank/story.h
spank_libserver_la_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS) $(JSONC_CFLAGS) $(MHD_CFLAGS)
spank_libserver_la_LIBADD = spank/libwire.la include/libhosts.la include/libcore.la \
	$(SQLITE_LIBS) $(MHD_LIBS) -lpthread
spank_sfabricctld_SOURCES = spank/sfabricctld.c
spank_sfabricctld_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS)
spank_sfabricctld_LDADD = spank/libserver.la
dist_man_MANS += spank/sfabricctld.8

# libslurmfull has what libslurm lacks for slurmdbd's error paths; the two never meet in a process,
# so hosts.c is compiled in here and libhosts.la is not.
spank_sfabric_slurm_SOURCES = spank/sfabric-slurm.c include/hosts.c
spank_sfabric_slurm_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS)
spank_sfabric_slurm_LDFLAGS = $(AM_LDFLAGS) -L$(slurm_plugindir) -Wl,-rpath,$(slurm_plugindir)
spank_sfabric_slurm_LDADD = include/libcore.la -lslurmfull
