#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""forbidden.py FOLDER [MB] - tries, in a unit's sandbox, what the unit forbids; says what it may.

Runs in the place of the unit's program. A line for each thing that was not refused, "tried N" last.
FOLDER is where the unit may write. Then it takes MB of memory, which is more than the unit has.
"""
import ctypes
import errno
import mmap
import os
import socket
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
mine = os.path.join(sys.argv[1], "forbidden")
refusals = (errno.EPERM, errno.EACCES, errno.EROFS, errno.EAGAIN, errno.EAFNOSUPPORT, errno.ENOENT, errno.ENXIO)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def see_home():
    if not os.listdir("/root"):
        raise PermissionError(errno.EACCES, "empty")


def make_group():
    os.mkdir("/sys/fs/cgroup/forbidden")
    os.rmdir("/sys/fs/cgroup/forbidden")


def many_processes():
    for _ in range(80):
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)


attempts = {
    "write to /etc": lambda: write("/etc/forbidden", "x"),
    "write to /usr": lambda: write("/usr/forbidden", "x"),
    "write to /proc/sys": lambda: write("/proc/sys/kernel/panic", "-1"),
    "make a control group": make_group,
    "see what is in /root": see_home,
    "read the kernel's log": lambda: os.open("/dev/kmsg", os.O_RDONLY),
    "open a device": lambda: os.open("/dev/gpu0", os.O_RDWR | os.O_NOCTTY),
    "make a device": lambda: os.mknod(mine + ".device", 0o20600, os.makedev(1, 1)),
    "give a file away": lambda: os.chown(mine, 1, 1),
    "make a file setuid": lambda: os.chmod(mine, 0o4755),
    "become another user": lambda: os.setuid(1),
    "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "set the host's name": lambda: socket.sethostname(socket.gethostname()),
    "mount": lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None),
    "make a user name space": lambda: call("unshare", 0x10000000),
    "make a network name space": lambda: call("unshare", 0x40000000),
    "load a module": lambda: call("syscall", 313, -1, b"", 0),  # finit_module(2) on x86-64
    "be traced": lambda: call("ptrace", 0, 0, None, None),
    "reboot": lambda: call("reboot", 0),  # no Ctrl-Alt-Del, no more
    "be a process of 32 bits": lambda: call("personality", 8),
    "run in real time": lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)),
    "execute what it writes": lambda: mmap.mmap(-1, 4096, prot=7),
    "receive all packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "have 80 processes": many_processes,
}


def refused(attempt):  # each in a process of its own: some change what they run in
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            attempt()
        except OSError as error:
            os._exit(3 if error.errno in refusals else 0)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    try:
        os.killpg(child, 9)
    except OSError:
        pass
    return status == 0x300


write(mine, "x")
for kind in (socket.AF_INET, socket.AF_UNIX):
    socket.socket(kind, socket.SOCK_STREAM).close()
for name, attempt in attempts.items():
    if not refused(attempt):
        print(name)
os.remove(mine)
print("tried", len(attempts), flush=True)
if len(sys.argv) > 2:
    taken = b"x" * (int(sys.argv[2]) << 20)
    print("as much memory")
