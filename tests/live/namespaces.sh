#!/bin/bash
# SPDX-License-Identifier: MIT
#
# PID namespaces and containers: -p and -t take the numbers that their caller sees, and the trace
# has those of the whole machine, wherever the recorder and the program live.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

unshare -p -f --mount-proc true 2>/dev/null || skip "no PID namespace can be made here"

# The streams of the process $pid (numbers of the machine) are those of its threads, and no others.
same_threads() { # NAME PID "TIDS"
	local have
	have=$(find "$1/loom.$(uname -n)/proc.$2" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null |
		sed 's/thread.//' | sort -n | tr '\n' ' ')
	[ "$have" = "$3" ] || complain "$1: process $2 has the streams $have instead of $3"
}
tids_of() { printf '%s\n' /proc/"$1"/task/* | sed 's/.*\///' | sort -n | tr '\n' ' '; }

# 1. The program in a namespace of its own, the recorder outside.
mkfifo gate1
WORKLOAD_REPORT=$T/inside1 WORKLOAD_GATE=$T/gate1 unshare -p -f --mount-proc \
	"$WORKLOADS/sleepers" -n 3 -s 1000000 2>/dev/null &
outer=$!
wait_until pgrep -P $outer >/dev/null
target=$(pgrep -P $outer | head -n 1)
"$RECORDER" -p "$target" -o one >one.log 2>&1 &
recorder=$!
wait_recording one $recorder
: >gate1
wait_until has_threads "$target" 4 || complain "no threads in $target"
tids=$(tids_of "$target")
kill -KILL "$target"
wait $outer 2>/dev/null
wait $recorder || complain "one: status $?: $(cat one.log)"
same_threads one "$target" "$tids"
expect "inside, the program has other numbers" grep -q 'main=1\b' inside1
judge one
expect "the namespace is in the metadata" grep -rqs '"pid"' one --include=stream.json

# 2. The recorder in a namespace, with a program that it sees as another number: -p and -t.
cat >within <<'E2'
set -u
mkfifo gate2
WORKLOAD_REPORT=$PWD/inside2 WORKLOAD_GATE=$PWD/gate2 "$WORKLOADS/sleepers" -n 2 -s 1000000 &
target=$!
echo $target >inner
for way in "-p $target -o two" "-t $target -o three"; do
	"$RECORDER" $way >"${way##* }.log" 2>&1 &
	eval "recorder${way##* }=\$!"
	for ((i = 0; i < 2000; i++)); do
		grep -q '^ovni-bpf: recording' "${way##* }.log" && break
		sleep 0.01
	done
done
: >gate2
wait $target 2>/dev/null
wait $recordertwo || echo "two: $?" >>within.wrong
wait $recorderthree || echo "three: $?" >>within.wrong
"$RECORDER" -p 999999 -o none >none.log 2>&1 && echo "a process that is not there" >>within.wrong
"$RECORDER" -o four -- "$WORKLOADS/sleepers" -n 1 -s 5 >four.log 2>&1 || echo "four: $?" >>within.wrong
E2
export WORKLOADS RECORDER
unshare -p -f --mount-proc bash ./within &
outer=$!
seen() { # the numbers that we see of the process that the inside calls $(cat inner)
	[ -s inner ] || return 1
	target=$(grep -lsxE "NSpid:.*[[:blank:]]$(cat inner)" /proc/[0-9]*/status |
		xargs -r grep -lx 'Name:.sleepers' | sed 's/[^0-9]//g' | head -n 1)
	[ -n "$target" ] && has_threads "$target" 3
}
wait_until seen || complain "the program in the namespace was not found"
tids=$(tids_of "$target")
kill -KILL "$target"
wait $outer
[ ! -e within.wrong ] || complain "in the namespace: $(cat within.wrong) $(tail -n 3 ./*.log)"
expect "the numbers differ" [ "$target" != "$(cat inner)" ]
same_threads two "$target" "$tids"
same_threads three "$target" "$target "
for name in two three four; do judge $name; done
expect "a command in the namespace" [ "$(find four -name stream.json | wc -l)" = 2 ]

# 3. The recorder in a namespace, all threads: it cannot see threads outside of it. Their time is in
# the counters, and a message says so.
sleep 30 &
sleeper=$!
(while kill -0 $sleeper 2>/dev/null; do :; done) &
busy=$!
unshare -p -f --mount-proc "$RECORDER" -a -d 100ms -o six >six.log 2>&1 || complain "six: $(cat six.log)"
unshare -p -f --mount-proc "$RECORDER" --mode summary -a -d 100ms -o seven >seven.log 2>&1 ||
	complain "seven: $(cat seven.log)"
kill $sleeper
wait $busy
judge six
expect "a summary tells it" grep -q 'warning: inside a PID namespace .* are one sum' seven.log
expect "what others ran is counted" grep -q '"unlisted": {"threads": [1-9][0-9]*, "total_ns": [1-9]' seven.stats.json
"$RECORDER" -a -d 50ms -o eight >eight.log 2>&1 || complain "eight: $(cat eight.log)"
expect "outside nothing is told" [ "$(grep -c 'PID namespace' eight.log)" = 0 ]

# 4. A container: all namespaces, and a root of its own; a machine-wide recording sees its
# threads under the numbers of the machine.
if unshare -m -u -i -n -p -C -f --mount-proc true 2>/dev/null; then
	mkdir root && cp "$WORKLOADS/sleepers" root/
	ldd "$WORKLOADS/sleepers" | grep -o '/[^ ]*' | while read -r library; do
		install -D "$library" "root$library"
	done
	mkfifo root/gate
	WORKLOAD_GATE=/gate unshare -m -u -i -n -p -C -f chroot root /sleepers -n 3 -s 1000000 &
	outer=$!
	wait_until pgrep -P $outer >/dev/null
	target=$(pgrep -P $outer | head -n 1)
	"$RECORDER" -a -o five >five.log 2>&1 &
	recorder=$!
	wait_recording five $recorder
	: >root/gate
	wait_until has_threads "$target" 4
	tids=$(tids_of "$target")
	kill -INT $recorder
	wait $recorder || complain "five: status $?: $(cat five.log)"
	kill -KILL "$target"
	wait $outer 2>/dev/null
	same_threads five "$target" "$tids"
	judge five
	python3 - five "$target" <<-'E3' || complain "the metadata of the container"
		import glob, json, sys
		doc = json.load(open(glob.glob(sys.argv[1] + "/loom.*/proc.%s/thread.%s/stream.json"
		                               % (sys.argv[2], sys.argv[2]))[0]))
		assert {"pid", "mnt", "net", "uts", "ipc"} <= set(doc["bpf"]["namespaces"]), doc["bpf"]
	E3
else
	echo "no container can be made here"
fi
finish
