# SPDX-License-Identifier: MIT
"""
demo: the summary of a recording and its emulation, for demo.sh: demo.py TRACE FOLDER.

In: the metadata of the streams and the files of the trace, which lies in FOLDER; out: a
few lines to read.
"""
import json
import os
import sys

trace, folder = sys.argv[1:3]
threads, processes, events, session = 0, set(), 0, None
for path, _, files in os.walk(trace):
    if "stream.json" in files:
        with open(os.path.join(path, "stream.json"), encoding="utf-8") as f:
            meta = json.load(f)
        threads += 1
        processes.add(meta["ovni"]["pid"])
        events += int(meta["bpf"]["events"])
        session = meta["bpf"].get("session", session)
if not session:
    sys.exit(f"demo: {trace} has no session")


def size(names):
    total = sum(os.path.getsize(os.path.join(path, name)) for path, _, files in os.walk(trace)
                for name in files if name in names)
    return f"{total / 1e6:.2f} MB" if total >= 1e5 else f"{total / 1e3:.1f} kB"


def line(what, text):
    print(f"  {what:<12}{text}")


seconds = (int(session["t1"]) - int(session["t0"])) / 1e9
counts = {k: int(v) for k, v in session["counts"].items()}
line("time", f"{seconds:.3f} s")
line("threads", f"{threads} in {len(processes)} process" + "es" * (len(processes) != 1))
line("events", f"{events:,}, from {counts['switches']:,} switches and {counts['wakeups']:,} "
     f"wake-ups ({counts['switches'] / seconds:,.0f} switches/s)")
line("lost", f"{int(session.get('lost', 0)):,}")
line("repaired", f"{counts['repairs']:,}")
line("trace", f"{size({'stream.obs'})} of events in {os.path.join(folder, trace)}/loom.*")
line("Paraver", f"{size({'thread.prv', 'cpu.prv'})} in {os.path.join(folder, trace)}/thread.prv "
     "and cpu.prv")
print()
print(f"  wxparaver {os.path.join(folder, trace, 'thread.prv')} "
      f"{os.path.join(folder, trace, 'cfg/thread/state.cfg')}")
