#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # what is not set here comes from lab.sh
#
# cgroups.sh - jobs in real cgroups: proctrack/cgroup, task/cgroup, jobacct_gather/cgroup, constrained
# cores, devices and memory. They end as without us, what they use is measured by their cgroup, and
# nothing of ours is charged to them.
. /vm/lab.sh

write_programs() {
    # burns processor time; leaves what its step's cgroup had taken by then
    cat > "$work/burn" <<'END'
#!/bin/sh
i=0
while [ $i -lt "$1" ]; do i=$((i + 1)); done
group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
sed -n 's/^usage_usec //p' "$group/../cpu.stat" > "used.$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURM_PROCID"
END
    # what a task sees of its cgroup and its limits, without what differs from job to job
    cat > "$work/look" <<'END'
#!/bin/sh
sed 's/job_[0-9]*/job_J/; s/step_[0-9]*/step_S/' /proc/self/cgroup
group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
nproc
cat "$group/../../memory.max" "$group/../../../memory.max" /proc/self/oom_score_adj
ulimit -a
ls /proc/self/fd
for device in /dev/gpu0 /dev/gpu1 /dev/null /dev/zero; do
    (: < $device) 2> /dev/null && echo "can open $device"
done
exit 0
END
    chmod 755 "$work/burn" "$work/look"
}

job_look() {
    submit -n2 --gres=gpu:2 <<END
{ srun -n2 --label ./look | sort -s -n; srun -n1 --gres=gpu:1 ./look; } > seen.$with 2>&1
srun -n2 sh -c 'exit \$((SLURM_PROCID * 7))'
srun -n1 sh -c 'kill -KILL \$\$'
srun -n1 --mem=30 sh -c 'head -c 100m /dev/zero | tail'
exit 5
END
}
test_same_as_without_us() {
    same_job look
    diff "$work/seen.no" "$work/seen.yes" >&2
    is "$(grep -c '^can open /dev/gpu' "$work/seen.yes")" 1 "GPUs that a step with one can open"
    has "$(cat "$work/seen.yes")" "step_S/user/task_0"
    has "$(exits "$jobs")" "OUT_OF_MEMORY"
    whole "$jobs"
    is "$(told "$jobs" 2 'r["end"]') $(told "$jobs" 3 'r["end"]')" "['exit 7'] ['signal 9']"
}

ended_as_reference() { # JOB: see held_job
    wait_job "$1" 60
    wait_until 20 in_sacct "$1"
    is "$(exits "$1" | xargs)" "$(xargs < "$work/reference")"
}

test_hundred_steps() {
    local kind ids=() job agent service seen=0
    agent=$(pid_of sfabricd) service=$(pid_of sfabricctld)
    for kind in 0 1 2 3; do
        ids+=("$(submit -n$((1 + kind % 2)) --gres=gpu:$((kind / 2)) <<END
for i in \$(seq 25); do srun ./burn \$((i * 100)) || exit 1; done
END
        )")
    done
    for job in "${ids[@]}"; do
        until job_ended "$job"; do
            find "$slurmd_cgroup/${node}_slurmstepd.scope" -path '*job_*' -name cgroup.procs -exec cat {} + > "$work/pids" 2> /dev/null || true
            [ ! -s "$work/pids" ] || seen=$((seen + 1))
            ! grep -qxE "$agent|$service" "$work/pids"
            sleep 5
        done
    done
    [ $seen -gt 5 ]
    wait_until 60 no_job_cgroup
    for job in "${ids[@]}"; do
        wait_until 40 in_sacct "$job"
        wait_until 60 final "$job"
        show "$job" > "$work/show.$job"
    done
    sacct -n -P -j "$(IFS=, && echo "${ids[*]}")" -o JobID,State,ExitCode,TotalCPU > "$work/sacct"
    (cd "$work" && python3 /vm/steps.py 100 "${ids[@]}")
}

# What a job's cgroup has taken at its end, the smallest of three: with us and without us alike.
job_charged() {
    submit -n1 <<END
srun sleep 2
group=/sys/fs/cgroup\$(cut -d: -f3 /proc/self/cgroup)/../../..
cat \$group/memory.peak >> memory.$with
sed -n 's/^usage_usec //p' \$group/cpu.stat >> cpu.$with
END
}
test_nothing_is_charged() {
    local without kind
    for _ in 1 2 3; do same_job charged; done
    for kind in memory cpu; do
        without=$(sort -n "$work/$kind.no" | head -n 1)
        with=$(sort -n "$work/$kind.yes" | head -n 1)
        echo "# figure: $kind of a job's cgroup: $without without us, $with with us ($(if [ $kind = cpu ]; then echo us; else echo bytes; fi))"
        case $kind in
            memory) [ "$with" -le $((without + 1048576)) ] ;;
            cpu) [ "$with" -le $((without + without / 4)) ] ;;
        esac
    done
}

test_agent_absent() {
    local job
    cluster stop "$run" "sfabricd.$node"
    job=$(held_job)
    release "$job"
    ended_as_reference "$job"
    cluster start "$run" "sfabricd.$node"
    is "$(admin_comment "$job")" ""
}

test_agent_stopped() {
    local job
    cluster signal "$run" "sfabricd.$node" STOP
    job=$(held_job)
    release "$job"
    ended_as_reference "$job"
    cluster cont "$run" "sfabricd.$node"
    whole "$job"
    is "$(told "$job" 0 'r["end"]')" "['exit 3']"
    is "$(told "$job" 0 '"partial" in r or r["sampling"]["begin_gap_ns"] > 10**9')" "[True]"
}

test_agent_killed_in_mid_step() {
    local job
    job=$(held_job)
    cluster kill "$run" "sfabricd.$node"
    cluster start "$run" "sfabricd.$node"
    release "$job"
    ended_as_reference "$job"
    whole "$job"
    is "$(told "$job" 0 '(r["end"], r.get("partial"))')" "[('exit 3', None)]"
}

job_cancelled() {
    local job
    job=$(submit -n1 <<'END'
srun sh -c ': > $SLURM_JOB_ID.task.0; sleep 300'
END
    )
    wait_until 60 sleeps "$job" >&2
    as_user scancel "$job"
    echo "$job"
}
test_scancel() {
    same_job cancelled
    whole "$jobs"
    is "$(told "$jobs" 0 'r["end"]')" "['signal 15']"
}

# Both at once: a minute is the shortest limit.
test_time_limit() {
    local without with
    with_plugin no
    without=$(submit -n1 -t 1 <<< 'srun sleep 300')
    wait_until 60 step_running "$without" 0
    with_plugin yes
    with=$(submit -n1 -t 1 <<< 'srun sleep 300')
    wait_job "$without" 100
    wait_job "$with" 100
    wait_until 30 in_sacct "$without"
    wait_until 30 in_sacct "$with"
    is "$(exits "$with" | xargs)" "$(exits "$without" | xargs)"
    has "$(exits "$with")" TIMEOUT
    whole "$with"
    is "$(told "$with" 0 'r["end"]')" "['signal 15']"
}

# The clock is set by an hour while a step runs, on the node and everywhere.
set_clock_in_mid_step() { # SECONDS
    local job from took set
    from=$(cut -d. -f1 /proc/uptime)
    job=$(held_job)
    sleep 2 # on either side, for a few samples
    date -s "@$(($(date +%s) + $1))" > /dev/null
    sleep 2
    release "$job"
    ended_as_reference "$job"
    whole "$job"
    took=$(($(cut -d. -f1 /proc/uptime) - from))
    is "$(told "$job" 0 "4 <= r['elapsed_ns'] / 1e9 <= $took and r['end'] == 'exit 3' and 'partial' not in r")" "[True]"
    set=$(told "$job" 0 'round(r.get("clock_set_ns", 0) / 1e9)')
    is "$set" "[$1]" "seconds that the record says"
    is "$(told "$job" 0 'min([0] + [v for d in r["totals"].values() for v in d.values()] + [x for d in r.get("rates", {}).values() for v in d.values() for x in v])')" "[0]"
}
test_clock_set_ahead() { set_clock_in_mid_step 3600; }
test_clock_set_back() { set_clock_in_mid_step -3600; }

test_nothing_is_left() {
    local group
    wait_until 60 no_job_cgroup
    wait_until 60 spool_empty "$node"
    is "$(find /run/slurm-fabric ! -type d -printf "%f\n" | sort | xargs)" "env sfabricd.sock"
    is "$(ls /var/spool/slurm-fabric/bad)" ""
    is "$(pgrep -c slurmstepd)" 0 "slurmstepd processes"
    group=$slurmd_cgroup/sfabricd.service
    echo "# figure: sfabricd took at most $(cat "$group/memory.peak") bytes, and $(sed -n 's/^usage_usec //p' "$group/cpu.stat") us in $(cut -d. -f1 /proc/uptime) s"
}

prepare() {
    local job
    configure
    up
    write_programs
    with_plugin no
    job=$(held_job)
    release "$job"
    wait_job "$job" 60
    wait_until 20 in_sacct "$job"
    exits "$job" > "$work/reference"
    with_plugin yes
}
serve prepare "$@"
