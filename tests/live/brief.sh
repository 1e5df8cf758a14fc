#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A process that ends while it is being attached to: either there is no such process
# any more, or the trace is whole. Lives of 0 to 40 ms sweep over the start of the recorder.
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

traced=0
for usec in 0 1000 2000 4000 6000 8000 10000 12000 14000 16000 20000 25000 30000 40000; do
	"$WORKLOADS/brief" -t $usec &
	target=$!
	"$RECORDER" -o life-$usec -p $target >life-$usec.log 2>&1
	status=$?
	wait $target || complain "the workload failed"
	case $status in
	0)
		if [ -n "$(find life-$usec -name stream.json 2>/dev/null)" ]; then
			judge life-$usec
			traced=$((traced + 1))
		fi
		;;
	1) expect "a life of $usec us" grep -qiE 'no (such )?process|does not exist|ended' life-$usec.log ;;
	*) complain "a life of $usec us: status $status: $(cat life-$usec.log)" ;;
	esac
done
"$WORKLOADS/brief" -t 300000 &
target=$!
"$RECORDER" -o long -p $target >long.log 2>&1 || complain "a life of 300 ms: $(cat long.log)"
wait $target
judge long
echo "$traced of 14 were traced"
finish
