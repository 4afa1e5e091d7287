# SPDX-License-Identifier: GPL-2.0-or-later
"""A topology.conf of Slurm's topology/tree, read and held to what slurmctld demands of it.

slurmctld refuses to start over: a line with both Switches= and Nodes=, a name twice, a child that
does not exist, a cycle; blanks inside a list end the line for it. It warns of a node on two leaves
and of nodes in no switch. A switch with two parents is legal there and wrong here: no tree.
"""
import re


def expand(text):
    """The names of a host list: n[1-3,7],login."""
    names, depth, word = [], 0, ""
    for c in text + ",":
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            names += expand_one(word)
            word = ""
        else:
            word += c
    return [n for n in names if n]


def expand_one(word):
    match = re.match(r"([^\[]*)\[([^\]]*)\](.*)$", word)
    if not match:
        return [word]
    before, ranges, behind = match.groups()
    out = []
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        for number in range(int(low), int(high or low) + 1):
            out += [before + str(number).zfill(len(low)) + rest for rest in expand_one(behind)]
    return out


class Conf:
    def __init__(self, text):
        self.wrong, self.children, self.leaves, self.parent = [], {}, {}, {}
        where = {}
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            match = re.match(r"SwitchName=(\S+) (Switches|Nodes)=(\S+)$", line)
            if not match:
                self.wrong.append("no line of topology.conf: " + line[:100])
                continue
            name, key, members = match.groups()
            if name in self.children or name in self.leaves:
                self.wrong.append("%s is there twice" % name)
            if not re.match(r"[A-Za-z0-9_.-]{1,63}$", name):
                self.wrong.append("no name of a switch: " + name[:80])
            (self.children if key == "Switches" else self.leaves)[name] = expand(members)
        for name, nodes in self.leaves.items():
            for node in nodes:
                if node in where:
                    self.wrong.append("%s is on %s and on %s" % (node, where[node], name))
                where[node] = name
        for name, below in self.children.items():
            for child in below:
                if child not in self.children and child not in self.leaves:
                    self.wrong.append("%s is a child of %s, and is not there" % (child, name))
                if child in self.parent:
                    self.wrong.append("%s has two parents" % child)
                self.parent[child] = name
        self.where = where
        for name in list(self.leaves) + list(self.children):
            if self.path(name) is None:
                self.wrong.append("%s is below itself" % name)
                break

    def path(self, name):
        """From a switch up to its root; None when that never ends."""
        out = [name]
        while out[-1] in self.parent:
            out.append(self.parent[out[-1]])
            if len(out) > len(self.parent) + 1:
                return None
        return out

    def nodes(self):
        return set(self.where)

    def roots(self):
        return [n for n in list(self.leaves) + list(self.children) if n not in self.parent]

    def common(self, a, b):
        """The lowest switch above both nodes; None: there is no way between them."""
        above = set(self.path(self.where[b]))
        return next((s for s in self.path(self.where[a]) if s in above), None)
