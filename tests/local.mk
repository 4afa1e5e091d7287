# SPDX-License-Identifier: GPL-2.0-or-later
#
# Unit tests: a program a module, linked with what it tests. They need nothing but the build.
UNIT_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit -I$(top_srcdir)/topology \
	-I$(top_srcdir)/spank -I$(top_srcdir)/spank/agent -I$(top_srcdir)/spank/plugin \
	-I$(top_srcdir)/spank/server -I$(top_srcdir)/select -DTEST_DATA='"$(abs_top_srcdir)/tests/data"' \
	$(CMOCKA_CFLAGS) $(JSONC_CFLAGS)
UNIT_LIBS = include/libhosts.la include/libcore.la $(CMOCKA_LIBS) -lpthread

if BUILD_TESTS
check_PROGRAMS += \
	tests/unit/test_api \
	tests/unit/test_choose \
	tests/unit/test_classes \
	tests/unit/test_conf \
	tests/unit/test_env \
	tests/unit/test_fabric \
	tests/unit/test_fields \
	tests/unit/test_health \
	tests/unit/test_io \
	tests/unit/test_json \
	tests/unit/test_local \
	tests/unit/test_machine \
	tests/unit/test_map \
	tests/unit/test_marks \
	tests/unit/test_options \
	tests/unit/test_packet \
	tests/unit/test_peers \
	tests/unit/test_place \
	tests/unit/test_place_command \
	tests/unit/test_record \
	tests/unit/test_replay \
	tests/unit/test_sfabricd \
	tests/unit/test_slurm_call \
	tests/unit/test_source \
	tests/unit/test_spool \
	tests/unit/test_steps \
	tests/unit/test_store \
	tests/unit/test_story \
	tests/unit/test_summary \
	tests/unit/test_task \
	tests/unit/test_text \
	tests/unit/test_timeline \
	tests/unit/test_topology \
	tests/unit/test_topology_conf \
	tests/unit/test_topology_input \
	tests/unit/test_topology_tools \
	tests/unit/test_wire
endif

tests_unit_test_api_SOURCES = tests/unit/test_api.c
tests_unit_test_api_CPPFLAGS = $(UNIT_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_api_LDADD = spank/libserver.la $(UNIT_LIBS)
tests_unit_test_choose_SOURCES = tests/unit/test_choose.c
tests_unit_test_choose_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_choose_LDADD = spank/libmap.la $(UNIT_LIBS)
tests_unit_test_classes_SOURCES = tests/unit/test_classes.c select/classes.c select/room.c
tests_unit_test_classes_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_classes_LDADD = $(UNIT_LIBS)
tests_unit_test_conf_SOURCES = tests/unit/test_conf.c
tests_unit_test_conf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_conf_LDADD = $(UNIT_LIBS)
tests_unit_test_env_SOURCES = tests/unit/test_env.c
tests_unit_test_env_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_env_LDADD = $(UNIT_LIBS)
tests_unit_test_fabric_SOURCES = tests/unit/test_fabric.c
tests_unit_test_fabric_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fabric_LDADD = $(UNIT_LIBS)
tests_unit_test_fields_SOURCES = tests/unit/test_fields.c
tests_unit_test_fields_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_fields_LDADD = spank/libserver.la $(UNIT_LIBS)
tests_unit_test_health_SOURCES = tests/unit/test_health.c
tests_unit_test_health_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_health_LDADD = $(UNIT_LIBS)
tests_unit_test_io_SOURCES = tests/unit/test_io.c
tests_unit_test_io_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_io_LDADD = $(UNIT_LIBS)
tests_unit_test_json_SOURCES = tests/unit/test_json.c
tests_unit_test_json_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_json_LDADD = $(UNIT_LIBS)
tests_unit_test_local_SOURCES = tests/unit/test_local.c
tests_unit_test_local_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_local_LDADD = spank/libagent.la $(UNIT_LIBS)
tests_unit_test_machine_SOURCES = tests/unit/test_machine.c
tests_unit_test_machine_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_machine_LDADD = spank/libmap.la $(UNIT_LIBS)
tests_unit_test_map_SOURCES = tests/unit/test_map.c
tests_unit_test_map_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_map_LDADD = $(UNIT_LIBS)
tests_unit_test_marks_SOURCES = tests/unit/test_marks.c
tests_unit_test_marks_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_marks_LDADD = spank/libserver.la $(UNIT_LIBS)
tests_unit_test_options_SOURCES = tests/unit/test_options.c spank/plugin/syntax.c select/classes.c
tests_unit_test_options_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_options_LDADD = $(UNIT_LIBS)
tests_unit_test_packet_SOURCES = tests/unit/test_packet.c
tests_unit_test_packet_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_packet_LDADD = $(UNIT_LIBS)
tests_unit_test_peers_SOURCES = tests/unit/test_peers.c
tests_unit_test_peers_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_peers_LDADD = spank/libservice.la $(UNIT_LIBS)
tests_unit_test_place_SOURCES = tests/unit/test_place.c
tests_unit_test_place_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_place_LDADD = select/libplace.la $(UNIT_LIBS)
tests_unit_test_place_command_SOURCES = tests/unit/test_place_command.c select/classes.c \
	spank/client/cmd_place.c spank/client/sinfo.c
tests_unit_test_place_command_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)/spank/client
tests_unit_test_place_command_LDADD = select/libplace.la $(UNIT_LIBS)
tests_unit_test_record_SOURCES = tests/unit/test_record.c
tests_unit_test_record_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_record_LDADD = $(UNIT_LIBS)
tests_unit_test_replay_SOURCES = tests/unit/test_replay.c select/jobs.c select/stock.c
tests_unit_test_replay_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_replay_LDADD = $(UNIT_LIBS) -lm
tests_unit_test_sfabricd_SOURCES = tests/unit/test_sfabricd.c
tests_unit_test_sfabricd_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_sfabricd_LDADD = spank/libagent.la $(UNIT_LIBS)
tests_unit_test_slurm_call_SOURCES = tests/unit/test_slurm_call.c
tests_unit_test_slurm_call_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_slurm_call_LDADD = spank/libserver.la $(UNIT_LIBS)
tests_unit_test_source_SOURCES = tests/unit/test_source.c
tests_unit_test_source_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_source_LDADD = spank/libagent.la $(UNIT_LIBS)
tests_unit_test_spool_SOURCES = tests/unit/test_spool.c
tests_unit_test_spool_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_spool_LDADD = spank/libagent.la $(UNIT_LIBS)
tests_unit_test_steps_SOURCES = tests/unit/test_steps.c
tests_unit_test_steps_CPPFLAGS = $(UNIT_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_steps_LDADD = spank/libagent.la $(UNIT_LIBS)
tests_unit_test_store_SOURCES = tests/unit/test_store.c
tests_unit_test_store_CPPFLAGS = $(UNIT_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_LDADD = spank/libserver.la $(UNIT_LIBS)
tests_unit_test_story_SOURCES = tests/unit/test_story.c
tests_unit_test_story_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_story_LDADD = spank/libserver.la $(UNIT_LIBS)
tests_unit_test_summary_SOURCES = tests/unit/test_summary.c
tests_unit_test_summary_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_summary_LDADD = spank/libagent.la $(UNIT_LIBS)
tests_unit_test_task_SOURCES = tests/unit/test_task.c spank/plugin/syntax.c spank/plugin/task.c select/classes.c
tests_unit_test_task_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_task_LDADD = $(UNIT_LIBS)
tests_unit_test_text_SOURCES = tests/unit/test_text.c
tests_unit_test_text_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_text_LDADD = $(UNIT_LIBS)
tests_unit_test_timeline_SOURCES = tests/unit/test_timeline.c
tests_unit_test_timeline_CPPFLAGS = $(UNIT_CPPFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_timeline_LDADD = spank/libagent.la $(UNIT_LIBS)
tests_unit_test_topology_SOURCES = tests/unit/test_topology.c
tests_unit_test_topology_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_topology_LDADD = topology/libcommands.la topology/libtopology.la \
	spank/libwire.la $(UNIT_LIBS)
tests_unit_test_topology_conf_SOURCES = tests/unit/test_topology_conf.c
tests_unit_test_topology_conf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_topology_conf_LDADD = topology/libtopology.la $(UNIT_LIBS)
tests_unit_test_topology_input_SOURCES = tests/unit/test_topology_input.c
tests_unit_test_topology_input_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_topology_input_LDADD = topology/libtopology.la $(UNIT_LIBS)
tests_unit_test_topology_tools_SOURCES = tests/unit/test_topology_tools.c
tests_unit_test_topology_tools_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_topology_tools_LDADD = topology/libtopology.la $(UNIT_LIBS)
tests_unit_test_wire_SOURCES = tests/unit/test_wire.c
tests_unit_test_wire_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_wire_LDADD = spank/libwire.la $(UNIT_LIBS)

# Fuzz targets (tests/fuzz/fuzz.h): replay runs each over its seeds, fuzz is the same under libFuzzer
# and built on request.
FUZZ_FILES = \
	select/classes.c \
	select/jobs.c \
	spank/client/cmd_map.c \
	spank/client/cmd_show.c \
	spank/client/sinfo.c \
	spank/plugin/syntax.c \
	tests/fuzz/fuzz.c tests/fuzz/fuzz.h \
	tests/fuzz/fuzz_api.c \
	tests/fuzz/fuzz_conf.c \
	tests/fuzz/fuzz_env.c \
	tests/fuzz/fuzz_fabric.c \
	tests/fuzz/fuzz_health.c \
	tests/fuzz/fuzz_hosts.c \
	tests/fuzz/fuzz_ibnetdiscover.c \
	tests/fuzz/fuzz_jobfield.c \
	tests/fuzz/fuzz_json.c \
	tests/fuzz/fuzz_layout.c \
	tests/fuzz/fuzz_machine.c \
	tests/fuzz/fuzz_map.c \
	tests/fuzz/fuzz_namemap.c \
	tests/fuzz/fuzz_names.c \
	tests/fuzz/fuzz_nccl.c \
	tests/fuzz/fuzz_options.c \
	tests/fuzz/fuzz_packet.c \
	tests/fuzz/fuzz_partitions.c \
	tests/fuzz/fuzz_processes.c \
	tests/fuzz/fuzz_record.c \
	tests/fuzz/fuzz_show.c \
	tests/fuzz/fuzz_sinfo.c \
	tests/fuzz/fuzz_slurm.c \
	tests/fuzz/fuzz_slurmconf.c \
	tests/fuzz/fuzz_source.c \
	tests/fuzz/fuzz_summary.c \
	tests/fuzz/fuzz_text_forms.c \
	tests/fuzz/fuzz_timeline.c \
	tests/fuzz/fuzz_wire.c \
	tests/fuzz/wrap.c
FUZZ_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)/spank/client $(SQLITE_CFLAGS)
FUZZ_LINK = $(AM_LDFLAGS) -Wl,--wrap=munge_decode,--wrap=munge_encode,--wrap=wire_get
FUZZ_LIBS = topology/libtopology.la spank/libserver.la spank/libagent.la $(UNIT_LIBS)

if BUILD_TESTS
check_PROGRAMS += tests/fuzz/replay
endif
tests_fuzz_replay_SOURCES = $(FUZZ_FILES)
tests_fuzz_replay_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_replay_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_LDADD = $(FUZZ_LIBS)

if BUILD_FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz
endif
tests_fuzz_fuzz_SOURCES = $(FUZZ_FILES)
tests_fuzz_fuzz_CPPFLAGS = $(FUZZ_CPPFLAGS) -DFUZZ_LIBFUZZER
tests_fuzz_fuzz_LDFLAGS = $(FUZZ_LINK) -fsanitize=fuzzer
tests_fuzz_fuzz_LDADD = $(FUZZ_LIBS)

# The same parts while calls fail (tests/fault/fault.h).
if BUILD_TESTS
check_PROGRAMS += \
	tests/fault/test_fault_agent \
	tests/fault/test_fault_node \
	tests/fault/test_fault_parse \
	tests/fault/test_fault_plugin \
	tests/fault/test_fault_server
noinst_LTLIBRARIES += tests/fault/libfault.la
endif
FAULT_CPPFLAGS = $(UNIT_CPPFLAGS) -I$(top_srcdir)/tests/fault $(SQLITE_CFLAGS)
FAULT_LIBS = tests/fault/libfault.la $(UNIT_LIBS)
tests_fault_libfault_la_SOURCES = tests/fault/fault.c tests/fault/fault.h
tests_fault_libfault_la_CPPFLAGS = $(FAULT_CPPFLAGS)
tests_fault_libfault_la_CFLAGS = $(WARN_CFLAGS)
tests_fault_test_fault_agent_SOURCES = tests/fault/test_fault_agent.c
tests_fault_test_fault_agent_CPPFLAGS = $(FAULT_CPPFLAGS)
tests_fault_test_fault_agent_LDADD = spank/libagent.la $(FAULT_LIBS)
tests_fault_test_fault_node_SOURCES = tests/fault/test_fault_node.c
tests_fault_test_fault_node_CPPFLAGS = $(FAULT_CPPFLAGS)
tests_fault_test_fault_node_LDADD = spank/libagent.la $(FAULT_LIBS)
tests_fault_test_fault_plugin_SOURCES = tests/fault/test_fault_plugin.c \
	select/classes.c \
	spank/plugin/local.c \
	spank/plugin/options.c \
	spank/plugin/plugin.c \
	spank/plugin/remote.c \
	spank/plugin/syntax.c \
	spank/plugin/task.c
tests_fault_test_fault_plugin_CPPFLAGS = $(FAULT_CPPFLAGS)
tests_fault_test_fault_plugin_LDADD = $(FAULT_LIBS)
tests_fault_test_fault_parse_SOURCES = tests/fault/test_fault_parse.c
tests_fault_test_fault_parse_CPPFLAGS = $(FAULT_CPPFLAGS)
tests_fault_test_fault_parse_LDADD = topology/libtopology.la $(FAULT_LIBS)
tests_fault_test_fault_server_SOURCES = tests/fault/test_fault_server.c
tests_fault_test_fault_server_CPPFLAGS = $(FAULT_CPPFLAGS)
tests_fault_test_fault_server_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=munge_decode,--wrap=munge_encode
tests_fault_test_fault_server_LDADD = spank/libserver.la $(FAULT_LIBS)

TESTS = $(check_PROGRAMS)

# What tests/bench/records sends; built when that asks for it.
EXTRA_PROGRAMS = tests/bench/burst
tests_bench_burst_SOURCES = tests/bench/burst.c
tests_bench_burst_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_bench_burst_LDADD = spank/libwire.la include/libcore.la
CLEANFILES += tests/bench/burst

# Data and helpers of the tests, and the tests that need a machine of their own.
EXTRA_DIST += \
	tests/unit/bare_service.h \
	tests/unit/child.h \
	tests/unit/unit.h \
	tests/fuzz/run \
	tests/run \
	tests/valgrind.supp \
	tests/bench \
	tests/cluster \
	tests/lab \
	tests/map \
	tests/select \
	tests/slurm \
	tests/topology \
	tests/vm \
	tests/data
