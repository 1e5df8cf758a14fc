#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --cgroup: threads are in the trace while they are in the cgroup or below it, also those that are
# moved there and away, which ends their stream and begins it again.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# shellcheck disable=SC2016 # the other shell expands it
[ -e namespace ] || exec unshare --mount --propagation private bash -c \
	'cd "$1" && mkdir namespace groups && mount -t cgroup2 none groups && exec "$2"' - "$T" "$0" ||
	skip "no cgroups of version 2"
G=$T/groups/ovni-test.$$
mkdir -p "$G/inner" "$G.other" || skip "no cgroup can be made here"
trap 'rmdir "$G/inner" "$G" "$G.other"' EXIT

# Naps in the cgroup, in one below it, in another one, and in the first again.
cat >wanders.sh <<'E2'
naps() {
	echo $$ >"$1/cgroup.procs"
	read -r up _ </proc/uptime
	for ((i = 0; i < 5; i++)); do read -rt 0.01 _ <>fifo; done
	echo "$2=$up"
}
naps "$1" first; naps "$1/inner" inner; naps "$1.other" other; naps "$1" again
echo "pid=$$"
E2
mkfifo fifo
"$RECORDER" -o out --cgroup "$G" >out.log 2>&1 &
recorder=$!
wait_recording out $recorder
bash wanders.sh "$G" >out.report
bash -c 'exec sleep 0.02' # is in no cgroup of ours
kill -INT $recorder
wait $recorder || complain "--cgroup: $(cat out.log)"
judge out
facts out <<'E2'
stream = trace.thread(said["pid"])
check([s.pid for s in trace.streams] == [said["pid"]], "streams:", trace.streams)
ends = [e.mcv for e in stream.events if e.mcv in ("OHx", "OHe")]
check(ends == ["OHx", "OHe", "OHx", "OHe"], "lives:", ends)
away = stream.of("OHx")[1].clock - stream.of("OHe")[0].clock
check(away > 30_000_000, "five naps of 10 ms in another cgroup took", away, "ns")
E2

# By its path below the mount point; as a link; a path that is no cgroup.
try 1 'no such cgroup' "$RECORDER" -d 100ms -o none --cgroup "$G.none"
try 1 'no such cgroup' "$RECORDER" -d 100ms -o none --cgroup "$T"
"$RECORDER" -q -d 100ms -o empty --cgroup "$G/inner/" || complain "an empty cgroup: status $?"
judge empty
finish
