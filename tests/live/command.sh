#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A command runs as if it had been started without us: its standard files, open or closed, its
# signals and its umask are those of our caller, and programs that change the user still do.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# The attributes that a process inherits; without the descriptor with which `ls` reads the folder.
inherited='umask; nice; ls /proc/self/fd | grep -v 3; grep -E "^Sig(Blk|Ign)" /proc/self/status'

both() { # TITLE: the command line "$@" alone, and recorded, must say the same
	local title=$1
	shift
	for mode in full off; do
		("$@" bash -c "$inherited") >alone 2>&1
		rm -rf out
		("$@" "$RECORDER" -q --mode $mode -o out -- bash -c "$inherited") >recorded 2>&1
		cmp -s alone recorded || complain "$title, mode $mode: $(diff alone recorded)"
	done
}
both "as it is" env
both "odd signals and a umask" env --ignore-signal=PIPE,HUP,TERM --block-signal=INT,USR2 \
	bash -c 'umask 027; exec "$@"' -

# Pipes on both sides, and one that nobody reads any more.
expect "standard input and output are the command's" \
	[ "$(printf 'a\nb\n' | "$RECORDER" -q -o pipes -- cat | tr ab xy | tr -d '\n')" = xy ]
"$RECORDER" -o gone -- yes 2>gone.log | head -n 1 >gone.report
expect "a pipe that is closed ends it" grep -q ' command=signal-13 status=0 ' gone.log
judge gone

# Files that are closed stay closed for the command, and nothing of ours goes into the trace.
# shellcheck disable=SC2016 # the other shell expands it
"$RECORDER" -o closed -- bash -c 'for n in 0 1 2; do [ -e /proc/$$/fd/$n ] && echo $n; done >left' \
	<&- >&- 2>&- || complain "with all standard files closed: status $?"
expect "the command has them closed: $(tr '\n' ' ' <left)" [ "$(cat left)" = 1 ] # which is `left`
judge closed
expect "what is said is in no file of the trace" [ -z "$(grep -rl 'ovni-bpf: ' closed/loom.* closed/stats.json)" ]

# The set-user-ID bit holds, for a command of a user that sudo was called by.
P=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 1777 "$P" || exit 1
trap 'rm -rf "$P"' EXIT
install -m 4755 /usr/bin/id "$P/su-id"
SUDO_UID=65534 SUDO_GID=65534 "$RECORDER" -q -o "$P/out" -- "$P/su-id" >said 2>&1
expect "uid and euid differ: $(cat said)" grep -q '^uid=65534(.* euid=0(' said
finish
