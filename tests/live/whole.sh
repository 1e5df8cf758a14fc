#!/bin/bash
# SPDX-License-Identifier: MIT
#
# An incomplete trace never looks complete: recorded traces (of a command, of the machine, of a rotation)
# are whole; then random parts of them are removed, truncated, shifted or put in the place of
# others, and ovni-check and another program notice it, every time.
#
# needs: root
# longer: 300 cases instead of 30
set -eu
. "$S/tests/live/lib.sh"

# shellcheck disable=SC2016 # for the shell that is recorded
work='for i in 1 2 3 4; do (sleep 0.01; exec true) & done; wait'
record_output command -- sh -c "$work"
record_output machine -a -- sh -c "$work"
record_output parts -a --rotate 200ms -- sh -c "$work; sleep 0.5"
for trace in command machine parts/0*; do
	"$B/bin/ovni-check" -q "$trace" >said 2>&1 && grep -q 'complete$' said || complain "$trace: $(cat said)"
done
[ "$wrong" = 0 ] || finish
python3 "$S/tests/golden/whole.py" random "$B/bin" "$T" "$(longer 300 30)" command machine parts/0* || complain "something was not noticed"
finish
