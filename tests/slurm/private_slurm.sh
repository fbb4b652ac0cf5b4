#!/usr/bin/env bash
# A Slurm cluster of one machine for tests: munged, slurmctld and several slurmd, all state in one folder, all
# ports free ones of the loopback interface. Ends, with everything it ever started, when its input does.
#   private_slurm.sh FOLDER NODES
# Prints "ready", then obeys lines on its input, each answered by "ok" or "failed: WHY":
#   kill-node N      the machine of node nN dies: its slurmd, steps and jobs
#   start-node N
#   kill-controller  slurmctld dies by SIGKILL
#   start-controller from the state it saved
set -uo pipefail

if [[ ${PRIVATE_SLURM_INSIDE:-} != yes ]]; then
  export PRIVATE_SLURM_INSIDE=yes
  # In a namespace of its own nothing outlives its first process, whatever a test does.
  namespaces=(unshare -pf --mount-proc --kill-child=KILL)
  ((EUID == 0)) || namespaces=(unshare -Uc -pf --mount-proc --kill-child=KILL)
  if "${namespaces[@]}" true 2>/dev/null; then exec "${namespaces[@]}" "${BASH_SOURCE[0]}" "$@"; fi
fi

folder=$1 nodes=$2
user=$(id -un) host=$(hostname -s)
conf=$folder/slurm.conf
export SLURM_CONF=$conf PATH=$PATH:/usr/sbin:/sbin

give_up() {
  echo "failed: $1"
  for log in "$folder"/log/*; do tail -n 3 "$log" 2>/dev/null; done >&2
  exit 1
}

# until_true SECONDS COMMAND...
until_true() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}

free_ports() {
  /usr/bin/python3 - "$1" <<'PY'
import socket
import sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in held))
PY
}

write_conf() {
  local ports
  read -ra ports <<<"$(free_ports $((nodes + 1)))"
  cat >"$conf" <<CONF
ClusterName=tests
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/socket/munge
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/controller
SlurmdPidFile=$folder/run/%n
SlurmctldLogFile=$folder/log/controller
SlurmdLogFile=$folder/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=60
MessageTimeout=15
KillWait=2
OverTimeLimit=0
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
CONF
  local i
  for ((i = 0; i < nodes; i++)); do
    echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[i + 1]} CPUs=4 RealMemory=1000" >>"$conf"
  done
}

start_munge() {
  head -c 128 /dev/urandom >"$folder/munge/key"
  chmod 400 "$folder/munge/key"
  munged --force --socket="$folder/socket/munge" --key-file="$folder/munge/key" --pid-file="$folder/munge/pid" \
    --log-file="$folder/log/munged" --seed-file="$folder/munge/seed" --num-threads=2 2>>"$folder/log/munged.start"
  until_true 60 munge -S "$folder/socket/munge" -n
}

start_node() {
  mkdir -p "$folder/spool/n$1"
  slurmd -N "n$1" 2>>"$folder/log/n$1.start"
}

kill_node() {
  local pid
  kill -KILL "$(cat "$folder/run/n$1")" || return 1
  # What runs for a node has its name in its environment; the step's keeper is the parent of that.
  for pid in $(grep -lsz "^SLURMD_NODENAME=n$1\$" /proc/[0-9]*/environ | cut -d/ -f3); do
    local parent
    parent=$(awk '/^PPid:/ {print $2}' "/proc/$pid/status" 2>/dev/null) || continue
    if grep -qs slurmstepd "/proc/$parent/cmdline"; then kill -KILL "$parent"; fi
    kill -KILL "$pid" 2>/dev/null
  done
  return 0
}

controller_answers() { [[ $(timeout 15 scontrol ping) == *'is UP'* ]]; }

all_idle() { [[ $(timeout 15 sinfo -h -N -p main -o '%t' | grep -c '^idle$') == "$nodes" ]]; }

obey() {
  case $1 in
    kill-node) kill_node "$2" ;;
    start-node) start_node "$2" ;;
    kill-controller) kill -KILL "$(cat "$folder/run/controller")" ;;
    start-controller) slurmctld 2>>"$folder/log/controller.start" && until_true 90 controller_answers ;;
    *) return 1 ;;
  esac
}

for program in munged slurmctld slurmd sbatch squeue scancel; do
  command -v $program >/dev/null || { echo "failed: $program is not installed"; exit 1; }
done
mkdir -p "$folder"/{munge,socket,state,spool,run,log} || give_up "cannot write $folder"
chmod 0711 "$folder" && chmod 0755 "$folder/socket" && chmod 0700 "$folder/munge"
write_conf
start_munge || give_up "munged does not start"
slurmctld -c 2>>"$folder/log/controller.start" || give_up "slurmctld does not start"
for ((n = 0; n < nodes; n++)); do start_node "$n" || give_up "slurmd does not start"; done
until_true 120 all_idle || give_up "the nodes do not become idle"
echo ready
while read -r verb argument; do
  if obey "$verb" "$argument"; then echo ok; else echo "failed: $verb $argument"; fi
done

# Without a namespace: jobs first, else their keepers outlive the daemons.
timeout 5 scancel --full --user="$user" 2>/dev/null
until_true 10 sh -c '[ -z "$(timeout 2 squeue -h)" ]'
for pid_file in "$folder"/run/* "$folder/munge/pid"; do kill -KILL "$(cat "$pid_file")" 2>/dev/null; done
exit 0
