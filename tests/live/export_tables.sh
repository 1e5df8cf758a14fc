#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-export --sqlite and --csv of a recording: the answers to the questions of docs/export.md are
# those of ovni-report, to the ns, also with losses, and the calls are those that the program made;
# --chrome has the same rows. (Culprits are compared in golden/export_tables: where the kernel did
# not report a switch, two threads are on a CPU.)
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
agree() { # TRACE: with losses, too
	local format
	for format in sqlite csv chrome; do
		status=0
		"$B/bin/ovni-export" --$format -o "$1.$format" "$1" 2>said || status=$?
		expect "ovni-export --$format $1: status $status" grep -qx '[03]' <<<$status
	done
	expect "the tables" python3 -B "$S/tests/golden/export_tables.py" "$B/bin" "$S/docs/export.md" "$1" "$1.sqlite" "$1.csv"
	expect "the JSON" python3 -B "$S/tests/golden/chrome_file.py" "$1.chrome" "$1.csv"
}
"$B/bin/ovni-bpf" -q -b 4K -o lossy -- "$WORKLOADS/storm" -n 8 -l 200 >lossy.log 2>&1
expect "a recording with losses: $(cat lossy.log)" [ -d lossy ]
agree lossy
"$B/bin/ovni-bpf" -q --why=call,lock,irq,prio,stack,io -o details -- "$WORKLOADS/named_locks" >details.log 2>&1
expect "a recording with all details: $(cat details.log)" [ -d details ]
agree details
expect "owners, stacks and interrupts" python3 - <<'E'
import sqlite3
db = sqlite3.connect("details.sqlite")
for question in ("FROM intervals WHERE lock_owner IS NOT NULL", "FROM stacks WHERE function LIKE 'futex%'", "FROM interrupts"):
    assert db.execute("SELECT count(*) " + question).fetchone()[0], question
E
record calls command -u "$WORKLOADS/calls:leaf,recurse,branch" -- calls -m 8 -n 2 -d 3
agree calls
# the main process calls recurse(recurse(leaf)) and branch(leaf leaf), its child twice recurse(recurse(recurse(leaf)))
python3 - >calls.txt <<'E'
import sqlite3
for row in sqlite3.connect("calls.sqlite").execute("""
        SELECT name, count(*), sum(nested) FROM regions JOIN functions USING (function) WHERE returned GROUP BY name"""):
    print(*row)
E
cat >want <<'E'
branch 1 0
leaf 5 0
recurse 8 5
E
expect "calls" diff want calls.txt
finish
