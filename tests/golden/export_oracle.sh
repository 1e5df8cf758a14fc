#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The real trace_processor opens the files of ovni-export without an error; its runs, waits, wakers, times of
# CPUs, slices, losses, bounds and names are those of ovni-report. Of the JSON of --chrome, its slices and tracks are the
# rows of the tables. Of recordings: live/export.
# long: needs a program of another project
set -u
cd "$T" || exit 1
. "$S/tests/golden/perfetto_oracle.sh"
python3 "$S/tests/golden/tools_make.py" trace <"$S/tests/golden/export_trace.txt" || exit 1
"$B/bin/ovni-export" --perfetto trace 2>said || [ $? = 3 ] || { cat said; exit 1; }
python3 "$S/tests/golden/perfetto_oracle.py" "$engine" trace.pftrace trace "$B/bin" || exit 1
# a recording and the run of an accelerator
python3 -B "$S/tests/golden/loom_schedule.py" host
python3 -B "$S/tests/golden/loom_make.py" runs
"$B/bin/ovni-loom" import runs/ranks.trace.bin -o host --clock-period 500ns 2>said || { cat said; exit 1; }
"$B/bin/ovni-export" --perfetto host 2>said || { cat said; exit 1; }
python3 "$S/tests/golden/perfetto_oracle.py" "$engine" host.pftrace host "$B/bin" || exit 1
# parts and traces of other programs have no errors
for name in syn-random-06 syn-kernel-switches syn-nodes-tampi-mpi-nosv-random suite-nosv-hwc; do
	"$B/bin/ovni-export" --perfetto -o "$name" "$CONFORMANCE/emu/$name/trace" 2>said || { cat said; exit 1; }
done
"$B/bin/ovni-export" --perfetto --from 2050 --to 4460 -o part trace 2>said || [ $? = 3 ] || { cat said; exit 1; }
# the details of --why=lock, stack and irq, below their threads
python3 "$S/tests/golden/tools_make.py" details <"$S/tests/golden/export_details.txt" || exit 1
printf 'ovni-bpf stacks 1\n7\tfutex_wait+0x1;do_futex+0x2\n8\t=7;take@pool.so+0x1a@pool.c:40\n' >details/stacks
"$B/bin/ovni-export" --perfetto -o details.file details 2>said || { cat said; exit 1; }
for file in part details.file syn-* suite-*; do
	node "$S/tests/golden/perfetto_query.mjs" "$engine" "$file" \
		"select name, idx, value from stats where severity <> 'info' and value > 0 and name <> 'ftrace_cpu_has_data_loss'" \
		"select count() from slice where dur < 0" "select count() from spurious_sched_wakeup" 2>said |
		grep -E '^(=|--)' | tr '\n' ' ' >answer
	[ "$(cat answer)" = '-- =0 -- =0 -- ' ] || { echo "$file: $(cat answer) $(cat said)"; exit 1; }
done

node "$S/tests/golden/perfetto_query.mjs" "$engine" details.file "include perfetto module slices.with_context" \
	"select tid, name, ts, dur, extract_arg(arg_set_id, 'debug.ns'), extract_arg(arg_set_id, 'debug.lock_owner'),
	extract_arg(arg_set_id, 'debug.lock_owner_tid'), extract_arg(arg_set_id, 'debug.stack') from thread_slice order by ts, tid" 2>said |
	grep ^= | tr '\t' '|' >answer
cat >wanted <<'END'
=1|interrupts|1000|1000|300|null|null|null
=1|sleep|2000|3000|null|owner|2|futex_wait <- do_futex
=2|sleep|3000|1000|null|null|null|take
=1|sleep|6000|1000|null|not in the trace|99|null
=1|interrupts|7100|900|50|null|null|null
=1|wait for a CPU|8000|100|null|null|null|futex_wait <- do_futex
=1|interrupts|8100|1900|1024|null|null|null
END
cmp -s answer wanted || { cat answer said; exit 1; }
# the call stack of each sleep, the innermost frame first
node "$S/tests/golden/perfetto_query.mjs" "$engine" details.file "with recursive f(slice, depth, callsite) as (
	select slice_id, 0, callsite_id from __intrinsic_track_event_callstacks union all
	select slice, f.depth + 1, parent_id from f join stack_profile_callsite c on c.id = callsite where parent_id is not null)
	select s.ts, s.name, group_concat(frame.name || '@' || mapping.name || '+' || frame.rel_pc, ' ') from
	(select * from f order by slice, depth) f join slice s on s.id = slice join stack_profile_callsite c on c.id = callsite
	join stack_profile_frame frame on frame.id = frame_id join stack_profile_mapping mapping on mapping.id = frame.mapping group by s.id" 2>said |
	grep ^= | tr '\t' '|' >answer
cat >wanted <<'END'
=2000|sleep|futex_wait@/[kernel]+1 do_futex@/[kernel]+2
=3000|sleep|futex_wait@/[kernel]+1 do_futex@/[kernel]+2 take@/pool.so+26
=8000|wait for a CPU|futex_wait@/[kernel]+1 do_futex@/[kernel]+2
END
cmp -s answer wanted || { cat answer said; exit 1; }

# JSON trace events
for name in trace "$CONFORMANCE"/emu/{syn-nodes-tampi-mpi-nosv-random,suite-nosv-barrier}/trace; do
	rm -rf t.json t.sqlite
	"$B/bin/ovni-export" --chrome -o t.json "$name" 2>said || [ $? = 3 ] || { cat said; exit 1; }
	"$B/bin/ovni-export" --sqlite -o t.sqlite "$name" 2>said || [ $? = 3 ] || { cat said; exit 1; }
	python3 -B "$S/tests/golden/chrome_oracle.py" "$engine" t.json t.sqlite || { echo "$name: JSON trace events"; exit 1; }
done
