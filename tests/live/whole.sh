#!/bin/bash
# SPDX-License-Identifier: MIT
#
# An incomplete trace never looks complete: recorded traces with stacks (of a command, of the machine, of a
# rotation, of a flight recorder, cut and merged ones) are whole; then random parts of them are removed,
# truncated, shifted or put in the place of others, and ovni-check and another program notice it, every time.
#
# needs: root early
# longer: 300 cases instead of 30
set -eu
. "$S/tests/live/lib.sh"

# shellcheck disable=SC2016 # for the shell that is recorded
work='for i in 1 2 3 4; do (sleep 0.01; exec true) & done; wait'
why=--why=stack=both
"$B/bin/ovni-bpf" doctor 2>/dev/null | grep -q 'fine  *user stacks' || why=--why=stack
record_output command $why,wakers -- sh -c "$work"
record_output machine -a $why -- sh -c "$work"
record_output parts -a $why --rotate 200ms --keep 3 -- sh -c "$work; sleep 0.7"
record_output flight $why --last 10s -- sh -c "$work; sleep 0.1"
record_output off --why=call -- sh -c "$work"
record_output outer $why -- "$RECORDER" --kernel-model $why -o inner -- sh -c "$work"
"$RECORDER" --kernel-model $why -o kernel -- "$B/tests/live/ovniwriter" own 3 20 >kernel.log 2>&1 || complain "kernel: $(cat kernel.log)"
"$B/bin/ovni-cut" -o part --from +15ms command 2>cut.log || complain "cut: $(cat cut.log)"
"$B/bin/ovni-cut" -o none --to +0ms command 2>cut.log || complain "cut to nothing: $(cat cut.log)"
"$B/bin/ovni-merge" -o both own kernel 2>merge.log || complain "merge: $(cat merge.log)"
"$B/bin/ovni-merge" --others -o all own kernel 2>merge.log || complain "merge with others: $(cat merge.log)"
"$B/bin/ovni-merge" --others -o twice outer inner 2>merge.log || complain "merge of two recordings: $(cat merge.log)"
"$B/bin/ovni-convert" --drop-unknown -o converted command 2>convert.log || complain "convert: $(cat convert.log)"
"$B/bin/ovni-pallas" export command archive >pallas.log 2>&1 && "$B/bin/ovni-pallas" import archive back 2>>pallas.log || complain "pallas: $(cat pallas.log)"
for trace in command machine parts/0* flight/0001 kernel outer part both all twice converted none back off; do
	"$B/bin/ovni-check" -q "$trace" >said 2>&1 && grep -q 'complete$\|completeness cannot' said || complain "$trace: $(cat said)"
	case $trace in none | back | off) continue ;; esac # without stacks
	[ "$(wc -l <"$trace/stacks")" -gt 1 ] || complain "$trace has no stacks"
	rm -rf moved
	cp -r "$trace" moved
	printf '4294967295\tx+0x1\n' >>moved/stacks
	"$B/bin/ovni-report" moved >said 2>&1 || :
	grep -q 'incomplete: .*the file stacks has [0-9]* bytes instead of [0-9]*' said || complain "$trace with a longer file: $(cat said)"
done
[ "$wrong" = 0 ] || finish
python3 "$S/tests/golden/whole.py" random "$B/bin" "$T" "$(longer 300 30)" command machine parts/0* || complain "something was not noticed"
finish
