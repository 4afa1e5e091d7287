# SPDX-License-Identifier: GPL-2.0-or-later
#
# The placement engine: nothing of Slurm's, and no I/O.
if BUILD_SUBMIT
noinst_LTLIBRARIES += select/libplace.la
endif
select_libplace_la_SOURCES = \
	select/place.c select/place.h \
	select/place_fabric.c \
	select/place_model.c select/place_model.h \
	select/place_text.c

# slurmctld's plugin. Slurm's own symbols are those of slurmctld: no libslurm here.
if BUILD_SUBMIT
plugin_LTLIBRARIES += select/job_submit_fabric.la
endif

select_job_submit_fabric_la_SOURCES = \
	include/hosts.c include/hosts.h \
	select/classes.c select/classes.h \
	select/job_submit_fabric.c \
	select/room.c select/room.h
select_job_submit_fabric_la_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS)
select_job_submit_fabric_la_LIBADD = include/libcore.la
select_job_submit_fabric_la_LDFLAGS = $(PLUGIN_LDFLAGS) \
	-Wl,--version-script=$(top_srcdir)/select/job_submit_fabric.map
select_job_submit_fabric_la_DEPENDENCIES = include/libcore.la select/job_submit_fabric.map

EXTRA_DIST += select/job_submit_fabric.map

# The replay simulator, with stock Slurm's heuristics to compare with: for measuring, not installed.
if BUILD_TESTS
noinst_PROGRAMS += select/sfabric-replay
endif
select_sfabric_replay_SOURCES = \
	select/jobs.c select/jobs.h \
	select/replay.c \
	select/stock.c select/stock.h
select_sfabric_replay_LDADD = select/libplace.la include/libcore.la -lm
