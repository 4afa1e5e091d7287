#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""steps.py COUNT JOB... - are there as many steps, each with one whole record of the right CPU time?

Reads, in the folder it runs in: sacct (JobID|State|ExitCode|TotalCPU), show.JOB (sfabric show --json),
and used.JOB.STEP.TASK, what the step's cgroup had taken shortly before that task ended: the record has
that and at most a second more. sacct's number agrees within 0.15 s and 5 %, but for one step in twenty:
at times Slurm counts a second too many.
"""
import glob
import json
import sys


def seconds(text):
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + float(part)
    return total


count, jobs = int(sys.argv[1]), sys.argv[2:]
records = {}
for job in jobs:
    for step in json.load(open("show." + job))["steps"]:
        for record in step["records"]:
            records.setdefault(job + "." + step["step"], []).append(record)
bad, steps, off = [], 0, []
for line in open("sacct"):
    name, state, code, cpu = line.rstrip("\n").split("|")
    if "." not in name or name.endswith(".extern"):
        continue
    steps += name.split(".")[1] != "batch"
    mine = records.get(name, [])
    if state != "COMPLETED" or code != "0:0":
        bad.append(f"{name}: {state} {code}")
    if len(mine) != 1 or "partial" in mine[0] or mine[0]["end"] != "exit 0":
        bad.append(f"{name}: {len(mine)} records: {[(r.get('partial'), r.get('end')) for r in mine]}")
        continue
    taken = mine[0]["totals"].get("step", {}).get("cpu_us")
    if taken is None:
        bad.append(f"{name}: no CPU time")
        continue
    used = max([int(open(f).read()) for f in glob.glob(f"used.{name}.*")], default=0)
    said = f"{name}: {taken / 1e6:.3f} s, sacct has {cpu}, its cgroup had {used / 1e6:.3f}"
    if taken < used or used and taken > used + 1e6:
        bad.append(said)
    if abs(taken / 1e6 - seconds(cpu)) > 0.15 + 0.05 * seconds(cpu):
        off.append(said)
if len(off) > count / 20:
    bad += off
print("\n".join(bad))
print(f"# figure: {steps} steps, the CPU time of {len(off)} is not sacct's")
sys.exit(bool(bad) or steps != count)
