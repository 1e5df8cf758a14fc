#!/bin/bash
# SPDX-License-Identifier: MIT
#
# On a terminal there is a live line, which is removed at the end and never wider than the terminal;
# a command can read from the terminal; Ctrl-C reaches it, and ends the recording; a second one ends
# the recorder in any case.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# Each update ends with the return to the first column.
python3 "$S/tests/live/ontty.py" 40 "" "$RECORDER" -a -d 2s -o live >said || complain "-a on a terminal: $(cat said)"
python3 - <<'E2' || wrong=$((wrong + 1))
text = open("said", encoding="utf-8", newline="").read().replace("\r\n", "\n")
lines = [l.replace("\33[K", "") for l in text.split("\r") if l.startswith("\33[K")]
shown = [l.split("\n")[0] for l in lines[:-1]]
ok = len(shown) >= 2 and all(l.startswith("ovni-bpf: ") and " s  " in l for l in shown)
ok = ok and max(map(len, shown)) <= 39 and lines[-1].startswith("ovni-bpf: ")
ok = ok and text.rstrip("\n").split("\n")[-1].startswith("ovni-bpf: recorded dir=live ")
exit(0 if ok else "wrong: the live line: " + repr(text))
E2

# It ends with the overview, which does not wait in a pager, though it is longer than the terminal.
expect "the overview: $(cat said)" grep -qE '^(No finding|Findings)' said
grep -q 'no overview' said && complain "no overview: $(cat said)"

# shellcheck disable=SC2016 # the other shell expands it
python3 "$S/tests/live/ontty.py" 80 'hello^M' "$RECORDER" -o reads -- bash -c \
	'echo ready; read -rn 5 x; [ "$x" = hello ]' >said || complain "the command reads: $(cat said)"
expect "the command has read: $(cat said)" grep -q 'command=0' said

python3 "$S/tests/live/ontty.py" 80 '^C' "$RECORDER" -o key -- bash -c \
	'trap "exit 5" INT; echo ready; while :; do sleep 0.02; done' >said || complain "Ctrl-C: $(cat said)"
expect "Ctrl-C reaches the command: $(cat said)" grep -q 'stop=signal command=5 status=0' said
judge key

# The command is ready again when it has seen one; the recorder may be late and see two as one.
status=0
python3 "$S/tests/live/ontty.py" 80 "$(printf '^C %.0s' {1..100})" "$RECORDER" -o twice -- bash -c \
	'trap "sleep 0.02; echo ready" INT; echo ready; for ((i = 0; i < 400; i++)); do sleep 0.02; done' >said || status=$?
expect "a second Ctrl-C ends it: status $status" [ $status = 2 ] # as SIGINT does
finish
