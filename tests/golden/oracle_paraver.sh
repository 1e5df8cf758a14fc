#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Paraver ($ORACLES) computes the same numbers from our output and our configurations as the events
# of the trace and `ovni-report`: states, reasons, latency, functions, MPI, OpenMP, pthread, the time of interrupts, and how
# busy CPUs are.
# needs: early
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
cd ..
# The arrows from the owners of locks: time asleep in ns, thread by owner.
"$S/tests/golden/tools_make.py" locks <<'E'
thread n 1 1 bpf.name="holder" bpf.session.machine="x86_64" ovni.require.bpf="1.0.0"
0 OHx i32:0 i32:-1 u64:0
1000 OHe
thread n 1 2 bpf.name="waiter" ovni.require.bpf="1.0.0"
0 OHx i32:1 i32:-1 u64:0
100 OHp u16:1 i32:0 u16:202 u64:16
400 OHw i32:1 i32:1
410 OHr
600 OHp u16:1 i32:0 u16:202 u64:16
650 OHw i32:1 i32:1
700 OHr
1000 OHe
E
"$B/bin/ovni-emu" -q --arrows locks || exit 1
"$paraver" locks/thread.prv locks/cfg/thread/lock-owners.cfg >said 2>&1
grep -qP '^waiter \(2\)\t350\.00\t$' said || { echo "wrong: thread/lock-owners: $(cat said)"; wrong=1; }
# The part of each run that interrupts took (type 308): 250 of 1000 us, 100 of 2000, none of 1000, 4000 of 8000.
"$S/tests/golden/tools_make.py" irq <<'E'
thread n 1 1 bpf.name="one" bpf.session.irq=true ovni.require.bpf="1.0.0"
0 OHx i32:0 i32:-1 u64:0
1000000 OHp u16:1 i32:0
2000000 OHw i32:1
2100000 OHr u32:250000
4100000 OHp u16:1 i32:0
5000000 OHw i32:1
5000000 OHr u32:100000
6000000 OHe u32:0
thread n 1 2 bpf.name="two" bpf.session.irq=true ovni.require.bpf="1.0.0"
0 OHx i32:1 i32:-1 u64:0
8000000 OHe u32:4000000
E
"$B/bin/ovni-emu" -q irq || exit 1
for rows in thread cpu; do # ms: begin, length; 1/10 000
	"$paraver" irq/$rows.prv irq/cfg/$rows/interrupts.cfg >said 2>&1
	[ "$(awk '$4 > 0 { printf "%s %g %g %g;", $1, $2, $3, $4 }' said)" = '1.1.1 0 1 2500;1.1.1 2.1 2 500;1.1.2 0 8 5000;' ] ||
		{ echo "wrong: $rows/interrupts: $(cat said)"; wrong=1; }
	count=$((count + 1))
done
# The views of efficiency, in ms, of the worked examples of efficiency.md 5: with MPI_Init and MPI_Finalize, and before and after.
PYTHONDONTWRITEBYTECODE=1 python3 "$S/tests/golden/efficiency_make.py" examples || exit 1
for example in B C; do "$B/bin/ovni-emu" -q examples/$example 2>/dev/null || exit 1; done
time_in() { # EXAMPLE VIEW: time with a value, of each row
	"$paraver" examples/"$1"/thread.prv examples/"$1"/cfg/thread/"$2".cfg >said 2>&1
	awk '$4 > 0 { ms[$1] += $3 } END { for (row in ms) printf "%s %.2f\n", row, ms[row] }' said | sort | tr '\n' ' '
}
is() { # WANT EXAMPLE VIEW
	local have
	have=$(time_in "$2" "$3")
	[ "$have" = "$1" ] || { echo "wrong: $3 of example $2: $have, not $1"; wrong=1; }
	count=$((count + 1))
}
is '1.1.1 0.81 1.1.2 0.81 1.1.3 0.92 ' B mpi/useful
is '1.1.1 0.66 1.1.2 0.81 1.1.3 0.10 ' B mpi/useful-on-cpu
is '1.1.1 0.10 ' B mpi/os-delay
is '1.1.1 0.10 ' B mpi/os-culprit
is '1.1.1 0.22 1.1.2 0.02 ' B mpi/on-cpu
is '1.1.1 0.50 1.1.2 0.40 1.1.3 0.60 1.1.4 0.60 ' C openmp/useful
is '1.1.1 0.50 1.1.2 0.40 1.1.3 0.60 1.1.4 0.60 ' C openmp/useful-on-cpu
"$paraver" examples/B/thread.prv examples/B/cfg/thread/mpi/efficiency.cfg >said 2>&1
grep -q '^TH 1.10[[:space:]]*0.66[[:space:]]*0.22[[:space:]]*0.10[[:space:]]*0.05' said ||
	{ echo "wrong: the table of mpi/efficiency: $(cat said)"; wrong=1; }
echo "$count configurations"
[ $count -gt 40 ] || wrong=1
exit $wrong
