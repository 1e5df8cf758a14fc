#!/bin/bash
# SPDX-License-Identifier: MIT
#
# On a terminal a recording ends with the overview of ovni-report, as the calling user, and a line
# with the next commands; the shares of time are there with -v and where there is no overview.
# Without a terminal, with -q, and for several traces there is none. A report that is missing,
# fails, or never ends has a message, Ctrl-C ends it, and the last line is there.
# needs: root
# longer: a report that never ends
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

mkdir bin
cp "$RECORDER" "$EMULATOR" bin
report() { # SCRIPT: what ovni-report does
	printf '#!/bin/bash\n%s\n' "$1" >bin/ovni-report
	chmod +x bin/ovni-report
}
on_terminal() { # NAME TYPED OPTION...: what is on the terminal is NAME.said
	local name=$1 typed=$2
	shift 2
	status=0
	python3 "$S/tests/live/ontty.py" 120 "$typed" "$T/bin/ovni-bpf" -o "$name" "$@" >"$name.raw" 2>&1 || status=$?
	[ $status = "$wanted_status" ] || complain "$name: status $status: $(cat "$name.raw")"
	tr -d '\r' <"$name.raw" | sed 's/.*\x1b\[K//' >"$name.said"
	tail -n 1 "$name.said" | grep -q '^ovni-bpf: recorded ' || complain "$name: the last line: $(tail -n 2 "$name.said")"
}
says() { # NAME PATTERN
	grep -qE -- "$2" "$1.said" || complain "$1 does not say '$2': $(cat "$1.said")"
}
silent() { # NAME PATTERN
	grep -qE -- "$2" "$1.said" && complain "$1 says '$2': $(cat "$1.said")"
}
brief=("$WORKLOADS/sleepers" -n 1 -s 3)

# It gets the path of the trace, which is complete, and nothing of ours.
# shellcheck disable=SC2016 # that shell expands it
report 'echo "overview of ${!#}, $# words: $(find "${!#}" -name stream.json | wc -l) streams, $(id -u), input: $(readlink /proc/$$/fd/0)"'
on_terminal seen '' -- "${brief[@]}"
says seen '^overview of ./seen, [0-9] words: 2 streams, 0, input: /dev/null$'
silent seen "threads' time|^ovni-bpf: cost:|^ovni-bpf: events "
says seen '^ovni-bpf: next: .*ovni-emu seen$'
expect "the overview comes first: $(cat seen.said)" [ "$(grep -n '^overview' seen.said | cut -d : -f 1)" -lt \
	"$(grep -n '^ovni-bpf: next' seen.said | cut -d : -f 1)" ]
on_terminal loud '' -v -- "${brief[@]}"
says loud '^overview of '
says loud "threads' time"
says loud '^ovni-bpf: events '
on_terminal emulated '' --emulate -- "${brief[@]}"
says emulated '^overview of '
says emulated 'wxparaver emulated/thread.prv$'
on_terminal "it's" '' -- "${brief[@]}"
says "it's" "^overview of ./it's, "
says "it's" "ovni-emu 'it'\\\\''s'\$"

# One trace of several is like any other; several are not one.
on_terminal flown '' --last 10s -- "${brief[@]}"
says flown '^overview of flown/0001, '
on_terminal turned '' --rotate 100ms -d 350ms -a
silent turned '^overview of '
says turned 'next: ovni-report turned/0[0-9]* \(the newest of [2-9] traces\)'
on_terminal counted '' --mode summary -d 100ms -a
silent counted '^overview of '
says counted 'next: ovni-report counters counted.stats.json$'
"$B/bin/ovni-report" counters counted.stats.json >/dev/null 2>said || complain "what is to be typed next: $(cat said)"
"$T/bin/ovni-bpf" -o piped -- "${brief[@]}" >piped.said 2>&1
silent piped '^overview of |^ovni-bpf: next'
says piped "threads' time"

# As the calling user.
P=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 1777 "$P" || exit 1
trap 'rm -rf "$P"' EXIT
mv bin "$P/bin"
ln -s "$P/bin" bin
# shellcheck disable=SC2016 # that shell expands it
report 'echo "overview of ${!#}: $(id -u) $(grep CapEff /proc/self/status)"'
chmod 755 "$P/bin"/*
status=0
SUDO_UID=65534 SUDO_GID=65534 python3 "$S/tests/live/ontty.py" 120 '' "$P/bin/ovni-bpf" -o "$P/out" -- \
	true >user.said || complain "as a user: $(cat user.said)"
says user "^overview of $P/out: 65534 CapEff:.0000000000000000"

# A failure has one message, and the shares of time take its place.
report 'echo half; exit 4'
on_terminal failed '' -- "${brief[@]}"
says failed '^ovni-bpf: no overview: ovni-report ended with status 4$'
says failed "threads' time"
# shellcheck disable=SC2016 # that shell expands it
report 'kill -KILL $$'
on_terminal killed '' -- "${brief[@]}"
says killed '^ovni-bpf: no overview: ovni-report was killed by a signal$'
# shellcheck disable=SC2016 # that shell expands it
report 'kill -INT $$'
on_terminal struck '' -- "${brief[@]}"
says struck '^ovni-bpf: no overview: ovni-report was interrupted$'
report 'echo ready; exec sleep 60'
on_terminal endless '^C' -- "${brief[@]}"
says endless 'ovni-bpf: no overview: ovni-report was interrupted$'
says endless "threads' time"
if [ -n "$LONG" ]; then
	start=$(date +%s)
	report 'exec sleep 60'
	on_terminal late '' -- "${brief[@]}"
	says late '^ovni-bpf: no overview: ovni-report took longer than 10 s$'
	expect "it takes ten seconds, not sixty" [ $(($(date +%s) - start)) -lt 45 ]
fi
rm -f bin/ovni-report
on_terminal missing '' -- "${brief[@]}"
says missing '^ovni-bpf: no overview: cannot run ovni-report in the folder of ovni-bpf: No such file'
judge missing

# The real one, of a trace with more than one screen, as it is installed: without a pager.
cp "$B/bin/ovni-report" bin
on_terminal real '' -- "$WORKLOADS/spinners"
silent real 'no overview'
says real '^./real: '
says real '[Ff]indings|nothing found'
says real 'spinner-[01]'
finish
