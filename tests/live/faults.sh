#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The recorder when things go wrong: its N-th act on files and all after it fail, for FAULTS numbers
# N spread over all of them ("all": for every N); its N-th allocation fails, in each kind of
# recording and in the doctor, also its N-th large one; a signal interrupts every thread a thousand times a second. It ends
# by itself, with one message and its exit status; the disk has no trace or one that can be mended,
# and the recorded program does its work.
# needs: root
# longer: 12 acts and allocations, not 4
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

FAULTS=${FAULTS:-$(longer 12 4)}
faults=$B/tests/faults/faults.so
workload=("$WORKLOADS/sleepers" -n 2 -s 20)
export WORKLOAD_REPORT=$T/report

with_fault() { # KIND ERROR AT NAME
	rm -rf "$4"* report
	LD_PRELOAD=$faults FAULT_PROGRAM=ovni-bpf FAULT_KIND=$1 FAULT_ERROR=$2 FAULT_AT=$3 \
		FAULT_COUNT=$PWD/count timeout 60 "$RECORDER" --flush-interval 20ms -o "$4" -- \
		"${workload[@]}" >"$4.log" 2>&1
}
numbers() { # COUNT
	local n=$FAULTS
	[ "$n" != all ] && [ "$n" -lt "$1" ] || n=$1
	seq 1 "$n" | awk -v n="$n" -v of="$1" '{ print (n > 1 ? 1 + int(($1 - 1) * (of - 1) / (n - 1)) : 1) }'
}
left() { # NAME TEXT: what is there is no trace, or whole, or can be mended
	[ -n "$(find "$1"/loom.* -name stream.json 2>/dev/null | head -n 1)" ] || return 0
	"$B/bin/ovni-check" "$1" >/dev/null 2>&1 && return 0
	rm -rf mended
	"$B/bin/ovni-check" --repair -o mended "$1" >said.check 2>&1
	[ $? = 3 ] || complain "$2: cannot be mended: $(tail -n 3 said.check)"
}
errors() { grep -c 'ovni-bpf: error:' "$1.log"; } # NAME

# 28: no space left; 5: the disk has failed; 122: over quota; 2: somebody removed it.
export FAULT_FOREVER=1
for error in 28 5 122 2; do
	with_fault files $error 0 none || complain "without a fault: $(cat none.log)"
	count=$(cat count)
	expect "the acts are counted" [ "${count:-0}" -gt 15 ]
	tried=0
	for at in $(numbers "$count"); do
		with_fault files $error "$at" full
		status=$?
		what="files from act $at on fail with $error"
		left full "$what"
		[ "$(grep -c 'sleeps=20' report 2>/dev/null)" = 2 ] || [ ! -s report ] ||
			complain "$what: the program was harmed: $(cat report)"
		if [ $status = 0 ]; then # an act that may fail, or that was not reached
			[ "$(errors full)" = 0 ] || complain "$what: status 0, but: $(cat full.log)"
			continue
		fi
		tried=$((tried + 1))
		[ $status = 1 ] || complain "$what: status $status: $(tail -n 4 full.log)"
		[ "$(errors full)" = 1 ] || complain "$what: it is said $(errors full) times: $(cat full.log)"
	done
	echo "files fail with $error: $tried times"
	expect "acts that fail" [ $tried -gt 1 ]
done
unset FAULT_FOREVER

# A disk that fails while everything is recorded ends the recording, not only its own writing.
FAULT_FOREVER=1 LD_PRELOAD=$faults FAULT_PROGRAM=ovni-bpf FAULT_KIND=files FAULT_ERROR=28 FAULT_AT=20 \
	timeout 60 "$RECORDER" --flush-interval 20ms --emulate -a -o stops >stops.log 2>&1
[ $? = 1 ] || complain "a full disk does not end a recording: $(cat stops.log)"
[ "$(grep -c 'error:' stops.log)" = 1 ] || complain "a full disk is reported twice: $(cat stops.log)"

# A request with the N-th allocation failing: done, or one message and a failure. The answer on
# standard output is the same, or there is a reason.
lacking() { # NAME OPTION...
	local name=$1 count at status what tried=0 answer
	shift
	run() { # AT
		rm -rf memory* report where
		LD_PRELOAD=$faults FAULT_PROGRAM=ovni-bpf FAULT_KIND=memory FAULT_ERROR=12 FAULT_AT=$1 \
			FAULT_COUNT=$PWD/count FAULT_WHERE=$PWD/where timeout 60 "$RECORDER" "${@:2}" \
			>memory.out 2>memory.log
	}
	run 0 "$@" || complain "$name: without a fault: $(cat memory.log)"
	count=$(cat count) answer=$(cat memory.out)
	expect "$name: the allocations are counted" [ "${count:-0}" -gt 20 ]
	for at in $(numbers "$count"); do
		run "$at" "$@"
		status=$?
		what="$name: allocation $at of $count fails"
		case $status in
		0) [ "$answer" = "$(cat memory.out)" ] || grep -qi memory memory.out ||
			complain "$what: another answer: $(diff <(echo "$answer") memory.out)" ;;
		1 | 3)
			tried=$((tried + 1))
			[ "$(errors memory)" = 1 ] || grep -qi memory memory.out ||
				{ [ "$name" = list ] && grep -qi memory memory.log; } ||
				complain "$what: it is said $(errors memory) times: $(head -n 5 memory.log)" \
					"$(xargs addr2line -sfe "$RECORDER" <where | head -n 6)"
			;;
		*) complain "$what: status $status: $(tail -n 4 memory.log)" ;;
		esac
		for part in memory memory/0* memory/.next; do
			[ ! -d "$part" ] || left "$part" "$what"
		done
	done
	echo "$name: allocations fail: $tried of $(numbers "$count" | wc -l) times it is said"
}
switcher=("$WORKLOADS/switcher" -n 2 -u)
FAULT_LEAST=8192 lacking "api, 8 KiB and more" --api pthread -o memory -- "${workload[@]}"
lacking trace --flush-interval 20ms -o memory -- "${workload[@]}"
[ "$FAULTS" = all ] || FAULTS=3
lacking summary --mode summary --interval 20ms -o memory -- "${workload[@]}"
lacking rotate --rotate 100ms -o memory -- "${switcher[@]}" 250000
lacking last --last 1s -o memory -- "${workload[@]}"
lacking probes -u "$WORKLOADS/switcher:steady,step" -o memory -- "${switcher[@]}" 50000
lacking api --api pthread -o memory -- "${workload[@]}"
lacking session session run faults-$$ -o memory -- "${workload[@]}"
"$RECORDER" session stop faults-$$ >/dev/null 2>&1 # else it stays in the list
lacking list --list "$WORKLOADS/switcher:s*"
lacking doctor doctor

# The storm.
for at in 1 2; do
	rm -rf storm* report
	LD_PRELOAD=$faults FAULT_PROGRAM=ovni-bpf FAULT_STORM=1000 "$RECORDER" -o storm -- \
		"${workload[@]}" >storm.log 2>&1 || complain "signals: status $?: $(tail -n 4 storm.log)"
	judge storm
	: >>report
	cp report storm.report
	facts storm <<'E2'
check(len(trace.threads(said["pid"])) == 3, "streams", trace.threads(said["pid"]))
check(int(trace.session["lost"]) == 0, "lost", trace.session["lost"])
E2
	LD_PRELOAD=$faults FAULT_PROGRAM=ovni-emu FAULT_STORM=500 "$EMULATOR" -l storm \
		>storm.emu 2>&1 || complain "signals: the emulator: $(tail -n 4 storm.emu)"
done
finish
