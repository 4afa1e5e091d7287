# SPDX-License-Identifier: GPL-2.0-or-later
"""A fabric of fabrics.py in ibsim, for programs that ask it by subnet management packets.

Sim(fabric) starts ibsim in a folder of its own; run() starts a program that sees one of the fabric's
HCAs as its own; console() gives ibsim a command and waits until it is done. ibsim's words: nodes are
called as in a dump ("S-...", "H-..."), and of a host the first port of one HCA is all that a program
has. ibsim 0.10 knows speeds up to HDR, so that NDR and XDR become HDR: slow() is the dump to compare.
"""
import os
import re
import shutil
import subprocess
import tempfile
import time

PRELOADS = ["/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so",
            "/usr/lib/aarch64-linux-gnu/umad2sim/libumad2sim.so",
            "/usr/lib64/umad2sim/libumad2sim.so", "/usr/lib/umad2sim/libumad2sim.so"]
PRELOAD = next((p for p in PRELOADS if os.path.exists(p)), None)
WAIT = 300


def lacking():
    """What is not installed; None: all is there."""
    for program in "ibsim", "ibnetdiscover":
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
            return program
    return None if PRELOAD else "libumad2sim.so"


def slow(fabric):
    """The dump with speeds and widths that ibsim knows, before a subnet manager has come."""
    text = re.sub(r"1xXDR\b", "4xHDR", fabric.dump()).replace("xNDR", "xHDR")
    return re.sub(r"\blid \d+", "lid 0", text)


def simulator_name(node):
    return node.id().strip('"')


class Sim:
    serial = 0

    def __init__(self, fabric, text=None):
        Sim.serial += 1
        self.fabric = fabric
        self.folder = tempfile.mkdtemp(prefix="sfabric-sim.")
        self.env = dict(os.environ, IBSIM_SOCKNAME="sfabric-%d-%d" % (os.getpid(), Sim.serial))
        self.env["PATH"] += ":/usr/sbin"
        self.output = os.path.join(self.folder, "ibsim.out")
        with open(os.path.join(self.folder, "netfile"), "w") as file:
            file.write(text or slow(fabric))
        room = len(fabric.nodes) + 16
        ports = sum(n.ports + 1 for n in fabric.nodes) + 1024
        with open(self.output, "w") as out:
            self.process = subprocess.Popen(
                ["ibsim", "-s", "-N", str(room), "-S", str(room), "-P", str(ports), "-L", "1024",
                 "netfile"], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
                cwd=self.folder, env=self.env)
        self.answers = 0
        self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def said(self):
        with open(self.output, errors="replace") as file:
            return file.read()

    def wait(self):
        """Until ibsim asks for the next command."""
        self.answers += 1
        end = time.monotonic() + WAIT
        while self.said().count("sim> ") < self.answers:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("ibsim: " + self.said()[-500:])
            time.sleep(0.01)

    def send(self, command):
        self.process.stdin.write((command + "\n").encode())
        self.process.stdin.flush()

    def console(self, command):
        self.send(command)
        self.wait()

    def error(self, node, attribute, rate=100):
        """rate % of the queries for that attribute get no answer from node."""
        self.console('Error "%s" %d %d' % (simulator_name(node), rate, attribute))

    def no_error(self, node):
        self.console('Error "%s" 0' % simulator_name(node))

    def unlink(self, node, port):
        self.console('Unlink "%s"[%d]' % (simulator_name(node), port))

    def relink(self, node, port):
        self.console('ReLink "%s"[%d]' % (simulator_name(node), port))

    def link(self, a, a_port, b, b_port):
        self.console('Link "%s"[%d] "%s"[%d]' % (simulator_name(a), a_port, simulator_name(b),
                                                 b_port))

    def inside(self, node):
        """The environment of a program that runs on that node."""
        return dict(self.env, SIM_HOST=simulator_name(node), LD_PRELOAD=PRELOAD)

    def subnet_manager(self, node):
        """Gives out LIDs and ends."""
        env = dict(self.inside(node), OSM_CACHE_DIR=self.folder, OSM_TMP_DIR=self.folder)
        done = subprocess.run(["opensm", "-e", "-o", "-f", os.path.join(self.folder, "opensm.log")],
                              cwd=self.folder, env=env, capture_output=True, text=True, timeout=WAIT)
        if done.returncode:
            raise RuntimeError("opensm: " + (done.stderr or done.stdout)[-500:])

    def run(self, node, *command):
        done = subprocess.run(command, cwd=self.folder, env=self.inside(node), capture_output=True,
                              text=True, errors="replace", timeout=WAIT)
        return done.returncode, done.stdout, done.stderr
