# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # what is not set here comes from `run`
#
# faults.sh - whatever can happen to a job, to Slurm, to the node's devices or to us while a job runs:
# the job ends as without us, and the record says what is known.
#
# same_job (words.sh) runs the function job_NAME on a Slurm without us, then with us, and compares.

# --- what a user or an admin does to a job ---

job_signals() {
    local signal job
    for signal in HUP INT USR1 TERM KILL; do
        job=$(sleeper 1 100)
        wait_until 30 sleeps "$job" >&2
        as_user scancel -s $signal "$job.0"
        echo "$job"
    done
}
test_every_signal() {
    local job
    same_job signals
    for job in $jobs; do
        whole "$job"
        has "$(told "$job" 0 'r["end"]')" signal
    done
}

job_time_limit() { sleeper 1 300 -t 1; }
test_time_limit() {
    same_job time_limit
    whole "$jobs"
    is "$(told "$jobs" 0 'r["end"]')" "['signal 15']"
}

job_requeue() {
    local job
    job=$(submit --requeue -N1 -n1 <<'EOF'
[ -z "$SLURM_RESTART_COUNT" ] || { srun true; exit 7; }
srun sleep 100
EOF
    )
    wait_until 30 step_running "$job" 0 >&2
    ctl scontrol requeue "$job"
    sleep 1
    wait_until 30 all_idle >&2
    ctl scontrol update jobid="$job" starttime=now # not two minutes later, as after a requeue
    wait_until 60 job_ended "$job" >&2
    echo "$job"
}
test_requeue() {
    same_job requeue
    whole "$jobs"
    # started again within the minute that clocks may differ, both runs may be told together
    has "$(told "$jobs" 0 'r["end"]')" "'exit 0'"
}

job_suspend() {
    local job
    job=$(sleeper 1 4)
    wait_until 30 sleeps "$job" >&2
    ctl scontrol suspend "$job"
    sleep 2
    ctl scontrol resume "$job"
    echo "$job"
}
test_suspend() {
    same_job suspend
    whole "$jobs"
    is "$(told "$jobs" 0 'r["end"]')" "['exit 3']"
}

job_het() {
    local job
    job=$(as_user sbatch --parsable -o "$work/%j.out" -N1 -n1 : -N1 -n2 \
        --wrap "srun --het-group=0,1 sh -c 'exit 3'; srun --het-group=1 true")
    wait_until 60 both_components_ended "$job" >&2
    echo "$job"
}
both_components_ended() { is "$(ctl sacct -n -X -P -j "$1" -o JobID,State | grep -c '+[01]|COMPLETED')" 2; }
test_het_job() {
    same_job het
    wait_until 90 final "$jobs"
}

job_salloc() {
    as_user salloc -N2 -n2 sh -c "echo \$SLURM_JOB_ID > $work/salloc.id; srun true; srun --interactive -N1 -n1 sh -c 'exit 4'; srun -n1 -N1 sh -c 'exit 5'" > "$work/salloc.out" 2>&1 || true
    cat "$work/salloc.id"
}
test_salloc_and_interactive() {
    same_job salloc
    has "$(cat "$work/salloc.yes")" ".interactive"
    whole "$jobs"
}

job_short() {
    submit -N1 -n1 <<'EOF'
for i in 1 2 3 4 5 6 7 8 9 10; do srun sleep 0.01; done
exit 1
EOF
}
test_short_steps() {
    same_job short
    wait_until 60 final "$jobs"
    is "$(show "$jobs" | ask 'sum(s["reported"] for s in d["steps"])')" 11
}

test_many_steps_at_once() {
    local job
    job=$(submit -N1 -n1 -c8 <<'EOF'
for i in $(seq 200); do srun --overlap -n1 -c1 sleep 5 & done
for i in $(seq 200); do wait -n || exit 1; done
EOF
    )
    wait_job "$job" 200
    wait_until 30 in_sacct "$job"
    is "$(exits "$job" | grep -c '^\.[0-9]*|COMPLETED|0:0')" 200
    wait_until 120 final "$job"
    is "$(show "$job" | ask 'sum(s["reported"] for s in d["steps"])')" 201
}

# Options that did not come through Slurm's own parser.
test_forged_options() {
    local value job
    for value in ';reboot' "$(printf 'compact\nx')" "$(head -c 3000 /dev/zero | tr '\0' a)" '(null)' ''; do
        job=$(as_user env SLURM_SPANK__SLURM_SPANK_OPTION_fabric_fabric="$value" \
            SLURM_SPANK__SLURM_SPANK_OPTION_fabric_fabric_sample="$value" \
            SLURM_SPANK__SLURM_SPANK_OPTION_fabric_fabric_env="$value" \
            sbatch --parsable -o /dev/null -N1 --wrap 'srun true' 2> "$work/forged.err") || {
            has "$(cat "$work/forged.err")" fabric # refused, and by whom
            continue
        }
        wait_job "$job"
        wait_until 30 in_sacct "$job"
        has "$(exits "$job")" ".0|COMPLETED|0:0"
    done
}

# --- what happens to Slurm ---

job_node_failure() {
    local job node
    job=$(sleeper 2 100 --no-requeue)
    wait_until 30 sleeps "$job" >&2
    node=$(hosts_of "$job" | tail -n 1)
    ctl scontrol update nodename="$node" state=down reason=test
    sleep 2
    ctl scontrol update nodename="$node" state=resume
    echo "$job"
}
test_node_failure() {
    same_job node_failure
    wait_until 90 final "$jobs"
}

job_slurmd_restart() {
    local job node
    job=$(sleeper 1 5)
    wait_until 30 sleeps "$job" >&2
    node=$(first_host "$job")
    cluster kill "$run" "slurmd.$node" >&2
    cluster start "$run" "slurmd.$node" >&2
    echo "$job"
}
test_slurmd_restart() {
    same_job slurmd_restart
    whole "$jobs"
    is "$(told "$jobs" 0 '(r["end"], r.get("partial"))')" "[('exit 3', None)]"
}

job_stepd_killed() {
    local job
    job=$(sleeper 1 100 --no-requeue)
    wait_until 30 sleeps "$job" >&2
    sleep 1
    kill -KILL "$(pgrep -f "^slurmstepd: \[$job\.0\]")"
    sleep 2
    as_user scancel "$job" # Slurm itself waits for the step for long
    echo "$job"
}
test_stepd_killed() {
    same_job stepd_killed
    wait_until 90 final "$jobs"
    is "$(told "$jobs" 0 'r["end"]')" "['lost']"
}

restarted() { # HOW DAEMON [ends]: away for two seconds while a job runs, or also while it ends
    local job
    job=$(sleeper 2 go)
    wait_until 30 sleeps "$job" >&2
    cluster "$1" "$run" "$2" >&2
    sleep 2
    [ -z "${3-}" ] || { go "$job"; wait_job "$job" >&2; }
    cluster start "$run" "$2" >&2
    go "$job"
    echo "$job"
}
job_slurmctld_restart() { restarted stop slurmctld; } # killed, it forgets a job that young
test_slurmctld_restart() { same_job slurmctld_restart; whole "$jobs"; }
job_munge_restart() { restarted kill munged; }
test_munge_restart() { same_job munge_restart; whole "$jobs"; }
job_slurmdbd_down() { restarted kill slurmdbd ends; }
test_slurmdbd_down() { same_job slurmdbd_down; whole "$jobs"; }

# --- what happens to us ---

test_agent_restarted() {
    local job node
    job=$(sleeper 2 go)
    wait_until 30 sleeps "$job"
    sleep 2
    node=$(first_host "$job")
    restart_agent "$node"
    go "$job"
    wait_job "$job"
    wait_until 20 in_sacct "$job"
    has "$(exits "$job")" ".0|FAILED|3:0"
    whole "$job"
    is "$(told "$job" 0 "(r['end'], r.get('partial'))")" "[('exit 3', None), ('exit 3', None)]"
    is "$(show "$job" | ask "len(step('0')['records'])")" 2 "records"
}

test_switched_off_in_mid_job() {
    local job
    job=$(sleeper 2 8)
    wait_until 30 sleeps "$job"
    sleep 1
    touch "${off[@]}"
    sleep 4
    rm "${off[@]}"
    wait_job "$job"
    wait_until 20 in_sacct "$job"
    has "$(exits "$job")" ".0|FAILED|3:0"
    whole "$job"
    is "$(show "$job" | ask 'len({r["node"] for r in step("0")["records"] if "switched off" in r["partial"]})')" 2 "nodes that say so"
}

# with_spool NODE COMMAND: what is done to the spool while the agent runs, and a job's end then
with_spool() {
    local node=$1 job rc=0
    on "$node" sh -c "$2"
    job=$(sleeper 1 2 -w "$node")
    wait_job "$job" && wait_until 20 in_sacct "$job" && has "$(exits "$job")" ".0|FAILED|3:0" &&
        wait_until 90 final "$job" && is "$(told "$job" 0 'r["end"]')" "['exit 3']" || rc=1
    on "$node" sh -c "${3:-true}" || true
    return $rc
}
test_spool_full() { with_spool "${nodes[0]}" 'mount -t tmpfs -o size=4k full /var/spool/slurm-fabric && head -c 8192 /dev/zero > /var/spool/slurm-fabric/filler 2>/dev/null; true' 'umount /var/spool/slurm-fabric'; }
test_spool_read_only() { with_spool "${nodes[1]}" 'mount -t tmpfs -o ro ro /var/spool/slurm-fabric' 'umount /var/spool/slurm-fabric'; }
test_spool_gone() { with_spool "${nodes[2]}" 'rm -rf /var/spool/slurm-fabric/*'; }

# An env file that root put there, or a broken disk: no lists, never a wrong one.
test_hostile_env_file() {
    local node=${nodes[0]} job kind boot
    boot=$(cat /proc/sys/kernel/random/boot_id)
    on "$node" cp -p /run/slurm-fabric/env /run/env.away
    for kind in random huge lines link; do
        case $kind in
            random) head -c 5000 /dev/urandom | on "$node" sh -c 'cat > /run/slurm-fabric/env' ;;
            huge) head -c 300000 /dev/zero | tr '\0' x | on "$node" sh -c 'cat > /run/slurm-fabric/env' ;;
            lines) { head -n 1 <(on "$node" cat /run/env.away | sed "s/[0-9a-f-]\{36\}/$boot/"); head -c 30000 /dev/urandom; } | on "$node" sh -c 'cat > /run/slurm-fabric/env' ;;
            link) on "$node" sh -c 'rm /run/slurm-fabric/env; ln -s /etc/passwd /run/slurm-fabric/env' ;;
        esac
        job=$(submit -N1 -n1 --gpus-per-node=8 -w "$node" --fabric-env=ucx,nccl,nvshmem <<EOF
srun env > $work/hostile.env
exit 3
EOF
        )
        wait_job "$job"
        wait_until 20 in_sacct "$job"
        has "$(exits "$job")" ".0|COMPLETED|0:0"
        LC_ALL=C grep -a '^\(UCX_NET_DEVICES\|NCCL_IB_HCA\|NVSHMEM_HCA_LIST\)=' "$work/hostile.env" && fail "$kind: a list was set"
    done
    on "$node" sh -c 'rm -f /run/slurm-fabric/env; mv /run/env.away /run/slurm-fabric/env'
}

# fabric.json, health.json and fabric.conf that are anything but that: jobs are accepted and run.
test_hostile_files() {
    local state kind file job rc=0
    state=$(cluster path "$run" state)
    cp -p "$state/fabric.json" "$state/fabric.json.away"
    cp -p "$run/etc/slurm-fabric/fabric.conf" "$work/fabric.conf.away"
    for file in "$state/fabric.json" "$state/health.json" "$run/etc/slurm-fabric/fabric.conf"; do
        for kind in random nested; do
            case $kind in
                random) head -c 100000 /dev/urandom > "$file" ;;
                nested) head -c 1000000 /dev/zero | tr '\0' '[' > "$file" ;;
            esac
            job=$(sleeper 1 0 --fabric=compact) && wait_job "$job" && wait_until 20 in_sacct "$job" &&
                has "$(exits "$job")" ".0|FAILED|3:0" || rc=1
        done
        rm -f "$state/health.json"
        mv "$state/fabric.json.away" "$state/fabric.json"
        cp -p "$state/fabric.json" "$state/fabric.json.away"
    done
    cp -p "$work/fabric.conf.away" "$run/etc/slurm-fabric/fabric.conf"
    mv "$state/fabric.json.away" "$state/fabric.json"
    return $rc
}

# --- what happens to the devices ---

counter() { # NODE DEVICE NAME: the file, as the node's agent reads it
    find "$(cluster path "$run" fabric)/nodes/$1" -type f -path "*infiniband/$2/ports/1/counters/$3"
}

restart_agent() { cluster stop "$run" "sfabricd.$1" && cluster start "$run" "sfabricd.$1"; }

# The job's end and its record while one counter file is bad: that counter is unknown, the others stay.
bad_counter() { # MODE
    local node=${nodes[0]} file server job rc=0
    file=$(counter "$node" mlx5_0 port_xmit_data)
    [ -f "$file" ] || fail "no such counter: $file"
    on "$node" "$run/badfile" "$file" "$1" &
    server=$!
    wait_until 10 on "$node" mountpoint -q "$file"
    restart_agent "$node" # it keeps what it has opened
    job=$(sleeper 1 7 -w "$node")
    wait_job "$job" && wait_until 20 in_sacct "$job" && has "$(exits "$job")" ".0|FAILED|3:0" || rc=1
    wait_until 90 final "$job" || rc=1
    on "$node" umount -l "$file" || rc=1
    pgrep -P $server | xargs -r kill # by itself it ends when nobody reads any more
    wait $server || true
    restart_agent "$node"
    is "$(told "$job" 0 'r["end"]')" "['exit 3']" || rc=1
    is "$(told "$job" 0 'r["totals"]["mlx5_0:1"].get("tx_bytes")')" "[None]" "what the bad file counts" || rc=1
    is "$(told "$job" 0 '(r["totals"]["mlx5_0:1"]["rx_bytes"], r["totals"]["mlx5_1:1"]["tx_bytes"])')" "[(0, 0)]" "the others" || rc=1
    told "$job" 0 'str(r.get("partial"))'
    return $rc
}
test_counter_hangs() { has "$(bad_counter hang)" "has not come back"; }
test_counter_einval() { bad_counter einval; }
test_counter_na() { bad_counter na; }
test_counter_garbage() { bad_counter garbage; }

test_devices_vanish() {
    local node=${nodes[0]} root job rc=0
    root=$(cluster path "$run" fabric)/nodes/$node
    job=$(sleeper 1 5 -w "$node")
    wait_until 30 sleeps "$job"
    mv "$root/sys" "$root/sys.away"
    wait_job "$job" && wait_until 20 in_sacct "$job" && has "$(exits "$job")" ".0|FAILED|3:0" || rc=1
    mv "$root/sys.away" "$root/sys"
    whole "$job" || rc=1
    return $rc
}

# A node without GPU, without adapter, without anything.
test_no_devices() {
    local node=${nodes[0]} conf job rc=0
    conf=$run/etc/nodes/$node/fabric.conf
    mkdir -p "$work/empty/sys" "$work/empty/proc"
    sed -i.away "s|^root = .*|root = \"$work/empty\"|" "$conf"
    restart_agent "$node"
    job=$(submit -N1 -n1 -w "$node" --fabric-env=ucx,nccl <<EOF
srun env > $work/nodevices.env
srun sh -c 'exit 3'
EOF
    )
    wait_job "$job" && wait_until 20 in_sacct "$job" && has "$(exits "$job")" ".1|FAILED|3:0" &&
        whole "$job" || rc=1
    grep '^\(UCX_NET_DEVICES\|NCCL_IB_HCA\)=' "$work/nodevices.env" && rc=1
    mv "$conf.away" "$conf"
    restart_agent "$node"
    return $rc
}
