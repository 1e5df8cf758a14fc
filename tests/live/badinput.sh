#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Bad input gets one clear sentence and the right exit status. A row: status, words that the
# message must have (one pattern), the arguments. Nothing may be left in the folder.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

mkdir exists && echo keep >exists/file
ln -s "$T" link
: >file

while read -r status pattern arguments; do
	[ -n "$status" ] || continue
	# shellcheck disable=SC2086 # words
	try "$status" "${pattern//_/ }" "$RECORDER" $arguments
done <<'E'
2 no_target
2 unrecognized|unknown               --nonsense
2 unrecognized|invalid               -X
2 needs_an_argument                  -p
2 give_only_one_target                 -a -p 1
2 give_only_one_target                 -p 1 -- true
2 either_-p_or_-t                      -p 1 -t 1
2 excludes_-q                          -a -v -q
2 needs                              -a --force
2 needs                              -a --no-follow
2 abc                                -p abc
2 -5                                 -p -5
2 12x                                -p 12x
2 process|number|0                   -p 0
1 no_(such_)?process|not_exist       -p 4194304
1 no_(such_)?process|not_exist       -p 1,4194304
1 no_(such_)?thread|not_exist        -t 4194304
2 duration|time|10x                  -a -d 10x
2 duration|time|-1                   -a -d -1s
2 duration|time                      -a -d 0
2 size|buffer|abc                    -a -b abc
2 size|buffer                        -a -b 0
2 512M                               -a -b 1G
2 CPU_?list|list|x                   -a -C x
2 CPU_5000|5000                      -a -C 5000
2 list|3-1                           -a -C 3-1
2 time_or_a_size|unit                -a --rotate 10
2 time_or_a_size|unit                -a --rotate x
2 64K                                -a --rotate 10K
2 100ms                              -a --rotate 1ms
2 needs                              -a --keep 2
2 number                             -a --rotate 1s --keep 0
2 needs                              -a --rotate 1s --emulate
2 needs                              -a --rotate 1s --html
2 needs                              -a --mode summary --html
2 needs                              -a --rotate 1s --perfetto x
2 time_or_a_size|unit                -a --last 10
2 time_and_a_size                    -a --last 10s,20s
2 1M                                 -a --last 10K
2 100ms                              -a --last 1ms,64M
2 excludes_--last                    -a --last 1s --rotate 1s
2 needs                              -a --trigger latency>1ms
2 latency>5ms                        -a --last 1s --trigger latency
1 no_probe_has_this_name               -a --last 1s --trigger nosuchfunction
2 a_time_is                          -a --last 1s --trigger latency>x
2 drop-new_or_drop-old               -a --on-full wait
2 drop-old                           -a --last 1s --on-full drop-new
2 --max-size                         -a --last 1s --max-size 1G
2 needs                              -a --last 1s --emulate
1 exists|--force                     -a -d 1 -o exists
1 not_a_trace|no_trace|holds         -a -d 1 --force -o exists
1 not_a_directory|file               -a -d 1 -o file/out
1 link                               -a -d 1 -o link
1 no_such_file|cannot_create|create  -a -d 1 -o no/such/place
1 no_command|find                    -o cmd -- /no/such/command
1 no_command|find                    -o cmd -- no-such-command
1 permission|denied|cannot           -o cmd -- /etc/passwd
1 cgroup                             --cgroup /no/such/group -d 1
E

[ "$(cat exists/file)" = keep ] || complain "a folder that is not a trace was changed"
[ ! -e cmd ] || [ -z "$(find cmd -name stream.json)" ] || complain "a command that never ran has a stream"

# A thread that has ended, and is not yet waited for.
python3 - >zombie.pid <<'E' &
import os, time
child = os.fork() or os._exit(0)
print(child, flush=True)
time.sleep(600)
E
parent=$!
zombie() { [ -s zombie.pid ] && grep -qs '^[0-9]* (.*) Z' "/proc/$(cat zombie.pid)/stat"; }
wait_until zombie || complain "there is no zombie"
try 1 'has ended' "$RECORDER" -t "$(cat zombie.pid)" -d 1 -o zombie
try 1 'has ended' "$RECORDER" -p "$(cat zombie.pid)" -d 1 -o zombie
kill $parent
for way in '-a' '--mode off -- true'; do
	# shellcheck disable=SC2016 # the other shell expands it
	try 1 'cannot write standard output: no space' bash -c 'exec "$0" --dry-run '"$way"' >/dev/full' "$RECORDER"
done

# Conditions of the machine are made in another mount namespace.
namespace=(unshare --mount --propagation private bash -c)

no_btf='mount -t tmpfs none /sys/kernel/btf && exec "$@"'
try 1 BTF "${namespace[@]}" "$no_btf" - "$RECORDER" -a -d 1 -o nobtf

mkdir small
# A full disk: one message, and possibly a second one with the losses.
full='mount -t tmpfs -o size=256k none small && cd small && exec "$@"'
"${namespace[@]}" "$full" - "$RECORDER" -q -o out -- "$WORKLOADS/pingpong" -n 20000 >full.log 2>&1
status=$?
[ $status = 1 ] || complain "full disk: status $status instead of 1"
[ "$(grep -ci 'no space' full.log)" = 1 ] || complain "full disk: $(cat full.log)"
# Larger buffers are no advice against a full disk.
"${namespace[@]}" "$full" - "$RECORDER" -o out -- "$WORKLOADS/storm" -n 8 -l 20000 >full.log 2>&1
[ $? = 1 ] || complain "full disk: not status 1"
if grep -q ' dropped_full=0 dropped_user=[1-9]' full.log; then
	expect "what was left is told" grep -q 'left in the buffers when the recording was cut short' full.log
	grep -q 'larger buffers' full.log && complain "full disk: $(cat full.log)"
elif ! grep -q ' dropped_full=[1-9]' full.log; then
	complain "full disk: nothing was lost: $(cat full.log)"
fi

readonly='mount -t tmpfs -o ro none small && cd small && exec "$@"'
try 1 'read-only' "${namespace[@]}" "$readonly" - "$RECORDER" -a -d 1 -o out

install -m 755 "$RECORDER" "$T/recorder"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --ambient-caps=-all)
P=$(mktemp -d /tmp/ovni-public.XXXXXX) && chmod 1777 "$P" && mv "$T/recorder" "$P"
trap 'rm -rf "$P"' EXIT
try 1 'CAP_BPF.*CAP_PERFMON' "${nobody[@]}" "$P/recorder" -a -d 1 -o "$P/out"
[ ! -e "$P/out" ] || complain "a recording that was not permitted left a folder"
finish
