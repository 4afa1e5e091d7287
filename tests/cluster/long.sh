# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # what is not set here comes from `run`
#
# long.sh - tests that take minutes, on a cluster of eight nodes (tests/cluster/run --long).

soak_jobs=${SOAK_JOBS:-200}

# soak_job I: one of one or two nodes and three steps whose ends follow from I
soak_job() {
    local i=$1
    submit -N$((1 + i % 3 / 2)) --ntasks-per-node=1 --no-requeue <<EOF
srun sh -c 'sleep $((i % 4)).$((i % 10))'
srun sh -c 'sleep 0.$((i % 10)); exit $((i % 5))'
srun sh -c 'sleep $((i % 2)); [ $((i % 7)) != 0 ] || kill -TERM \$\$; exit 0'
exit $((i % 3))
EOF
}
# what sacct says of it, whatever happens to us
soak_end() { # I
    local i=$1 state
    state() { [ "$1" = 0 ] && echo COMPLETED || echo FAILED; }
    echo "|$(state $((i % 3)))|$((i % 3)):0"
    echo ".batch|$(state $((i % 3)))|$((i % 3)):0"
    echo ".0|COMPLETED|0:0"
    echo ".1|$(state $((i % 5)))|$((i % 5)):0"
    [ $((i % 7)) = 0 ] && echo ".2|CANCELLED|0:15" || echo ".2|COMPLETED|0:0"
}

# Kills what belongs to the controller's host, one at a time. slurmctld is asked to end: a killed one
# forgets what it did in its last seconds, with us or without.
soak_trouble() {
    local what
    RANDOM=7
    while [ ! -e "$work/soak.over" ]; do
        sleep $((RANDOM % 8))
        case $((RANDOM % 4)) in
            0 | 1) what=sfabricctld; cluster kill "$run" $what ;;
            2) what=slurmdbd; cluster kill "$run" $what ;;
            3) what=slurmctld; cluster stop "$run" $what ;;
        esac
        sleep $((RANDOM % 5))
        cluster start "$run" $what
        echo "$what" >> "$dir/soak.trouble"
    done
}

soak_agents() { # start|stop
    local node
    for node in "${nodes[@]}"; do
        if [ "$1" = stop ]; then
            kill -TERM "$(head -n 1 "$dir/unruly.$node")"
            continue
        fi
        cluster stop "$run" "sfabricd.$node"
        on "$node" setsid "$run/unruly" --socket /run/slurm-fabric/sfabricd.sock --seed "$node" --mean 15 \
            "$prefix/sbin/sfabricd" -f "$run/etc/nodes/$node/fabric.conf" -n "$node" > "$dir/unruly.$node" 2>&1 &
        wait_until 20 grep -q 'at work' "$dir/unruly.$node"
    done
}

# A step's records, each once for each of its nodes.
soak_records() { # JOB
    show "$1" | ask '" ".join("%s:%d/%d" % (s["step"], len(s["records"]), len({r["node"] for r in s["records"]})) for s in sorted(d["steps"], key=lambda s: s["step"]))'
}

test_soak() {
    local i job jobs=() trouble n wrong=0 killed
    rm -f "$work/soak.over" "$dir/soak.trouble"
    cp "$top/tests/cluster/unruly" "$run/" # where the nodes see it
    soak_agents start
    for i in $(seq "$soak_jobs"); do
        jobs[i]=$(soak_job "$i")
    done
    sleep 6 # slurmctld knows them now, also after a restart
    soak_trouble > "$dir/soak.out" 2>&1 &
    trouble=$!
    for i in $(seq "$soak_jobs"); do
        wait_until 900 job_ended "${jobs[i]}"
    done
    touch "$work/soak.over"
    wait "$trouble"
    for i in $(seq "$soak_jobs"); do
        wait_until 60 in_sacct "${jobs[i]}"
        [ "$(exits "${jobs[i]}")" = "$(soak_end "$i")" ] || { wrong=$((wrong + 1)); exits "${jobs[i]}"; soak_end "$i"; }
    done
    is "$wrong" 0 "jobs that ended otherwise"
    for job in "${nodes[@]}"; do
        wait_until 120 spool_empty "$job"
    done
    for i in $(seq "$soak_jobs"); do
        n=$((1 + i % 3 / 2))
        wait_until 90 final "${jobs[i]}"
        is "$(soak_records "${jobs[i]}")" "0:$n/$n 1:$n/$n 2:$n/$n batch:1/1" "records of job ${jobs[i]}"
    done
    soak_agents stop
    for job in "${nodes[@]}"; do
        wait_until 20 grep -q '^killed' "$dir/unruly.$job"
        cluster start "$run" "sfabricd.$job"
    done
    killed=$(cat "$dir"/unruly.* | awk '{ n += $2 } END { print n }')
    echo "sfabricd was killed $killed times; $(sort "$dir/soak.trouble" | uniq -c | xargs)"
    [ "$killed" -gt 20 ] || fail "too few kills to show anything"
}
