# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # what is not set here comes from `run`
#
# main.sh - the main job, and the first things that can go wrong around it.

test_same_as_without_us() {
    local job
    job=$(reference plain)
    same_as_without_us plain
    diff <(sed '/SLURM.*=/d' "$work/bare.env" | sort) <(sed '/SLURM.*=/d' "$work/plain.env" | sort) >&2
    job=$(reference flags --fabric=compact --fabric-env=ucx,nccl,nvshmem --fabric-sample=500ms)
    same_as_without_us flags
    grep -q '^UCX_NET_DEVICES=mlx5' "$work/flags.env"
    grep -q '^NCCL_IB_HCA==mlx5' "$work/flags.env"
    wait_until 60 final "$job"
    is "$(show "$job" | ask 'sorted((s["step"], s["nodes"], s["reported"]) for s in d["steps"])')" \
        "[('0', 1, 1), ('1', 2, 2), ('2', 2, 2), ('3', 2, 2), ('batch', 1, 1)]"
    is "$(show "$job" | ask 'sorted({r["sampling"]["interval_ns"] for s in d["steps"] for r in s["records"]})')" "[500000000]"
}

test_user_variables_are_left_alone() {
    local job
    job=$(submit -N1 -n1 --gpus-per-node=8 --fabric-env=ucx,nccl <<EOF
export UCX_NET_DEVICES=mine
srun env > $work/user.env
EOF
    )
    wait_job "$job"
    grep -qx 'UCX_NET_DEVICES=mine' "$work/user.env"
    grep -q '^NCCL_IB_HCA==mlx5' "$work/user.env"
}

test_agent_absent() {
    local node job
    for node in "${nodes[@]}"; do cluster stop "$run" "sfabricd.$node"; done
    job=$(reference absent --fabric=compact --fabric-env=ucx)
    for node in "${nodes[@]}"; do cluster start "$run" "sfabricd.$node"; done
    same_as_without_us absent
    grep -q '^UCX_NET_DEVICES=' "$work/absent.env" && fail "a list of an agent that is away was used"
    sleep 3
    is "$(admin_comment "$job")" "" "nothing is known of the job"
}

test_agent_stopped() {
    local node job
    for node in "${nodes[@]}"; do cluster signal "$run" "sfabricd.$node" STOP; done
    job=$(reference stopped --fabric=compact)
    for node in "${nodes[@]}"; do cluster cont "$run" "sfabricd.$node"; done
    same_as_without_us stopped
    # what queued is read late, and the records say how late
    wait_until 60 final "$job"
    is "$(show "$job" | ask 'step("1")["reported"]')" 2
    is "$(show "$job" | ask 'all(r.get("partial") or r["sampling"]["begin_gap_ns"] > 10**9 for r in step("1")["records"])')" True
}

# agent_killed NODES WAIT: a job whose last node's sfabricd is killed, and started when the function
# WAIT is through
agent_killed() {
    local job node
    job=$(sleeper "$1" go --gpus-per-node=8 --fabric=compact)
    wait_until 30 sleeps "$job" >&2
    sleep 2
    node=$(hosts_of "$job" | tail -n 1)
    cluster kill "$run" "sfabricd.$node" >&2
    "$2" "$job" >&2
    cluster start "$run" "sfabricd.$node" >&2
    go "$job"
    echo "$job"
}
at_once() { sleep 1; }
job_agent_killed() { agent_killed 4 at_once; }
test_agent_killed_in_mid_step() {
    same_job agent_killed
    has "$(cat "$work/agent_killed.yes")" ".0|FAILED|3:0"
    whole "$jobs"
    is "$(told "$jobs" 0 "(r['end'], r.get('partial'))")" "[('exit 3', None), ('exit 3', None), ('exit 3', None), ('exit 3', None)]"
}

no_stepd() { ! pgrep -f "^slurmstepd: \[$1\."; }
until_over() { go "$1" && wait_job "$1" && wait_until 60 no_stepd "$1"; }
job_agent_away() { agent_killed 2 until_over; }
test_agent_away_at_the_end() {
    same_job agent_away
    whole "$jobs"
    is "$(told "$jobs" 0 "(r['end'], r.get('partial', ''))")" "[('exit 3', ''), ('lost', 'sfabricd was not there when the step ended')]"
    # sacct says it, too
    has "$(admin_comment "$jobs")" '"partial":'
}

test_service_down() {
    local job node
    cluster kill "$run" sfabricctld
    job=$(reference noservice --fabric=compact)
    same_as_without_us noservice
    is "$(admin_comment "$job")" ""
    node=$(ctl scontrol show hostnames "$(ctl sacct -n -X -P -j "$job" -o NodeList)" | head -n 1)
    spool_empty "$node" && fail "no record waits on $node"
    cluster start "$run" sfabricctld
    wait_until 100 final "$job"
    is "$(show "$job" | ask 'sorted((s["step"], s["nodes"], s["reported"]) for s in d["steps"])')" \
        "[('0', 1, 1), ('1', 2, 2), ('2', 2, 2), ('3', 2, 2), ('batch', 1, 1)]"
    for node in "${nodes[@]}"; do wait_until 70 spool_empty "$node"; done
}

# Without a good fabric.json: placed by the last good one; the record has no switches.
without_switches() { # NAME
    local job
    job=$(reference "$1" --fabric=compact)
    same_as_without_us "$1"
    wait_until 60 final "$job"
    has "$(admin_comment "$job")" '"steps"'
    is "$(admin_comment "$job" | ask 'd["fabric"].get("switches"), d["fabric"].get("units")')" "(None, None)"
    job=$(as_user sbatch --parsable -H -N2 --fabric=compact --wrap true)
    has "$(ctl scontrol show job "$job")" "Switches=1@"
    as_user scancel "$job"
}

test_no_fabric_json() {
    local state
    state=$(cluster path "$run" state)
    mv "$state/fabric.json" "$state/fabric.json.away"
    without_switches nofabric
    mv "$state/fabric.json.away" "$state/fabric.json"
}

test_broken_fabric_json() {
    local state
    state=$(cluster path "$run" state)
    cp -p "$state/fabric.json" "$state/fabric.json.away"
    head -c 1000 "$state/fabric.json.away" > "$state/fabric.json"
    without_switches broken
    mv "$state/fabric.json.away" "$state/fabric.json"
}

job_scancel() {
    local job
    job=$(sleeper 2 100 --gpus-per-node=8 --fabric=compact)
    wait_until 30 sleeps "$job" >&2
    sleep 2
    as_user scancel "$job"
    echo "$job"
}
test_scancel() {
    same_job scancel
    has "$(cat "$work/scancel.yes")" "|CANCELLED|"
    wait_until 60 final "$jobs"
    is "$(show "$jobs" | ask 'step("0")["reported"]')" 2
    is "$(show "$jobs" | ask "sorted({r.get('end') for r in step('0')['records']})")" "['signal 15']"
}

test_tag_while_running() {
    local job
    job=$(submit -N2 --ntasks-per-node=1 --gpus-per-node=4 --fabric=compact <<'EOF'
srun sleep 5
EOF
    )
    wait_until 30 step_running "$job" 0
    wait_until 15 sh -c "'$demo/cluster' exec '$run' ctl -- scontrol show job $job | grep -q '\"state\":\"running\"'"
    wait_job "$job"
    wait_until 60 final "$job"
    is "$(show "$job" | ask 'd["gpus"] and sorted(len(g) for g in d["gpus"].values())')" "[4, 4]"
}

test_foreign_comment() {
    local job
    job=$(submit -N1 -n1 <<'EOF'
srun sleep 3
EOF
    )
    ctl scontrol update jobid="$job" admincomment=JS1:foreign
    wait_job "$job"
    wait_until 60 sh -c "'$demo/cluster' exec '$run' ctl -- '$prefix/bin/sfabric' -f '$run/etc/fabric.conf' show $job --json | grep -q '\"state\":\"final\"'"
    sleep 3
    is "$(admin_comment "$job")" "JS1:foreign"
}

extra_is() { [ "$(ctl sacct -n -X -P -j "$1" -o Extra)" = "$2" ]; }

test_extra() {
    local job
    if ! ctl sacct --helpformat | grep -qw Extra; then # before 23.02: AdminComment is all, and enough
        job=$(sleeper 2 0 --fabric=compact)
        wait_job "$job"
        wait_until 60 final "$job"
        ! grep -i extra "$run/log/sfabricctld.out" >&2
        return
    fi
    job=$(sleeper 2 0 --fabric=compact)
    wait_job "$job"
    wait_until 60 final "$job"
    wait_until 30 extra_is "$job" "fabric: final; compact; 2 nodes; 1 units, fewest 1"
    # somebody else's is left alone
    job=$(sleeper 1 0 --extra=mine)
    wait_job "$job"
    wait_until 60 final "$job"
    sleep 2
    extra_is "$job" mine
    # where Slurm reads it as a constraint it stays empty
    trap extra_constraints_off EXIT
    sed -i '/^SchedulerParameters=/s/$/,extra_constraints/' "$run/etc/slurm.conf"
    ctl scontrol reconfigure
    job=$(sleeper 1 0 --fabric=compact)
    wait_job "$job"
    wait_until 60 final "$job"
    extra_is "$job" ""
}
extra_constraints_off() {
    sed -i 's/,extra_constraints$//' "$run/etc/slurm.conf"
    ctl scontrol reconfigure
}

test_classes() {
    local out
    out=$(as_user sbatch --fabric=nonsense --wrap true 2>&1) && fail "an unknown class was accepted"
    has "$out" any
    has "$out" compact
    out=$(as_user sbatch --fabric='Compact!' --wrap true 2>&1) && fail "a malformed class was accepted"
    out=$(as_user sbatch --fabric=compact,bogus --wrap true 2>&1) && fail "an unknown modifier was accepted"
    out=$(as_user sbatch --fabric-sample=often --wrap true 2>&1) && fail "a malformed interval was accepted"
    out=$(as_user sbatch --fabric-env=mpi --wrap true 2>&1) && fail "an unknown list was accepted"
    as_user srun -N1 --fabric=any true
    # compact asks for the fewest units: two hosts fit in one, four need two
    out=$(as_user sbatch --parsable -H -N2 --fabric=compact --wrap true)
    has "$(ctl scontrol show job "$out")" "Switches=1@"
    as_user scancel "$out"
    out=$(as_user sbatch --parsable -H -N4 --fabric=compact --wrap true)
    has "$(ctl scontrol show job "$out")" "Switches=2@"
    as_user scancel "$out"
    out=$(as_user sbatch --parsable -H -N2 --switches=2@1:00 --fabric=compact --wrap true)
    has "$(ctl scontrol show job "$out")" "Switches=2@00:01:00"
    as_user scancel "$out"
}

test_compact_is_placed_in_one_unit() {
    local job units
    job=$(submit -N2 --ntasks-per-node=1 --fabric=compact <<'EOF'
srun true
EOF
    )
    wait_job "$job"
    wait_until 60 final "$job"
    units=$(show "$job" | ask '(d["units"]["used"], d["units"]["fewest"])')
    is "$units" "(1, 1)"
}

test_class_inside_an_allocation() {
    local job
    job=$(submit -N1 -n1 --fabric=compact <<EOF
srun --fabric=compact true; echo same \$?
srun --fabric=any true; echo different \$?
srun true; echo inherited \$?
EOF
    )
    wait_job "$job"
    has "$(cat "$work/$job.out")" "same 0"
    has "$(cat "$work/$job.out")" "inherited 0"
    grep -q '^different 0' "$work/$job.out" && fail "a different class was accepted"
    has "$(cat "$work/$job.out")" "the nodes of this job were chosen"
}

test_off() {
    local job
    job=$(reference off --fabric=off)
    same_as_without_us off
    sleep 3
    is "$(admin_comment "$job")" ""
    touch "${off[@]}"
    job=$(reference offswitch --fabric=compact --fabric-env=ucx) || true
    rm "${off[@]}"
    same_as_without_us offswitch
    grep -q '^UCX_NET_DEVICES=' "$work/offswitch.env" && fail "variables were set on a host that is switched off"
    sleep 3
    is "$(admin_comment "$job")" ""
}

test_arrays_and_many_steps() {
    local job task
    job=$(submit -N1 -n1 --array=1-3 <<'EOF'
for i in 1 2 3 4 5; do srun true & done
wait
EOF
    )
    wait_until 90 job_ended "$job"
    for task in $(ctl sacct -n -X -P -j "$job" -o JobIDRaw); do
        wait_until 60 final "$task"
        is "$(show "$task" | ask 'sorted(s["step"] for s in d["steps"] if s["reported"] == 1)')" \
            "['0', '1', '2', '3', '4', 'batch']"
    done
}

test_srun_without_sbatch() {
    local rc=0 job
    as_user srun -N2 -n2 --fabric=compact sh -c 'exit 4' > "$work/srun.out" 2>&1 || rc=$?
    is $rc 4
    wait_until 20 sh -c "'$demo/cluster' exec '$run' ctl -- sacct -n -X -P -o JobName,ExitCode | grep -qx 'sh|4:0'"
    job=$(ctl sacct -n -X -P -o JobIDRaw --name sh | tail -n 1)
    wait_until 60 final "$job"
    is "$(show "$job" | ask '[(s["step"], s["reported"]) for s in d["steps"]]')" "[('0', 2)]"
}

test_map_from_the_service() {
    local node
    for node in "${nodes[@]}"; do
        python3 - "$run/fabric/truth.json" "$node" <(as_user "$prefix/bin/sfabric" -f "$run/etc/fabric.conf" map "$node" --json) <<'EOF'
import json, sys
truth = json.load(open(sys.argv[1]))["hosts"][sys.argv[2]]
seen = {p["name"]: p for p in json.load(open(sys.argv[3]))["ports"]}
for hca in truth["hcas"]:
    leaf = seen[hca["device"] + ":1"]["leaf"]
    assert (leaf["guid"], leaf["port"]) == (hca["switch_guid"], hca["switch_port"]), (hca, leaf)
EOF
    done
}

# A cluster without sfabricctld: each job's first host writes what it knows.
server_none() { # yes|no
    local node conf
    for node in "${nodes[@]}"; do
        conf=$run/etc/nodes/$node/fabric.conf
        cluster stop "$run" "sfabricd.$node"
        rm -f "$(cluster path "$run" "$node")"/spool/slurm-fabric/store.db*
        case $1 in
            yes)
                cp -p "$conf" "$conf.away"
                sed -i '/^server =/d' "$conf"
                printf '%s\n' 'server = {"none"}' "fabric_json = \"$(cluster path "$run" state)/fabric.json\"" >> "$conf"
                ;;
            no) [ ! -e "$conf.away" ] || mv "$conf.away" "$conf" ;;
        esac
        cluster start "$run" "sfabricd.$node"
    done
}
with_service_again() {
    server_none no
    if cluster status "$run" | grep -q '^sfabricctld.*down'; then cluster start "$run" sfabricctld; fi
}
field() { # JOB EXPRESSION: over f, our object in sacct's AdminComment
    admin_comment "$1" | ask "(lambda f: $2)(d['fabric'])"
}
is_partial() { admin_comment "$1" | grep -q '"state":"partial"'; }
tagged() { ctl scontrol show job "$1" | grep -q '"state":"running"'; }
# kept NODE JOB: what the node's own store has of the job: field, open, was Slurm asked, records
kept() {
    python3 - "$(cluster path "$run" "$1")/spool/slurm-fabric/store.db" "$2" <<'EOF'
import sqlite3, sys
store = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
print(*store.execute("SELECT field, open, look_ns > 0, (SELECT count(*) FROM records WHERE key = jobs.key)"
                     " FROM jobs WHERE job = ?", (sys.argv[2],)).fetchall())
EOF
}
kept_is() { [ "$(kept "$1" "$2")" = "$3" ]; }

test_server_none() {
    local one two first second node
    trap with_service_again EXIT
    cluster stop "$run" sfabricctld
    server_none yes
    one=$(submit -N1 -n1 --gpus-per-node=2 --fabric=compact <<'EOF'
srun sleep 3
EOF
    )
    two=$(submit -N2 --ntasks-per-node=1 --gpus-per-node=4 --fabric=compact <<'EOF'
srun sleep 5
srun -N1 -n1 -r1 sleep 2
EOF
    )
    wait_until 60 step_running "$two" 0
    read -r first second < <(ctl scontrol show hostnames "$(ctl squeue -h -j "$two" -o %N)" | xargs)
    wait_until 15 tagged "$two"
    is "$(ctl scontrol show job "$two" | sed -n 's/^ *AdminComment=//p' |
        ask "(lambda f: (f['nodes'], f['reported'], f['map'][0]['nodes'], len(f['map'][0]['gpus']), f['no_map']))(d['fabric'])")" \
        "(2, 1, '$first', 4, '$second')"
    wait_job "$one"
    wait_job "$two"
    # a job of one node is whole, and its leaves come from the fabric.json that the node has
    wait_until 60 final "$one"
    is "$(field "$one" "(f['nodes'], f.get('reported'), f['records'], f['units']['used'], len(f['rails']) > 0)")" "(1, None, 2, 1, True)"
    is "$(field "$one" "[(s['step'], s['nodes'], s['reported']) for s in f['steps']]")" "[('batch', 1, 1), ('0', 1, 1)]"
    # of two nodes one has spoken
    wait_until 60 is_partial "$two"
    is "$(field "$two" "(f['nodes'], f['reported'], f['records'])")" "(2, 1, 2)"
    is "$(field "$two" "[(s['step'], s['nodes'], s['reported']) for s in f['steps']]")" "[('batch', 1, 1), ('0', 2, 1)]"
    # the other one, which was first in a step of its own, has asked Slurm, and let go
    wait_until 40 kept_is "$second" "$two" "(0, 0, 1, 2)"
    for node in "${nodes[@]}"; do wait_until 10 spool_empty "$node"; done
    is "$(ps -eo args | grep -c '[s]fabric-slurm')" 0 "helpers"
    cluster status "$run" | grep -q '^sfabricctld.*down'
    trap - EXIT
    with_service_again
}
