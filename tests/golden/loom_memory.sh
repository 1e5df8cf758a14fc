#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Memory follows nodes and scopes, never records: a trace whose nodes change between two invocations with
# every record needs as much for half a million of them as for two thousand, in every style.
set -eu
cat >"$T/peaks.py" <<'END'
import os, struct, subprocess, sys
loom, top = sys.argv[1:]
FIRE, STALL_IN, STALL_OUT, ROUTE, START, DONE = 0, 1, 2, 3, 5, 6


def record(cycle, kind, node=0, inv=0, core=0):
    return struct.pack("<QIQHIBBHII", cycle, 1, inv, core, node, kind, 0, 0, 1, 0)


def make(path, records):
    kinds = [FIRE, STALL_IN, STALL_OUT, ROUTE]
    rows = [record(0, START, inv=i, core=c) for i in (0, 1) for c in (0, 1)]
    rows += [record(1 + i // 6, kinds[i // 5 % 4], 1 + i % 3, i % 2, i // 7 % 2) for i in range(records)]
    rows += [record(2 + records // 6, DONE, inv=i, core=c) for i in (0, 1) for c in (0, 1)]
    with open(path, "wb") as out:
        out.write(b"LTRC" + struct.pack("<IQ", 1, len(rows)) + b"".join(rows))


def peak(argv):
    """KiB. A small process starts it: the maximum of wait4 includes the parent's memory."""
    code = ("import os,sys\npid=os.posix_spawn(sys.argv[1],sys.argv[1:],os.environ,"
            "file_actions=[(os.POSIX_SPAWN_OPEN,1,'/dev/null',os.O_WRONLY,0)])\n"
            "_,status,usage=os.wait4(pid,0)\nprint(os.waitstatus_to_exitcode(status),usage.ru_maxrss)")
    done = subprocess.run([sys.executable, "-ISc", code, *argv], stdout=subprocess.PIPE, text=True, check=True)
    status, size = map(int, done.stdout.split())
    if status:
        sys.exit("%s: status %d" % (" ".join(argv), status))
    return size


bad = False
for name, records in ("few", 2000), ("many", 500000):
    make("%s/%s.bin" % (top, name), records)
for command in (["stats"], ["stats", "--style", "edge"], ["stats", "--style", "span"], ["check"], ["import"]):
    few, many = (peak([loom, command[0], "%s/%s.bin" % (top, name), *command[1:]] +
                      (["-o", "%s/out.%s" % (top, name), "--no-keep"] if command == ["import"] else []))
                 for name in ("few", "many"))
    print("%s: %d KiB, %d KiB" % (" ".join(command), few, many))
    if many > few + 4096:
        print("memory follows records")
        bad = True
sys.exit(bad)
END
exec python3 "$T/peaks.py" "$B/bin/ovni-loom" "$T"
