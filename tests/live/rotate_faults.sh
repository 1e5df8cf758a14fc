#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --rotate and --last when things go wrong: a full disk, a directory that vanishes, a recorder that
# is killed. Traces reported as complete are; the others can be mended, and are not complete.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
CHECK=$B/bin/ovni-check

told() { sed -n "s|^ovni-bpf: .*/\(0[0-9]*\): .* lost (.*|\1|p" "$1"; }

# The trace of a killed recorder does not look complete, unless all of it was written; mended, it is
# accepted.
mend() { # TRACE
	if ! "$EMULATOR" -l "$1" >mend.log 2>&1; then
		"$CHECK" "$1" >mend.log 2>&1
		expect "$1 claims nothing" [ "$(grep -c '; complete$' mend.log)" = 0 ]
		"$CHECK" --repair --in-place "$1" >mend.log 2>&1 || true
		"$EMULATOR" -l "$1" >mend.log 2>&1
		[ $? = 3 ] || complain "$1 is not mended: $(tail -n 3 mend.log)"
	fi
}

# Some parts fit, then none does. In a mount namespace of its own, which ends with the shell.
export -f told
mkdir small
# shellcheck disable=SC2016 # for the other shell
unshare --mount --propagation private bash -c '
	mount -t tmpfs -o size=900k none small && cd small || exit 1
	"$2" -n 4 -u 60000000 &
	"$1" -o out --rotate 64K -p $! >../full.log 2>&1
	echo "status $?"
	kill $!
	for part in $(told ../full.log); do
		"$3" -l -o ../emulated "out/$part" >../full.emu 2>&1 || { echo "refused $part"; tail -n 3 ../full.emu; }
	done
' - "$RECORDER" "$WORKLOADS/switcher" "$EMULATOR" >full.said 2>&1
expect "full disk: status 1" grep -qx 'status 1' full.said
expect "full disk: complete ones are accepted" [ "$(grep -c refused full.said)" = 0 ]
expect "full disk: some were complete" [ -n "$(told full.log)" ]
expect "full disk: said once" [ "$(grep -ci 'no space' full.log)" = 1 ]

# Somebody removes the directory.
"$RECORDER" -a --rotate 100ms -o gone >gone.log 2>&1 &
recorder=$!
wait_recording gone $recorder
wait_until grep -q 'gone/0001' gone.log
until rm -rf gone 2>/dev/null; do :; done
status=0
wait $recorder || status=$?
expect "vanished: status 1" [ $status = 1 ]
expect "vanished: it says where" grep -q 'error: .*\(gone\|loom\)' gone.log

# Killed at some moment: in a part, at a cut, while one is being closed.
for delay in 0.25 0.31 0.37 0.43; do
	rm -rf killed killed.log
	"$RECORDER" -a --rotate 100ms --flush-interval 20ms -o killed >killed.log 2>&1 &
	recorder=$!
	wait_recording killed $recorder
	sleep $delay
	kill -9 $recorder
	wait $recorder 2>/dev/null
	for part in killed/* killed/.next; do
		[ -d "$part" ] || continue
		[ -n "$(find "$part" -name stream.json)" ] || continue # it had not begun
		if told killed.log | grep -qx "${part##*/}"; then
			judge "$part"
			rm -f "$part.emu"
			continue
		fi
		mend "$part"
	done
done

# Killed while a flight recorder saves.
"$RECORDER" -a --last 30s -o flight >flight.log 2>&1 &
recorder=$!
wait_recording flight $recorder
"$WORKLOADS/storm" -n 4 -l 5000 >/dev/null
kill -USR1 $recorder
kill -9 $recorder
wait $recorder 2>/dev/null
for part in flight/* flight/.next; do
	[ -n "$(find "$part" -name stream.json 2>/dev/null)" ] || continue
	mend "$part"
done
finish
