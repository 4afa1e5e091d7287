# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # what is not set here comes from `run`
#
# words.sh - what the tests of a cluster are written in: commands on it, questions to sacct and to
# sfabric, and the reference job that is compared with the same job on a Slurm without us.

cluster() { "$demo/cluster" "$@"; }
ctl() { cluster exec "$run" ctl -- "$@"; }
as_user() { cluster exec "$run" user -- "$@"; }
on() { local node=$1; shift; cluster exec "$run" "$node" -- "$@"; }
fail() { echo "# $*" >&2; return 1; }

# wait_until SECONDS COMMAND...: until it succeeds
wait_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@" > /dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { fail "waited in vain for: $*"; return 1; }
        sleep 0.2
    done
}

# submit OPTIONS... : a batch job from the script on standard input; prints its id
submit() {
    local script
    script=$(mktemp "$work/job.XXXXXX")
    { echo '#!/bin/bash'; cat; } > "$script"
    chmod 755 "$script"
    as_user sbatch --parsable -o "$work/%j.out" "$@" "$script"
}
job_state() { ctl squeue -h -t all -j "$1" -o %T 2>/dev/null; }
job_running() { [ "$(job_state "$1")" = RUNNING ]; }
# sleeps JOB: each task of a sleeper runs; slurmctld calls a step running before any of them does, and
# a signal that comes in between is lost
sleeps() {
    local tasks
    tasks=$(find "$work" -name "$1.task.*" | wc -l)
    [ "$tasks" -gt 0 ] && [ "$tasks" = "$(hosts_of "$1" | wc -l)" ]
}
step_running() { ctl squeue -h -s -j "$1" -o %i | grep -qx "$1.$2"; }
# a job of several parts has as many states
job_ended() { ! job_state "$1" | grep -qx 'PENDING\|RUNNING\|COMPLETING\|SUSPENDED\|CONFIGURING'; }
wait_job() { wait_until "${2:-60}" job_ended "$1"; }
# state and exit codes of a job and its steps, one a line
exits() { ctl sacct -n -P -j "$1" -o JobID,State,ExitCode | sed "s/^$1//; s/CANCELLED by [0-9]*/CANCELLED/"; }
in_sacct() { [ -n "$(ctl sacct -n -X -P -j "$1" -o End)" ] && ! exits "$1" | grep -q 'RUNNING\|PENDING'; }
admin_comment() { ctl sacct -n -X -P -j "$1" -o AdminComment; }
final() { admin_comment "$1" | grep -q '"state":"final"'; }
show() { ctl "$prefix/bin/sfabric" -f "$run/etc/fabric.conf" show "$1" --json; }
# ask EXPRESSION < JSON: a Python expression over d, printed
ask() { python3 -c 'import json,sys; d=json.load(sys.stdin); step=lambda s: next((x for x in d["steps"] if x["step"]==s), None); print(eval(sys.argv[1]))' "$1"; }
is() { [ "$1" = "$2" ] || fail "is '$1', should be '$2'${3:+ ($3)}"; }
has() { case $1 in *"$2"*) ;; *) fail "no '$2' in: $1" ;; esac; }
spool_empty() { [ -z "$(ls "$(cluster path "$run" "$1")"/spool/slurm-fabric/out 2>/dev/null)" ]; }

# with_plugin no|yes: our plugstack line out or in (slurmstepd reads the file anew for each step)
with_plugin() {
    local file=$run/etc/plugstack.conf
    case $1 in
        no) sed -i 's|^optional.*fabric.so.*|#off &|' "$file" ;;
        yes) sed -i 's|^#off ||' "$file" ;;
    esac
}

# The environment of one task without what differs from job to job, and without our own variables.
plain_env() { # FILE
    sed -E '/^(SLURM_JOB_?ID|SLURM_JOBID|SLURM_STEP_ID|SLURM_STEPID|SLURM_JOB_SLUID|SLURM_TASK_PID|SLURM_GTIDS|SLURM_SRUN_COMM_PORT|SLURM_STEP_LAUNCHER_PORT|SLURM_STEP_RESV_PORTS|SLURMD_TRES_FREQ|SLURM_TOPOLOGY_ADDR.*|SLURM_SCRIPT_CONTEXT|SLURM_PRIO_PROCESS|SLURM_JOB_(START|END)_TIME)=/d; /^SLURM_LAUNCH_NODE_IPADDR=/d; /^(SLURM_JOB_NAME|_)=/d; /^(SLURM_SPANK_)?_SLURM_SPANK_OPTION_fabric_/d; /^SLURM_FABRIC_/d; /^(UCX_NET_DEVICES|NVSHMEM_HCA_LIST|NCCL_IB_HCA)=/d' "$1" | sort
}

# The job that a test compares: tasks that succeed, fail and are killed, and one that shows its
# environment.
reference_job() { # NAME options...
    local name=$1
    shift
    submit -N2 --ntasks-per-node=2 --gpus-per-node=8 "$@" <<EOF
srun -n1 -N1 env > $work/$name.env
srun sh -c 'exit 0'
srun sh -c 'exit \$((SLURM_PROCID == 3 ? 7 : 0))'
srun sh -c '[ \$SLURM_PROCID != 1 ] || kill -KILL \$\$'
exit 5
EOF
}
# reference NAME options...: runs it, its exits into $work/NAME.exits
reference() {
    local job
    job=$(reference_job "$@") || return 1
    wait_job "$job"
    wait_until 20 in_sacct "$job"
    exits "$job" > "$work/$1.exits"
    echo "$job"
}
same_as_without_us() { # NAME: of a reference run
    diff "$work/bare.exits" "$work/$1.exits" >&2 && diff <(plain_env "$work/bare.env") <(plain_env "$work/$1.env") >&2
}

# A function job_NAME submits jobs, disturbs them and prints their ids. same_job NAME runs it on a
# Slurm without us, then with us, and compares how all jobs and steps ended and the environment that
# their first task had, if they wrote it; it leaves the ids of the run with us in $jobs.
same_job() {
    local with job
    for with in no yes; do
        with_plugin $with
        jobs=$("job_$1") || { with_plugin yes; return 1; }
        for job in $jobs; do
            wait_job "$job" 100
            wait_until 30 in_sacct "$job"
            exits "$job"
            [ ! -e "$work/$job.env" ] || plain_env "$work/$job.env"
        done > "$work/$1.$with"
        wait_until 60 all_idle # some tests take a node down
    done
    with_plugin yes
    grep -q . "$work/$1.no" || fail "nothing to compare"
    diff "$work/$1.no" "$work/$1.yes" >&2
}
all_idle() { [ "$(ctl sinfo -h -N -o %T | sort -u)" = idle ]; }

# sleeper N SECONDS|go OPTIONS...: a job of one task on each of N nodes, which ends after so long or
# by `go JOB`; while same_job has us out, our options are left out, which Slurm does not know then.
# The shell waits for srun also when both get SIGTERM: else it is chance which of the two ends the
# batch step. A task is one process: of two it would be chance which gets a signal first.
sleeper() {
    local count=$1 pause="sleep $2" option
    [ "$2" != go ] || pause="select undef, undef, undef, 0.2 until -e qq($work/\$SLURM_JOB_ID.go)"
    shift 2
    for option; do
        shift
        [[ ${with:-yes} = no && $option = --fabric* ]] || set -- "$@" "$option"
    done
    submit -N"$count" --ntasks-per-node=1 "$@" <<EOF
trap : TERM
srun sh -c '[ \$SLURM_PROCID != 0 ] || env > $work/\$SLURM_JOB_ID.env
    : > $work/\$SLURM_JOB_ID.task.\$SLURM_PROCID; exec perl -e "$pause; exit 3"'
EOF
}
go() { : > "$work/$1.go"; }
hosts_of() { ctl scontrol show hostnames "$(ctl squeue -h -t all -j "$1" -o %N)"; }
first_host() { hosts_of "$1" | head -n 1; }
# told JOB STEP EXPRESSION: over r, the records of the step; printed sorted
told() { show "$1" | ask "sorted($3 for r in (step('$2') or {'records': []})['records'])"; }
whole() { wait_until 90 final "$1"; is "$(show "$1" | ask 'step("0")["reported"] == step("0")["nodes"]')" True "all nodes of job $1 reported"; }
