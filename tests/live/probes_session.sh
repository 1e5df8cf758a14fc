#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Probes together with the rest: the whole machine, single threads, a list of CPUs, without the
# scheduler, with two capabilities alone, over traces that follow each other, and with losses.
# needs: root
# long: combines options that other tests use alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

at=$WORKLOADS/calls
functions=leaf,recurse,branch
three="recurse(recurse(recurse(leaf)))"

calls() { # NAME "CALLS OF MAIN"
	judge "$1"
	MAIN=$2 facts "$1" <<'E'
import os
from calls import *
main = trace.thread(said["main"])
check(text(main) == os.environ["MAIN"], main, "is", text(main), "not", os.environ["MAIN"])
for s in trace.streams:
    check(s is main or not tree(s), s, "has calls", text(s))
E
}

record everything all -u "$at:$functions" -- calls -n 2 -d 3
calls everything "$three $three"

# Of the threads of a process only the first one.
mkfifo gate
WORKLOAD_GATE=$T/gate WORKLOAD_REPORT=$T/one.report "$at" -m 7 -n 1 &
target=$!
"$RECORDER" -o one -t $target -u "$at:$functions,thread_exiting" >one.log 2>&1 &
recorder=$!
wait_recording one $recorder
: >gate
wait $target
wait $recorder || complain "one: $(tail -n 3 one.log)"
calls one ""

# Without the scheduler: threads are on the virtual CPU.
record alone command --events=probe,exit -u "$at:$functions" -- calls -n 2 -d 3
calls alone "$three $three"

# On the CPUs that are recorded, and no others.
cpu=$(awk '/Cpus_allowed_list/ { split($2, l, /[-,]/); print l[1] }' /proc/self/status)
if [ "$(nproc)" -gt 1 ]; then
	for _ in 1 2 3 4 5 6 7 8; do # it may have run on others alone
		record there command -C "$cpu" -u "$at:$functions" -- calls -m 10 -n 2000
		find there -name stream.obs | grep -q . && break
	done
	judge there
	facts there <<'E'
from calls import *
main = trace.thread(said["main"])
n = count(main)
check(n["branch"] <= 2000 and n["leaf"] <= 4000, "calls", n)
E
fi

# The rights that the manual names, and no others.
P=$(mktemp -d /tmp/ovni-public.XXXXXX) || exit 1
trap 'rm -rf "$P"' EXIT
chmod 777 "$P"
install -m 755 "$RECORDER" "$at" "$P"
caps="-all,+bpf,+perfmon"
if setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=$caps --ambient-caps=$caps \
	--bounding-set=$caps true 2>/dev/null; then
	rm -rf few
	(cd "$P" && WORKLOAD_REPORT=$P/report setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps=$caps --ambient-caps=$caps --bounding-set=$caps \
		./ovni-bpf -o few -u "$P/calls:$functions" -- ./calls -n 2 -d 3 >log 2>&1) ||
		complain "with two capabilities: $(tail -n 3 "$P/log")"
	mv "$P/few" . && mv "$P/report" few.report
	calls few "$three $three"
	# Perf events need more, which is said.
	(cd "$P" && setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps=$caps --ambient-caps=$caps --bounding-set=$caps \
		./ovni-bpf --attach perf -o no -u "$P/calls:$functions" -- ./calls >log 2>&1) &&
		complain "perf events without CAP_SYS_ADMIN"
	expect "what is missing is said" grep -q 'perf events need root or CAP_SYS_ADMIN' "$P/log"
fi

# Traces that follow each other: each is valid, and a call is in all that it lasts for.
cat >long.c <<'E'
#include <time.h>
#define PROBED __attribute__((noinline, noclone, noipa))
PROBED void inner(void) { struct timespec t = {0, 2000000}; nanosleep(&t, 0); __asm__ volatile(""); }
PROBED void outer(void) { for (int i = 0; i < 150; i++) inner(); __asm__ volatile(""); }
int main(void) { outer(); return 0; }
E
gcc -O1 -o long long.c || exit 1
"$RECORDER" -o parts --rotate 100ms -u "$T/long:inner,outer" -- ./long >parts.log 2>&1 ||
	complain "parts: $(tail -n 3 parts.log)"
n=0
for part in parts/0*; do
	judge "$part"
	n=$((n + 1))
done
expect "several parts" [ $n -ge 3 ]
: >parts.report
facts parts <<'E'
from calls import *
inner = outer = 0
parts = {}
for s in trace.streams:
    part = int(s.path.split("/")[1])
    parts.setdefault(part, 0)
    for call in tree(s):
        check(call.label == "outer", s, "is outside of outer in", call.label)
        parts[part] += 1
        outer += 1
        inner += len(call.calls)
within = [part for part in parts if parts[part]] # the program may begin and end in others
check(len(within) >= 3, "outer is in the parts", within)
for part in range(min(within), max(within) + 1):
    check(parts.get(part, 1) == 1, "outer is", parts.get(part), "times in part", part)
check(150 <= inner < 150 + outer, "calls of inner", inner)
E
expect "calls are counted once" grep -qE ' 150 +.* inner$' parts.log
expect "and the one that is in all parts, too" grep -qE ' 1 +.* outer$' parts.log

# More than the buffer holds: losses are counted; an entry without space has no return.
wanted_status=3
record lossy command -b 4K -u "$at:$functions" -- calls -m 10 -n 30000
wanted_status=0
judge lossy
facts lossy <<'E'
from calls import *
n = count(trace.thread(said["main"]))
lost = int(trace.session["lost"])
check(lost > 0 and 0 < n["branch"] < 30000, "lost", lost, "calls", n)
account = trace.session["account"]
check(sum(int(cpu.get("probe", {}).get("lost", 0)) for cpu in account) > 0, account)
E
finish
