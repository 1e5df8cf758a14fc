#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
emu: time and memory of the emulator on generated traces (called by emu.sh).

    emu.py BUILD FOLDER EVENTS ROUNDS

For each kind of trace: a round runs `cat` over the same bytes (streams to /dev/null, each .prv to
a copy), then the emulator with one thread and with two. Times are wall clock; "of cat" is the
median time divided by that of cat. "own MB" is the peak of anonymous memory, so mapped input does
not count. Every output is compared with that of the first run.
"""
import filecmp
import glob
import os
import shutil
import subprocess
import sys
import time

build, folder, events, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
emu, generate = build + "/bin/ovni-emu", build + "/tests/bench/generate"
out, copy, reference = (os.path.join(folder, name) for name in ("out", "copy", "reference"))
failed = False


def median(values):
    return sorted(values)[len(values) // 2]


def own_memory(pid):
    """Anonymous memory of a process in KiB, 0 when it is gone."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def timed(command, stdout=None, watch=False):
    start, peak = time.monotonic(), 0
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL) as process:
        while watch and process.poll() is None:
            peak = max(peak, own_memory(process.pid))
            time.sleep(0.02)
        status = process.wait()
    if status:
        sys.exit("%s: status %d" % (" ".join(command[:4]), status))
    return time.monotonic() - start, peak


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    return path


def make(kind, count, *more):
    trace = os.path.join(folder, "trace")
    shutil.rmtree(trace, ignore_errors=True)
    said = subprocess.run([generate, kind, str(count), trace] + list(more), check=True,
                          stdout=subprocess.PIPE).stdout
    return trace, int(said.split()[0])


def cat(trace):
    streams = glob.glob(glob.escape(trace) + "/**/stream.obs", recursive=True)
    total = 0
    for first in range(0, len(streams), 4000):
        total += timed(["cat"] + streams[first:first + 4000], subprocess.DEVNULL)[0]
    fresh(copy)
    for prv in glob.glob(glob.escape(reference) + "/*.prv"):
        with open(os.path.join(copy, os.path.basename(prv)), "wb") as to:
            total += timed(["cat", prv], to)[0]
    shutil.rmtree(copy)
    return total


def run(trace, *options):
    """One emulation; its output must be that of the reference."""
    global failed
    took = timed([emu, "-q", "-o", fresh(out)] + list(options) + [trace])[0]
    for prv in glob.glob(glob.escape(reference) + "/*.prv"):
        if not filecmp.cmp(prv, os.path.join(out, os.path.basename(prv)), shallow=False):
            print("%s differs with %s" % (os.path.basename(prv), " ".join(options)))
            failed = True
    shutil.rmtree(out)
    return took


def size(pattern):
    return sum(os.path.getsize(path) for path in glob.glob(pattern, recursive=True))


def measure(kind, trace, count):
    memory = timed([emu, "-q", "-o", fresh(reference), trace], watch=True)[1]
    bytes_in = size(glob.escape(trace) + "/**/stream.obs")
    bytes_out = size(glob.escape(reference) + "/*.prv")
    cats, ones, twos = [], [], []
    for _ in range(rounds):
        cats.append(cat(trace))
        ones.append(run(trace, "-j", "1"))
        twos.append(run(trace, "-j", "2"))
    shutil.rmtree(reference)
    print("%-7s %6.1f %6d %6d %7.2f %7.2f %7.2f %7.2f %7.2f %8.2f %8.0f %7.1f" % (
        kind, count / 1e6, bytes_in >> 20, bytes_out >> 20, median(cats), median(ones),
        median(twos), median(ones) / median(cats), median(twos) / median(cats),
        count / median(ones) / 1e6, (bytes_in + bytes_out) / median(ones) / 1e6, memory / 1024),
        flush=True)
    return median(ones), memory / 1024


print("%-7s %6s %6s %6s %7s %7s %7s %7s %7s %8s %8s %7s" % (
    "trace", "M ev", "MB in", "MB out", "cat s", "-j1 s", "-j2 s", "of cat", "-j2", "M ev/s",
    "MB/s", "own MB"))
for kind in ("tasks", "sched", "stock", "wide"):
    trace, count = make(kind, events)
    measure(kind, trace, count)

print("\nTwice as many:")
trace, count = make("sched", events // 2)
half, half_memory = measure("sched/2", trace, count)
trace, count = make("sched", events)
whole, whole_memory = measure("sched", trace, count)
print("events: time times %.2f, own memory %.1f to %.1f MB" % (whole / half, half_memory,
                                                               whole_memory))
for kind, few, many, cpus in (("sched", "64", "128", "8"), ("wide", "5000", "10000", "128")):
    trace, count = make(kind, events, few, cpus)
    half, half_memory = measure(few, trace, count)
    trace, count = make(kind, events, many, cpus)
    whole, whole_memory = measure(many, trace, count)
    print("threads, %s: time times %.2f, own memory %.1f to %.1f MB" % (
        kind, whole / half, half_memory, whole_memory))

trace, count = make("wide", 1)
took = []
for _ in range(rounds):
    took.append(timed([emu, "-q", "-o", fresh(out), trace])[0])
print("\n10,000 threads on 128 CPUs, %d events: %.3f s" % (count, median(took)))
sys.exit(failed)
