#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the dumps of this folder in the form of ibnetdiscover: generate.py rails|tree3|... > FILE.

Names, GUIDs and wiring are made up. Each dump is also a netfile of ibsim (HDR is the fastest speed
it knows). rails: 2 units of 2 hosts with 8 rails below 2 spines, a SHARP aggregation node in every
switch. tree3: 3 levels, 2 pods of 2 leaves, 2 spines in each, 2 cores. islands: two fabrics without a
cable between them and a login node with a leg in each.
"""
import sys

nodes = []  # in the order of the dump


class Node:
    def __init__(self, kind, guid, ports, description, device, system=None):
        self.kind, self.guid, self.ports, self.description = kind, guid, ports, description
        self.device, self.system, self.cables = device, system or guid, {}
        nodes.append(self)

    def id(self):
        return '"%s-%016x"' % ("S" if self.kind == "Switch" else "H", self.guid)

    def port_guid(self, port):
        return self.guid + port - 1


def switch(number, description, sharp=True):
    guid = 0x2C5EAB0300100000 + number * 0x40
    sw = Node("Switch", guid, 41 if sharp else 40, description, 0xD2F0)
    if sharp:
        agg = Node("Ca", guid + 8, 1, "Mellanox Technologies Aggregation Node", 0xCF09, guid)
        cable(sw, 41, agg, 1)
    return sw


def hca(number, description, ports=1):
    return Node("Ca", 0xB83FD20300200000 + number * 0x10, ports, description, 0x101B)


def cable(a, a_port, b, b_port, width="4xHDR"):
    a.cables[a_port] = (b, b_port, width)
    b.cables[b_port] = (a, a_port, width)


def full_mesh(lower, upper, first_port, count=1):
    """Each of lower to each of upper with count cables; ports above first_port on the lower side."""
    for i, low in enumerate(lower):
        for j, up in enumerate(upper):
            for k in range(count):
                cable(low, first_port + j * count + k, up, 1 + i * count + k)


def rails():
    spines = [switch(100 + i, "MF0;spine%d:MQM8700/U1" % i) for i in range(2)]
    leaves = []
    for unit in range(2):
        for rail in range(8):
            leaves.append(switch(unit * 8 + rail, "MF0;su%d-leaf%d:MQM8700/U1" % (unit + 1, rail)))
    full_mesh(leaves, spines, 21)
    for host in range(4):
        for rail in range(8):
            h = hca(host * 8 + rail, "gpu%02d mlx5_%d" % (host + 1, rail))
            cable(h, 1, leaves[host // 2 * 8 + rail], host % 2 + 1)


def tree3():
    cores = [switch(200 + i, "core%d" % i, False) for i in range(2)]
    for pod in range(2):
        spines = [switch(100 + pod * 2 + i, "pod%d-spine%d" % (pod, i), False) for i in range(2)]
        leaves = [switch(pod * 2 + i, "pod%d-leaf%d" % (pod, i), False) for i in range(2)]
        full_mesh(leaves, spines, 21)
        for i, spine in enumerate(spines):
            cable(spine, 31, cores[i], 1 + pod)
        for i, leaf in enumerate(leaves):
            for host in range(2):
                h = hca(pod * 4 + i * 2 + host, "n%d.cluster.example HCA-1" % (pod * 4 + i * 2 + host + 1))
                cable(h, 1, leaf, host + 1)


def islands():
    for island in range(2):
        spine = switch(100 + island, "%s-spine" % "ab"[island], False)
        leaves = [switch(island * 2 + i, "%s-leaf%d" % ("ab"[island], i), False) for i in range(2)]
        full_mesh(leaves, [spine], 21)
        for i, leaf in enumerate(leaves):
            for host in range(2):
                h = hca(island * 4 + i * 2 + host, "%s%d mlx5_0" % ("ab"[island], i * 2 + host + 1))
                cable(h, 1, leaf, host + 1)
        cable(hca(100 + island, "login mlx5_%d" % island), 1, leaves[0], 3)


def far_end(node, port):
    text = "%s[%d]" % (node.id(), port)
    return text if node.kind == "Switch" else text + "(%x) " % node.port_guid(port)


def dump():
    print("#\n# Topology file: generated on Mon Jan  6 10:00:00 2025\n#")
    for node in [n for n in nodes if n.kind == "Switch"] + [n for n in nodes if n.kind != "Switch"]:
        print("\nvendid=0x2c9\ndevid=0x%x\nsysimgguid=0x%x" % (node.device, node.system))
        if node.kind == "Switch":
            print("switchguid=0x%x(%x)" % (node.guid, node.guid))
            print('Switch\t%d %s\t\t# "%s" base port 0 lid 0 lmc 0' % (node.ports, node.id(), node.description))
        else:
            print("caguid=0x%x" % node.guid)
            print('Ca\t%d %s\t\t# "%s"' % (node.ports, node.id(), node.description))
        for port, (peer, peer_port, width) in sorted(node.cables.items()):
            if node.kind == "Switch":
                print('[%d]\t%s\t\t# "%s" lid 0 %s' % (port, far_end(peer, peer_port), peer.description, width))
            else:
                print('[%d](%x) \t%s\t\t# lid 0 lmc 0 "%s" lid 0 %s' % (
                    port, node.port_guid(port), far_end(peer, peer_port), peer.description, width))


{"rails": rails, "tree3": tree3, "islands": islands}[sys.argv[1]]()
dump()
