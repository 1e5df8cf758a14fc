#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Paraver files of a trace: the times of ovni-emu's lines are the same as in the events and in
# ovni-report, also while a thread is off its CPU. The lines of the reference are the same with and
# without our own types (300 to 519), and the views are those of the types that occur.
set -u
"$S/tests/golden/tools_make.py" trace <"$S/tests/golden/views.txt" || exit 1
wrong=0
complain() { echo "wrong: $*"; wrong=1; }
python3 "$S/tests/live/views.py" "$B" trace || complain "the views"

"$B/bin/ovni-emu" -q -l --compat -o compat trace || exit 1
for view in thread cpu; do
	cmp compat/$view.prv <(grep -vE '^2:[0-9]+:1:1:[0-9]+:[0-9]+:(3[0-9][0-9]|4[0-9][0-9]|5[01][0-9]):' trace.views/$view.prv) ||
		complain "$view.prv: our own types change the lines of the reference"
done
for file in thread/mpi/function thread/openmp/subsystem-time thread/pthread/call thread/activity cpu/process-time; do
	[ -s "trace.views/cfg/$file.cfg" ] || complain "there is no $file.cfg"
done
for file in thread/nosv thread/lost.cfg thread/wake-ups.cfg breakdown; do
	[ ! -e "trace.views/cfg/$file" ] || complain "there is $file, which shows nothing"
done
[ ! -e compat/cfg/thread/mpi/function.cfg ] || complain "--compat: a view of a type that is not written"
[ -s compat/cfg/thread/mpi/function-running.cfg ] || complain "--compat: no view of MPI"

# the scales of counts reach from 0 to the trace's maximum
grep -A1 '^# maximum: CPUs$' trace.views/cfg/thread/running-count.cfg | grep -qx 'window_maximum_y 4.0' ||
	complain "the scale of running-count is not the number of CPUs"
grep -A1 '^# maximum: runnable' trace.views/cfg/thread/runnable-count.cfg | grep -qx 'window_maximum_y 2.0' ||
	complain "the scale of runnable-count is not the most runnable threads"

# Calls have values near each other, a fault too, so that Paraver has a column for each; no label has square
# brackets, which it leaves out with their text.
"$S/tests/golden/tools_make.py" calls <<'E3' || exit 1
thread n 10 10 ovni.require={"ovni":"1.1.0","bpf":"1.0.0"} bpf.name="a" bpf.session.machine="x86_64" bpf.fds=[{"fd":3,"name":"pipe:[7]","from":"1","to":"9000"}]
1000 OHx i32:0 i32:-1 u64:0
2000 OHp u16:1 i32:0 u16:0 u64:3
3000 OHw i32:-2
3000 OHr
4000 OHp u16:2 i32:0 u16:65535 u64:4096
5000 OHw i32:-2
5000 OHr
6000 OHp u16:1 i32:0 u16:32771 u64:3
7000 OHw i32:-2
7000 OHr
8000 OHe
E3
"$B/bin/ovni-emu" -q -l -o called calls || complain "calls are refused"
[ "$(sed -n 's/.*:304:\([1-9][0-9]*\).*/\1/p' called/thread.prv | tr '\n' ' ')" = '2 1 9 ' ] || complain "the values of calls: $(grep :304: called/thread.prv)"
grep -qx '1 *fault' called/thread.pcf && grep -qx '2 *read' called/thread.pcf && grep -qx '9 *32-bit read' called/thread.pcf ||
	complain "the names of calls: $(grep -A9 '304' called/thread.pcf)"
grep -q '3 = pipe:(7), a (10)$' called/thread.pcf || complain "the names of objects: $(grep -A9 ' 305 ' called/thread.pcf)"

# a line that is missing is seen
sed -i '/:345:12$/d' trace.views/thread.prv
cp -r "$B/bin" bin 2>/dev/null && cat >bin/ovni-emu <<'E2' && chmod +x bin/ovni-emu
#!/bin/sh
exit 0
E2
python3 "$S/tests/live/views.py" . trace >seen && complain "a missing line passes"
grep -q "MPI_Recv is drawn for" seen || complain "a missing MPI_Recv is not told: $(cat seen)"
exit $wrong
