#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-sync between processes in time namespaces, whose true offsets are known: the error of the
# table is at most 1 us or three times the deviation that it states; and ovni-emu applies it.
# needs: root
# long: needs MPI
set -u
sync=$B/bin/ovni-sync emu=$B/bin/ovni-emu
failed=0
command -v mpirun >/dev/null && [ -x "$sync" ] || { echo "no MPI here"; exit 77; }
unshare -T --monotonic 1 --uts --fork true 2>/dev/null || { echo "no time namespaces here"; exit 77; }
cd "$T" || exit 1

fail() { echo "$1"; failed=1; }

# node SECONDS NAME [OPTION...]: starts ovni-sync on a node of its own, with its clock so far ahead
cat >node <<END
#!/bin/sh
ahead=\$1 name=\$2
shift 2
exec unshare -T --monotonic "\$ahead" --uts --fork sh -c 'hostname "\$0" && exec "\$@"' "\$name" '$sync' "\$@"
END
chmod +x node
run() { timeout 60 mpirun --allow-run-as-root --oversubscribe "$@"; }
ahead=(./node 5000 node2.cluster.org) behind=(./node -7 node3)

# ---- the offsets, each within the error in the table ----
run -n 1 "$sync" : -n 1 "${ahead[@]}" : -n 2 "${behind[@]}" 2>stderr || fail "status $?: $(cat stderr)"
cat ovni/clock-offsets.txt
python3 - "$(hostname)" <<'END' || failed=1
import re, sys
lines = open("ovni/clock-offsets.txt").read().splitlines()
# one row a host, though node3 has two ranks; names end at their first dot
true = {sys.argv[1].split(".")[0]: 0, "node2": -5000 * 10**9, "node3": 7 * 10**9}
form = re.compile(r"(\d+) *(\S+) *(-?\d+) *(-?\d+\.\d{6}) *(\d+\.\d{6}) *")
assert re.fullmatch(r"rank {7}hostname {13}offset_median {8}offset_mean {10}offset_std {10}", lines[0]), lines[0]
assert len(lines) == 4 and min(map(len, lines)) == len(lines[0]), lines
rows = [form.fullmatch(line).groups() for line in lines[1:]]
assert [row[1] for row in rows] == list(true) and [row[0] for row in rows] == ["0", "1", "2"], rows
for rank, host, median, mean, deviation in rows:
    error, most = abs(int(median) - true[host]), max(1000, 3 * float(deviation))
    assert error <= most, "%s: %d ns wrong, at most %.0f wanted" % (host, error, most)
END

# ---- many nodes: each has its part of a second, and at least 12 samples ----
cat >ranked <<END
#!/bin/sh
exec ./node "\$((OMPI_COMM_WORLD_RANK * 10))" "n\$OMPI_COMM_WORLD_RANK" "\$@"
END
chmod +x ranked
run -n 20 ./ranked -v --append many >samples 2>stderr || fail "20 nodes: status $?: $(cat stderr)"
python3 - <<'END' || failed=1
lines = open("samples").read().splitlines()
samples = {host: sum(line.startswith(host + " sample ") for line in lines) for host in ("n%d" % i for i in range(1, 20))}
assert min(samples.values()) >= 80, samples
rows = [line.split() for line in open("many/clock-offsets.txt").read().splitlines()[1:]]
assert [row[1] for row in rows] == ["n%d" % i for i in range(20)], rows
for number, row in enumerate(rows):
    error, bound = abs(int(row[2]) + number * 10 * 10**9), float(row[-1])
    assert error <= max(bound, 1000), "%s: %d ns wrong, the bound is %.0f" % (row[1], error, bound)
END

# ---- the emulator applies it: an event of the same moment on both nodes ----
now=$(python3 -c 'import time; print(time.monotonic_ns())') # a drift counts from the measurement on
cat >two.txt <<END
thread 11 of 10 in $(hostname | cut -d. -f1).1 cpus 0:0
$now OHx i32:0 i32:-1 u64:0
$((now + 5000000)) OHe
thread 21 of 20 in node2.2 cpus 0:0
$((now + 5000001000000)) OHx i32:0 i32:-1 u64:0
$((now + 5000004000000)) OHe
END
grep -v '^2 ' <ovni/clock-offsets.txt >table
"$S/tests/golden/emu_make.py" two.txt two || failed=1
"$emu" -q two 2>stderr && fail "clocks 5000 s apart are taken as equal"
"$emu" -q -c table two || fail "the table is not applied: status $?"
"$B/bin/ovni-dump" two >/dev/null || fail "dump: status $?"
[ "$(awk -F: '/^2/ && $7 == 4 && $8 == 1 {print $6}' two/thread.prv | head -n 2 | awk '{print int($1 / 100000 + 0.5)}' | xargs)" = "0 10" ] ||
	fail "the second thread does not start 1 ms after the first one: $(cat two/thread.prv)"

# ---- --append: two measurements in one table, which the emulator takes ----
ends=(--append both)
for _ in first last; do
	run -n 1 "$sync" "${ends[@]}" : -n 1 "${ahead[@]}" "${ends[@]}" : -n 1 "${behind[@]}" "${ends[@]}" >stdout 2>stderr ||
		fail "--append: status $?: $(cat stderr)"
done
cat both/clock-offsets.txt stdout
python3 - "$(hostname)" <<'END' || failed=1
import sys
rows = [line.split() for line in open("both/clock-offsets.txt")][1:]
true = {sys.argv[1].split(".")[0]: 0, "node2": -5000 * 10**9, "node3": 7 * 10**9}
assert [row[1] for row in rows] == list(true), rows
for rank, host, median, mean, deviation, begin, end, offset_end, bound in rows:
    assert int(begin) < int(end) and 0 <= int(bound) < 100000, (host, begin, end, bound)
    for offset in int(median), int(offset_end):
        assert abs(offset - true[host]) <= int(bound), (host, offset, bound)
END
sed -i '/node3/d' both/clock-offsets.txt
"$emu" -q -c both/clock-offsets.txt two || fail "a table of nine columns: status $?"
run -n 1 "${ahead[@]}" "${ends[@]}" >stdout 2>stderr && fail "another reference was accepted"
grep -q 'relative to' stderr || fail "another reference: $(cat stderr)"

# ---- drift, the samples, other places ----
drift=(-d 3 -w 0.05)
run -n 1 "$sync" "${drift[@]}" -o deep/er/drift : -n 1 "${ahead[@]}" "${drift[@]}" 2>stderr ||
	fail "drift: status $?: $(cat stderr)"
[ "$(wc -l <deep/er/drift)" = 4 ] && grep -q '^wallclock  *'"$(hostname)"'  *node2.cluster.org *$' deep/er/drift ||
	fail "drift: $(cat deep/er/drift)"
OVNI_TRACEDIR=elsewhere "$sync" -v -n 3 >stdout 2>stderr || fail "alone: status $?"
grep -q 'one process a node' stderr && [ -s elsewhere/clock-offsets.txt ] || fail "alone: $(cat stderr)"

# ---- mistakes ----
for options in '-a x -o y' '-n 0' '-d x' '-w -1' 'extra' '--no-such'; do
	# shellcheck disable=SC2086 # two words on purpose
	"$sync" $options >/dev/null 2>stderr
	status=$?
	[ $status = 2 ] && [ -s stderr ] || fail "$options: status $status: $(cat stderr)"
done
mkdir full && mount -t tmpfs -o size=4k tmpfs full 2>/dev/null && {
	head -c 4096 /dev/zero >full/filler
	"$sync" -o full/table >/dev/null 2>stderr
	status=$?
	[ $status = 1 ] && grep -q 'cannot write' stderr && [ "$(ls full)" = filler ] ||
		fail "a full disk: status $status: $(cat stderr; ls full)"
	umount full
}
exit $failed
