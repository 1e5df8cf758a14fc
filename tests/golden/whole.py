#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
whole: damages traces of the recorder, and looks whether programs notice it.

    whole.py table BIN TOP             each damage to a made trace, each program: status, sentence
    whole.py random BIN TOP N TRACE... N random damages to recorded traces: ovni-check, and another program

Each damage removes, truncates, changes or adds something, so no program may end with status 0.
"""
import glob, json, os, random, shutil, struct, subprocess, sys

MAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools_make.py")
SECONDS = 60  # that one run may take, on a busy machine


# ---- a trace as files ----

def streams(trace):
    return sorted(os.path.dirname(p) for p in glob.glob(trace + "/**/stream.json", recursive=True))


def metadata(stream, change=None):
    with open(stream + "/stream.json", encoding="utf-8") as file:
        meta = json.load(file)
    if change:
        change(meta)
        with open(stream + "/stream.json", "w", encoding="utf-8") as file:
            json.dump(meta, file)
    return meta


def with_session(trace):
    return next(s for s in streams(trace) if "session" in metadata(s)["bpf"])


def read(stream):
    """The events of a stream, as bytes."""
    with open(stream + "/stream.obs", "rb") as file:
        data = file.read()
    at, events = 8, []
    while at < len(data):
        size = data[at] & 15
        size = 12 + (size + 1 if size else 0)
        if data[at] & 16:
            size = 16 + struct.unpack_from("<I", data, at + 12)[0]
        events.append(data[at:at + size])
        at += size
    return events


def write(stream, events):
    with open(stream + "/stream.obs", "wb") as file:
        file.write(b"ovni\1\0\0\0" + b"".join(events))


def shifted(event, by):
    return event[:4] + struct.pack("<q", struct.unpack_from("<q", event, 4)[0] + by) + event[12:]


CPUS = ' ovni.loom_cpus=' + json.dumps([{"index": i, "phyid": i} for i in range(4)], separators=(",", ":"))


STACKS = "ovni-bpf stacks 1\n1\tfutex_wait+0x8\n2\tpipe_read+0x1\n3\t=1\n4\t=2\n"


# ---- the made trace: two processes of two threads, with all evidence ----

def make(trace, number=4, bpf=True):
    text, session = "", {
        "t0": "1000", "t1": "2000", "lost": "0", "streams": str(number), "stats": True,
        "version": "0", "counts": {"events": str(5 * number)}}
    for tid in range(1, number + 1):
        more = {"name": "w%d" % tid, "events": "5", "bytes": "106", "first": str(999 + tid), "last": "2000"}
        if tid == 1:
            more.update(session=session, stacks_bytes=str(len(STACKS)))
        text += 'thread n %d %d' % ((tid + 1) // 2, tid)
        text += ' ovni.require={"ovni":"1.1.0","bpf":"1.0.0"}' if bpf else ""
        text += '' if tid % 2 else ' ovni.loom_cpus='
        text += CPUS if tid == 3 else ''
        text += ' bpf=%s\n' % json.dumps(more, separators=(",", ":")) if bpf else "\n"
        text += ("%d OHx i32:%d i32:-1 u64:0\n1400 OHp u16:1 i32:0\n1800 OHw i32:-2 i32:0 u32:%d u32:0\n1900 OHr\n2000 OHe\n" %
                 (999 + tid, tid - 1, tid))
    subprocess.run([sys.executable, MAKE, trace], input=text, text=True, check=True)
    if bpf:
        with open(trace + "/stacks", "w", encoding="ascii") as file:
            file.write(STACKS)
        zero = dict.fromkeys(("total_ns", "active_ns", "runnable_ns", "blocked_ns", "unknown_ns"), 0)
        with open(trace + "/stats.json", "w", encoding="utf-8") as file:
            json.dump({"schema": "ovni-bpf-stats", "version": 1, "mode": "full",
                       "window": {"first_cycle": 1000, "end_cycle": 2000, "total_cycles": 1000},
                       "events": {"seen": 0, "written": 0, "filtered": 0, "sampled_out": 0, "dropped": 0},
                       "recorder": {"cpu_ns": 1, "peak_rss_bytes": 1},
                       "snapshots": [{"clock": 2000, "scope": "run", **zero}] + [
                           {"clock": 2000, "scope": "thread", "tid": t, "pid": (t + 1) // 2, "comm": "w", **zero,
                            "switches_voluntary": 1} for t in range(1, number + 1)]}, file)


def old(trace):
    """As an older version recorded it."""
    for stream in streams(trace):
        metadata(stream, lambda m: [m["bpf"].pop(key) for key in ("bytes", "first", "last")])
    metadata(with_session(trace), lambda m: [m["bpf"]["session"].pop(key) for key in ("streams", "stats")])
    metadata(with_session(trace), lambda m: m["bpf"].pop("stacks_bytes"))


def in_session(**values):
    return lambda trace: metadata(with_session(trace), lambda m: m["bpf"]["session"].update(values))


def in_last(**values):
    """Changes numbers of the last stream; None removes them."""
    def change(meta):
        meta["bpf"].update(values)
        meta["bpf"] = {k: v for k, v in meta["bpf"].items() if v is not None}
    return lambda trace: metadata(streams(trace)[-1], change)


def no_end(trace):
    metadata(with_session(trace), lambda m: m["bpf"]["session"].pop("t1"))


def truncate(trace):
    last = streams(trace)[-1]
    write(last, read(last)[:1] + read(last)[-1:])


def shift(by):
    return lambda trace: write(streams(trace)[-1], [shifted(e, by) for e in read(streams(trace)[-1])])


def last_clock(trace):
    """Of one event alone: the size stays."""
    events = read(streams(trace)[-1])
    write(streams(trace)[-1], [*events[:-1], shifted(events[-1], -1)])


def stacks(size=None, more=""):
    """Another size of the file of stacks: cut, or with more lines."""
    def change(trace):
        with open(trace + "/stacks", "w", encoding="ascii") as file:
            file.write(STACKS[:size] + more)
    return change


def both(*damages):
    return lambda trace: [damage(trace) for damage in damages] and None


def add_stream(trace):
    copy = shutil.copytree(streams(trace)[-1], streams(trace)[-1] + "0")
    metadata(copy, lambda m: m["ovni"].update(tid=40))
    events = read(copy)  # on the virtual CPU
    write(copy, [events[0][:12] + struct.pack("<i", -1) + events[0][16:], *events[1:]])


def repaired(trace):
    metadata(streams(trace)[-1], lambda m: m["bpf"].update(recovered={"by": "0", "added": "0"}))


def unfinished(trace):
    metadata(streams(trace)[-1], lambda m: m["ovni"].pop("finished"))


def remove_streams(trace):
    shutil.rmtree(trace + "/loom.n")


LAST = "loom.n/proc.2/thread.4"
NO_END = "the recorder's numbers at the end are missing or damaged (bpf.session)"
TABLE = [  # damage, how, the sentence of all programs
    ("none", lambda trace: None, None),
    ("thread", lambda t: shutil.rmtree(streams(t)[-1]), "1 of 4 streams is missing; 5 of 20 events are missing with their streams"),
    ("process", lambda t: shutil.rmtree(t + "/loom.n/proc.2"), "2 of 4 streams are missing; 10 of 20 events are missing with their streams"),
    ("session", lambda t: shutil.rmtree(with_session(t)), "the stream with the session of the recorder (bpf.session) is missing"),
    ("metadata", lambda t: os.remove(streams(t)[-1] + "/stream.json"), "1 of 4 streams is missing; 5 of 20 events"),
    ("statistics", lambda t: os.remove(t + "/stats.json"), "stats.json is missing"),
    ("no statistics file", both(lambda t: os.remove(t + "/stats.json"), lambda t: os.mkdir(t + "/stats.json")), "stats.json is missing"),
    ("no stacks", lambda t: os.remove(t + "/stacks"), "the file stacks is missing"),
    ("stacks, empty", stacks(0), "the file stacks has 0 bytes instead of 61"),
    ("stacks, line cut", stacks(-1), "the file stacks has 60 bytes instead of 61"),
    ("stacks, lines cut", stacks(51), "the file stacks has 51 bytes instead of 61"),
    ("stacks, more", stacks(None, "5\tx+0x1\n"), "the file stacks has 69 bytes instead of 61"),
    ("stacks, no number", lambda t: metadata(with_session(t), lambda m: m["bpf"].update(stacks_bytes="x")), NO_END),
    ("truncated", truncate, "3 events are missing (%s)" % LAST),
    ("shifted", shift(10**10), "other events than the recorder wrote (%s)" % LAST),
    ("shifted by little", shift(1), "other events than the recorder wrote (%s)" % LAST),
    ("last clock", last_clock, "other events than the recorder wrote (%s)" % LAST),
    ("size", in_last(bytes="95"), "other events than the recorder wrote (%s)" % LAST),
    ("size, no exact number", in_last(bytes=2**63), "other events than the recorder wrote (%s)" % LAST),
    ("no size", in_last(bytes=None), "other events than the recorder wrote (%s)" % LAST),
    ("no last clock, size", in_last(bytes=0, last=None), "other events than the recorder wrote (%s)" % LAST),
    ("window", in_session(t0="500", t1="600"), "events are outside of the window of the recorder"),
    ("no end", no_end, NO_END),
    ("no counts", lambda t: metadata(with_session(t), lambda m: m["bpf"]["session"].pop("counts")), NO_END),
    ("no end, thread", both(no_end, lambda t: shutil.rmtree(streams(t)[-1])), NO_END),
    ("streams", in_session(streams="x"), NO_END),
    ("losses", in_session(lost="7"), "the recorder lost 7 events"),
    ("no losses", lambda t: metadata(with_session(t), lambda m: m["bpf"]["session"].pop("lost")), "the recorder could not count the lost events"),
    ("one more", add_stream, "there are 5 streams, but 4 in the sessions"),
    ("repaired", repaired, "a repair closed 1 stream after a crash"),
    ("unfinished", unfinished, "1 stream is not finished"),
    ("two", both(in_session(lost="1"), lambda t: os.remove(t + "/stats.json")), "the recorder lost 1 event; stats.json is missing"),
    ("old", old, None),
    ("old, thread", both(old, lambda t: shutil.rmtree(streams(t)[-1])), "5 of 20 events are missing with their streams"),
    ("old, stacks cut", both(old, stacks(51)), None),
    ("old, truncated", both(old, truncate), "3 events are missing (%s)" % LAST),
    ("old, shifted", both(old, shift(10**10)), "events are outside of the window of the recorder"),
    ("no streams", remove_streams, "no stream is in this directory: it is not a trace"),
    ("empty", both(remove_streams, lambda t: os.remove(t + "/stats.json")), "no stream is in this directory: it is not a trace"),
]

REPORTS = ("latency", "preempt", "wake", "why", "timehist", "timeline", "cpu", "func", "flame")
PROGRAMS = [  # words; T: the trace, K: another whole trace, O: output, P: page
    ["ovni-check", "T"], ["ovni-check", "--strict", "T"], ["ovni-emu", "-o", "O", "T"],
    ["ovni-emu", "--compat", "-o", "O", "T"], ["ovni-report", "T"],
    *(["ovni-report", name, "T"] for name in REPORTS),
    ["ovni-report", "critical", "--tid", "2", "T"], ["ovni-info", "T"], ["ovni-dump", "T"],
    ["ovni-sort", "T"], ["ovni-sort", "-c", "T"], ["ovni-top", "T"], ["ovni-cut", "-o", "O", "T"],
    ["ovni-merge", "-o", "O", "T", "K"], ["ovni-merge", "-o", "O", "K", "T"],
    ["ovni-merge", "--others", "-o", "O", "K", "T"], ["ovni-pallas", "export", "T", "O"],
    ["ovni-loom", "export", "-o", "O", "T"], ["ovni-convert", "--drop-unknown", "-o", "O", "T"],
    ["ovni-convert", "--modernise", "-o", "O", "T"],
    ["ovni-view", "-o", "P", "T"], ["ovni-export", "--perfetto", "-o", "P", "T"],
    ["ovni-export", "--sqlite", "-o", "P", "T"], ["ovni-export", "--csv", "-o", "O", "T"],
    ["ovni-export", "--chrome", "-o", "P", "T"],
]


def run(bins, *words):
    done = subprocess.run([bins + "/" + words[0], *words[1:]], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=SECONDS, errors="replace")
    return done.returncode, done.stdout, done.stderr


def clear(path):
    shutil.rmtree(path, ignore_errors=True)


def expected(damage, words, reason):
    """(status, sentence) of a program."""
    refused = damage == "unfinished" and words[0] in ("ovni-check", "ovni-emu")
    if "--compat" in words:
        return int(refused), None
    if words[0] == "ovni-check" and damage in ("losses", "window") and "--strict" in words:
        return 1, reason  # stats.json contradicts the session
    if damage == "no statistics file" and words[0] in ("ovni-check", "ovni-info"):
        return 1, None  # they read it
    if reason and reason.startswith("no stream"):
        other = {"ovni-emu": (3, "it has no streams"), "ovni-loom": (1, "no stream of a thread in it"),
                 "ovni-convert": (1, "not a trace of version 1 or 3")}
        return other.get(words[0], (1, reason))
    return (1 if refused else 3 if reason else 0), None if refused and words[0] == "ovni-emu" else reason


def table(bins, top):
    wrong, runs = [], 0
    trace, other, out = top + "/trace", top + "/other", top + "/out"
    make(other, bpf=False)
    for damage, how, reason in TABLE:
        clear(trace)
        make(trace)
        how(trace)
        for words in PROGRAMS:
            clear(out)
            names = {"T": trace, "K": other, "O": out, "P": "%s.%d.html" % (out, runs)}
            status, text, said = run(bins, *(names.get(w, w) for w in words))
            want, sentence = expected(damage, words, reason)
            runs += 1
            problem = ""
            if status != want:
                problem = "status %d, not %d" % (status, want)
            elif sentence and sentence not in (text.splitlines() or [""])[-1] + said and sentence not in text + said:
                problem = "does not say '%s'" % sentence
            elif not want and "ncomplete" in text + said:
                problem = "says that something is missing"
            if problem:
                wrong.append("%s: %s: %s\n%s%s" % (damage, " ".join(words), problem, text[-300:], said))
            if status in (0, 3) and words[0] in ("ovni-cut", "ovni-merge", "ovni-convert"):
                status, text, said = run(bins, "ovni-check", out)
                runs += 1
                if status != expected(damage, ["ovni-check"], reason)[0] and status != want:
                    wrong.append("%s: %s: its output: ovni-check has status %d\n%s" % (damage, " ".join(words), status, text))
            if status in (0, 3) and words[0] == "ovni-pallas":
                clear(top + "/back")
                status, text, said = run(bins, "ovni-pallas", "import", out, top + "/back")
                runs += 1
                if status != want:
                    wrong.append("%s: %s: its archive: import has status %d\n%s" % (damage, " ".join(words), status, said))
    wrong += changed(bins, trace, out) + repairs(bins, trace, top + "/page.html")
    runs += 8
    print("%d runs, %d wrong" % (runs, len(wrong)))
    return wrong


def changed(bins, trace, out):
    """ovni-convert leaves an event out of a whole trace: the numbers of what it writes are right, too."""
    clear(trace)
    clear(out)
    make(trace)
    last = streams(trace)[-1]
    write(last, [*read(last)[:2], b"\0ZZZ" + struct.pack("<q", 1500), *read(last)[2:]])
    metadata(last, lambda m: m["bpf"].update(events="6", bytes="118"))
    metadata(with_session(trace), lambda m: m["bpf"]["session"]["counts"].update(events="21"))
    wrong = []
    for words in (["ovni-convert", "--drop-unknown", "-o", out, trace], ["ovni-check", out]):
        status, text, said = run(bins, *words)
        if status:
            wrong.append("an event left out: %s: status %d\n%s" % (words, status, text + said))
    return wrong


def repairs(bins, trace, page):
    """Switches that the kernel did not report: the same words everywhere, and nothing is missing."""
    said_of = lambda n, lost: "%d repair%s of switches that the kernel did not report%s" % (
        n, "s" if n > 1 else "", ", or whose records were lost" if lost else "")
    wrong = []
    for number, lost in ((1, 0), (2, 3)):
        clear(trace)
        make(trace)
        metadata(streams(trace)[0], lambda m: m["bpf"].update(repairs=str(number)))
        in_session(lost=str(lost))(trace)
        for words in (["ovni-check", trace], ["ovni-report", trace], ["ovni-view", "-o", page, trace]):
            status, text, said = run(bins, *words)
            if words[0] == "ovni-view":
                with open(page, encoding="utf-8") as file:
                    text = said_of(number, lost) if "of switches that the kernel did not report" in file.read() else ""
                os.remove(page)
            if status != (3 if lost else 0) or said_of(number, lost) not in text + said:
                wrong.append("%d repairs, %d lost: %s: status %d\n%s" % (number, lost, words, status, text + said))
    return wrong


# ---- random damage to recorded traces ----

def a_stream(trace, rng):
    return rng.choice(streams(trace))


def remove_events(trace, rng):
    stream = a_stream(trace, rng)
    events = read(stream)
    first = rng.randrange(len(events))
    write(stream, events[:first] + events[first + rng.randint(1, len(events) - first):])


def shift_end(trace, rng):
    stream = a_stream(trace, rng)
    events = read(stream)
    first = rng.randrange(len(events))
    by = rng.choice((1, 1000, 10**6, 10**9, 10**12))
    write(stream, events[:first] + [shifted(e, by) for e in events[first:]])


def cut_bytes(trace, rng):
    path = a_stream(trace, rng) + "/stream.obs"
    os.truncate(path, rng.randrange(os.path.getsize(path)))


def remove_processes(trace, rng):
    found = sorted(glob.glob(trace + "/loom.*/proc.*"))
    for path in rng.sample(found, rng.randint(1, len(found))):
        shutil.rmtree(path)


def remove_threads(trace, rng):
    found = streams(trace)
    for path in rng.sample(found, rng.randint(1, max(1, len(found) // 2))):
        shutil.rmtree(path)


def remove_file(trace, rng):
    files = sorted(glob.glob(trace + "/**/stream.*", recursive=True))
    os.remove(rng.choice(files + glob.glob(trace + "/stats.json") * (len(files) // 8 + 1)))


def two_streams(trace, rng):
    """The events of one stream in the place of those of another."""
    a, b = rng.sample(streams(trace), 2)
    events = read(a)
    if events == read(b):
        events = events[:-1]
    write(b, events)


def cut_stacks(trace, rng):
    """Lines with frames stay in front of those that name them: a cut file is valid."""
    if not os.path.exists(trace + "/stacks"):
        return remove_file(trace, rng)
    os.truncate(trace + "/stacks", rng.randrange(os.path.getsize(trace + "/stacks")))


DAMAGES = (cut_stacks, remove_events, shift_end, cut_bytes, remove_processes, remove_threads, remove_file, two_streams)
OTHERS = (["ovni-report"], ["ovni-report", "cpu"], ["ovni-dump"], ["ovni-info"], ["ovni-emu", "-o", "O"],
          ["ovni-cut", "-o", "O"])


def campaign(bins, top, number, traces):
    seed = int(os.environ.get("WHOLE_SEED") or 1)
    rng, wrong, counts = random.Random(seed), [], {}
    trace, out = top + "/damaged", top + "/out"
    for case in range(number):
        clear(trace)
        clear(out)
        source, how = rng.choice(traces), rng.choice(DAMAGES)
        shutil.copytree(source, trace)
        how(trace, rng)
        status, text, said = run(bins, "ovni-check", "-q", trace)
        words = rng.choice(OTHERS)
        other, _, other_said = run(bins, *(w.replace("O", out) if w == "O" else w for w in words), trace)
        key = (how.__name__, status)
        counts[key] = counts.get(key, 0) + 1
        if status not in (1, 3):
            wrong.append("case %d, %s of %s: ovni-check: status %d\n%s" % (case, how.__name__, source, status, text + said))
        # a program that does not read all events notices no change in their middle
        if other not in (1, 3) and how not in (shift_end, two_streams):
            wrong.append("case %d, %s of %s: %s: status %d\n%s" % (case, how.__name__, source, words, other, other_said))
    for (name, status), n in sorted(counts.items()):
        print("%-18s status %d: %d" % (name, status, n))
    print("seed %d: %d cases, %d wrong" % (seed, number, len(wrong)))
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "table":
        found = table(*sys.argv[2:4])
    else:
        found = campaign(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:])
    for problem in found[:20]:
        print("wrong:", problem)
    sys.exit(1 if found else 0)
