# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# lib: functions shared by the live tests, which source it.
#
#   record NAME MODE [OPTION... --] WORKLOAD [ARG...]
#       records a workload into the trace NAME. MODE: command (ovni-bpf -- WORKLOAD), pid
#       (attached to while it waits at its gate), all (system-wide). Leaves NAME.log
#       (output of the recorder), NAME.report (output of the workload), $status,
#       and $recorder (its pid; not in mode command).
#   record_output NAME OPTION... [-- COMMAND...]
#       records with these options into the trace NAME; the command's output is NAME.report
#   judge NAME          strict emulation must accept the trace; so must the real ovniemu, if it is in
#                       $ORACLES, with the same output
#   interrupt_twice NAME
#       starts $recorder with -a and sends it SIGINT and SIGTERM at the same time
#   start_waiting WORKLOAD [ARG...]
#       starts a workload that waits at the gate $T/gate; $target is its pid. open_gate starts
#       its work
#   facts NAME <<E      Python lines with `trace`, `said`, `lines`, `recorder`, and check()
#   expect TEXT COMMAND...   counts a failure and continues if the command fails
#   try STATUS PATTERN COMMAND...   counts a failure unless it ends with STATUS and a message like PATTERN
#   needs_room_for_threads N PREFIX
#       skips the test unless N more threads may live; makes $shm, a folder in memory whose name begins
#       with PREFIX, for traces of so many files and directories. The test removes it.
#   make_public PROGRAM...
#       makes $P, a folder of the user 65534 with the programs in $P/bin; removed at the end of the test
#   attempts N COMMAND...
#       repeats a recording and its comparison, N times at most, until the command counts no failure
#   program_lengths WHY [OPTIONS]
#       writes the name and the length of each program of ovni-bpf -a --why=WHY OPTIONS to len.WHY.txt, in translated bytes
#   make_own_maps       makes ./own_maps, which as the command of a recording prints the BPF maps of its recorder alone
#   on_disk             true if the scratch folder is on a disk, where files are waited for
#   longer LONG SHORT   prints LONG in make check-long, else SHORT
#   finish              ends the test: status 1 if anything was wrong
#
# Everything happens in the scratch folder $T, which is the current one.

RECORDER=$B/bin/ovni-bpf
EMULATOR=$B/bin/ovni-emu
WORKLOADS=$B/tests/workloads
export PYTHONPATH=$S/tests/live PYTHONDONTWRITEBYTECODE=1
wrong=0
status=0
wanted_status=0 # of the recorder
recorder=

skip() { echo "$1"; exit 77; }

[ "$(id -u)" = 0 ] || skip "needs root"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
PATH=$PATH:/usr/sbin:/sbin bpftool prog list >/dev/null 2>&1 || skip "bpf() is refused here"
[ -x "$RECORDER" ] || [ -e "$S/user/main.c" ] || skip "there is no recorder yet"
[ -x "$RECORDER" ] && [ -x "$EMULATOR" ] || { echo "ovni-bpf or ovni-emu is not built"; exit 1; }

threads_left() { # FILE of a limit on threads: how many more may be made
	echo $(($(cat "$1") - $(sed 's|.*/\([0-9]*\) .*|\1|' /proc/loadavg)))
}

needs_room_for_threads() { # N PREFIX
	[ "$(threads_left /proc/sys/kernel/pid_max)" -gt "$1" ] &&
		[ "$(threads_left /proc/sys/kernel/threads-max)" -gt "$1" ] || skip "no room for $1 more threads here"
	shm=$(mktemp -d "/dev/shm/$2.XXXXXX") || skip "there is no /dev/shm"
}

make_public() { # PROGRAM...
	P=$(mktemp -d /tmp/ovni-public.XXXXXX) || exit 1
	trap 'rm -rf "$P"' EXIT
	mkdir "$P/bin" && install -m 755 "$@" "$P/bin"
	chmod 755 "$P" "$P/bin" && chown 65534:65534 "$P"
}

complain() {
	echo "wrong: $*"
	wrong=$((wrong + 1))
}

expect() { # TEXT COMMAND...
	local text=$1
	shift
	"$@" || complain "$text: $*"
}

finish() { exit $((wrong > 0)); }

# A hypervisor that takes a CPU or stops the machine, and a kernel that does not report a switch, change
# some numbers of a recording; a mistake of ours comes again. Only the failures of the last attempt count.
attempts() { # N COMMAND...
	local attempt last_attempt=$1 wrong_before=$wrong
	shift
	for ((attempt = 1; ; attempt++)); do
		wrong=$wrong_before
		"$@"
		[ $wrong -gt "$wrong_before" ] && [ $attempt -lt "$last_attempt" ] || return 0
		echo "attempt $attempt of $last_attempt failed: $*"
	done
}

# Bad input gets the right exit status and one clear sentence.
try() { # STATUS PATTERN COMMAND...
	local want=$1 pattern=$2 got=0
	shift 2
	timeout 20 "$@" >said.log 2>&1 </dev/null || got=$?
	[ $got = "$want" ] || complain "${*##*/}: status $got instead of $want: $(head -n 3 said.log)"
	grep -qiE -- "$pattern" said.log || complain "${*##*/}: does not say '$pattern': $(cat said.log)"
	[ "$(grep -c . said.log)" -le 3 ] || complain "${*##*/}: says too much: $(cat said.log)"
	rm -f said.log
}

# Waits until COMMAND succeeds; gives up after a minute.
wait_until() { # COMMAND...
	local i
	for ((i = 0; i < 6000; i++)); do
		"$@" && return 0 # alone it returns the status of the test, in a trap on EXIT
		sleep 0.01
	done
	return 1
}

make_own_maps() {
	cat >own_maps <<-'X'
		#!/bin/bash
		sed -n 's/^map_id:[[:space:]]*//p' /proc/$PPID/fdinfo/* | sort -un | while read -r id; do bpftool map show id "$id"; done
	X
	chmod +x own_maps
}

on_disk() { [ "$(stat -f -c %T .)" != tmpfs ]; }

longer() { [ "$LONG" ] && echo "$1" || echo "$2"; }

ended() { ! kill -0 "$1" 2>/dev/null; }

# The recorder says "recording" once every program is attached and the window is open.
recording() { # NAME PID
	grep -q '^ovni-bpf: recording' "$1.log" 2>/dev/null || ended "$2"
}

wait_recording() { # NAME PID
	wait_until recording "$1" "$2" || complain "$1: the recorder never said that it records"
	ended "$2" && complain "$1: the recorder ended early: $(cat "$1.log")"
}

interrupt_twice() { # NAME
	"$RECORDER" -a -o "$1" >"$1.log" 2>&1 &
	recorder=$!
	wait_recording "$1" $recorder
	kill -STOP $recorder
	kill -INT $recorder
	kill -TERM $recorder
	kill -CONT $recorder
}

start_waiting() { # WORKLOAD [ARG...]
	rm -f gate
	mkfifo gate
	WORKLOAD_GATE=$T/gate "$WORKLOADS/$1" "${@:2}" &
	target=$!
}

open_gate() { : >"$T/gate"; }

# Has the process PID at least N threads?
has_threads() { # PID N
	[ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -ge "$2" ]
}

record() { # NAME MODE [OPTION... --] WORKLOAD [ARG...]
	local name=$1 mode=$2 options=() workload target
	shift 2
	case " $* " in *" -- "*)
		while [ "$1" != -- ]; do
			options+=("$1")
			shift
		done
		shift
		;;
	esac
	workload=$WORKLOADS/$1
	shift
	rm -rf "$name" "$name.log" "$name.report" "$name.gate"
	export WORKLOAD_REPORT=$T/$name.report
	status=0
	case $mode in
	command)
		"$RECORDER" -o "$name" "${options[@]}" -- "$workload" "$@" \
			>"$name.log" 2>&1 || status=$?
		;;
	pid)
		mkfifo "$name.gate"
		WORKLOAD_GATE=$T/$name.gate "$workload" "$@" &
		target=$!
		"$RECORDER" -o "$name" "${options[@]}" -p $target >"$name.log" 2>&1 &
		recorder=$!
		wait_recording "$name" $recorder
		: >"$name.gate"
		wait $target || complain "$name: the workload failed"
		wait $recorder || status=$?
		;;
	all)
		"$RECORDER" -o "$name" "${options[@]}" -a >"$name.log" 2>&1 &
		recorder=$!
		wait_recording "$name" $recorder
		"$workload" "$@" || complain "$name: the workload failed"
		kill -INT $recorder
		wait $recorder || status=$?
		;;
	*) complain "no mode $mode" ;;
	esac
	unset WORKLOAD_REPORT
	[ "$status" = "$wanted_status" ] || complain "$name: ovni-bpf ended with $status: $(tail -n 5 "$name.log")"
}

record_output() { # NAME OPTION... [-- COMMAND...]
	local name=$1
	shift
	status=0
	"$RECORDER" -o "$name" "$@" >"$name.report" 2>"$name.log" || status=$?
	[ "$status" = "$wanted_status" ] || complain "$name: ovni-bpf ended with $status: $(tail -n 5 "$name.log")"
}

judge() { # NAME
	local code=0
	"$EMULATOR" -l "$1" >"$1.emu" 2>&1 || code=$?
	[ $code = 0 ] || { [ $code = 3 ] && grep -q "$1 is incomplete: " "$1.emu"; } ||
		complain "$1: strict emulation refuses it: $(grep -v INFO "$1.emu" | tail -n 5)"
	oracle_judge "$1"
}

# Our output without our own lines is that of the real ovniemu, if it is there, apart from the date in the first line.
oracle_judge() { # NAME
	local side file
	[ -x "$ORACLES/ovni/ovniemu" ] || return 0
	if [ "$(find "$1" -name stream.obs | wc -l)" -gt 3000 ]; then
		echo "$1: has too many threads for ovniemu, which takes minutes for them"
		return
	fi
	rm -rf oracle
	for side in theirs ours; do
		mkdir -p oracle/$side
		(cd "$1" && find . -name 'stream.*' -print0 | tar -c --null -T -) | tar -x -C oracle/$side
	done
	"$ORACLES/ovni/ovniemu" -l oracle/theirs >oracle/theirs.log 2>&1 ||
		complain "$1: ovniemu refuses it: $(grep -v INFO oracle/theirs.log | tail -n 5)"
	"$EMULATOR" --compat -l oracle/ours >oracle/ours.log 2>&1 ||
		complain "$1: --compat: $(tail -n 5 oracle/ours.log)"
	for file in thread.prv cpu.prv; do
		cmp <(sed '1s/([^)]*)//' oracle/theirs/$file) <(sed '1s/([^)]*)//' oracle/ours/$file) ||
			complain "$1: $file differs from that of ovniemu"
	done
	rm -rf oracle
}

program_lengths() { # WHY [OPTIONS]
	rm -rf "len.$1" "len.$1.log" # the log of an earlier recorder says "recording", too
	"$RECORDER" -a -o "len.$1" --why="$@" >"len.$1.log" 2>&1 &
	recorder=$!
	wait_recording "len.$1" $recorder
	PATH=$PATH:/usr/sbin bpftool -j prog show >"len.$1.json"
	cat /proc/$recorder/fdinfo/* >"len.$1.fds" 2>/dev/null # a descriptor may be gone
	kill -INT $recorder
	wait $recorder
	python3 - "len.$1" >"len.$1.txt" <<-'E'
		import json, re, sys
		own = {int(number) for number in re.findall(r"prog_id:\s*(\d+)", open(sys.argv[1] + ".fds").read())}
		for p in json.load(open(sys.argv[1] + ".json")):
		    if p["id"] in own:
		        print(p["name"], p["bytes_xlated"])
	E
}

facts() { # NAME, Python on standard input
	{
		cat <<-'E'
			import sys
			from facts import *
			name, recorder = sys.argv[1], int(sys.argv[2])
			trace = Trace(name)
			lines = report(name + ".report")
			said = {k: v for line in lines for k, v in line.items()}
		E
		cat
		echo 'verdict()'
	} >"$1.py"
	python3 "$1.py" "$1" "${recorder:-0}" || complain "$1: facts"
}
