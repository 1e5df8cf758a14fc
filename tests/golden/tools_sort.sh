#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-sort: regions go where they belong, --all sorts whole streams in bounded memory, and
# a stream is replaced as a whole or not touched at all.
set -eu
sort() { "$B/bin/ovni-sort" "$@" 2>"$T/said"; }
. "$S/tests/golden/tools_lib.sh"
says() { grep -q -- "$1" "$T/said" || fail "it does not say: $1"; }
stream=loom.n/proc.1/thread.1/stream.obs

make_trace "$T/late" <<'END'
thread n 1 1
10 OHx i32:0 i32:-1 u64:0
20 VS[
30 VS]
40 OU[
15 KCO
25 KCI
50 OU]
60 OHe
END
make_trace "$T/want" <<'END'
thread n 1 1
10 OHx i32:0 i32:-1 u64:0
15 KCO
20 VS[
25 KCI
30 VS]
40 OU[
50 OU]
60 OHe
END
cp -r "$T/late" "$T/dry"
chmod 640 "$T/late/$stream"
inode=$(stat -c %i "$T/late/$stream")
sort -c "$T/late" && fail "-c accepts a trace that is not in order"
says "the clock goes back from 40 to 15"
sort --dry-run "$T/dry" || fail "--dry-run failed"
says "would move 5 events of 1 regions"
cmp -s "$T/late/$stream" "$T/dry/$stream" || fail "--dry-run changed the stream"
sort "$T/late" || fail "a region was not sorted"
cmp "$T/late/$stream" "$T/want/$stream" || fail "the region is not where it belongs"
sort -c "$T/late" || fail "-c refuses a sorted trace"
[ "$(stat -c %a "$T/late/$stream")" = 640 ] || fail "the mode of the file has changed"
[ "$(stat -c %i "$T/late/$stream")" != "$inode" ] || fail "the stream was not replaced"
inode=$(stat -c %i "$T/late/$stream")
sort "$T/late" || fail "a sorted trace was refused"
[ "$(stat -c %i "$T/late/$stream")" = "$inode" ] || fail "a stream without change was rewritten"

# A trace that cannot be sorted stays as it was: a window too small, a cut event after a good
# region.
cp -r "$T/dry" "$T/small"
sort -n 3 "$T/small" && fail "a window of 3 was enough"
says "try a larger window"
cmp -s "$T/dry/$stream" "$T/small/$stream" || fail "a stream that failed has changed"
cp -r "$T/dry" "$T/cut"
printf '\0OB' >>"$T/cut/$stream"
cp "$T/cut/$stream" "$T/cut.obs"
sort "$T/cut" && fail "a cut stream was accepted"
says "no whole event at byte"
cmp -s "$T/cut.obs" "$T/cut/$stream" || fail "a cut stream has changed"
sort --all "$T/cut" && fail "--all accepted a cut stream"
cmp -s "$T/cut.obs" "$T/cut/$stream" || fail "--all has changed a cut stream"

# A write that fails (a limit on the file size stands for a full disk) leaves all as it was.
cp -r "$T/dry" "$T/full"
(trap '' XFSZ; ulimit -f 0; sort "$T/full") 2>/dev/null && fail "no room, and yet it worked"
cmp -s "$T/dry/$stream" "$T/full/$stream" || fail "a failed write has changed the stream"
[ "$(find "$T" -name '.stream*' | wc -l)" = 0 ] || fail "temporary files were left behind"

# A link is refused: neither the link nor its target is written.
cp -r "$T/dry" "$T/link"
mv "$T/link/$stream" "$T/elsewhere.obs"
ln -s "$T/elsewhere.obs" "$T/link/$stream"
sort "$T/link" && fail "a linked stream was sorted"
says "links in a trace are not followed"
[ -L "$T/link/$stream" ] || fail "a link was replaced"
cmp "$T/elsewhere.obs" "$T/dry/$stream" || fail "the target of a link was written"

# --all: 100000 events in any order, equal clocks, jumbo events among them; against Python.
python3 - "$T" <<'END'
import os, random, struct, sys
random.seed(1)
folder = sys.argv[1] + "/all/loom.n/proc.1/thread.1"
os.makedirs(folder)
open(folder + "/stream.json", "w").write('{"version": 3, "ovni": {"finished": 1}}')
events = []
for i in range(100000):
    clock = random.choice((random.randrange(2**63, 2**64), random.randrange(1000), i))
    size = random.choice((0, 0, 4, 16))
    event = struct.pack("<B3sQ", size - 1 if size else 0, b"OB.", clock) + os.urandom(size)
    if i % 97 == 0:
        event = struct.pack("<B3sQI", 0x13, b"VYc", clock, 40) + os.urandom(40)
    events.append((clock, event))
head = b"ovni\1\0\0\0"
open(folder + "/stream.obs", "wb").write(head + b"".join(e for _, e in events))
events.sort(key=lambda e: e[0])
open(sys.argv[1] + "/all.obs", "wb").write(head + b"".join(e for _, e in events))
END
cp -r "$T/all" "$T/all2"
sort --all "$T/all" || fail "--all failed"
cmp "$T/all/$stream" "$T/all.obs" || fail "--all does not sort as Python does"
sort --all --memory 1M --durable "$T/all2" || fail "--all in runs failed"
cmp "$T/all2/$stream" "$T/all.obs" || fail "--all in runs does not sort as Python does"

# 400 random traces with regions that reach back by little and by much, against the
# algorithm of tools.md 3 in its plainest form.
cat >"$T/regions.py" <<'END'
import os, random, struct, subprocess, sys
sort, top = sys.argv[1:]
head = b"ovni\1\0\0\0"

def reference(events, window):
    events, start = list(events), None
    for i, (clock, mcv, _) in enumerate(events):
        if start is None and mcv == b"OU[":
            start = i
        elif start is not None and mcv == b"OU]":
            inner, first, start = events[start + 1:i], start, None
            if not inner:
                continue
            low = min(e[0] for e in inner)
            seen = range(i - 1, max(i - 1 - (window - 1), -1), -1)
            place = next((k for k in seen if events[k][0] < low), None)
            if place is None:
                if i >= window - 1:
                    return None
                place = 0
            events[place:i] = sorted(events[place:i], key=lambda e: e[0])
    return events

failed = changed = 0
for seed in range(400):
    random.seed(seed)
    folder = "%s/r%d/loom.n/proc.1/thread.1" % (top, seed)
    os.makedirs(folder)
    open(folder + "/stream.json", "w").write('{"version": 3, "ovni": {"finished": 1}}')
    events, clock = [], 1000
    for _ in range(random.randrange(300)):
        clock += random.randrange(20)
        mcv = random.choice((b"OU[", b"OU]", b"OB.", b"OB.", b"OB.", b"KCO"))
        late = random.choice((0, 0, 5, 50, 50, 500, 2000 if seed % 4 == 0 else 60))
        when = max(clock - random.randrange(late + 1), 0) if mcv == b"KCO" else clock
        data = os.urandom(random.choice((0, 0, 2, 16)))
        flags = len(data) - 1 if data else 0
        event = struct.pack("<B3sQ", flags, mcv, when) + data
        if random.random() < 0.05:
            event = struct.pack("<B3sQI", 0x13, mcv, when, len(data)) + data
        events.append((when, mcv, event))
    before = head + b"".join(e[2] for e in events)
    open(folder + "/stream.obs", "wb").write(before)
    window = random.choice((5, 20, 1000000))
    want = reference(events, window)
    run = subprocess.run([sort, "-q", "-n", str(window), "%s/r%d" % (top, seed)], capture_output=True)
    after = open(folder + "/stream.obs", "rb").read()
    if want is None:
        failed += 1
        assert run.returncode == 1 and after == before, (seed, run)
    else:
        changed += after != before
        assert run.returncode == 0 and after == head + b"".join(e[2] for e in want), (seed, run)
assert failed > 20 and changed > 100, (failed, changed)
END
mkdir "$T/random"
python3 "$T/regions.py" "$B/bin/ovni-sort" "$T/random" || fail "random regions"

sort --help >/dev/null || fail "--help fails"
status=0; sort --no-such-option "$T/all" || status=$?
[ $status = 2 ] || fail "a wrong option gives status $status, not 2"
status=0; sort || status=$?
[ $status = 2 ] || fail "no trace gives status $status, not 2"
