#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-pallas stats: the totals of recursive regions, --histogram and --slowest are those that a model takes from all calls,
# of whole threads and of windows; --tree and the contention of --sequences are those of the annotated archive.
set -eu
cd "$T"
"$S/tests/golden/pallas_calls.py" trace model.json
"$B/bin/ovni-pallas" export trace ours 2>/dev/null
"$B/bin/ovni-pallas" export --blocks --level none trace blocks 2>/dev/null
"$S/tests/golden/pallas_tiny.py" tiny
"$B/bin/ovni-pallas" stats --tree tiny >tree
diff - tree <<'END'

thread 0 of archive 0 'main': 8 events, 193 ns
occurrences      min (ns)     mean (ns)      max (ns)        total (ns) + at most  structure
          1           193           193           193               193         0  thread
          3            10            11            12                33         2    3 x work
END
# 3 calls of 11 ns on average, 10 ns the fastest, in 193 ns
"$B/bin/ovni-pallas" stats --sequences tiny | awk '$1 == 1 { print $11 }' | grep -qx 0.015544 || { echo "the contention"; exit 1; }
exec python3 - "$B/bin/ovni-pallas" <<'END'
import collections, json, random, re, subprocess, sys
pallas = sys.argv[1]
random.seed(1)


def run(*words):
    done = subprocess.run([pallas, "stats", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: status %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout


calls = []  # thread, region, begin, end, in others, inside one of the same region, closed
for thread, events in json.load(open("model.json")).items():
    stack = []
    for time, what, region in events + [[events[-1][0], "Leave", None]] * 9:
        if what == "Enter":
            stack.append([thread, region, time, None, 0, any(c[1] == region for c in stack), True])
            calls.append(stack[-1])
        elif stack:
            call = stack.pop()
            call[3], call[6] = time, region is not None
            if stack:
                stack[-1][4] += time - call[2]
last = max(c[3] for c in calls)
recursive = {c[1] for c in calls if c[5]}
if len(recursive) < 3:
    sys.exit("the model has no recursion")

for archive in "ours", "blocks":
    for thread in sorted({c[0] for c in calls}):
        rows = {m[9]: [int(m[i]) for i in (1, 5, 6)] for m in
                re.finditer(r"^" + r" *(\d+)" * 8 + r"  (?:stored|summary) +(\S+)$", run("--thread", thread, archive), re.M)}
        for region in {c[1] for c in calls if c[0] == thread}:
            mine = [c for c in calls if c[:2] == [thread, region]]
            if not all(c[6] for c in mine):
                continue  # open at the end: no duration
            want = sum(c[3] - c[2] for c in mine if not c[5])
            number, total, more = rows[region]
            if number != len(mine) or not total <= want <= total + more or (region in recursive and more):
                sys.exit("%s: %s of %s: %d calls of %d to %d ns, not %d of %d" % (archive, region, thread, number, total, total + more, len(mine), want))

    for a, b in [(0, last)] + [sorted(random.sample(range(last), 2)) for _ in range(8)]:
        part = [] if (a, b) == (0, last) else ["--from", str(a), "--to", str(b)]
        region = random.choice(("f1", "f7", "f[2-4]", "*"))
        cut = lambda c: (max(c[2], a), min(c[3], b))
        mine = [c for c in calls if c[2] <= b and c[3] >= a and re.fullmatch({"*": ".*"}.get(region, region), c[1])]
        want = collections.Counter((c[1], (cut(c)[1] - cut(c)[0]).bit_length()) for c in mine)
        have, name = collections.Counter(), None
        for line in run("--histogram", "--region", region, *part, archive).split("\n"):
            if m := re.match(r"(\S+): (\d+) calls?", line):
                name = m[1]
            elif m := re.match(r" *(\d+) +\S+ +(\d+) +[\d.]+%", line):
                have[name, int(m[1]).bit_length()] += int(m[2])
        if want != +have or not want:
            sys.exit("%s: histogram of %s from %d to %d: %s, not %s" % (archive, region, a, b, have, want))
        have = [(int(m[1]), int(m[3]), m[4], m[5]) for m in
                re.finditer(r"^ *(\d+) +(\d+) +(\d+) +\d+ +\d+ (\S+) +(\S+)(?: \(cut\))?$", run("--slowest", "50", "--region", region, *part, archive), re.M)]
        want = sorted(((cut(c)[1] - cut(c)[0], cut(c)[0], c[0], c[1]) for c in mine), key=lambda c: (-c[0], c[1]))[:50]
        if [c[:2] for c in have] != [c[:2] for c in want] or not set(have) <= {(cut(c)[1] - cut(c)[0], cut(c)[0], c[0], c[1]) for c in mine}:
            sys.exit("%s: slowest of %s from %d to %d: %s, not %s" % (archive, region, a, b, have, want))
# exclusive time, where the whole call is known
have = [(int(m[1]), int(m[2]), int(m[3])) for m in re.finditer(r"^ *(\d+) +(\d+) +(\d+) +\d+ +\d+ \S+ +f\d$", run("--slowest", "100", "ours"), re.M)]
want = {(c[3] - c[2], c[3] - c[2] - c[4], c[2]) for c in calls}
if len(have) < 90 or not set(have) <= want:
    sys.exit("exclusive times of the slowest calls: %s" % [c for c in have if c not in want][:5])
END
