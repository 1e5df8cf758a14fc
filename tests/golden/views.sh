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

# a line that is missing is seen
sed -i '/:345:12$/d' trace.views/thread.prv
cp -r "$B/bin" bin 2>/dev/null && cat >bin/ovni-emu <<'E2' && chmod +x bin/ovni-emu
#!/bin/sh
exit 0
E2
python3 "$S/tests/live/views.py" . trace >seen && complain "a missing line passes"
grep -q "MPI_Recv is drawn for" seen || complain "a missing MPI_Recv is not told: $(cat seen)"
exit $wrong
