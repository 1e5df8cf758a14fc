#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-export --perfetto: the file, read by a decoder of protobuf, has the runs, waits and slices of
# ovni-report, each to the ns: of a made trace of two looms, of its parts, and of traces of other
# programs; reasons, wakers, losses, births and deaths; hostile names; a damaged trace, a full disk.
set -eu
fail() { echo "$1"; cat "$T/said"; exit 1; }
export_() { # WANTED_STATUS ARGUMENTS...
	local want=$1 status=0
	shift
	"$B/bin/ovni-export" --perfetto "$@" >"$T/said" 2>&1 || status=$?
	[ $status = "$want" ] || fail "ovni-export $*: status $status, expected $want"
}
reader() { python3 -B "$S/tests/golden/perfetto_file.py" "$@" >"$T/said" 2>&1 || fail "$*"; }
cd "$T"
python3 "$S/tests/golden/tools_make.py" trace <"$S/tests/golden/export_trace.txt"
sed -i 's/"again"/"a\xffgain"/' trace/loom.n/proc.2/thread.9/stream.json
export_ 3 trace
grep -q 'warning: trace is incomplete: the recorder lost 7 events' said || fail "losses"
[ -s trace.pftrace ] || fail "no file"
reader trace.pftrace trace "$B/bin"
[ "$(cat said)" = '16 runs, 10 waits, 9 slices agree with ovni-report' ] || fail "the counts"
grep -v 'i32:92' "$S/tests/golden/export_trace.txt" | sed 's/"lost":"7"/"lost":"0"/; s/u16:11/u16:1/' | python3 "$S/tests/golden/tools_make.py" whole
export_ 0 whole
reader whole.pftrace whole "$B/bin"
[ "$(cat said)" = '16 runs, 10 waits, 6 slices agree with ovni-report' ] || fail "the counts without losses"
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "the content of the file"
import sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File, Times

file = File("trace.pftrace")
# looms in the order of their names; CPU 1 of n had other threads, so its time without a thread is not idle
assert [name for name, _ in file.machines.values()] == ["m", "n"], file.machines
used = {cpu: {task for _, _, task in switches} for (machine, cpu), switches in file.switches.items() if machine == 1}
assert 4194306 in used[1] and used[0] == {0, 7, 8}, used
assert {switches[-1][0] for key, switches in file.switches.items() if key[1] != 1023} == {9900}
assert {switches[0][0] for switches in file.switches.values()} == {900}
# names, also of an id that is used again; text of a trace is printable
assert file.processes[1, 1] == ["/bin/busy", "-x"] and file.threads[1, 7] == (1, "busy")
assert file.threads[1, 8][1] == '"\\x1b[31m\\xe2\\x80\\xae', file.threads
assert file.threads[1, 9] == (2, "a\\xffgain") and file.born == {(1, 9): 3200} and file.freed == {(1, 9): 4401}
# each reason as the state of Linux, and each wake-up with its kind of waker
states = Times(file).states
assert states == {1: 5, 0: 1, 256: 2, 2: 2, 8: 1, 4: 1, 16: 3, 128: 1}, states
assert file.blocked == {0: 1, 1: 1}, file.blocked
assert sorted(file.wakings[1, 7]) == [(4000, "interrupt", 1023), (4700, "tid", 0), (7100, "cpu", 0)], file.wakings
assert sorted(file.wakings[1, 8]) == [(1800, "cpu", 0), (2600, "tid", 99), (2900, "tid", 7)], file.wakings
# losses: two marks of ours say 5, the session 7: the rest stands at the end
lost = {(name, begin, end): notes["records"] for _, name, begin, end, notes in file.slices if "records" in notes}
assert lost == {("5 lost", 4400, 4600): 5, ("2 lost", 9500, 9900): 2}, lost
assert file.lost == {(1, 1)}, file.lost
# what is open at the end says so; a switch that was not recorded is no sleep alone; a mark without labels is a counter
assert sorted(s[1:4] for s in file.slices if "open_at_end" in s[4]) == [("solve", 2500, 9500)], file.slices
assert [s[1:4] for s in file.slices if s[1] == "not recorded"] == [("not recorded", 4300, 4701)], file.slices
assert file.counters == {(1, 7, "Counter"): [(4150, -7), (4800, 8)]}, file.counters
PYTHON

# What --why=lock, stack and irq record, as slices of the sleeps and the runs. A damaged file of stacks costs the stacks alone.
python3 "$S/tests/golden/tools_make.py" details <"$S/tests/golden/export_details.txt"
printf '%s\n' 'ovni-bpf stacks 1' $'7\tfutex_wait+0x1;do_futex+0x2' $'8\t=7;take@pool+v2.so+0x1a@pool.c:40;[prog+0x1149]@0fb7;[cut]' >details/stacks
export_ 0 details
reader details.pftrace details "$B/bin"
export_ 0 --from 2500 --to 3500 -o details-piece details
reader --check details-piece
cp -r details torn
printf 'no stacks\n' >torn/stacks
export_ 1 torn
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "the details"
import sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File

def told(name):
    file = File(name)
    return sorted((file.place(s[0])[1:], *s[2:]) for s in file.slices)

sleeps, runs, wait = ((1, "sleep"), (2, "sleep")), (1, "interrupts"), (1, "wait for a CPU")
owner = {"lock_owner": "owner", "lock_owner_tid": 2}
rest = [(sleeps[0], 6000, 7000, {"lock_owner": "not in the trace", "lock_owner_tid": 99})]
irqs = [(runs, 1000, 2000, {"ns": 300}), (runs, 7100, 8000, {"ns": 50}), (runs, 8100, 10000, {"ns": 1024})]
stack = {"stack": "futex_wait <- do_futex"}
user = {"stack": "take <- [prog+0x1149]"}
assert told("details.pftrace") == sorted(irqs + rest + [(sleeps[0], 2000, 5000, {**owner, **stack}), (sleeps[1], 3000, 4000, user), (wait, 8000, 8100, stack)]), told("details.pftrace")
# the same as call stacks; one is shown in the part in which its sleep ends, from the begin of the part on
kernel = [("do_futex", "[kernel]", 2), ("futex_wait", "[kernel]", 1)]
outer = [("[cut]", "[kernel]", 0), ("[prog+0x1149]", "prog", 0x1149), ("take", "pool+v2.so", 0x1a)]
stacks = {(0, 1, 2000): kernel, (0, 2, 3000): outer + kernel, (0, 1, 8000): kernel}
assert File("details.pftrace").stacks == stacks, File("details.pftrace").stacks
assert File("torn.pftrace").stacks == {} and set(File("details-piece").stacks) <= {(0, 1, 2500), (0, 2, 3000)}, File("details-piece").stacks
assert told("torn.pftrace") == sorted(irqs + rest + [(sleeps[0], 2000, 5000, owner)]), told("torn.pftrace")
PYTHON

# Values: arguments come ahead of their call, returned values behind it, at the same clock; names of a thread; marks with
# labels, idle states and hardware counters of nOS-V; time that was not recorded, also beyond a part's begin.
python3 "$S/tests/golden/tools_make.py" values <<'END'
thread n 1 7 bpf.name="second\"" bpf.renames=[{"clock":"900","name":"first"},{"clock":"1250","name":"mid"},{"clock":"1400","name":"second\""}] ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f","2":"g"}},"3":{"title":"f(arg1)","chan_type":"single","labels":{"-2147483648":"0"}},"4":{"title":"f(ret)","chan_type":"single"},"5":{"title":"Phase","chan_type":"single","labels":{"1":"cold"}}} ovni.require={"ovni":"1.1.0","nosv":"2.6.0"} nosv.hwc={"0":{"name":"cycles"},"1":{"name":"misses"}} nosv.can_breakdown=false
1000 OHx i32:0 i32:-1 u64:0
1100 OM= i64:5 i32:3
1100 OM[ i64:1 i32:0
1150 OM= i64:1 i32:5
1200 OM= i64:-2147483648 i32:3
1200 OM[ i64:1 i32:0
1210 OM= i64:77 i32:3
1220 OM[ i64:2 i32:0
1300 OM] i64:2 i32:0
1300 OM] i64:1 i32:0
1300 OM= i64:-9 i32:4
1350 VPr
1400 OM] i64:1 i32:0
1401 OM= i64:9 i32:4
1450 VPp
1500 VWC+ i64:100 i64:-2
1600 OHp u16:1 i32:0 u64:30
1700 OHw i32:0
1800 OHr u64:40
1900 VWC+ i64:9223372036854775807 i64:3
2000 OHp u16:1 i32:0
2100 OHw i32:0 u64:5
2200 OHr
2300 OHe
END
export_ 0 values
reader values.pftrace values "$B/bin"
export_ 0 --from 1210 --to 1650 -o piece.pftrace values
reader --check piece.pftrace
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "the values"
import sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File

file = File("values.pftrace")
calls = [s[1:] for s in file.slices if s[1] in ("f", "g")]
assert calls == [("g", 1220, 1300, {}), ("f", 1200, 1300, {"inner": 1, "f(arg1)": 0, "f(ret)": -9}),
                 ("f", 1100, 1400, {"f(arg1)": 5})], calls
assert file.instants == [(0, 7, "renamed to mid", 1250), (0, 7, 'renamed to second"', 1400)], file.instants
assert file.counters == {(0, 7, "f(arg1)"): [(1100, 5), (1200, 0), (1210, 77)], (0, 7, "f(ret)"): [(1300, -9), (1401, 9)],
                         (0, 7, "cycles"): [(1500, 100), (1900, 9223372036854775807)], (0, 7, "misses"): [(1500, -2), (1900, 3)]}, file.counters
other = sorted((file.place(s[0])[2], *s[1:4]) for s in file.slices if s[1] not in ("f", "g"))
assert other == [("Phase", "cold", 1150, 2300), ("idle", "Progressing", 1450, 2300), ("idle", "Resting", 1350, 1450),
                 ("not recorded", "not recorded", 1570, 1600), ("not recorded", "not recorded", 1700, 1800),
                 ("not recorded", "not recorded", 2000, 2200)], other
# a part has the values that hold when it begins, and the names from then on
file = File("piece.pftrace")
assert file.counters[0, 7, "f(arg1)"] == [(1210, 0), (1210, 77)] and (0, 7, "cycles") in file.counters, file.counters
assert [s[1:] for s in file.slices if s[1] == "f"] == [("f", 1210, 1300, {"inner": 1, "f(arg1)": 0, "f(ret)": -9}),
                                                       ("f", 1210, 1400, {"f(arg1)": 5})], file.slices
PYTHON

# Values of ovni-bpf --counters are of a run: from its begin to its end.
python3 "$S/tests/golden/tools_make.py" counted <<'END'
thread n 1 7 bpf.name="a" bpf.counters=true ovni.require={"ovni":"1.1.0","nosv":"2.6.0"} nosv.hwc={"0":{"name":"cycles"}} nosv.can_breakdown=false
1000 OHx i32:0 i32:-1 u64:0
1500 VWC+ i64:100
1600 OHp u16:1 i32:0
1800 OHw i32:0
2000 OHr
2100 VWC+ i64:7
2200 VWC+ i64:-1
2300 OHe
END
export_ 0 counted
reader counted.pftrace counted "$B/bin"
export_ 0 --from 2050 -o counted.piece counted
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "the counters of runs"
import sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File

values = File("counted.pftrace").counters[0, 7, "cycles"]
assert values == [(1000, 100), (1500, 0), (2000, 7), (2100, 0), (2100, -1), (2200, 0)], values
values = File("counted.piece").counters[0, 7, "cycles"]
assert values == [(2050, 0), (2050, 7), (2100, 0), (2100, -1), (2200, 0)], values
PYTHON

# States on the virtual CPU, as `why` has them, but not those of a thread that is only entered or closed there; bodies of
# tasks, with the label of their type; system calls of sleeps, as functions in which the thread is blocked.
python3 "$S/tests/golden/tools_make.py" more <<'END'
thread n 1 7 ovni.require={"ovni":"1.1.0","nosv":"2.6.0","openmp":"1.2.0","nanos6":"1.1.0"}
1000 OHx i32:-1 i32:-1 u64:0
1010 VYc+ u32:3 str:solve_it
1020 VTc u32:9 u32:3
1030 VTC u32:10 u32:4
1100 VTx u32:9 u32:0
1200 VTp u32:9 u32:0
1200 VTx u32:10 u32:2
1300 VTe u32:10 u32:2
1400 VTr u32:9 u32:0
1450 VTe u32:9 u32:0
1460 POc+ u32:1 str:loop
1470 PPc u32:5 u32:1
1480 PPx u32:5
1485 PQx u32:1
1490 PQe u32:1
1495 PPe u32:5
1500 OHp
1800 OHw
2000 OHr
2100 6Tx u32:77
2200 6Te u32:77
2400 OAs i32:0
2600 OHp
2700 OHw
2800 OHr
3000 OHe
END
python3 "$S/tests/golden/tools_make.py" calls <<'END'
thread n 2 2 bpf.session.machine="x86_64" bpf.fds=[{"fd":3,"name":"/data","from":"1","to":"9000"},{"fd":4,"name":"/early","from":"1","to":"2400"},{"fd":4,"name":"/late","from":"2550","to":"9000"}]
1000 OHx i32:-1 i32:-1 u64:0
1000 OHp u16:1 i32:0 u16:0 u64:3
1900 OHw i32:0
2000 OAs i32:1
2000 OHr
2200 OHp u16:1 i32:0 u16:0 u64:3
2300 OHw i32:0
2400 OHr
2500 OHp u16:3 i32:0 u16:0 u64:4
2600 OHw i32:0
2700 OHr
2800 OHp u16:2 i32:0 u16:202 u64:4096
2900 OHw i32:0
3000 OHr
3000 OHe
END
export_ 0 more
export_ 0 calls
export_ 0 --from 1250 --to 2250 -o piece.pftrace calls
reader --check more.pftrace piece.pftrace
reader calls.pftrace calls "$B/bin"
"$B/bin/ovni-report" why --csv more >why
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "states, tasks and calls"
import csv, sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File

file = File("more.pftrace")
states = [(file.place(s[0])[1:], *s[1:]) for s in file.slices if file.tracks[s[0]][2] == "state"]
assert states == [((7, "state"), "running", 1000, 1500, {}), ((7, "state"), "unknown", 1500, 1800, {}),
                  ((7, "state"), "runnable", 1800, 2000, {"reason": "woken"}),
                  ((7, "state"), "running", 2000, 2400, {})], states
assert [(end - begin, state) for switches in file.switches.values() for (begin, _, task), (end, state, _) in zip(switches[1:], switches[2:])
        if task == 7] == [(200, 1), (200, 16)] and file.wakings[0, 7] == [(2700, "tid", 0)], (file.switches, file.wakings)
assert {r["state"]: int(r["time"]) for r in csv.DictReader(open("why"))} == {"running": 1300, "unknown": 400, "runnable": 300}
tasks = sorted((file.place(s[0])[2], *s[1:]) for s in file.slices if file.tracks[s[0]][2].endswith(" task"))
assert tasks == [("nanos6 task", "task", 2100, 2200, {"taskid": 77}),
                 ("nosv task", "solve it", 1100, 1200, {"taskid": 9, "typeid": 3}),
                 ("nosv task", "solve it", 1400, 1450, {"taskid": 9, "typeid": 3}),
                 ("nosv task", "task", 1200, 1300, {"taskid": 10, "typeid": 4, "bodyid": 2}),
                 ("openmp task", "loop", 1480, 1495, {"taskid": 5, "typeid": 1}),
                 ("openmp task", "loop", 1485, 1490, {"inner": 1, "typeid": 1})], tasks
file = File("calls.pftrace")
assert dict(file.calls[0, 2]) == {"read(3 = /data)": 1, "read(4 = /late)": 1, "futex": 1}, file.calls
assert file.blocked == {0: 2, 1: 1}, file.blocked
assert "read(3 = /data)" in File("piece.pftrace").calls[0, 2]
PYTHON

# One pid and tid with several lives in one stream: between them it waits for no CPU, neither if a creator says that it is
# another thread, nor if it left the filter. A thread wakes others after its last switch: its number is free only then.
python3 "$S/tests/golden/tools_make.py" lives <<'END'
thread n 1 1 bpf.name="parent" bpf.session={"t0":"1000","t1":"9000"}
1000 OHx i32:0 i32:-1 u64:0
1400 OHC i32:0 u64:7
2000 OHp u16:1 i32:7
3200 OHw i32:7
3400 OHr
3500 OHC i32:0 u64:7
4000 OHp u16:1 i32:7
5000 OHw i32:8
5100 OHr
9000 OHe
thread n 7 7 bpf.name="again" bpf.exit={"status":0}
2001 OHx i32:0 i32:1 u64:1
3000 OHe
4001 OHx i32:0 i32:1 u64:1
4100 OHp u16:6 i32:1
4100 OHw i32:-1
4200 OHr
4900 OHe
thread n 8 8 bpf.name="elsewhere" bpf.exit={"status":0}
1500 OHx i32:1 i32:-1 u64:0
1600 OHe
2500 OHx i32:1 i32:-1 u64:0
4950 OHe
END
export_ 0 lives
reader lives.pftrace lives "$B/bin"
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "lives"
import sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File, Times

file = File("lives.pftrace")
runs = Times(file).runs
assert file.parents == {1: 0, 7: 1, 8: 0}, file.parents
assert [run[3] for run in runs[0, 7]] == [16, 256, 16] and [run[3] for run in runs[0, 8]] == [16, 16], runs
assert file.births == {(0, 7): [1400, 3500]} and file.frees == {(0, 7): [3201, 4901], (0, 8): [5001]}, (file.births, file.frees)
PYTHON

# Parts: each stands alone; together they have all the time.
export_ 3 --from 2050 --to 4460 -o part.pftrace trace
reader --check part.pftrace
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "the content of a part"
import sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File

file = File("part.pftrace")
assert {s[0][0] for s in file.switches.values()} == {2050}
assert {s[-1][0] for key, s in file.switches.items() if key[1] != 1023} == {4460}
assert file.switches[1, 0][1] == (2050, 0, 8), file.switches # runs when the part begins
assert sorted(s[2:4] for s in file.slices if s[1] == "solve") == [(2050, 4460), (2500, 4460), (4450, 4460)], file.slices
PYTHON

# --split: files that stand alone; together they have the run time of all threads, and at most 17 bytes per switch.
awk 'BEGIN { for (tid = 1; tid <= 2; tid++) { print "thread n 1 " tid; print (tid == 2 ? 21 : 10) " OHx i32:0 i32:-1 u64:0"
	for (i = tid; i < 12000; i += 2) { print 10 * i + 10 " OHp u16:1 i32:" 3 - tid; print 10 * i + 15 " OHw i32:" 3 - tid
		print 10 * i + 21 " OHr" } print (tid == 2 ? 120010 : 900000) " OHe" } }' | python3 "$S/tests/golden/tools_make.py" long
export_ 0 long
reader long.pftrace long "$B/bin"
export_ 0 --split 64K -o split.pftrace long
reader --check split-*.pftrace
python3 -B - "$S/tests/golden" <<'PYTHON' >said 2>&1 || fail "the parts"
import glob, os, sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File

def time_of(file):
    switches = file.switches[0, 0]
    return sum(b[0] - a[0] for a, b in zip(switches[1:], switches[2:]) if a[2])

whole = File("long.pftrace")
parts = [File(path) for path in sorted(glob.glob("split-*.pftrace"))]
assert len(parts) > 1 and not os.path.exists("split.pftrace"), parts
bounds = [(p.switches[0, 0][0][0], p.switches[0, 0][-1][0]) for p in parts]
assert all(a[1] == b[0] for a, b in zip(bounds, bounds[1:])), bounds
assert sum(map(time_of, parts)) == time_of(whole), (list(map(time_of, parts)), time_of(whole))
assert os.path.getsize("long.pftrace") <= 17 * len(whole.switches[0, 0]), os.path.getsize("long.pftrace")
PYTHON

# Traces of other programs, of all models.
for name in syn-random-06 syn-kernel-switches syn-nodes-tampi-mpi-nosv-random; do
	export_ 0 -o v.pftrace "$CONFORMANCE/emu/$name/trace"
	reader --check v.pftrace
done

# Damage: the part before it; no events; outputs that are not regular files; a full disk.
cp -r trace cut
truncate -s -5 cut/loom.n/proc.1/thread.7/stream.obs
export_ 1 cut
grep -q 'the file ends where the trace is damaged' said || fail "damage"
reader --check cut.pftrace
printf 'thread n 1 1\n' | python3 "$S/tests/golden/tools_make.py" none
export_ 1 none
grep -q 'none: no event to export' said && [ ! -e none.pftrace ] || fail "no event"
export_ 1 --from 99999 -o late.pftrace trace
grep -q 'no event in the part that is asked for' said && [ ! -e late.pftrace ] || fail "an empty part"
mkdir folder.pftrace
export_ 1 -o folder.pftrace trace
export_ 1 -o /dev/null trace
export_ 1 -o absent/file.pftrace trace
ln -s elsewhere link.pftrace
export_ 1 -o link.pftrace trace
[ ! -e elsewhere ] || fail "a link was followed"
echo old >old.pftrace
(
	trap '' XFSZ
	ulimit -f 0
	status=0
	text=$("$B/bin/ovni-export" --perfetto -o old.pftrace trace 2>&1) || status=$?
	[ $status = 1 ] && [[ $text == *"cannot write 'old.pftrace'"* ]]
) || fail "a full disk"
[ "$(cat old.pftrace)" = old ] && [ "$(find . -name '*.part')" = '' ] || fail "half a file is left"
status=0
"$B/bin/ovni-export" trace >said 2>&1 || status=$?
[ $status = 2 ] && grep -q 'no format is chosen' said || fail "no format"
