# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # what is not set here comes from `run`
#
# place.sh - the nodes that jobs of each placement class get, and what is refused. The fabric has two
# units of two hosts; nodes get the features that sfabric-topology names.

unit_of() { python3 -c 'import json,sys; print({h["name"]: h["unit"] for h in json.load(open(sys.argv[1]))["hosts"]}[sys.argv[2]])' "$(cluster path "$run" state)/fabric.json" "$1"; }
# mates NODE: the two nodes of its unit, sorted
mates() { for node in "${nodes[@]}"; do [ "$(unit_of "$node")" != "$(unit_of "$1")" ] || echo "$node"; done | sort | xargs; }

# placing LINES...: fabric.conf with these lines, until the test ends; nodes have their features
placing() {
    cp "$run/etc/fabric.conf" "$dir/fabric.conf"
    trap not_placing EXIT
    printf '%s\n' 'features = yes' 'class "probe" { }' "$@" >> "$run/etc/fabric.conf"
    ctl "$prefix/sbin/sfabric-topology" hints features --format scontrol --fabric "$(cluster path "$run" state)/fabric.json" > "$dir/features"
    ctl sh "$dir/features" > /dev/null
    has "$(ctl scontrol show node "${nodes[0]}")" "ActiveFeatures=unit-$(unit_of "${nodes[0]}"),pod-"
    wait_until 20 has_class probe # the plugin looks every second
}
has_class() { as_user sbatch -H -N1 --fabric=none-such --wrap true 2>&1 | grep -q " $1,"; }
has_no_class() { ! has_class "$1"; }
not_placing() {
    cat "$dir/fabric.conf" > "$run/etc/fabric.conf" # in place: it is mounted where slurmctld has it
    for node in "${nodes[@]}"; do ctl scontrol update "node=$node" AvailableFeatures= ActiveFeatures=; done
    wait_until 20 has_no_class probe
}

# refused SENTENCE OPTIONS...: sbatch refuses, and says so
refused() {
    local sentence=$1 out
    shift
    out=$(as_user sbatch "$@" --wrap true 2>&1) && fail "accepted: $*"
    has "$out" "$sentence"
}
# told SENTENCE OPTIONS...: sbatch accepts, and says so; prints the job's id
says() {
    local sentence=$1 out
    shift
    out=$(as_user sbatch -H "$@" --wrap true 2>&1)
    has "$out" "$sentence"
    echo "$out" | sed -n 's/^Submitted batch job //p'
}
nodes_of() { ctl scontrol show hostnames "$(ctl squeue -h -t all -j "$1" -o %N)" | sort | xargs; }

test_same_leaf_strict() {
    local first other hold job
    placing
    first=${nodes[0]}
    for node in "${nodes[@]}"; do [ "$(unit_of "$node")" = "$(unit_of "$first")" ] || other=$node; done
    # one node of each unit is busy: two are free, but in two units
    hold=$(sleeper 2 go -w "$first,$other" --exclusive)
    wait_until 30 sleeps "$hold"
    job=$(submit -N2 --exclusive --fabric=same-leaf,strict <<< 'srun true')
    sleep 5
    is "$(job_state "$job")" PENDING
    go "$hold"
    wait_job "$hold"
    wait_job "$job"
    is "$(job_state "$job")" COMPLETED
    is "$(nodes_of "$job")" "$(mates "$(first_host "$job")")"
    job=$(submit -N2 --exclusive --fabric=same-pod,strict <<< 'srun true')
    wait_job "$job"
    is "$(nodes_of "$job")" "$(mates "$(first_host "$job")")"
}

test_what_the_fabric_has_no_room_for() {
    local job
    placing
    refused "no unit has 3 nodes, the largest has 2" -N3 --fabric=same-leaf,strict
    job=$(says "as close together as possible instead" -N3 --fabric=same-leaf)
    has "$(ctl scontrol show job "$job")" Switches=2@
    as_user scancel "$job"
    # of what it may have, each unit has one
    refused "no unit has 2 nodes, the largest has 1" -N2 -x "$(one_of_each)" --fabric=same-leaf,strict
    job=$(says "" -N2 -x "$(one_of_each)" --fabric=compact)
    has "$(ctl scontrol show job "$job")" Switches=2@
    as_user scancel "$job"
}
one_of_each() {
    for node in "${nodes[@]}"; do echo "$(unit_of "$node") $node"; done | sort -u -k 1,1 | cut -d' ' -f2 | paste -sd,
}

test_limits_of_classes() {
    placing 'class "wide" { max_nodes = 2 partitions = {"main"} }' 'class "elsewhere" { partitions = {"other"} }' \
        'class "theirs" { accounts = {"nobody"} }' 'class "pairs" { kind = "segments" segment = 2 }'
    refused "is for jobs of at most 2 nodes" -N3 -p main --fabric=wide
    refused "name it (-p)" -N2 --fabric=wide
    as_user scancel "$(says "" -N2 -p main --fabric=wide)"
    refused "is for partition other" -N2 -p main --fabric=elsewhere
    refused "is for account nobody" -N2 -A demo --fabric=theirs
    refused "parts of 2" -N3 --fabric=pairs
    as_user scancel "$(says topology/block -N4 --fabric=pairs)"
}

test_told_not_guessed() {
    local job
    as_user scancel "$(says "needs a fixed number of nodes (-N)" -n4 --fabric=compact)"
    as_user scancel "$(says "needs a fixed number of nodes (-N)" --gpus=8 --fabric=compact)"
    as_user scancel "$(says "needs a fixed number of nodes (-N)" -N2-4 --fabric=compact)"
    as_user scancel "$(says "--nodelist decides" -N2 -w "${nodes[0]}" --fabric=compact)"
    ctl scontrol create reservation reservationname=ours users=demo starttime=now duration=10 nodes="${nodes[0]},${nodes[1]}" > /dev/null
    job=$(says "--reservation decides" -N2 --reservation=ours --fabric=compact)
    as_user scancel "$job"
    ctl scontrol delete reservationname=ours
    # what is modified later stays as it is asked for
    job=$(says "" -N2 --fabric=compact)
    ctl scontrol update "jobid=$job" timelimit=5 switches=2
    has "$(ctl scontrol show job "$job")" Switches=2
    as_user scancel "$job"
}

test_classes_of_arrays_and_het_jobs() {
    local job
    job=$(says "" --array=0-1 -N2 --fabric=compact)
    has "$(ctl scontrol show job "$job")" Switches=1@
    as_user scancel "$job"
    job=$({ echo '#SBATCH hetjob'; echo '#SBATCH -N2 --fabric=compact'; } | submit -H -N2 --fabric=compact)
    is "$(ctl scontrol show job "$job" | grep -o 'Switches=1@' | wc -l)" 2
    as_user scancel "$job"
}
