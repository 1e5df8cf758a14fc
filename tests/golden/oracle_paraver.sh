#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Paraver ($ORACLES) computes from our output and our configurations what `ovni-report` says of the trace:
# the time that each thread ran and that it waited for a CPU.
# long: needs programs of other projects
set -u
paraver=$ORACLES/paraver/pv-text
[ -x "$paraver" ] || { echo "there is no Paraver in $ORACLES"; exit 77; }
"$S/tests/golden/tools_make.py" trace <<'END'
thread n 1 1 ovni.require={"ovni":"1.1.0"}
1000000 OHx i32:0 i32:-1 u64:0
3000000 OHp u16:1 i32:0
4000000 OHw i32:2
4000000 OAs i32:1
6000000 OHr
7500000 OHe
thread n 1 2
1500000 OHx i32:1 i32:-1 u64:0
5500000 OHp u16:1 i32:0
7000000 OHw i32:1
8000000 OHr
9500000 OHe
END
"$B/bin/ovni-emu" -l trace 2>emu.log || { cat emu.log; exit 1; }
"$paraver" trace/thread.prv trace/cfg/thread/state-time.cfg >table || exit 1
"$B/bin/ovni-report" --json latency trace >report || exit 1
python3 - table report <<'END'
import json, sys

lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
head = lines[0]
paraver = {line[0]: dict(zip(head[1:], line[1:])) for line in lines[1:] if line[0].startswith("TH ")}
threads = json.load(open(sys.argv[2]))
print(paraver, threads, sep="\n")
assert len(threads) == len(paraver) == 2
for number, thread in enumerate(threads, 1):
    row = paraver["TH 1.%d" % number]
    ran, waited = (round(float(row[name]) * 1000) for name in ("Running", "Warming"))
    assert ran == thread["run_time"] > 0, (ran, thread)
    assert waited == thread["waits"] * thread["wait_avg"] > 0, (waited, thread)
END
