#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The nodes of an accelerator on a page of ovni-view, in a headless Chromium: at each change of a vector the cells have the colours
# and words of its written states, and their cycles are those of ovni-loom stats; places of a mapping, of upstream's layout,
# and without one; the playhead, play, steps, the slider, a click, the link; routes; mappings and metadata that are wrong or
# hostile; a page without an accelerator has none of it. VIEW_SHOTS=DIR keeps pictures.
# long: starts a browser
set -eu
fail() { echo "$1"; cat said 2>/dev/null; exit 1; }
cd "$T"
V=$CONFORMANCE/loom loom=$B/bin/ovni-loom

# ---- mappings: limits, mistakes
import() { # VECTOR DIR OPTIONS...
	local file=$V/$1 dir=$2
	shift 2
	"$loom" import "$file" -o "$dir" --clock-period "${period}ns" "$@" >said 2>&1
}
period=10
refused() { # WORDS: of a mapping on the standard input
	cat >wrong.map
	if import multi-core/run.trace.bin refused --map wrong.map; then
		fail "taken: $(cat wrong.map)"
	fi
	grep -q -- "$1" said || fail "not said: $1"
	[ ! -e refused ] || fail "refused, and left: $(cat wrong.map)"
}
refused "line 2: a coordinate is at most 1000000 in either direction" <<<$'0 2 1000000 -1000000\n0 3 1000001 0'
refused "line 1: a coordinate is at most 1000000 in either direction" <<<"0 2 0 -99999999999999999999999999"
refused "line 1: must be CORE NODE X Y" <<<"0 2 0"
refused "line 1: must be CORE NODE X Y" <<<"0 2 1.5 0"
refused "line 1: must be CORE NODE X Y" <<<"65536 2 0 0"
refused "line 1: must be CORE NODE X Y" <<<"0 4294967296 0 0"
refused "line 1: must be CORE NODE X Y" <<<"0 2 0 0 <script>"
refused "line 1: must be CORE NODE X Y" <<<"0 2 0 0 1=99999999999"
refused "line 1: an input is below 256" <<<"0 2 0 0 256=3"
refused "line 2: this node has a place already" <<<$'0 2 0 0\n0 2 1 1'
refused "line 1: this input is connected already" <<<"0 2 0 0 0=3 0=4"
refused "line 1: not text" < <(printf '0 2 0 0\0')
refused "line 1: longer than 4095 bytes" < <(printf '0 2 0 0 %5000s' '')
refused "byte [0-9]*: a coordinate is at most" <<<'{"components": [{"name": "a", "center_x": 1e9, "center_y": 0}]}'
refused "byte [0-9]*: a coordinate is at most" <<<'{"components": [{"name": "a", "center_x": 0, "center_y": -1e999}]}'
refused "byte [0-9]*: this must be a number" <<<'{"components": [{"name": "a", "center_x": "<script>", "center_y": 0}]}'
refused "byte [0-9]*: this component has a place already" <<<'{"components": [{"name": "a", "center_x": 0, "center_y": 0}, {"name": "a", "center_x": 1, "center_y": 0}]}'
refused "byte [0-9]*: a component needs name, center_x and center_y" <<<'{"components": [{"name": "a", "center_x": 0}]}'
refused "byte [0-9]*: a layout is an object with components" <<<'{"routes": []}'
refused "byte [0-9]*: this must be a list" <<<'{"components": {}}'
refused "byte [0-9]*: this must be an object" <<<'{"components": [1]}'
refused "byte [0-9]*: the file ends here" <<<'{"components": [{"name": "a"'
import multi-core/run.trace.bin none --map missing.map && fail "a mapping that is missing"
grep -q "missing.map" said || fail "a mapping that is missing: not said"
# places of other nodes are nobody's; comments and empty lines are no places
printf '# places\n\n0 77 0 0\n9 2 0 0 0=3\n' >others.map
import multi-core/run.trace.bin others --map others.map || fail "places of other nodes"
grep -q "others.map: no place for 9 of 9 nodes" said || fail "places of other nodes: not said"
! grep -rq '"x"\|"inputs"' others || fail "places of other nodes were written"

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
	echo "no chromium or no chromedriver: the page is not looked at"
	exit 77
fi
printf '0 1 -1 -2\n0 2 1 -2 0=1\n0 9 -1 0 0=2 1=1\n65535 4000000000 1000000 -1000000\n' >mapped.map
import spec-all-kinds/run.trace.bin mapped --name all --map mapped.map || fail "mapped"
# core 0 in rows of three, with a connection; of core 1 only one node
awk '/^node states/ { on = 1; next } on && $1 == 0 && !seen[$2]++ { printf "0 %d %d %d%s\n", $2, n % 3, n / 3, $2 == 2 ? " 0=3" : ""; n++ }
	END { print "1 6 0 0 0=6 1=2" }' "$V/multi-core/expected-states.txt" >routes.map
import multi-core/run.trace.bin routes --map routes.map || fail "routes"
import multi-core/run.trace.bin unmapped || fail "unmapped"
cat >layout.json <<'END'
{"version": 1, "components": [
 {"name": "module_in", "kind": "x", "center_x": 0, "center_y": 0.25, "width": 50},
 {"name": "fifo_0", "center_x": 1.005e2, "center_y": -0.5}, {"name": "sw_0", "center_x": 200, "center_y": 100},
 {"name": "fifo_1", "center_x": 300, "center_y": 100}, {"name": "module_out", "center_x": 400, "center_y": 0},
 {"name": "<script>alert(1)</script>", "center_x": 0, "center_y": 0}],
 "routes": [{"from": "fifo_0", "from_port": 0, "to": "sw_0", "to_port": 0, "points": [{"x": 1, "y": 2}]},
  {"from": "sw_0", "to": "module_out", "to_port": 1}, {"from": "sw_0", "to": "nowhere", "to_port": 0},
  {"from": "sw_0", "to": "fifo_1", "to_port": 4294967295}]}
END
import main-json/run.sim.trace layout --map layout.json || fail "layout: $(cat said)"
# metadata that no import writes
cp -r unmapped hostile
python3 - <<'PYTHON'
import glob, json
wrong = [{"x": 1e300, "y": 0}, {"x": "<script>", "y": 1}, {"x": 5, "y": -1000001}, {"x": -1000000, "y": 1000000}, {"x": 3, "y": 3},
         {"x": 3, "y": 3, "inputs": [{"input": i % 256, "from": 3} for i in range(100000)]},
         {"inputs": {"a": {"input": -1, "from": "x"}}, "hw_node_id": 3}, {"inputs": "<script>", "core_id": 65535, "hw_node_id": 4294967295},
         {"inputs": [1, None, {"input": 0}], "lane": 5e9}]
paths = sorted(p for p in glob.glob("hostile/**/stream.json", recursive=True) if "hw_node_id" in json.load(open(p))["accel"])
assert len(paths) == len(wrong), paths
for path, change in zip(paths, wrong):
    meta = json.load(open(path))
    meta["accel"].update(change, label="</script><script>alert(1)</script>")
    json.dump(meta, open(path, "w"))
PYTHON
printf '%s\n' 'thread n 1 1' '0 OHx i32:0 i32:-1 u64:0' '1000 OHe' | python3 "$S/tests/golden/tools_make.py" plain
for name in mapped routes unmapped layout hostile plain; do
	"$B/bin/ovni-view" "$name" 2>said || fail "ovni-view $name"
done
python3 -B "$S/tests/golden/view_playback.py" "$PWD" "$B/bin" "$V" "${VIEW_SHOTS:-}"
