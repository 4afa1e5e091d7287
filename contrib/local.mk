# SPDX-License-Identifier: GPL-2.0-or-later
dist_man_MANS += contrib/fabric.conf.5
dist_systemdunit_DATA = \
	contrib/systemd/sfabricctld.service \
	contrib/systemd/sfabricd.service \
	contrib/systemd/sfabricd.socket
exampledir = $(docdir)/examples
dist_example_DATA = contrib/fabric.conf contrib/plugstack.conf
EXTRA_DIST += \
	contrib/demo/check \
	contrib/demo/cluster \
	contrib/demo/fabric \
	contrib/demo/packages \
	contrib/demo/run \
	contrib/demo/traffic
