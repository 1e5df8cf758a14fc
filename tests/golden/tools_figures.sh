#!/bin/bash
# SPDX-License-Identifier: MIT
#
# stats.json of a recording: ovni-check checks its sums, and compares it with the streams; ovni-info and
# ovni-report print it.
set -eu
python3 - "$B/bin" "$S/tests/golden/tools_make.py" "$T" <<'END'
import json, os, subprocess, sys
bin_dir, make, top = sys.argv[1:]
path = top + "/t/stats.json"
said = ""

# A thread that runs 400, sleeps 400, waits 99 and runs 101: it enters a nanosecond after the switch.
EVENTS = """
1000 OHx i32:0 i32:-1 u64:0
1400 OHp u16:1 i32:0
1800 OHw i32:-2
1900 OHr
2000 OHe
"""


def trace(more=""):
    subprocess.run(["rm", "-rf", top + "/t"], check=True)
    subprocess.run([sys.executable, make, top + "/t"], check=True, text=True, input=(
        'thread n 1 1 bpf.events="5" bpf.name="w" bpf.session.t0="1000" bpf.session.t1="2000" '
        'bpf.session.lost="0" ' + more + EVENTS))


def line(scope, **more):
    return {"clock": 2000, "scope": scope, "total_ns": 1000, "active_ns": 501, "runnable_ns": 99, "throttled_ns": 44,
            "blocked_ns": 400, "unknown_ns": 0, "switches_voluntary": 1, "switches_preempted": 0,
            "yields": 0, "wakeups": 1, "migrations": 0, "calls": 0} | more


def thread(tid, ns):
    return dict.fromkeys(line("thread"), 0) | {"scope": "thread", "clock": 2000, "tid": tid, "pid": 1,
                                               "comm": "w", "total_ns": ns, "active_ns": ns}


def figures(change=""):
    """Its stats.json, after a change of what the lines are called here."""
    one = line("thread", tid=1, pid=1, comm="w")
    run = line("run", threads=1, window_ns=1000, cpus=1, cpu_active_ns=501, prog_ns=20, prog_runs=2)
    cpu = {"clock": 2000, "scope": "cpu", "cpu": 0, "total_ns": 1000, "active_ns": 501,
           "other_ns": 9, "idle_ns": 490, "unknown_ns": 0, "prog_ns": 20, "prog_runs": 2,
           "metrics": {"utilization": 0.51, "overhead": 0.02}}
    kind = {"cpu": 0, "kind": "switch", "seen": 7, "written": 4, "filtered": 2, "sampled_out": 1,
            "dropped": 0}
    perf = {"schema": "ovni-bpf-stats", "version": 1, "mode": "full",
            "window": {"first_cycle": 1000, "end_cycle": 2000, "total_cycles": 1000},
            "events": {"seen": 7, "written": 4, "filtered": 2, "sampled_out": 1, "dropped": 0,
                       "by_core_and_kind": [kind]},
            "recorder": {"cpu_ns": 1500000, "peak_rss_bytes": 4096}, "snapshots": [run, cpu, one]}
    both = (one, run)
    exec(change, globals(), locals())
    write(json.dumps(perf))


def write(text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def tool(status, *words, needs=()):
    global said
    done = subprocess.run([bin_dir + "/" + words[0], *words[1:]], capture_output=True, text=True)
    said = done.stdout + done.stderr
    missing = [n for n in needs if n not in said]
    if done.returncode != status or missing:
        sys.exit(f"{words}: status {done.returncode}, not {status}; missing: {missing}\n{said}")
    return done.stdout


def check(status, *options, needs=()):
    return tool(status, "ovni-check", *options, top + "/t", needs=needs)


trace()
figures()
assert "stats.json" not in check(0, "--strict"), said

# Its own rules: errors.
for finding, change in (
        ("CPU 0: the states add up to 1001 ns of 1000", 'cpu["idle_ns"] += 1'),
        ("the run: active_ns 501 but the threads sum to 502", 'one["active_ns"] += 1'),
        ("the run: prog_ns 20 but the CPUs sum to 21", 'cpu["prog_ns"] += 1'),
        ("process 1: wakeups 2 but its threads sum to 1",
         'perf["snapshots"].append(one | {"scope": "process", "wakeups": 2})'),
        ("events: seen 7 but the counts by CPU and kind sum to 8",
         'kind["seen"] += 1; kind["written"] += 1'),
        ("events: seen 8 but written 4 + filtered 2 + sampled out 1 + dropped 0", 'kind["seen"] += 1'),
        ("events: seen 7 but written 5", 'perf["events"]["written"] += 1'),
        ("events: the breakdown of the drops does not add up to 0", 'perf["events"]["dropped_full"] = 1'),
        ("CPU 0: seen 3 but written 1", 'cpu.update(seen=3, written=1)'),
        ("window: total 1000 but it goes from 1001 to 2000", 'perf["window"]["first_cycle"] = 1001'),
        ("23 more findings",
         'perf["snapshots"] += [thread(i, 10) | {"total_ns": 9} for i in range(2, 30)]')):
    figures(change)
    check(1, needs=["error: stats.json: " + finding,
                    "note: stats.json: its threads are not compared with the streams: it has errors"])
assert said.count("the states add up") == 8, said
for finding, change in (
        ("another schema than ovni-bpf-stats", 'perf["schema"] = "loom-perf"'),
        ("this snapshot has no blocked_ns", 'del one["blocked_ns"]'),
        ("this must be an integer from 0 to 2^64 - 1", 'one["tid"] = -1'),
        ("this must be an integer from 0 to 2^64 - 1", 'one["tid"] = 1 << 64'),
        ("no snapshots, or no counts of events", 'perf["snapshots"] = []')):
    figures(change)
    check(1, needs=["error: stats.json: byte ", finding])
write('{"schema": "ovni-bpf-stats", ')
check(1, needs=["error: stats.json: byte "])
for words in (["ovni-info"], ["ovni-report", "counters"]):
    tool(1, *words, top + "/t", needs=["stats.json: byte "])
os.remove(path)
tool(1, "ovni-report", "counters", top + "/t", needs=["no stats.json in this directory"])
os.mkdir(path)
check(1, needs=["error: cannot open 'stats.json': not a regular file"])
os.rmdir(path)

# The sums agree, but not with the streams: a warning, with --strict an error.
OF_1 = "thread 1 of process 1"
for finding, change in (
        (OF_1 + ": 2 switches, but 1 in its stream", 'for s in both: s["switches_preempted"] += 1'),
        (OF_1 + ": 3 migrations, but 0 in its stream", 'for s in both: s["migrations"] += 3'),
        (OF_1 + " has a stream, but no line", 'one["tid"] = 2'),
        ("1 thread ran and has no stream", 'one["tid"] = 2'),
        ("its window is 999 to 2000, that of the streams 1000 to 2000",
         'perf["window"].update(first_cycle=999, total_cycles=1001)')):
    figures(change)
    check(0, needs=["warning: stats.json: " + finding])
    check(1, "--strict", needs=["error: stats.json: " + finding])

# A switch that was not seen: the time of the thread is known, the time of the CPU is not.
figures('cpu["active_ns"] -= 5; cpu["unknown_ns"] += 5; run["cpu_active_ns"] -= 5\n'
        'cpu["metrics"]["utilization"] = 0.505')
assert "error: stats.json" not in check(0), said
figures('cpu["active_ns"] -= 5; cpu["idle_ns"] += 4; cpu["unknown_ns"] += 1\n'
        'run["cpu_active_ns"] -= 5; cpu["metrics"]["utilization"] = 0.505')
check(1, needs=["cpu_active_ns 496 but active_ns of the threads sum to 501"])

# A thread whose number is used again has several lines. One that did not run needs no stream, nor
# one that was sampled out.
figures('one["total_ns"] -= 100; one["active_ns"] -= 100; perf["snapshots"].append(thread(1, 100))')
check(0, "--strict")
OTHER = 'one["total_ns"] -= 10; one["active_ns"] -= 10; perf["snapshots"].append(thread(3, 10))\n'
figures(OTHER)
check(0, needs=["warning: stats.json: 1 thread ran and has no stream"])
figures(OTHER + 'one["total_ns"] += 10; one["active_ns"] += 10\n'
        'for s in (run,): s["total_ns"] += 10; s["active_ns"] += 10\n'
        'run["cpu_active_ns"] += 10; cpu["active_ns"] += 10; cpu["idle_ns"] -= 10\n'
        'cpu["metrics"]["utilization"] = 0.52\n'
        'perf["controls"] = {"sampling": {"keep": 1, "of": 2}}')
assert "warning: stats.json" not in check(0, "--strict"), said

# Streams that may lack events are not compared by thread.
LOST = 'for e in (perf["events"], kind): e.update(written=1, dropped=3)'
for status, session, change in ((3, 'bpf.session.lost="3"', LOST), (0, 'bpf.repairs="2"', ""),
                                (0, 'bpf.session.kinds=["exit"]', ""), (0, "bpf.session.part=1", "")):
    trace(session)
    figures('for s in both: s["migrations"] += 1\n' + change)
    check(status, "--strict", needs=["note: stats.json: its threads are not compared with the streams: "])
trace('bpf.session.lost="3"')
figures()
check(3, needs=["warning: stats.json: no event is dropped, but the streams lost some"])

# The old name and schema are read, too, unless there is a new file.
trace()
figures('perf["schema"] = "ovni-bpf-perf"; one["migrations"] += 1; run["migrations"] += 1')
os.rename(path, top + "/t/perf.json")
check(0, needs=["warning: perf.json: thread 1 of process 1: 1 migrations, but 0 in its stream"])
assert json.loads(tool(0, "ovni-info", "--json", top + "/t"))["perf"]["seen"] == "7", said
for where in ("/t", "/t/perf.json"):
    tool(0, "ovni-report", "counters", top + where, needs=["all 1 thread"])
figures()
assert "perf.json" not in check(0, "--strict"), said

# ovni-info, ovni-report.
trace()
figures()
tool(0, "ovni-info", top + "/t", needs=[
    "events seen 7 = 4 written + 2 filtered + 1 sampled out + 0 lost",
    "their time  50.1 % running, 9.9 % waiting for a CPU, 40.0 % asleep, 0.0 % unknown",
    "cost        programs 2.00 % of the CPUs (2 runs), the recorder 0.002 s of CPU time"])
info = json.loads(tool(0, "ovni-info", "--json", top + "/t"))["perf"]
assert info["seen"] == "7" and info["dropped"] == "0" and info["active_ns"] == "501", info
assert info["recorder_peak_rss_bytes"] == "4096" and info["prog_ns"] == "20", info
os.rename(path, top + "/run.stats.json")
os.link(top + "/run.stats.json", path)
HEAD = "thread,pid,life,active,runnable,blocked,unknown,switches,preempted,wakeups,migrations,calls,throttled"
tool(0, "ovni-check", top + "/run.stats.json", needs=["valid: 0 streams, 0 events, 0 errors, 0 warnings; complete"])
for where in (top + "/t", top + "/run.stats.json"):
    rows = tool(0, "ovni-report", "counters", "--csv", where).split()
    assert rows[0] == HEAD, rows
    rows = tool(0, "ovni-report", "counters", "--csv", "--sort", "thread", where).splitlines()[1:]
    assert rows == ["all 1 thread,,1000,501,99,400,0,1,0,1,0,0,44",
                    "w (1),1,1000,501,99,400,0,1,0,1,0,0,44"], rows
assert tool(0, "ovni-report", "counters", "--csv", "--pid", "2", top + "/t") == HEAD + "\n", said
for report in ("latency", "why", "preempt"):
    tool(1, "ovni-report", report, top + "/run.stats.json", needs=["run.stats.json has statistics, and " + report, "only ovni-report counters"])
tool(0, "ovni-report", "counters", "--comm", "w*", top + "/t", needs=["w (1)"])
tool(2, "ovni-report", "counters", "--from", "+1s", top + "/t", needs=["the report is of the whole recording"])
END
