#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --perfetto writes a file of the trace, as the calling user: runs, waits and slices of recordings of the
# machine, of a command with probed functions, of threads that exec, and with losses are those of ovni-report. Without ovni-export
# nothing is recorded. In check-long the real trace_processor says the same of the first two.
# needs: root
# longer: asks the real trace_processor
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

make_public "$RECORDER" "$B/bin/ovni-export" "$WORKLOADS/calls" "$WORKLOADS/execs" "$WORKLOADS/storm"
export_of() { # NAME OPTION...: leaves $status
	local name=$1
	shift
	status=0
	SUDO_UID=65534 SUDO_GID=65534 "$P/bin/ovni-bpf" --perfetto "$P/$name.pftrace" -o "$P/$name" "$@" >"$name.log" 2>&1 || status=$?
	# 3: on a machine that is too busy for its buffers
	[ $status = 0 ] || [ $status = 3 ] || complain "$name: status $status: $(cat "$name.log")"
	python3 -B "$S/tests/golden/perfetto_file.py" "$P/$name.pftrace" "$P/$name" "$B/bin" >agreed 2>&1 ||
		complain "$name: $(tail -n 5 agreed)"
	grep -Eq '^[1-9][0-9]* runs, .* agree with ovni-report$' agreed || complain "$name: $(cat agreed)"
	[ "$(stat -c %u "$P/$name.pftrace")" = 65534 ] || complain "$name: the file belongs to $(stat -c %u "$P/$name.pftrace")"
}

export_of machine --force -a -d 500ms
export_of probed -u "$P/bin/calls:leaf(ret),recurse(arg1),branch" -- "$P/bin/calls" -m 8 -n 2 -d 3
grep -q ' 0 slices' agreed && complain "no probed function is a slice: $(cat agreed)"
[ $status = 3 ] || python3 -B - "$S/tests/golden" "$P/probed.pftrace" >values 2>&1 <<'END' || complain "$(cat values)"
import sys
sys.path.insert(0, sys.argv[1])
from perfetto_file import File
slices = File(sys.argv[2]).slices
found = [sorted(notes.get(note) for _, name, _, _, notes in slices if name == function)
         for function, note in (("leaf", "leaf (returned)"), ("recurse", "recurse (argument 1)"))]
# recurse(2 1) with leaf(1), branch with leaf(1) and leaf(2); twice recurse(3 2 1) with leaf(1); leaf adds 1
assert found == [[2, 2, 2, 2, 3], [1, 1, 1, 2, 2, 2, 3, 3]], found
END
export_of lives -- "$P/bin/execs"
export_of lossy -b 4K -- "$P/bin/storm" -n 8 -l 2000

if [ -n "${LONG:-}" ]; then
	. "$S/tests/golden/perfetto_oracle.sh"
	for name in machine probed; do
		python3 -B "$S/tests/golden/perfetto_oracle.py" "$engine" "$P/$name.pftrace" "$P/$name" "$B/bin" >answers 2>&1 ||
			complain "$(cat answers)"
	done
fi

rm "$P/bin/ovni-export"
status=0
"$P/bin/ovni-bpf" --perfetto "$P/none.pftrace" -o "$P/none" -- true >none.log 2>&1 || status=$?
[ $status = 1 ] || complain "without ovni-export: status $status"
grep -q '^ovni-bpf: error: --perfetto: cannot run ovni-export in the folder of ovni-bpf: No such file or directory$' none.log ||
	complain "without ovni-export: $(cat none.log)"
[ ! -e "$P/none" ] || complain "it records although it cannot make the file"
finish
