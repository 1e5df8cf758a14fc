#!/bin/bash
# SPDX-License-Identifier: MIT
#
# docs/events.md is the output of ovni-events, which has every event of the catalogue with all
# columns: compared with rows written down here and with the JSON form.
set -eu
events=$B/bin/ovni-events
fail() { echo "$*"; exit 1; }

"$events" >"$T/page"
diff -u "$S/docs/events.md" "$T/page" ||
	fail "docs/events.md is not what ovni-events prints: run 'build/bin/ovni-events >docs/events.md'"

while IFS= read -r row; do
	grep -qxFe "$row" "$T/page" || fail "no row: $row"
done <<'END'
| `OAs(i32 cpu)` | moves itself to CPU *cpu* | |
| `OHx(i32 cpu[, i32 creator, u64 tag])` | begins to execute on CPU *cpu*\[, created by thread *creator*\]\[, with tag *tag*\] | |
| `OM[(i64 value, i32 type)` | enters the mark *value* of type *type* | mark: pushes a value of the arguments, until `OM]` |
| `OF]` | ends writing its events to disk | flush: clears |
| `VSh` | begins waiting for work (hungry) | subsystem: pushes 6 `Scheduler: Hungry`, until `VSf` |
| `VPr` | has nothing to do (idle state: resting) | idle: sets to 101 `Resting` |
| `VYc+(u32 typeid, str label)` | creates the task type *typeid* labelled *label* | |
| `MCE` | ends MPI_Exscan | function: pops 37 `MPI_Exscan` |
- subsystem 65: EV Worker: Waking another thread
- 6: preempted
- 12: throttled by a CPU quota
END
# Models in the order of their characters.
models=$(sed -n 's/^## \([a-z0-9]*\)$/\1/p' "$T/page" | tr '\n' ' ')
[ "$models" = "nanos6 nodes kernel mpi ovni openmp tampi nosv " ] || fail "models: $models"

"$events" --json >"$T/json"
python3 - "$T/json" "$T/page" <<'PYTHON'
import json, sys
models = json.load(open(sys.argv[1]))["models"]
page = [line for line in open(sys.argv[2]) if line.startswith("| `")]
signatures = [e["signature"] for m in models for e in m["events"]]
assert [line.split("`")[1] for line in page] == signatures, "not the same events"
assert len(signatures) == len(set(s[:3] for s in signatures)) > 300, "an event twice"
for m in models:
    for e in m["events"]:
        assert e["signature"].startswith(m["character"]), e
        until = e.get("until")
        assert not until or any(f["signature"][:3] == until for f in m["events"]), e
assert sum(len(m["labels"]) for m in models) == 12, "labels without an event"
PYTHON

# One model, by name and by character.
"$events" kernel >"$T/one"
"$events" K | cmp - "$T/one" || fail "a character is not a name"
[ "$(grep -c '^## ' "$T/one")" = 1 ] || fail "more than one model"
for wrong in "Z" "none" "" "K M"; do
	status=0
	# shellcheck disable=SC2086 # "K M" are two arguments
	"$events" ${wrong:-''} >/dev/null 2>"$T/said" || status=$?
	[ $status = 2 ] || fail "'$wrong': status $status"
	[ -s "$T/said" ] || fail "'$wrong': nothing said"
done
status=0
"$events" >/dev/full 2>"$T/said" || status=$?
[ $status = 1 ] && grep -q 'No space left' "$T/said" || fail "a full disk: status $status"
