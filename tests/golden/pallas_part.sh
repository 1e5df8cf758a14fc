#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-pallas print and stats of a window of time, of threads and of regions: the events and the times of calls are those
# that a model takes from all events; strace counts the same bytes as the program says, and sees no file of another thread.
set -eu
cd "$T"
"$S/tests/golden/pallas_calls.py" trace model.json
"$B/bin/ovni-pallas" export trace ours 2>/dev/null
"$B/bin/ovni-pallas" export --blocks --level none trace blocks 2>/dev/null
exec python3 - "$B/bin/ovni-pallas" "$CONFORMANCE" <<'END'
import json, os, random, re, shutil, subprocess, sys
pallas, conformance = sys.argv[1:]
random.seed(1)


def run(*words):
    done = subprocess.run([pallas, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: status %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout, done.stderr


def windows(times, n):
    """Windows that begin and end at events, between them, before the first and after the last."""
    yield from ((0, times[0]), (0, times[-1] + 5), (times[-1], times[-1]), (times[-1] + 1, times[-1] + 9))
    for _ in range(n):
        a = random.choice(times) + random.choice((-1, 0, 0, 1))
        b = a + random.choice((0, 1, 500, 20000, (times[-1] - times[0]) // 3))
        yield max(a, 0), b


# ---- archives of others: the lines of the reference's own text ----
for name in sorted(os.listdir(conformance + "/pallas")):
    top = conformance + "/pallas/" + name
    rows = [line.rstrip("\n") for line in open(top + "/expected/events.tsv") if line[0] != "#"]
    times = sorted(int(row.split("\t")[2]) for row in rows)
    lines = open(top + "/expected/print.txt", errors="surrogateescape").read().split("\n")[1:-1]
    if len(lines) != len(times):
        sys.exit("the model of %s: %d lines, %d events" % (name, len(lines), len(times)))
    for a, b in windows(times, 40):
        part = ("--from", str(a), "--to", str(b), top + "/archive")
        want = [row for row in rows if a <= int(row.split("\t")[2]) <= b]
        have = [row for row in run("print", "--tsv", *part)[0].split("\n") if row and row[0] != "#"]
        if want != have:
            sys.exit("%s: print --tsv from %d to %d: %d rows, not %d" % (name, a, b, len(have), len(want)))
        have = run("print", *part)[0].split("\n")[1:-1]
        if have != [line for line, time in zip(lines, times) if a <= time <= b]:
            sys.exit("%s: print from %d to %d" % (name, a, b))

# ---- our archives: events, calls and names of the generator ----
model = json.load(open("model.json"))  # thread -> [[time, "Enter" or "Leave", region]]
times = sorted(time for events in model.values() for time, _, _ in events)


def calls_of(events):
    """[region, begin, end, index of the caller, outermost of its region], in the order of begins."""
    calls, stack = [], []
    for time, what, region in events:
        if what == "Enter":
            outer = all(calls[i][0] != region for i in stack)
            calls.append([region, time, events[-1][0], stack[-1] if stack else None, outer])
            stack.append(len(calls) - 1)
        else:
            calls[stack.pop()][2] = time
    return calls


def parts(calls, a, b):
    """region -> [calls, min, max, total once, exclusive] of the parts of calls in the window."""
    rows = {}
    part = lambda call: min(call[2], b) - max(call[1], a)
    for i, call in enumerate(calls):
        if call[2] < a or call[1] > b:
            continue
        row, length = rows.setdefault(call[0], [0, 1 << 64, 0, 0, 0]), part(call)
        row[0] += 1
        row[1], row[2] = min(row[1], length), max(row[2], length)
        row[3] += length if call[4] else 0
        row[4] += length
        if call[3] is not None:
            rows[calls[call[3]][0]][4] -= length
    return rows


calls = {thread: calls_of(events) for thread, events in model.items()}
checked = 0
for archive in "ours", "blocks":
    for a, b in windows(times, 25):
        part = ("--from", str(a), "--to", "+%dns" % b, archive)
        thread, region = random.choice(sorted(model)), random.choice(("f1", "f*", "f[2-4]", "f7"))
        wanted = {"f1": "f1", "f7": "f7", "f*": "f.*", "f[2-4]": "f[2-4]"}[region]
        text = run("print", "--thread", thread, "--region", region, *part)[0]
        have = [[int(m[1]) * 10 ** 9 + int(m[2]), m[3], m[4]] for m in
                re.finditer(r"^ *(\d+)\.(\d{9}) +%s    (Enter|Leave) \d+ \((.*)\)$" % thread, text, re.M)]
        want = [e for e in model[thread] if a <= e[0] <= b and re.fullmatch(wanted, e[2])]
        if have != want or len(have) != text.count("\n") - 1:
            sys.exit("%s: print --thread %s --region %s from %d to %d: %d lines, not %d" % (archive, thread, region, a, b, len(have), len(want)))
        text = run("stats", "--thread", thread, *part)[0]
        have = {m[9]: [int(m[i]) for i in (1, 2, 4, 5, 7)] for m in
                re.finditer(r"^" + r" *(\d+)" * 8 + r"  window +(\S+)$", text, re.M)}
        want = parts(calls[thread], a, b)
        if have != want:
            sys.exit("%s: stats --thread %s from %d to %d: %s, not %s" % (archive, thread, a, b, have, want))
        checked += len(want)
if checked < 100:
    sys.exit("only %d regions of windows" % checked)

# ---- the bytes, as the kernel sees them ----
if not shutil.which("strace"):
    print("no strace: the bytes are not compared")
    sys.exit(0)
whole = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk("ours") for f in files)
middle = times[len(times) // 2]
least = whole
for words in (["print", "--thread", "second", "--from", str(middle), "--to", str(middle + 1000)],
              ["print", "--region", "f1"], ["stats", "--thread", "second"],
              ["stats", "--from", str(middle), "--to", str(middle + 100000)],
              ["print", "--tsv", "--from", "+%d" % middle]):
    said = subprocess.run(["strace", "-y", "-e", "trace=openat,pread64,read,readv,preadv,mmap", "-o", "calls", pallas, *words, "ours"],
                          capture_output=True, text=True).stderr
    found = re.search(r"read (\d+) bytes of (\d+), of (\d+) files$", said, re.M)
    if not found or int(found[2]) != whole:
        sys.exit("%s: %s (the archive has %d bytes)" % (words, said, whole))
    calls = [c for c in open("calls") if "/ours/" in c.split(" = ")[0]]
    read = sum(int(c.rsplit("=", 1)[1].split()[0]) for c in calls if not c.startswith("openat"))
    if read != int(found[1]) or not read:
        sys.exit("%s: says %s bytes, strace counts %d" % (words, found[1], read))
    if any(c.startswith("mmap") for c in calls):
        sys.exit("%s: maps a file" % words)
    paths = " ".join(c for c in open("calls") if "ENOENT" not in c)
    if "second" in words and "thread_1/thread.pallas" not in paths:
        sys.exit("%s: reads nothing of the thread" % words)
    if "second" in words and re.search(r"thread_[02]/", paths):
        sys.exit("%s: opens files of other threads" % words)
    if words[:2] == ["stats", "--thread"] and ".dat" in paths:
        sys.exit("%s: opens a data file" % words)
    if "sequence_durations.dat" in paths:
        sys.exit("%s: reads vectors of sequences" % words)
    least = min(least, read)
    print("%s: %d of %d bytes" % (" ".join(words), read, whole))
if least * 5 > whole:
    sys.exit("no part takes less than a fifth of the bytes")
END
