#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A loss that is forced: it is counted exactly, shown, in the trace, and in the exit status, and the
# trace is valid; its reports call the same times unknown as its statistics. First with a tiny buffer,
# then with a recorder that is stopped for seconds, which does not affect the program.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

look() { # NAME STATUS
	[ "$2" = 3 ] || complain "$1: status $2 instead of 3: $(tail -n 5 "$1.log")"
	judge "$1"
	facts "$1" <<'E'
lost = int(trace.session["lost"])
check(lost > 0, "nothing was lost")
check_account(trace.session)
account = sum(int(kind["lost"]) for cpu in trace.session["account"]
              for kind in cpu.values() if isinstance(kind, dict))
missed = sum(int(cpu["missed"]) for cpu in trace.session["account"])
check(account + missed == lost, "lost", lost, "of which the account knows", account, "+", missed)
pushed, popped = [], []
for stream in trace.streams:
    for event in stream.events:
        if event.mcv in ("OM[", "OM]"):
            value, kind = event.ints("qi")
            if kind == 92:
                (pushed if event.mcv == "OM[" else popped).append((event.clock, value))
# A thread that ended while the recorder was stopped has no event after the gap.
values = [sorted(n for _, n in marks) for marks in (pushed, popped)]
check((pushed or name == "stopped") and values[0] == values[1], len(pushed), "gaps begin,", len(popped), "end")
tail = lost - missed - sum(n for _, n in pushed)  # after the window, or no thread was left to show it
check(tail >= 0 and (pushed or tail > 0), "marks tell", sum(values[0]), "of", lost)
check(tail <= lost // 2 or name == "stopped", "no mark tells of", tail, "of", lost)
text = open(name + ".log", encoding="utf-8").read()
check(str(lost) in text, "the summary does not say", lost)
print(f"lost {lost}, in marks {sum(values[0])}, in {len(pushed)} gaps, repairs {trace.session['counts']['repairs']}")
E
	python3 "$S/tests/live/unknown.py" "$B/bin" "$1" || complain "$1: unknown times"
}

wanted_status=3
tiny() { # MODE
	record "tiny-$1" "$1" -b 4K -- storm -n 8 -l 5000
	look "tiny-$1" "$status"
}
attempts 3 tiny command
attempts 3 tiny all # any thread of the machine may be one of a rare kind

# The recorder stands still for three seconds, and for the whole life of the program, which does its
# work and ends meanwhile.
for mode in stopped rotated; do
	mkfifo gate
	WORKLOAD_REPORT=$T/$mode.report WORKLOAD_GATE=$T/gate "$WORKLOADS/storm" -l 20000 &
	target=$!
	options=()
	[ $mode = stopped ] || options=(--rotate 100ms)
	"$RECORDER" -b 256K "${options[@]}" -o $mode -p $target >$mode.log 2>&1 &
	recorder=$!
	wait_recording $mode $recorder
	kill -STOP $recorder
	stopped() { grep -q '^State:.*stopped' /proc/"$recorder"/status; }
	wait_until stopped
	: >gate
	sleep 3
	wait $target || complain "$mode: the program was harmed"
	[ "$(grep -c 'laps=20000' $mode.report)" = 8 ] || complain "$mode: $(cat $mode.report)"
	expect "it stands still" stopped
	kill -CONT $recorder
	status=0
	wait $recorder || status=$?
	rm gate
	unread=$(sed -n 's/.* the buffers were not read for \([0-9]*\) ms.*/\1/p' $mode.log)
	expect "$mode: the time without a read: ${unread:-none} ms" [ "${unread:-0}" -ge 3000 ]
	[ $mode = rotated ] || { look stopped $status && continue; }
	[ $status = 3 ] || complain "rotated: status $status instead of 3: $(tail -n 5 rotated.log)"
	for part in rotated/0*; do
		judge "$part"
		rm "$part.emu"
	done
done
finish
