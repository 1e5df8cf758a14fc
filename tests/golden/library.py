# SPDX-License-Identifier: MIT
"""
library: the Python module on libovni-trace agrees with ovni-report and ovni-dump.

    library.py BIN DOCS TRACE...    each TRACE: sums by thread and state, all events and arguments
"""
import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys

import ovni_trace

bins, docs, traces = sys.argv[1], sys.argv[2], sys.argv[3:]


def run(*words):
    return subprocess.run([bins + "/" + words[0], *words[1:]], capture_output=True, text=True, errors="surrogateescape")


def sums_of_report(path):
    sums = {}
    done = run("ovni-report", "why", "--csv", path)
    assert done.returncode in (0, 3), done.stderr
    for row in csv.DictReader(io.StringIO(done.stdout)):
        key = int(row["tid"]), int(row["pid"]), row["state"], row["reason"] if row["state"] != "running" else ""
        sums[key] = sums.get(key, 0) + int(row["time"])
    return sums


def sums_of(trace):
    sums = {}
    for i in trace.intervals():
        assert i.end > i.begin
        reason = i.reason if i.state not in ("running", "throttled") else ""
        key = i.thread.tid, i.thread.pid, i.state, reason
        sums[key] = sums.get(key, 0) + i.ns
    return sums


def functions_of_report(path):
    done = run("ovni-report", "func", "--csv", "-n", "0", path)
    assert done.returncode in (0, 3), done.stderr
    return {(row["function"], row["type"]): tuple(int(row[name]) for name in (
        "calls", "wall", "on_cpu", "runnable", "throttled", "asleep", "unknown")) for row in csv.DictReader(io.StringIO(done.stdout))}


def check_regions(trace, path):
    """The sums of the regions by function are those of the report; the columns are those of the regions."""
    sums, rows = {}, []
    for r in trace.regions():
        rows.append((r.begin, r.end, r.thread.index, r.function.index, r.depth, r.nested, r.returned, *r.state_ns.values()))
        if not r.returned:
            continue
        was = sums.setdefault((r.function.name, r.function.type), [0] * 7)
        was[0] += 1
        if not r.nested:
            for i, ns in enumerate((r.ns, *r.state_ns.values())):
                was[1 + i] += ns
        if r.function.mark_type >= 0:
            name = trace.mark_label(r.function.mark_type, r.function.value) or str(r.function.value)
            title = trace.mark_title(r.function.mark_type) or str(r.function.mark_type)
            assert (name, title) == (r.function.name, r.function.type)
    assert {key: tuple(was) for key, was in sums.items()} == functions_of_report(path), (path, sums, functions_of_report(path))
    columns = trace.region_columns()
    assert rows == [tuple(map(int, row)) for row in zip(*columns.values())], path
    assert list(columns) == [c[0] for c in ovni_trace.REGION_COLUMNS] + list(ovni_trace.STATES)
    return len(rows)


def check_columns(trace):
    columns = trace.interval_columns()
    rows = [(i.begin, i.end, i.thread.index, i.cpu, i.state, i.reason, i.waker, i.next) for i in trace.intervals()]
    states, reasons = ovni_trace.state_name, ovni_trace.reason_name
    names = "begin", "end", "thread", "cpu", "state", "reason", "waker", "next"
    assert rows == [(b, e, t, c, states(s), reasons(r), w, n) for b, e, t, c, s, r, w, n in
                    zip(*(list(map(int, columns[name])) for name in names))]
    clocks = trace.event_columns()
    assert [(e.clock, e.thread.index, e.cpu, int.from_bytes(e.mcv.encode("latin-1"), "big")) for e in trace.events()] == \
        list(zip(*(list(map(int, clocks[name])) for name in ("clock", "thread", "cpu", "mcv"))))
    return len(rows)


def plain(value):
    """Of ovni-dump: 64-bit numbers are strings."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    return int(value) if re.fullmatch(r"-?\d+", str(value)) else value


def check_events(trace, path):
    done = run("ovni-dump", "-j", path)
    assert done.returncode == 0, done.stderr
    dumped = [json.loads(line) for line in done.stdout.splitlines()]
    n, apart = -1, os.path.exists(path + "/clock-offsets.txt")
    if apart:  # ovni-dump has the clocks of the streams, and their order
        got = [(e.thread.path, e.mcv, e.payload.hex()) for e in trace.events()]
        want = [(line["stream"], line["mcv"], line["payload"]) for line in dumped]
        assert sorted(got, key=lambda e: e[0]) == sorted(want, key=lambda e: e[0]), path
        return len(dumped)
    for n, (event, line) in enumerate(zip(trace.events(), dumped)):
        assert (event.clock, event.thread.path, event.mcv, event.payload.hex()) == \
            (int(line["clock"]), line["stream"], line["mcv"], line["payload"]), (event, line)
        assert {k: plain(v) for k, v in event.args.items()} == {k: plain(v) for k, v in line["args"].items()}, (event, line)
        assert (event.text == "UNKNOWN") == (not line["known"])
    assert n + 1 == len(dumped), (n + 1, len(dumped))
    return len(dumped)


intervals = events = regions = 0
for path in traces:
    with ovni_trace.open(path) as trace:
        assert sums_of(trace) == sums_of_report(path), (path, sums_of(trace), sums_of_report(path))
        intervals += check_columns(trace)
        events += check_events(trace, path)
        regions += check_regions(trace, path)
        first = trace.intervals()
        next(first, None)
        list(trace.events())
        assert list(first) == []  # the second iterator has ended it
print(len(traces), "traces,", intervals, "intervals,", events, "events,", regions, "regions")
assert intervals > 50 and events > 100 and regions > 50
assert [ovni_trace.state_name(i) for i in range(5)] == list(ovni_trace.STATES)

try:
    ovni_trace.open("no/such/trace")
    sys.exit("opened")
except ovni_trace.Error as error:
    assert error.errno == 2 and "no/such/trace" in str(error), error
trace.close()
try:
    list(trace.events())
    sys.exit("read a closed trace")
except ovni_trace.Error:
    pass

# The answers of the page, on the trace ./ovni.
with open(docs, encoding="utf-8") as page:
    examples = re.findall(r"^```python\n(.*?)^```", page.read(), re.S | re.M)
assert len(examples) == 4
for example in examples:
    assert len([line for line in example.splitlines() if line and not line.startswith("import")]) <= 10, example
    if "pandas" in example:
        try:
            import pandas  # pylint: disable=unused-import
        except ImportError:
            print("no pandas: an example is not tried")
            continue
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(example, {})  # pylint: disable=exec-used
    print(out.getvalue())
