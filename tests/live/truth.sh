#!/bin/bash
# SPDX-License-Identifier: MIT
#
# True to the kernel: each workload is recorded by us and, at the same time, by the kernel's own
# tracer; thread by thread both must have the same stays on CPUs, the same reasons, wake-ups and
# wakers. System-wide, everything else that ran meanwhile is compared, too.
#
# compare.c does not judge events that one of the two instruments cannot see, and limits their
# number.
# needs: root alone
# longer: every workload in each mode
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# The window of the session; and its account of each CPU adds up to it, to the ns.
window() { # NAME
	facts "$1" <<'E'
t0, t1 = int(trace.session["t0"]), int(trace.session["t1"])
for cpu in trace.session["cpus"]:
    used = sum(int(ns) for ns in cpu["ns"].values())
    check(used == t1 - t0, "CPU", cpu["cpu"], "accounts for", used, "ns of", t1 - t0)
print(t0, t1, sum(int(cpu["ns"]["unknown"]) for cpu in trace.session["cpus"]))
E
}

# The short run takes each workload in one mode, the three modes in turn.
truth() { # NAME MODE WORKLOAD [ARG...]
	turn=$((turn + 1))
	[ "$LONG" ] || [ $((turn % 3)) = 0 ] || return 0
	attempts 3 compare "$@" # the host may stop a CPU between the readings of both too often
}

compare() { # NAME MODE WORKLOAD [ARG...]
	local name=$1-$2 mode=$2 tracer wanted=() times t0 t1 unknown
	shift
	: >"$name.ftrace"
	"$B/tests/live/ftrace" "$name.seen" >"$name.ftrace" 2>&1 &
	tracer=$!
	wait_until grep -q ready "$name.ftrace" || skip "no ftrace: $(cat "$name.ftrace")"
	record "$name" "$@"
	kill -INT "$tracer"
	wait "$tracer" || complain "$name: $(cat "$name.ftrace")"
	judge "$name"
	times=$(window "$name") || complain "$name: $times"
	read -r t0 t1 unknown <<<"$times"
	[ "$mode" = all ] || wanted=(-w "$(sed -n 's/.* main=//p' "$name.report")")
	if "$B/tests/live/compare" "${wanted[@]}" -u "$unknown" "$t0" "$t1" "$name.seen" "$name" \
		>"$name.same" 2>&1; then
		echo "$name: $(tail -n 1 "$name.same")"
	else
		complain "$name: differs from what ftrace saw: $(cat "$name.same")"
	fi
	rm -f "$name.seen"
}

first=0
for mode in command pid all; do
	turn=$((first++))
	truth pinned $mode pingpong -n 2000
	[ "$(nproc)" = 1 ] || truth across $mode pingpong -n 1000 -a 0 -b 1
	truth spinners $mode spinners -t 300
	truth processes $mode processes -n 200
	truth threads $mode threads -n 100
	truth execs $mode execs -m 1
	truth orphans $mode execs -m 2
	truth hopper $mode hopper -n 300
	truth stopper $mode stopper -n 3
	truth killed $mode killed
	truth yielder $mode yielder -y 1000
	truth sleepers $mode sleepers
	truth disk $mode disk
	truth storm $mode storm -l 500
	truth phases $mode phases -t 500
done
# The other clock for wake-ups.
turn=1
for mode in command all; do
	truth pinned-tracepoint $mode --wakeup-clock tracepoint -- pingpong -n 2000
	truth sleepers-tracepoint $mode --wakeup-clock tracepoint -- sleepers
done
finish
