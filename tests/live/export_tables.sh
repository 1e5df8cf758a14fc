#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-export --sqlite and --csv of a recording: the answers to the questions of docs/export.md are
# those of ovni-report, to the ns, and the calls are those that the program made; --chrome has the same rows. (Culprits are
# compared in golden/export_tables: where the kernel did not report a switch, two threads are on a CPU.)
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
record calls command -u "$WORKLOADS/calls:leaf,recurse,branch" -- calls -m 8 -n 2 -d 3
for format in sqlite csv chrome; do
	status=0
	"$B/bin/ovni-export" --$format -o calls.$format calls 2>said || status=$?
	expect "ovni-export --$format: status $status" grep -qx '[03]' <<<$status
done
expect "the tables" python3 -B "$S/tests/golden/export_tables.py" "$B/bin" "$S/docs/export.md" calls calls.sqlite calls.csv
expect "the JSON" python3 -B "$S/tests/golden/chrome_file.py" calls.chrome calls.csv
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
