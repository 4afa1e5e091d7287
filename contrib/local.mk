# SPDX-License-Identifier: GPL-2.0-or-later
man_MANS += contrib/fabric.conf.5
GENERATED += contrib/fabric.conf.5
nodist_systemdunit_DATA = contrib/systemd/sfabricctld.service contrib/systemd/sfabricd.service
dist_systemdunit_DATA = contrib/systemd/sfabricd.socket
GENERATED += $(nodist_systemdunit_DATA)
exampledir = $(docdir)/examples
dist_example_DATA = contrib/fabric.conf contrib/plugstack.conf
EXTRA_DIST += \
	contrib/demo/check \
	contrib/demo/cluster \
	contrib/demo/fabric \
	contrib/demo/packages \
	contrib/demo/run \
	contrib/demo/traffic
