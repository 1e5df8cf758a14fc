#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-cut: a part of a trace is a valid trace, with open regions and states entered and left at its
# edges.
set -eu
cut_() { rm -rf "$T/o"; "$B/bin/ovni-cut" -o "$T/o" "$@" >"$T/said" 2>&1 || fail "it failed: $*"; }
. "$S/tests/golden/tools_lib.sh"
same() { # WHAT: the events of $T/o, shortened, against standard input
	sed 's/  */ /g; s/ *$//' >"$T/want"
	"$B/bin/ovni-dump" -x -s "$T/o" | sed 's/  loom.n.proc.[0-9]*.thread/ /; s/^ *//; s/  */ /g; s/ *$//' >"$T/got"
	diff "$T/want" "$T/got" || fail "$1"
	"$B/bin/ovni-check" --strict -q "$T/o" >"$T/said" || [ $? = 3 ] || fail "$1: not valid"
}
make_trace "$T/t" <<'END'
thread n 1 1 ovni.mark={"0":{"title":"F","chan_type":"stack","labels":{"1":"f"}}} ovni.require={"ovni":"1.1.0","nosv":"2.7.0","kernel":"1.0.0"} bpf.events="9" bpf.session.lost="0"
10 OHx i32:0 i32:-1 u64:0
12 VYc+ u32:5 str:t
14 VTc u32:9 u32:5
20 OM[ i64:1 i32:0
30 OHp u16:1 i32:2
60 OHw i32:2
65 OHr
70 OM] i64:1 i32:0
90 OHe
thread n 1 2 ovni.app_id= ovni.require={"ovni":"1.1.0"}
15 OHx i32:1 i32:-1 u64:0
25 VTx u32:9 u32:0
35 VSh
45 VSf
55 VTe u32:9 u32:0
58 KCO
75 KCI
85 OHe
END
# Thread 1 sleeps on CPU 0 when the part begins, and is in f; thread 2 runs a task.
cut_ --from 40 --to 67 "$T/t"
same "a window" <<'END'
39 OHx .1  :ff:ff:ff:ff:ff:ff:ff:ff:00:00:00:00:00:00:00:00
39 VYc .1  :06:00:00:00:05:00:00:00:74:00
39 VTc .1  :09:00:00:00:05:00:00:00
39 OM[ .1  :01:00:00:00:00:00:00:00:00:00:00:00
39 OHp .1 :01:00:02:00:00:00
60 OHw .1  :02:00:00:00
60 OAs .1  :00:00:00:00
65 OHr .1
67 OM] .1  :01:00:00:00:00:00:00:00:00:00:00:00
67 OHe .1
40 OHx .2  :01:00:00:00:ff:ff:ff:ff:00:00:00:00:00:00:00:00
40 VTx .2  :09:00:00:00:00:00:00:00
40 VSh .2
45 VSf .2
55 VTe .2  :09:00:00:00:00:00:00:00
58 KCO .2
67 KCI .2
67 OHe .2
END
# Of a job: the clocks stay, and the table has the nodes that are left, so the part is corrected as the whole is.
"$B/tests/bench/generate" job 1000 "$T/job" 192 >"$T/got"
cut_ --loom n0002 --loom n0001 "$T/job"
grep -v n0000 "$T/job/clock-offsets.txt" | cmp - "$T/o/clock-offsets.txt" || fail "the table of two nodes"
rm "$T/job/clock-offsets.txt"
cut_ --loom n0001 "$T/job"
[ ! -e "$T/o/clock-offsets.txt" ] || fail "a table from nowhere"
# A stream without a count of its events that is damaged behind the window has a whole part before, and none with
# the damage; that of a stream with such a count is incomplete.
cp -R "$T/t" "$T/damaged"
truncate -s -6 "$T"/damaged/loom.n/proc.1/thread.2/stream.obs
cut_ --to 60 "$T/damaged"
"$B/bin/ovni-check" --strict -q "$T/o" >"$T/said" 2>&1 || [ $? = 3 ] || fail "the part before damage is not valid"
rm -rf "$T/o"
"$B/bin/ovni-cut" --from 60 -o "$T/o" "$T/damaged" >"$T/said" 2>&1 && fail "a part with damage counts as whole"
grep -q 'ends inside an event' "$T/said" || fail "the damage is not told"
truncate -s -6 "$T"/damaged/loom.n/proc.1/thread.1/stream.obs
rm -rf "$T/o"
status=0
"$B/bin/ovni-cut" --to 60 -o "$T/o" "$T/damaged" >"$T/said" 2>&1 || status=$?
[ $status = 3 ] && grep -q '1 event is missing' "$T/said" || fail "status $status of a part of a trace without its last event"
# One thread: the creations that it needs from the other one come along, with their metadata.
cut_ --tid 2 "$T/t"
same "one thread" <<'END'
15 OHx .2  :01:00:00:00:ff:ff:ff:ff:00:00:00:00:00:00:00:00
15 VYc .2  :06:00:00:00:05:00:00:00:74:00
15 VTc .2  :09:00:00:00:05:00:00:00
25 VTx .2  :09:00:00:00:00:00:00:00
35 VSh .2
45 VSf .2
55 VTe .2  :09:00:00:00:00:00:00:00
58 KCO .2
75 KCI .2
85 OHe .2
END
grep -q '"loom_cpus"' "$T/o/loom.n/proc.1/thread.2/stream.json" || fail "the CPUs of the loom are lost"
cut_ --model kernel "$T/t"
"$B/bin/ovni-dump" --mcv 'V*' "$T/o" | grep . && fail "events of nosv are left"
same "one model" < <("$B/bin/ovni-dump" -x -s "$T/t" | grep -v '  V..  ' |
	sed 's/  loom.n.proc.[0-9]*.thread/ /; s/^ *//; s/ *$//')

# What the whole trace knows of a time, and what it does not (it is in a gap, or a switch is missing),
# is the same in a part that begins or ends there: by state and reason, and of the CPUs.
make_trace "$T/w" <<'END'
thread n 1 1 bpf.name="a" bpf.session.t0="0" bpf.session.t1="1000" bpf.session.lost="0" bpf.session.idle_known=true ovni.loom_cpus=[{"index":0,"phyid":0},{"index":1,"phyid":1}] bpf.session.cpus=[{"cpu":0,"index":0,"ns":{"unknown":"420","idle":"0","other":"0"}},{"cpu":1,"index":1,"ns":{"unknown":"50","idle":"150","other":"0"}}]
0 OHx i32:0 i32:-1 u64:0
300 OHp u16:1 i32:2 u64:200
440 OHw i32:-2
450 OHr
600 OHp u16:11 i32:-1 u64:80
700 OHw i32:-2 u64:180
720 OHr u64:200
800 OHp u16:6 i32:2
800 OHw i32:-1
830 OHr
1000 OHe
thread n 1 2 bpf.name="b" ovni.require={"ovni":"1.1.0","kernel":"1.0.0"}
0 OHx i32:-1 i32:-1 u64:0
0 OHp u16:0 i32:-1
0 OHw i32:0
100 OAs i32:1
100 OHr
400 OHp u16:3 i32:0
760 OHw i32:1 u64:360
760 OHr
900 OHp u16:1 i32:0
1000 OHw i32:0 u64:100
1000 OAs i32:-1
1000 OHr u64:100
1000 OHe
END
times() { # TRACE [OPTION...]
	report why --csv -n 0 "$@" | cut -d , -f 1,6,7,9 | sort
	report cpu --csv -n 0 "$@" | cut -d , -f 1-4 | grep -v ',0$'
}
for from in 0 150 350 445 650 710 850; do
	for to in 200 301 420 520 605 690 715 810 920; do
		[ "$to" -gt "$from" ] || continue
		cut_ --from $from --to "$to" "$T/w"
		times "$T/w" --from $from --to "$to" >"$T/want"
		times "$T/o" >"$T/got"
		diff "$T/want" "$T/got" || fail "--from $from --to $to: the part is not the whole trace"
		"$B/bin/ovni-check" --strict -q "$T/o" >"$T/said" || [ $? = 3 ] || fail "--from $from --to $to: not valid"
	done
done
# Threads that are left out may have been on a CPU that then seems idle.
cut_ --tid 2 "$T/w"
report cpu --csv "$T/o" | grep idle | cut -d , -f 2-4 >"$T/got"
printf '%s\n' '0,other threads or idle,580' '1,other threads or idle,510' | diff - "$T/got" || fail "idle CPUs of one thread"

# One CPU: a thread is there while it is on it.
make_trace "$T/u" <<'END'
thread n 1 1
10 OHx i32:0 i32:-1 u64:0
20 OM= i64:7 i32:1
30 OHp u16:6 i32:0
30 OHw i32:-1
40 OAs i32:1
40 OHr
50 OHp u16:6 i32:0
50 OHw i32:-1
60 OAs i32:0
60 OHr
70 OHe
END
sed -i 's/"require"/"mark": {"1": {"title": "M", "chan_type": "single"}}, "require"/' \
	"$T/u/loom.n/proc.1/thread.1/stream.json"
cut_ --cpu 0 "$T/u"
same "one CPU" <<'END'
10 OHx .1  :00:00:00:00:ff:ff:ff:ff:00:00:00:00:00:00:00:00
20 OM= .1  :07:00:00:00:00:00:00:00:01:00:00:00
30 OHp .1  :06:00:00:00:00:00
30 OHw .1  :ff:ff:ff:ff
40 OAs .1  :ff:ff:ff:ff
40 OHr .1
40 OHe .1
60 OHx .1  :ff:ff:ff:ff:ff:ff:ff:ff:00:00:00:00:00:00:00:00
60 OM= .1  :07:00:00:00:00:00:00:00:01:00:00:00
60 OHp .1 :06:00:00:00:00:00
60 OHw .1 :ff:ff:ff:ff
60 OAs .1  :00:00:00:00
60 OHr .1
70 OHe .1
END
cut_ --from 1000 "$T/t"
grep -q "the part has no events" "$T/said" || fail "an empty part is not reported"
"$B/bin/ovni-cut" -o "$T/o" "$T/t" 2>"$T/said" && fail "an output that exists was taken"

# Parts of all vectors that are valid: the parts are valid as well.
python3 - "$CONFORMANCE/emu" "$B/bin" "$T/v" <<'END'
import glob, json, os, random, shutil, subprocess, sys
vectors, bins, top = sys.argv[1:]
random.seed(11)
n, wrong = 0, []
for case in sorted(glob.glob(vectors + "/*/case.json")):
    folder, meta = os.path.dirname(case), json.load(open(case))
    trace = folder + "/trace"
    if meta["kind"] != "ok" or meta["flags"] or not os.path.isdir(trace) or \
            os.path.exists(trace + "/clock-offsets.txt"):
        continue
    dump = subprocess.run([bins + "/ovni-dump", trace], capture_output=True, text=True, errors="replace").stdout
    lines = [line.split() for line in dump.splitlines()]
    clocks = [int(line[0]) for line in lines]
    if len(clocks) < 4 or clocks != sorted(clocks):
        continue
    first, last = sorted(random.sample(clocks, 2))
    tid = random.choice(lines)[2].rsplit(".", 1)[-1]
    for options in (["--from", str(first), "--to", str(last)], ["--tid", tid], ["--cpu", "0"]):
        if not options[1].isdigit():
            continue
        shutil.rmtree(top, ignore_errors=True)
        run = subprocess.run([bins + "/ovni-cut", "-o", top] + options + [trace], capture_output=True, text=True)
        check = subprocess.run([bins + "/ovni-check", "-q", top], capture_output=True, text=True, errors="replace")
        n += 1
        empty = "the part has no events" in run.stderr and "it has no streams" in check.stdout
        if run.returncode or check.returncode not in (0, 3) and not empty:
            wrong.append("%s %s\n%s%s" % (meta["name"], options, run.stderr, check.stdout))
print("%d parts, %d not valid" % (n, len(wrong)))
sys.exit("\n".join(wrong) or (None if n > 100 else "too few parts"))
END
