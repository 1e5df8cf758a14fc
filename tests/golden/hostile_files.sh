#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Untrusted traces: each file, and each directory, of a trace is in turn a link (to a secret, to
# /dev/zero, to a good copy outside, to nothing), a FIFO, a device, a socket, a directory, empty, of 2 TiB, or followed by a hole of 1 TiB.
# Every program that reads it ends within seconds with status 1 or 3 and a sentence, shows nothing of
# the secret, writes little, and leaves the file and the secret alone. A path that the user names may be a link.
# Where the kernel refuses openat2(), as old filters of containers do, nothing is followed either.
# longer: all pairs of a file and a program; else every fourth, so that each kind meets each program
set -eu
exec python3 - "$B/bin" "$S/tests/golden/tools_make.py" "$CONFORMANCE" "$T" <<'END'
import collections, ctypes, errno, concurrent.futures, fnmatch, json, os, shutil, socket, stat, struct, subprocess, sys
bins, make, vectors, top = sys.argv[1:]
SECRET = "root:$6$Pxq7SecretOfTheHost:19000:0:99999:7:::"
MOST = 8 << 20       # bytes that one run may write
EMPTY = b"is empty", b"this is not JSON", b"shorter than", b"the file ends", b"not inside the file", b"not finished"
ZEROS = b"zeros", b"do not fit", b"whole", b"too large", b"bytes cut"
SECONDS = 20         # that one run may take, on a busy machine; it takes milliseconds
wrong = []
libc = ctypes.CDLL(None)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def refuse_openat2(error):
    """From now on the kernel refuses openat2() to this process, with this errno."""
    # load the number of the call; is it openat2 (on all machines)? if so return errno, else allow
    steps = ((0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7fff0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
    # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP with SECCOMP_MODE_FILTER
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        os._exit(99)


def run(*words, refused=0):
    """(status, standard output, standard error); the status is None if it had to be ended."""
    # a shell sets the limit: to run Python in the child takes far longer
    limit = ["/bin/sh", "-c", 'ulimit -f %d && exec "$@"' % (MOST >> 9), "sh"]
    try:
        done = subprocess.run([*limit, bins + "/" + words[0], *words[1:]], capture_output=True, cwd=top, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, preexec_fn=(lambda: refuse_openat2(refused)) if refused else None)
    except subprocess.TimeoutExpired as late:
        return None, late.stdout or b"", late.stderr or b""
    return done.returncode, done.stdout, done.stderr


def made(name, text):
    subprocess.run([sys.executable, make, top + "/" + name], check=True, text=True, input=text)


def inputs():
    """The traces, runs and archives, all good."""
    made("trace", """
thread n 1 1 bpf.events="5" bpf.name="w" bpf.session.t0="1000" bpf.session.t1="2000" bpf.session.lost="0"
1000 OHx i32:0 i32:-1 u64:0
1400 OHp u16:1 i32:0
1800 OHw i32:-2
1900 OHr
2000 OHe
""")
    line = {"clock": 2000, "scope": "run", "total_ns": 1000, "active_ns": 501, "runnable_ns": 99, "throttled_ns": 0,
            "blocked_ns": 400, "unknown_ns": 0, "switches_voluntary": 1, "switches_preempted": 0,
            "yields": 0, "wakeups": 1, "migrations": 0, "calls": 0}
    write(top + "/trace/stats.json", json.dumps({
        "schema": "ovni-bpf-stats", "version": 1, "mode": "full",
        "window": {"first_cycle": 1000, "end_cycle": 2000, "total_cycles": 1000},
        "events": {"seen": 5, "written": 5, "filtered": 0, "sampled_out": 0, "dropped": 0},
        "recorder": {"cpu_ns": 1, "peak_rss_bytes": 4096},
        "snapshots": [line | {"threads": 1, "window_ns": 1000, "cpus": 1, "cpu_active_ns": 501},
                      line | {"scope": "thread", "tid": 1, "pid": 1, "comm": "w"}]}))
    write(top + "/trace/clock-offsets.txt", "rank hostname offset_median offset_mean offset_std\n0 n 0 0 0\n")
    made("program", "thread h.1 1 1\n1000 OHx i32:0 i32:-1 u64:0\n9000 OHe\n")
    made("kernel", """
thread h 1 1 bpf.name="solver" ovni.require={"ovni":"1.1.0","kernel":"1.0.0"}
900 KCI i32:0
950 OHx i32:-1 i32:-1 u64:0
990 KCO u16:1 i32:0
995 KCI i32:0
9600 OHe
""")
    first = top + "/first/loom.n1/proc.5/"
    write(first + "metadata.json", '{"version": 1, "app_id": 3, "cpus": [{"index": 0, "phyid": 4}]}')
    write(first + "thread.7", open(top + "/trace/loom.n/proc.1/thread.1/stream.obs", "rb").read()[8:])
    shutil.copy(top + "/trace/clock-offsets.txt", top + "/first")
    shutil.copytree(vectors + "/loom/single-core", top + "/loom", ignore=lambda _, names: [
        n for n in names if not n.startswith("run.")])
    for words in (("ovni-pallas", "export", "trace", "pallas"),
                  ("ovni-loom", "import", "-o", "imported", "loom")):
        status, out, err = run(*words)
        assert status == 0, (words, status, out, err)


# Arguments (IN: the input, OUT: a new directory), the input, the files that it must refuse.
BASIC = "stream.json stream.obs"
PROGRAMS = [
    ("ovni-check IN", "trace", BASIC + " stats.json clock-offsets.txt"),
    ("ovni-check --repair -o OUT IN", "trace", BASIC + " clock-offsets.txt"),
    ("ovni-convert --modernise -o OUT IN", "trace", BASIC + " clock-offsets.txt"),
    ("ovni-convert -o OUT IN", "first", "metadata.json thread.* clock-offsets.txt"),
    ("ovni-cut --from 1000 --to 1900 -o OUT IN", "trace", BASIC),
    ("ovni-dump IN", "trace", BASIC),
    ("ovni-emu -o OUT IN", "trace", BASIC + " clock-offsets.txt"),
    ("ovni-emu --tolerant -l -o OUT IN", "trace", BASIC + " clock-offsets.txt"),
    ("ovni-info IN", "trace", "stream.json"),
    ("ovni-loom check IN", "loom", "run.*"),
    ("ovni-loom dump IN", "loom", "run.*"),
    ("ovni-loom stats IN", "loom", "run.*"),
    ("ovni-loom import -o OUT IN", "loom", "run.*"),
    ("ovni-loom export -o OUT IN", "imported", "stream.json run.*"),
    ("ovni-merge -o OUT IN kernel", "program", BASIC),
    ("ovni-merge -o OUT program IN", "kernel", BASIC),
    ("ovni-pallas check IN", "pallas", "*.pallas"),
    ("ovni-pallas export IN OUT", "trace", BASIC),
    ("ovni-pallas import IN OUT", "pallas", "*.pallas event_*.dat"),
    ("ovni-pallas info IN", "pallas", "*.pallas"),
    ("ovni-pallas print IN", "pallas", "*.pallas"),
    ("ovni-pallas stats IN", "pallas", "*.pallas"),
    ("ovni-report IN", "trace", BASIC),
    ("ovni-report counters IN", "trace", "stats.json"),
    ("ovni-report latency IN", "trace", BASIC),
    ("ovni-sort IN", "trace", BASIC),
    ("ovni-sort -c IN", "trace", BASIC),
    ("ovni-top IN", "trace", BASIC),
    ("ovni-view -o OUT IN", "trace", BASIC),
    ("ovni-export --perfetto -o OUT IN", "trace", BASIC),
    ("ovni-export --sqlite -o OUT IN", "trace", BASIC),
    ("ovni-export --chrome -o OUT IN", "trace", BASIC),
]


def plant(kind, path, good):
    """Makes `path`, whose good copy is at `good`, hostile. False: that needs root."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif kind not in ("huge", "sparse"):
        os.unlink(path)
    if kind == "secret":
        os.symlink(top + "/secret", path)
    elif kind == "zero":
        os.symlink("/dev/zero", path)
    elif kind == "copy":
        os.symlink(good, path)
    elif kind == "dangling":
        os.symlink("nowhere", path)
    elif kind == "socket":
        at = os.open(os.path.dirname(path), os.O_RDONLY)  # the path may be too long for an address
        socket.socket(socket.AF_UNIX).bind("/proc/self/fd/%d/%s" % (at, os.path.basename(path)))
        os.close(at)
    elif kind == "empty":
        write(path, "")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
        except PermissionError:
            return False
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "huge":
        os.truncate(path, 2 << 40)
    elif kind == "sparse":
        os.truncate(path, 1 << 40)  # the limit: zeros behind the good bytes, which take no place on the disk
    return True


def tree(folder):
    """Bytes on disk, and all contents, below a directory."""
    size, text = 0, b""
    for at, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            st = os.lstat(path)
            size += st.st_blocks * 512
            if stat.S_ISREG(st.st_mode) and st.st_size < MOST:
                text += open(path, "rb").read()
    return size, text


def attempt(number, words, source, refused, kind, name, openat2=0):
    here, good = "%s/try/%d" % (top, number), "%s/%s/%s" % (top, source, name)
    given, out = here + "/in", here + "/out"
    shutil.copytree(top + "/" + source, given)
    path, what = given + "/" + name, "%s, %s is %s" % (words, name, kind) + (", no openat2()" if openat2 else "")
    if not plant(kind, path, good):
        return "skipped"
    before = os.lstat(path)
    status, said, errors = run(*[{"IN": given, "OUT": out}.get(w, w) for w in words.split()], refused=openat2)
    after, said, (size, written) = os.lstat(path), said + errors, tree(out)
    if status is None:
        wrong.append(what + ": does not end")
    elif status not in (0, 1, 3) or (refused and status == 0):
        wrong.append("%s: status %d\n%s" % (what, status, said[-300:].decode(errors="replace")))
    elif refused and not any(w in said for w in (b"link", b"regular", b"TiB", b"MiB", b"GiB") + EMPTY * (kind == "empty") + ZEROS * (kind == "sparse")):
        wrong.append("%s: no reason given\n%s" % (what, said[-300:].decode(errors="replace")))
    elif said.count(b"error: ") > 2 + refused:
        wrong.append("%s: several sentences\n%s" % (what, said[-900:].decode(errors="replace")))
    if SECRET.encode() in said + written or b"SecretOfTheHost" in said + written:
        wrong.append(what + ": the secret is out")
    if size > MOST:
        wrong.append("%s: wrote %d bytes" % (what, size))
    if (before.st_mode, before.st_ino, before.st_size) != (after.st_mode, after.st_ino, after.st_size):
        wrong.append(what + ": the file was changed")
    shutil.rmtree(here)
    return status


def attempts():
    for words, source, must in PROGRAMS:
        folder = top + "/" + source
        for at, folders, names in os.walk(folder):
            for name in sorted(names):
                refused = any(fnmatch.fnmatch(name, m) for m in must.split())
                for kind in ("secret", "zero", "copy", "dangling", "fifo", "device", "socket", "directory", "empty", "huge", "sparse"):
                    # a directory beside a run is another thing, such as the trace made from it
                    must_refuse = refused and (source, kind) != ("loom", "directory")
                    # what is not needed is not read: events behind the window, durations without an event, statistics of a listing
                    if kind == "sparse" and ("cut" in words or name == "event_durations.dat" or "dump" in words and name == "run.perf.json"):
                        must_refuse = False
                    # an empty one is copied as it is, and the output refused
                    if kind == "empty" and name == "clock-offsets.txt" and ("convert" in words or "--repair" in words):
                        must_refuse = False
                    case = words, source, must_refuse, kind, os.path.relpath(os.path.join(at, name), folder)
                    yield case
                    if kind in ("secret", "copy"):
                        yield *case, errno.ENOSYS if kind == "copy" else errno.EPERM
            for name in folders:
                # a link to the good directory outside, which would work
                below = [n for _, _, held in os.walk(os.path.join(at, name)) for n in held]
                refused = any(fnmatch.fnmatch(n, m) for n in below for m in must.split())
                for openat2 in 0, errno.ENOSYS:
                    yield words, source, refused, "copy", os.path.relpath(os.path.join(at, name), folder), openat2


write(top + "/secret", SECRET + "\n")
inputs()
for words, source, _ in PROGRAMS:  # with good files all is well
    for openat2 in 0, errno.EPERM, errno.ENOSYS:
        shutil.copytree(top + "/" + source, top + "/good/in")
        status, said, errors = run(*[{"IN": "good/in", "OUT": "good/out"}.get(w, w) for w in words.split()], refused=openat2)
        if status != 0:
            wrong.append("%s: status %s for the good one, openat2: %s\n%s" % (words, status, openat2, (said + errors).decode()))
        shutil.rmtree(top + "/good")

with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
    # of four, which have no divisor in common with the 13 kinds of a file
    chosen = [(i, a) for i, a in enumerate(attempts()) if os.environ.get("LONG") or i % 4 == 0]
    done = list(pool.map(lambda a: attempt(a[0], *a[1]), chosen))

# A path that the user names may be a link.
for link, to in (("named", "trace"), ("named.offsets", "trace/clock-offsets.txt"), ("named.json", "trace/stats.json"),
                 ("named.pallas", "pallas"), ("named.loom", "loom")):
    os.symlink(top + "/" + to, top + "/" + link)
os.symlink(top + "/pallas/main.pallas", top + "/pallas/other.pallas")
for words in ("ovni-check named", "ovni-emu -o named.out -c named.offsets named", "ovni-report counters named.json",
              "ovni-pallas info named.pallas", "ovni-pallas info pallas/other.pallas", "ovni-loom check named.loom"):
    status, said, errors = run(*words.split())
    if status != 0:
        wrong.append("%s: status %s\n%s" % (words, status, (said + errors).decode()))
if open(top + "/secret").read() != SECRET + "\n":
    wrong.append("the secret was changed")
print(len(done), "attempts, by status", sorted(collections.Counter(map(str, done)).items()), len(wrong), "wrong")
print("\n".join(wrong[:40]))
sys.exit(bool(wrong))
END
