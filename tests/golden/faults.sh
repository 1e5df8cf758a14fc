#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The emulator and the tools, each with its N-th allocation and its N-th act on files failing: see
# faults.py. A failed write to standard output, or to a file that may not grow, is a failure.
# longer: 100 of each (FAULTS=all: every N, which takes longer than a test may on a busy machine: TEST_TIMEOUT)
set -eu
trace=$T/trace
make() { "$S/tests/golden/tools_make.py" "$1"; }
# Metadata of 15 KB, whose text is written to a buffer that grows, with few allocations to read them.
labels=$(for ((i = 2; i <= 60; i++)); do printf ',"%d":"%0240d"' $i $i; done)
make "$trace.in" <<END
thread n 1 1 ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f"$labels}}}
10 OHx i32:0 i32:-1 u64:0
20 OM[ i64:1 i32:0
30 OM] i64:1 i32:0
40 OHe
thread n 1 2
15 OHx i32:1 i32:-1 u64:0
25 OHp u16:6 i32:1
35 OHw i32:1
36 OHr
45 OHe
END
make "$trace.other" <<'END'
thread m 1 1
12 OHx i32:0 i32:-1 u64:0
42 OHe
END
make "$trace.broken" <<END
thread n 1 1 ovni.finished= ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f"$labels}}}
10 OHx i32:0 i32:-1 u64:0
20 OHp
raw 0f 4f
END
mkdir "$T/run"
FAULTS=${FAULTS:-${LONG:+100}} python3 "$S/tests/golden/faults.py" "$B" "$trace" "$T/run"

for command in 'dump' 'info' 'top' 'check' 'report cpu' 'events' 'version'; do
	# shellcheck disable=SC2086 # words
	set -- $command
	tool=$1
	shift
	case $tool in events | version) operands=() ;; *) operands=("$trace.in") ;; esac
	if "$B/bin/ovni-$tool" "$@" "${operands[@]}" >/dev/full 2>"$T/said"; then
		echo "ovni-$command takes an answer that cannot be written for one"
		exit 1
	fi
	grep -q . "$T/said" || { echo "ovni-$command fails without a word"; exit 1; }
done

# A limit on the size of files is a failure of the disk, not the end of the tool.
for command in "cut --from 20ns -o $T/cut" "merge --loom n=m -o $T/merged" 'pallas export'; do
	# shellcheck disable=SC2086 # words
	set -- $command
	operands=("$trace.in")
	[ "$1" != merge ] || operands+=("$trace.other")
	[ "$1" != pallas ] || operands+=("$T/archive")
	status=0
	said=$(ulimit -f 0 && exec "$B/bin/ovni-$1" "${@:2}" "${operands[@]}" 2>&1) || status=$?
	[ $status = 1 ] && grep -qi 'too large' <<<"$said" ||
		{ echo "ovni-$command: status $status where no file may grow: $said"; exit 1; }
done
