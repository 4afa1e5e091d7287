# SPDX-License-Identifier: GPL-2.0-or-later
"""
faults.py - what breaks, what merely looks as if something broke, and which counters show it.

A Fault slows one resource of model.py during its intervals; how much follows from the effect that is
wanted, the rest is the model's. Both a Fault and a benign Event also move counters that no queue of
the model accounts for (retransmits, pause, pressure): drives, by node, of (device, name): "+" adds so
many a second, "*" multiplies, "=" is what a gauge shows meanwhile. Their sizes are assumptions.

Left out, because the model has no good state before them: faults that are there from the first step.
"""
from model import COMPUTE, DATA, NETWORK, STORAGE, Interval, log_uniform

KINDS = {
    NETWORK: ("link_loss", "link_slow", "leaf_congestion", "link_flap", "pause_storm", "storage_path"),
    STORAGE: ("nfs_slow", "metadata_storm", "local_disk"),
    DATA: ("loader_cpu", "wrong_binding", "slow_worker", "heavy_samples"),
    COMPUTE: ("gpu_throttle", "pcie_degraded", "paused_rank", "noisy_neighbour"),
}

# The meanings of which one tells the domain, when it can be read where the fault is.
ENERGY = {"gpu_energy_mj", "gpu_power_mw"}
TELLS = {
    "link_loss": {"retransmits", "errors", "out_of_sequence"} | ENERGY,
    "link_slow": {"link_bps", "congestion"} | ENERGY,
    "leaf_congestion": {"congestion"} | ENERGY,
    "link_flap": {"link_state", "retransmits", "errors"} | ENERGY,
    "pause_storm": {"rx_pause_us", "tx_pause_us"} | ENERGY,
    "storage_path": {"retransmits", "rpc_retransmits"},
    "nfs_slow": {"read_rtt_us"},
    "metadata_storm": {"metadata_rtt_us"},
    "local_disk": {"io_us"},
    "loader_cpu": {"throttled_us", "runqueue_us", "stall_cpu_us"},
    "wrong_binding": {"runqueue_us", "stall_cpu_us"},
    "slow_worker": ENERGY,
    "heavy_samples": {"loader_cpu_us"} | ENERGY,
    "gpu_throttle": {"gpu_throttle_us", "gpu_clock_mhz"} | ENERGY,
    "pcie_degraded": {"pcie_bps", "pcie_replays"} | ENERGY,
    "paused_rank": {"cpu_us", "gpu_util"} | ENERGY,
    "noisy_neighbour": {"runqueue_us", "stall_cpu_us", "node_cpu_us"},
}


class Event:
    """Counters that move during intervals, on some nodes."""

    def __init__(self, name, intervals):
        self.name, self.intervals = name, intervals
        self.begin, self.end = intervals[0].begin, intervals[-1].end
        self.drives = {}

    def drive(self, node, device, name, op, value):
        self.drives.setdefault(node, []).append(((device, name), op, value))

    def active(self, a, b):
        """Weighted seconds of it between a and b."""
        if b <= self.begin or a >= self.end:
            return 0.0
        return sum((min(b, i.end) - max(a, i.begin)) * i.weight for i in self.intervals
                   if i.begin < b and i.end > a)


class Fault(Event):
    def __init__(self, kind, domain, shape, intervals):
        super().__init__(kind, intervals)
        self.domain, self.shape = domain, shape
        self.nodes, self.device, self.switch = [], None, None
        self.loads, self.computes, self.link = frozenset(), {}, False
        self.extra_power = None   # of a GPU while a slowed rank does nothing: 0 idle, 1 computing
        self.compute_power = 1.0  # factor while it computes
        self.cpu_pauses = False   # the rank's thread sleeps in the extra time
        self.load_cpu = 1.0       # CPU of the loader for a batch, as a factor


# --- when ---------------------------------------------------------------------------------------

def draw_window(rng, job):
    """Begin and end of a fault, and its shape."""
    before = max(90.0, job.setup + job.warm_up + 11 * job.step)
    after = max(60.0, 7 * job.step)
    begin = rng.uniform(before, job.length - after)
    shape = rng.choice(("lasting", "ending", "flapping"))
    end = job.length if shape == "lasting" else rng.uniform(begin + after, job.length)
    return begin, min(end, job.length), shape


def make_intervals(rng, job, begin, end, shape, speed):
    if shape == "flapping":
        on = rng.uniform(3, 20) + 1.5 * job.step
        off = on * rng.uniform(0.7, 3)
        found, t = [], begin
        while t < end:
            found.append(Interval(t, min(end, t + on * rng.uniform(0.6, 1.4)), speed))
            t = found[-1].end + off * rng.uniform(0.6, 1.4)
        return found
    if rng.random() < 0.2: # comes slowly
        ramp, parts = min(rng.uniform(10, 40), (end - begin) / 3), 4
        found = [Interval(begin + ramp * i / parts, begin + ramp * (i + 1) / parts,
                          1 - (1 - speed) * (i + 0.5) / parts, (i + 0.5) / parts) for i in range(parts)]
        return found + [Interval(begin + ramp, end, speed)]
    return [Interval(begin, end, speed)]


def stops(rng, begin, end, low, high, effect):
    """Whole stops of low to high seconds, so many that they cost the effect."""
    found, t = [], begin
    while t < end:
        stop = rng.uniform(low, high)
        found.append(Interval(t, min(end, t + stop), 0.0))
        t += stop + max(2.0, min(120.0, stop / effect)) * rng.uniform(0.5, 1.5)
    return found


# --- how much: the speed of a resource that makes steps longer by effect ------------------------

def reduce_speed(job, effect):
    return job.reduce / (job.reduce + effect * job.step)


def compute_speed(job, effect):
    return job.compute / (job.compute + effect * job.step)


def loader_speed(job, effect):
    return job.period / (job.step * (1 + effect))


def share_factor(job, speed, share):
    """How much slower a part of the loader's period is when the whole is that slow."""
    return 1 + (1 / speed - 1) / max(job.shares[share], 1e-3)


# --- what ---------------------------------------------------------------------------------------

def make_fault(rng, job, kind, domain, effect):
    """A fault of that kind; None where the job has nothing that could break so."""
    if kind == "pause_storm" and job.layer != "Ethernet":
        return None
    if kind in ("nfs_slow", "metadata_storm", "storage_path") and job.source != "nfs0":
        return None
    if kind == "local_disk" and job.source != "nvme0n1":
        return None
    if kind == "leaf_congestion" and job.leaves < 2:
        return None
    begin, end, shape = draw_window(rng, job)
    if kind in ("link_flap", "paused_rank"):
        low, high = (1.5, 8) if kind == "link_flap" else (2, 15)
        shape = "flapping"
        intervals = stops(rng, begin, end, low, high, effect)
    else:
        speed = {NETWORK: reduce_speed, COMPUTE: compute_speed}.get(domain, loader_speed)
        speed = loader_speed if kind == "storage_path" else speed
        intervals = make_intervals(rng, job, begin, end, shape, speed(job, effect))
    fault = Fault(kind, domain, shape, intervals)
    globals()["_" + kind](rng, job, fault, intervals[-1].speed)
    return fault


def _pick_port(rng, job, fault):
    n, rail = rng.randrange(job.nodes), rng.randrange(job.rails)
    fault.nodes, fault.device, fault.link = [n], "mlx5_%d:1" % rail, True
    return n, rail, (n - 1) % job.nodes, (n + 1) % job.nodes


def _pick_node(rng, job, fault, device):
    n = rng.randrange(job.nodes)
    fault.nodes, fault.device = [n], device
    return n


def _link_loss(rng, job, fault, speed):
    n, rail, before, after = _pick_port(rng, job, fault)
    device, rate = fault.device, log_uniform(rng, 10, 2000)
    way = rng.choice(("out", "in", "both"))
    if way != "in":
        fault.drive(n, device, "packet_seq_err", "+", rate)
        fault.drive(n, device, "local_ack_timeout_err", "+", rate * rng.uniform(0.01, 0.1))
        fault.drive(after, device, "out_of_sequence", "+", rate * rng.uniform(0.8, 1.2))
    if way != "out":
        fault.drive(n, device, "out_of_sequence", "+", rate)
        fault.drive(before, device, "packet_seq_err", "+", rate * rng.uniform(0.8, 1.2))
        if rng.random() < 0.6:
            fault.drive(n, device, "symbol_error", "+", log_uniform(rng, 0.3, 50))


def _link_slow(rng, job, fault, speed):
    n, rail, before, after = _pick_port(rng, job, fault)
    step = min((0.75, 0.5, 0.25, 0.125, 0.0625), key=lambda x: abs(x - speed))
    fault.drive(n, fault.device, "rate", "=", int(job.rate * step))
    fault.drive(n, fault.device, "port_xmit_wait", "+", log_uniform(rng, 1e5, 1e7))
    fault.drive(before, fault.device, "port_xmit_wait", "+", log_uniform(rng, 1e5, 1e7))
    fault.drive(n, fault.device, "np_ecn_marked_roce_packets", "+", log_uniform(rng, 10, 5000))
    fault.drive(before, fault.device, "rp_cnp_handled", "+", log_uniform(rng, 10, 5000))


def _congest(rng, event, n, device, strength):
    event.drive(n, device, "port_xmit_wait", "+", strength * log_uniform(rng, 1e5, 1e7))
    event.drive(n, device, "np_ecn_marked_roce_packets", "+", strength * log_uniform(rng, 300, 30000))
    event.drive(n, device, "rp_cnp_handled", "+", strength * log_uniform(rng, 300, 30000))


def _leaf_congestion(rng, job, fault, speed):
    leaf, rail = rng.randrange(job.leaves), rng.randrange(job.rails)
    fault.nodes = [n for n in range(job.nodes) if job.leaf_of[n] == leaf]
    fault.device, fault.switch, fault.link = "mlx5_%d:1" % rail, job.leaf_guid(leaf, rail), True
    for n in fault.nodes:
        _congest(rng, fault, n, fault.device, rng.uniform(0.3, 1))
    for n in ((fault.nodes[0] - 1) % job.nodes, (fault.nodes[-1] + 1) % job.nodes):
        if n not in fault.nodes:
            _congest(rng, fault, n, fault.device, rng.uniform(0.02, 0.2))


def _link_flap(rng, job, fault, speed):
    n, rail, before, after = _pick_port(rng, job, fault)
    mean = sum(i.end - i.begin for i in fault.intervals) / len(fault.intervals)
    fault.drive(n, fault.device, "state", "=", "DOWN")
    fault.drive(n, fault.device, "link_downed", "+", 1 / mean)
    for other in (n, before):
        fault.drive(other, fault.device, "local_ack_timeout_err", "+", log_uniform(rng, 1, 60))


def _pause_storm(rng, job, fault, speed):
    n, rail, before, after = _pick_port(rng, job, fault)
    paused = 1e6 * (1 - speed)
    fault.drive(n, fault.device, "tx_prio3_pause_duration", "+", paused * rng.uniform(0.3, 1))
    fault.drive(before, fault.device, "rx_prio3_pause_duration", "+", paused * rng.uniform(0.3, 1))
    for other in range(job.nodes):
        if job.leaf_of[other] == job.leaf_of[n] and other not in (n, before) and rng.random() < 0.5:
            fault.drive(other, fault.device, "rx_prio3_pause_duration", "+", paused * rng.uniform(0.02, 0.3))


def _reads_late(rng, job, fault, nodes, speed, share, name):
    fault.loads = frozenset(nodes)
    for n in nodes:
        fault.drive(n, "nfs0", name, "*", share_factor(job, speed, share))
        fault.drive(n, "node", "io", "+", 1e6 * rng.uniform(0, 0.4) * (1 - speed))


def _storage_path(rng, job, fault, speed):
    """Packets of the file server's are lost: at its own switch port, or at one node's port."""
    nodes = list(range(job.nodes))
    if rng.random() < 0.5:
        nodes = [_pick_node(rng, job, fault, job.via)]
    else:
        fault.device, fault.switch = job.via, job.leaf_guid(job.leaves - 1, 0)
    _reads_late(rng, job, fault, nodes, speed, "read", "read_rtt")
    rate = log_uniform(rng, 3, 100)
    for n in nodes:
        if job.via == "eth0":
            fault.drive(n, "node", "RetransSegs", "+", rate * rng.uniform(0.7, 1.3))
        else:
            fault.drive(n, job.via, "packet_seq_err", "+", rate * rng.uniform(0.7, 1.3))
        if rng.random() < 0.5:
            fault.drive(n, "nfs0", "retransmits", "+", log_uniform(rng, 0.01, 0.5))


def _nfs_slow(rng, job, fault, speed):
    fault.device = "nfs0"
    _reads_late(rng, job, fault, list(range(job.nodes)), speed, "read", "read_rtt")
    for n in range(job.nodes):
        fault.drive(n, "nfs0", "metadata_rtt", "*", rng.uniform(1, 3))
        fault.drive(n, "nfs0", "write_rtt", "*", rng.uniform(1, 3))


def _metadata_storm(rng, job, fault, speed):
    fault.device = "nfs0"
    _reads_late(rng, job, fault, list(range(job.nodes)), speed, "meta", "metadata_rtt")
    for n in range(job.nodes):
        fault.drive(n, "nfs0", "read_rtt", "*", rng.uniform(1, 1.3))


def _local_disk(rng, job, fault, speed):
    n = _pick_node(rng, job, fault, "nvme0n1")
    fault.loads = frozenset([n])
    fault.drive(n, "nvme0n1", "io", "*", share_factor(job, speed, "read"))
    fault.drive(n, "node", "io", "+", 1e6 * rng.uniform(0.3, 0.9) * (1 - speed))


def _loader_cpu(rng, job, fault, speed):
    """Other processes take the CPUs, or the cgroup's quota is too small."""
    nodes = list(range(job.nodes)) if rng.random() < 0.25 else [rng.randrange(job.nodes)]
    fault.nodes, fault.device, fault.loads = nodes, "loader", frozenset(nodes)
    quota = rng.random() < 0.5
    for n in nodes:
        waiting = 1e6 * job.workers * (1 - speed) * job.shares["cpu"]
        if quota:
            fault.drive(n, "loader", "throttled", "+", waiting * rng.uniform(0.6, 1))
        else:
            fault.drive(n, "node", "cpu", "+", 1e6 * rng.uniform(2, job.workers + 4))
            fault.drive(n, "loader", "runqueue", "+", waiting * rng.uniform(0.6, 1))
        fault.drive(n, "node", "stall_cpu", "+", 1e6 * rng.uniform(0.3, 0.9) * (1 - speed))


def _wrong_binding(rng, job, fault, speed):
    """The loader's workers stand on a few cores of their own making; the others are free."""
    n = _pick_node(rng, job, fault, "loader")
    fault.loads = frozenset([n])
    fault.drive(n, "loader", "runqueue", "+", 1e6 * job.workers * (1 - speed) * rng.uniform(0.5, 0.9))
    fault.drive(n, "node", "stall_cpu", "+", 1e6 * rng.uniform(0.4, 0.95) * (1 - speed))


def _slow_worker(rng, job, fault, speed):
    """One worker is late, and batches are handed out in order; it waits, or it computes."""
    n = _pick_node(rng, job, fault, "loader")
    fault.loads = frozenset([n])
    if rng.random() < 0.5:
        fault.load_cpu = 1 + (1 / speed - 1) / job.workers


def _heavy_samples(rng, job, fault, speed):
    """Samples that take longer to decode, on all nodes."""
    fault.device, fault.loads = "loader", frozenset(range(job.nodes))
    fault.load_cpu = share_factor(job, speed, "cpu")


def _pick_gpu(rng, job, fault):
    n, g = rng.randrange(job.nodes), rng.randrange(job.gpus)
    fault.nodes, fault.device, fault.computes = [n], "gpu%d" % g, {n: (g,)}
    return n


def _gpu_throttle(rng, job, fault, speed):
    n = _pick_gpu(rng, job, fault)
    fault.extra_power = fault.compute_power = max(0.25, speed) ** rng.uniform(0.5, 1.2) * rng.uniform(0.6, 0.95)
    fault.drive(n, fault.device, "violation", "+", 1e6 * (1 - speed) * rng.uniform(0.5, 1))
    fault.drive(n, fault.device, "sm_clock", "=", int(1980 * max(0.15, speed)))


def _pcie_degraded(rng, job, fault, speed):
    n = _pick_gpu(rng, job, fault)
    fault.extra_power = rng.uniform(0.02, 0.15)
    fault.drive(n, fault.device, "pcie_link", "=", int(504e9 * rng.choice((0.5, 0.25, 0.125))))
    if rng.random() < 0.5:
        fault.drive(n, fault.device, "pcie_replay", "+", log_uniform(rng, 0.1, 20))


def _paused_rank(rng, job, fault, speed):
    _pick_gpu(rng, job, fault)
    fault.extra_power, fault.cpu_pauses = rng.uniform(0, 0.05), True


def _noisy_neighbour(rng, job, fault, speed):
    """Other processes keep the threads that feed the GPUs from running."""
    n = _pick_node(rng, job, fault, "step")
    fault.computes = {n: tuple(range(job.gpus))}
    fault.extra_power = rng.uniform(0.1, 0.45)
    fault.drive(n, "node", "cpu", "+", 1e6 * rng.uniform(4, 40))
    fault.drive(n, "step", "runqueue", "+", 1e6 * job.gpus * (1 - speed) * rng.uniform(0.6, 1.2))
    fault.drive(n, "node", "stall_cpu", "+", 1e6 * rng.uniform(0.3, 0.9) * (1 - speed))


def draw_kind(rng):
    """The four domains alike, and in each its kinds."""
    domain = rng.choice((NETWORK, STORAGE, DATA, COMPUTE))
    return rng.choice(KINDS[domain])


def draw_fault(rng, job, kind):
    """A fault of that kind with an effect of 5 % to 3 times; None where it does not fit the job."""
    domain = next(d for d, kinds in KINDS.items() if kind in kinds)
    return make_fault(rng, job, kind, domain, log_uniform(rng, 0.05, 3))


# --- what changes and is no fault ---------------------------------------------------------------

def _benign_congestion(rng, job, window):
    """A neighbour on a shared link: marks and waits, and the all-reduce has room."""
    event, leaf, rail = Event("congestion", window), rng.randrange(job.leaves), rng.randrange(job.rails)
    for n in range(job.nodes):
        if job.leaf_of[n] == leaf:
            _congest(rng, event, n, "mlx5_%d:1" % rail, rng.uniform(0.1, 1))
    return event


def _benign_pause(rng, job, window):
    event, n = Event("pause", window), rng.randrange(job.nodes)
    event.drive(n, "mlx5_0:1", "rx_prio3_pause_duration", "+", 1e6 * log_uniform(rng, 0.001, 0.1))
    return event


def _benign_errors(rng, job, window):
    """A cable that is not good and is good enough."""
    event, n = Event("errors", [Interval(0, job.length, 1)]), rng.randrange(job.nodes)
    device = "mlx5_%d:1" % rng.randrange(job.rails)
    event.drive(n, device, "symbol_error", "+", log_uniform(rng, 0.05, 3))
    event.drive(n, device, "packet_seq_err", "+", log_uniform(rng, 0.02, 1))
    return event


def _benign_retransmits(rng, job, window):
    event = Event("retransmits", window)
    for n in rng.sample(range(job.nodes), min(job.nodes, rng.randint(1, 3))):
        event.drive(n, "node", "RetransSegs", "+", log_uniform(rng, 1, 30))
        event.drive(n, "mlx5_0:1", "packet_seq_err", "+", log_uniform(rng, 1, 60))
    return event


def _benign_server(rng, job, window):
    """Somebody else uses the file server; the loader's reserve is enough."""
    event = Event("file server", window)
    most = 0.85 * job.reserve
    share = job.shares["read"] if job.source == "nfs0" else 0.1
    factor = min(rng.uniform(1.5, 8), 1 + (most - 1) / share)
    if factor < 1.2:
        return None
    for n in range(job.nodes):
        event.drive(n, "nfs0", "read_rtt", "*", factor * rng.uniform(0.9, 1.1))
        event.drive(n, "nfs0", "metadata_rtt", "*", factor * rng.uniform(0.5, 1.1))
    return event


def _benign_cpu(rng, job, window):
    """Other processes on cores that nobody misses."""
    event, n = Event("cpu", window), rng.randrange(job.nodes)
    event.drive(n, "node", "cpu", "+", 1e6 * rng.uniform(2, 30))
    event.drive(n, "node", "stall_cpu", "+", 1e6 * log_uniform(rng, 0.01, 0.3))
    return event


def _benign_disk(rng, job, window):
    """Another's writes to the local disk."""
    event, n = Event("disk", window), rng.randrange(job.nodes)
    event.drive(n, "nvme0n1", "io", "+", 1e6 * rng.uniform(0.05, 0.3))
    event.drive(n, "nvme0n1", "sectors_written", "+", log_uniform(rng, 1e7, 5e8))
    event.drive(n, "node", "io", "+", 1e6 * rng.uniform(0.01, 0.2))
    return event


def _benign_power(rng, job, window):
    """GPUs run into their power limit all the time, as they do."""
    event = Event("power limit", [Interval(0, job.length, 1)])
    for n in range(job.nodes):
        for g in range(job.gpus):
            event.drive(n, "gpu%d" % g, "violation", "+", 1e6 * rng.uniform(0.02, 0.3))
    return event


BENIGN = (_benign_congestion, _benign_pause, _benign_errors, _benign_retransmits, _benign_server,
          _benign_cpu, _benign_disk, _benign_power)


def draw_benign(rng, job):
    """Some of them, each in a window of its own."""
    events = []
    for make in BENIGN:
        if rng.random() < 0.3:
            begin = rng.uniform(20, 0.9 * job.length)
            window = [Interval(begin, min(job.length, begin + rng.uniform(15, 200)), 1)]
            event = make(rng, job, window)
            if event:
                events.append(event)
    return events
