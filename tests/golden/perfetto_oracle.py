#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
perfetto_oracle: what the real trace_processor says of a file of `ovni-export --perfetto`, against ovni-report.

    perfetto_oracle.py FOLDER FILE TRACE BIN [KERNEL]

FOLDER has the engine (perfetto_query.mjs). Compared are: its own statistics of errors, runs and run times, waits, wakers,
the time of each CPU, slices, losses, the bounds, names; and the standard queries and the critical path answer.
"""
import collections
import csv
import glob
import io
import json
import os
import re
import subprocess
import sys

from perfetto_file import File

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = "tid > 0 and tid < 4194304"  # not the idle thread, not the fillers
# A run that begins when another thread leaves begins 1 ns earlier than in the trace.
RUNS = """(select *, ifnull((select count() from thread b where b.utid = before and not b.is_idle
  and b.tid < 4194304), 0) and before_end = ts and before != utid or 0 as direct from
  (select *, lag(utid) over (partition by ucpu order by ts, id) as before,
   lag(ts + dur) over (partition by ucpu order by ts, id) as before_end from sched))"""
BORN = "exists (select 1 from thread t where t.utid = s.utid and t.start_ts = s.ts)"
QUERIES = {
    "errors": "select name, idx, value from stats where severity <> 'info' and value > 0",
    "spurious": "select count() from spurious_sched_wakeup",
    "runs": "select tid, count(), sum(dur - direct) from %s join thread using(utid) where %s and dur >= 0 group by tid" % (RUNS, REAL),
    "waits": "select tid, count(), sum(s.dur + ifnull(r.direct, 0)) from thread_state s join thread using(utid)"
             " left join %s r on r.utid = s.utid and r.ts = s.ts + s.dur"
             " where s.state in ('R', 'R+') and s.dur >= 0 and %s and not %s group by tid" % (RUNS, REAL, BORN),
    "wakers": "select t.tid, iif(s.irq_context, -2, iif(w.is_idle, 0, w.tid)), count() from thread_state s"
              " join thread t using(utid) join thread w on w.utid = s.waker_utid"
              " where s.state = 'R' and s.dur >= 0 and not %s group by 1, 2" % BORN,
    "cpus": "select ucpu, sum(dur) from sched where dur >= 0 group by ucpu",
    "overlaps": "select count() from (select ts, lag(ts + dur) over (partition by ucpu order by ts, id) as before_end"
                " from sched) where ts < before_end",
    "slices": "select name, count(), sum(iif(exists (select 1 from ancestor_slice(s.id) a where a.name = s.name), 0, dur)) from slice s"
              " where extract_arg(arg_set_id, 'debug.open_at_end') is null and extract_arg(arg_set_id, 'debug.records') is null group by name",
    "unfinished": "select count() from slice where dur < 0",
    "lost": "select sum(extract_arg(arg_set_id, 'debug.records')) from slice where name glob '* lost'",
    "unknown": "select tid, count(), sum(dur) from slice s join thread_track k on k.id = s.track_id join thread using(utid)"
               " where s.name = 'not recorded' group by tid",
    "counters": "select tid, k.name, count(), cast(sum(value) as int) from counter c join thread_counter_track k on k.id = c.track_id"
                " join thread using(utid) group by 1, 2",
    "renames": "select tid, s.name, s.ts from slice s join thread_track k on k.id = s.track_id join thread using(utid)"
               " where k.name = 'lifecycle'",
    "bounds": "select start_ts, end_ts from trace_bounds",
    # parents without a stream have no name
    "names": "select tid, name from thread where name is not null and %s" % REAL,
    # the reader leaves a row without any data behind a thread that had regions and ended
    "nameless": "select tid from thread where name is null and %s and utid in (select utid from thread_state"
                " union select waker_utid from thread_state union select utid from thread_track)" % REAL,
    "calls": "select tid, blocked_function, count(), sum(dur) from thread_state join thread using(utid)"
             " where blocked_function is not null and dur >= 0 group by 1, 2",
    "states": "select count() from thread_state where state is null",
    "machines": "select count() from machine",
    "text": "include perfetto module sched.states; select count() from thread_state"
            " where sched_state_io_to_human_readable_string(state, io_wait) is null",
    "latency": "include perfetto module sched.latency; select count() from sched_latency_for_running_interval",
    "runnable": "include perfetto module sched.runnable; select count() from sched_previous_runnable_on_thread",
    "parallelism": "include perfetto module sched.thread_level_parallelism; select count() from sched_runnable_thread_count",
    "cpu use": "include perfetto module linux.cpu.utilization.system; select count() from cpu_utilization_per_second",
    "critical": "include perfetto module sched.thread_executing_span;"
                " select count(), sum(p.dur), s.to_ts - s.from_ts from span s,"
                " _thread_executing_span_critical_path(s.utid, s.from_ts, s.to_ts - s.from_ts) p group by s.utid",
}
# The middle of the runs of the threads with the most runs. For some the standard library has no answer.
SPAN = ("create perfetto table span as select utid, min(ts) + (max(ts) - min(ts)) / 4 as from_ts,"
        " max(ts) - (max(ts) - min(ts)) / 4 as to_ts from sched join thread using(utid) where %s"
        " group by utid order by count() desc limit 8" % REAL)

wrong = []


def need(condition, *what):
    if not condition:
        wrong.append(" ".join(map(str, what))[:600])


def ask(folder, file):
    """The rows of each query, as lists of words."""
    names, statements = [], []
    for name, sql in QUERIES.items():
        for statement in ([SPAN] if name == "critical" else []) + [part.strip() for part in sql.split(";")]:
            names.append(name)
            statements.append(statement)
    run = subprocess.run(["node", HERE + "/perfetto_query.mjs", folder, file, *statements],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit("%s: %s" % (file, run.stderr[-2000:]))
    answers, rows = [], []
    for line in run.stdout.splitlines():
        if line == "--":
            answers.append(rows)
            rows = []
        elif line.startswith("="):
            rows.append(line[1:].split("\t"))
    if len(answers) != len(names):
        sys.exit("%s: %d answers to %d statements" % (file, len(answers), len(names)))
    return dict(zip(names, answers))  # the last statement of a name has its answer


def table(bins, *words):
    run = subprocess.run([bins + "/ovni-report", *words], capture_output=True, text=True, check=False)
    if run.returncode not in (0, 3):
        sys.exit(run.stderr)
    return list(csv.DictReader(io.StringIO(run.stdout)))


def dumped_wakers(bins, trace):
    """(tid, waker) of each OHw that changes a state, but of those by which the end of the window closes a thread."""
    dump = subprocess.run([bins + "/ovni-dump", "--mcv", "O??", trace], capture_output=True, text=True, check=False).stdout
    found, woken, asleep, virtual = collections.Counter(), {}, {}, {}
    for line in dump.splitlines():
        clock, mcv, stream, text = line.split(None, 3)
        if mcv == "OHp":
            asleep[stream] = not re.search("preempted|yielded|quota", text)
        elif mcv == "OHw" and asleep.get(stream):
            waker = re.search(r"thread (\d+)", text)
            woken[stream] = -2 if "interrupt" in text else int(waker.group(1)) if waker else 0
        elif mcv in ("OAs", "OHx"):
            virtual[stream] = "virtual" in text
        elif mcv == "OHr" and stream in woken and not virtual.get(stream):
            found[int(stream.rsplit(".", 1)[1]), woken.pop(stream)] += 1
        elif mcv == "OHe":
            woken.pop(stream, None)
    return found


def main():
    folder, file, trace, bins = sys.argv[1:5]
    said = ask(folder, file)
    metas = [json.load(open(path)) for path in glob.glob(trace + "/**/stream.json", recursive=True)]
    sessions = [m["bpf"]["session"] for m in metas if "session" in m.get("bpf", {})]
    lost = sum(int(s.get("lost", 0)) for s in sessions)
    # ovni-report leaves out times where a switch of the thread was not recorded
    unsure = {int(row["tid"]) for row in table(bins, "why", "--csv", trace) if row["reason"] == "lost"}

    marked = said["lost"] != [["null"]]
    errors = [row for row in said["errors"] if not (marked and row[0] == "ftrace_cpu_has_data_loss")]
    need(not errors, "statistics of errors:", errors)
    need(said["spurious"] == [["0"]], "spurious wake-ups:", said["spurious"])
    need(said["overlaps"] == [["0"]], "runs overlap:", said["overlaps"])
    need(said["unfinished"] == [["0"]], "slices without an end:", said["unfinished"])
    need(said["states"] == [["0"]] and said["text"] == [["0"]], "states without a name")

    # the parts of an accelerator have slices, no runs
    parts = {m["ovni"]["tid"] for m in metas if "accel" in m}
    wanted = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in table(bins, "latency", "--csv", trace):
        for i, name in enumerate(("runs", "run_time", "waits", "wait_time")):
            if int(row["tid"]) not in parts:
                wanted[int(row["tid"])][i] += int(row[name] or 0)
    runs = {int(tid): [int(n), int(ns)] for tid, n, ns in said["runs"]}
    need(not parts & set(runs), "parts of an accelerator run on a CPU:", parts & set(runs))
    need(set(runs) <= set(wanted), "threads:", set(runs) - set(wanted))
    different = [(tid, runs.get(tid), row) for tid, row in wanted.items() if tid not in unsure and runs.get(tid, [0, 0]) != row[:2]]
    need(not different, "runs:", different[:5])
    waits = {int(tid): [int(n), int(ns)] for tid, n, ns in said["waits"]}
    for tid, (_, _, n, ns) in wanted.items():
        found = waits.get(tid, [0, 0])
        need(tid in unsure or found[0] == n and abs(found[1] - ns) <= 2 * n, "waits of", tid, found, "expected", [n, ns])

    wakers = {(int(tid), int(waker)): int(n) for tid, waker, n in said["wakers"]}
    dumped = dumped_wakers(bins, trace)
    need(wakers == dict(dumped), "wakers:", [(k, wakers.get(k), dumped.get(k)) for k in sorted(set(wakers) | set(dumped)) if wakers.get(k) != dumped.get(k)][:8])

    if len(sessions) == 1:
        t0, t1 = int(sessions[0]["t0"]), int(sessions[0]["t1"])
        need(said["bounds"] == [[str(t0), str(t1)]], "bounds:", said["bounds"], [t0, t1])
        need(said["cpus"] and all(int(ns) == t1 - t0 for _, ns in said["cpus"]), "time of CPUs:", said["cpus"], t1 - t0)
        need(int(said["lost"][0][0].replace("null", "0")) == lost, "lost:", said["lost"], lost)
    nameless = {int(tid) for tid, in said["nameless"]} & {meta["ovni"]["tid"] for meta in metas}
    need(not nameless, "threads with a second row, without a name:", nameless)
    calls, blocked = collections.Counter(), collections.Counter()
    for row in table(bins, "why", "--csv", trace):
        if row["call"]:
            calls[int(row["tid"]), row["call"]] += int(row["times"])
    for tid, call, n, _ in said["calls"]:
        blocked[int(tid), call] += int(n)
    # those that began before T0 or end after T1 are in the report alone
    different = [(key, n, calls[key]) for key, n in blocked.items() if key[0] not in unsure and not 0 <= calls[key] - n <= 2]
    need(not different, "system calls:", different)
    names = dict((int(tid), name) for tid, name in said["names"])
    for meta in metas:
        if meta["ovni"]["tid"] in wanted and meta.get("bpf", {}).get("name", "").isprintable() and "name" in meta.get("bpf", {}):
            ours = {m["bpf"].get("name") for m in metas if m["ovni"]["tid"] == meta["ovni"]["tid"]}
            need(names.get(meta["ovni"]["tid"]) in ours, "name of", meta["ovni"]["tid"], names.get(meta["ovni"]["tid"]), ours)

    unknown = {int(row["tid"]): [int(row["times"]), int(row["time"])] for row in table(bins, "why", "--csv", trace) if row["reason"] == "lost"}
    need({int(tid): [int(n), int(ns)] for tid, n, ns in said["unknown"]} == unknown, "unknown time:", said["unknown"], unknown)
    file_ = File(file)
    need({(int(tid), name): (int(n), int(total)) for tid, name, n, total in said["counters"]} ==
         {key[1:]: (len(values), sum(value for _, value in values)) for key, values in file_.counters.items()}, "counters:", said["counters"])
    need(sorted((int(tid), name, int(ts)) for tid, name, ts in said["renames"]) == sorted(row[1:] for row in file_.instants), "renames:", said["renames"])

    slices = {name: (int(n), int(ns)) for name, n, ns in said["slices"]}
    functions = collections.defaultdict(lambda: [0, 0])
    for row in table(bins, "func", "--csv", trace):
        functions[row["function"]][0] += int(row["calls"])
        functions[row["function"]][1] += int(row["wall"] or 0)
    need({name: tuple(sums) for name, sums in functions.items() if sums[0]} ==
         {name: sums for name, sums in slices.items() if name in functions}, "slices:", slices, dict(functions))

    for name in ("latency", "runnable", "parallelism", "cpu use"):
        need(int(said[name][0][0]) > 0, name, "has no rows")
    paths = said["critical"]
    # for a few threads the standard library answers for a part of the span only
    need(all(int(sum_ns) <= int(span) for _, sum_ns, span in paths), "critical paths:", paths)
    need(2 * sum(sum_ns == span for _, sum_ns, span in paths) >= len(paths), "partial critical paths:", paths)
    need(paths or max(n for n, _ in runs.values()) <= 20, "no thread has a critical path")
    for text in wrong:
        print("%s: %s" % (file, text))
    print("%s: %d threads (%d with unknown time), %d runs, %d wakers, %d functions, critical paths of %d threads in %d pieces" % (
        file, len(runs), len(unsure), sum(n for n, _ in runs.values()), sum(wakers.values()), len(functions), len(paths),
        sum(int(pieces) for pieces, _, _ in paths)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
