# SPDX-License-Identifier: GPL-2.0-or-later
man_MANS += contrib/fabric.conf.5
GENERATED += contrib/fabric.conf.5
nodist_systemdunit_DATA = \
	contrib/systemd/sfabric-topology-discover.service \
	contrib/systemd/sfabric-topology-watch.service \
	contrib/systemd/sfabricctld.service \
	contrib/systemd/sfabricd.service
dist_systemdunit_DATA = \
	contrib/systemd/sfabric-topology-discover.timer \
	contrib/systemd/sfabricd.socket
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

# --- packages: made of the tarball alone, so that they can't hold what is not in it ---
EXTRA_DIST += \
	tests/packages \
	contrib/packaging/slurm-fabric.spec \
	contrib/packaging/debian/control \
	contrib/packaging/debian/copyright \
	contrib/packaging/debian/not-installed \
	contrib/packaging/debian/rules \
	contrib/packaging/debian/slurm-fabric-client.install \
	contrib/packaging/debian/slurm-fabric-client.postinst \
	contrib/packaging/debian/slurm-fabric-client.postrm \
	contrib/packaging/debian/slurm-fabric-client.preinst \
	contrib/packaging/debian/slurm-fabric-client.prerm \
	contrib/packaging/debian/slurm-fabric-common.docs \
	contrib/packaging/debian/slurm-fabric-common.examples \
	contrib/packaging/debian/slurm-fabric-common.install \
	contrib/packaging/debian/slurm-fabric-common.postrm \
	contrib/packaging/debian/slurm-fabric-node.install \
	contrib/packaging/debian/slurm-fabric-node.lintian-overrides \
	contrib/packaging/debian/slurm-fabric-node.postinst \
	contrib/packaging/debian/slurm-fabric-node.postrm \
	contrib/packaging/debian/slurm-fabric-node.prerm \
	contrib/packaging/debian/slurm-fabric-server.dirs \
	contrib/packaging/debian/slurm-fabric-server.install \
	contrib/packaging/debian/slurm-fabric-server.lintian-overrides \
	contrib/packaging/debian/slurm-fabric-server.postinst \
	contrib/packaging/debian/slurm-fabric-server.postrm \
	contrib/packaging/debian/slurm-fabric-server.prerm \
	contrib/packaging/debian/slurm-fabric-slurmctld.install \
	contrib/packaging/debian/slurm-fabric-slurmctld.prerm \
	contrib/packaging/debian/slurm-fabric-topology.dirs \
	contrib/packaging/debian/slurm-fabric-topology.install \
	contrib/packaging/debian/slurm-fabric-topology.lintian-overrides \
	contrib/packaging/debian/slurm-fabric-topology.prerm \
	contrib/packaging/debian/source/format

# Debian packages for the Slurm that configure saw, in deb/ of the build tree. DEB_FLAGS are
# dpkg-buildpackage's: -d where Slurm did not come as a package. This make's own flags are no
# business of the packages' build.
deb: dist
	rm -rf deb
	$(MKDIR_P) deb
	tar -C deb -xzf $(distdir).tar.gz
	cp -R deb/$(distdir)/contrib/packaging/debian deb/$(distdir)/debian
	cp contrib/packaging/debian/changelog deb/$(distdir)/debian/changelog
	cd deb/$(distdir) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
		SLURM_PREFIX='$(filter-out yes,$(with_slurm))' SLURM_PLUGINDIR='$(slurm_plugindir)' \
		dpkg-buildpackage -b -us -uc $(DEB_FLAGS)
	rm -rf deb/$(distdir)
	@ls deb/*.deb
.PHONY: deb

clean-local:
	rm -rf deb
