#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Switches are counted exactly: on each CPU, as many in the window as the kernel's own tracer has there, and
# all that the programs saw beyond them are outside of the window. Repairs without a loss are switches
# that the kernel reported to nobody: its tracer lacks each of them, too.
#
# The tracer has a hole where a thread leaves a CPU that another one had entered. It lacks some switches
# away from idle CPUs that eBPF programs see (of PID 1, on some machines): those holes have no repair. A hole
# between the last switch before the window and the first one in it may be on either side.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

counted() { # NAME WORKLOAD [ARG...]
	local tracer
	"$B/tests/live/ftrace" -b 64 "$1.seen" >"$1.ftrace" 2>&1 &
	tracer=$!
	wait_until grep -q ready "$1.ftrace" || skip "no ftrace: $(cat "$1.ftrace")"
	record "$1" all -- "${@:2}"
	kill -INT "$tracer"
	wait "$tracer" || complain "$1: $(cat "$1.ftrace")"
	facts "$1" <<'E'
seen = {}
data = open(name + ".seen", "rb").read()
(n,) = struct.unpack_from("<Q", data, 8)
for clock, kind, _, cpu, _, leaves, enters, _, _ in struct.iter_unpack("<QBBHiiiII", data[16:16 + 32 * n]):
    if kind == 0:
        seen.setdefault(cpu, []).append((clock, leaves, enters))
session = trace.session
t0, t1 = int(session["t0"]), int(session["t1"])
stats = json.load(open(name + "/stats.json"))
in_window = {s["cpu"]: s["switches"] for s in stats["snapshots"] if s["scope"] == "cpu"}
check(int(session["lost"]) == 0, session["lost"], "events were lost")
outside = repairs = 0
for account in session["account"]:
    cpu, ours = account["cpu"], in_window[account["cpu"]]
    switches = sorted(seen.get(cpu, []))
    theirs = sum(t0 < clock <= t1 for clock, _, _ in switches)
    holes = [(a, b) for a, b in zip(switches, switches[1:]) if a[2] != b[1] and t0 < b[0] <= t1]
    edge = sum(a[0] <= t0 for a, _ in holes)
    idle = [h for h in holes if h[0][2] == 0]
    # A hole of a thread is a repair where that thread leaves, and one where the unknown one has entered.
    want = sum(1 + (b[1] != 0) for a, b in holes if a[2] != 0)
    neither = theirs + len(idle) - ours  # holes from idle that no program saw either: one repair
    got = sum(int(c["repairs"]) for c in session["cpus"] if c["cpu"] == cpu)
    print(f"{name}: CPU {cpu}: {ours} switches, ftrace {theirs} and {len(idle)} from idle that it lacks; "
          f"{len(holes) - len(idle)} holes of threads, {got} repairs; seen {account['switch']['seen']}")
    more = max(0, -neither)  # a hole may be of more than one switch
    check(more <= max(2, len(idle) // 20) and neither <= len(idle), "CPU", cpu, "has", ours, "switches, ftrace", theirs, "and", len(idle), "holes")
    check(abs(got - want - max(0, neither)) <= 2 * (edge + more), "CPU", cpu, "has", got, "repairs, but", want + neither,
          "switches are missing in ftrace", holes[:5])
    more = int(account["switch"]["seen"]) - ours
    check(0 <= more <= sum(clock <= t0 or clock > t1 for clock, _, _ in switches) + len(idle),
          "CPU", cpu, "saw", more, "switches outside of the window")
    outside += more
    repairs += got
total = int(session["counts"]["switches"])
check(total == sum(in_window.values()), "the trace has", total, "switches, the statistics", in_window)
# Other records are outside, too: two snapshots of each CPU, and the lives of threads.
check(outside <= int(session["counts"]["outside"]), outside, "switches of", session["counts"]["outside"])
check(repairs == int(session["counts"]["repairs"]), repairs, "repairs of", session["counts"]["repairs"])
text = open(name + ".log", encoding="utf-8").read()
words = f"{repairs} repair{'s' * (repairs > 1)} of switches that the kernel did not report\n"
check((words in text) == (repairs > 0), "the recorder does not say:", words)
print(f"{name}: {total} switches in the window, {outside} outside")
E
	rm -f "$1.seen"
}

attempts 3 counted idle sleepers -n 20 -s 200
attempts 3 counted busy storm -n 8 -l 2000
finish
