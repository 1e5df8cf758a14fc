#!/bin/bash
# SPDX-License-Identifier: MIT
#
# While the recorder writes, as root, another user replaces folders and files of the trace, at every
# level and the trace itself, by symbolic links to a folder of root. Nothing there changes, also
# when the emulator and the repair read the result.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

mkdir victim
host=$(uname -n)
# Everything that a path inside the trace could mean is there to be damaged.
for below in "" "loom.$host" "loom.$host/proc.1" "proc.1" "thread.1"; do
	mkdir -p "victim/$below"
	for file in stream.obs stream.json stream.json.new stats.json thread.prv keep; do
		echo keep >"victim/$below/$file"
	done
done
state() { (cd victim && find . -printf '%p %y %s %T@\n' | sort && find . -type f -exec cat {} +); }
state >before

cat >racer.py <<'E2'
import os, random, sys, time

# Half a second, and as long as it takes for 40 exchanges on a busy machine. Where the recorder has ended with
# an error, nothing may be left to exchange.
top, victim, begin = sys.argv[1], os.path.abspath(sys.argv[2]), time.monotonic()
random.seed(int(sys.argv[3]))
done, last = 0, begin
while time.monotonic() < (begin + 0.5 if done >= 40 else last + 5):
    places = [top]
    for folder, folders, files in os.walk(top):
        places += [os.path.join(folder, name) for name in folders + files
                   if not os.path.islink(os.path.join(folder, name))]
        if len(places) > 200:
            break
    place = random.choice(places)
    aside = place + ".aside"
    target = victim if os.path.isdir(place) else os.path.join(victim, "stream.obs")
    try:
        os.rename(place, aside)
        os.symlink(target, place)
        done += 1
        last = time.monotonic()
        time.sleep(random.random() * 0.004)
        if not os.path.islink(place):
            continue
        os.unlink(place)
        os.rename(aside, place)
    except OSError:
        pass
print(done)
E2
done=0
for round in 1 2 3 4 5; do
	rm -rf out out.* ovni ovni.*
	options=(-o out)
	[ $round != 4 ] || options=(--rotate 100ms -o out)
	[ $round != 5 ] || options=(--force -o out)
	[ $round != 5 ] || "$RECORDER" -q -o out -- true
	"$RECORDER" --flush-interval 10ms "${options[@]}" -a >round.log 2>&1 &
	recorder=$!
	wait_until [ -d out ] || complain "no output: $(cat round.log)"
	done=$((done + $(python3 racer.py out victim $round)))
	wait_until recording round $recorder # before that, SIGINT is ignored in the background
	kill -INT $recorder
	wait $recorder
	status=$?
	# a recorder that was ending already, after an error, is ended by the signal
	[ $status = 130 ] && grep -q 'error: .*the recording ends' round.log && status=1
	[ $status -le 3 ] && [ $status != 2 ] || complain "round $round: status $status: $(cat round.log)"
	state >after
	diff before after >differences || complain "round $round: what a link points to was changed: $(head -n 5 differences)"
	# Programs that process the trace afterwards do not leave it, either.
	ln -s "$T/victim" "out/loom.$host/proc.9" 2>/dev/null
	"$EMULATOR" out >/dev/null 2>&1
	"$B/bin/ovni-check" --repair --in-place out >/dev/null 2>&1
	"$B/bin/ovni-sort" out >/dev/null 2>&1
	state >after
	diff before after >differences || complain "round $round: a tool followed a link: $(head -n 5 differences)"
done
echo "$done exchanges"
expect "there were exchanges" [ $done -ge 50 ]

# Outputs of the emulator that are links already.
"$RECORDER" -q -o plain -- true
for file in thread.prv thread.pcf thread.row cpu.prv cfg; do
	rm -rf plain/cfg plain/thread.* plain/cpu.*
	ln -s "$T/victim/keep" plain/$file
	"$EMULATOR" plain >/dev/null 2>&1
done
state >after
diff before after >differences || complain "the emulator followed a link: $(cat differences)"
finish
