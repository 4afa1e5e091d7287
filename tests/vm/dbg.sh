. /vm/lab.sh
configure
time up
cat > $work/a.sh <<'X'
#!/bin/bash
time srun -n1 sh -c 'i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; times'
time srun -n2 sh -c 'i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; times'
time srun -n1 true
time srun -n1 true
time srun -n1 true
X
chmod +x $work/a.sh
chown demo $work/a.sh
time as_user sbatch --parsable -n2 --gres=gpu:1 -o $work/a.out $work/a.sh
wait_until 300 job_ended 1
cat $work/a.out
sleep 8
sacct -P -o JobID,State,ExitCode,Elapsed,TotalCPU,UserCPU,SystemCPU,MaxRSS
time show 1 >/dev/null
show 1 | ask '[(r["step"],r["elapsed_ns"]/1e9,r["totals"].get("step"),r.get("partial"),r["sampling"],r["cost"],r["clock"]) for s in d["steps"] for r in s["records"]]'
cat $run/log/sf*.out
for f in $slurmd_cgroup/*.service; do echo $f $(cat $f/memory.peak) $(head -1 $f/cpu.stat); done
cp -a $run/log /vm/log
