#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No damage to a trace crashes a tool or makes it run for ever: conformance vectors with random
# bytes changed, cut out and put in. Runs the sanitized build if there is one, for FUZZ_SECONDS; a
# failure names its seed. MUTATIONS=N does N of them.
# longer: for 30 seconds, not 3
set -eu
bin=$B/bin
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-dump" ] && bin=$BSAN/bin
"$S/tests/golden/tools_make.py" "$T/small" <<'END'
thread n 1 1 ovni.mark={"0":{"title":"F","chan_type":"stack"}} ovni.require={"ovni":"1.1.0","nosv":"2.7.0"} nosv.can_breakdown=true bpf.name="x" bpf.events="9"
10 OHx i32:0 i32:-1 u64:0
20 OM[ i64:1 i32:0
30 OM] i64:1 i32:0
35 VYc+ u32:1 str:label
40 OHp u16:6 i32:2
50 OHw i32:2
60 OAs i32:1
70 OHr
80 OHe
END
# A recording with its stats.json, which agrees with the stream.
"$S/tests/golden/tools_make.py" "$T/figures" <<'END'
thread n 1 1 bpf.events="5" bpf.name="w" bpf.session.t0="1000" bpf.session.t1="2000" bpf.session.lost="0"
1000 OHx i32:0 i32:-1 u64:0
1400 OHp u16:1 i32:0
1800 OHw i32:-2
1900 OHr
2000 OHe
END
cat >"$T/figures/stats.json" <<'END'
{"schema": "ovni-bpf-stats", "version": 1, "mode": "full",
 "window": {"first_cycle": 1000, "end_cycle": 2000, "total_cycles": 1000},
 "events": {"seen": 7, "written": 4, "filtered": 2, "sampled_out": 1, "dropped": 0, "by_core_and_kind": [
  {"cpu": 0, "kind": "switch", "seen": 7, "written": 4, "filtered": 2, "sampled_out": 1, "dropped": 0}]},
 "recorder": {"cpu_ns": 1500000, "peak_rss_bytes": 4096},
 "snapshots": [
  {"clock": 2000, "scope": "run", "threads": 1, "window_ns": 1000, "cpus": 1, "total_ns": 1000, "active_ns": 501,
   "runnable_ns": 99, "blocked_ns": 400, "unknown_ns": 0, "cpu_active_ns": 501, "wakeups": 1, "prog_ns": 20},
  {"clock": 2000, "scope": "cpu", "cpu": 0, "total_ns": 1000, "active_ns": 501, "other_ns": 9, "idle_ns": 490,
   "unknown_ns": 0, "prog_ns": 20, "prog_runs": 2, "metrics": {"utilization": 0.51, "overhead": 0.02}},
  {"clock": 2000, "scope": "thread", "tid": 1, "pid": 1, "comm": "w", "total_ns": 1000, "active_ns": 501,
   "runnable_ns": 99, "blocked_ns": 400, "unknown_ns": 0, "switches_voluntary": 1, "switches_preempted": 0,
   "yields": 0, "wakeups": 1, "migrations": 0, "calls": 0}]}
END
"$bin/ovni-report" counters "$T/figures" | grep -q 501 || { echo "stats.json is not read"; exit 1; }
cat >"$T/mutate.py" <<'END'
import glob, os, random, shutil, subprocess, sys, tempfile, time
bin, top, small, figures, vectors, seconds, most = sys.argv[1:]
seconds, most = int(seconds), int(most)
vectors = sorted(d for d in glob.glob(vectors + "/emu/*/trace") if os.path.isdir(d)
                 and sum(map(os.path.getsize, glob.glob(d + "/**/stream.obs", recursive=True))) < 20000)
tools = [["dump", "-j", "-"], ["dump", "-x", "-"], ["dump", "-s", "-"], ["top", "-"], ["top", "--by", "cpu", "-"],
         ["sort", "--dry-run", "-"], ["sort", "-"], ["sort", "--all", "-"], ["check", "-"], ["check", "--json", "-"],
         ["check", "--repair", "-o", "OUT", "-"], ["info", "-"], ["info", "--json", "-"], ["report", "latency", "-"], ["report", "-"],
         ["report", "--json", "-"], ["report", "timeline", "-"],
         ["report", "timehist", "--json", "-"], ["report", "preempt", "-"], ["report", "wake", "-"],
         ["report", "cpu", "-"], ["report", "func", "-"], ["report", "flame", "--svg", "-"],
         ["cut", "--from", "+10ns", "--to", "+50us", "-o", "OUT", "-"],
         ["cut", "--cpu", "0", "-o", "OUT", "-"], ["convert", "-o", "OUT", "-"], ["merge", "-o", "OUT", "-", "-"],
         ["view", "-o", "OUT.html", "-"], ["view", "--from", "+10ns", "--limit", "1", "-o", "OUT.html", "-"],
         ["export", "--perfetto", "-o", "OUT.pftrace", "-"], ["export", "--perfetto", "--from", "+10ns", "-o", "OUT.pftrace", "-"]]
figures_tools = [["check", "-"], ["check", "--json", "-"], ["report", "counters", "-"], ["info", "-"], ["info", "--json", "-"],
                 ["check", "PERF"], ["report", "counters", "PERF"], ["loom", "export", "-o", "OUT", "-"]]
tools = [t for t in tools if os.access(bin + "/ovni-" + t[0], os.X_OK)]
values = [b"\0", b"\xff", b"\x10", b"\x1f", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b'"', b"{", b"-1", b"1e999"]

def change(path):
    data = bytearray(open(path, "rb").read())
    for _ in range(random.choice((1, 1, 1, 2, 5, 20))):
        at = random.randrange(len(data) + 1)
        how = random.randrange(5)
        if how == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif how == 1:
            value = random.choice(values)
            data[at:at + len(value)] = value
        elif how == 2:
            del data[at:at + random.choice((1, 4, 12, 100))]
        elif how == 3:
            data[at:at] = os.urandom(random.choice((1, 4, 12)))
        elif at:
            del data[random.choice((at, len(data) - at % 40)):]
    open(path, "wb").write(data)

start, n = time.time(), 0
base = int(os.environ.get("SEED", "0")) or int(start)
while (n < most) if most else (time.time() - start < seconds):
    random.seed(base + n)
    trace, out = top + "/t", top + "/out"
    shutil.rmtree(trace, ignore_errors=True)
    source = random.choice([figures, small] + vectors)
    if random.randrange(4) == 0:
        source = figures
    shutil.copytree(source, trace)
    files = [f for f in glob.glob(trace + "/**/*", recursive=True) if os.path.isfile(f)]
    for path in random.sample(files, min(len(files), random.choice((1, 1, 2)))):
        change(path)
    chosen = tools if source != figures else figures_tools
    for tool in random.sample(chosen, min(len(chosen), 6)) if not most else chosen:
        shutil.rmtree(out, ignore_errors=True)
        command = [bin + "/ovni-" + tool[0]] + [{"-": trace, "PERF": trace + "/stats.json", "OUT": out}.get(w, w) for w in tool[1:]]
        run = subprocess.run(command, capture_output=True, timeout=60)
        if run.returncode not in (0, 1, 3) or b"Sanitizer" in run.stderr or b"runtime error" in run.stderr:
            sys.exit("seed %d: %s ended with %d\n%s" % (base + n, " ".join(command), run.returncode,
                                                        run.stderr.decode("utf-8", "replace")[-3000:]))
    n += 1
print("%d mutations, %d commands for each" % (n, min(len(tools), 6) if not most else len(tools)))
END
python3 "$T/mutate.py" "$bin" "$T" "$T/small" "$T/figures" "$CONFORMANCE" "${FUZZ_SECONDS:-10}" "${MUTATIONS:-0}"
