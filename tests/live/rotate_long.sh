#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --rotate of a process with 100,000 switches a second for one minute: nothing is lost, each switch has a
# record, and the memory of the recorder does not grow: the least of the last quarter is that of the
# second one. MINUTES=60 TEST_TIMEOUT=4500 records for an hour. A busy machine needs longer.
# needs: root alone
# long: live/rotate and live/rotate_memory rotate in make check
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

MINUTES=${MINUTES:-1}
load=
trap 'kill -KILL $load $recorder 2>/dev/null' EXIT
rounds=$((50000 * 60 * MINUTES))
switches() { cat "/proc/$load/task/"*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'; }
anonymous() { sed -n 's/^Anonymous: *\([0-9]*\).*/\1/p' "/proc/$recorder/smaps_rollup" 2>/dev/null; }
least() { # FROM TO, in percent of the samples: the least memory, in KiB
	awk -v from="$1" -v to="$2" '{kib[NR] = $1}
		END {
			for (i = int(NR * from / 100) + 1; i <= NR * to / 100; i++)
				if (!least || kib[i] < least)
					least = kib[i]
			print least
		}' memory
}

WORKLOAD_REPORT=load.report "$WORKLOADS/pingpong" -n $rounds -r 50000 &
load=$!
wait_until grep -q tid_b load.report || complain "no load"
"$RECORDER" -p $load --rotate $((MINUTES * 2))s --keep 3 -o out >out.log 2>&1 &
recorder=$!
wait_recording out $recorder
from=$(switches)
began=$(date +%s%N)
# A sample a second, as long as the load lasts.
while ! ended $load && ! ended $recorder; do
	anonymous
	sleep 1
done >memory
wait $load
counted=$(($(grep -o 'voluntary_[ab]=[0-9]*' load.report | awk -F= '{ n += $2 } END { print n }') - from))
ms=$((($(date +%s%N) - began) / 1000000))
status=0
wait $recorder || status=$?
expect "the recorder ended with 0 ($(tail -n 3 out.log))" [ $status = 0 ]
echo "$((counted * 1000 / ms)) switches a second for $((ms / 1000)) s, $(grep -c '(rotation)' out.log) parts"
tail -n 1 out.log
expect "nothing is lost" grep -q ' lost=0 ' out.log
records=$(sed -n 's/.* records=\([0-9]*\).*/\1/p' out.log)
expect "each has a record ($records of $counted)" [ "$records" -ge $((counted * 98 / 100)) ]
early=$(least 25 50)
late=$(least 75 100)
echo "least anonymous memory: $early KiB in the second quarter, $late KiB in the last one"
expect "memory does not grow" [ "$late" -le $((early + 512)) ]
for part in out/0*; do
	judge "$part"
	rm -rf "$part.emu"
done
finish
