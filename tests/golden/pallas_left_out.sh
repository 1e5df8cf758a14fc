#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-pallas print, stats and info of an archive with a thread that recorded nothing, and with one whose file is damaged,
# missing, or no file: the others are there, a warning names the thread, the status is 3; import and check refuse.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
marks='ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"work"}}}'
make_trace trace <<END
thread n 1 1 bpf.name="first" $marks
1000 OHx i32:0 i32:-1 u64:0
1200 OM[ i64:1 i32:0
1500 OM] i64:1 i32:0
2000 OHe
thread n 1 2 bpf.name="silent" $marks
thread n 1 3 bpf.name="third" $marks
1000 OHx i32:1 i32:-1 u64:0
1300 OM[ i64:1 i32:0
1400 OM] i64:1 i32:0
2000 OHe
END
"$B/bin/ovni-pallas" export trace whole >said 2>&1 || fail "export: $(cat said)"
pallas() { # WANTED_STATUS ARGUMENTS...
	local want=$1 status=0
	shift
	"$B/bin/ovni-pallas" "$@" >got 2>err || status=$?
	[ $status = "$want" ] || fail "ovni-pallas $*: status $status, expected $want: $(cat err)"
}
commands=("print" "print --threads" "print --tsv" "print --attributes" "stats" "stats --loops" "stats --sequences" "info" "info --grammar")
rows() { # COMMAND: the lines of the threads 0 and 1 (the first and the silent one)
	case $1 in
	*--tsv | *--attributes) grep -P '^0\t[01]\t' got || true ;;
	print*) grep -w 'first\|silent' got || true ;;
	*) grep "'first'\|'silent'\|^ *0 *[01] \(first\|silent\)\|^thread [01]" got || true ;;
	esac
}
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086 # words
	pallas 0 $command whole
	rows "$command" >"want.${command// /}"
done
[ "$(wc -l <want.print) $(wc -l <want.print--tsv)" = "8 8" ] || fail "the threads of the whole archive: $(cat want.print)"
for fault in cut missing directory; do
	rm -rf broken
	cp -r whole broken
	file=broken/archive_0/thread_2/thread.pallas
	case $fault in
	cut) truncate -s -5 $file ;;
	missing) rm $file ;;
	directory) rm $file && mkdir $file ;;
	esac
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # words
		pallas 3 $command broken
		rows "$command" | diff "want.${command// /}" - || fail "$fault: $command"
		! grep -qw third got || fail "$fault: $command has the thread"
		grep -q '^ovni-pallas: warning: .*thread_2/thread.pallas.*; the thread is left out$' err && [ "$(wc -l <err)" = 1 ] ||
			fail "$fault: $command: $(cat err)"
	done
	rm -rf imported
	pallas 1 import broken imported
	pallas 1 check broken
done
rm -r broken/archive_0/thread_{0,1}/thread.pallas
pallas 1 stats broken
grep -q 'error: broken: no thread can be read' err || fail "no thread: $(cat err)"
