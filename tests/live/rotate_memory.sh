#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --rotate with threads that come and go: the memory of the recorder follows the threads that live,
# not those that have ended. Waves of 12,000 short-lived threads; 40 of each stay until the next one is
# over. After each wave the anonymous memory is the least while some parts are written: a slow disk makes
# the queue of events longer for a moment.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

needs_room_for_threads 400 ovni-rotate
trap '[ -z "$target" ] || kill -KILL "$target" 2>/dev/null; rm -rf "$shm"' EXIT
target=
waves=5

said_wave() { grep -qx "wave=$1" waves.report; }
last_part() { find "$shm/out" -mindepth 1 -maxdepth 1 -name '0*' -printf "%f\n" 2>/dev/null | sort | tail -n 1; }
later_part() { # THAN
	local kib
	kib=$(sed -n 's/^Anonymous: *\([0-9]*\).*/\1/p' "/proc/$recorder/smaps_rollup")
	[ "$least" -le "${kib:-$least}" ] || least=$kib
	[ "$((10#$(last_part)))" -ge "$1" ]
}

mkfifo next gate
WORKLOAD_REPORT=waves.report WORKLOAD_GATE=gate "$WORKLOADS/survivors" -w $waves <next &
target=$!
exec 9>next
"$RECORDER" -p $target --rotate 100ms --keep 2 -o "$shm/out" >out.log 2>&1 &
recorder=$!
wait_recording out $recorder
ended $recorder && exit 1
: >gate
for ((wave = 1; wave <= waves; wave++)); do
	wait_until said_wave $wave || complain "wave $wave has not ended: $(cat out.log)"
	least=1000000000
	from=$((10#$(last_part)))
	# the parts with the threads of the wave are written, then some without them
	wait_until later_part $((from + 8)) || complain "no part $((from + 8)): $(tail -n 3 out.log)"
	echo "wave $wave: $least KiB of anonymous memory, part $((from + 8))"
	[ $wave != 1 ] || first=$least
	echo >&9
done
exec 9>&-
wait $target
target=
status=0
wait $recorder || status=$?
expect "the recorder ended with 0 or lost events" [ $status = 0 ] || [ $status = 3 ]
tail -n 1 out.log
expect "memory did not grow ($first KiB after one wave, $least after $waves)" [ "$least" -le $((first + 2048)) ]
listed=$(grep -c '"tid"' "$shm/out/stats.json" 2>/dev/null)
echo "$listed threads are listed"
expect "its statistics list the threads that ran longest" grep -q "\"tid\": $(sed -n 's/.*main=\([0-9]*\).*/\1/p' waves.report | head -n 1)" "$shm/out/stats.json"
finish
