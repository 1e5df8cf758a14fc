#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A program writes its own ovni streams while the recorder sees the kernel's side of its threads:
# merged, the trace is valid under strict emulation, and the kernel's switches are where the
# program slept.
# needs: root
set -eu
[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
rounds=50 threads=3
"$B/bin/ovni-bpf" --kernel-model -o "$T/kernel" -- "$B/tests/live/ovniwriter" "$T/ovni" $threads $rounds \
	>"$T/said" 2>&1 || { cat "$T/said"; exit 1; }
"$B/bin/ovni-check" -q --strict "$T/kernel" || { echo "the recording alone is not valid"; exit 1; }
"$B/bin/ovni-check" -q --strict "$T/ovni" || { echo "the program's trace alone is not valid"; exit 1; }
"$B/bin/ovni-merge" -o "$T/both" "$T/ovni" "$T/kernel"
"$B/bin/ovni-check" -q --strict "$T/both" || { echo "merged it is not valid"; exit 1; }
"$B/bin/ovni-emu" -l -o "$T/prv" "$T/both" >"$T/said" 2>&1 || { cat "$T/said"; exit 1; }
"$B/bin/ovni-dump" -j -s "$T/both" | python3 -c '
import collections, json, sys
rounds, threads = map(int, sys.argv[1:])
streams = collections.defaultdict(list)
for line in sys.stdin:
    event = json.loads(line)
    streams[event["stream"]].append((int(event["clock"]), event["mcv"], event["args"]))
assert len(streams) == threads, streams.keys()
inside_all = 0
for path, events in streams.items():
    # every sleep (VAp ... VAP) has a switch-out of about a millisecond in it
    start = out = None
    slept = inside = 0
    for clock, mcv, args in events:
        if mcv == "VAp":
            start, off = clock, 0
        elif mcv == "KCO":
            out = clock
        elif mcv == "KCI" and start is not None and out is not None:
            off += clock - max(out, start)
        elif mcv == "VAP":
            slept += 1
            inside += 900000 < off <= clock - start
            start = None
    assert slept == rounds, (path, slept)
    assert inside >= rounds * 0.95, (path, "sleeps with a switch in them", inside, rounds)
    inside_all += inside
print("%d of %d sleeps are where the kernel switched" % (inside_all, rounds * threads))
' $rounds $threads
