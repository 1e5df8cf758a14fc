#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Traces of random schedules, with losses, pass the emulator's strict checks: every thread dead,
# never two running threads on a CPU, stacks balanced.
set -eu

[ -x "$B/bin/ovni-emu" ] || { echo "ovni-emu is not built"; exit 77; }
mkdir traces
OVNI_KEEP=$PWD/traces "$B/tests/unit/user_schedules" >log 2>&1 || { tail -n 40 log; exit 1; }

n=0
for trace in traces/*; do
	status=0
	"$B/bin/ovni-emu" -l "$trace" >emu.log 2>&1 || status=$?
	# nobody has counted the losses of these traces: 3
	if [ "$status" != 3 ] || ! grep -q "could not count the lost events" emu.log; then
		echo "$trace is refused:"
		tail -n 20 emu.log
		exit 1
	fi
	[ -s "$trace/thread.prv" ] || { echo "$trace: no output"; exit 1; }
	n=$((n + 1))
done
echo "$n traces accepted"
[ "$n" -ge 100 ]

# The emulator does look: a trace whose first stream lacks its last event is refused.
trace=$(find traces -mindepth 1 -maxdepth 1 | sort | head -n 1)
stream=$(find "$trace" -name stream.obs | sort | head -n 1)
truncate -s -12 "$stream"
if "$B/bin/ovni-emu" -l "$trace" >emu.log 2>&1; then
	echo "a thread that does not end was accepted"
	exit 1
fi
