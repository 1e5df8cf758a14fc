#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No damage to a trace, an archive, a run or statistics crashes a program, makes it run for ever, prints
# control characters, or makes an incomplete trace look complete: made inputs and conformance vectors, of
# which bytes, events, JSON members, names and files are damaged by tests/fuzz/mutations.py, which has the
# judges. Runs the sanitized build if there is one. A failure names its seed.
# MUTATIONS=25000 does so many instead of a fixed number; SEED=N begins with another one; TRACES="DIR ..." are
# recordings that take part.
# longer: 500 damaged inputs, not 150
set -eu
bin=$B/bin
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-view" ] && bin=$BSAN/bin
mkdir sources && cd sources
python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import whole; whole.make("whole.made")' "$S/tests/golden"
make() { "$S/tests/golden/tools_make.py" "$1"; }
make trace.small <<'END'
thread n 1 1 ovni.mark={"0":{"title":"F","chan_type":"stack"}} ovni.require={"ovni":"1.1.0","nosv":"2.7.0"} nosv.can_breakdown=true bpf.name="x" bpf.events="9"
10 OHx i32:0 i32:-1 u64:0
20 OM[ i64:1 i32:0
30 OM] i64:1 i32:0
35 VYc+ u32:1 str:label
40 OHp u16:6 i32:2
50 OHw i32:2
60 OAs i32:1
70 OHr
80 OHe
END
make "$T/program" <<'END'
thread h.1 1 1
1000 OHx i32:0 i32:-1 u64:0
9000 OHe
END
make "$T/kernel" <<'END'
thread h 1 1 bpf.name="solver" ovni.require={"ovni":"1.1.0","kernel":"1.0.0"}
900 KCI i32:0
950 OHx i32:-1 i32:-1 u64:0
990 KCO u16:1 i32:0
995 KCI i32:0
9600 OHe
END
# Sleeps with stacks, also under a number that the file does not have.
make trace.stacks <<'END'
thread n 1 1 bpf.name="w" bpf.session.machine="x86_64" ovni.require={"ovni":"1.1.0","bpf":"1.0.0"}
1000 OHx i32:0 i32:-1 u64:0
1400 OHp u16:1 i32:0 u16:202 u64:16
1800 OHw i32:-2 i32:1 u32:1 u32:0
1900 OHr
2000 OHp u16:1 i32:0
2800 OHw i32:-2 i32:0 u32:3 u32:0
2900 OHr
3000 OHp u16:1 i32:0
3800 OHw i32:-2 i32:0 u32:9 u32:0
3900 OHr
4000 OHe
END
printf 'ovni-bpf stacks 1\n1\tfutex_wait+0x8;do_futex+0x1;entry+0x7\n3\tpipe_read+0x1[m];entry+0x7;[cut]\n' >trace.stacks/stacks
cp -R trace.stacks trace.stacks2
# Sets of CPUs and priorities, as --why=prio records them.
make trace.allowed <<'END'
thread n 1 1 bpf.name="w" ovni.mark={"89":{"title":"Allowed_CPUs","chan_type":"single","labels":{"1":"0,2-3","2":"0"}},"90":{"title":"p","chan_type":"single","labels":{"1":"q"}}} ovni.loom_cpus=[{"index":0,"phyid":0}] bpf.session.idle_known=true
1000 OHx i32:0 i32:-1 u64:0
1000 OM= i64:1 i32:89
1000 OM= i64:1 i32:90
1800 OHp u16:6 i32:0
1800 OHw i32:-1
1900 OHr
2500 OM= i64:2 i32:89
2900 OHp u16:1 i32:0
3000 OHw i32:-2
3100 OHr
4000 OHe
END
# Messages and collectives of MPI; the directory of a job of two nodes.
marks='{"56":{"title":"MPI\u0020messages","chan_type":"stack","labels":{"1":"MPI_Send\u0020of\u0020MPICH","2":"MPI_Irecv\u0020of\u0020MPICH","3":"MPI_Wait\u0020of\u0020MPICH","4":"MPI_Comm_dup\u0020of\u0020MPICH","5":"MPI_Bcast\u0020of\u0020MPICH","6":"MPI_Barrier\u0020of\u0020MPICH"}}'
for n in 60 61 62 63 64 65 66 67 68; do marks+=",\"$n\":{\"title\":\"v\",\"chan_type\":\"single\"}"; done
call() { # CLOCK FUNCTION [TYPE VALUE]... -- [TYPE VALUE]...
	local at=$1 function=$2
	shift 2
	while [ "$1" != -- ]; do
		echo "$at OM= i64:$2 i32:$1"
		shift 2
	done
	printf '%s OM[ i64:%s i32:56\n%s OM] i64:%s i32:56\n' "$at" "$function" $((at + 5)) "$function"
	shift
	while [ $# != 0 ]; do
		echo "$((at + 5)) OM= i64:$2 i32:$1"
		shift 2
	done
}
for rank in 0 1; do
	cat <<-E
		thread n$rank $((rank + 1)) $((rank + 1)) ovni.rank=$rank ovni.nranks=2 ovni.require={"ovni":"1.1.0","bpf":"1.0.0"} ovni.mark=$marks}
		0 OHx i32:0 i32:-1 u64:0
	E
	call 10 4 64 $((0x44000000)) -- 68 $((0x84000000))
	for i in 1 2 3 4; do
		if [ $rank = 0 ]; then
			call ${i}00 1 60 1 61 $i 62 10 63 $((0x4c000405)) 64 $((0x84000000)) --
		else
			call ${i}20 2 60 -2 61 -1 64 $((0x84000000)) -- 65 $i
			call ${i}40 3 65 $i -- 66 -2147483648 67 $i
		fi
	done
	call 6${rank}0 5 60 1 62 10 63 $((0x4c000405)) 64 $((0x84000000)) --
	call 7${rank}0 6 64 $((0x44000000)) --
	echo 900 OHe
done | make trace.messages
cp -R trace.messages trace.job
mkdir trace.job/node
echo '{"version":1,"key":"k","launcher":"srun","ranks":2,"nodes":2}' >trace.job/job.json
for n in 0 1; do
	echo '{"state":"complete","why":"w","threads":1,"events":9,"lost":0,"members":[{"rank":'$n'}]}' >trace.job/node/n$n.json
done
# A recording with its stats.json, which agrees with the stream.
make trace.figures <<'END'
thread n 1 1 bpf.events="5" bpf.name="w" bpf.session.t0="1000" bpf.session.t1="2000" bpf.session.lost="0"
1000 OHx i32:0 i32:-1 u64:0
1400 OHp u16:1 i32:0
1800 OHw i32:-2
1900 OHr
2000 OHe
END
cat >trace.figures/stats.json <<'END'
{"schema": "ovni-bpf-stats", "version": 1, "mode": "full",
 "window": {"first_cycle": 1000, "end_cycle": 2000, "total_cycles": 1000},
 "events": {"seen": 7, "written": 4, "filtered": 2, "sampled_out": 1, "dropped": 0, "by_core_and_kind": [
  {"cpu": 0, "kind": "switch", "seen": 7, "written": 4, "filtered": 2, "sampled_out": 1, "dropped": 0}]},
 "recorder": {"cpu_ns": 1500000, "peak_rss_bytes": 4096},
 "snapshots": [
  {"clock": 2000, "scope": "run", "threads": 1, "window_ns": 1000, "cpus": 1, "total_ns": 1000, "active_ns": 501,
   "runnable_ns": 99, "blocked_ns": 400, "unknown_ns": 0, "cpu_active_ns": 501, "wakeups": 1, "prog_ns": 20},
  {"clock": 2000, "scope": "cpu", "cpu": 0, "total_ns": 1000, "active_ns": 501, "other_ns": 9, "idle_ns": 490,
   "unknown_ns": 0, "prog_ns": 20, "prog_runs": 2, "metrics": {"utilization": 0.51, "overhead": 0.02}},
  {"clock": 2000, "scope": "thread", "tid": 1, "pid": 1, "comm": "w", "total_ns": 1000, "active_ns": 501,
   "runnable_ns": 99, "blocked_ns": 400, "unknown_ns": 0, "switches_voluntary": 1, "switches_preempted": 0,
   "yields": 0, "wakeups": 1, "migrations": 0, "calls": 0}]}
END
"$bin/ovni-report" counters trace.figures | grep -q 501 || { echo "stats.json is not read"; exit 1; }
mkdir stats.summary stats.part
cp trace.figures/stats.json stats.summary/run.stats.json
sed -n 's/^  *{"clock"/{"clock"/; /^{"clock"/,$p' trace.figures/stats.json | sed 's/]}$/,/' >stats.part/run.stats.json.part
mkdir -p old.first/loom.n1/proc.5
echo '{"version": 1, "app_id": 3, "cpus": [{"index": 0, "phyid": 4}]}' >old.first/loom.n1/proc.5/metadata.json
tail -c +9 trace.figures/loom.n/proc.1/thread.1/stream.obs >old.first/loom.n1/proc.5/thread.7
for vector in "$CONFORMANCE"/emu/*/trace; do
	[ "$(find "$vector" -name stream.obs -size +40 | wc -l)" != 0 ] || cp -R "$vector" "trace.$(basename "${vector%/trace}")"
done
"$S/tests/golden/pallas_tiny.py" pallas.tiny
"$S/tests/golden/emu_make.py" "$S/tests/golden/emu/bpf.txt" trace.bpf
"$B/bin/ovni-pallas" export trace.bpf pallas.ours 2>/dev/null
"$B/bin/ovni-pallas" export --level none --masking trace.bpf pallas.masked 2>/dev/null
for vector in "$CONFORMANCE"/pallas/*/archive; do
	cp -R "$vector" "pallas.$(basename "${vector%/archive}")"
done
for vector in "$S"/tests/golden/loom/* "$CONFORMANCE"/loom/*/; do
	cp -R "$vector" "loom.$(basename "$vector")"
done
# Damage to a file of options or of expected output is none to a run.
find loom.* \( -name '*expected*' -o -name '*options*' -o -name 'README*' \) -delete
chmod -R u+w .
python3 -B "$S/tests/golden/efficiency_make.py" examples
mv examples/B trace.ranks && mv examples/C trace.hybrid && rm -r examples
# Each kind has its share, and traces with all evidence more than one.
for n in 1 2 3 4; do
	cp -R whole.made "whole.made$n"
done
for trace in ${TRACES:-}; do
	cp -R "$trace" "whole.$(basename "$trace")"
done
shares=()
for kind in whole whole trace trace trace stats old pallas loom; do
	shares+=("$(printf '%s,' "$PWD/$kind".*)")
done
cd "$T"
MUTATIONS=${MUTATIONS:-$([ "$LONG" ] && echo 500 || echo 150)} KERNEL=$T/kernel PROGRAM=$T/program \
	exec "$S/tests/fuzz/mutations.py" "$bin" "$T" "${shares[@]}"
