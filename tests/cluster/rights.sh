# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # what is not set here comes from `run`
#
# rights.sh - who sees what, and what hostile people try: users of the cluster, somebody on the
# network (tests/cluster/attack), a user on a node, and whoever chooses a name.
#
# Nothing of it may change what the service holds, end a daemon or cost a job its record.

attack=$top/tests/cluster/attack

# --- people: demo owns the jobs; stranger and coord (a coordinator of the account) do not; oper is an
# operator

passwd_file() { ls "$run"/etc/passwd.*; }
uid_of() { awk -F: -v n="$1" '$1 == n { print $3 }' "$(passwd_file)"; }
people() {
    local name id=59200
    [ -z "$(uid_of stranger)" ] || return 0
    for name in stranger oper coord; do
        while getent passwd $id > /dev/null; do id=$((id + 1)); done
        echo "$name:x:$id:$id::/:/bin/sh" >> "$(passwd_file)"
        ctl sacctmgr -i add user $name Account=demo > /dev/null
        id=$((id + 1))
    done
    ctl sacctmgr -i modify user oper set AdminLevel=Operator > /dev/null
    ctl sacctmgr -i add coordinator Account=demo Names=coord > /dev/null
}
as() { # USER COMMAND...
    local uid
    uid=$(uid_of "$1")
    shift
    ctl setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
sfabric() { # USER ARGUMENTS...: also prints the exit status, last
    local rc=0
    as "$1" "$prefix/bin/sfabric" -f "$run/etc/fabric.conf" "${@:2}" 2>&1 || rc=$?
    echo "status $rc"
}

munge_socket() { sed -n 's/^munge_socket = "\(.*\)"/\1/p' "$run/etc/fabric.conf"; }
server() { sed -n 's/^server = {"\(.*\)"}/\1/p' "$run/etc/fabric.conf"; }
# raw USER PATH: asked without sfabric; prints the head of the answer without its date, and its body
# opened where it is a credential
raw() {
    local credential
    credential=$(as "$1" munge -S "$(munge_socket)" -u "$(uid_of slurm-fabric)" -s "slurm-fabric 1 demo GET $2
")
    ctl curl -s -D "$dir/raw.head" -o "$dir/raw.body" -H "Slurm-Fabric-Auth: $credential" "http://$(server)$2"
    tr -d '\r' < "$dir/raw.head" | sed '/^Date:/d; /^Content-Length:/d'
    if grep -q '^MUNGE:' "$dir/raw.body"; then
        as "$1" unmunge -S "$(munge_socket)" -m /dev/null < "$dir/raw.body"
    else
        cat "$dir/raw.body"
    fi
}

# --- the service ---

pid_of() { cluster status "$run" | awk -v n="$1" '$1 == n { print $2 }'; }
files_of() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
memory_of() { awk -v k="${2:-VmRSS}:" '$1 == k { print $2 }' "/proc/$1/status"; } # KiB
stored() { "$attack" store "$(cluster path "$run" state)/store.db"; }
few_files() { [ "$(files_of "$1")" -le "$2" ]; } # PID MOST
# on_the_wire PART SETTING...
on_the_wire() {
    ctl "$attack" "$1" server="$(server)" munge="$(munge_socket)" cluster=demo uid="$(uid_of slurm-fabric)" "${@:2}"
}
# good_record JOB NODE CHANGE: the record of the contract, as of that job, and with the changes of a
# Python expression
good_record() {
    python3 - "$top/tests/data/contract/record.json" "$@" <<'PY'
import json, os, sys
d = json.load(open(sys.argv[1]))
d.update(job=int(sys.argv[2]), node=sys.argv[3], id=os.urandom(16).hex(), uid=0, node_count=1, step="7")
exec(sys.argv[4] if len(sys.argv) > 4 else "")
print(json.dumps(d))
PY
}

# --- who sees what ---

private_data() { # off, or what is private
    sed -i '/^PrivateData=/d' "$run/etc/slurm.conf"
    [ "$1" = off ] || echo "PrivateData=$1" >> "$run/etc/slurm.conf"
    ctl scontrol reconfigure
    # it remembers for some minutes what Slurm says of people
    cluster stop "$run" sfabricctld
    cluster start "$run" sfabricctld
}

sees() { # USER JOB
    local out
    out=$(sfabric "$1" show "$2")
    has "$out" "job $2 "
    has "$out" "status 0"
    is "$(sfabric "$1" show "$2" --json | sed '$d' | ask 'd["job"]')" "$2" "shown to $1"
    out=$(raw "$1" "/v1/jobs/$2")
    has "$out" "HTTP/1.1 200 OK"
    is "$(echo "$out" | tail -n 1 | ask 'd["job"]')" "$2" "told to $1"
}
# sees_none USER JOB: just what is seen of a job that does not exist
sees_none() {
    local out
    out=$(sfabric "$1" show "$2")
    has "$out" "status 1"
    is "$out" "$(sfabric "$1" show 987654 | sed "s/987654/$2/g")" "what $1 sees of job $2"
    out=$(raw "$1" "/v1/jobs/$2")
    has "$out" "HTTP/1.1 404 Not Found"
    is "$out" "$(raw "$1" /v1/jobs/987654)" "what $1 is told of job $2"
}

test_rights() {
    local mine theirs private who
    people
    trap 'private_data off' EXIT
    mine=$(submit -N1 -n1 <<< 'srun true')
    theirs=$(as stranger sbatch --parsable -o /dev/null -N1 -n1 --wrap 'srun true')
    wait_job "$mine"
    wait_job "$theirs"
    wait_until 60 final "$mine"
    wait_until 60 final "$theirs"
    for private in off jobs,nodes; do
        private_data $private
        # Slurm hides the job itself from strangers, or not; we always do
        is "$(as stranger squeue -h -t all -j "$mine" | wc -l)" "$([ $private = off ] && echo 1 || echo 0)" "PrivateData=$private"
        for who in demo oper root slurm; do sees $who "$mine"; done
        for who in stranger coord; do sees_none $who "$mine"; done
        sees stranger "$theirs"
        sees_none demo "$theirs"
        has "$(sfabric oper map "${nodes[0]}")" "node ${nodes[0]}"
        for who in demo stranger; do
            case $private in
                off) has "$(sfabric $who map "${nodes[0]}")" "node ${nodes[0]}" ;;
                *) is "$(sfabric $who map "${nodes[0]}")" "$(sfabric $who map nosuchnode | sed "s/nosuchnode/${nodes[0]}/g")" "the map that $who sees" ;;
            esac
        done
    done
}

# --- the network ---

test_network() {
    local before pid
    people
    before=$(stored)
    pid=$(pid_of sfabricctld)
    # a munged of another cluster
    mkdir -p "$run/other"
    head -c 1024 /dev/urandom > "$run/other/key"
    chmod 400 "$run/other/key"
    ctl munged --foreground --force --key-file="$run/other/key" --socket="$run/other/socket" --pid-file="$run/other/pid" \
        --seed-file="$run/other/seed" --log-file="$run/other/log" > /dev/null 2>&1 &
    other=$! # the trap comes when locals are gone
    trap 'kill $other; wait $other || true; rm -rf "$run/other"' EXIT
    wait_until 20 test -S "$run/other/socket"
    on_the_wire wire other_munge="$run/other/socket" users="$(uid_of demo),$(uid_of oper),$(uid_of slurm)" \
        record="$(good_record 1 "${nodes[0]}")"
    is "$(stored)" "$before" "the store"
    is "$(pid_of sfabricctld)" "$pid" "the service's process"
}

test_slow_and_many_clients() {
    local pid files memory job begin rc=0 attacker
    pid=$(pid_of sfabricctld)
    files=$(files_of "$pid")
    memory=$(memory_of "$pid")
    on_the_wire slow seconds=24 &
    attacker=$!
    job=$(submit -N2 --ntasks-per-node=1 <<< 'srun sleep 1')
    wait_job "$job"
    begin=$SECONDS
    wait_until 40 final "$job"
    echo "tap: a job's record was final $((SECONDS - begin)) s after its end, meanwhile"
    is "$(show "$job" | ask 'sum(s["reported"] for s in d["steps"])')" 3
    wait $attacker || rc=$?
    is $rc 0 "the clients' fate"
    echo 5 > "/proc/$pid/clear_refs" # VmHWM
    on_the_wire bodies
    wait_until 20 few_files "$pid" $((files + 4))
    echo "tap: sfabricctld: $files files before, $(files_of "$pid") after; $memory KiB before," \
        "$(memory_of "$pid" VmHWM) at most while bodies came, $(memory_of "$pid") after"
    [ "$(memory_of "$pid" VmHWM)" -lt $((memory + 250000)) ]
    [ "$(memory_of "$pid")" -lt $((memory + 64000)) ]
    is "$(pid_of sfabricctld)" "$pid" "the service's process"
}

# --- a node ---

test_agent_under_attack() {
    local node=${nodes[0]} pid files memory job attacker rc=0
    people
    pid=$(pid_of "sfabricd.$node")
    files=$(files_of "$pid")
    memory=$(memory_of "$pid")
    cp "$attack" "$run/attack" # where the node sees it
    trap 'rm -f "$run/attack"' EXIT
    on "$node" "$run/attack" agent socket=/run/slurm-fabric/sfabricd.sock user="$(uid_of stranger)" &
    attacker=$!
    job=$(submit -w "$node" -N1 -n1 <<< 'for i in 1 2 3 4 5; do srun sleep 0.5; done')
    wait_job "$job"
    wait $attacker || rc=$?
    is $rc 0 "the attacker's fate"
    wait_until 60 final "$job"
    is "$(show "$job" | ask 'sum(s["reported"] for s in d["steps"])')" 6
    is "$(show "$job" | ask '[r["partial"] for s in d["steps"] for r in s["records"] if "partial" in r]')" "[]"
    wait_until 20 few_files "$pid" $((files + 4))
    echo "tap: sfabricd: $files files before, $(files_of "$pid") after; $memory KiB before, $(memory_of "$pid") after"
    [ "$(memory_of "$pid")" -lt $((memory + 16000)) ]
    is "$(pid_of "sfabricd.$node")" "$pid" "sfabricd's process"
}

# --- strings ---

# clean TEXT...: nothing in it moves a terminal, misleads a reader or is no UTF-8
clean() {
    python3 - "$@" <<'PY'
import sys, os
for text in map(os.fsencode, sys.argv[1:]):
    code = [ord(c) for c in text.decode()]  # strict
    bad = [hex(c) for c in code if c < 32 and c != 10 or 0x7f <= c < 0xa0 or c in (0x61c, 0x200e, 0x200f)
           or 0x2028 <= c <= 0x202e or 0x2066 <= c <= 0x2069]
    assert not bad, (bad, text)
PY
}
# hostile: what moves terminals, HTML, quotes, what reorders text, and every byte but NUL
hostile() {
    # shellcheck disable=SC2016 # a Python program
    python3 -c '
import sys
sys.stdout.buffer.write(b"\x1b[2J\x1b]0;x\x07\xc2\x9b31m\x9b2J<script>\"\x27&</script>$(id)`id`%s%n\\\xe2\x80\xaegpj.\xd8\x9c\xc3\xa9"
                        + bytes(range(1, 256)) + b"z" * 400)'
}
hostile_json() { hostile | python3 -c 'import sys, json; print(json.dumps(sys.stdin.buffer.read().decode("utf-8", "replace")))'; }

test_hostile_strings() {
    local job state name node text
    state=$(cluster path "$run" state)
    name=$(hostile)
    job=$(submit -N1 -n1 -J "$name" <<< 'srun sleep 5')
    wait_until 30 step_running "$job" 0
    node=$(first_host "$job")
    # why it is partial, and how it ended; names of devices may not be such
    on_the_wire post /v1/record "$(good_record "$job" "$node" "s = $(hostile_json)
d['partial'], d['end'] = s[:120], s[70:170]")"
    # of switches
    cp -p "$state/fabric.json" "$state/fabric.json.away"
    python3 - "$state/fabric.json" "$(hostile_json)" <<'PY'
import json, sys
d, hostile = json.load(open(sys.argv[1])), json.loads(sys.argv[2])
for switch in d["switches"]:
    switch["name"] = hostile[:200] + switch["name"]
json.dump(d, open(sys.argv[1], "w"))
PY
    wait_job "$job"
    wait_until 60 final "$job"
    text=$(as_user "$prefix/bin/sfabric" -f "$run/etc/fabric.conf" show "$job")
    has "$text" "<script>" # as text: there is no browser
    clean "$text"
    text=$(as_user "$prefix/bin/sfabric" -f "$run/etc/fabric.conf" show "$job" --json)
    clean "$text"
    echo "$text" | ask 'd["job_info"]["name"]' > "$dir/name"
    [ "$(wc -c < "$dir/name")" -gt 100 ] || fail "the name is lost"
    text=$(admin_comment "$job")
    clean "$text"
    has "$text" '"steps"'
    echo "$text" | ask 'd["fabric"]["state"]'
    mv "$state/fabric.json.away" "$state/fabric.json"
    for text in "$(sfabric demo map "$node")" "$(sfabric demo map "$node" --json)"; do clean "$text"; done
}

# What is read from files: a node's map, a recorded machine, a recorded fabric.
test_hostile_names() {
    local text what folder=$dir/hostile
    rm -rf "$folder"
    mkdir -p "$folder"
    cp -a "$run/fabric/nodes/${nodes[0]}" "$folder/machine"
    cp "$top/tests/data/fuzz/ibnetdiscover/two-hosts" "$folder/fabric.txt"
    python3 - "$top/tests/data/contract/map.json" "$folder" "$(hostile_json)" <<'PY'
import json, os, sys
source, folder, hostile = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
text = open(source).read()
for what in ("n1", "mlx5_0:1", "NVIDIA H100 80GB HBM3", "0000:1b:00.0", "nearest: 1 port in the same PCIe switch tree"):
    text = text.replace(json.dumps(what), json.dumps(hostile + what))
open(folder + "/map.json", "w").write(text)
devices = folder + "/machine/sys/class/infiniband/"
for i, device in enumerate(sorted(os.listdir(devices))[:4]):
    raw = hostile[i * 50:i * 50 + 70].replace("/", "").encode() + bytes([0xff, 0x9b])
    os.rename(devices + device, devices.encode() + raw)
text = open(folder + "/fabric.txt", "rb").read()
raw = hostile.encode().replace(b"\n", b"").replace(b'"', b"")[:120] + b"\xff\x9b2J"
open(folder + "/fabric.txt", "wb").write(text.replace(b'# "', b'# "' + raw).replace(b'\t\t"', b'\t\t"' + raw))
PY
    for what in map.json machine; do
        for text in "$(sfabric demo map --from "$folder/$what")" "$(sfabric demo map --json --from "$folder/$what")"; do
            clean "$text"
            has "$text" "status "
        done
    done
    for what in "discover --accept-partial --from $folder/fabric.txt" "conf --accept-partial --nodes all --from $folder/fabric.txt" \
        "discover --json --accept-partial --from $folder/fabric.txt"; do
        # shellcheck disable=SC2086 # words
        text=$(ctl "$prefix/sbin/sfabric-topology" $what 2>&1 || true)
        [ -n "$text" ] || fail "nothing was said"
        clean "$text"
    done
}
