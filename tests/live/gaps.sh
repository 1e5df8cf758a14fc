#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The recorder stands still until its small rings have lost events, and then has to save or to cut
# at once: the gap is still open in the kernel, or has just ended, and belongs to every window that
# it overlaps. The trace has its count of losses, marks of them, status 3, and is not complete for
# ovni-check. The traces of a rotation add up to the losses that the kernel counted. Marks never
# have more losses than the count; a gap that no thread can show has no mark (event-mapping.md).
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

stopped() { grep -q '^State:.*stopped' /proc/"$recorder"/status; }

# Laps of the workload so far: it runs while the recorder is stopped.
switches() { awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n + 0 }' /proc/"$target"/task/*/status; }
gone_on() { [ "$(switches)" -gt "$enough" ]; }

# Stops the recorder until the target has switched more often than its rings hold.
stand_still() {
	kill -STOP $recorder
	wait_until stopped || complain "the recorder does not stop"
	enough=$(($(switches) + 20000))
	wait_until gone_on || complain "the workload does not go on"
}

saved() { grep -q "$1/0001: .*($2" "$1.log"; }

# A trace of a rotation, or saved on request.
look() { # NAME/NUMBER, Python on standard input
	judge "$1"
	rm -f "$1.emu"
	{
		cat <<-'E'
			import sys
			from facts import *
			trace = Trace(sys.argv[1])
			s = trace.session
			check_account(s)
			t0, t1, lost = int(s["t0"]), int(s["t1"]), int(s["lost"])
			lost -= sum(int(cpu["missed"]) for cpu in s["account"])
			begins, ends = [], []
			for stream in trace.streams:
			    for e in stream.events:
			        if e.mcv in ("OM[", "OM]") and e.ints("qi")[1] == 92:
			            (begins if e.mcv == "OM[" else ends).append((e.clock, e.ints("qi")[0]))
			marked = sum(n for _, n in begins)
			check(sorted(n for _, n in begins) == sorted(n for _, n in ends), begins, ends)
			print(sys.argv[1], "lost", lost, "marks", begins, "of", t1 - t0, "ns")
		E
		cat
		echo 'verdict()'
	} >"${1%/*}.py"
	python3 "${1%/*}.py" "$1" || complain "$1: facts"
}

incomplete() { # NAME/NUMBER
	local got=0
	"$B/bin/ovni-check" "$1" >check.log 2>&1 || got=$?
	[ $got = 3 ] || complain "$1: ovni-check ends with $got: $(cat check.log)"
	"$B/bin/ovni-report" "$1" >report.log 2>&1
	grep -qi 'lost' report.log || complain "$1: the overview says nothing of a loss: $(cat report.log)"
}

begin() { # NAME OPTION...
	local name=$1
	shift
	start_waiting switcher -n 4 -u 60000000
	"$RECORDER" -b 64K -o "$name" "$@" -p $target >"$name.log" 2>&1 &
	recorder=$!
	wait_recording "$name" $recorder
	open_gate
	enough=2000
	wait_until gone_on || complain "$name: the workload does not begin"
}

end() { # NAME
	kill -INT $recorder
	wait $recorder
	status=$?
	kill -KILL $target
	wait $target 2>/dev/null
	[ $status = 3 ] || complain "$1: status $status instead of 3: $(tail -n 5 "$1.log")"
}

# A flight recorder: on request, as soon as it continues.
begin asked --last 300ms
stand_still
sleep 0.4 # longer than the window
kill -USR1 $recorder
kill -CONT $recorder
wait_until saved asked request || complain "asked: no trace: $(cat asked.log)"
end asked
look asked/0001 <<'E'
check(s["stopped_by"] == "request", s["stopped_by"])
check(lost > 10000, "lost", lost)
check(lost // 2 < marked <= lost, "marks tell", marked, "of", lost)
E
incomplete asked/0001
# the window of the last trace begins in the gap, or after it
look asked/0002 <<'E'
check(lost // 2 < marked <= lost or marked == lost == 0, "marks tell", marked, "of", lost)
E

# A rotation, cut on request at the same moment: each loss is in one of the traces.
begin cut --rotate 1h
stand_still
kill -USR1 $recorder
kill -CONT $recorder
wait_until saved cut request || complain "cut: no trace: $(cat cut.log)"
end cut
: >cut.sums
for part in cut/0*; do
	look "$part" <<E
check(marked <= lost and (marked or not lost), "marks tell", marked, "of", lost)
if $((10#${part#*/})) == 1:
    check(lost > 10000, "lost", lost)
with open("cut.sums", "a", encoding="utf-8") as f:
    print(s["lost"], file=f)
E
done
incomplete cut/0001
told=$(sed -n 's/^ovni-bpf: \([0-9]*\) events\{0,1\} .* LOST.*/\1/p' cut.log)
sum=$(awk '{ n += $1 } END { print n }' cut.sums)
[ "$told" = "$sum" ] || complain "cut: the kernel counted '$told' losses, the traces have $sum: $(cat cut.log)"

# The end of a recording while the gap is open.
begin ended
stand_still
kill -INT $recorder
kill -CONT $recorder
end ended
look ended <<'E'
check(lost > 10000, "lost", lost)
check(0 < marked <= lost, "marks tell", marked, "of", lost)
E
incomplete ended
finish
