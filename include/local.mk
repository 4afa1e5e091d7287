# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the parts share. libc.la needs libc only (it goes into fabric.so), libcore.la adds json-c and
# libconfuse (it goes into slurmctld's plugin), libhosts.la libslurm's host lists.
noinst_LTLIBRARIES += include/libbase.la
include_libbase_la_SOURCES = \
	include/env.c include/env.h \
	include/err.c include/err.h \
	include/packet.c include/packet.h \
	include/text.c include/text.h

if BUILD_SUBMIT
noinst_LTLIBRARIES += include/libcore.la include/libhosts.la
endif

include_libcore_la_SOURCES = \
	include/conf.c include/conf.h \
	include/fabric.c include/fabric.h \
	include/health.c include/health.h \
	include/io.c include/io.h \
	include/jobfield.c include/jobfield.h \
	include/json.c include/json.h \
	include/map.c include/map.h \
	include/meaning.c include/meaning.h \
	include/record.c include/record.h \
	include/slurmconf.c include/slurmconf.h
include_libcore_la_CPPFLAGS = $(AM_CPPFLAGS) $(JSONC_CFLAGS) $(CONFUSE_CFLAGS)
include_libcore_la_LIBADD = include/libbase.la $(JSONC_LIBS) $(CONFUSE_LIBS)

include_libhosts_la_SOURCES = include/hosts.c include/hosts.h include/slurm_api.h
include_libhosts_la_LIBADD = $(SLURM_LDFLAGS) -lslurm
