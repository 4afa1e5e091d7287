# SPDX-License-Identifier: GPL-2.0-or-later
"""
model.py - data-parallel training as a machine that can be broken at a known time.

One idea: a step is four queues. Each node's loader fills a bounded queue of batches; each rank waits
for its node's batch, computes, and then all wait for the slowest and for a ring all-reduce at the
speed of its slowest link. A fault is a resource that runs slower, or not at all, during intervals;
what it does to the steps follows from the model, and how much time it added is known exactly,
because the same run is simulated without it. emit.py makes counters of what happened here.

What it says of step k, with t the end of step k - 1:
    ready(n)  = end of the production of node n's batch k. Production begins when the one before is
                done and, the queue holding Q, when batch k - Q was taken; it takes a period
                p = G (a + b) / W: G ranks, W workers, a seconds of CPU and b of reading for a batch
    start(n)  = max(t, ready(n))                          the GPUs are idle until then
    sync      = max over ranks (start + compute)          who is done spins in the collective
    end       = max(all-reduce begun at sync - hidden, sync + tail)
                the all-reduce moves a fixed number of bytes at the slowest link's speed; a part of
                it is hidden behind the backward pass
Between steps: checkpoints (written by one node or by all), evaluation phases.

Assumptions, which no measurement of ours backs. Noise: compute of a rank 0.3 to 3 %, of a step (the
same for all) up to 5 %, all-reduce 1 to 8 %, loader 3 to 20 % with one batch of 250 three times as
long; a file server's mood wanders by 10 to 40 % for all nodes together. Node's loaders are shared by
its ranks. The loader has a reserve of 1.15 to 4. Clocks do not jump, and drift below 20 ppm. A fault
never begins before the run has 11 good steps and 90 s. One fault a run. Symptoms (which counters move
with a fault, and how far) are in faults.py and are assumptions as well.
"""
import math

NETWORK, STORAGE, DATA, COMPUTE, NONE = "network", "storage", "data", "compute", "none"
TRAIN, CHECKPOINT, EVALUATION = range(3)

TABLE = 1 << 14 # of noise, longer than any step's number of ranks
MASK = TABLE - 1
RANK_STEPS_MAX = 200000 # what a run may cost
START_NS = 1760000000 * 10**9


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


class Job:
    """Everything that is drawn once for a run and that both simulations of it share."""

    def __init__(self, rng, nodes=None, step=None, length=None):
        self.rng = rng
        self._draw_size()
        self.nodes, self.step, self.length = nodes or self.nodes, step or self.step, length or self.length
        self._draw_step()
        self._draw_loader()
        self._draw_fabric()
        self._draw_phases()
        self.begin_ns = START_NS + rng.randrange(10**7) * 10**9 + rng.randrange(10**9)
        first = rng.choice((0, 1, 1, 17, 96))
        style = rng.choice(("gpu%03d", "n%d", "node-%02d", "dgx%04d"))
        self.names = [style % (first + n) for n in range(self.nodes)]

    def _draw_size(self):
        rng = self.rng
        self.nodes = round(log_uniform(rng, 2, 64))
        self.gpus = rng.choices((1, 2, 4, 8), (2, 2, 4, 2))[0]
        self.step = log_uniform(rng, 0.2, 20)
        self.length = rng.uniform(480, 1200)
        while self.gpus > 1 and (self.nodes * self.gpus > 128 or self._cost() > RANK_STEPS_MAX):
            self.gpus //= 2
        if self._cost() > RANK_STEPS_MAX:
            self.length = max(480, self.length * RANK_STEPS_MAX / self._cost())

    def _cost(self):
        return self.nodes * self.gpus * self.length / self.step

    def _draw_step(self):
        rng = self.rng
        exposed = rng.uniform(0.05, 0.4) * self.step
        self.compute = self.step - exposed
        self.hidden = rng.uniform(0, 0.6) * self.compute
        self.reduce = exposed + self.hidden
        self.tail = 0.2 * exposed
        self.rank_noise = log_uniform(rng, 0.003, 0.03)
        self.node_speed = [1 + rng.uniform(0, 0.005) for _ in range(self.nodes)]
        self.gauss = [max(-3.5, min(3.5, rng.gauss(0, 1))) for _ in range(TABLE)]
        sigma = rng.uniform(0, 0.05)
        self.step_noise = [math.exp(sigma * g) for g in self._other(1)]
        sigma = log_uniform(rng, 0.01, 0.08)
        self.reduce_noise = [math.exp(sigma * abs(g)) for g in self._other(2)]

    def _other(self, i):
        """The table of noise from another place."""
        at = TABLE // 5 * i
        return self.gauss[at:] + self.gauss[:at]

    def _draw_loader(self):
        rng = self.rng
        self.workers = self.gpus * rng.choice((2, 4, 8, 12))
        self.queue = rng.choice((2, 4, 8, 16, 32))
        self.reserve = log_uniform(rng, 1.15, 4)
        self.period = self.step / self.reserve
        self.source = "nfs0" if rng.random() < 0.65 else "nvme0n1"
        read = rng.uniform(0.1, 0.7)
        meta = read * rng.uniform(0.1, 0.4) if self.source == "nfs0" else 0
        self.shares = {"cpu": 1 - read, "read": read - meta, "meta": meta} # of the period
        sigma = log_uniform(rng, 0.03, 0.2)
        self.load_noise = [math.exp(sigma * g) * (3 if rng.random() < 0.004 else 1) for g in self._other(3)]
        self.places = [rng.randrange(TABLE) for _ in range(self.nodes)]
        self.mood = self._draw_mood(rng.uniform(0.1, 0.4), read)

    def _draw_mood(self, sigma, read):
        """How slow the file server is, second by second; never so slow that it holds the job up."""
        keep, x, mood = 0.97, 0.0, []
        most = 1 + (0.93 * self.step / self.period - 1) / max(read, 0.05)
        for _ in range(int(self.length) + 100):
            x = keep * x + math.sqrt(1 - keep * keep) * self.rng.gauss(0, 1)
            mood.append(min(math.exp(sigma * x), max(1.0, most)))
        return mood

    def _draw_fabric(self):
        rng = self.rng
        self.layer = rng.choice(("InfiniBand", "Ethernet"))
        self.rails = rng.choice((1, 1, 2))
        self.rate = rng.choice((25e9, 100e9, 200e9, 400e9))
        self.leaf_hosts = max(1, min(rng.choice((2, 4, 8, 16)), (self.nodes + 1) // 2))
        self.leaves = -(-self.nodes // self.leaf_hosts)
        self.leaf_of = [n // self.leaf_hosts for n in range(self.nodes)]
        self.spines = min(2, self.leaves)
        self.bytes = int(self.reduce * self.rate / 8 * rng.uniform(0.3, 0.9)) # a step, node and rail
        self.via = "eth0" if rng.random() < 0.7 else "mlx5_0:1" # the way to the file server
        self.base_guid = 0xb83fd20300000000 + rng.randrange(1 << 24) * 256

    def leaf_guid(self, leaf, rail):
        return "0x%016x" % (self.base_guid + 0x10000 + leaf * 16 + rail)

    def spine_guid(self, spine, rail):
        return "0x%016x" % (self.base_guid + 0x20000 + spine * 16 + rail)

    def _draw_phases(self):
        """Warm-up, checkpoints, evaluation, and a batch that grows: all are healthy."""
        rng = self.rng
        steps = int(self.length / self.step) + 2
        self.setup = rng.uniform(3, 15)
        self.benign = ["warm-up"]
        fade = rng.uniform(1, 4)
        slow = min(rng.uniform(0.3, 3), 60 / (self.step * fade))
        self.warm_up = slow * fade * self.step # what it costs
        self.warm = [1 + slow * math.exp(-k / fade) for k in range(40)]
        self.checkpoints, self.checkpoint = {}, 0
        if rng.random() < 0.75:
            self.benign.append("checkpoints")
            every = max(3, int(log_uniform(rng, 60, 400) / self.step))
            self.checkpoint = log_uniform(rng, 1, 15)
            self.checkpoints = {k: self.checkpoint * rng.uniform(0.85, 1.2)
                                for k in range(every, steps, every)}
        self.writers = range(self.nodes) if rng.random() < 0.5 else range(1)
        self.checkpoint_spins = rng.random() < 0.5 # those that do not write wait in a collective
        self.evaluations = {}
        if rng.random() < 0.5:
            self.benign.append("evaluation")
            for _ in range(rng.randint(1, 2)):
                self.evaluations[rng.randrange(5, max(6, steps))] = log_uniform(rng, 8, 50)
        self.ramp_at, self.ramp = steps, 1.0

    def add_ramp(self, after):
        """The batch grows once, where the loader's reserve allows it; true when it does."""
        most = 0.9 * self.reserve
        if most < 1.2:
            return False
        self.ramp_at = int(after / self.step)
        self.ramp = self.rng.uniform(1.15, min(2.0, most))
        self.benign.append("batch size")
        return True


class Interval:
    """From begin to end the resource runs at speed (1: whole); weight 0..1 is how strong it shows."""
    __slots__ = ("begin", "end", "speed", "weight")

    def __init__(self, begin, end, speed, weight=1.0):
        self.begin, self.end, self.speed, self.weight = begin, end, speed, weight


def finish(intervals, t, work):
    """When work, seconds at whole speed, is done that begins at t."""
    for i in intervals:
        if t >= i.end:
            continue
        if t < i.begin:
            if t + work <= i.begin:
                return t + work
            work -= i.begin - t
            t = i.begin
        if (i.end - t) * i.speed >= work:
            return t + work / i.speed
        work -= (i.end - t) * i.speed
        t = i.end
    return t + work


class Timeline:
    """What happened. Lists by segment (a step, checkpoint or evaluation), nodes' by [node][segment]."""

    def __init__(self, nodes):
        self.kind, self.begin, self.end, self.reduce_begin, self.reduce_end = [], [], [], [], []
        self.step = []                          # number of the training step; -1
        self.compute = []                       # a rank's, before its own noise
        self.start = [[] for _ in range(nodes)] # GPUs idle from begin until here
        self.hit = [[] for _ in range(nodes)]   # {gpu: (extra until, compute until)}, {} mostly
        self.load_begin = [[] for _ in range(nodes)] # by training step
        self.load_end = [[] for _ in range(nodes)]

    def _add(self, kind, step, begin, end, compute, reduce=None):
        self.kind.append(kind)
        self.step.append(step)
        self.begin.append(begin)
        self.end.append(end)
        self.compute.append(compute)
        self.reduce_begin.append(reduce[0] if reduce else end)
        self.reduce_end.append(reduce[1] if reduce else end)


def rank_end(job, line, n, i, g):
    """When rank g of node n was done with computing in segment i."""
    hit = line.hit[n][i]
    if g in hit:
        return hit[g][1]
    x = line.start[n][i]
    if line.compute[i] == 0:
        return x
    noise = job.gauss[(job.places[n] + i * job.gpus + g) & MASK]
    return x + line.compute[i] * job.node_speed[n] * (1 + job.rank_noise * noise)


def pause_between(job, line, k, t):
    """A checkpoint or evaluation before step k; when it is over."""
    for kind, lengths in ((CHECKPOINT, job.checkpoints), (EVALUATION, job.evaluations)):
        if k not in lengths:
            continue
        end = t + lengths[k]
        line._add(kind, -1, t, end, 0.9 * lengths[k] if kind == EVALUATION else 0)
        for n in range(job.nodes):
            idle = kind == CHECKPOINT and (n in job.writers or not job.checkpoint_spins)
            line.start[n].append(end if idle else t)
            line.hit[n].append({})
        t = end
    return t


def simulate(job, fault=None):
    """The run with that fault (or without any), past job.length by what the loaders produce until then."""
    line = Timeline(job.nodes)
    t, k, gpus, queue = job.setup, 0, job.gpus, job.queue
    loads = fault.loads if fault else ()
    computes = fault.computes if fault else {}
    intervals = fault.intervals if fault else ()
    read = 1 - job.shares["cpu"] if job.source == "nfs0" else 0
    nodes = [(n, line.start[n], line.hit[n], line.load_begin[n], line.load_end[n], job.places[n])
             for n in range(job.nodes)]
    taken = [[] for _ in range(job.nodes)]
    ahead = queue
    while t < job.length or ahead > 0:
        ahead -= t >= job.length
        t = pause_between(job, line, k, t)
        i = len(line.begin)
        ramp = job.ramp if k >= job.ramp_at else 1.0
        compute = job.compute * ramp * job.step_noise[k & MASK]
        if k < len(job.warm):
            compute *= job.warm[k]
        sync = t
        for n, start, hit, load_begin, load_end, place in nodes:
            b = load_end[-1] if load_end else job.setup * 0.5
            if k >= queue and taken[n][k - queue] > b:
                b = taken[n][k - queue]
            p = job.period * ramp * job.load_noise[(place + k) & MASK]
            if read:
                p *= 1 + read * (job.mood[min(int(b), len(job.mood) - 1)] - 1)
            done = finish(intervals, b, p) if n in loads else b + p
            load_begin.append(b)
            load_end.append(done)
            s = done if done > t else t
            start.append(s)
            taken[n].append(s)
            at = (place + i * gpus) & MASK
            most = max(job.gauss[at:at + gpus] or (0,)) if at + gpus <= TABLE else \
                max(job.gauss[(at + g) & MASK] for g in range(gpus))
            scale = compute * job.node_speed[n]
            end = s + scale * (1 + job.rank_noise * most)
            if n in computes:
                hits = {}
                for g in computes[n]:
                    work = scale * (1 + job.rank_noise * job.gauss[(at + g) & MASK])
                    late = finish(intervals, s, work)
                    hits[g] = (late - work, late)
                    if late > end:
                        end = late
                hit.append(hits)
            else:
                hit.append({})
            if end > sync:
                sync = end
        begin = max(t, sync - job.hidden)
        work = job.reduce * job.reduce_noise[k & MASK]
        done = finish(intervals, begin, work) if fault and fault.link else begin + work
        end = max(done, sync + job.tail)
        line._add(TRAIN, k, t, end, compute, (begin, end))
        t = end
        k += 1
    return line


def step_lengths(job, line):
    """By training step that ends within the run: (begin, length)."""
    return [(b, e - b) for kind, b, e in zip(line.kind, line.begin, line.end)
            if kind == TRAIN and e <= job.length]


class Effect:
    """What the fault did: the run with it, against the same run without."""

    def __init__(self, job, fault, hurt, well):
        self.first, self.touched, self.effect = None, 0, 0.0
        with_fault, without = step_lengths(job, hurt), step_lengths(job, well)
        added = [(b, d, d - d0, d0) for (b, d), (_, d0) in zip(with_fault, without)]
        self.step = sum(d0 for _, d0 in without) / len(without)
        over = [x for x in added if x[0] + x[1] > fault.begin and x[2] > 0.02 * x[3]]
        if not over:
            return
        typical = sorted(x[2] for x in over)[len(over) // 2]
        for begin, length, more, usual in added:
            if begin + length <= fault.begin or begin >= fault.end:
                continue
            if more > max(0.25 * typical, 0.02 * usual):
                self.touched += 1
                if self.first is None:
                    self.first = max(fault.begin, begin + usual)
        if self.first is None:
            return
        inside = [x for x in added if x[0] + x[1] > self.first and x[0] < fault.end]
        self.effect = sum(x[2] for x in inside) / max(sum(x[3] for x in inside), 1e-9)
