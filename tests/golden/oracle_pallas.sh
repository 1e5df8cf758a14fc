#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The tools of Pallas ($ORACLES) open the archives that `ovni-pallas export` makes of the traces in
# tests/golden/emu, and print the same events as `ovni-pallas print`; archives that the library of Pallas writes, too.
# long: needs programs of other projects
set -u
real=$ORACLES/pallas/pallas
[ -x "$real" ] || { echo "there is no pallas in $ORACLES"; exit 77; }
wrong=0 archives=0
complain() { echo "wrong: $*"; wrong=1; }

for text in "$S"/tests/golden/emu/*.txt; do
	name=$(basename "$text" .txt)
	rm -rf trace archive
	"$S/tests/golden/emu_make.py" "$text" trace || exit 1
	"$B/bin/ovni-pallas" export trace archive 2>/dev/null || continue
	archives=$((archives + 1))
	"$real" info archive/main.pallas >info 2>&1 || complain "$name: pallas info: $(tail -n 2 info)"
	"$real" print archive/main.pallas >theirs 2>said || complain "$name: pallas print: $(tail -n 2 said)"
	"$B/bin/ovni-pallas" print archive >ours 2>/dev/null
	[ "$(wc -l <theirs)" -gt 1 ] || complain "$name: pallas prints nothing"
	diff theirs ours >differences || complain "$name: other events: $(head -n 5 differences)"
done
# The records of the messages of an MPI program: the same as ours, and in number, bytes, tags and partners those of
# ovni-report messages and of the model that ran it.
PYTHONDONTWRITEBYTECODE=1 python3 - <<'E' || complain "messages of MPI"
import collections, json, os, re, subprocess, sys
sys.path.insert(0, os.environ["S"] + "/tests/golden")
import messages_model as model
run = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True).stdout
bin_, counts, text = os.environ["B"] + "/bin/", [0, 0, 0], ""
for seed in range(8):
    program, name = model.Program(seed, 4, 300, lambda rnd: True, lambda a, b: 0), "mpi%d" % seed
    model.write(name, program)
    run(bin_ + "ovni-pallas", "export", name, name + ".pallas")
    real = run(os.environ["ORACLES"] + "/pallas/pallas", "print", name + ".pallas/main.pallas")
    assert real == run(bin_ + "ovni-pallas", "print", name + ".pallas"), "the real one prints something else"
    sent, got = collections.Counter(), collections.Counter()
    for rank, kind, peer, tag, size in re.findall(r"thread (\d+) +MPI_(I?SEND|I?RECV)\((?:dest|src)=(\d+), comm=0, tag=(\d+), len=(\d+)", real):
        rank, peer = int(rank) - 10, int(peer)
        if "SEND" in kind:
            sent[rank, peer, int(tag), int(size)] += 1
        else:
            got[peer, rank, int(tag), int(size)] += 1
    pairs = [(s["rank"], s["peer"], s["tag"], s["bytes"], s["over"] or s["call"] == model.ISEND, r["over"]) for s, r in program.pairs]
    assert sent == collections.Counter(p[:4] for p in pairs if p[4]), (seed, "sends")
    assert got == collections.Counter(p[:4] for p in pairs if p[5]), (seed, "receives")
    sums = {}
    for a, b, _, size, *_ in pairs:
        n, total = sums.get((a, b), (0, 0))
        sums[a, b] = n + 1, total + size
    rows = {(row["from"], row["to"]): (row["messages"], row["bytes"]) for row in json.loads(run(bin_ + "ovni-report", "messages", "--json", name))}
    assert rows == sums, (seed, rows, sums)
    counts = [counts[0] + sum(sent.values()), counts[1] + sum(got.values()), counts[2] + len(pairs)]
    text += real
assert min(counts) > 100 and "MPI_ISEND_COMPLETE(req=" in text and "MPI_IRECV_REQUEST(req=" in text, counts
print("%d sends and %d receives of %d messages are those of the real program" % tuple(counts))
E
# Archives of the library of Pallas: the same events as its own program prints, and every call at its times. A thread
# that recorded nothing, at which its programs end, changes nothing.
for compression in None ZSTD; do
	rm -rf real empty
	"$S/tests/golden/pallas_real.py" "$(dirname "$real")/lib/libpallas.so" real $compression >calls || complain "the library of Pallas"
	"$real" print real/main.pallas >theirs 2>said || complain "real $compression: $(tail -n 2 said)"
	"$B/bin/ovni-pallas" print real >ours || complain "real $compression: status $?"
	[ "$(wc -l <theirs)" -gt 20000 ] && diff theirs ours >differences || complain "real $compression: other events: $(head -n 5 differences)"
	EMPTY=1 "$S/tests/golden/pallas_real.py" "$(dirname "$real")/lib/libpallas.so" empty $compression >/dev/null
	"$B/bin/ovni-pallas" print empty >ours 2>said || complain "empty $compression: $(cat said)"
	cmp theirs ours || complain "an empty thread changes the events"
	"$B/bin/ovni-pallas" stats empty | grep -q "'empty': 0 events" || complain "no empty thread in the statistics"
	archives=$((archives + 2))
done
# Lossy compressions: the durations of regions are those of the archive without loss, the events, too; times of ZFP are those that
# the real one prints, but for last elements of chunks, which we know exactly; those of a histogram are within its bound.
"$S/tests/golden/pallas_real.py" "$(dirname "$real")/lib/libpallas.so" exact >calls
"$B/bin/ovni-pallas" stats --sequences exact | awk '/^thread/ { t = $2 } $1 ~ /^[0-9]+$/ { print t, "S" $1, $3, $11 }' | sort >ours
"$real" info -t exact/main.pallas 2>/dev/null | awk '/^#Thread_name/ { t++ } /^S[0-9]/ { print t - 1, $1, $3, $NF }' | sort >theirs
[ "$(wc -l <theirs)" -gt 3000 ] && diff theirs ours >differences || complain "contention: $(head -n 5 differences)"
"$B/bin/ovni-pallas" stats exact >stats
python3 - <<'E' || complain "totals of regions"
import re
want, inner, checked = {}, set(), 0
for line in open("calls"):
    thread, region, start, end, where = line.split()
    want[thread, region] = want.get((thread, region), 0) + (int(end) - int(start) if where == "outer" else 0)
    if where == "inner":
        inner.add((thread, region))
for line in open("stats"):
    if m := re.match(r"thread .*'(\w+)'", line):
        thread = m[1]
    elif m := re.match(r" *(\d+)" + r" +(\d+)" * 7 + r" +stored +(\S+)", line):
        low, more, total = int(m[5]), int(m[6]), want[thread, m[9]]
        assert low <= total <= low + more, (thread, m[9], low, more, total)
        # the calls of a region that does not call itself are known but for the rounded means
        assert more < (total / 4 if (thread, m[9]) in inner else 5000), (thread, m[9], low, more, total)
        checked += 1
assert inner and checked == len(want) > 8, (inner, checked)
E
"$B/bin/ovni-pallas" stats exact >want.stats
"$B/bin/ovni-pallas" print --threads exact >want.print
for compression in Histogram ZSTD_Histogram ZFP; do
	rm -rf lossy
	"$S/tests/golden/pallas_real.py" "$(dirname "$real")/lib/libpallas.so" lossy $compression >/dev/null
	"$B/bin/ovni-pallas" stats lossy | diff want.stats - || complain "$compression: other statistics"
	"$B/bin/ovni-pallas" print --threads lossy >have.print 2>said || complain "$compression: $(cat said)"
	grep -q "times are approximate: the compression $compression" said || complain "$compression: not said"
	paste -d '\n' want.print have.print | python3 -c '
import sys
lines, ranges, worst = [line.split(None, 1) for line in sys.stdin], 255, 0
assert len(lines) > 50000 and all(a[1:] == b[1:] for a, b in zip(lines[::2], lines[1::2]))
times = [(int(a[0].replace(".", "")), int(b[0].replace(".", ""))) for a, b in zip(lines[::2], lines[1::2]) if len(a) > 1]
worst, span = max(abs(a - b) for a, b in times), max(a for a, _ in times)
print("'$compression': times are off by at most %d ns of %d" % (worst, span))
sys.exit(not 0 < worst <= (4 if "'$compression'" == "ZFP" else span // 255))' || complain "$compression: other events or times"
	[ $compression = ZFP ] || continue
	"$real" print lossy/main.pallas 2>/dev/null | sort >theirs
	"$B/bin/ovni-pallas" print lossy 2>/dev/null | sort | diff - theirs | grep -c '^<' >differences
	[ "$(cat differences)" -lt 40 ] || complain "ZFP: $(cat differences) other times than the real one's"
done

# Older ABI versions of such an archive: both read the same from them.
"$S/tests/golden/pallas_real.py" "$(dirname "$real")/lib/libpallas.so" twenty >/dev/null
for version in 19 18 17 16; do
	rm -rf older
	"$S/tests/golden/pallas_older.py" twenty older $version || complain "pallas_older.py"
	"$real" print older/main.pallas >theirs 2>said || complain "version $version: $(tail -n 2 said)"
	"$B/bin/ovni-pallas" print older >ours || complain "version $version: status $?"
	[ "$(wc -l <theirs)" -gt 20000 ] && diff theirs ours >differences || complain "version $version: other events: $(head -n 5 differences)"
	archives=$((archives + 1))
done
# Copies of such an archive, and of one with large sub-arrays, in other compressions and encodings.
"$S/tests/golden/pallas_tiny.py" large calls=100000
for archive in twenty large; do
	"$real" print $archive/main.pallas >want 2>/dev/null
	[ "$(wc -l <want)" -gt 20000 ] || complain "$archive: $(wc -l <want) events"
	for options in "--level 1" "--level none --masking" "--level 9 --masking"; do
		rm -rf copy
		# shellcheck disable=SC2086 # words
		"$B/bin/ovni-pallas" recode $options $archive copy || complain "recode $options $archive: status $?"
		"$real" print copy/main.pallas 2>said | cmp want - || complain "recode $options $archive: $(tail -n 2 said)"
		archives=$((archives + 1))
	done
done
echo "$archives archives"
[ $archives -gt 3 ] || complain "too few archives"
exit $wrong
