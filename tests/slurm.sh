#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A Slurm cluster of several nodes on this machine, for the tests of jobs.
#
#   tests/slurm.sh start DIR [NODES [STEP]]    2 nodes, clocks STEP (1000) seconds apart
#   tests/slurm.sh stop DIR
#
# In: root, the packages slurmd, slurmctld, slurm-client, munge; DIR is an absolute path of at most
# 60 characters, and not there yet. No systemd, nothing in /etc.
# Out: DIR/env (source it, then use srun, sbatch, ...), DIR/truth ("NODE OFFSET": ns to add to the
# clock of a node for that of the machine), DIR/log/. The nodes are called n1, n2, ...
#
# A node is a slurmd with a host name and a clock of its own (UTS and time namespaces), which its
# tasks inherit. Kernel, pids, files and network are those of the machine. Status 77: something that
# this needs is missing. Only processes that were started here are ended: pid and start time are
# those of DIR/pid/.
set -u

verb=${1:-} dir=${2:-} nodes=${3:-2} step=${4:-1000}
die() { echo "slurm: $1" >&2; exit "${2:-1}"; }
case $verb:$dir in start:/* | stop:/*) ;; *) die "usage: $0 start|stop DIR [NODES [STEP]]" 2 ;; esac
[ ${#dir} -le 60 ] || die "$dir: longer than 60 characters"
export SLURM_CONF=$dir/slurm.conf

# PID: its start time; nothing of a zombie, which init may reap seconds later
born() { sed -n 's/.*) \([^Z]\)/\1/p' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
alive() { # NAME
	local pid start
	read -r pid start 2>/dev/null <"$dir/pid/$1" && [ "$(born "$pid")" = "$start" ]
}
wait_for() { # SECONDS COMMAND...
	local left=$(($1 * 10))
	shift
	until "$@"; do
		[ $((left--)) -gt 0 ] || return 1
		sleep 0.1
	done
}
run() { # NAME COMMAND...: in the background, in a session of its own
	local name=$1
	shift
	setsid "$@" </dev/null >"$dir/log/$name.out" 2>&1 &
	echo "$! $(born $!)" >"$dir/pid/$name"
}
end() { # NAME
	local pid
	if alive "$1"; then
		read -r pid _ <"$dir/pid/$1"
		kill "$pid"
		wait_for 10 eval "! alive $1" || kill -KILL "$pid"
	fi
	rm -f "$dir/pid/$1"
}
no_jobs() { [ -z "$(timeout 5 squeue -h 2>/dev/null)" ]; }
stop() {
	local name
	if alive slurmctld; then
		timeout 20 scancel --state=RUNNING
		timeout 20 scancel --state=PENDING
		wait_for 10 no_jobs
	fi 2>/dev/null
	for name in $(cd "$dir/pid" && ls | grep '^n[0-9]') slurmctld munged; do end "$name"; done
}
[ "$verb" = start ] || { stop; exit; }

[ "$(id -u)" = 0 ] || die "needs root" 77
for program in slurmctld slurmd munged srun scontrol; do
	command -v $program >/dev/null || die "no Slurm here ($program is missing)" 77
done
unshare --uts --time --monotonic 1 true 2>/dev/null || die "no time namespaces here" 77
mkdir "$dir" || exit 1
mkdir "$dir"/{pid,log,ctld,spool,munge,socket}
chmod 755 "$dir" "$dir/socket"
chmod 700 "$dir/munge"
# Ports and job numbers of its own for each cluster: ovni-job knows the processes of its job by its number.
port=$((20000 + $$ % 1250 * 8)) first_job=$((1000 + $$ % 60000 * 100))
# Open MPI 4.1 crashes in MPI_Init (btl_tcp) when a process of another cluster connects to its port.
mpi_port=$((10000 + $$ % 150 * 64))
head -c 128 /dev/urandom >"$dir/munge/key"
chmod 600 "$dir/munge/key"
run munged munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/socket/munge" \
	--pid-file="$dir/munge/pid" --log-file="$dir/log/munged" --seed-file="$dir/munge/seed" --num-threads=2
wait_for 10 test -S "$dir/socket/munge" || { stop; die "munged does not start: $(cat "$dir/log/munged.out")" 77; }

names="n[1-$nodes]" ports="[$((port + 1))-$((port + nodes))]"
[ "$nodes" -gt 1 ] || names=n1 ports=$((port + 1))
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/socket/munge
CredType=cred/munge
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=$dir/ctld
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/spool/%n/tmp
SlurmctldPidFile=$dir/ctld/pid
SlurmdPidFile=$dir/spool/pid.%n
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
FirstJobId=$first_job
ReturnToService=2
SlurmdTimeout=30
KillWait=3
UnkillableStepTimeout=20
SlurmdParameters=config_overrides
NodeName=$names NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$ports CPUs=8
PartitionName=p Nodes=ALL Default=YES State=UP OverSubscribe=YES
END
cat >"$dir/env" <<END
export SLURM_CONF=$SLURM_CONF
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_btl_tcp_port_min_v4=$mpi_port OMPI_MCA_btl_tcp_port_range_v4=64
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
END
run slurmctld slurmctld -D -i -f "$SLURM_CONF"
for k in $(seq "$nodes"); do
	mkdir -p "$dir/spool/n$k/tmp" # PMIx makes directories there, named after the job alone
	# Before Linux 6.3 the first child enters the time namespace, not the exec: slurmstepd.
	run "n$k" unshare --uts --time --monotonic $((k * step)) --boottime $((k * step)) \
		sh -c "hostname n$k && exec slurmd -D -N n$k -f $SLURM_CONF"
	echo "n$k -$((k * step))000000000" >>"$dir/truth"
done
all_idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ]; }
wait_for 30 all_idle || { stop; die "not all nodes are idle: $(tail -n 3 "$dir/log/slurmctld" "$dir/log/n1")" 77; }
