#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The runs of tests/golden/loom, which loom_runs.py has made, get the findings and the verdict that
# it expects of them: every rule, kept and broken, in every form.
set -u
loom=$B/bin/ovni-loom
status=0
wrong() { echo "$*"; status=1; }

"$S/tests/golden/loom_runs.py" "$T/again"
diff -r "$S/tests/golden/loom" "$T/again" || wrong "tests/golden/loom is not what loom_runs.py makes"

# Each is judged in its folder; the outputs are compared at once.
for run in "$S"/tests/golden/loom/*/; do
	name=$(basename "$run")
	options=. status_of=0
	[ -e "$run/options" ] && options=$(cat "$run/options")
	case $options in --*) options=". $options" ;; esac
	# shellcheck disable=SC2086 # words of a command
	(cd "$run" && "$loom" check --json --all $options) >"$T/$name.json" 2>"$T/said" || status_of=$?
	[ ! -s "$T/said" ] || wrong "$name: $(cat "$T/said")"
	[ $status_of = "$(grep -c '^verdict invalid' "$run/expected")" ] || wrong "$name: status $status_of"
	# shellcheck disable=SC2086
	(cd "$run" && "$loom" check --all $options) | sed -nE \
		's/^  (error|warning|notice) ([A-Z0-9]+) .*/\1 \2/p; s/^verdict .*/&/p' | sort >"$T/$name.text"
done
python3 - "$T" "$S/tests/golden/loom" <<'PYTHON' || status=1
import glob, json, os, sys
scratch, runs = sys.argv[1:]
wrong, rules = 0, set()
for folder in sorted(glob.glob(runs + "/*/")):
    name = os.path.basename(folder.rstrip("/"))
    got = json.load(open("%s/%s.json" % (scratch, name)))
    have = sorted("%s %s" % (f["severity"], f["rule"]) for f in got["findings"])
    have.append("verdict " + got["verdict"])
    want = open(folder + "expected").read().splitlines()
    text = sorted(open("%s/%s.text" % (scratch, name)).read().splitlines())
    rules |= {f["rule"] for f in got["findings"]}
    if have != want or text != sorted(want):
        print("%s: %s (as text %s), not %s" % (name, have, text, want))
        print("\n".join("    " + f["text"] for f in got["findings"]))
        wrong = 1
# O7 needs a second run: loom_vectors.sh
every = {"S%d" % i for i in range(1, 6)} | {"O%d" % i for i in range(1, 11)} | {"K1", "K2"} | \
    {"P%d" % i for i in range(1, 13)}
if every - rules != {"O7"}:
    print("rules that no run breaks: %s" % sorted(every - rules))
    wrong = 1
sys.exit(wrong)
PYTHON

# 64-bit numbers come out as they went in, from every form, and the forms agree.
cd "$S/tests/golden/loom" || exit 1
big='epoch=4294967295 inv=18446744073709551615 core=65535 node=4294967295'
for run in extreme json-extreme; do
	"$loom" dump $run >"$T/out" 2>"$T/said" || wrong "$run: no dump: $(cat "$T/said")"
	other=EXT_255
	[ $run = extreme ] || other=unknown
	grep -q " 18446744073709551615\.0 .*$big $other lane=1 flags=0x0002 arg0=3 arg1=4\$" "$T/out" &&
		grep -q " 9223372036854775808\.0 .*$big .*=255 flags=0xffff arg0=4294967295 arg1=4294967295\$" "$T/out" &&
		grep -q ' 9007199254740993\.0 ' "$T/out" || { wrong "$run: numbers have changed"; cat "$T/out"; }
done
"$loom" check --same-as json-extreme extreme >"$T/out" || wrong "$(cat "$T/out")"
"$loom" check --same-as json-bare plain >"$T/out" || wrong "$(cat "$T/out")"
"$loom" stats --json ours-span-wide >"$T/out" || wrong "no stats"
grep -q '"active_cycles": 4294967297' "$T/out" || { wrong "a long span is counted wrong"; cat "$T/out"; }

"$loom" dump --cycles 9223372036854775808- extreme | grep -qx 'seen 4 written 2 filtered 2 .*' || wrong "large cycles are not chosen"

# Tables for programs.
"$loom" stats text-counter >"$T/out" 2>&1 && wrong "stats with a counter that is text"
"$loom" stats --csv ours >"$T/out" || wrong "no CSV"
grep -qx '0,1,0,1,"",statistics,6,2,0,0,4,2,0,0.333333333,0,0,1,0,' "$T/out" &&
	grep -qx '0,1,0,,"",records,6,3,,,,,2,0.5,,,,0.333333333,' "$T/out" || { wrong "CSV:"; cat "$T/out"; }
"$loom" stats --csv json | grep -q '^0,1,0,1,"f\\x0a""1""",records,' || wrong "a name in CSV"

# A module's name is shown and does nothing to the terminal.
"$loom" dump json | grep -qF '  1 fifo f\x0a"1" c -1' || wrong "the name of a module"

# Modules are listed in the order of the file, and are found in any order.
"$loom" dump json-modules-unsorted | sed -n '/^modules/,$p' >"$T/out"
printf '%s\n' modules '  2 spatial_sw sw s -1' '  1 fifo in - 0' '  1 fifo again - -1' | diff - "$T/out" || wrong "the order of modules"
"$loom" stats --csv json-modules-unsorted | grep -q '^0,1,0,1,"in",records,' || wrong "a module that is not sorted"

# Records left out of a dump are counted, and are the same each time.
"$loom" dump --sample 1/2 --kinds fire,route,done plain >"$T/out"
grep -qx 'seen 7 written 3 filtered 3 sampled_out 1 dropped 0' "$T/out" || { wrong "the account of a dump"; cat "$T/out"; }

# Runs are found: by directory, file, statistics, common name; and several are distinguished.
for run in plain plain/run plain/run.trace.bin plain/run.perf.json; do
	"$loom" stats "$run" >"$T/out" 2>&1 || wrong "$run: not found"
	grep -q '^records and statistics: 4 counters compared, 0 differ' "$T/out" || { wrong "$run:"; cat "$T/out"; }
done
mkdir "$T/two" && cp plain/run.trace.bin "$T/two/a.trace.bin" && cp plain/run.trace.bin "$T/two/b.trace.bin"
got=0
"$loom" check "$T/two" >"$T/out" 2>&1 || got=$?
{ [ $got = 1 ] && grep -q 'name one of them' "$T/out"; } || { wrong "two traces: status $got"; cat "$T/out"; }
# Statistics belong to the trace that they were written with, wherever others have the same name.
mkdir "$T/pairs" "$T/device"
printf '%s\n' 'success: true' 'total_cycles: 8' 'config_cycles: 2' 'trace_event_count: 7' >"$T/stat.txt"
sed 's/count: 7/count: 6/' "$T/stat.txt" >"$T/other.txt"
cp json/run.trace "$T/pairs/case.sim.trace" && cp json/run.trace "$T/pairs/case.runtime.trace"
cp json/run.trace "$T/pairs/case.gem5.trace"
cp "$T/stat.txt" "$T/pairs/case.sim.stat" && cp "$T/other.txt" "$T/pairs/case.runtime.stat"
cp "$T/other.txt" "$T/pairs/case.gem5.stat" && cp gem5/run.accel.stat.json "$T/pairs/case.accel.stat.json"
cp json/run.trace "$T/device/trace.json" && cp gem5/run.accel.stat.json "$T/device/stat.json"
cp "$T/other.txt" "$T/device/stat.txt"
while read -r want form run; do
	"$loom" check --json "$T/$run" >"$T/out" 2>"$T/said"
	grep -q "\"statistics\": {\"form\": \"$form\"}" "$T/out" &&
		[ "$(grep -c '"rule": "P8"' "$T/out")" = "$want" ] ||
		{ wrong "$run: the statistics of another"; cat "$T/out" "$T/said"; }
done <<'END'
0 text pairs/case.sim.trace
0 text pairs/case.sim.stat
1 text pairs/case.runtime.trace
1 text pairs/case.runtime.stat
0 gem5 pairs/case.gem5.trace
0 gem5 pairs/case.accel.stat.json
1 text pairs/case.gem5.stat
0 gem5 device/trace.json
0 gem5 device/stat.json
1 text device/stat.txt
0 gem5 device
END
for several in "$T/pairs" "$T/pairs/case"; do # and where several might be meant, none is taken
	got=0
	"$loom" check "$several" >"$T/out" 2>&1 || got=$?
	{ [ $got = 1 ] && grep -q '3 traces, .*name one of them' "$T/out"; } || { wrong "$several:"; cat "$T/out"; }
done

for nothing in "$T/none" "$T/again/none" /dev/null; do
	got=0
	"$loom" check "$nothing" >"$T/out" 2>&1 || got=$?
	[ $got = 1 ] && [ "$(grep -c 'error: ' "$T/out")" = 1 ] || { wrong "$nothing: status $got"; cat "$T/out"; }
done

# Statistics that cannot be read, damaged or too large, may declare losses.
cp -R "$S/tests/golden/loom/account" "$T/unread"
for damage in "truncate -s 5G" "truncate -s 9"; do
	cp "$S/tests/golden/loom/account/run.perf.json" "$T/unread"
	$damage "$T/unread/run.perf.json"
	got=0
	"$loom" dump "$T/unread" >"$T/out" 2>"$T/said" || got=$?
	[ $got = 3 ] && grep -q 'number of dropped records is unknown' "$T/said" && [ -s "$T/out" ] ||
		{ wrong "$damage: status $got"; cat "$T/said"; }
done

# A full device is an error, not a shorter listing.
got=0
"$loom" dump plain >/dev/full 2>"$T/said" || got=$?
[ $got = 1 ] || wrong "a full device: status $got"
for usage in "check" "nothing plain" "dump --strict plain" "dump --sample 3/2 plain" "stats --by x plain" \
	"dump --kinds x plain" "dump --cycles 5 plain" "dump --cycles 5-4 plain" "check plain plain"; do
	got=0
	# shellcheck disable=SC2086
	"$loom" $usage >"$T/out" 2>&1 || got=$?
	[ $got = 2 ] || { wrong "$usage: status $got"; cat "$T/out"; }
done
exit $status
