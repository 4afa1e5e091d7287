#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # what is not set here comes from lab.sh
#
# units.sh - the units of contrib/systemd under a systemd that is process 1, beside the slurmd unit of
# Debian's package (Delegate=yes) with real cgroups.
#
# Runs twice: first as process 1 itself, which writes what systemd shall find and becomes systemd;
# then as the service tests.service, which runs the tests and ends the machine.
. /vm/lab.sh

launch() { # NAME USER COMMAND...: as lab.sh does by hand
    local name=$1 user=$2
    shift 2
    systemd-run --quiet --collect --unit="$name" --uid="$user" --gid="$user" \
        -p "StandardOutput=append:$run/log/$name.out" -p "StandardError=append:$run/log/$name.out" "$@"
}
# what Debian has units for
start_slurmdbd() { systemctl start slurmdbd; wait_until 90 listens 6819; }
start_slurmctld() { systemctl start slurmctld; wait_until 60 scontrol ping; }
pid_of() { local pid; pid=$(systemctl show -P MainPID "$1"); [ "$pid" != 0 ] && echo "$pid"; }
property() { systemctl show -P "$2" "$1"; }
active() { [ "$(systemctl is-active "$1")" = active ]; }
inactive() { case $(systemctl is-active "$1") in inactive | failed) ;; *) return 1 ;; esac; }
something_waits() { find /var/spool/slurm-fabric/out -name '*.json' 2> /dev/null | grep -q .; }

# --- process 1 ---

write_units() {
    local unit target
    rm -rf /etc/systemd/system/*
    # of what Debian starts early: the journal, /tmp and the like are enough
    for target in sysinit local-fs multi-user sockets timers; do
        for unit in "/lib/systemd/system/$target.target.wants"/*; do
            case ${unit##*/} in
                systemd-journald.s* | systemd-journald-dev-log.socket | systemd-tmpfiles-setup.service | dbus.*) ;;
                *) ln -sf /dev/null "/etc/systemd/system/${unit##*/}" ;;
            esac
        done
    done
    : > /etc/fstab
    : > /etc/tmpfiles.d/tmp.conf # /tmp is not emptied: it is all that the host has there, and maybe the prefix
    cp "$prefix"/lib/systemd/system/sfabric* /etc/systemd/system/
    for unit in sfabricd sfabricctld; do
        mkdir -p "/etc/systemd/system/$unit.service.d"
        # a call that the unit forbids fails, and might be got over: here it ends who makes it
        printf '[Service]\nSystemCallErrorNumber=kill\n' > "/etc/systemd/system/$unit.service.d/tests.conf"
        # a prefix below /tmp or in somebody's home is not to be seen in a service
        case $prefix in
            /tmp/* | /var/tmp/* | /home/* | /root/*)
                echo "BindReadOnlyPaths=$prefix" >> "/etc/systemd/system/$unit.service.d/tests.conf"
                ;;
        esac
    done
    cat > /etc/systemd/system/tests.service <<END
[Service]
Environment=HOME=/root LC_ALL=C.UTF-8
ExecStart=/bin/bash /vm/units.sh --tests $*
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
[Install]
WantedBy=multi-user.target
END
    systemctl enable --quiet sfabricd.socket sfabricctld.service tests.service
}

if [ "$1" != --tests ]; then
    configure
    write_units "$@"
    exec /lib/systemd/systemd --unit=multi-user.target --show-status=no --log-target=console --log-level=info
fi
shift

# --- the tests; they follow each other ---

as_expected() { # JOB
    wait_job "$1" 60
    wait_until 20 in_sacct "$1"
    is "$(exits "$1" | grep -v extern | xargs)" "|FAILED|5:0 .batch|FAILED|5:0 .0|FAILED|3:0"
}
# Its record is whole; partial or not is what the test says.
recorded() { # JOB [PARTIAL]
    whole "$1"
    is "$(told "$1" 0 '(r["end"], r.get("partial"), "step" in r["totals"])')" "[('exit 3', ${2:-None}, True)]"
}
follows_a_step() { find "/proc/$(pid_of sfabricd)/fd" -lname 'anon_inode:\[pidfd\]' | grep -q .; }
restarts() { property "$1" NRestarts; }

test_enabled_and_started_at_boot() {
    local job
    is "$(systemctl is-enabled sfabricd.socket sfabricctld.service | xargs)" "enabled enabled"
    active sfabricd.socket
    active sfabricctld.service
    inactive sfabricd.service
    job=$(held_job) # the first launch starts the agent
    wait_until 30 active sfabricd.service
    has "$(cat "/proc/$(pid_of slurmd)/cgroup")" slurmd.service
    sleep 3
    release "$job"
    as_expected "$job"
    recorded "$job"
    is "$(told "$job" 0 'r["sampling"]["samples"] > 2')" "[True]"
    systemctl enable --quiet sfabricd
    is "$(systemctl is-enabled sfabricd.socket sfabricd.service | xargs)" "enabled enabled"
    # all that came before slurmctld, munge and accounting did
    is "$(restarts sfabricctld) $(restarts sfabricd)" "0 0"
}

of_process() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$(pid_of "$1")/status"; }
test_capabilities() {
    # CAP_DAC_READ_SEARCH is 2, CAP_SYS_PTRACE 19 (capability.h)
    is "$(of_process sfabricd CapBnd)" 0000000000080004
    is "$(of_process sfabricd CapEff)" 0000000000080004
    is "$(of_process sfabricd CapAmb)" 0000000000000000
    is "$(of_process sfabricctld CapBnd)" 0000000000000000
    is "$(of_process sfabricctld CapEff)" 0000000000000000
    is "$(stat -c %U "/proc/$(pid_of sfabricctld)")" slurm-fabric
    for unit in sfabricd sfabricctld; do
        is "$(of_process $unit NoNewPrivs) $(of_process $unit Seccomp)" "1 2" "$unit: no new privileges, system calls filtered"
    done
}

test_limits_of_the_cgroup() {
    local group=/sys/fs/cgroup/system.slice/sfabricd.service
    is "$(sed -n 's/^0:://p' "/proc/$(pid_of sfabricd)/cgroup")" /system.slice/sfabricd.service
    is "$(cat $group/memory.max $group/cpu.weight $group/pids.max | xargs)" "268435456 10 24"
    is "$(cat "/proc/$(pid_of sfabricd)/oom_score_adj")" 500
    is "$(cat /sys/fs/cgroup/system.slice/sfabricctld.service/{memory,pids}.max | xargs)" "2147483648 64"
}

in_group_of() { # UNIT COMMAND...
    (echo "$BASHPID" > "/sys/fs/cgroup/system.slice/$1.service/cgroup.procs" && shift && "$@")
}
opens() { # UNIT DEVICE
    # shellcheck disable=SC2016 # another shell's variable
    in_group_of "$1" sh -c 'exec 3<> "$1"' sh "$2" 2>&1 | sed 's/.*: //'
}
test_devices() {
    mknod /dev/umad-none c "$(awk '$2 == "infiniband_mad" { print $1; exit }' /proc/devices)" 63
    is "$(opens sfabricd /dev/null)" ""
    # it may, but there is none
    is "$(opens sfabricd /dev/umad-none)" "No such device or address"
    is "$(opens sfabricd /dev/gpu0)" "Operation not permitted"
    is "$(opens sfabricd /dev/fuse)" "Operation not permitted"
    is "$(opens sfabricctld /dev/umad-none)" "Operation not permitted"
    is "$(opens sfabricctld /dev/null)" ""
}

writes() { # UNIT FILE: as it sees the file system
    nsenter -t "$(pid_of "$1")" -m -- sh -c ': > "$1" && rm "$1"' sh "$2" 2>&1 | sed 's/.*: //'
}
test_read_only_file_system() {
    local unit folder
    for unit in sfabricd sfabricctld; do
        for folder in /etc /usr /var/lib /root /home "$run/node" /sys/fs/cgroup /proc/sys/kernel; do
            case $(writes $unit "$folder/a-file") in
                "Read-only file system" | "Permission denied" | "Directory nonexistent") ;;
                *) fail "$unit may write $folder" ;;
            esac
        done
    done
    is "$(writes sfabricd /var/spool/slurm-fabric/a-file)$(writes sfabricd /run/slurm-fabric/a-file)" ""
    is "$(writes sfabricctld /var/lib/slurm-fabric/a-file)" ""
    is "$(writes sfabricd /var/lib/slurm-fabric/a-file)" "Read-only file system"
}

# Runs forbidden.py in a unit that is the same but for its program; prints what it may.
try_in() { # UNIT ARGUMENTS...
    local unit=$1
    shift
    sed "/^Requires=/d; /^Restart=/d
        s|^ExecStart=.*|ExecStart=/usr/bin/python3 /vm/forbidden.py $*\nStandardOutput=file:/run/try|" \
        "/etc/systemd/system/$unit.service" > "/run/systemd/system/try-$unit.service"
    rm -f /run/try
    systemctl daemon-reload
    systemctl start --wait "try-$unit" || true
    cat /run/try
}
test_what_the_units_forbid() {
    : > /root/a-file
    # it is the unit that forbids it
    printf '[Service]\nPrivateMounts=yes\nExecStart=\n' > /etc/systemd/system/plain.service
    is "$(try_in plain /tmp | wc -l)" 25 "things that a unit without a sandbox may"
    is "$(try_in sfabricctld /var/lib/slurm-fabric)" "tried 24"
    is "$(property try-sfabricctld Result)" success
    is "$(try_in sfabricd /var/spool/slurm-fabric 300)" "tried 24"
    is "$(property try-sfabricd Result)" oom-kill "300 MB"
}

test_exposure() {
    local unit
    for unit in sfabricd sfabricctld sfabric-topology-watch sfabric-topology-discover; do
        echo "# figure: $unit.service: $(systemd-analyze security --no-pager $unit.service | sed -n 's/.*level for .*: //p')"
    done
    systemd-analyze security --no-pager --threshold=30 sfabricd.service > /dev/null
    systemd-analyze security --no-pager --threshold=20 sfabricctld.service > /dev/null
}

# Its own counters: this machine's /sys and hwloc instead of the recorded node.
test_job_on_the_machine_itself() {
    local job
    sed -i 's/^root/#&/' "$prefix/etc/slurm-fabric/fabric.conf"
    systemctl restart sfabricd
    wait_until 60 test -s /run/slurm-fabric/env
    job=$(held_job)
    sleep 3
    release "$job"
    as_expected "$job"
    recorded "$job"
    is "$(told "$job" 0 'r["totals"]["step"]["cpu_us"] > 0')" "[True]"
    sed -i 's/^#root/root/' "$prefix/etc/slurm-fabric/fabric.conf"
    systemctl restart sfabricd
    # the recorded node's map arrived again
    wait_until 60 map_has_gpus
    is "$(restarts sfabricd)" 0
}
map_has_gpus() { "$prefix/bin/sfabric" -f "$run/etc/fabric.conf" map "$node" --json | grep -q '"gpus"'; }

test_restart_in_mid_step() {
    local job
    job=$(held_job)
    systemctl restart sfabricd
    wait_until 30 follows_a_step
    release "$job"
    as_expected "$job"
    recorded "$job"
}

# It is killed, and launched to: the socket outlives it, and what is sent meanwhile waits there.
test_launch_after_a_crash() {
    local job
    systemctl kill --signal=KILL sfabricd
    job=$(held_job)
    wait_until 30 follows_a_step
    release "$job"
    as_expected "$job"
    recorded "$job"
}

# A counter whose read never comes back: the process can't go, not even by SIGKILL, while it hangs.
hanging() { # FILE: until the test ends
    /vm/badfile "$1" hang &
    # shellcheck disable=SC2064 # now
    trap "umount -l '$1'; kill $!; systemctl restart sfabricd" EXIT
    wait_until 20 mountpoint -q "$1"
}
test_counter_hangs() {
    local job before
    hanging "$(readlink -e "$run/node/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data")"
    systemctl restart sfabricd
    job=$(held_job)
    sleep 3
    release "$job"
    as_expected "$job"
    wait_until 90 final "$job"
    is "$(told "$job" 0 '("tx_bytes" in r["totals"]["mlx5_0:1"], "rx_bytes" in r["totals"]["mlx5_0:1"])')" "[(False, True)]"
    # what is stopped and started has a successor beside what hangs, which hangs in the same file
    before=$(pid_of sfabricd)
    systemctl restart sfabricd
    not test "$before" = "$(pid_of sfabricd)"
    job=$(held_job)
    release "$job"
    as_expected "$job"
    whole "$job"
}

test_too_much_memory_hits_the_agent_alone() {
    local job before
    job=$(held_job)
    before=$(pid_of sfabricd)
    systemctl set-property --runtime sfabricd.service MemoryMax=1M
    wait_until 30 not test -e "/proc/$before"
    systemctl set-property --runtime sfabricd.service MemoryMax=256M
    wait_until 60 follows_a_step # it started by itself
    release "$job"
    as_expected "$job"
    recorded "$job"
}

# It flushes for ten seconds at most; in a machine in software the rest takes its time, too.
stopped_in_time() { # FROM WHEN
    local took=$((($(date +%s%N) - $1) / 1000000))
    echo "# figure: sfabricd stopped after $took ms: $2"
    is "$(property sfabricd Result)" success
    [ $took -le 11500 ] || fail "it took $took ms"
}
test_stop_flushes() {
    local job from
    systemctl stop sfabricctld
    job=$(held_job)
    release "$job"
    as_expected "$job"
    wait_until 30 something_waits
    # nobody takes them: it gives up
    from=$(date +%s%N)
    systemctl stop sfabricd
    stopped_in_time "$from" "sfabricctld was away"
    something_waits
    # somebody does: nothing is left
    systemctl start sfabricctld
    wait_until 30 listens 6827
    systemctl start sfabricd
    from=$(date +%s%N)
    systemctl stop sfabricd
    stopped_in_time "$from" "sfabricctld was there"
    not something_waits
    recorded "$job"
}

test_nothing_is_left_of_the_units() {
    systemctl stop sfabricd.socket sfabricd.service sfabricctld.service
    is "$(pgrep -c sfabric)" 0 "processes"
    is "$(find /run/slurm-fabric ! -type d)" ""
    is "$(find /sys/fs/cgroup -name '*sfabric*')" ""
    wait_until 60 no_job_cgroup
    is "$(journalctl -b --no-pager -u sfabricctld -u sfabricd -p err)" "-- No entries --"
}

prepare() {
    start_munged
    start_mariadbd
    start_slurmdbd
    add_users
    start_slurmctld
    systemctl start slurmd
    wait_until 60 all_idle
}
start_slurmd() { systemctl start slurmd; }
(serve prepare "$@")
status=$?
journalctl -b --no-pager -o short-monotonic > /vm/journal
sh /vm/end $status
