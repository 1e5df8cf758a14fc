#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Paraver ($ORACLES) computes the same numbers from our output and our configurations as the events
# of the trace and `ovni-report`: states, reasons, latency, functions, MPI, OpenMP, pthread, and how
# busy CPUs are.
# long: needs programs of other projects
set -u
paraver=$ORACLES/paraver/pv-text
[ -x "$paraver" ] || { echo "there is no Paraver in $ORACLES"; exit 77; }
"$S/tests/golden/tools_make.py" trace <"$S/tests/golden/views.txt" || exit 1
python3 "$S/tests/live/views.py" "$B" trace "$paraver" || exit 1

# It takes our views of a trace that has all types without a message, and fills every table with numbers.
python3 "$S/tests/golden/cfgtrace.py" all || exit 1
"$B/bin/ovni-emu" -q -a -b --arrows -o views all || exit 1
cd views || exit 1
wrong=0 count=0
while read -r cfg; do
	case $cfg in
	cfg/breakdown/*) trace=$(basename "$cfg" .cfg)-breakdown.prv ;;
	cfg/thread/*) trace=thread.prv ;;
	*) trace=cpu.prv ;;
	esac
	if ! "$paraver" "$trace" "$cfg" >said 2>&1; then
		echo "wrong: $cfg: $(cat said)"
		wrong=1
	elif grep -qi 'nan' said; then
		echo "wrong: $cfg has cells that are no number: $(cat said)"
		wrong=1
	fi
	count=$((count + 1))
done < <(find cfg -maxdepth 2 -name '*.cfg' && find cfg/thread/mpi cfg/thread/openmp -name '*.cfg')
echo "$count configurations"
[ $count -gt 40 ] || wrong=1
exit $wrong
