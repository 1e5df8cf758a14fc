#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Host and accelerator on one page: a run is imported into the directory of a recording, which stays
# as it is; both are emulated together, on one time line, and every view of the accelerator fits the
# emulator's output.
set -u
loom=$B/bin/ovni-loom emu=$B/bin/ovni-emu
check="$S/tests/golden/cfgcheck.py"
export PYTHONDONTWRITEBYTECODE=1
status=0

wrong() {
	echo "$*"
	status=1
}

python3 "$S/tests/golden/loom_schedule.py" "$T/host" || exit 1
python3 "$S/tests/golden/loom_make.py" "$T/own" || exit 1
cp -r "$T/host" "$T/before"

echo "cycle 0 is at the start of the recording"
"$loom" import "$T/own/ranks.trace.bin" -o "$T/host" --clock-period 500ns 2>"$T/said" ||
	wrong "not imported: $(cat "$T/said")"
grep -q "begins at 10000 ns: cycle 0 is at 10000 ns" "$T/said" || wrong "$(cat "$T/said")"
diff -r "$T/before/loom.node" "$T/host/loom.node" || wrong "the recording was changed"
"$emu" -l "$T/host" 2>"$T/said" || wrong "not emulated: $(cat "$T/said")"
sed '1,/LEVEL THREAD/d' "$T/host/thread.row" >"$T/rows"
printf '%s\n' "core 0 control (1)" "core 0 node 1 (3)" "TH 1.11" "TH 1.12" "TH 1.13" |
	diff - "$T/rows" || wrong "rows"
# loomsim.ranks sorts before node: rows 1 and 2; the states of node 1, ns since the start
grep "^2:0:1:1:2:" "$T/host/thread.prv" | sed 's/^2:0:1:1:2://' | grep -o '^[0-9]*:.*193:[0-9]*' |
	sed 's/:.*193:/ /' >"$T/states"
printf '%s\n' "0 6" "500 4" "1000 3" "2000 7" "3000 0" >"$T/expected"
grep -vx "0 [01]" "$T/states" | diff "$T/expected" - || wrong "states in the view"

echo "a base, after the start or as it is"
for base in +2us 12us; do
	cp -r "$T/before" "$T/base.$base"
	"$loom" import "$T/own/ranks.trace.bin" -o "$T/base.$base" --base $base 2>"$T/said" ||
		wrong "--base $base: $(cat "$T/said")"
	grep -q "cycle 0 is at 12000 ns" "$T/said" || wrong "--base $base: $(cat "$T/said")"
	"$emu" -l "$T/base.$base" 2>/dev/null || wrong "--base $base: not emulated"
done

echo "a base by the time of day of the recording"
cp -r "$T/before" "$T/daytime"
"$loom" import "$T/own/ranks.trace.bin" -o "$T/daytime" --base 12:00:00 2>"$T/said" &&
	wrong "a time of day is taken by a trace that has none"
grep -q "the trace has no time of day" "$T/said" || wrong "$(cat "$T/said")"
python3 - "$T/daytime" <<'END' || wrong "no metadata"
import glob, json, sys
path = sorted(glob.glob(sys.argv[1] + "/loom.node/*/*/stream.json"))[0]
meta = json.load(open(path))
meta.setdefault("bpf", {})["session"] = {"realtime": {
    "begin": {"clock": "10000", "ns": "43200000000000"}, "utc_offset": 0}}
json.dump(meta, open(path, "w"))
END
"$loom" import "$T/own/ranks.trace.bin" -o "$T/daytime" --base 12:00:00.000002 2>"$T/said" ||
	wrong "a time of day: $(cat "$T/said")"
grep -q "cycle 0 is at 12000 ns" "$T/said" || wrong "a time of day: $(cat "$T/said")"
"$loom" import "$T/own/ranks.trace.bin" -o "$T/new" --base 12:00:00 2>"$T/said" &&
	wrong "a new trace has a time of day"

echo "the tools for traces take it"
"$B/bin/ovni-check" "$T/host" >"$T/said" 2>&1 || wrong "ovni-check: $(cat "$T/said")"
"$B/bin/ovni-info" "$T/host" >"$T/said" 2>&1 || wrong "ovni-info: $(cat "$T/said")"
"$B/bin/ovni-dump" "$T/host" | grep -q "Accel\|OM=" || wrong "ovni-dump"

echo "the parts of an accelerator are no CPUs"
"$B/bin/ovni-loom" import "$T/own/ranks.trace.bin" -o "$T/alone" 2>"$T/said" || wrong "alone: $(cat "$T/said")"
for trace in host alone; do
	want=node
	[ $trace = host ] || want=
	"$B/bin/ovni-report" cpu --csv "$T/$trace" >"$T/cpu.csv" || wrong "$trace: cpu"
	[ "$(sed 1d "$T/cpu.csv" | cut -d, -f1 | sort -u)" = "$want" ] || wrong "$trace: CPUs of $(cat "$T/cpu.csv")"
	"$B/bin/ovni-report" --json "$T/$trace" | python3 -c 'import json, sys
print(*sorted({cpu["loom"] for cpu in json.load(sys.stdin)["cpus"]}))' | grep -qx "$want" || wrong "$trace: CPUs of the overview"
	"$B/bin/ovni-report" timeline "$T/$trace" | grep -q '^loomsim' && wrong "$trace: CPUs of the timeline"
	"$B/bin/ovni-export" --csv -o "$T/$trace-csv" "$T/$trace" || wrong "$trace: tables"
	[ "$(sed 1d "$T/$trace-csv/cpus.csv" | cut -d, -f1 | sort -u)" = "$want" ] || wrong "$trace: CPUs of the tables"
done
"$B/bin/ovni-report" "$T/alone" | grep -q '^CPU' && wrong "a table of no CPUs"

echo "and without the names, the emulator is the reference's"
"$emu" --compat -l "$T/host" 2>/dev/null || wrong "--compat"
grep -q "^core" "$T/host/thread.row" && wrong "--compat: names of ours"

echo "views"
rm -rf "$T/all"
for run in ranks wide parts; do
	"$loom" import "$T/own/$run.trace.bin" -o "$T/all" 2>"$T/said" || wrong "$run: $(cat "$T/said")"
done
python3 - "$T/all" <<'END' || wrong "no run with all marks"
import glob, json, sys
used = set()
for name in glob.glob(sys.argv[1] + "/*/*/*/stream.json"):
    used |= set(json.load(open(name))["ovni"].get("mark", {}))
assert {"93", "94", "95", "96", "97", "98"} <= used, used
END
"$emu" -l "$T/all" 2>"$T/said" || wrong "not emulated: $(cat "$T/said")"
cd "$T/all/cfg" || exit 1
mapfile -t files < <(find thread/accel -name '*.cfg' ! -name 'extension.cfg')
[ ${#files[@]} -ge 14 ] || wrong "only ${#files[@]} views"
python3 "$check" --complete --pcf "$T/all/thread.pcf" "${files[@]}" || wrong "views and labels"
exit $status
