# SPDX-License-Identifier: GPL-2.0-or-later
"""
emit.py - writes a simulated run as the folder that FORMAT describes: each node's counters as that
node's agent would have read them.

Two sorts of counters. What follows from the model (bytes, batches, a GPU's energy and idle time) is
an exact sum over the timeline, taken at the sample's true instant. All others grow with time or with
the work done, with noise, and with what Events drive. Then each is spoiled as real ones are: begins
anywhere, has a width, wraps or sticks, is read rarely, is reset, is missing.

GPUs idle at 90 to 130 W, spin in a collective at 35 to 50 % and compute at 70 to 95 % of 700 W.
"""
import json
import os
from bisect import bisect_right

from faults import TELLS
from model import CHECKPOINT, EVALUATION, START_NS, TABLE, TRAIN, rank_end

GPU_MW = 700000


class Activity:
    """Sums over a node's timeline, asked for at rising times."""

    def __init__(self, job, line, n):
        self.job, self.line, self.n = job, line, n
        self.segment, self.load = -1, -1
        self.writing = n in job.writers
        self.sent_before, self.idle_before, self.written_before = [], [], []
        self.batches_before = []
        sent = idle = written = 0.0
        for i, (kind, b, e) in enumerate(zip(line.kind, line.begin, line.end)):
            self.sent_before.append(sent)
            self.idle_before.append(idle)
            self.written_before.append(written)
            gap = line.start[n][i] - b
            idle += gap
            if kind == TRAIN:
                sent += 1
            elif kind == CHECKPOINT and self.writing:
                written += 1
        batches = 0.0
        for k in range(len(line.load_end[n])):
            self.batches_before.append(batches)
            batches += job.ramp if k >= job.ramp_at else 1

    def move(self, t):
        """The sums at time t."""
        line, n, i = self.line, self.n, self.segment
        while i + 1 < len(line.begin) and line.begin[i + 1] <= t:
            i += 1
        self.segment = i
        if i < 0:
            self.sent = self.idle = self.written = 0.0
        else:
            kind, x = line.kind[i], line.start[n][i]
            gap = min(t, x) - line.begin[i]
            self.sent = self.sent_before[i]
            self.written = self.written_before[i]
            self.idle = self.idle_before[i] + gap
            if kind == TRAIN and t > line.reduce_begin[i]:
                length = line.reduce_end[i] - line.reduce_begin[i]
                self.sent += min(1.0, (t - line.reduce_begin[i]) / length)
            elif kind == CHECKPOINT and self.writing:
                self.written += min(1.0, (t - line.begin[i]) / (line.end[i] - line.begin[i]))
        ends, j = line.load_end[n], self.load
        while j + 1 < len(ends) and ends[j + 1] <= t:
            j += 1
        self.load = j
        j += 1 # the one that is being made
        if j >= len(ends):
            self.batches = self.batches_before[-1] if ends else 0.0
            return
        self.batches = self.batches_before[j]
        begin = line.load_begin[n][j]
        if t > begin:
            part = (t - begin) / (ends[j] - begin)
            self.batches += part * (self.job.ramp if j >= self.job.ramp_at else 1)


class Rank:
    """One GPU's energy (mJ) and idle seconds at rising times."""

    def __init__(self, job, line, fault, n, g, power):
        self.line = line
        self.idle_mw, self.spin_mw, full = power
        hurt = fault is not None and n in fault.computes and g in fault.computes[n]
        self.extra_mw = self.idle_mw
        self.start = line.start[n]
        self.extra, self.busy_mw, self.done = self.start, [], []
        if hurt:
            self.extra = []
            self.extra_mw = self.idle_mw + (full - self.idle_mw) * fault.extra_power
            if fault.compute_power < 1: # slowed, not stopped: one power for the whole of it
                self.extra_mw = self.idle_mw + (full - self.idle_mw) * fault.compute_power
        self.throttled = hurt and fault.compute_power < 1
        self.hurt = hurt
        self.energy_before, self.idle_before = [], []
        energy, idle = self.idle_mw * (line.begin[0] if line.begin else 0), 0.0
        gauss, place = job.gauss, job.places[n] * 7 + g * 977
        for i, (kind, b, e) in enumerate(zip(line.kind, line.begin, line.end)):
            x = self.start[i]
            c = rank_end(job, line, n, i, g)
            mw = full * (1 + 0.02 * gauss[(place + i) & (TABLE - 1)])
            if kind == EVALUATION:
                mw *= 0.85
            y = x
            if hurt:
                y = line.hit[n][i][g][0] if g in line.hit[n][i] else x
                if self.throttled and y > x + 1e-6:
                    mw = self.extra_mw
                self.extra.append(y)
            self.done.append(c)
            self.busy_mw.append(mw)
            self.energy_before.append(energy)
            self.idle_before.append(idle)
            energy += (self.idle_mw * (x - b) + self.extra_mw * (y - x) + mw * (c - y) +
                       self.spin_mw * (e - c))
            idle += (x - b) + (0 if self.throttled else y - x)
        self.energy_end, self.idle_end = energy, idle

    def at(self, i, t):
        """Energy and idle seconds; i: the segment of t."""
        if i < 0:
            return self.idle_mw * t, t
        line = self.line
        b, x, y, c, e = line.begin[i], self.start[i], self.extra[i], self.done[i], line.end[i]
        energy, idle = self.energy_before[i], self.idle_before[i] + line.begin[0]
        waited = (t if t < x else x) - b
        energy += self.idle_mw * waited
        idle += waited
        if t > x:
            more = (t if t < y else y) - x
            energy += self.extra_mw * more
            if not self.throttled:
                idle += more
        if t > y:
            energy += self.busy_mw[i] * ((t if t < c else c) - y)
        if t > c:
            energy += self.spin_mw * ((t if t < e else e) - c)
        if t > e:
            energy += self.idle_mw * (t - e)
            idle += t - e
        return energy, idle


class Sample:
    """What the columns of one row share."""
    __slots__ = ("t", "dt", "activity", "deltas", "plus", "times", "shows", "mood")


class Column:
    """One series of a node: a description and a function that gives its value at a Sample."""

    def __init__(self, device, source, name, meaning, unit, value, behaviour="wraps", width=64, scale=1,
                 scope="node", rare=False):
        self.about = {"device": device, "source": source, "name": name, "meaning": meaning, "unit": unit,
                      "scope": scope, "behaviour": behaviour}
        if behaviour in ("wraps", "saturates"):
            self.about["width"] = width
        if scale != 1:
            self.about["scale"] = scale
        if rare:
            self.about["rare"] = True
        self.value, self.behaviour, self.scale, self.rare = value, behaviour, scale, rare
        self.top = (1 << width) - 1
        self.first, self.reset_at, self.lost, self.stuck = 0, None, 0, False
        self.field = "reset_at" # of resets

    def text(self, sample):
        value = self.value(sample)
        if self.behaviour == "text":
            return value
        if self.behaviour == "gauge":
            return str(int(value)) if value is not None else ""
        count = self.first + int(value / self.scale)
        if self.reset_at is not None and sample.t >= self.reset_at:
            if not self.lost:
                self.lost = count
            count -= self.lost
        if self.behaviour == "saturates":
            return str(self.top if self.stuck or count > self.top else count)
        return str(count & self.top)


class Node:
    """All columns of a node and its rows."""

    def __init__(self, job, line, fault, events, plan, n):
        self.job, self.line, self.fault, self.plan, self.n = job, line, fault, plan, n
        self.rng = plan.rng
        self.events = [(e, e.drives[n]) for e in events if n in e.drives]
        self.driven = {key for _, drives in self.events for key, _, _ in drives}
        self.activity = Activity(job, line, n)
        self.columns = []
        self._make_columns()
        for c in self.columns:
            self._spoil(c)

    # --- kinds of values

    def grown(self, device, name, per_s=0.0, per=None, rate=0.0, noise=0.3, mood=False):
        """Grows by per_s a second and by rate for each unit of an activity, with noise; driven."""
        key, gauss, mask = (device, name), self.job.gauss, TABLE - 1
        driven, total, place = key in self.driven, 0.0, self.rng.randrange(TABLE)

        def value(s):
            nonlocal total, place
            place += 1
            more = per_s * s.dt
            if per:
                more += rate * s.deltas[per] * (s.mood if mood else 1.0)
            if noise:
                more *= max(0.0, 1 + noise * gauss[place & mask])
            if driven:
                more *= s.times.get(key, 1.0)
                plus = s.plus.get(key)
                if plus:
                    more += plus * max(0.1, 1 + 0.4 * gauss[(place + 77) & mask])
            total += more
            return total
        return value

    def rare_events(self, device, name, per_s):
        """Single events now and then, and what is driven."""
        key, rng, total = (device, name), self.rng, 0.0
        driven = key in self.driven

        def value(s):
            nonlocal total
            if rng.random() < per_s * s.dt:
                total += rng.randint(1, 3)
            if driven and key in s.plus:
                total += s.plus[key] * rng.expovariate(1)
            return total
        return value

    def shown(self, device, name, usual, shake=0):
        key = (device, name)
        if key in self.driven:
            return lambda s: s.shows.get(key, usual)
        if shake:
            gauss, place = self.job.gauss, self.rng.randrange(TABLE)
            return lambda s: usual + shake * gauss[(place + int(s.t)) & (TABLE - 1)]
        return lambda s: usual

    # --- the columns

    def add(self, *args, **kwargs):
        self.columns.append(Column(*args, **kwargs))

    def _make_columns(self):
        for rail in range(self.job.rails):
            self._port("mlx5_%d:1" % rail, rail)
        if self.job.via == "eth0":
            self._ethernet()
        self._storage()
        self._processes()
        for g in range(self.job.gpus):
            self._gpu(g)
        self.columns = [c for c in self.columns if c.about["meaning"] not in self.plan.missing and
                        (self.n, c.about["device"]) not in self.plan.broken]

    def _port(self, device, rail):
        job, plan = self.job, self.plan
        a, sent = self.activity, job.bytes
        carries = job.via == device
        read, write = self._file_bytes()
        other = self.grown(device, "other", per_s=plan.background)
        data = dict(source="infiniband", unit="bytes", scale=4, **plan.data)
        self.add(device, name="port_xmit_data", meaning="tx_bytes", **data,
                 value=lambda s: sent * a.sent + other(s) + (write * a.written if carries else 0))
        self.add(device, name="port_rcv_data", meaning="rx_bytes", **data,
                 value=lambda s: sent * a.sent + (read * a.batches if carries else 0))
        for name, meaning, unit, per_s in (
                ("packet_seq_err", "retransmits", "events", 0.004),
                ("local_ack_timeout_err", "retransmits", "events", 0.001),
                ("out_of_sequence", "out_of_sequence", "packets", 0.02)):
            self.add(device, "infiniband", name, meaning, unit, self.rare_events(device, name, per_s),
                     width=32)
        if job.layer == "InfiniBand":
            self.add(device, "infiniband", "port_xmit_wait", "congestion", "events",
                     self.grown(device, "port_xmit_wait", per="sent", rate=plan.wait * job.step, noise=0.4),
                     "saturates", 32, rare=True)
            self.add(device, "infiniband", "symbol_error", "errors", "events",
                     self.rare_events(device, "symbol_error", 0.0005), "saturates", 16, rare=True)
            self.add(device, "infiniband", "link_downed", "errors", "events",
                     self.grown(device, "link_downed", noise=0), "saturates", 8, rare=True)
        else:
            for name in ("np_ecn_marked_roce_packets", "rp_cnp_handled"):
                self.add(device, "infiniband", name, "congestion", "events",
                         self.grown(device, name, per="sent", rate=plan.marks_per_s * job.step, noise=0.6))
            for name, meaning in (("rx_prio3_pause_duration", "rx_pause_us"),
                                  ("tx_prio3_pause_duration", "tx_pause_us")):
                self.add(device, "ethtool", name, meaning, "us",
                         self.grown(device, name, per="sent", rate=plan.pause * job.step, noise=0.8))
        self.add(device, "infiniband", "rate", "link_bps", "bits/s",
                 self.shown(device, "rate", int(job.rate)), "gauge", rare=True)
        self.add(device, "infiniband", "state", "link_state", "-",
                 self.shown(device, "state", "ACTIVE"), "text")

    def _file_bytes(self):
        """Bytes read for a step's batches and written for a checkpoint over the file server's path."""
        plan = self.plan
        return (plan.batch_bytes if self.job.source == "nfs0" else 0), plan.checkpoint_bytes

    def _ethernet(self):
        a, (read, write) = self.activity, self._file_bytes()
        other = self.grown("eth0", "rx_bytes", per_s=2e4, noise=0.8)
        self.add("eth0", "netdev", "rx_bytes", "rx_bytes", "bytes", lambda s: read * a.batches + other(s))
        self.add("eth0", "netdev", "tx_bytes", "tx_bytes", "bytes", lambda s: write * a.written + 0.3 * s.t * 1e4)
        self.add("node", "netstat", "RetransSegs", "retransmits", "events",
                 self.rare_events("node", "RetransSegs", 0.03))

    def _storage(self):
        job, plan, a = self.job, self.plan, self.activity
        read, write = self._file_bytes()
        ops = max(1.0, read / plan.op_bytes)
        mount = dict(source="mountstats", behaviour="total")
        self.add("nfs0", name="READ.bytes_recv", meaning="read_bytes", unit="bytes",
                 value=lambda s: read * a.batches, **mount)
        self.add("nfs0", name="READ.ops", meaning="read_ops", unit="ops", value=lambda s: ops * a.batches
                 if read else 0, **mount)
        rtt = plan.rtt_us * (ops if read else 0)
        self.add("nfs0", name="READ.rtt_ms", meaning="read_rtt_us", unit="us", scale=1000,
                 value=self.grown("nfs0", "read_rtt", per="batches", rate=rtt, noise=0.15, mood=True), **mount)
        self.add("nfs0", name="READ.queue_ms", meaning="read_queue_us", unit="us", scale=1000,
                 value=self.grown("nfs0", "read_rtt", per="batches", rate=rtt * plan.queue_part, noise=0.6,
                                  mood=True), **mount)
        self.add("nfs0", name="WRITE.bytes_sent", meaning="write_bytes", unit="bytes",
                 value=lambda s: write * a.written, **mount)
        self.add("nfs0", name="WRITE.rtt_ms", meaning="write_rtt_us", unit="us", scale=1000,
                 value=self.grown("nfs0", "write_rtt", per="written", rate=write / 1e6 * 4000, noise=0.3), **mount)
        metadata = plan.metadata * (1 if job.source == "nfs0" else 0.02)
        self.add("nfs0", name="GETATTR.ops", meaning="metadata_ops", unit="ops",
                 value=self.grown("nfs0", "ops", per_s=0.5, per="batches", rate=metadata, noise=0.1), **mount)
        self.add("nfs0", name="GETATTR.rtt_ms", meaning="metadata_rtt_us", unit="us", scale=1000,
                 value=self.grown("nfs0", "metadata_rtt", per_s=0.5 * 300, per="batches", rate=metadata * 300,
                                  noise=0.3, mood=True), **mount)
        self.add("nfs0", name="retransmits", meaning="rpc_retransmits", unit="events",
                 value=self.rare_events("nfs0", "retransmits", 0.0005), **mount)
        local = job.source == "nvme0n1"
        batch, busy = (plan.batch_bytes, plan.disk_busy * job.period * 1e6) if local else (0, 0)
        self.add("nvme0n1", "diskstats", "sectors_read", "read_bytes", "bytes",
                 lambda s: batch * a.batches, scale=512)
        self.add("nvme0n1", "diskstats", "sectors_written", "write_bytes", "bytes",
                 self.grown("nvme0n1", "sectors_written", per_s=2e5, noise=0.9), scale=512)
        self.add("nvme0n1", "diskstats", "io_ms", "io_us", "us", self._busy_disk(busy), width=32, scale=1000)

    def _busy_disk(self, per_batch):
        """Time with I/O in flight: never more than the time that passes."""
        whole = self.grown("nvme0n1", "io", per_s=2000, per="batches", rate=per_batch, noise=0.2)
        last = total = 0.0

        def value(s):
            nonlocal last, total
            now = whole(s)
            total += min(now - last, 0.99e6 * s.dt)
            last = now
            return total
        return value

    def _processes(self):
        job, plan, a, fault = self.job, self.plan, self.activity, self.fault
        cpu = job.period * 1e6 * job.workers * job.shares["cpu"] # of a step's batches
        heavy = fault.load_cpu if fault and self.n in fault.loads else 1.0
        loader_total = threads_total = 0.0

        def loader(s):
            nonlocal loader_total
            factor = 1 + (heavy - 1) * fault.active(s.t - s.dt, s.t) / s.dt if heavy != 1 else 1.0
            loader_total += cpu * s.deltas["batches"] * factor
            return loader_total

        def threads(s):
            nonlocal threads_total
            busy = max(0.0, s.dt - s.deltas["idle"]) * job.gpus
            if fault and fault.cpu_pauses and self.n in fault.nodes:
                busy -= fault.active(s.t - s.dt, s.t)
            threads_total += 1e6 * (plan.spin_cpu * max(0.0, busy) + 0.05 * s.dt)
            return threads_total

        values = {}

        def both(s):
            values["step"] = loader(s) + threads(s)
            return values["step"]
        other = self.grown("node", "cpu", per_s=4e5, noise=0.5)
        self.add("step", "processes", "cpu", "cpu_us", "us", both, scope="own")
        self.add("loader", "loader", "cpu", "loader_cpu_us", "us", lambda s: loader_total, scope="own")
        self.add("step", "processes", "run_delay", "runqueue_us", "us",
                 self.grown("step", "runqueue", per_s=1e4 * plan.busy_node, noise=0.8), scope="own")
        self.add("loader", "loader", "run_delay", "runqueue_us", "us",
                 self.grown("loader", "runqueue", per="batches", rate=0.02 * plan.busy_node * cpu, noise=0.6),
                 scope="own")
        self.add("step", "processes", "throttled_usec", "throttled_us", "us",
                 self.grown("loader", "throttled"), "total", scope="own")
        self.add("node", "stat", "busy", "node_cpu_us", "us",
                 lambda s: loader_total + threads_total + other(s), "total")
        io = 3e5 * min(1.0, (1 - job.shares["cpu"]) / job.reserve)
        for name, meaning, key, base in (("cpu", "stall_cpu_us", "stall_cpu", 8000 * plan.busy_node),
                                         ("io", "stall_io_us", "io", io), ("memory", "stall_memory_us", "memory", 0)):
            self.add("node", "pressure", name, meaning, "us", self._pressure(key, base), "total")

    def _pressure(self, key, per_s):
        whole, last, total = self.grown("node", key, per_s=per_s, noise=0.5), 0.0, 0.0

        def value(s):
            nonlocal last, total
            now = whole(s)
            total += min(now - last, 0.98e6 * s.dt)
            last = now
            return total
        return value

    def _gpu(self, g):
        job, plan, rng, device = self.job, self.plan, self.rng, "gpu%d" % g
        part = rng.uniform(0.97, 1.03)
        rank = Rank(job, self.line, self.fault, self.n, g, [x * part for x in plan.power])
        lag = plan.gpu_lag
        state = {"t": 0.0, "energy": 0.0, "idle": 0.0, "mw": plan.power[0], "busy": 0.0}

        def look(s):
            t = max(0.0, s.t - lag)
            i = s.activity.segment
            if i >= 0 and t < self.line.begin[i]:
                i -= 1
            energy, idle = rank.at(i, t)
            if t > state["t"]:
                state["mw"] = (energy - state["energy"]) / (t - state["t"])
                state["busy"] = 1 - (idle - state["idle"]) / (t - state["t"])
            state.update(t=t, energy=energy, idle=idle)
            return energy
        energy = ("gpu_energy_mj", "mJ", "energy", "total") if plan.has_energy else \
            ("gpu_power_mw", "mW", "power", "gauge")
        self.add(device, "nvml", energy[2], energy[0], energy[1],
                 look if plan.has_energy else lambda s: (look(s), state["mw"])[1], energy[3], scope="own")
        self.add(device, "nvml", "utilization", "gpu_util", "percent",
                 lambda s: max(0, min(100, round(100 * state["busy"]))), "gauge", scope="own")
        self.add(device, "nvml", "violation_power", "gpu_throttle_us", "us",
                 self.grown(device, "violation", per_s=0), "total", scope="own")
        self.add(device, "nvml", "sm_clock", "gpu_clock_mhz", "MHz",
                 self.shown(device, "sm_clock", 1965, 12), "gauge", scope="own")
        self.add(device, "nvml", "pcie_link", "pcie_bps", "bits/s",
                 self.shown(device, "pcie_link", int(504e9)), "gauge", scope="own", rare=True)
        self.add(device, "nvml", "pcie_replay", "pcie_replays", "events",
                 self.rare_events(device, "pcie_replay", 0.0002), "total", scope="own", rare=True)

    # --- what real counters are like

    def _spoil(self, c):
        rng, plan, about = self.rng, self.plan, c.about
        if c.behaviour == "wraps":
            c.first = rng.randrange(min(c.top, 1 << 36))
            if c.top == (1 << 32) - 1 and rng.random() < 0.2:
                c.first = c.top - rng.randrange(200) # about to wrap
        elif c.behaviour == "saturates":
            c.first = 0 if rng.random() < 0.5 else rng.randrange(c.top // 4)
            c.stuck = rng.random() < 0.03 or (about["meaning"].endswith("_bytes") and plan.data_stuck)
        elif c.behaviour == "total":
            c.first = rng.randrange(1 << 34) // c.scale
        if about["source"] == "infiniband" and (self.n, about["device"]) == plan.reset[:2]:
            c.reset_at = plan.reset[2]

    # --- rows

    def rows(self, times):
        """(t, [text]) for each time; the first and the last are the step's begin and end."""
        s, a, job = Sample(), self.activity, self.job
        s.activity = a
        before, last = None, len(times) - 1
        a.move(0.0)
        old = (a.sent, a.batches, a.written, a.idle)
        s.deltas, previous, rare_at = {}, 0.0, -100.0
        for index, t in enumerate(times):
            a.move(t)
            s.t, s.dt = t, t - previous if t > previous else 1e-9
            new = (a.sent, a.batches, a.written, a.idle)
            s.deltas["sent"], s.deltas["batches"] = new[0] - old[0], new[1] - old[1]
            s.deltas["written"], s.deltas["idle"] = new[2] - old[2], new[3] - old[3]
            s.mood = job.mood[int(t)]
            self._drive(s, previous)
            old, previous = new, t
            rare = t - rare_at >= 9.5 or index == last
            if rare:
                rare_at = t
            yield t, [c.text(s) if rare or not c.rare else self._skip(c, s) for c in self.columns]

    @staticmethod
    def _skip(c, s):
        c.value(s) # it grows unread
        return ""

    def _drive(self, s, previous):
        s.plus, s.times, s.shows = {}, {}, {}
        for event, drives in self.events:
            active = event.active(previous, s.t)
            if active <= 0:
                continue
            for key, op, value in drives:
                if op == "+":
                    s.plus[key] = s.plus.get(key, 0.0) + value * active
                elif op == "*":
                    s.times[key] = s.times.get(key, 1.0) * (1 + (value - 1) * min(1.0, active / s.dt))
                elif event.active(s.t - 1e-3, s.t) > 0:
                    s.shows[key] = value


# --- the run ------------------------------------------------------------------------------------

# What whole sites lack, and how often.
ABSENT = (
    (0.10, ("gpu_energy_mj", "gpu_power_mw")), (0.05, ("gpu_util",)),
    (0.25, ("gpu_throttle_us", "gpu_clock_mhz")), (0.25, ("pcie_bps", "pcie_replays")),
    (0.10, ("retransmits", "out_of_sequence")), (0.15, ("congestion",)),
    (0.20, ("rx_pause_us", "tx_pause_us")), (0.30, ("loader_cpu_us",)), (0.20, ("runqueue_us",)),
    (0.15, ("stall_cpu_us", "stall_io_us", "stall_memory_us")), (0.15, ("throttled_us",)),
    (0.08, ("read_rtt_us", "read_queue_us", "metadata_rtt_us", "metadata_ops", "write_rtt_us")),
    (0.10, ("node_cpu_us",)), (0.10, ("link_bps", "link_state")),
)


class Plan:
    """What is drawn once for the way the run is observed."""

    def __init__(self, job, rng):
        self.rng = rng
        self.missing = {m for chance, names in ABSENT if rng.random() < chance for m in names}
        self.broken = set()
        if rng.random() < 0.2: # one node's device can't be read
            self.broken.add((rng.randrange(job.nodes), rng.choice(("mlx5_0:1", "gpu0", "nfs0", "node"))))
        kind = rng.random()
        self.data_stuck = kind < 0.04
        self.data = {"width": 64, "behaviour": "wraps"}
        if self.data_stuck:
            self.data = {"width": 32, "behaviour": "saturates"}
        elif kind < 0.14 and job.bytes / job.reduce < 5e9: # a wrap is never half of it in a second
            self.data = {"width": 32, "behaviour": "wraps"}
        elif kind < 0.17:
            self.missing |= {"tx_bytes", "rx_bytes"}
        self.background = 10 ** rng.uniform(3, 6)
        self.wait, self.marks_per_s = 10 ** rng.uniform(3, 6.5), 10 ** rng.uniform(0, 3.5)
        self.pause = 10 ** rng.uniform(0, 4)
        self.rtt_us, self.queue_part = 10 ** rng.uniform(2.4, 3.7), rng.uniform(0.02, 0.5)
        self.op_bytes = rng.choice((131072, 262144, 1048576))
        self.batch_bytes = int(job.step * 10 ** rng.uniform(6.5, 9)) # a node's, a step
        self.checkpoint_bytes = int(job.checkpoint * 10 ** rng.uniform(8, 9.5))
        self.metadata = job.step * 10 ** rng.uniform(0.5, 3)
        self.disk_busy = rng.uniform(0.1, 0.9)
        self.busy_node, self.spin_cpu = 10 ** rng.uniform(-0.7, 0.7), rng.uniform(0.85, 1.05)
        self.power = (rng.uniform(90000, 130000), GPU_MW * rng.uniform(0.35, 0.5), GPU_MW * rng.uniform(0.7, 0.95))
        self.has_energy, self.gpu_lag = rng.random() < 0.85, rng.uniform(0, 0.1)
        self.reset = (None, None, None)
        if rng.random() < 0.15:
            self.reset = (rng.randrange(job.nodes), "mlx5_0:1", rng.uniform(20, job.length - 20))
        self.restart = (rng.randrange(job.nodes), rng.uniform(20, job.length - 30)) if rng.random() < 0.15 else None
        self.misses = 10 ** rng.uniform(-4, -1.7)
        self.unread = 10 ** rng.uniform(-4, -2)
        self.marks = rng.choice((0, 0, 1, 10)) # every so many steps; 0: none
        self.synchronised = rng.random() < 0.8
        self.clocked = rng.random() < 0.97


def sample_times(job, plan, n):
    rng, times = plan.rng, [0.0]
    for i in range(1, int(job.length)):
        t = i + rng.uniform(-0.3, 0.3)
        if rng.random() >= plan.misses and t < job.length - 0.05:
            times.append(t)
    if plan.restart and plan.restart[0] == n:
        gone, back = plan.restart[1], plan.restart[1] + 2 + 15 * rng.random()
        times = [t for t in times if not gone < t < back]
    return times + [job.length]


class Clock:
    """A node's clocks against the common one, and what the exchanges with sfabricctld say of them."""

    def __init__(self, job, plan):
        rng = plan.rng
        self.offset = int(rng.gauss(0, 2e6) if plan.synchronised else rng.gauss(0, 8e8))
        self.boot = rng.randrange(10**12, 10**16)
        self.drift = rng.uniform(-2e-5, 2e-5)
        self.begin_ns = job.begin_ns
        self.exchanges = []
        for t in [0.0] + [600.0] * (job.length > 600) + [job.length]:
            bound = int(10 ** rng.uniform(5, 6.8))
            self.exchanges.append({"mono_ns": self.mono(t), "bound_ns": bound,
                                   "offset_ns": self.offset + int(bound * rng.uniform(-0.9, 0.9))})
        if not plan.clocked:
            self.exchanges = []

    def wall(self, t):
        return self.begin_ns + int(t * 1e9) + self.offset

    def mono(self, t):
        return self.boot + int(t * 1e9 * (1 + self.drift))


def topology(job):
    rails, nodes = range(job.rails), range(job.nodes)
    switches = [{"guid": job.leaf_guid(x, r), "name": "leaf%dr%d" % (x, r), "level": 0}
                for x in range(job.leaves) for r in rails]
    links = []
    if job.leaves > 1:
        switches += [{"guid": job.spine_guid(x, r), "name": "spine%dr%d" % (x, r), "level": 1}
                     for x in range(job.spines) for r in rails]
        links = [{"a": job.leaf_guid(x, r), "a_port": 33 + y, "b": job.spine_guid(y, r), "b_port": 1 + x,
                  "rate_bps": int(job.rate)} for x in range(job.leaves) for y in range(job.spines) for r in rails]
    ports = [{"node": job.names[n], "device": "mlx5_%d:1" % r, "switch": job.leaf_guid(job.leaf_of[n], r),
              "switch_port": 1 + n % job.leaf_hosts, "rate_bps": int(job.rate), "layer": job.layer}
             for n in nodes for r in rails]
    return {"switches": switches, "ports": ports, "links": links}


def storage(job):
    nfs = {"device": "nfs0", "kind": "nfs", "via": job.via}
    if job.via != "eth0":
        nfs.update(switch=job.leaf_guid(job.leaves - 1, 0), switch_port=32)
    return [nfs, {"device": "nvme0n1", "kind": "disk"}]


def write_run(folder, job, line, fault, events, plan):
    """Makes the folder; returns {(node, device): meanings} of what can be read."""
    os.makedirs(folder)
    nodes, series, readable, clocks = [], [], {}, []
    for n, name in enumerate(job.names):
        node, clock = Node(job, line, fault, events, plan, n), Clock(job, plan)
        clocks.append(clock)
        ids = range(len(series), len(series) + len(node.columns))
        for i, c in zip(ids, node.columns):
            series.append({"id": i, "node": name, **c.about})
            if not c.stuck:
                readable.setdefault(n, set()).add((c.about["device"], c.about["meaning"]))
        nodes.append({"name": name, "file": name + ".csv", "first_task": n * job.gpus, "tasks": job.gpus,
                      "clock": clock.exchanges,
                      "gpus": [{"device": "gpu%d" % g, "port": "mlx5_%d:1" % (g * job.rails // job.gpus)}
                               for g in range(job.gpus)]})
        write_samples(os.path.join(folder, name + ".csv"), node, clock, ids, sample_times(job, plan, n))
    if plan.marks:
        write_marks(os.path.join(folder, "marks.csv"), job, line, plan, clocks[0])
    meta = {"format": "sfabric-run", "version": 1, "job": "%d.0" % plan.rng.randrange(1000, 900000),
            "interval_ns": 10**9, "begin_ns": job.begin_ns, "end_ns": job.begin_ns + int(job.length * 1e9),
            "nodes": nodes, "topology": topology(job), "storage": storage(job), "series": series}
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as f:
        json.dump(meta, f, separators=(",", ":"))
        f.write("\n")
    return readable


def write_samples(path, node, clock, ids, times):
    rng, unread = node.rng, node.plan.unread * len(node.columns)
    with open(path, "w", encoding="utf-8") as f:
        f.write("wall_ns,mono_ns" + "".join(",%d" % i for i in ids) + "\n")
        for t, row in node.rows(times):
            if rng.random() < unread:
                row[rng.randrange(len(row))] = ""
            f.write("%d,%d,%s\n" % (clock.wall(t), clock.mono(t), ",".join(row)))


def write_marks(path, job, line, plan, clock):
    with open(path, "w", encoding="utf-8") as f:
        f.write("node,task,wall_ns,step,time_s\n")
        for i, k in enumerate(line.step):
            if k >= 0 and k % plan.marks == 0 and line.end[i] < job.length:
                length = line.end[i] - line.begin[i]
                f.write("%s,0,%d,%d,%.4f\n" % (job.names[0], clock.wall(line.end[i]), k, length))


def observable(fault, effect, readable):
    """Whether somebody could tell the domain: five steps, and one telling series where the fault is."""
    if effect.touched < 5:
        return False
    where = fault.nodes or range(len(readable))
    return any(meaning in TELLS[fault.name] for n in where for _, meaning in readable.get(n, ()))
