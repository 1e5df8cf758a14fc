#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No damage to a run of Loom or a mapping of its nodes crashes a command or makes it run for ever: our own runs and the
# conformance vectors, with bytes changed, cut out, put in, numbers blown up. Runs the sanitized build if there is one,
# for FUZZ_SECONDS; seeds from SEED on (1); a failure names its seed.
# long: other fuzzers cover the promises
set -eu
bin=$B/bin
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-loom" ] && bin=$BSAN/bin
mkdir "$T/sources"
cp -R "$S"/tests/golden/loom/* "$T/sources"
for vector in "$CONFORMANCE"/loom/*/; do
	cp -R "$vector" "$T/sources/vector-$(basename "$vector")"
done
chmod -R u+w "$T/sources"
cat >"$T/mutate.py" <<'END'
import glob, os, random, re, shutil, subprocess, sys, time
program, top, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
sources = sorted(glob.glob(top + "/sources/*"))
commands = [["check"], ["check", "--json", "--all"], ["check", "--chain", "--style", "edge"],
            ["check", "--style", "span"], ["dump"], ["dump", "--layout", "natural48"], ["dump", "--apply-ids"],
            ["dump", "--sample", "1/3", "--kinds", "fire,route", "--nodes", "1,0:2"], ["stats"],
            ["stats", "--json"], ["stats", "--by", "node", "--window", "run"], ["stats", "--by", "core"],
            ["import"]]
mappings = ["".join("%d %d %d %d 0=%d\n" % (core, node, node % 3 - 1, node // 3, (node + 1) % 10) for core in (0, 1, 7) for node in range(10)),
            '{"version": 1, "components": [%s], "routes": [%s]}' % (
                ", ".join('{"name": "%s", "center_x": %d.5, "center_y": -%d, "width": 50}' % (name, 10 * i, i)
                          for i, name in enumerate(("module_in", "fifo_0", "sw_0", "fifo_1", "module_out"))),
                ", ".join('{"from": "%s", "to": "%s", "to_port": %d, "points": [{"x": 1}]}' % (a, b, port)
                          for a, b, port in (("fifo_0", "sw_0", 0), ("sw_0", "fifo_1", 0), ("sw_0", "module_out", 255))))]
words = [b"\0" * 8, b"\xff" * 8, b"\xff" * 4, b"\x80", b"\x7f", b"\1\0\0\0\0\0\0\0", b"\5\0", b"\6\0",
         (1 << 63).to_bytes(8, "little"), (1 << 32).to_bytes(8, "little"), b"LTRC\1\0\0\0", b"{", b"}", b"[", b"]",
         b'"', b",", b":", b"\\u0000", b"\\ud800", b"null", b"-1", b"1e999", b"0.5", b"18446744073709551615",
         b"18446744073709551616", b"99999999999999999999999999", b"true", b'"schema"', b"[" * 100, b"/*", b"\n"]


def change(path):
    data = bytearray(open(path, "rb").read())
    for _ in range(random.choice((1, 1, 1, 1, 2, 5, 20))):
        at = random.randrange(len(data) + 1)
        kind = random.randrange(8)
        word = random.choice(words)
        if kind <= 1:
            data[at:at + len(word)] = word
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif kind == 3:
            del data[at:at + random.choice((1, 4, 8, 38, 48, 1000))]
        elif kind == 4:
            data[at:at] = random.choice((word, data[at:at + 38], data[at:at + 300]))
        elif kind == 5 and len(data) >= 8:
            other = random.randrange(len(data) - 7)
            data[at:at + 8] = data[other:other + 8]
        else:  # a number of a document
            numbers = list(re.finditer(rb"\d+", bytes(data)))
            if numbers:
                found = random.choice(numbers)
                data[found.start():found.end()] = random.choice(words[-18:])
    open(path, "wb").write(data)


end, seed, runs = time.time() + seconds, int(os.environ.get("SEED") or 1), 0
first = seed
while time.time() < end:
    random.seed(seed)
    for made in ("/run", "/out"):
        shutil.rmtree(top + made, ignore_errors=True)
    shutil.copytree(random.choice(sources), top + "/run")
    files = sorted(f for f in glob.glob(top + "/run/*")
                   if not re.search(r"expected|options|README", os.path.basename(f)))
    for _ in range(random.choice((1, 1, 2))):
        change(random.choice(files))
    with open(top + "/map", "w") as file:
        file.write(random.choice(mappings))
    if random.randrange(2):
        change(top + "/map")
    for command in random.sample(commands, 4):
        line = [program] + command + [random.choice([top + "/run"] + files)]
        line += ["-o", top + "/out", "--map", top + "/map"] if command[0] == "import" else []
        try:
            got = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
        except subprocess.TimeoutExpired:
            sys.exit("SEED=%d: %s does not end" % (seed, " ".join(line)))
        if got.returncode not in (0, 1, 3) or b"Sanitizer" in got.stderr or b"runtime error" in got.stderr:
            sys.stderr.buffer.write(got.stderr[-4000:])
            sys.exit("SEED=%d: %s ends with %d" % (seed, " ".join(line), got.returncode))
        if got.returncode == 1 and not got.stderr and command[0] not in ("check",):
            sys.exit("SEED=%d: %s fails without a word" % (seed, " ".join(line)))
        runs += 1
    seed += 1
print("%d runs from seed %d on" % (runs, first))
END
exec python3 "$T/mutate.py" "$bin/ovni-loom" "$T" "$FUZZ_SECONDS"
