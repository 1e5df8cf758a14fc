#!/bin/bash
# SPDX-License-Identifier: MIT
#
# An incomplete trace never looks complete: of a made recording a thread, a process, the session, the
# metadata of a stream, stats.json or events are removed, streams are shifted or added, losses are
# declared; each program notices each damage, says the same sentence, and ends with status 3 or 1. What
# ovni-cut, ovni-merge, ovni-convert and ovni-pallas make of it is incomplete, too. ovni-report refuses clocks
# that ovni-emu refuses.
set -eu
python3 "$S/tests/golden/whole.py" table "$B/bin" "$T"

refused() { # SENTENCE
	"$S/tests/golden/tools_make.py" "$T/clocks"
	for words in "ovni-emu -o $T/views" ovni-report "ovni-report cpu" "ovni-report timehist" "ovni-report timeline"; do
		read -ra words <<<"$words"
		status=0
		"$B/bin/${words[0]}" "${words[@]:1}" "$T/clocks" >"$T/got" 2>&1 || status=$?
		[ "$status" = 1 ] && grep -q "$1" "$T/got" || { echo "${words[*]}: status $status, not 1 with: $1"; cat "$T/got"; exit 1; }
		[ "$(grep -c 'error: ' "$T/got")" = 1 ] || { echo "${words[*]}: says it more than once"; cat "$T/got"; exit 1; }
	done
	rm -r "$T/clocks"
}

refused 'clock goes backwards from 500 to 400' <<'END'
thread n 1 1
100 OHx i32:0 i32:-1 u64:0
500 OHp u16:1 i32:0
400 OHr
600 OHe
END
refused 'the first event has the negative clock -9223372036854775708' <<'END'
thread n 1 1
-9223372036854775708 OHx i32:0 i32:-1 u64:0
600 OHe
END
