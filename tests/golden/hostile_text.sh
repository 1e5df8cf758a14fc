#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Text of a trace from anybody: names, labels, command lines, hosts, directories and the three characters of
# events have escape sequences, C1 controls, bytes that are no UTF-8, and line breaks. Nothing that a
# program prints has a control character, and no name begins a line of its own.
set -eu
exec python3 - "$B/bin" "$S/tests/golden/tools_make.py" "$T" <<'END'
import json, os, re, shutil, struct, subprocess, sys
bins, make, top = sys.argv[1:]
EVIL = "\x1b]0;owned\x07\x1b[31m\x7f\u009b5m\r\nFORGED line\b\t\u202e\u2066\u061c."
MARKS = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # of direction, of lines
BYTES = EVIL.encode() + b"\x9b31m\xff"
wrong, runs, shown = [], 0, set()


def event(clock, mcv, data=b"", jumbo=False):
    flags = 0x13 if jumbo else len(data) - 1 if data else 0
    return struct.pack("<B3sq", flags, mcv, clock) + (struct.pack("<I", len(data)) if jumbo else b"") + data


def stream(path, meta, events):
    os.makedirs(path)
    with open(os.path.join(path.encode(), b"stream.json"), "w", encoding="ascii") as file:
        json.dump(meta, file)
    with open(os.path.join(path, "stream.obs"), "wb") as file:
        file.write(b"ovni" + struct.pack("<I", 1) + b"".join(events))


def meta(**more):
    out = {"version": 3, "ovni": {
        "lib": {"version": "1", "commit": "c"}, "part": "thread", "tid": 1, "pid": 1, "loom": "n", "app_id": 1,
        "require": {"ovni": "1.1.0", "nosv": "2.7.0", "kernel": "1.0.0"}, "finished": 1,
        "loom_cpus": [{"index": i, "phyid": i} for i in range(4)],
        "mark": {"5": {"title": "marked", "chan_type": "single", "labels": {"1": "one", "2": "two"}}}},
        "bpf": {"events": "9", "name": "worker", "comm": "worker", "names": {"77": "cron", "78": "atd"},
                "command": ["./solver", "--fast"],
                "session": {"version": "1", "commit": "c", "kernel": "6.1", "machine": "x86_64",
                            "hostname": "host", "options": ["ovni-bpf", "-a"], "t0": "5", "t1": "99999",
                            "ended": "end", "boot_id": "b", "lost": "0"}}}
    out["ovni"].update(more)
    return out


def leaves(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, path + (key,))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from leaves(value, path + (i,))
    elif isinstance(node, str):
        yield path


def changed(doc, path):
    doc = json.loads(json.dumps(doc))
    at = doc
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] += EVIL
    return doc


EVENTS = [
    event(1000, b"OHx", struct.pack("<iiQ", 0, -1, 0)),
    event(1100, b"KCO", struct.pack("<Hi", 1, 77)), event(1200, b"KCI", struct.pack("<i", 0)),
    event(1300, b"OM[", struct.pack("<qi", 1, 5)), event(1400, b"OM]", struct.pack("<qi", 1, 5)),
    event(1500, b"VYc", struct.pack("<I", 1) + b"task" + BYTES + b"\0", True),
    event(9000, b"OHe")]
ODD = [event(1600, b"\x1b[2"), event(1700, b"\x07\x7f\n"), event(1800, b"\x9b31"), event(1850, b"\xc2\x9bA"),
       event(1900, b"V\x1bc", b"\x1b[31", False)]
WORDS = ["ovni-check IN", "ovni-check --strict IN", "ovni-convert -o OUT --modernise IN", "ovni-cut --from 1000 -o OUT IN",
         "ovni-dump IN", "ovni-dump -x IN", "ovni-dump -s IN", "ovni-dump --json IN", "ovni-emu -o OUT IN",
         "ovni-emu -b -a -l -d -o OUT IN", "ovni-info -t IN", "ovni-info --json IN", "ovni-loom export -o OUT IN",
         "ovni-merge -o OUT IN IN", "ovni-report IN", "ovni-report --json IN", "ovni-report latency IN",
         "ovni-report latency --csv IN", "ovni-report latency --json IN", "ovni-report preempt IN", "ovni-report wake IN",
         "ovni-report timehist IN", "ovni-report timeline IN", "ovni-report cpu IN", "ovni-report func IN",
         "ovni-report flame IN", "ovni-report flame --svg IN",
         "ovni-report counters IN", "ovni-sort -c IN", "ovni-top IN", "ovni-top --by thread IN", "ovni-top --by cpu IN",
         "ovni-top --json IN", "ovni-view -o NEW IN", "ovni-export --perfetto -o NEW IN", "ovni-export --csv -o NEW IN", "ovni-export --chrome -o NEW IN", "ovni-pallas export IN OUT",
         "ovni-pallas info OUT", "ovni-pallas info --definitions --grammar OUT", "ovni-pallas print OUT",
         "ovni-pallas print --tsv OUT", "ovni-pallas stats OUT", "ovni-pallas stats --sequences OUT",
         "ovni-pallas stats --loops OUT", "ovni-pallas stats --tsv OUT", "ovni-pallas check OUT", "ovni-pallas import OUT NEW"]


def judge(what, text):
    for line in text.split(b"\n"):
        plain = line.decode("utf-8", "surrogateescape")
        bad = [c for c in plain if (c < " " and c != "\t") or "\x7f" <= c <= "\x9f" or "\udc80" <= c <= "\udcff" or c in MARKS]
        if bad or line.startswith(b"FORGED") or b"\tFORGED" in line:
            wrong.append("%s: %r in %r" % (what, bad, line[:160]))
            return
    shown.update(re.findall(rb"\\\\?x1b|\\u001b", text))


def attempt(what, words):
    global runs
    for each in words:
        if " OUT" in each and not each.startswith("ovni-pallas") or "export" in each:
            shutil.rmtree(top + "/out", ignore_errors=True)
        shutil.rmtree(top + "/new", ignore_errors=True)
        if os.path.exists(top + "/new"):
            os.unlink(top + "/new")
        line = [{"IN": what_in, "OUT": top + "/out", "NEW": top + "/new"}.get(w, w) for w in each.split()]
        done = subprocess.run([bins + "/" + line[0], *line[1:]], capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=30, cwd=top)
        runs += 1
        if done.returncode not in (0, 1, 3):
            wrong.append("%s, %s: status %d" % (each, what, done.returncode))
        judge("%s, %s, stdout" % (each, what), done.stdout)
        judge("%s, %s, stderr" % (each, what), done.stderr)


# every name evil, everything else good; then events that no model knows; then evil directories
what_in = top + "/names"
names = meta()
for path in leaves(names):
    if path[-1] in ("name", "comm", "title", "hostname", "kernel", "machine", "ended") or \
            path[-2] in ("labels", "names", "command", "options"):
        names = changed(names, path)
names["ovni"]["loom"] = "n" + EVIL.replace("/", "")
stream(what_in + "/loom.n/proc.1/thread.1", names, EVENTS)
attempt("names", WORDS)
what_in = top + "/odd"
stream(what_in + "/loom.n/proc.1/thread.1", meta(), EVENTS[:-1] + ODD + EVENTS[-1:])
attempt("events", WORDS)
what_in = top + "/paths" + EVIL
stream(what_in + "/loom.n" + EVIL + "/proc.1" + EVIL + "/thread.1" + EVIL, meta(), EVENTS + [b"\0\0"])
attempt("paths, cut", WORDS)
shutil.rmtree(what_in)
stream(what_in + "/loom.n" + EVIL + "/proc.1" + EVIL + "/thread.1" + EVIL, meta(), EVENTS)
attempt("paths", WORDS)
# every other text alone: most make the trace invalid
FEW = [w for w in WORDS if w.split()[0] in ("ovni-check", "ovni-info", "ovni-merge")] + [
    "ovni-emu -o OUT IN", "ovni-report IN", "ovni-loom export -o OUT IN", "ovni-convert -o OUT --modernise IN"]
for path in list(leaves(meta())):
    what_in = top + "/alone"
    shutil.rmtree(what_in, ignore_errors=True)
    stream(what_in + "/loom.n/proc.1/thread.1", changed(meta(), path), EVENTS)
    attempt(".".join(map(str, path)), FEW)
print(runs, "runs,", len(wrong), "wrong; escapes shown as", sorted(shown))
print("\n".join(wrong[:60]))
sys.exit(bool(wrong) or not shown)
END
