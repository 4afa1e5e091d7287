# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # some variables are for, or from, words.sh and the tests
#
# lab.sh - a whole Slurm inside the machine of tests/vm/vm: one node with real cgroups, accounting, and
# slurm-fabric on top of it.
#
# Its configuration lies where Slurm's packages look for it; nothing of it outlives the machine. Daemons
# are started by hand, each in a cgroup of its own as systemd would have it, or by systemd (units.sh).
# The words of tests/cluster/words.sh work here as they do there: this is what they stand on.
#
# Input: /vm/settings (prefix), /vm/input.tar (mysql: an empty database, node: a recorded node's
# devices, prefix: what is installed).

. /vm/settings
run=/srv/lab work=/srv/lab/work node=n1
nodes=("$node")
slurmd_cgroup=/sys/fs/cgroup/system.slice
# shellcheck source=/dev/null
. /vm/words.sh
# a machine in software is slow, and not alone
eval "patient_$(declare -f wait_until)"
wait_until() { local seconds=$1; shift; patient_wait_until $((seconds * 4)) "$@"; }
ctl() { (cd "$work" && exec "$@" < /dev/null); }
as_user() { (cd "$work" && exec setpriv --reuid=demo --regid=demo --init-groups -- env HOME="$work" USER=demo "$@" < /dev/null); }
on() { shift; "$@"; }
cluster() { # the verbs of contrib/demo/cluster that words.sh and the tests use
    case $1 in
        start) "start_${3%%.*}" ;;
        stop) stop "${3%%.*}" TERM ;;
        kill) stop "${3%%.*}" KILL ;;
        signal) kill "-$4" "$(pid_of "${3%%.*}")" ;;
        cont) kill -CONT "$(pid_of "${3%%.*}")" ;;
        path) echo /; ;;
        *) fail "cluster $*: not here" ;;
    esac
}
is_release() { [ "$(printf '%s\n' "$1" "$release" | sort -V | head -n 1)" = "$1" ]; } # at least that

# --- configuration -------------------------------------------------------------------------------

write_accounts() {
    local name id=59000
    for name in slurm-fabric demo; do
        id=$((id + 1))
        getent passwd $name > /dev/null || echo "$name:x:$id:$id::$work:/bin/bash" >> /etc/passwd
        getent group $name > /dev/null || echo "$name:x:$id:" >> /etc/group
    done
}

write_slurm_conf() {
    local plugins
    plugins=$(dirname "$(dpkg-query -L slurm-wlm-basic-plugins | grep '/select_cons_tres.so$')")
    cat > /etc/slurm/slurm.conf <<END
ClusterName=lab
SlurmctldHost=$node(127.0.0.1)
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
SlurmctldLogFile=$run/log/slurmctld.log
SlurmdLogFile=$run/log/slurmd.$node.log
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir=/var/spool/slurmd
StateSaveLocation=$run/state
SlurmctldDebug=verbose
SlurmdDebug=${SLURMD_DEBUG:-debug}
MpiDefault=none
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency=task=5
PrologFlags=Contain
ReturnToService=0
KillWait=5
MinJobAge=3600
UnkillableStepTimeout=60
MessageTimeout=60
TCPTimeout=20
BatchStartTimeout=60
SchedulerParameters=sched_interval=1,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
PlugStackConfig=/etc/slurm/plugstack.conf
PluginDir=$prefix/lib/slurm:$plugins
JobSubmitPlugins=fabric
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 RealMemory=1200 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8 DefMemPerCPU=60
END
    cat > /etc/slurm/cgroup.conf <<END
CgroupPlugin=cgroup/v2
ConstrainCores=yes
ConstrainDevices=yes
ConstrainRAMSpace=yes
END
    echo "NodeName=$node Name=gpu File=/dev/gpu[0-1]" > /etc/slurm/gres.conf
    echo "optional $prefix/lib/slurm/fabric.so" > /etc/slurm/plugstack.conf
    cat > /etc/slurm/slurmdbd.conf <<END
AuthType=auth/munge
DbdHost=$node
DbdAddr=127.0.0.1
SlurmUser=slurm
LogFile=$run/log/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StoragePass=lab
StorageLoc=slurm_acct_db
END
    chmod 600 /etc/slurm/slurmdbd.conf
    chown slurm: /etc/slurm/slurmdbd.conf
}

write_fabric_conf() {
    mkdir -p "$prefix/etc/slurm-fabric"
    cat > "$prefix/etc/slurm-fabric/fabric.conf" <<END
server = {"localhost:6827"}
listen = "127.0.0.1:6827"
cluster = "lab"
root = "$run/node"
state_dir = "/var/lib/slurm-fabric"
END
    ln -sf "$prefix/etc/slurm-fabric/fabric.conf" /etc/slurm/fabric.conf # where words.sh looks
}

configure() {
    local i
    echo "$node" > /proc/sys/kernel/hostname
    echo "$node" > /etc/hostname
    echo "127.0.0.1 localhost $node" > /etc/hosts
    ip link set lo up
    ip link set dummy0 up # a host without any other address resolves no names
    ip address add 10.9.9.1/24 dev dummy0
    mkdir -p "$run/log" /dev/shm /dev/pts /var/spool/slurmd /etc/slurm /etc/munge "$run"/{log,state,pid} "$work"
    mountpoint -q /dev/shm || mount -t tmpfs -o mode=1777 shm /dev/shm
    mountpoint -q /dev/pts || mount -t devpts devpts /dev/pts
    for i in 0 1; do # not /dev/null once more: ConstrainDevices takes away what has the same number
        [ -e /dev/gpu$i ] || mknod -m 666 /dev/gpu$i c 4 $((20 + i))
    done
    tar -C "$run" -xf /vm/input.tar
    mkdir -p "$prefix"
    mount --bind "$run/prefix" "$prefix"
    write_accounts
    write_slurm_conf
    write_fabric_conf
    ln -sfn /etc/slurm "$run/etc"
    head -c 1024 /dev/urandom > /etc/munge/munge.key
    chmod 400 /etc/munge/munge.key
    mkdir -p /run/munge /run/slurm /run/mysqld /run/slurm-fabric /var/spool/slurm-fabric /var/lib/slurm-fabric
    chown -R munge: /etc/munge /run/munge
    chown slurm: "$run/state" "$run/log" /run/slurm
    chown slurm-fabric: /var/lib/slurm-fabric
    chown demo: "$work"
    chown -R mysql: "$run/mysql" /run/mysqld
    release=$(slurmd -V | sed 's/[^0-9]*//')
}

# --- daemons by hand -----------------------------------------------------------------------------

mount_cgroups() {
    local folder controller
    mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
    mkdir -p $slurmd_cgroup
    for folder in /sys/fs/cgroup $slurmd_cgroup; do
        for controller in cpu cpuset memory pids; do
            echo +$controller > $folder/cgroup.subtree_control
        done
    done
    echo IgnoreSystemd=yes >> /etc/slurm/cgroup.conf
    if is_release 23.11; then echo EnableControllers=yes; else echo CgroupAutomount=yes; fi >> /etc/slurm/cgroup.conf
}

pid_of() { local pid; read -r pid < "$run/pid/$1" && kill -0 "$pid" 2> /dev/null && echo "$pid"; }
running() { pid_of "$1" > /dev/null; }

launch() { # NAME USER COMMAND...
    local name=$1 user=$2
    shift 2
    mkdir -p "$slurmd_cgroup/$name.service"
    (
        echo "$BASHPID" > "$slurmd_cgroup/$name.service/cgroup.procs"
        exec setsid setpriv "--reuid=$user" "--regid=$user" --init-groups -- "$@" < /dev/null >> "$run/log/$name.out" 2>&1
    ) &
    echo $! > "$run/pid/$name"
    disown $!
}
stop() { # NAME SIGNAL
    local pid
    pid=$(pid_of "$1") || return 0
    kill "-$2" "$pid"
    wait_until 30 not running "$1"
}
not() { ! "$@"; }
listens() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

start_munged() { launch munged munge munged --foreground --force --num-threads=2; wait_until 30 munge -n; }
start_mariadbd() {
    launch mariadbd mysql mariadbd --no-defaults --datadir="$run/mysql" --socket=/run/mysqld/lab.sock \
        --bind-address=127.0.0.1 --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 \
        --innodb-buffer-pool-size=32M --innodb-lock-wait-timeout=900 --innodb-doublewrite=0 \
        --performance-schema=OFF --skip-log-bin --init-file=/vm/mysql.sql
    wait_until 60 listens 3306
}
start_slurmdbd() { launch slurmdbd slurm slurmdbd -D; wait_until 90 listens 6819; }
start_slurmctld() { launch slurmctld slurm slurmctld -D; wait_until 60 scontrol ping; }
start_slurmd() { launch slurmd root slurmd -D -N "$node"; }
start_sfabricctld() { launch sfabricctld slurm-fabric "$prefix/sbin/sfabricctld" --foreground; wait_until 30 listens 6827; }
start_sfabricd() {
    launch sfabricd root "$prefix/sbin/sfabricd" --foreground
    wait_until 30 test /run/slurm-fabric/sfabricd.sock -nt "$run/pid/sfabricd"
}
add_users() {
    wait_until 90 sacctmgr -i add cluster lab
    { sacctmgr -i add account demo Cluster=lab && sacctmgr -i add user demo Account=demo &&
        sacctmgr -i add user slurm-fabric Account=demo AdminLevel=Admin; } > "$run/log/sacctmgr.out"
}

up() {
    mount_cgroups
    start_munged
    start_mariadbd
    start_slurmdbd
    add_users
    start_slurmctld
    start_sfabricctld
    start_sfabricd
    start_slurmd
    wait_until 60 all_idle
}

# --- what the tests ask --------------------------------------------------------------------------

# A job whose step runs until it is released, however slow the machine is: nothing in it depends on time.
held_job() { # prints its id when the step runs
    local job
    job=$(submit -n1 << 'END'
srun sh -c 'mkfifo held.$SLURM_JOB_ID; read -r line < held.$SLURM_JOB_ID; exit 3'
exit 5
END
    )
    wait_until 60 test -p "$work/held.$job" && echo "$job"
}
release() { timeout 60 sh -c ': > "$1"' sh "$work/held.$1"; }

# cgroups of jobs that are there
job_cgroups() { find "$slurmd_cgroup" -type d -name 'job_*' 2> /dev/null; }
no_job_cgroup() { [ -z "$(job_cgroups)" ]; }
# drained or down for any reason, or not in use any more
healthy() {
    wait_until 60 all_idle
    is "$(scontrol -o show node "$node" | grep -o 'Reason=.*')" ""
}

# serve PREPARE NAME...: makes ready, then runs each test in a shell of its own; what it says goes to a
# file, and is shown when it fails.
serve() {
    local prepare=$1 name bad=0
    shift
    mkdir -p "$run/log"
    (set -e; "$prepare") > "$run/log/prepare.test" 2>&1 &
    wait $! || { sed 's/^/# /' "$run/log/prepare.test"; cp -a "$run/log" /vm/log; echo "not ok prepare"; exit 1; }
    for name; do
        # in the background, because bash ignores `set -e` in a condition
        (set -e; "test_$name"; healthy) > "$run/log/$name.test" 2>&1 &
        if wait $!; then
            echo "ok $name"
        else
            bad=1
            echo "not ok $name"
            grep -v '^# figure: ' "$run/log/$name.test" | tail -n 30 | sed 's/^/# /'
        fi
        grep '^# figure: ' "$run/log/$name.test"
    done
    cp -a "$run/log" /vm/log
    exit $bad
}
