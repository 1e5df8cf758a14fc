#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Damaged Loom runs and damaged traces of them: import and export end with a clear error, or with
# valid output. Each imported trace passes the strict emulation; each exported run is readable by
# the check. Runs the sanitized build if there is one, for FUZZ_SECONDS; seeds from SEED on (1); a failure names its seed.
# long: other fuzzers cover the promises
set -eu
export PYTHONDONTWRITEBYTECODE=1
bin=$B/bin
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-loom" ] && bin=$BSAN/bin
python3 "$S/tests/golden/loom_make.py" "$T/own"
python3 "$S/tests/golden/loom_schedule.py" "$T/host"
cat >"$T/mutate.py" <<'END'
import glob, os, random, shutil, struct, subprocess, sys, time

binary, top, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
scratch = top + "/scratch"
runs = sorted(glob.glob(top + "/own/*.trace.bin"))


def run(name, *argv, statuses=(0, 1)):
    done = subprocess.run([binary + "/ovni-" + name, *argv], capture_output=True, timeout=60)
    if done.returncode not in statuses:
        sys.exit("seed %d: ovni-%s %s: status %d\n%s" % (
            seed, name, " ".join(argv), done.returncode, done.stderr.decode(errors="replace")))
    if done.returncode == 1 and argv[0] in ("import", "export") and not done.stderr:
        sys.exit("seed %d: ovni-%s %s: fails in silence" % (seed, name, " ".join(argv)))
    return done.returncode


def damage(path):
    data = bytearray(open(path, "rb").read())
    for _ in range(random.choice((1, 1, 2, 5))):
        at, what = random.randrange(len(data) + 1), random.randrange(6)
        if what == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif what == 1:
            data[at:at + 8] = random.choice((b"\0" * 8, b"\xff" * 8, struct.pack("<Q", 2 ** 63),
                                             struct.pack("<Q", random.getrandbits(random.randrange(64)))))
        elif what == 2:
            del data[at:at + random.choice((1, 12, 24, 38))]
        elif what == 3:  # a record, or an event, somewhere else
            size = random.choice((24, 38))
            data[at:at] = data[max(0, at - size):at]
        elif what == 4 and len(data) > 90:  # two records change their places
            n = (len(data) - 16) // 38
            i, k = random.randrange(n), random.randrange(n)
            one, two = 16 + 38 * i, 16 + 38 * k
            data[one:one + 38], data[two:two + 38] = data[two:two + 38], data[one:one + 38]
        elif at < len(data):  # another kind, core or node
            data[at] = random.randrange(10)
    open(path, "wb").write(data)


end, seed, turns, made = time.time() + seconds, int(os.environ.get("SEED") or 1), 0, 0
first = seed
while time.time() < end:
    random.seed(seed)
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    source, trace, back = scratch + "/run.trace.bin", scratch + "/trace", scratch + "/back"
    if random.randrange(5) == 0:
        shutil.copytree(top + "/host", trace)
    else:
        chosen = random.choice(runs)
        shutil.copy(chosen, source)
        if os.path.exists(chosen[:-9] + "perf.json"):
            shutil.copy(chosen[:-9] + "perf.json", scratch + "/run.perf.json")
        if random.randrange(3):
            damage(source)
        options = random.choice(([], ["--style", "edge"], ["--style", "span"], ["--lanes"], ["--no-chain"], ["--no-keep"],
                                 ["--clock-period", "333ps"], ["--base", "1s"], ["--layout", "packed38"]))
        run("loom", "import", scratch + "/run", "-o", trace, *options, statuses=(0, 1, 3))
        if os.path.isdir(trace):
            files = glob.glob(trace + "/**/stream.json", recursive=True)
            if files and all(b'"finished"' in open(f, "rb").read() for f in files):
                run("emu", "-l", trace, statuses=(0, 3))
                made += 1
    if os.path.isdir(trace):
        files = [f for f in glob.glob(trace + "/**/*", recursive=True)
                 if os.path.isfile(f) and "stream" in f or f.endswith((".bin", ".perf.json"))]
        if files and random.randrange(2):
            damage(random.choice(files))
        options = random.choice(([], ["--no-keep"], ["--layout", "natural48"], ["--sample", "1/2"],
                                 ["--kinds", "fire,start,done"], ["--clock-period", "7ns"]))
        if run("loom", "export", trace, "-o", back, *options, statuses=(0, 1, 3)) != 1:
            run("loom", "check", back, statuses=(0, 1, 3))
    seed += 1
    turns += 1
print("%d runs from seed %d, %d traces emulated" % (turns, first, made))
END
python3 "$T/mutate.py" "$bin" "$T" "${FUZZ_SECONDS:-20}"
