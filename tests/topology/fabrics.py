# SPDX-License-Identifier: GPL-2.0-or-later
"""Fabrics made up for tests, with the truth about them, and every text form they can be saved in.

A Fabric is switches, HCAs and cables. truth: for each host the names of the groups it is in, from
its island down to its unit; two hosts are the nearer the more they share. Structure is all that the
program may go by: shuffled() gives the same fabric other GUIDs, switch names, port numbers and order.
"""
import json
import random


class Node:
    def __init__(self, kind, guid, ports, description, device, system):
        self.kind, self.guid, self.ports, self.description = kind, guid, ports, description
        self.device, self.system, self.cables = device, system or guid, {}

    def id(self):
        return '"%s-%016x"' % ({"Switch": "S", "Ca": "H", "Rt": "R"}[self.kind], self.guid)


class Fabric:
    def __init__(self, name):
        self.name, self.nodes, self.truth, self.options, self.says = name, [], {}, [], None
        self.accept, self.serial = False, 0

    def add(self, kind, ports, description, device, system=None):
        self.serial += 1
        node = Node(kind, 0xB8CEF60300000000 + self.serial * 0x40, ports, description, device,
                    system)
        self.nodes.append(node)
        return node

    def switch(self, description="Quantum Mellanox Technologies", ports=64, system=None,
               sharp=False):
        sw = self.add("Switch", ports + sharp, description, 0xD2F2, system)
        if sharp:
            agg = self.add("Ca", 1, "Mellanox Technologies Aggregation Node", 0xCF09, sw.system)
            self.cable(sw, agg, a_port=sw.ports)
        return sw

    def switches(self, count, name, **more):
        return [self.switch(name % i if "%" in name else name, **more) for i in range(count)]

    def cable(self, a, b, wire="4xNDR", a_port=None, b_port=None, count=1):
        for _ in range(count):
            a_port = a_port or next(p for p in range(1, a.ports + 1) if p not in a.cables)
            a.cables[a_port] = None
            b_port = b_port or next(p for p in range(1, b.ports + 1) if p not in b.cables)
            a.cables[a_port] = (b, b_port, wire)
            b.cables[b_port] = (a, a_port, wire)
            a_port = b_port = None

    def mesh(self, lower, upper, count=1):
        for low in lower:
            for up in upper:
                self.cable(low, up, count=count)

    def host(self, name, leaves, path, ports=1):
        """A host with an HCA on each of leaves (None: it is dark); path: the groups it is in."""
        for i, leaf in enumerate(leaves):
            hca = self.add("Ca", ports, "%s mlx5_%d" % (name, i), 0x1021)
            if leaf:
                self.cable(hca, leaf)
        if path:
            self.truth[name] = path

    def shuffled(self, seed):
        """The same again, but for all that must not matter."""
        rng = random.Random(seed)
        twin = Fabric(self.name)
        twin.truth, twin.options, twin.says = self.truth, self.options, self.says
        twin.accept = self.accept
        guids = rng.sample(range(1 << 56, 1 << 60), len(self.nodes) * 2)
        of, systems, names = {}, {}, [n.description for n in self.nodes if n.kind == "Switch"]
        rng.shuffle(names)
        for node in self.nodes:
            system = systems.setdefault(node.system, guids.pop())
            description = node.description
            if node.kind == "Switch" and not description.startswith("MF0;"):
                description = "x%d" % guids[-1]
            of[node] = Node(node.kind, guids.pop(), node.ports, description, node.device, system)
        for node in self.nodes:
            fixed = node.kind == "Ca" or node.ports <= 2
            ports = list(range(1, node.ports + 1))
            if not fixed:
                rng.shuffle(ports)
            of[node].new_port = dict(zip(range(1, node.ports + 1), ports))
        for node in self.nodes:
            for port, (peer, peer_port, wire) in node.cables.items():
                of[node].cables[of[node].new_port[port]] = (
                    of[peer], of[peer].new_port[peer_port], wire)
        twin.nodes = list(of.values())
        rng.shuffle(twin.nodes)
        return twin

    # The forms.

    def dump(self, blank="\n", port_form="", twice=False, newline="\n", grouped=False):
        out = ["#", "# Topology file: generated on Mon Jan  6 10:00:00 2025", "#"]
        boxes = {}
        for node in self.nodes:
            boxes.setdefault(node.system, []).append(node)
        for node in self.nodes:
            if grouped and node.kind == "Rt" and len(boxes[node.system]) > 1:
                continue
            out.append(blank.rstrip("\n"))
            for _ in range(2 if twice else 1):
                out.append("vendid=0x2c9")
            out += ["devid=0x%x" % node.device, "sysimgguid=0x%x" % node.system +
                    ("\t\t# Chassis 1" if grouped and len(boxes[node.system]) > 1 else "")]
            key = {"Switch": "switch", "Ca": "ca", "Rt": "rt"}[node.kind]
            line = "%sguid=0x%x" % (key, node.guid)
            out += [line + ("(%x)" % node.guid if key == "switch" else "")] * (2 if twice else 1)
            more = " enhanced port 0 lid 0 lmc 0" if key == "switch" else ""
            out.append('%s\t%d %s\t\t# "%s"%s' % (node.kind, node.ports, node.id(),
                                                 node.description, more))
            for port, (peer, number, wire) in sorted(node.cables.items()):
                out.append(self.port_line(node, port, peer, number, wire, port_form, grouped))
        return newline.join(out) + newline

    def port_line(self, node, port, peer, number, wire, port_form, grouped):
        here = "[%d]" % port
        if node.kind != "Switch":
            here += "(%x) " % (node.guid + port - 1)
        elif port_form:
            here += port_form % port
        elif grouped:
            here += "[ext %d]" % port
        there = "%s[%d]" % (peer.id(), number)
        if peer.kind != "Switch":
            there += "(%x) " % (peer.guid + number - 1)
        elif port_form:
            there += port_form % number
        elif grouped:
            there += "[ext %d]" % number
        own = "" if node.kind == "Switch" else "lid 7 lmc 0 "
        return '%s\t%s\t\t# %s"%s" lid 9 %s' % (here, there, own, peer.description, wire)

    def port_list(self):
        kinds = {"Switch": "SW", "Ca": "CA", "Rt": "RT"}
        out = []
        for node in self.nodes:
            for port in range(node.ports, 0, -1):
                if port not in node.cables:
                    if node.kind == "Switch":
                        out.append("SW %5d %2d 0x%016x 4x SDR%37s'%s'" % (
                            7, port, node.guid, "", node.description))
                    continue
                peer, number, wire = node.cables[port]
                ends = ["%s %5d %2d 0x%016x" % (
                    kinds[n.kind], 7, p, n.guid if n.kind == "Switch" else n.guid + p - 1)
                    for n, p in ((node, port), (peer, number))]
                out.append("%s %s %s - %s ( '%s' - '%s' )" % (
                    ends[0], wire[:2], wire[2:], ends[1], node.description, peer.description))
        return "\n".join(out) + "\n"

    def forms(self):
        """(name, text) of each form; all of them are the same fabric."""
        noisy = "\ufeff[root@head ~]# ibnetdiscover\r\n" + self.dump(newline="\r\n") + "[root@head ~]# \r\n"
        tight = "\n".join(l for l in self.dump().split("\n") if l)
        yield "grouped", ("Chassis 1 (guid 0x1)\n\n# Spine Nodes" + self.dump(grouped=True) +
                          "Non-Chassis Nodes\n")
        yield "ibdiagnet", self.dump(port_form="(%d)", twice=True)
        yield "from a terminal", noisy
        yield "without blank lines", tight
        yield "list of ports", self.port_list()


    def lldp(self):
        """{machine: JSON} as of an Ethernet fabric of this shape, in both spellings; None: it has nodes
        that Ethernet does not."""
        names = [n.description for n in self.nodes if n.kind == "Switch"]
        if len(set(names)) < len(names) or any(
                n.kind == "Rt" or n.device == 0xCF09 or ";" in n.description or
                (n.kind == "Switch" and n.ports <= 2) for n in self.nodes):
            return None
        out = {}
        for node in self.nodes:
            name, _, device = node.description.partition(" ")
            out.setdefault(name, []).extend(
                ("swp%d" % port if node.kind == "Switch" else device.replace("mlx5_", "rail"), peer,
                 "swp%d" % number if peer.kind == "Switch" else
                 peer.description.partition(" ")[2].replace("mlx5_", "rail"))
                for port, (peer, number, _) in sorted(node.cables.items()))
        return {name: json.dumps((lldp_json if i % 2 else lldp_json0)(seen))
                for i, (name, seen) in enumerate(out.items())}


def mac_of(node):
    return ":".join("%02x" % (node.guid >> shift & 0xFF) for shift in (40, 32, 24, 16, 8, 0))


def lldp_json(seen):
    return {"lldp": {"interface": [{port: {
        "via": "LLDP", "chassis": {peer.description.split(" ")[0]: {
            "id": {"type": "mac", "value": mac_of(peer)}}},
        "port": {"id": {"type": "ifname", "value": peer_port}}}} for port, peer, peer_port in seen]}}


def lldp_json0(seen):
    return {"lldp": [{"interface": [{
        "name": port, "via": "LLDP", "chassis": [{
            "id": [{"type": "mac", "value": mac_of(peer)}],
            "name": [{"value": peer.description.split(" ")[0]}]}],
        "port": [{"id": [{"type": "mac", "value": mac_of(peer)}], "descr": [{"value": peer_port}]}],
    } for port, peer, peer_port in seen]}]}


# The fabrics.

def two_levels(leaves=4, spines=2, hosts=6, **more):
    f = Fabric("two levels: %d leaves, %d spines, %d hosts on each" % (leaves, spines, hosts))
    up, low = f.switches(spines, "spine%d", **more), f.switches(leaves, "leaf%d", **more)
    f.mesh(low, up)
    for i, leaf in enumerate(low):
        for h in range(hosts):
            f.host("n%d-%d" % (i, h), [leaf], ("island", "pod", "leaf%d" % i))
    f.low, f.up = low, up
    return f


def three_levels(pods=3, leaves=3, spines=2, cores=2, hosts=4, rails=1, full_core=False):
    f = Fabric("three levels: %d pods of %d leaves, %d rails" % (pods, leaves, rails))
    f.cores = f.switches(cores * spines if not full_core else cores, "core%d")
    f.pods = []
    for p in range(pods):
        up = f.switches(spines, "pod%d-spine%%d" % p)
        for i, spine in enumerate(up):
            f.mesh([spine], f.cores if full_core else f.cores[i * cores:(i + 1) * cores])
        low = [f.switches(rails, "pod%d-unit%d-rail%%d" % (p, i)) for i in range(leaves)]
        for i, unit in enumerate(low):
            f.mesh(unit, up)
            for h in range(hosts):
                f.host("p%du%dh%d" % (p, i, h), unit, ("island", "pod%d" % p, "unit%d-%d" % (p, i)))
        f.pods.append((up, low))
    return f


def four_levels(areas=2, pods=2, leaves=2, hosts=3):
    f = Fabric("four levels: %d areas of %d pods" % (areas, pods))
    tops = f.switches(2, "top%d")
    for a in range(areas):
        cores = f.switches(2, "a%d-core%%d" % a)
        f.mesh(cores, tops)
        for p in range(pods):
            spines = f.switches(2, "a%dp%d-spine%%d" % (a, p))
            f.mesh(spines, cores)
            for l in range(leaves):
                leaf = f.switch("a%dp%d-leaf%d" % (a, p, l))
                f.mesh([leaf], spines)
                for h in range(hosts):
                    f.host("a%dp%dl%dh%d" % (a, p, l, h), [leaf],
                           ("island", "area%d" % a, "pod%d-%d" % (a, p), "leaf%d-%d-%d" % (a, p, l)))
    return f


def rails(units=3, count=8, hosts=5, dark=False, sharp=True):
    f = Fabric("%d rails, %s" % (count, "some of them dark" if dark else "all lit"))
    up = f.switches(4, "MF0;spine%d:MQM9700/U1", sharp=sharp, ports=max(64, units * count))
    for u in range(units):
        unit = f.switches(count, "MF0;su%d-leaf%%d:MQM9700/U1" % u, sharp=sharp)
        f.mesh(unit, up)
        for h in range(hosts):
            lit = [None if dark and (h + r) % 4 == 0 and h < 3 else leaf
                   for r, leaf in enumerate(unit)]
            f.host("u%dh%d" % (u, h), lit, ("island", "pod", "unit%d" % u))
    return f


def rail_planes(units=3, count=4, hosts=4):
    """Each rail a fabric of its own: leaves and spines of one rail are never cabled to another's."""
    f = Fabric("%d separate planes" % count)
    spines = f.switches(count, "plane%d-spine")
    for u in range(units):
        unit = f.switches(count, "su%d-leaf%%d" % u)
        for leaf, spine in zip(unit, spines):
            f.cable(leaf, spine)
        for h in range(hosts):
            f.host("u%dh%d" % (u, h), unit, ("island", "pod", "unit%d" % u))
    return f


def hosts_above():
    f = three_levels()
    f.name = "hosts on a spine and on a core, the fabric manager on another core"
    f.host("tank1", [f.pods[0][0][0]], None)
    f.host("gw1", [f.cores[0]], None)
    f.host("ufm-sdn1", [f.cores[1]], None)
    return f


def islands():
    f = Fabric("two islands and a login node in both")
    parts = []
    for i in range(2):
        up, low = f.switches(2, "i%d-spine%%d" % i), f.switches(3, "i%d-leaf%%d" % i)
        f.mesh(low, up)
        for l, leaf in enumerate(low):
            for h in range(4):
                f.host("i%dl%dh%d" % (i, l, h), [leaf], ("island%d" % i, "pod", "leaf%d-%d" % (i, l)))
        parts.append(low)
    f.host("login", [parts[0][0], parts[1][0]], None)
    return f


def director(one):
    """Edge leaves below a director whose line cards also have hosts; one box or many switches."""
    f = Fabric("a director as %s" % ("one switch" if one else "many"))
    system = 0x777000
    spine = f.switches(3, "MCS8500/S%02d", system=system)
    line = f.switches(4, "MCS8500/L%02d", system=system)
    f.mesh(line, spine)
    for l, card in enumerate(line):
        for h in range(5):
            f.host("d%dh%d" % (l, h), [card],
                   ("island", "box") if one else ("island", "pod", "card%d" % l))
    f.options = ["--directors", "one" if one else "many"]
    return f


def two_directors(one):
    f = Fabric("two directors as %s" % ("one switch each" if one else "many"))
    cards = []
    for d in range(2):
        system = 0x777000 + d
        spine = f.switches(2, "MCS85%d/S%%02d" % d, system=system)
        line = f.switches(3, "MCS85%d/L%%02d" % d, system=system)
        f.mesh(line, spine)
        for l, card in enumerate(line):
            for h in range(4):
                f.host("d%dc%dh%d" % (d, l, h), [card], ("island", "box%d" % d) if one else
                       ("island", "pod%d" % d, "card%d-%d" % (d, l)))
        cards.append(line)
    tops = f.switches(2, "top%d")
    for line in cards:
        f.mesh(line[-1:] if one else [], tops)
        if not one:
            f.mesh([n for n in f.nodes if n.system == line[0].system and "/S" in n.description], tops)
    f.options = ["--directors", "one" if one else "many"]
    return f


def xdr_planes():
    """XDR: four ASICs in a box, an HCA's four planes on one of each; a router in every box."""
    f = Fabric("boxes of four ASICs, four planes, routers in the boxes")
    spines = [f.switch("MF0;spine:Q3400_RA/U%d" % (u + 1), system=0x9990) for u in range(4)]
    for b in range(3):
        box = [f.switch("MF0;leaf%d:Q3400_RA/U%d" % (b, u + 1), system=0x9000 + b) for u in range(4)]
        for asic, spine in zip(box, spines):
            f.cable(asic, spine, wire="1xXDR")
        router = f.add("Rt", 8, "MF0;leaf%d:Q3400_RA/U2/RT" % b, 0xC839, 0x9000 + b)
        f.cable(router, box[1], wire="1xXDR")
        for h in range(6):
            f.host("b%dh%d" % (b, h), box, ("island", "pod", "box%d" % b))
    return f


def extenders():
    f = Fabric("two sites joined by range extenders")
    sites = []
    for i in range(2):
        up, low = f.switches(2, "s%d-spine%%d" % i), f.switches(3, "s%d-leaf%%d" % i)
        f.mesh(low, up)
        for l, leaf in enumerate(low):
            for h in range(3):
                f.host("s%dl%dh%d" % (i, l, h), [leaf], ("island", "site%d" % i, "leaf%d-%d" % (i, l)))
        sites.append(up)
    for a, b in zip(*sites):
        near, far = f.switches(2, "Obsidian Longbow C400 - LBC4xxxxx", ports=2)
        f.cable(a, near)
        f.cable(near, far)
        f.cable(far, b)
    return f


def uneven():
    f = three_levels(pods=2, leaves=3)
    f.name = "a storage leaf below the cores, a leaf with one cable up, cables missing"
    storage = f.switch("storage")
    f.mesh([storage], f.cores)
    for h in range(4):
        f.host("oss%d" % h, [storage], ("island", "storage", "storage"))
    odd = f.switch("odd")
    f.cable(odd, f.pods[0][0][0])
    for h in range(3):
        f.host("odd%d" % h, [odd], ("island", "pod0", "odd"))
    return f


def pairs():
    f = two_levels(leaves=4, hosts=5)
    f.name = "leaves joined in pairs, loop-back cables, a plug"
    f.cable(f.low[0], f.low[1], count=2)
    f.cable(f.low[2], f.low[3])
    f.cable(f.low[0], f.low[0])
    f.cable(f.up[0], f.up[0])
    return f


def dragonfly_plus(cells=4, leaves=3, spines=3, hosts=3):
    f = Fabric("Dragonfly+: %d cells" % cells)
    ups = []
    for c in range(cells):
        up, low = f.switches(spines, "c%d-spine%%d" % c), f.switches(leaves, "c%d-leaf%%d" % c)
        f.mesh(low, up)
        ups.append(up)
        for l, leaf in enumerate(low):
            for h in range(hosts):
                f.host("c%dl%dh%d" % (c, l, h), [leaf],
                       ("island", "cell%d" % c, "leaf%d-%d" % (c, l)))
    for a in range(cells):
        for b in range(a + 1, cells):
            for s in range(spines):
                f.cable(ups[a][s], ups[b][s])
    f.says = "no tree"
    return f


def torus(x=4, y=4, hosts=2):
    f = Fabric("a torus of %d x %d" % (x, y))
    grid = {(i, j): f.switch("t%d-%d" % (i, j)) for i in range(x) for j in range(y)}
    for (i, j), sw in grid.items():
        f.cable(sw, grid[(i + 1) % x, j])
        f.cable(sw, grid[i, (j + 1) % y])
        for h in range(hosts):
            f.host("t%d-%d-%d" % (i, j, h), [sw], ("island", "t%d-%d" % (i, j)))
    f.says = "no tree"
    return f


def ring(count=5, hosts=3):
    f = Fabric("a ring of %d" % count)
    sws = f.switches(count, "ring%d")
    for i, sw in enumerate(sws):
        f.cable(sw, sws[(i + 1) % count])
        for h in range(hosts):
            f.host("r%dh%d" % (i, h), [sw], ("island", "r%d" % i))
    f.says = "no tree" if count > 3 else None
    return f


def full_mesh(count=4, hosts=3):
    """Any two switches have a cable: all are equally far, and a flat file is the truth."""
    f = Fabric("a full mesh of %d" % count)
    sws = f.switches(count, "m%d")
    for i, sw in enumerate(sws):
        f.mesh(sws[:i], [sw])
        for h in range(hosts):
            f.host("m%dh%d" % (i, h), [sw], ("island", "m%d" % i))
    return f


def single():
    f = Fabric("one switch")
    sw = f.switch("only")
    for h in range(5):
        f.host("n%d" % h, [sw], ("only",))
    return f


def pruned(seed):
    """Three levels, in which random cables between switches are missing (each keeps one up)."""
    f = three_levels(pods=3, leaves=4, spines=3, cores=2, hosts=4, rails=1 + seed % 3)
    f.name = "pruned (%d)" % seed
    rng = random.Random(seed)
    for node in f.nodes:
        if node.kind != "Switch":
            continue
        for port, (peer, number, _) in sorted(node.cables.items()):
            ups = [p for p, c in node.cables.items() if c[0].kind == "Switch"]
            back = [p for p, c in peer.cables.items() if c[0].kind == "Switch"]
            if peer.kind == "Switch" and len(ups) > 3 and len(back) > 3 and rng.random() < 0.12:
                del node.cables[port]
                del peer.cables[number]
    return f


def all_fabrics():
    yield two_levels()
    yield two_levels(leaves=12, spines=6, hosts=16, sharp=True)
    yield two_levels(leaves=2, spines=1, hosts=1)
    yield three_levels()
    yield three_levels(pods=4, leaves=2, spines=4, cores=1, rails=4)
    yield three_levels(pods=2, leaves=4, rails=8, full_core=True)
    yield four_levels()
    yield four_levels(areas=3, pods=3, leaves=2, hosts=2)
    yield rails()
    yield rails(dark=True)
    yield rails(count=4, sharp=False)
    yield rail_planes()
    yield hosts_above()
    yield islands()
    yield director(False)
    yield director(True)
    yield two_directors(False)
    yield two_directors(True)
    yield xdr_planes()
    yield extenders()
    yield uneven()
    yield pairs()
    yield dragonfly_plus()
    yield dragonfly_plus(cells=3, leaves=2, spines=2)
    yield torus()
    yield ring()
    yield ring(count=3)
    yield full_mesh()
    yield single()
    for seed in range(6):
        yield pruned(seed)
