#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report without a report: the overview of a short trace, as text and as JSON, its exit status,
# and names that are not safe to print.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
# "victim" waits 300 of 1000 ms for CPU 0: 250 for "noisy", 50 for nobody. CPU 1 has no thread.
make() { # NAME [WORD...]: the metadata of the victim
	local name=$1
	shift
	make_trace "$name" <<-END
	thread n 10 11 bpf.name="victim" bpf.session.options=["ovni-bpf","-a","-o","the_trace"] bpf.session.kernel="6.1" bpf.session.realtime={"begin":{"clock":"0","ns":"1795311725000000001"},"utc_offset":5400} bpf.session.t0="0" bpf.session.t1="1000000000" bpf.session.lost="0" ovni.loom_cpus=[{"index":0,"phyid":0},{"index":1,"phyid":1}] bpf.session.cpus=[{"index":0,"ns":{"unknown":"0","idle":"1","other":"0"},"steal":"30000000"},{"index":1,"ns":{"unknown":"0","idle":"1000000000","other":"0"}}] $*
	0 OHx i32:0 i32:-1 u64:0
	100000000 OHp u16:6 i32:20
	100000000 OHw i32:-1
	400000000 OHr
	1000000000 OHe
	thread n 20 20 bpf.name="noisy\u001b[31m"
	100000000 OHx i32:0 i32:-1 u64:0
	350000000 OHp u16:1 i32:0
	1000000000 OHw i32:-2
	1000000000 OAs i32:-1
	1000000000 OHr
	1000000000 OHe
	END
}
make ovni
report >got || fail "the overview of ./ovni failed"
cat >want <<'END'
ovni: n, 2 CPUs, Linux 6.1
  ovni-bpf -a -o the_trace
  1.000 s, from 2026-11-22 03:12:05 +0130, 11 events of 2 threads in 2 processes
  nothing lost

CPU    busy %   idle %  unknown %  steal %  most of it
0       95.00     5.00       0.00     3.00  victim (11) 70.0 %, noisy\x1b[31m (20) 25.0 %
1        0.00   100.00       0.00        -  

process, thread                  run       %      waited       %   runs      asleep
victim (11)               700.000 ms   70.00  300.000 ms   30.00      2        0 ns
noisy\x1b[31m (20)        250.000 ms   27.78        0 ns    0.00      1  650.000 ms

Findings, the most expensive first
1. victim (11) waited 30.0 % of 1.000 s for a CPU: 300.000 ms; noisy\x1b[31m (20) ran on CPU 0 for
   250.000 ms
     ovni-report preempt --tid 11 ovni
2. victim (11), in the same waits: its CPU was idle for 50.000 ms of that
     ovni-report latency --tid 11 ovni
3. the hypervisor took 30.000 ms of 1.000 s (3.0 %) from CPU 0: run times there contain it
     ovni-report cpu ovni
not recorded: the time of interrupts (--why=irq) and of the kernel (it counts as run time)
END
diff want got || fail "the overview"
COLUMNS=80 report >got || fail "the overview in 80 columns failed"
grep -q '^victim (11)               700.000 ms   70.00  300.000 ms   30.00      2$' got || { cat got; fail "80 columns"; }
[ "$(wc -L <got)" -le 80 ] || { cat got; fail "the overview is wider than 80 columns"; }
mv ovni "it's"
report "it's" --json >got || fail "the JSON"
python3 - <<'END' || fail "the numbers"
import json
doc = json.load(open("got"))
assert doc["version"] == 1 and doc["complete"] and doc["lost"] == 0 and doc["events"] == 11, doc
assert doc["session"]["command"] == "ovni-bpf -a -o the_trace" and doc["duration_ns"] == 10**9
first, second, steal = doc["findings"]
assert first["kind"] == "neighbour" and first["cost_ns"] == 250 * 10**6, first
assert first["who"]["tid"] == 11 and first["by"]["tid"] == 20 and first["by"]["name"] == "noisy\x1b[31m"
assert first["numbers"]["time_ns"] == 300 * 10**6 and first["numbers"]["cpu"] == 0, first
assert second["kind"] == "idle-cpu" and second["numbers"]["by_ns"] == 50 * 10**6, second
assert steal["kind"] == "steal" and steal["who"]["cpu"] == 0 and steal["cost_ns"] == 30 * 10**6, steal
assert first["command"] == "ovni-report preempt --tid 11 'it'\\''s'", first["command"]
threads = {t["tid"]: t for t in doc["threads"]}
assert threads[11]["run_ns"] == 700 * 10**6 and threads[20]["asleep_ns"] == 650 * 10**6, threads
assert [c["idle_ns"] for c in doc["cpus"]] == [50 * 10**6, 10**9], doc["cpus"]
END

# A damaged stream, or damaged stacks: the part before the damage, which is never called complete.
damaged() { # WHAT ERROR
	local status=0
	"$B/bin/ovni-report" damaged >got 2>err || status=$?
	[ $status = 1 ] || fail "$1: status $status"
	if [ "$(grep -c "error: .*$2" err)" != 1 ] || [ "$(wc -l <err)" != 1 ]; then
		cat err
		fail "$1: not this error alone"
	fi
	if ! grep -q '^  INCOMPLETE: a file of the trace is damaged, see the error$' got || grep -q 'nothing lost' got; then
		cat got
		fail "$1 looks complete"
	fi
	! "$B/bin/ovni-report" damaged --json >got 2>err || fail "$1: the JSON succeeded"
	python3 -c 'import json; doc = json.load(open("got")); assert doc["complete"] is False and doc["threads"]' ||
		fail "$1: the JSON looks complete"
}
cp -r "it's" damaged
printf '\0OHr\0\0\0\0\0\0\0\0' >>damaged/loom.n/proc.20/thread.20/stream.obs
damaged "a stream" "clock goes backwards"
rm -r damaged
cp -r "it's" damaged
echo nothing >damaged/stacks
damaged "the stacks" "no file of stacks"

# Where only some threads are recorded, idle time is not known: no CPU is called busy, or idle, for
# it. The recorder says so; of older ones it shows in CPUs that were never idle.
some() { # KEY IDLE_OF_CPU_1
	make_trace some <<-END
	thread n 10 10 bpf.name="target" bpf.session.t0="0" bpf.session.t1="1000000000" $1 ovni.loom_cpus=[{"index":0,"phyid":0},{"index":1,"phyid":1}] bpf.session.cpus=[{"index":0,"ns":{"unknown":"0","idle":"0","other":"700000000"}},{"index":1,"ns":{"unknown":"0","idle":"$2","other":"$((1000000000 - $2))"}}]
	0 OHx i32:0 i32:-1 u64:0
	300000000 OHp u16:1 i32:-1
	1000000000 OHw i32:-2
	1000000000 OAs i32:-1
	1000000000 OHr
	1000000000 OHe
	END
}
for key in '' 'bpf.session.idle_known=false'; do
	rm -rf some
	some "$key" 0
	report some >got || fail "the overview of some threads failed"
	grep -qx 'CPU   recorded %  other or idle %  unknown %  steal %  most of it' got &&
		grep -q '^0 *30.00 *70.00 *0.00 ' got && grep -q '^1 *0.00 *100.00 *0.00 ' got &&
		! grep -q busy got || { cat got; fail "CPUs of some threads ('$key')"; }
	report cpu --csv some >got || fail "cpu of some threads failed"
	grep -qx 'n,0,other threads or idle,700000000,70.000,' got && ! grep -q ',idle,' got || { cat got; fail "cpu of some threads"; }
	report some --json >got || fail "the JSON of some threads"
	python3 - <<'END' || fail "the numbers of some threads"
import json
for cpu in json.load(open("got"))["cpus"]:
    assert cpu["threads_ns"] + cpu["other_or_idle_ns"] == 10**9 and not {"other_ns", "idle_ns"} & set(cpu), cpu
END
done
for key in '' 'bpf.session.idle_known=true'; do # all threads
	rm -rf some
	some "$key" 400000000
	report some >got || fail "the overview of all threads failed"
	grep -q '^CPU  *busy %  *idle %' got && grep -q '^0 *100.00 *0.00 ' got &&
		grep -q '^1 *60.00 *40.00 ' got || { cat got; fail "CPUs of all threads ('$key')"; }
done

# A part: victim waited from 100 to 400 ms, noisy ran up to 350 ms.
make part
report part --from +50ms --to +300ms >got || fail "the overview of a part failed"
cat >want <<'END'
part: n, 2 CPUs, Linux 6.1
  ovni-bpf -a -o the_trace
  250.000 ms of the recording, from 2026-11-22 03:12:05 +0130, 3 events of 2 threads in 2 processes
  nothing lost

CPU    busy %   idle %  unknown %  steal %  most of it
0      100.00     0.00       0.00        -  noisy\x1b[31m (20) 80.0 %, victim (11) 20.0 %
1        0.00   100.00       0.00        -  

process, thread                  run       %      waited       %   runs     asleep
victim (11)                50.000 ms   20.00  200.000 ms   80.00      1       0 ns
noisy\x1b[31m (20)        200.000 ms  100.00        0 ns    0.00      1       0 ns

Findings, the most expensive first
1. victim (11) waited 80.0 % of 250.000 ms for a CPU: 200.000 ms; noisy\x1b[31m (20) ran on CPU 0
   for 200.000 ms
     ovni-report preempt --tid 11 --from 50000000 --to 300000000 part
not recorded: the time of interrupts (--why=irq) and of the kernel (it counts as run time)
END
diff want got || fail "the overview of a part"
report part --from 2000000000 >got || fail "the overview of no time failed"
grep -q '^  0 ns of the recording' got && grep -q '^No finding' got || { cat got; fail "a part without time"; }

# Losses are shown, and give status 3; a report that does not exist is no trace.
make lossy 'bpf.session.lost="7"'
status=0; report lossy >got || status=$?
[ $status = 3 ] || fail "losses give status $status"
grep -q '^  LOST: 7 events;' got || { cat got; fail "losses are not shown"; }
status=0; report nothing lossy >got || status=$?
[ $status = 2 ] || fail "an unknown report gives status $status"
status=0; report nothing >got || status=$?
[ $status = 1 ] || fail "a missing trace gives status $status"
mkdir empty
status=0; report empty >got || status=$?
[ $status = 1 ] && grep -q 'no stream is in this directory' said || fail "an empty directory gives status $status"
# Options that would change nothing are refused.
for option in '--sort run' '--tid 11' '--pid 10' '--comm x' '--loom n' '--csv' '-n 3' '--by rank'; do
	status=0; report lossy $option >got || status=$?
	[ $status = 2 ] && [ ! -s got ] || fail "$option of the overview gives status $status"
done
status=0; report timeline lossy --json >got || status=$?
[ $status = 2 ] || fail "--json of the timeline gives status $status"

# Nothing found is said, with the threshold.
make_trace quiet <<'END'
thread n 1 1 bpf.name="a"
0 OHx i32:0 i32:-1 u64:0
2000000000 OHe
END
report quiet >got || fail "a quiet trace"
grep -q '^No finding: no wait, lock, imbalance or delay cost 20.000 ms or more$' got || { cat got; fail "no finding"; }

# Unknown time has a column if there is any, and is not sleep.
make_trace gap <<'END'
thread n 1 1 bpf.name="a"
0 OHx i32:0 i32:-1 u64:0
400000000 OHp u16:1 i32:-1 u64:100000000
700000000 OHw i32:-2
700000000 OHr
1000000000 OHe
END
report gap >got || fail "the overview of a gap"
grep -q '^process, thread  *run  *%  *waited  *%  *runs  *unknown  *asleep$' got &&
	grep -q '^a (1) *600.000 ms *60.00 *0 ns *0.00 *2 *100.000 ms *300.000 ms$' got || { cat got; fail "unknown time"; }
COLUMNS=90 report gap >got || fail "a gap in 90 columns"
grep -q '^a (1) *600.000 ms *60.00 *0 ns *0.00 *2 *100.000 ms$' got && [ "$(wc -L <got)" -le 90 ] || { cat got; fail "90 columns"; }
report gap --json >got || fail "the JSON of a gap"
python3 - <<'END' || fail "the numbers of a gap"
import json
(thread,) = json.load(open("got"))["threads"]
assert (thread["unknown_ns"], thread["asleep_ns"], thread["life_ns"]) == (10**8, 3 * 10**8, 10**9), thread
END

# Stacks of user code: the place of the longest wait for a lock, and of the I/O.
make_trace stacks <<'END'
thread n 1 1 bpf.name="holder" bpf.session.locks=true bpf.session.machine="x86_64"
0 OHx i32:0 i32:-1 u64:0
10000000 OHp u16:1 i32:0 u16:230
300000000 OHw i32:-2
305000000 OHr
1000000000 OHe
thread n 1 2 bpf.name="worker" bpf.futexes=[{"address":"16","from":"6000000","name":"pool_lock"}]
0 OHx i32:1 i32:-1 u64:0
5000000 OHp u16:1 i32:0 u16:202 u64:16
6000000 OHw i32:1 i32:1 u32:2 u32:0
6000000 OHr
7000000 OHp u16:1 i32:0 u16:202 u64:16
310000000 OHw i32:1 i32:1 u32:1 u32:0
310000000 OHr
1000000000 OHe
thread n 7 7 bpf.name="reader"
0 OHx i32:2 i32:-1 u64:0
100000000 OHp u16:3 i32:0 u16:74 u64:3
300000000 OHw i32:-2 i32:0 u32:3 u32:0
300000000 OHr
400000000 OHp u16:3 i32:0 u16:74 u64:3
500000000 OHw i32:-2 i32:0 u32:4 u32:0
500000000 OHr
600000000 OHp u16:3 i32:0 u16:74 u64:3
750000000 OHw i32:-2 i32:0 u32:4 u32:0
750000000 OHr
800000000 OHp u16:3 i32:0 u16:74 u64:3
840000000 OHw i32:-2
840000000 OHr
1000000000 OHe
END
cat >stacks/stacks <<'END'
ovni-bpf stacks 1
1	futex_wait+0x1;pthread_mutex_lock@libc.so.6+0x1;take@prog+0x2@pool.c:41;worker@prog+0x9@pool.c:60
2	futex_wait+0x1;pthread_mutex_lock@libc.so.6+0x1;peek@prog+0x2@pool.c:50;worker@prog+0x9@pool.c:60
3	do_fsync+0x1;fsync@libc.so.6+0x1;save@prog+0x2@log.c:7;[libc.so.6+0x27]@93ac
4	do_fsync+0x1;fsync@libc.so.6+0x1;flush@prog+0x2@log.c:12;main@prog+0x9@log.c:21
END
COLUMNS=400 "$B/bin/ovni-report" ./stacks >got || fail "the overview of places"
grep -q 'worker (2) waited 304.000 ms (2 times) for the lock pool_lock, which holder (1) had; the longest wait was in take (pool.c:41) <- worker; meanwhile' got &&
	grep -q 'reader (7) waited for I/O .*; 490.000 ms of it in fsync(3), and of that 250.000 ms in flush (log.c:12) <- main$' got ||
	{ cat got; fail "the places"; }
"$B/bin/ovni-report" --json ./stacks >got || fail "the JSON of places"
python3 - <<'END' || fail "the JSON of places"
import json
found = {f["kind"]: f for f in json.load(open("got"))["findings"]}
assert found["owner"]["place"] == "take (pool.c:41) <- worker", found
assert found["io"]["place"] == "flush (log.c:12) <- main" and found["io"]["numbers"]["place_ns"] == 250000000, found
END

# A lock with its owner (--why=lock): the worker waits 305 ms for the holder, which sleeps 290 ms of it in
# clock_nanosleep, runs 10 ms and waits 5 ms for its CPU; two others wait for a lock of the kernel that the
# worker has, 40 and 60 ms.
make_trace owner <<'END'
thread n 1 1 bpf.name="holder" bpf.session.locks=true bpf.session.machine="x86_64"
0 OHx i32:0 i32:-1 u64:0
10000000 OHp u16:1 i32:0 u16:230
300000000 OHw i32:-2
305000000 OHr
1000000000 OHe
thread n 1 2 bpf.name="worker" bpf.futexes=[{"address":"16","from":"6000000","name":"pool_lock"}]
0 OHx i32:1 i32:-1 u64:0
5000000 OHp u16:1 i32:0 u16:202 u64:16
310000000 OHw i32:1 i32:1
310000000 OHr
1000000000 OHe
thread n 5 5 bpf.name="writer"
0 OHx i32:2 i32:-1 u64:0
400000000 OHp u16:2 i32:0 u16:1 u64:0x8000000000000abc
440000000 OHw i32:2 i32:2
440000000 OHr
1000000000 OHe
thread n 5 6 bpf.name="other"
0 OHx i32:3 i32:-1 u64:0
500000000 OHp u16:2 i32:0 u16:1 u64:0x8000000000000abc
560000000 OHw i32:2 i32:2
560000000 OHr
1000000000 OHe
END
COLUMNS=400 report owner >got || fail "the overview of owners"
grep -q '1\. worker (2) waited 305.000 ms (1 time) for the lock pool_lock, which holder (1) had; meanwhile that thread slept 290.000 ms (290.000 ms at once in clock_nanosleep), ran 10.000 ms and waited 5.000 ms for a CPU$' got &&
	grep -q '^ *ovni-report locks --pid 1 owner$' got || fail "the finding of the lock"
grep -q 'writer (5): its threads waited 100.000 ms (2 times) for the kernel lock abc, which worker (2) had; meanwhile that thread slept 0 ns, ran 100.000 ms and waited 0 ns for a CPU$' got ||
	fail "the finding of the kernel lock"
grep -q '^not recorded:.*locks' got && fail "the locks are said not to be recorded"
report owner --json >got || fail "the JSON of owners"
python3 - <<'END' || fail "the numbers of owners"
import json
found = [f for f in json.load(open("got"))["findings"] if f["kind"] == "owner"]
lock = found[0]
assert [lock["numbers"][k] for k in ("time_ns", "count", "most_ns", "most_at", "run_ns", "wait_ns", "asleep_ns", "call_ns")] == \
    [305000000, 1, 305000000, 310000000, 10000000, 5000000, 290000000, 290000000], lock
assert (lock["lock"], lock["call"]) == ("pool_lock", "clock_nanosleep") and len(found) == 2, found
END
# A part of it: 100 ms from 200 ms on.
report owner --from +200ms --to +300ms --json >got || fail "a part of owners"
python3 - <<'END' || fail "the numbers of a part"
import json
(lock,) = [f for f in json.load(open("got"))["findings"] if f["kind"] == "owner"]
n = lock["numbers"]
assert (n["time_ns"], n["asleep_ns"], n["run_ns"], n["wait_ns"]) == (100000000, 100000000, 0, 0), lock
END
# The parts of an accelerator of Loom always run: they stand behind the threads of the host, which work less.
make_trace accelerator <<'END'
thread loomsim.run 1 1
0 OHx i32:0 i32:-1 u64:0
1000000000 OHe
thread n 20 20 bpf.name="host"
0 OHx i32:0 i32:-1 u64:0
1000000 OHp u16:1 i32:0
900000000 OHw i32:-2
900000000 OHr
1000000000 OHe
END
report accelerator --json >got || fail "an accelerator"
python3 -c 'import json; t = json.load(open("got"))["threads"]; assert [x["tid"] for x in t] == [20, 1], t' || fail "the order of the threads"
