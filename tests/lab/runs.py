# SPDX-License-Identifier: GPL-2.0-or-later
"""
runs.py - reads a run, the folder that FORMAT describes, and does the arithmetic of its counters.

What is read is checked: a folder that is no run, or is newer, is refused with a sentence that names
the file (Bad). A single field that makes no sense is as if it had not been read. The programs beside
this file, which are in Python so that they need nothing but a bare machine, take runs from here.
"""
import bisect
import json
import os

FORMAT, VERSION = "sfabric-run", 1
BEHAVIOURS = ("wraps", "saturates", "total", "gauge", "text")
VERDICTS = ("compute", "network", "storage", "data", "none", "not-enough-evidence")


class Bad(Exception):
    """The run can't be read: file, thing, cure."""


class Run:
    """run.json checked; samples and marks are read when they are asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "run.json")
        try:
            with open(self.path, encoding="utf-8") as f:
                self.meta = json.load(f)
        except (OSError, ValueError) as e:
            raise Bad("%s: %s" % (self.path, e)) from e
        meta = self.meta
        if not isinstance(meta, dict) or meta.get("format") != FORMAT:
            raise Bad("%s: format is not %s" % (self.path, FORMAT))
        if meta.get("version") != VERSION:
            raise Bad("%s: version %r, this program knows %d" % (self.path, meta.get("version"), VERSION))
        try:
            self._check()
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise Bad("%s: %s: %s" % (self.path, type(e).__name__, e)) from e

    def _check(self):
        self.interval_ns = int(self.meta["interval_ns"])
        self.nodes = {n["name"]: n for n in self.meta["nodes"]}
        self.series = {}
        for node in self.nodes.values():
            file = node["file"]
            if file in ("", ".", "..", "run.json", "marks.csv") or "/" in file:
                raise Bad("%s: node %s: file %r" % (self.path, node["name"], file))
        for s in self.meta["series"]:
            if s["behaviour"] not in BEHAVIOURS or s["id"] in self.series or s["node"] not in self.nodes:
                raise Bad("%s: series %r" % (self.path, s))
            if s["behaviour"] in ("wraps", "saturates") and not 0 < s["width"] <= 64:
                raise Bad("%s: series %d: width" % (self.path, s["id"]))
            self.series[s["id"]] = s

    def find(self, node, meaning, device=None):
        """The series of a node with that meaning, all devices or one."""
        return [s for s in self.series.values() if s["node"] == node and s["meaning"] == meaning
                and (device is None or s["device"] == device)]

    def offset_ns(self, node):
        """Node's wall clock minus the common one, and its bound: the exchange with the best bound; None."""
        clock = self.nodes[node].get("clock") or []
        best = min(clock, key=lambda c: c["bound_ns"], default=None)
        return (best["offset_ns"], best["bound_ns"]) if best else None

    def samples(self, node):
        """Common time in ns (node's own where its offset is not known), mono, and {id: values}; a value
        is an int, a str for text, or None."""
        path = os.path.join(self.folder, self.nodes[node]["file"])
        shift = (self.offset_ns(node) or (0, 0))[0]
        try:
            with open(path, encoding="utf-8") as f:
                names = f.readline().rstrip("\n").split(",")
                rows = [line.rstrip("\n").split(",") for line in f]
        except (OSError, UnicodeDecodeError) as e:
            raise Bad("%s: %s" % (path, e)) from e
        if names[:2] != ["wall_ns", "mono_ns"]:
            raise Bad("%s:1: does not begin with wall_ns,mono_ns" % path)
        rows = [r for r in rows if len(r) == len(names) and r[0].isdigit() and r[1].isdigit()]
        columns = list(zip(*rows)) or [()] * len(names)
        values = {}
        for name, column in zip(names[2:], columns[2:]):
            s = self.series.get(int(name)) if name.isdigit() else None
            if s is None or s["node"] != node:
                raise Bad("%s:1: column %r is no series of this node" % (path, name))
            if s["behaviour"] == "text":
                values[s["id"]] = [v or None for v in column]
            else:
                values[s["id"]] = [int(v) if v.isdigit() else None for v in column]
        return [int(t) - shift for t in columns[0]], [int(t) for t in columns[1]], values

    def marks(self):
        """(node, task, common time in ns, step, seconds or None) by time; [] where there are none."""
        path = os.path.join(self.folder, "marks.csv")
        found = []
        try:
            with open(path, encoding="utf-8") as f:
                f.readline()
                for line in f:
                    p = line.rstrip("\n").split(",")
                    if len(p) != 5 or p[0] not in self.nodes:
                        continue
                    try:
                        shift = (self.offset_ns(p[0]) or (0, 0))[0]
                        found.append((p[0], int(p[1]), int(p[2]) - shift, int(p[3]),
                                      float(p[4]) if p[4] else None))
                    except ValueError:
                        continue
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as e:
            raise Bad("%s: %s" % (path, e)) from e
        return sorted(found, key=lambda m: m[2])


def increments(series, values):
    """From each value to the next that is known, in the series' unit: [(i, j, amount)], i and j are
    places in values. A reset and a saturated counter say nothing; a wrap is one where that is the
    smaller step."""
    found, last = [], None
    top = (1 << series.get("width", 64)) - 1
    scale = series.get("scale", 1)
    wraps, saturates = series["behaviour"] == "wraps", series["behaviour"] == "saturates"
    for j, v in enumerate(values):
        if v is None:
            continue
        if last is not None:
            amount = v - values[last]
            if amount < 0 and wraps and amount + top + 1 < (top + 1) // 2:
                amount += top + 1
            if amount >= 0 and not (saturates and v == top):
                found.append((last, j, amount * scale))
        last = j
    return found


def rates(series, values, mono):
    """Units per second over each interval: [(time of its end, rate)] in the node's mono ns."""
    return [(mono[j], amount * 1e9 / (mono[j] - mono[i]))
            for i, j, amount in increments(series, values) if mono[j] > mono[i]]


def at(times, t):
    """The place of the last time <= t, or -1."""
    return bisect.bisect_right(times, t) - 1
