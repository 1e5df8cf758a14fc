#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --rotate: each part is a trace, begins where the one before ends, and together they have every
# switch: as many as the kernel counts for each thread. --keep leaves the last ones. SIGUSR1 begins
# a new part at once.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

judge_all() { # NAME
	local part
	for part in "$1"/0*; do
		judge "$part"
		rm -f "$part.emu"
	done
}

together() { # NAME AT_LEAST
	judge_all "$1"
	python3 "$S/tests/live/parts.py" "$1" "$2" || complain "$1: the parts do not fit together"
}

record time command --rotate 100ms -- switcher -n 4 -u 700000
together time 3
record probed command --rotate 100ms -u "$WORKLOADS/switcher:steady,step" -- switcher -n 3 -u 500000
together probed 3
expect "functions are there" grep -rqs --include=stream.json steady probed/0002
record size all --rotate 64K -- switcher -n 4 -u 700000
together size 2

# On request; the next request follows when the part is reported as complete.
"$RECORDER" -a --rotate 1h -o asked >asked.log 2>&1 &
recorder=$!
wait_recording asked $recorder
for part in 1 2; do
	sleep 0.1
	kill -USR1 $recorder
	wait_until grep -q "asked/000$part: .*(request)" asked.log ||
		complain "no part $part: $(cat asked.log)"
done
kill -INT $recorder
wait $recorder || complain "asked: status $?"
judge_all asked
expect "three parts" [ "$(echo asked/0*)" = "asked/0001 asked/0002 asked/0003" ]

record kept command --rotate 100ms --keep 2 -- switcher -n 2 -u 800000
parts=$(sed -n 's/.* parts=\([0-9]*\).*/\1/p' kept.log)
expect "some were removed" [ "$parts" -gt 2 ]
expect "the last two are kept" [ "$(find kept -mindepth 1 -maxdepth 1 -type d | wc -l)" = 2 ]
expect "the last one is kept" [ -d "kept/$(printf %04u "$parts")" ]
judge_all kept

# A directory of parts counts as a trace for --force only.
"$RECORDER" -a -d 100ms -o kept >again.log 2>&1 && complain "a folder of parts was written to"
"$RECORDER" -a -d 100ms --force -o kept >again.log 2>&1 || complain "--force: $(cat again.log)"
expect "parts are replaced" [ ! -e "kept/$(printf %04u "$parts")" ]
mkdir -p photos/2024
: >photos/2024/one
"$RECORDER" -a -d 100ms --force -o photos >again.log 2>&1 && complain "photos were replaced"
expect "what is no trace stays" [ -e photos/2024/one ]

# A single trace is not rotated; a message says so.
"$RECORDER" -a -o alone >alone.log 2>&1 &
recorder=$!
wait_recording alone $recorder
kill -USR1 $recorder
wait_until grep -q USR1 alone.log || complain "SIGUSR1 is not answered"
kill -INT $recorder
wait $recorder || complain "alone: status $?"
judge alone
finish
