#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # what is not set here comes from lab.sh
#
# units.sh - the units of contrib/systemd under a systemd that is process 1, beside the slurmd unit of
# Debian's package (Delegate=yes) with real cgroups.
#
# Runs twice: first as process 1 itself, which writes what systemd shall find and becomes systemd;
# then as the service lab-tests.service, which runs the tests and ends the machine.
. /vm/lab.sh

launch() { # NAME USER COMMAND...: as lab.sh does by hand
    local name=$1 user=$2
    shift 2
    systemd-run --quiet --collect --unit="$name" --uid="$user" --gid="$user" \
        -p "StandardOutput=append:$run/log/$name.out" -p "StandardError=append:$run/log/$name.out" "$@"
}
pid_of() { local pid; pid=$(systemctl show -P MainPID "$1"); [ "$pid" != 0 ] && echo "$pid"; }
property() { systemctl show -P "$2" "$1"; }
active() { [ "$(systemctl is-active "$1")" = active ]; }
inactive() { case $(systemctl is-active "$1") in inactive | failed) ;; *) return 1 ;; esac; }
something_waits() { find /var/spool/slurm-fabric/out -name '*.json' 2> /dev/null | grep -q .; }

# --- process 1 ---

write_units() {
    local unit
    rm -rf /etc/systemd/system/*
    # of what Debian starts early: the journal, /tmp and the like are enough
    for unit in /lib/systemd/system/sysinit.target.wants/* /lib/systemd/system/local-fs.target.wants/* /lib/systemd/system/basic.target.wants/*; do
        case $unit in
            */systemd-journald.service | */systemd-tmpfiles-setup.service) ;;
            */\*) ;;
            *) ln -sf /dev/null "/etc/systemd/system/${unit##*/}" ;;
        esac
    done
    : > /etc/fstab
    cp "$prefix"/lib/systemd/system/sfabric* /etc/systemd/system/
    # a prefix below /tmp or in somebody's home is not to be seen in a service
    case $prefix in
        /tmp/* | /var/tmp/* | /home/* | /root/*)
            for unit in sfabricd sfabricctld; do
                mkdir -p /etc/systemd/system/$unit.service.d
                printf '[Service]\nBindReadOnlyPaths=%s\n' "$prefix" > /etc/systemd/system/$unit.service.d/prefix.conf
            done
            ;;
    esac
    cat > /etc/systemd/system/lab.target <<'END'
[Unit]
Requires=basic.target dbus.socket lab-tests.service
After=basic.target
AllowIsolate=yes
END
    cat > /etc/systemd/system/lab-tests.service <<END
[Unit]
After=dbus.socket basic.target
[Service]
Environment=HOME=/root LC_ALL=C.UTF-8
ExecStart=/bin/bash /vm/units.sh --tests $*
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
END
}

if [ "$1" != --tests ]; then
    configure
    write_units "$@"
    exec /lib/systemd/systemd --unit=lab.target --show-status=no --log-target=console --log-level=warning
fi
shift

# --- the tests; they follow each other ---

job_of() { # SECONDS
    submit -n1 <<END
srun sh -c ': > $work/\$SLURM_JOB_ID.task.0; sleep $1; exit 3'
exit 5
END
}
as_expected() { # JOB
    wait_job "$1" 60
    wait_until 20 in_sacct "$1"
    is "$(exits "$1" | grep -v extern | xargs)" "|FAILED|5:0 .batch|FAILED|5:0 .0|FAILED|3:0"
}

test_first_launch_starts_the_agent() {
    local job
    active sfabricd.socket
    inactive sfabricd.service
    job=$(job_of 3)
    as_expected "$job"
    active sfabricd.service
    has "$(cat "/proc/$(pid_of slurmd)/cgroup")" slurmd.service
    whole "$job"
    is "$(told "$job" 0 '(r["end"], r.get("partial"), r["sampling"]["samples"] > 2, "step" in r["totals"])')" "[('exit 3', None, True, True)]"
}

capabilities() { sed -n "s/^$2:\t*//p" "/proc/$(pid_of "$1")/status"; }
test_it_has_what_the_unit_lists_and_no_more() {
    local cgroup
    # CAP_DAC_READ_SEARCH is 2, CAP_SYS_PTRACE 19 (capability.h)
    is "$(capabilities sfabricd CapBnd)" 0000000000080004
    is "$(capabilities sfabricd CapEff)" 0000000000080004
    is "$(capabilities sfabricd NoNewPrivs)" 1
    is "$(capabilities sfabricctld CapEff)" 0000000000000000
    is "$(capabilities sfabricctld CapBnd)" 0000000000000000
    is "$(stat -c %U "/proc/$(pid_of sfabricctld)")" slurm-fabric
    cgroup=/sys/fs/cgroup/system.slice/sfabricd.service
    is "$(cat $cgroup/memory.max) $(cat $cgroup/cpu.weight)" "268435456 10"
    is "$(sed -n 's/^0:://p' "/proc/$(pid_of sfabricd)/cgroup")" /system.slice/sfabricd.service
    ! nsenter -t "$(pid_of sfabricd)" -m -- touch /etc/a-file /usr/a-file 2> /dev/null
    [ ! -e /etc/a-file ]
    nsenter -t "$(pid_of sfabricd)" -m -- touch /var/spool/slurm-fabric/a-file
    rm /var/spool/slurm-fabric/a-file
    wait_until 30 test -s /run/slurm-fabric/env
    # the map arrived
    has "$("$prefix/bin/sfabric" -f "$run/etc/fabric.conf" map "$node" --json)" '"gpus"'
    echo "# figure: sfabricd has taken at most $(cat $cgroup/memory.peak) bytes"
}

test_exposure() {
    local unit said
    for unit in sfabricd sfabricctld; do
        said=$(systemd-analyze security --no-pager $unit.service | tail -n 1)
        echo "# figure: $said"
        systemd-analyze security --no-pager --threshold="$([ $unit = sfabricd ] && echo 30 || echo 20)" $unit.service > /dev/null
    done
}

test_restart_in_mid_step() {
    local job
    job=$(job_of 12)
    wait_until 60 sleeps "$job"
    systemctl restart sfabricd
    as_expected "$job"
    whole "$job"
    has "$(told "$job" 0 'str(r.get("partial"))')" sfabricd
}

test_too_much_memory_hits_the_agent_alone() {
    local job before
    job=$(job_of 20)
    wait_until 60 sleeps "$job"
    before=$(pid_of sfabricd)
    systemctl set-property --runtime sfabricd.service MemoryMax=1M
    wait_until 30 not test -e "/proc/$before"
    systemctl set-property --runtime sfabricd.service MemoryMax=256M
    as_expected "$job"
    wait_until 30 active sfabricd.service # by itself
    whole "$job"
    has "$(told "$job" 0 'str(r.get("partial"))')" sfabricd
}

test_stop_flushes() {
    local job from
    systemctl stop sfabricctld
    job=$(job_of 1)
    as_expected "$job"
    wait_until 30 something_waits
    # nobody takes them: it gives up
    from=$(date +%s%N)
    systemctl stop sfabricd
    echo "# figure: stopped after $((($(date +%s%N) - from) / 1000000)) ms, sfabricctld was away"
    is "$(property sfabricd Result)" success
    something_waits
    # somebody does: nothing is left
    systemctl start sfabricctld
    wait_until 30 listens 6827
    systemctl start sfabricd
    from=$(date +%s%N)
    systemctl stop sfabricd
    echo "# figure: stopped after $((($(date +%s%N) - from) / 1000000)) ms, sfabricctld was there"
    is "$(property sfabricd Result)" success
    not something_waits
    whole "$job"
}

test_nothing_is_left() {
    systemctl stop sfabricd.socket sfabricd.service sfabricctld.service
    is "$(pgrep -c sfabric)" 0 "processes"
    is "$(ls /run/slurm-fabric)" ""
    ! find /sys/fs/cgroup -name '*sfabric*' | grep .
    wait_until 60 no_job_cgroup
}

prepare() {
    start_munged
    start_mariadbd
    start_slurmdbd
    add_users
    start_slurmctld
    systemctl start sfabricctld sfabricd.socket
    systemctl start slurmd
    wait_until 60 all_idle
}
start_slurmd() { systemctl start slurmd; }
(serve prepare "$@")
status=$?
journalctl -b --no-pager -o short-monotonic > /vm/journal
sh /vm/end $status
