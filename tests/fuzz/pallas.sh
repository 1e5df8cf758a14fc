#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No damage to a Pallas archive crashes a command or makes it run for ever: the annotated archive,
# one of our own, and the conformance vectors, with random bytes changed, cut out, put in, files
# swapped. Runs the sanitized build if there is one, for FUZZ_SECONDS; seeds from SEED on (1); a failure names its seed.
# long: other fuzzers cover the promises
set -eu
bin=$B/bin
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-pallas" ] && bin=$BSAN/bin
mkdir "$T/sources"
"$S/tests/golden/pallas_tiny.py" "$T/sources/tiny"
"$S/tests/golden/emu_make.py" "$S/tests/golden/emu/bpf.txt" "$T/trace"
"$B/bin/ovni-pallas" export "$T/trace" "$T/sources/ours" 2>/dev/null
"$B/bin/ovni-pallas" export --level none --masking "$T/trace" "$T/sources/masked" 2>/dev/null
for vector in "$CONFORMANCE"/pallas/*/; do
	[ -d "$vector/archive" ] && cp -R "$vector/archive" "$T/sources/$(basename "$vector")"
done
chmod -R u+w "$T/sources"
cat >"$T/mutate.py" <<'END'
import glob, os, random, shutil, subprocess, sys, time
program, top, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
sources = sorted(glob.glob(top + "/sources/*"))
commands = [["print"], ["print", "-T", "--memory", "1M"], ["print", "--tsv"], ["print", "--attributes"],
            ["info", "--definitions"], ["info", "--grammar"], ["stats"], ["stats", "--tsv"],
            ["stats", "--loops"], ["stats", "--sequences"], ["check"], ["import"],
            ["print", "--from", "+100ns", "--to", "+2us", "--region", "*"], ["stats", "--from", "1150"], ["stats", "--thread", "0", "--to", "+5us"]]
words = [b"\0" * 8, b"\xff" * 8, b"\xff" * 4, b"\xfc\xff\xff\xff", (1 << 32).to_bytes(8, "little"),
         (1 << 61).to_bytes(8, "little"), (1 << 63).to_bytes(8, "little"), b"\1\0\0\0\0\0\0\0",
         b"\2\0\0\0", b"\3\0\0\0", b"\x80", b"\x7f", b"\x28\xb5\x2f\xfd"]

def change(path):
    data = bytearray(open(path, "rb").read())
    for _ in range(random.choice((1, 1, 1, 1, 2, 5, 20))):
        at = random.randrange(len(data) + 1)
        kind = random.randrange(7)
        word = random.choice(words)
        if kind <= 2:
            data[at:at + len(word)] = word
        elif kind == 3 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif kind == 4:
            del data[at:at + random.choice((1, 4, 8, 40, 1000))]
        elif kind == 5:
            data[at:at] = random.choice((word, data[at:at + 40]))
        elif len(data) >= 8:
            other = random.randrange(len(data) - 7)
            data[at:at + 8] = data[other:other + 8]
    open(path, "wb").write(data)

end, seed, runs = time.time() + seconds, int(os.environ.get("SEED") or 1), 0
first = seed
while time.time() < end:
    random.seed(seed)
    shutil.rmtree(top + "/a", ignore_errors=True)
    shutil.rmtree(top + "/out", ignore_errors=True)
    shutil.copytree(random.choice(sources), top + "/a")
    files = sorted(f for f in glob.glob(top + "/a/**", recursive=True) if os.path.isfile(f))
    grammar = [f for f in files if f.endswith("thread.pallas")]
    for _ in range(random.choice((1, 1, 2))):
        change(random.choice(random.choice((files, grammar))))
    for command in random.sample(commands, 4):
        line = [program] + command + [top + "/a"] + ([top + "/out"] if command[0] == "import" else [])
        try:
            got = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        except subprocess.TimeoutExpired:
            sys.exit("SEED=%d: %s does not end" % (seed, " ".join(line)))
        left_out = b"; the thread is left out" in got.stderr
        if got.returncode not in ((1, 3) if left_out else (0, 1)) or b"Sanitizer" in got.stderr or b"runtime error" in got.stderr:
            sys.stderr.buffer.write(got.stderr[-4000:])
            sys.exit("SEED=%d: %s ends with %d" % (seed, " ".join(line), got.returncode))
        runs += 1
    seed += 1
print("%d runs from seed %d on" % (runs, first))
END
exec python3 "$T/mutate.py" "$bin/ovni-pallas" "$T" "$FUZZ_SECONDS"
