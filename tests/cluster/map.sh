# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # what is not set here comes from `run`
#
# map.sh - what tasks are told of their adapters, and what a job's record says of its nodes' maps.

# lists NODE GPUS: what the node's env file has for these GPUs, joined as a task gets it
lists() {
    on "$1" cat /run/slurm-fabric/env | awk -v gpus="$2" '
        $1 == "gpu" { list[$2] = $3 }
        END { n = split(gpus, g, ",")
              for (i = 1; i <= n; i++) {
                  m = split(list[g[i]], p, ",")
                  for (k = 1; k <= m; k++) if (!(p[k] in seen)) { seen[p[k]]; out = out (out ? "," : "") p[k] }
              }
              print out }'
}

# [before=WORDS] tasks NAME OPTIONS... : a line of a batch script, a step whose tasks write down what
# they were told
tasks() {
    local name=$1
    shift
    # shellcheck disable=SC2016
    echo "${before-} srun $* sh -c 'echo \"\$SLURM_LOCALID gpus=\$SLURM_STEP_GPUS ucx=\$UCX_NET_DEVICES nvshmem=\$NVSHMEM_HCA_LIST nccl=\$NCCL_IB_HCA\" > $work/\$SLURM_JOB_ID.$name.\$SLURM_PROCID'"
}

# told_right NODE JOB NAME GPUS... : a task for each word, with just these GPUs ("-": none) and their
# adapters
told_right() {
    local node=$1 job=$2 name=$3 local_id=0 gpus list nccl
    shift 3
    nccl=$(on "$node" sed -n 's/^nccl //p' /run/slurm-fabric/env)
    is "$(find "$work" -name "$job.$name.*" | wc -l)" $# "tasks of $name"
    for gpus; do
        [ "$gpus" != - ] || gpus=
        list=$(lists "$node" "$gpus")
        is "$(cat "$work/$job.$name.$local_id")" "$local_id gpus=$gpus ucx=$list nvshmem=$list nccl=$nccl" "$name"
        local_id=$((local_id + 1))
    done
}

test_adapters_of_each_task() {
    local job node=${nodes[0]}
    job=$( {
        tasks torchrun -n1 --gpus-per-node=8
        tasks plain -n2 --gpus-per-node=4
        tasks per_task -n4 --gpus-per-task=2
        tasks bound -n4 --gpus-per-node=8 --gpu-bind=map_gpu:3,2,1,0
        before='env -u SLURM_GPUS_PER_NODE' tasks none -n2 --gres=none
        # side by side, each with a GPU of its own; the second has the batch script's environment
        echo '('
        tasks left -n1 --overlap --exact --gpus-per-node=1
        echo ') & ('
        tasks right -n1 --overlap --gpus-per-node=8
        echo ') & wait'
    } | submit -N1 -w "$node" --ntasks-per-node=4 --gpus-per-node=8 --fabric-env=ucx,nccl,nvshmem)
    wait_job "$job"
    is "$(job_state "$job")" COMPLETED "$(cat "$work/$job.out")"
    told_right "$node" "$job" torchrun 0,1,2,3,4,5,6,7
    told_right "$node" "$job" plain 0,1,2,3 0,1,2,3
    told_right "$node" "$job" per_task 0,1 2,3 4,5 6,7
    told_right "$node" "$job" bound 3 2 1 0
    told_right "$node" "$job" none - -
    told_right "$node" "$job" left 0
    told_right "$node" "$job" right 0,1,2,3,4,5,6,7
}

# Each node of a step has GPUs of its own: those of the batch host are not taken for them.
test_adapters_on_each_node() {
    local job other file id
    job=$(submit -N1 -n1 --gpus-per-node=5 -w "${nodes[1]}" <<< 'sleep 20')
    wait_until 30 job_running "$job"
    other=$({ tasks both --ntasks-per-node=1 --gpus-per-node=2; } |
        submit -w "${nodes[0]},${nodes[1]}" -N2 --ntasks-per-node=1 --gpus-per-node=2 --fabric-env=ucx,nccl,nvshmem)
    wait_job "$other"
    as_user scancel "$job"
    wait_job "$job"
    for id in 0 1; do
        file=$work/$other.both.$id
        has "$(cat "$file")" "ucx=$(lists "${nodes[$id]}" "$(sed 's/.*gpus=\([0-9,]*\).*/\1/' "$file")") "
    done
    has "$(cat "$work/$other.both.0")" "gpus=0,1 "
    has "$(cat "$work/$other.both.1")" "gpus=5,6 "
}

test_adapters_in_arrays_and_het_jobs() {
    local job node=${nodes[0]}
    job=$(tasks array -n1 | submit -N1 -w "$node" -n1 --gpus-per-node=2 --array=0-1 --fabric-env=ucx,nccl,nvshmem)
    wait_until 60 sh -c "[ \$(ls '$work'/*.array.0 | wc -l) = 2 ]"
    wait_job "$job"
    cat "$work"/*.array.0 | sort > "$work/array"
    is "$(sed 's/.*gpus=\([0-9,]*\) ucx=\([^ ]*\).*/\1 \2/' "$work/array" | while read -r gpus list; do
        [ "$list" = "$(lists "$node" "$gpus")" ] && echo right; done | xargs)" "right right"
    job=$( { echo "#SBATCH -w $node"; echo '#SBATCH hetjob'; echo '#SBATCH -N1 -n1 --gpus-per-node=1'
        tasks het --het-group=0,1; } | submit -N1 -n1 --gpus-per-node=3 --fabric-env=ucx,nccl,nvshmem)
    wait_job "$job"
    is "$(cat "$work/$job.het.0")" "0 gpus=0,1,2 ucx=$(lists "$node" 0,1,2) nvshmem=$(lists "$node" 0,1,2) nccl=$(on "$node" sed -n 's/^nccl //p' /run/slurm-fabric/env)"
}

# A port that is dark on one of four nodes is in the story and in the field.
test_a_node_unlike_its_peers() {
    local node=${nodes[2]} file job rc=0
    file=$(find "$(cluster path "$run" fabric)/nodes/$node" -type f -path '*infiniband/mlx5_3/ports/1/state')
    cp -p "$file" "$file.away"
    echo '1: DOWN' > "$file"
    restart_agent "$node" # else it looks every ten seconds
    wait_until 20 without_port "$node" mlx5_3
    job=$(sleeper 4 3 --gpus-per-node=8)
    wait_job "$job"
    whole "$job" || rc=1
    mv "$file.away" "$file"
    restart_agent "$node"
    # in this fabric adapters are called otherwise on each node
    is "$(show "$job" | ask 'd["folded"]["odd"]')" "[{'nodes': '$node', 'has': 'ports used: 7 of 9', 'peers': '8 of 9'}]" || rc=1
    has "$(admin_comment "$job")" '"has":"ports used: 7 of 9"' || rc=1
    has "$(ctl "$prefix/bin/sfabric" -f "$run/etc/fabric.conf" show "$job")" "  $node: ports used: 7 of 9; on most: 8 of 9" || rc=1
    return $rc
}
without_port() { ! on "$1" grep -q "$2:" /run/slurm-fabric/env && on "$1" test -s /run/slurm-fabric/env; }

# Half of a node's GPUs, one in each switch tree, where two trees could hold them.
test_half_of_a_nodes_gpus() {
    local job
    job=$(sleeper 1 3 -w "${nodes[0]}" --gpus-per-node=2)
    wait_job "$job"
    whole "$job"
    is "$(show "$job" | ask 'd["folded"]["map"][0]["trees"]')" "[[0], [1]]"
}
