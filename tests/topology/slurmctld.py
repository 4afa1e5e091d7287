# SPDX-License-Identifier: GPL-2.0-or-later
"""A private slurmctld that loads a topology file: no slurmd, no slurmdbd, no munge.

Its nodes are CLOUD nodes that nobody starts, so that it places jobs (sbatch --test-only) on as many
as one likes. With a root (a folder with another release of Slurm) all runs there, by chroot.
"""
import glob
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

SAID = re.compile(r"topolog|switch|block|ring|leaf|leaves|fatal|[Pp]ars|Invalid hostnames")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurmctld:
    def __init__(self, nodes, plugin="topology/tree", root=None, partitions=None):
        self.root = root
        self.folder = tempfile.mkdtemp(prefix="slurmctld.", dir=(root or "") + "/tmp")
        os.chmod(self.folder, 0o755)
        self.here = self.folder[len(root or ""):]  # as Slurm sees it
        self.daemon = None
        self.front = ["unshare", "--mount", "sh", "-c", "mount -t proc proc \"$0/proc\" && "
                      "exec chroot \"$0\" \"$@\"", root] if root else []
        partitions = partitions or "PartitionName=main Nodes=ALL Default=YES"
        plugins = [os.path.dirname(p)[len(root or ""):]
                   for where in ("lib/*/slurm-wlm", "lib/*/slurm", "lib64/slurm", "lib/slurm")
                   for p in glob.glob("%s/usr/%s/select_cons_tres.so" % (root or "", where))]
        port = free_port()
        with open(self.folder + "/slurm.conf", "w") as file:
            file.write("""ClusterName=topo
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort=%d
SlurmdPort=%d
SlurmctldPidFile=%s/pid
StateSaveLocation=%s/state
SlurmdSpoolDir=%s/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
TopologyPlugin=%s
PluginDir=%s
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=86400
ResumeTimeout=60000
NodeName=%s CPUs=1 State=CLOUD
%s
""" % (port, port + 1, self.here, self.here, self.here, plugin, plugins[0], nodes, partitions))
        os.mkdir(self.folder + "/state")
        with open(self.folder + "/cgroup.conf", "w") as file:
            file.write("CgroupAutomount=no\n" if self.release() < (22, 6) else
                       "CgroupPlugin=disabled\n")

    def inside(self, *words):
        """A command of Slurm's, in the root, with this configuration."""
        return self.front + ["/usr/bin/env", "SLURM_CONF=%s/slurm.conf" % self.here, *words]

    def run(self, *words, timeout=60):
        return subprocess.run(self.inside(*words), capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL)

    def release(self):
        said = subprocess.run(self.front + ["slurmctld", "-V"], capture_output=True,
                              text=True).stdout
        return tuple(int(n) for n in re.search(r"(\d+)\.(\d+)", said).groups())

    def start(self, text, name="topology.conf"):
        """Whether slurmctld starts with that file; what it says of it is in self.said."""
        for old in ("topology.conf", "topology.yaml"):
            if os.path.exists(os.path.join(self.folder, old)):
                os.unlink(os.path.join(self.folder, old))
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)
        log = open(self.folder + "/log", "w")
        self.daemon = subprocess.Popen(self.inside("slurmctld", "-D", "-c"), stdout=log,
                                       stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        log.close()
        deadline = time.time() + 120
        up = False
        while not up and self.daemon.poll() is None and time.time() < deadline:
            time.sleep(0.1)
            up = "UP" in self.run("scontrol", "ping").stdout
        self.up = up
        return up

    @property
    def said(self):
        with open(self.folder + "/log", errors="replace") as file:
            return [re.sub(r"^\S*\] |^slurmctld: ", "", line.strip()) for line in file
                    if SAID.search(line) and not re.search(r"debug|select/cons_tres:", line)]

    def spans(self, *nodes):
        """Whether a job could get just these nodes."""
        done = self.run("sbatch", "--test-only", "-N%d" % len(nodes), "-w", ",".join(nodes),
                        "--wrap", "true")
        return done.returncode == 0

    def stop(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            try:
                self.daemon.wait(30)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
        self.daemon = None

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
