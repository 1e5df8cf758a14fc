#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No loss: seconds of nothing but switches on all CPUs, recorded system-wide with the default
# buffer. The account of the kernel side must hold for every CPU and kind.
# needs: root alone
# longer: 10 seconds, not 3
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

storm() { # SECONDS
	if command -v stress-ng >/dev/null; then
		stress-ng --quiet --switch "$(nproc)" --timeout "$1"
	elif command -v sysbench >/dev/null; then
		sysbench threads --threads=4 --time="$1" run >/dev/null
	else
		skip "needs stress-ng or sysbench"
	fi
}

run() { # NAME SECONDS
	local recorder
	"$RECORDER" -a -d "$2" -o "$1" >"$1.log" 2>&1 &
	recorder=$!
	wait_recording "$1" $recorder
	storm "$2"
	wait $recorder || complain "$1: status $?: $(tail -n 5 "$1.log")"
}

run long "$(longer 10 3)"
python3 - long <<'E' || complain "the account"
import sys
from facts import *
session = session_of(sys.argv[1])
check(int(session["lost"]) == 0, session["lost"], "events were lost")
check(int(session["counts"]["switches"]) > 100_000, "this was no storm:", session["counts"])
check(int(session["counts"]["repairs"]) <= int(session["counts"]["switches"]) / 2000,
      "switches are missing: there were", session["counts"]["repairs"], "repairs")
check(int(session["counts"]["late"]) == 0, session["counts"]["late"], "records came late")
check_account(session)
verdict()
E
rm -rf long

run short 1
judge short
finish
