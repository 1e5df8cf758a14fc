#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
mutations: damages traces, archives, runs and ELF files, and judges each run of our programs on them.

    mutations.py BIN TOP SOURCES...    SOURCES: paths KIND.NAME, joined by commas; each list gets the same share

MUTATIONS=N: so many damaged inputs; else as many as in FUZZ_SECONDS. SEED=S: the number of the first
one; SEED=S MUTATIONS=1 repeats one of them. RUNS=N programs for each. REPORT=FILE: numbers as text.

A run is wrong if it ends with a signal, with another status than 0, 1, 2 or 3, with a report of a
sanitizer; takes too long or too much memory; prints control characters; fails without exactly one
error; changes a file that is not its output; calls a trace complete that lacks what its own
metadata count, or that ovni-check calls incomplete; or makes a whole trace of an incomplete one.
"""
import collections
import glob
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import whole  # pylint: disable=wrong-import-position

CPU_SECONDS, WALL_SECONDS, MEMORY, OUTPUT = 10, 120, 400 << 20, 256 << 20
LEAKS_EACH = 8  # runs of a sanitized program: one that looks for leaks

REPORTS = ("latency", "preempt", "wake", "why", "timehist", "timeline", "cpu", "func", "counters")
TRACE = """check IN; check --json IN; check --strict -a -b IN; check --repair -o OUT IN; check --repair --in-place IN
emu -q -o OUT IN; emu --tolerant -l -b -a --arrows -o OUT IN; emu --compat -o OUT IN; emu -j2 --gz -o OUT IN
report IN; report --json IN; report --from +10ns IN; report latency --histogram IN; report wake --period --csv IN
cut --from +10ns --to +50us -o OUT IN; cut --cpu 0 -o OUT IN; cut --tid 1 --model ovni -o OUT IN
merge -o OUT IN KERNEL; merge -o OUT PROGRAM IN; merge --others -o OUT IN IN; merge -a -o OUT KERNEL IN
sort IN; sort --all IN; sort -c IN; sort --dry-run IN; sort --all -m 1M -n 3 IN
dump IN; dump -j IN; dump -x IN; dump -s IN; dump --mcv OH* --from +5ns IN
export --perfetto -o OUT IN; export --perfetto --from +10ns --split 64K -o OUT IN; export --csv -o OUT IN; export --sqlite --to +10us -o OUT IN
export --chrome -o OUT IN; export --chrome --from +10ns -o OUT IN
report flame IN; report flame --svg IN; report flame --html IN; report critical IN; report locks IN; report critical --sum --json IN
report efficiency IN; report efficiency --window recording --phase collectives --json IN; report efficiency --every 1ms --window recording IN
report messages IN; report messages --from +10ns --json IN; emu -q --messages -o OUT IN; report messages --csv IN
report latency --ranks 0,2-5 IN; report why --loom n0 --csv IN
report perf IN; report io IN; report io --by process --json IN; report perf --functions --json IN; report stacks IN; report flame --stacks --svg IN; report stacks --html --from +10ns IN
top IN; top --by cpu IN; top --by thread --json IN; info -t IN; info --json IN
convert -o OUT IN; convert -d -m -o OUT IN; pallas export IN OUT; pallas export --calls --level none IN OUT
loom export -o OUT IN; view -o OUT IN; view --from +10ns --small --limit 1 -o OUT IN
""" + "".join("report %s IN; report %s %s IN\n" % (r, r, "--from +5ns" if r == "timeline" else "--json") for r in REPORTS)
PROGRAMS = {
    "trace": TRACE, "whole": TRACE,
    "old": "convert -o OUT IN; convert -d -m -o OUT IN",
    "stats": "check FILE; report counters FILE; report counters --json FILE; check --repair -o OUT.stats.json FILE",
    "pallas": """print IN; print -T --memory 1M IN; print --tsv IN; print --attributes IN; info --definitions IN
print --from +5ns --region f* IN; print --tsv --thread 0 --from 100 --to 1150 IN; stats --from +20ns --to +90ns IN; stats --from 1120 IN
info --grammar IN; stats IN; stats --tsv IN; stats --loops IN; stats --sequences IN; check IN; import IN OUT""",
    "loom": """check IN; check --json --all IN; check --chain --style edge IN; check --style span IN; dump IN
dump --layout natural48 IN; dump --apply-ids IN; dump --sample 1/3 --kinds fire,route --nodes 1,0:2 IN; stats IN
stats --json IN; stats --by node --window run IN; stats --by core IN; import -o OUT IN""",
    "elf": """--list IN; --list IN --json; --list IN:*n*; --list IN:*f*
""" + "--list IN; --list IN --json; --list IN:inner\n" * 4 + """--dry-run -u IN:ns::f,inner -a; --dry-run -u IN:* -a
--dry-run -u IN:0x1040,inner+1 -a; --dry-run --usdt IN:app:probe,arg1 -a; --dry-run --usdt IN:*:* -a
--dry-run --no-return-probes -u IN:ns::f -a""",
}
PREFIX = {"pallas": "pallas ", "loom": "loom ", "elf": "bpf "}
PROGRAMS = {kind: [("ovni-" + PREFIX.get(kind, "") + line.strip()).split() for line in text.replace(";", "\n").splitlines() if line.strip()]
            for kind, text in PROGRAMS.items()}

# ---- damages ----

EVIL = "\x1b]0;x\x07\x1b[31m\x7f\u009b5m\r\nFORGED\b\t"
EDGES = [0, 1, 2, 0x7f, 0xff, 0x7fff, 0xffff, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1,
         2**63, 2**64 - 8, 2**64 - 1]
RAW = [b"[" * 100000, b'{"a":' * 5000, b"[" * 900 + b"]" * 900, b"1e400", b"-1e400", b"1e19", b"18446744073709551616",
       b"9" * 400, b"NaN", b"-0", b"0.1", b'"\xff\xfe"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\x1b[31m"', b'"\n"',
       b'"\\ud800"', b'"\\u0000"', b'""', b"", b"}", b"]", b'"', b",", b"//", b"\0", b"1,1", b'1, "version": 9',
       b'{}, "events": 0', b'0, "tid": 1', b'1, "session": {"t0": "0"}']
VALUES = [None, True, "", "x" * 70000, -1, 0.5, 1e308, [], {}, [[]], {"a": {}}, [0] * 3000, EVIL, "-1", "1e19",
          "18446744073709551616", "9223372036854775807", "../../x", "/etc/passwd", "a/b", ".", "\u202e"] + EDGES
WORDS = [b"\0" * 8, b"\xff" * 8, b"\xff" * 4, b"\x80", b"\x7f", b"\1\0\0\0\0\0\0\0", b"\x28\xb5\x2f\xfd", b"LTRC\1\0\0\0",
         b"ovni", b'"', b"{", b"-1", b"1e999", b"\0"] + [struct.pack("<Q", v) for v in EDGES]
pick = random.choice


def load(path):
    with open(path, "rb") as file:
        return file.read()


def store(path, data):
    with open(path, "wb") as file:
        file.write(data)


def damage_bytes(path):
    data = bytearray(load(path))
    for _ in range(pick((1, 1, 1, 2, 5, 20))):
        at, how, word = random.randrange(len(data) + 1), random.randrange(7), pick(WORDS)
        if how == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif how == 1:
            data[at:at + len(word)] = word
        elif how == 2:
            del data[at:at + pick((1, 4, 8, 12, 38, 100, 1000))]
        elif how == 3:
            data[at:at] = pick((word, random.randbytes(12), data[at:at + 40], data[at:at + 300]))
        elif how == 4:
            other = random.randrange(len(data) + 1)
            data[at:at + 8] = data[other:other + 8]
        elif how == 5 and at:
            del data[pick((at, len(data) - at % 40)):]
        elif how == 6 and len(data) >= 16:  # an aligned number
            struct.pack_into(pick("HIQ"), data, at % (len(data) - 8) & ~3, pick(EDGES) & 0xffff)
    store(path, data)


def nodes(node, found):
    for key in node if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], (dict, list)):
            nodes(node[key], found)
    return found


def damage_json(path):
    text = load(path)
    try:
        doc = json.loads(text)
        found = nodes(doc, [])
    except (ValueError, TypeError, RecursionError):
        found = None
    if not found:
        return damage_bytes(path)
    raws = []
    for _ in range(pick((1, 1, 1, 2, 4))):
        node, key = pick(found)
        if not (key in node if isinstance(node, dict) else key < len(node)):
            continue
        how = random.randrange(7)
        if how == 0:
            del node[key]
        elif how == 1:
            node[key] = pick(VALUES)
        elif how == 2:
            node[key] = "@RAW%d@" % len(raws)
            raws.append(pick(RAW))
        elif how == 3 and isinstance(node, dict):  # the key twice
            again = "%s, %s: %s" % (json.dumps(node[key]), json.dumps(str(key)), json.dumps(pick(VALUES)))
            node[key] = "@RAW%d@" % len(raws)
            raws.append(again.encode())
        elif how == 4:  # a near number
            value = node[key]
            near = int(value) if isinstance(value, int) or number(value) is not None else 0
            near = max(0, near + pick((-1, 1, 7, 1000, -1000)))
            node[key] = str(near) if isinstance(value, str) else near
        elif how == 5:
            other, name = pick(found)
            if name in other if isinstance(other, dict) else name < len(other):
                node[key] = json.loads(json.dumps(other[name]))
        elif isinstance(node, dict):
            node[pick((key + "x", EVIL, "", "ovni", "bpf", "x" * 5000))] = node.pop(key)
        else:
            node.extend(json.loads(json.dumps([node[key]])) * pick((1, 100, 5000)))
    try:
        text = json.dumps(doc, ensure_ascii=pick((True, False))).encode("utf-8", "surrogatepass")
    except (RecursionError, ValueError):  # a part of itself
        return None
    for i, raw in enumerate(raws):
        text = text.replace(b'"@RAW%d@"' % i, raw)
    if len(text) < 2 << 20:  # memory follows the size of a document
        store(path, text)
    return None


def damage_events(path, others):
    stream = os.path.dirname(path)
    try:
        events = whole.read(stream)
    except struct.error:
        events = []
    if not events or load(path)[:8] != b"ovni\1\0\0\0":
        return damage_bytes(path)
    for _ in range(pick((1, 1, 1, 2, 5))):
        i, j = random.randrange(len(events)), random.randrange(len(events))
        event, how = bytearray(events[i]), random.randrange(11)
        if len(event) < 12:
            continue
        clock = struct.unpack_from("<Q", event, 4)[0]
        if how == 0:
            events[i:i + 1] = [bytes(event)] * pick((2, 3, 300))
        elif how == 1:
            events[i], events[j] = events[j], events[i]
        elif how == 2:
            del events[i:i + pick((1, 1, 2, 10, len(events)))]
        elif how == 3:
            events[min(i, j):max(i, j)] = events[min(i, j):max(i, j)][::-1]
        elif how == 4:
            struct.pack_into("<Q", event, 4, pick(EDGES + [clock - 1, clock + 1, clock + 10**9]) & (2**64 - 1))
        elif how == 5:  # this and all later ones
            by = pick((-1, 1, -1000, 10**6, 10**9, 2**40, 2**61, 2**63))
            events[i:] = [e[:4] + struct.pack("<Q", (struct.unpack_from("<Q", e, 4)[0] + by) & (2**64 - 1)) + e[12:]
                          if len(e) >= 12 else e for e in events[i:]]
            continue
        elif how == 6 and len(event) >= 16:
            kind = pick("HIQ") if len(event) >= 20 else pick("HI")
            at = random.randrange(12, len(event) - struct.calcsize(kind) + 1)
            struct.pack_into("<" + kind, event, at, pick(EDGES) & (2**(8 * struct.calcsize(kind)) - 1))
        elif how == 7:
            event[0] = random.randrange(256)
        elif how == 8:
            event[1:4] = pick((random.randbytes(3), events[j][1:4], pick((b"OHx", b"OHe", b"OHp", b"OAr", b"OU[", b"OU]", b"OM=", b"OF["))))
        elif how == 9:
            data = pick((b"", b"x" * 100000, b"\x1b[31m\0", struct.pack("<I", 7) + b"\x9b\xff\0"))
            size = pick((len(data), len(data) + 1, 2**31, 2**32 - 1, 0))
            events.insert(i, b"\x13" + event[1:4] + struct.pack("<QI", clock, size) + data)
        else:
            try:
                more = whole.read(os.path.dirname(pick(others)))
            except struct.error:
                more = []
            events[i:i] = more[:pick((1, 5, 100))]
        if how in (4, 6, 7, 8) and i < len(events):
            events[i] = bytes(event)
        if not events:
            break
    return whole.write(stream, events)


def special(path, kind=None):
    """Puts something that is no regular file, or an odd one, in the place of a file."""
    kind = kind or pick(("link", "zero", "dangling", "fifo", "device", "socket", "directory", "huge", "empty"))
    if kind != "huge":
        os.unlink(path)
    if kind in ("link", "zero", "dangling"):
        os.symlink({"link": "/etc/hostname", "zero": "/dev/zero", "dangling": "nowhere"}[kind], path)
    elif kind == "fifo" or (kind == "device" and os.geteuid()):
        os.mkfifo(path)
    elif kind == "device":
        os.mknod(path, 0o20600, os.makedev(1, 5))
    elif kind == "socket":
        at = os.open(os.path.dirname(path), os.O_RDONLY)
        socket.socket(socket.AF_UNIX).bind("/proc/self/fd/%d/%s" % (at, os.path.basename(path)))
        os.close(at)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "huge":
        os.truncate(path, 2 << 40)
    else:
        store(path, b"")


def move(trace, obs):
    """Renames, moves, copies or removes a stream, a process or a loom."""
    thread = os.path.dirname(obs)
    process = os.path.dirname(thread)
    what, other = pick((thread, thread, process, os.path.dirname(process))), os.path.dirname(pick(all_streams(trace)))
    if os.path.realpath(what) == os.path.realpath(trace) or not what.startswith(trace):
        what = thread
    name = os.path.basename(what).split(".")[0] + "." + pick(
        ("-1", "x", "0", "99999999999999999999", "1", "2", "\x1b[2J", "\udcff", "n" * 240, ".", "4294967297", ""))
    to = os.path.join(os.path.dirname(what), name)
    how = random.randrange(7)
    if how == 0 and not os.path.exists(to):
        os.rename(what, to)
    elif how == 1 and not os.path.exists(to):
        shutil.copytree(what, to, symlinks=True)
    elif how == 2:
        shutil.rmtree(what)
    elif how == 3 and other != thread:
        a, b = (os.path.join(d, pick(("stream.obs", "stream.json"))) for d in (thread, other))
        if os.path.exists(a) and os.path.exists(b):
            held = load(a)
            store(a, load(b))
            store(b, held)
    elif how == 4:
        deep = os.path.join(thread, *["d%d" % i for i in range(pick((1, 5, 60)))])
        shutil.copytree(thread, deep + "/thread.9", symlinks=True, dirs_exist_ok=True, ignore=lambda _, n: [x for x in n if x[0] == "d"])
    elif how == 5:
        gone = pick((obs, thread + "/stream.json"))
        if os.path.lexists(gone):  # an earlier damage may have removed it
            os.unlink(gone)
    else:
        shutil.move(thread, os.path.join(os.path.dirname(process), os.path.basename(thread) + ".moved"))


def all_streams(trace):
    return sorted(glob.glob(trace + "/**/stream.obs", recursive=True))


OFFSETS = b"rank hostname offset_median offset_mean offset_std\n"


def damage(kind, path):
    """Damages the input; returns the name of the damage."""
    if kind == "elf":
        damage_elf(path)
        return "elf"
    files = sorted(f for f in glob.glob(path + "/**", recursive=True) if os.path.isfile(f))
    names, last = [], ""
    for _ in range(pick((1, 1, 1, 2, 3))):
        file, streams = pick(files), all_streams(path)
        how = random.randrange(20)
        if not os.path.isfile(file) or os.path.islink(file) or os.path.getsize(file) > 1 << 24:
            continue
        if how == 0:
            last = file  # nothing here may read it afterwards
        elif how <= 3 and streams and kind in ("trace", "whole"):
            move(path, pick(streams))
            names.append("move")
        elif how == 4 and kind in ("trace", "whole"):
            line = b"%d %s %s 0 0" % (pick((0, 1, 2**63)), pick((b"n", b"node", b"\x1b[2J", b"h" * 3000)),
                                      pick((b"0", b"1e308", b"-9.3e18", b"nan", b"9223372036854775807", b"x", b"")))
            clocks = (b"0", b"-1", b"7", b"2000", b"600000000007", b"-9223372036854775808", b"9223372036854775807",
                      b"9223372036854775808", b"1e3", b"nan")
            for _ in range(pick((0, 0, 3, 4, 4, 4, 4, 5))):
                line += b" " + pick(clocks)
            line += b"\n"
            store(path + "/clock-offsets.txt", pick((OFFSETS, b"", b"\0")) + line * pick((1, 2, 1000)))
            names.append("offsets")
        elif file.endswith(".json") and random.randrange(6):
            damage_json(file)
            names.append("json")
        elif file.endswith(".obs") and random.randrange(4):
            damage_events(file, streams)
            names.append("events")
        else:
            damage_bytes(file)
            names.append("bytes")
    if os.path.isfile(last):
        special(last)
        names.append("special")
    return "+".join(sorted(set(names))) or "none"


def damage_elf(path):
    data = bytearray(load(path))
    if random.randrange(3):  # numbers of headers, sections, symbols, notes
        phoff, shoff = struct.unpack_from("<QQ", data, 32)
        phnum, shnum = struct.unpack_from("<H", data, 56)[0], struct.unpack_from("<H", data, 60)[0]
        fields = [(16 + 2 * i, "H") for i in range(2)] + [(24 + 8 * i, "Q") for i in range(3)] + [(52 + 2 * i, "H") for i in range(6)]
        fields += [(phoff + 56 * i + 8 * k, "Q") for i in range(phnum) for k in range(7)]
        fields += [(phoff + 56 * i, "I") for i in range(phnum)]
        fields += [(shoff + 64 * i + 8 * k, "Q") for i in range(shnum) for k in range(8)] * 2
        fields += [(shoff + 64 * i + k, "I") for i in range(shnum) for k in (0, 4, 40, 44)] * 2
        for i in range(shnum):  # within symbols, notes, unwind tables, dynamic entries
            kind, = struct.unpack_from("<I", data, shoff + 64 * i + 4)
            at, size = struct.unpack_from("<QQ", data, shoff + 64 * i + 24)
            if kind != 8 and size >= 8:
                fields += [(at + random.randrange(size - 7), pick("HIQ")) for _ in range(20)]
        for _ in range(pick((1, 1, 2, 3, 8))):
            at, form = pick(fields)
            size = struct.calcsize(form)
            if at + size <= len(data):
                old = int.from_bytes(data[at:at + size], "little")
                new = pick(EDGES + [old ^ (1 << random.randrange(8 * size)), old + 1, old - 1, len(data), len(data) - old])
                data[at:at + size] = (new & (2**(8 * size) - 1)).to_bytes(size, "little")
        store(path, data)
    else:
        damage_bytes(path)


# ---- judges ----


def number(value):
    if isinstance(value, bool) or (isinstance(value, str) and not (value.isascii() and value.isdigit())):
        return None
    try:
        value = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if 0 <= value < 2**64 else None


def lacks(trace):
    """An independent look: the reason if the metadata of a damaged trace count something that is not there."""
    sessions, streams, events = [], 0, 0
    for path in all_streams(trace):
        try:
            meta = os.path.dirname(path) + "/stream.json"
            if not all(os.path.isfile(f) and os.path.getsize(f) < 1 << 24 for f in (path, meta)):
                return None
            text = load(meta)
            pairs = []
            bpf = json.loads(text, object_pairs_hook=lambda p: pairs.append(p) or dict(p)).get("bpf", {})
            if any(len(dict(p)) != len(p) for p in pairs):
                return None  # a key twice: which one counts is not specified
            count = number(bpf.get("events"))
            if isinstance(bpf.get("session"), dict):
                sessions.append(bpf["session"])
            if count is None:
                continue
            streams, events = streams + 1, events + count
            size = number(bpf.get("bytes"))
            if os.path.getsize(path) != size and size is not None:
                return "%s has %d bytes, not %d" % (path, os.path.getsize(path), size)
        except (ValueError, TypeError, AttributeError, OSError, RecursionError):
            return None  # not readable: another matter
    if len(sessions) != 1 or not streams:
        return "no session" if streams and not sessions else None
    counts = sessions[0].get("counts")
    expected = number(counts.get("events")) if isinstance(counts, dict) else None
    if number(sessions[0].get("t0")) is None or number(sessions[0].get("t1")) is None:
        return None
    if expected is not None and expected != events:
        return "%d events, not %d" % (events, expected)
    if number(sessions[0].get("streams")) not in (None, streams):
        return "%d streams" % streams
    return "losses" if number(sessions[0].get("lost")) else None


def tree(top):
    found = {}
    for at, _, names in os.walk(top):
        for name in names + ["."]:
            st = os.lstat(os.path.join(at, name))
            found[os.path.join(at, name)] = (st.st_mode, st.st_ino, st.st_size, 0 if name == "." else st.st_mtime_ns)
    return found


class Late(Exception):
    pass


def late(*_):
    raise Late()


class Runner:
    def __init__(self, bins, top):
        self.bins, self.top, self.wrong, self.runs = bins, top, [], 0
        self.most = collections.Counter()  # memory
        self.status = collections.Counter()

    def run(self, words):
        out, err = open(self.top + "/stdout", "w+b"), open(self.top + "/stderr", "w+b")
        # to look for leaks at the end takes three times as long as a run
        leaks = "" if self.runs % LEAKS_EACH == 0 else ":detect_leaks=0"
        child = subprocess.Popen([self.bins + "/" + words[0], *words[1:]], stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=err, cwd=self.top + "/cwd",
                                 env=dict(os.environ, NO_COLOR="1", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + leaks))
        signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except Late:
            child.kill()
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        child.returncode = 0
        out.seek(0)
        err.seek(0)
        with out, err:
            return os.waitstatus_to_exitcode(status), out.read(), err.read(), usage

    def judge(self, words, what, reason):
        """(status, the output) after all judges that look at one run."""
        before = tree(self.top + "/watched")
        status, out, err, usage = self.run(words)
        kind = " ".join([words[0]] + [w for w in words[1:2] if words[0] in ("ovni-pallas", "ovni-loom", "ovni-report") and w[0] not in "-/"])
        problems = []
        self.runs += 1
        self.status[kind, status] += 1
        self.most[kind] = max(self.most[kind], usage.ru_maxrss >> 10)
        text = out + err
        if status not in (0, 1, 2, 3) or b"Sanitizer" in err or b"runtime error" in err:
            problems.append("status %d" % status)
        if status == 2:
            problems.append("usage")
        if usage.ru_utime + usage.ru_stime > CPU_SECONDS:
            problems.append("%.1f s of CPU time" % (usage.ru_utime + usage.ru_stime))
        # a child begins with the pages of this program
        if usage.ru_maxrss << 10 > MEMORY and usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
            problems.append("%d MiB" % (usage.ru_maxrss >> 10))
        if len(text) > OUTPUT or sum(os.lstat(f).st_size for f in glob.glob(self.top + "/out*/**", recursive=True)) > OUTPUT:
            problems.append("too much output")
        for line in text.split(b"\n"):
            plain = line.decode("utf-8", "surrogateescape")
            if any((c < " " and c != "\t") or "\x7f" <= c <= "\x9f" or "\udc80" <= c <= "\udcff" for c in plain) or \
                    line.startswith(b"FORGED"):
                problems.append("prints %r" % line[:200])
                break
        errors = sum(b"error: " in line for line in err.split(b"\n"))
        # these look at each file, or have one error that stands for others
        several = words[0] in ("ovni-check", "ovni-info") or words[:2] in (["ovni-pallas", "check"], ["ovni-sort", "-c"]) or \
            words[0] == "ovni-loom" or "--tolerant" in words or b"end" in err or b"task types" in err
        if (status == 1 and not text) or (status == 1 and not errors and not several):
            problems.append("fails without an error")
        # a damaged file of stacks: the overview prints all but the places of sleeps, and may find other damage
        several = several or (words[0] == "ovni-report" and errors == 2 and b"/stacks: " in err)
        if errors and (b'"complete": true' in text or b"  nothing lost" in text):
            problems.append("a damaged trace looks complete")
        if (errors > 1 and not several) or (errors and status in (0, 3) and words[0] != "ovni-check" and "--tolerant" not in words):
            problems.append("%d errors, status %d" % (errors, status))
        if tree(self.top + "/watched") != before and words[0] != "ovni-sort" and "--in-place" not in words:
            problems.append("changed a file")
        if reason and status == 0:
            problems.append("calls it complete, but: " + reason)
        for problem in problems:
            self.wrong.append("%s: %s: %s\n%s" % (what, " ".join(words), problem, text[-3000:].decode("utf-8", "replace")))
        return status, text


def no_evidence(words):
    """Programs that say nothing of completeness: they read no streams, or do as the reference does."""
    return "counters" in words or "--compat" in words


def attempt(runner, number_, sources, runs):
    random.seed(number_)
    top = runner.top
    for name in ("watched", "cwd"):
        shutil.rmtree(top + "/" + name, ignore_errors=True)
    for path in glob.glob(top + "/out*"):
        (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
    os.makedirs(top + "/watched")
    os.mkdir(top + "/cwd")
    source = pick(pick(sources))
    kind = os.path.basename(source).split(".")[0]
    given = top + "/watched/in"
    if kind == "elf":
        shutil.copy(source, given)
    else:
        shutil.copytree(source, given, symlinks=True)
    how = damage(kind, given)
    what = "SEED=%d: %s of %s" % (number_, how, os.path.basename(source))
    reason = lacks(given) if kind == "whole" else None
    traces, verdict, said = kind in ("trace", "whole"), None, b""
    if traces and number_ % 2 == 0:  # the others only have the judges of one run
        verdict, said = runner.judge(["ovni-check", "-q", given], what, reason)
    for i, template in enumerate(random.sample(PROGRAMS[kind], min(runs, len(PROGRAMS[kind])))):
        out = "%s/out%d" % (top, i)
        names = {"IN": given, "OUT": out, "OUT.stats.json": out + ".stats.json", "FILE": next(iter(sorted(glob.glob(given + "/*stats*"))), given),
                 "KERNEL": os.environ.get("KERNEL", given), "PROGRAM": os.environ.get("PROGRAM", given)}
        words = [names.get(w, given + w[2:] if kind == "elf" and w[:3] == "IN:" else w) for w in template]
        alone = not no_evidence(words)
        status, text = runner.judge(words, what, reason if alone else None)
        if not traces or not alone:
            continue
        if verdict == 3 and status == 0:
            runner.wrong.append("%s: %s: complete, but ovni-check: %s" % (what, " ".join(words), said.decode("utf-8", "replace")))
        if verdict == 0 and status == 3 and b"incomplete" in text and "-d" not in words and words[0] not in ("ovni-merge",):
            runner.wrong.append("%s: %s: incomplete, but ovni-check is content: %s" % (what, " ".join(words), text[-500:].decode("utf-8", "replace")))
        if status in (0, 3) and words[0] in ("ovni-cut", "ovni-merge", "ovni-check", "ovni-convert") and os.path.isdir(out):
            made, text = runner.judge(["ovni-check", "-q", out], what + ", its output", None)
            if made == 0 and status == 3 or ("--repair" in words and made not in (0, 3)):
                runner.wrong.append("%s: %s: status %d, but ovni-check of its output %d\n%s" % (
                    what, " ".join(words), status, made, text.decode("utf-8", "replace")))
        if "--in-place" in words or words[0] == "ovni-sort":
            break  # another trace now
    return how


def main(bins, top, *sources):
    signal.signal(signal.SIGALRM, late)
    os.environ["TMPDIR"] = top + "/watched"
    sources = [[s for s in each.split(",") if s] for each in sources]
    runner, kinds = Runner(bins, top), collections.Counter()
    most, seconds = int(os.environ.get("MUTATIONS") or 0), float(os.environ.get("FUZZ_SECONDS") or 10)
    first, runs, start, n = int(os.environ.get("SEED") or 1), int(os.environ.get("RUNS") or 1), time.monotonic(), 0
    said = 0
    while (n < most if most else time.monotonic() - start < seconds) and len(runner.wrong) < 20:
        how = attempt(runner, first + n, sources, runs)
        kinds.update(how.split("+"))
        n += 1
        for wrong in runner.wrong[said:]:
            print("wrong:", wrong, flush=True)
        said = len(runner.wrong)
        if n % 1000 == 0:
            print("%d: %d runs, %d wrong" % (n, runner.runs, len(runner.wrong)), flush=True)
    for program in sorted(runner.most):
        print("%-20s %6d runs, %4d MiB; %s" % (program, sum(c for (p, _), c in runner.status.items() if p == program), runner.most[program],
              ", ".join("status %d: %d" % (s, c) for (p, s), c in sorted(runner.status.items()) if p == program)))
    print(", ".join("%s: %d" % k for k in sorted(kinds.items())))
    print("%d damaged inputs from SEED=%d on, %d runs, %d wrong" % (n, first, runner.runs, len(runner.wrong)))
    return bool(runner.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
