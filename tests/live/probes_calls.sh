#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Functions that are left in all possible ways: callers and numbers of calls are exact, and the
# stacks are balanced, with both kinds of links.
# needs: root
# longer: with both kinds of links
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

functions=leaf,recurse,branch,jumper,between,lander,tail_target,tail_caller,in_handler,jump_out
functions+=,interrupted,interrupted_for_good,exiting,executing,thread_exiting
functions+=,yielding,meanwhile,resuming

calls() { # NAME "CALLS OF MAIN" ["CALLS OF THE OTHER THREAD" [STATUS]]
	expect "$1: the command" grep -q "command=${4:-0} " "$1.log"
	# A repair is a switch that the kernel did not report (some of PID 1); it changes no call.
	grep -q ' lost=0 missed=0 ' "$1.log" || complain "$1: something is lost: $(tail -n 1 "$1.log")"
	judge "$1"
	MAIN=$2 OTHER=${3-} facts "$1" <<'E'
import os
from calls import *
main = trace.thread(said["main"])
check(text(main) == os.environ["MAIN"], main, "is", text(main), "not", os.environ["MAIN"])
others = sorted(text(s) for s in trace.streams if s is not main)
check(others == ([os.environ["OTHER"]] if os.environ["OTHER"] else []), "the others are", others)
E
}

scene() { # KIND MODE "CALLS OF MAIN" ["CALLS OF THE OTHER THREAD" [STATUS]]
	record "$1-$2" command --attach "$1" -u "$WORKLOADS/calls:$functions" -- \
		calls -m "$2" -n 2 -d 3
	calls "$1-$2" "${@:3}"
}

three="recurse(recurse(recurse(leaf)))"
for kind in $(longer "session multi" session); do
	scene $kind 0 "$three $three"
	scene $kind 1 "lander(between(jumper) leaf) lander(between(jumper) leaf)"
	scene $kind 2 "tail_caller(tail_target) tail_caller(tail_target)"
	scene $kind 3 "interrupted(leaf in_handler(leaf) leaf) interrupted(leaf in_handler(leaf) leaf)"
	scene $kind 4 "interrupted_for_good(leaf jump_out leaf) interrupted_for_good(leaf jump_out leaf)"
	scene $kind 5 "exiting" "" 7
	scene $kind 6 "executing recurse(recurse(leaf)) recurse(recurse(leaf))"
	scene $kind 7 "" "recurse(recurse(leaf)) thread_exiting"
	scene $kind 8 "recurse(recurse(leaf)) branch(leaf leaf)" "$three $three"
	scene $kind 9 "$three $three"
	scene $kind 10 "branch(leaf leaf) branch(leaf leaf)"
done
scene perf 0 "$three $three"

# A coroutine on a stack of its own, below the other: the kernel would lose returns of return probes,
# and end the program.
record coroutine command --no-return-probes -u "$WORKLOADS/calls:$functions" -- calls -m 11 -n 2
one="resuming(yielding(leaf meanwhile(leaf) leaf))"
calls coroutine "$one $one"

# Not followed: the child of the fork writes nothing, and lives.
record alone command --no-follow -u "$WORKLOADS/calls:$functions" -- calls -m 8 -n 2 -d 3
calls alone "recurse(recurse(leaf)) branch(leaf leaf)"
record pid pid --no-follow -u "$WORKLOADS/calls:$functions" -- calls -m 8 -n 2 -d 3
calls pid "recurse(recurse(leaf)) branch(leaf leaf)" "" none

# Nothing but the kernel's view of the CPU: marks stand where the thread is on it.
record kernel command --kernel-model -u "$WORKLOADS/calls:$functions" -- calls -m 3 -n 2
calls kernel "interrupted(leaf in_handler(leaf) leaf) interrupted(leaf in_handler(leaf) leaf)"
finish
