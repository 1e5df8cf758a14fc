#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-emu --looms, --ranks, --from and --to: the part has the lines of the whole trace, at its times, and
# streams of which nothing is needed are not opened.
# longer: more windows
set -u
cd "$T" || exit 1
failed=0
fail() {
	echo "wrong: $*"
	failed=1
}

# Only warnings of what is missing: the events of streams that were not opened are not.
emulate() { # DIR TRACE [OPTION...]
	mkdir -p "$1"
	"$B/bin/ovni-emu" -q -b -o "$1" "${@:3}" "$2" 2>&1 | grep -v "treating their clocks as equal" >"$1/said"
	case ${PIPESTATUS[0]} in
	0) [ ! -s "$1/said" ] || fail "$*: $(cat "$1/said")" ;;
	*) fail "$*: $(cat "$1/said")" ;;
	esac
}

# The lines of a part by those of the whole: the values at the begin, then the lines. With a second
# trace, which has these looms alone: the same lines later by a constant.
cat >model.py <<'E2'
import sys


def lines(name):
    head, *rest = open(name).read().splitlines()
    return head, [[int(x) for x in line.split(":")] for line in rest]


def window(name, since, until):
    _, all_ = lines(name)
    values, out = {}, []
    for line in all_:
        row, time, pairs = line[4], line[5], line[6:]
        if time < since:
            values.update({(row, t): v for t, v in zip(pairs[::2], pairs[1::2])})
        elif time <= until:
            out.append(line)
    begin = [[2, 0, 1, 1, row, since, t, v] for (row, t), v in sorted(values.items()) if v]
    return begin, out


kind, whole, part = sys.argv[1:4]
if kind == "window":
    since, until = int(sys.argv[4]), int(sys.argv[5])
    begin, out = window(whole, since, until)
    head, got = lines(part)
    # streams that are not there change the order of equal clocks, as they do in the heap: not in a row
    order = lambda x: (x[5], x[4])
    got, want = got[:len(begin)] + sorted(got[len(begin):], key=order), begin + sorted(out, key=order)
    assert got == want, (part, len(got), len(begin), len(out),
                                [x for x in zip(got, want) if x[0] != x[1]][:3])
    print(f"{part}: {len(begin)} values at the begin, {len(out)} lines")
else:
    _, a = lines(whole)
    _, b = lines(part)
    later = b[0][5] - a[0][5]
    assert later == int(sys.argv[4]) and [x[:5] + [x[5] + later] + x[6:] for x in a] == b, (part, later)
    print(f"{part}: {len(b)} lines, {later} ns later")
E2
window() { # NAME WHOLE TRACE FROM TO
	emulate "$1" "$3" --from "${4}ns" --to "+${5}ns"
	for prv in "$2"/*.prv; do
		python3 model.py window "$prv" "$1/${prv##*/}" "$4" "$5" || fail "$1: ${prv##*/}"
	done
}

"$B/tests/bench/generate" job 20000 job 256 >/dev/null || exit 1
"$B/tests/bench/generate" tasks 8000 tasks >/dev/null || exit 1
"$B/tests/bench/generate" ranks 8000 ranks >/dev/null || exit 1
for trace in job tasks ranks; do
	emulate "whole.$trace" "$trace"
	length=$(sed -n '1s/.*:0*\([0-9]*\)_ns.*/\1/p' "whole.$trace/thread.prv")
	for i in $(seq "$((LONG ? 20 : 2))"); do
		since=$((RANDOM * 32768 % length))
		window "part.$trace.$i" "whole.$trace" "$trace" "$since" $((since + RANDOM * 100 % (length - since)))
	done
	window "all.$trace" "whole.$trace" "$trace" 1 "$length"
done

# A part without events, in the longest gap before streams that begin after it.
read -r since until <<<"$(grep -v '^#' whole.job/thread.prv whole.job/cpu.prv | cut -d: -f7 | sort -nu | awk 'NR > 1 && $1 - last > most {
	most = $1 - last; since = last + 1; until = $1 - 1 } { last = $1 } END { print since, until }')"
window gap whole.job job "$since" "$until"
grep -q ":$since:" gap/thread.prv || fail "no values in the gap from $since to $until"

# Streams that end before the part, or begin after it, are not opened: without their events it is the same.
window early whole.job job 35000000 50000000
cp -r job few
python3 - <<'E2' || fail "the streams of the test"
import glob, json, os
gone = {"before": 0, "later": 0}
for path in glob.glob("few/loom.*/proc.*/thread.*/stream.json"):
    bpf = json.load(open(path))["bpf"]
    first, last = int(bpf["first"]) - 10**9, int(bpf["last"]) - 10**9
    if last < 34000000 or first > 51000000:  # all clocks are within 0.1 ms
        gone["before" if last < 34000000 else "later"] += 1
        os.unlink(path.replace(".json", ".obs"))
assert gone == {"before": 64, "later": 128}, gone
E2
window few whole.job few 35000000 50000000
"$B/bin/ovni-emu" -q -o few few --from 1us --to 50ms 2>said && fail "a missing stream was not missed"

# Looms and ranks: as if there were no others, but for time 0.
only() { # NAME LOOM...: a trace of these looms alone, and the whole without the events of others
	mkdir "$1" && head -1 job/clock-offsets.txt >"$1/clock-offsets.txt" && cp -r job "$1.whole"
	find "$1.whole" -name stream.obs -delete
	for loom in "${@:2}"; do
		cp -r "job/loom.$loom" "$1"
		cp -r "job/loom.$loom" "$1.whole"
		grep " $loom " job/clock-offsets.txt >>"$1/clock-offsets.txt"
	done
	emulate "want.$1" "$1"
}
only two n0000 n0003
only later n0001 n0002
for how in "--looms n0000,n0003" "--looms n0003,n0000 --ranks 0-4" "--ranks 0,3"; do
	# shellcheck disable=SC2086
	emulate got two.whole $how
	for file in thread.prv cpu.prv thread.row cpu.row thread.pcf cpu.pcf; do
		cmp "want.two/$file" "got/$file" || fail "$how"
	done
done
emulate got.later later.whole --looms n0001,n0002
for file in thread cpu; do
	python3 model.py later "want.later/$file.prv" "got.later/$file.prv" 6 || fail "--looms, later"
done

# All ranks of one node: its CPUs stay.
emulate got.ranks ranks --ranks 5-6,9
cmp whole.ranks/cpu.row got.ranks/cpu.row || fail "the CPUs of ranks"
[ "$(sed -n '/LEVEL THREAD SIZE/s/.* //p' got.ranks/thread.row)" = 3 ] || fail "three ranks: $(cat got.ranks/thread.row)"

refused() { # STATUS MESSAGE OPTION...
	local want=$1 message=$2
	shift 2
	"$B/bin/ovni-emu" -q -o none "$@" job 2>said
	[ $? = "$want" ] && grep -qF -- "$message" said && [ "$(wc -l <said)" = 1 ] || fail "$*: $(cat said)"
}
refused 1 "--looms: job has no loom n7 (ovni-info lists them)" --looms n0001,n7
refused 1 "--ranks: job has no rank 8-9 (ovni-info lists them)" --ranks 3,8-9
refused 2 "a list of ranks is as in 0-3,7" --ranks 3,,4
refused 2 "a list of ranks is as in 0-3,7" --ranks 4-3
refused 2 "--from is later than --to" --from 2s --to 1s
refused 2 "excludes --compat, --critical and --messages" --looms n0001 --critical 1000
mkdir -p none
"$B/bin/ovni-emu" -q -o none --from 3600s job 2>said || fail "behind the end: $(cat said)"
grep -q "job has no event in the part of --from and --to$" said || fail "behind the end: $(cat said)"
exit $failed
