# SPDX-License-Identifier: MIT
"""
chrome_file: reads a file of `ovni-export --chrome`, and compares it with the tables of --csv.

    chrome_file.py FILE CSV

Each row of intervals, regions, waits with a waker, marks and losses is one event, to the ns, and there are no
others; runs stand on the track of their CPU, too; slices of a track nest; each track has its name.
"""
import collections
import csv
import decimal
import json
import re
import sys

path, folder = sys.argv[1:]
wrong = []


def table(name):
    with open("%s/%s.csv" % (folder, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ns(number):
    whole = number * 1000
    assert whole == int(whole), number
    return int(whole)


def same(what, ours, theirs):
    ours, theirs = collections.Counter(ours), collections.Counter(theirs)
    if ours != theirs:
        wrong.append("%s: only in the file %s, only in the tables %s" % (what, list((ours - theirs).items())[:4], list((theirs - ours).items())[:4]))
    return sum(ours.values())


document = json.load(open(path, encoding="utf-8"), parse_float=decimal.Decimal)
origin = document["otherData"]["origin"]
names, slices, instants, opened = {}, [], [], {}
for event in document["traceEvents"]:
    track, args = (event["pid"], event["tid"]), event.get("args", {})
    if event["ph"] == "M":
        if event["name"].endswith("_name"):
            names[event["name"], event["pid"], event["tid"] if event["name"] == "thread_name" else 0] = args["name"]
        continue
    begin = origin + ns(event["ts"])
    if event["ph"] == "X":
        slices.append((event["cat"], track, event["name"], begin, begin + ns(event["dur"]), args, True))
    elif event["ph"] == "b":
        opened[event["id"]] = (event["cat"], track, event["name"], begin, args)
    elif event["ph"] == "e":
        kind, where, name, at, args = opened.pop(event["id"])
        assert (kind, where, name) == (event["cat"], track, event["name"]), event
        slices.append((kind, where, name, at, begin, args, False))
    else:
        assert event["ph"] == "i" and event["s"] == "t", event
        instants.append((event["cat"], track, event["name"], begin, args))
assert not opened, opened

# the tracks: of a thread its number and name, of a CPU its number
for kind, track, *_ in slices + instants:
    if ("thread_name", *track) not in names or ("process_name", track[0], 0) not in names:
        wrong.append("a track without a name: %s" % (track,))
        break
threads, functions = table("threads"), table("functions")
owners = {}
for (kind, process, track), name in names.items():
    if kind == "thread_name":
        number = re.search(r" \((-?\d+)\)$", name)
        owners[process, track] = (int(number.group(1)), name[:number.start()]) if number else (track, name)


def is_of(thread):
    """Number and name; a number that Linux cannot have is part of the name."""
    odd = not 0 < int(thread["tid"]) < 1 << 22
    return (int(thread["tid"]), thread["name"] + " (tid %s)" % thread["tid"] if odd else thread["name"] or thread["tid"])


states = same("states", [(owners[track], name, begin, end, args.get("reason", ""), args.get("ended_by", ""), str(args.get("cpu", "")), args.get("call", ""),
                          str(args.get("lock_owner_tid", "")))
                         for kind, track, name, begin, end, args, _ in slices if kind == "state"],
              [(is_of(threads[int(r["thread"])]), r["state"], int(r["begin_ns"]), int(r["end_ns"]), r["reason"] if r["state"] != "running" else "",
                r["ended_by"], r["cpu"], r["call"], r["lock_owner_tid"]) for r in table("intervals")])
cpus = {(r["loom"], r["cpu"]): r["os_number"] or r["cpu"] for r in table("cpus")}
runs = same("runs", [(names["process_name", track[0], 0], names["thread_name", *track], args["tid"], name, begin, end)
                     for kind, track, name, begin, end, args, _ in slices if kind == "run"],
            [("CPUs of " + t["loom"], "CPU " + cpus[t["loom"], r["cpu"]], *is_of(t), int(r["begin_ns"]), int(r["end_ns"]))
             for r in table("intervals") for t in [threads[int(r["thread"])]] if r["state"] == "running" and r["cpu"] and int(r["cpu"]) >= 0])
calls = same("calls", [(names["thread_name", *track], kind, name, begin, end, args.get("open_at_end", 0))
                       for kind, track, name, begin, end, args, _ in slices if kind not in ("state", "run", "lost")],
             [(is_of(threads[int(r["thread"])])[1] + ": calls", functions[int(r["function"])]["type"], functions[int(r["function"])]["name"],
               int(r["begin_ns"]), int(r["end_ns"]), 1 - int(r["returned"])) for r in table("regions")])


def waker(row):
    return "woken by " + (is_of(threads[int(row["waker"])])[1] if row["waker"] else row["waker_kind"])


wakeups = same("wake-ups", [(owners[track], name, begin, str(args.get("tid", ""))) for kind, track, name, begin, args in instants if kind == "wakeup"],
               [(is_of(threads[int(r["thread"])]), waker(r), int(r["begin_ns"]), r["waker_tid"]) for r in table("waits") if r["waker_kind"] != "stayed"])
same("marks", [(owners[track], name, begin, args["value"]) for kind, track, name, begin, args in instants if kind == "mark"],
     [(is_of(threads[int(r["thread"])]), (r["title"] or "mark") + (": " + r["label"] if r["label"] else ""), int(r["clock_ns"]), int(r["value"])) for r in table("marks")])
same("losses", [(owners[track], begin, end, args["events"]) for kind, track, _, begin, end, args, _ in slices if kind == "lost"],
     [(is_of(threads[int(r["thread"])]), int(r["begin_ns"]), int(r["end_ns"]), int(r["events"])) for r in table("losses")])

# slices of a track nest; of two that begin at one clock, the outer one stands first
tracks = collections.defaultdict(list)
for kind, track, name, begin, end, args, nests in slices:
    if nests:
        tracks[track].append((begin, end))
for track, list_ in tracks.items():
    stack = []
    for begin, end in sorted(list_, key=lambda s: s[0]):
        while stack and stack[-1] <= begin:
            stack.pop()
        if stack and end > stack[-1]:
            wrong.append("track %s: the slice at %d does not nest" % (names["thread_name", *track], begin))
            break
        stack.append(end)
for line in wrong:
    print(line)
print("%d states, %d runs, %d calls, %d wake-ups agree with the tables" % (states, runs, calls, wakeups))
sys.exit(1 if wrong else 0)
