#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Many streams with few descriptors and little memory (job.md 5): of jobs of 4,096 and 12,288 threads, with 256
# descriptors, each thread more takes what the limit leaves to each of 64,000: 4 KiB, and its part of 64 MB. Opened streams, mappings and memory
# do not depend on the machine; `make bench` measures the times (tests/bench/job.sh). Most of those is for opening files: each program opens
# the two files of a stream once, ovni-check twice, since it also runs the emulator.
set -eu
cd "$T"
few=4096 many=12288
for n in $few $many; do "$B/tests/bench/generate" job $((n * 42)) $n $n >/dev/null; done
cat >run.py <<'E'
import ctypes, os, resource, struct, sys
B, few, many = os.environ["B"], int(sys.argv[1]), int(sys.argv[2])
san = "__asan" in os.popen("nm %s/libovni-trace.a 2>/dev/null" % B).read()
LIMIT = 4096 + 64 * 10**6 // 64000  # bytes for a thread
LOOM_LIMIT = 1500  # of the reports that read one loom after the other: no events, no state of a walk
wrong = []


libc = ctypes.CDLL(None, use_errno=True)
OPEN, CLOSE = 0x20, 0x18


def opened(command, trace):
    """How often it opens the files of a stream. inotify gives equal events in a row once: it counts closes, too, which stand between the opens."""
    fd = libc.inotify_init1(os.O_NONBLOCK)
    for name in "stream.json", "stream.obs":
        assert libc.inotify_add_watch(fd, os.fsencode(trace + "/loom.n0003/proc.1000/thread.1005/" + name), OPEN | CLOSE) > 0, ctypes.get_errno()
    memory(command, trace)
    events = os.read(fd, 65536)
    os.close(fd)
    size = struct.calcsize("iIII")
    return sum(bool(struct.unpack_from("iIII", events, at)[1] & OPEN) for at in range(0, len(events), size))


def memory(command, trace):
    os.system("rm -rf out")
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1), os.dup2(log, 2)
        os.environ["MALLOC_ARENA_MAX"] = "1"
        os.execv(B + "/bin/" + command[0], [*command, trace])
    _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status):
        wrong.append("%s: status %d: %s" % (" ".join(command), os.waitstatus_to_exitcode(status), open("log").read()))
    return used.ru_maxrss * 1024


for command in (["ovni-emu", "-q", "-j", "1", "-o", "out"], ["ovni-check"], ["ovni-report", "latency"], ["ovni-report", "preempt"],
                ["ovni-report", "efficiency"], ["ovni-report", "wake"], ["ovni-report", "cpu"], ["ovni-report", "why"],
                ["ovni-report", "overview"], ["ovni-info"], ["ovni-view", "-q", "-o", "out"]):
    a, b = memory(command, str(few)), memory(command, str(many))
    each = (b - a) / (many - few)
    print("%-24s %6.1f and %6.1f MiB: %5.0f bytes for a thread" % (" ".join(command[:2]), a / 2**20, b / 2**20, each))
    limit = LOOM_LIMIT if command[-1] in ("latency", "preempt") else LIMIT
    if not san and each > limit:
        wrong.append("%s takes %.0f bytes for a thread, not %d" % (" ".join(command), each, limit))
    opens, most = opened(command, str(few)), 4 if command[0] == "ovni-check" else 2
    if opens != most:
        wrong.append("%s opens the files of a stream %d times, not %d" % (" ".join(command), opens, most))
print(*wrong, sep="\n")
sys.exit(len(wrong) > 0)
E
PYTHONDONTWRITEBYTECODE=1 python3 run.py $few $many
