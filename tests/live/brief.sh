#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A process that ends while it is being attached to: either there is no such process
# any more, or the trace is whole. Lives of different lengths sweep over the time that the recorder needs to start.
# needs: root alone
# long: waits for programs of many lengths
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

export WORKLOAD_MAIN=reported
start=$(date +%s%N)
"$RECORDER" -a -d 1ms -o first >first.log 2>&1 || complain "$(cat first.log)"
start_usec=$((($(date +%s%N) - start) / 1000))

traced=0 refused=0
for percent in 0 20 40 60 70 80 90 100 130 500; do
	"$WORKLOADS/brief" -t $((start_usec * percent / 100)) &
	target=$!
	"$RECORDER" -o life-$percent -p $target >life-$percent.log 2>&1
	status=$?
	wait $target || complain "the workload failed"
	case $status in
	0)
		judge life-$percent
		traced=$((traced + 1))
		;;
	1)
		expect "a life of $percent %" grep -qiE 'no (such )?process|ended' life-$percent.log
		expect "a refused recording leaves nothing" [ ! -e life-$percent ]
		refused=$((refused + 1))
		;;
	*) complain "a life of $percent %: status $status: $(cat life-$percent.log)" ;;
	esac
done
echo "the recorder starts in $start_usec us; $traced traced, $refused refused"
expect "some live long enough" [ $traced -gt 0 ]
expect "some do not" [ $refused -gt 0 ]
finish
