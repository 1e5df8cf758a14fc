#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The channel from a simulator to `ovni-loom record`: the files are those that the writer makes, to the
# byte, in every mode and of random runs; a killed simulator, a killed recorder, a full disk and hostile
# bytes end in bounded time with their status, and what arrived before is a valid run. And the settings
# in OVNI_LOOM: those of the environment make the files that the same options make.
set -u
cd "$T" || exit 1
loom=$B/bin/ovni-loom
status=0

wrong() {
	echo "$*"
	status=1
}

flags=()
nm "$B/libovni-loom.a" 2>/dev/null | grep -q __asan && flags=("-fsanitize=address,undefined")
for program in loomsim loom_random; do
	"${CC:-gcc}" -std=gnu11 "${flags[@]}" -o $program -I "$B/include" "$S/tests/golden/$program.c" "$B/libovni-loom.a" ||
		exit 1
done

until_true() { # COMMAND...: waits for a condition, a minute at most
	for _ in $(seq 3000); do
		"$@" && return 0
		sleep 0.02
	done
	wrong "never: $*"
	return 1
}

recorder() { # RUN: starts one, which listens at ./socket
	: >said # that of the one before
	"$loom" record -o "$1" socket >said 2>&1 &
	pid=$!
	until_true grep -q waiting said
}

ends() { # STATUS TEXT: of the recorder
	local code=0
	wait $pid || code=$?
	[ $code = "$1" ] || wrong "status $code, not $1: $(cat said)"
	grep -q -- "$2" said || wrong "without '$2': $(cat said)"
	[ ! -e socket ] || wrong "the socket is still there"
}

equal() { # A B: the files of two runs
	local file n=0
	for file in "$1".*; do
		cmp "$file" "$2.${file#"$1".}" || wrong "$file: other bytes came"
		n=$((n + 1))
	done
	[ "$(find . -name "$2.*" | wc -l)" = $n ] || wrong "$2: other files than $1"
}

export OVNI_LOOM
for mode in full summary snapshots legacy drop; do
	cores=2 code=0
	[ $mode != legacy ] || cores=1
	[ $mode != drop ] || code=3
	OVNI_LOOM="" ./loomsim file 300 $cores 16 $mode >want || wrong "$mode: not written"
	recorder sent
	OVNI_LOOM="channel=socket" ./loomsim none 300 $cores 16 $mode >got || wrong "$mode: not sent"
	ends $code "'sent': "
	diff want got || wrong "$mode: another account"
	equal file sent
	rm -f file.* sent.*
done
[ -z "$(find . -name 'none.*')" ] || wrong "files beside the channel"

echo "random runs"
OVNI_LOOM="" ./loom_random 40 || exit 1
mkdir files && mv random.* files
for seed in $(seq 40); do
	recorder "random.$seed"
	OVNI_LOOM="channel=socket" ./loom_random "$seed" "$seed" || wrong "seed $seed: not sent"
	wait $pid || [ $? = 3 ] || wrong "seed $seed: $(cat said)"
	(cd files && ls random."$seed".*) | while read -r file; do
		cmp "files/$file" "$file" || echo "seed $seed"
	done >differs
	[ ! -s differs ] || wrong "$(cat differs)"
	rm -f random."$seed".*
done

echo "a simulator that is killed: a valid run up to there"
OVNI_LOOM="" ./loomsim whole 20000 1 16 snapshots >/dev/null
recorder cut
OVNI_LOOM="channel=socket" ./loomsim none 900000000 1 16 snapshots >/dev/null 2>&1 &
simulator=$!
big() { [ "$(stat -c %s cut.trace.bin 2>/dev/null || echo 0)" -gt 20000000 ]; } # more than the whole run
until_true big
kill -9 $simulator
wait $simulator 2>/dev/null
ends 3 "incomplete: the simulator ended before the end of the run"
"$loom" check --strict cut >verdict || wrong "not valid: $(cat verdict)"
grep -q "O9" verdict || wrong "the check does not see the missing end"
python3 - <<'END' || wrong "the cut run is not the begin of the whole one"
import json
cut, whole = (open(name + ".trace.bin", "rb").read()[16:] for name in ("cut", "whole"))
assert len(cut) % 38 == 0 and cut.startswith(whole[:-38]) and len(cut) > len(whole)
a, b = (json.load(open(name + ".perf.json")) for name in ("cut", "whole"))
assert a["events"]["written"] == a["events"]["seen"] == len(cut) // 38, a["events"]
assert a["snapshots"][:3000] == b["snapshots"][:3000] and len(a["snapshots"]) > 3000
last = int.from_bytes(cut[-38:-30], "little")
assert a["window"] == {"first_cycle": 0, "end_cycle": last + 1, "total_cycles": last + 1}, a["window"]
assert a["controls"] == b["controls"] and a["clock"] == b["clock"]
END

echo "a recorder that is stopped, and one that is killed: the simulator says so and ends"
OVNI_LOOM="" ./loomsim full 20000 1 16 full >/dev/null
for signal in TERM KILL; do
	rm -f cut.*
	recorder cut
	OVNI_LOOM="channel=socket" ./loomsim none 900000000 1 16 full >simulated 2>&1 &
	simulator=$!
	until_true big
	kill -$signal $pid
	wait $simulator && wrong "$signal: the simulator succeeded"
	grep -q "recorder of the channel has ended" simulated || wrong "$signal: $(cat simulated)"
	if [ $signal = TERM ]; then
		ends 3 "incomplete: the recorder was stopped"
		"$loom" check cut >verdict || wrong "TERM: not valid: $(cat verdict)"
	else
		wait $pid 2>/dev/null || true
		# the last write may be cut, and the header older than it
		python3 - <<'END' || wrong "KILL: the records are not those of the simulator"
cut, whole = (open(name + ".trace.bin", "rb").read()[16:] for name in ("cut", "full"))
assert len(cut) > len(whole) and cut.startswith(whole[:-38])
END
	fi
done

echo "a full disk: the recorder fails, and the simulator gets the reason"
rm -f cut.*
: >said
(
	trap '' XFSZ
	ulimit -f 2000
	exec "$loom" record -o cut socket
) >said 2>&1 &
pid=$!
until_true grep -q waiting said
OVNI_LOOM="channel=socket" ./loomsim none 900000000 1 16 full >simulated 2>&1 && wrong "full disk: the simulator succeeded"
grep -q "File too large" simulated || wrong "full disk: $(cat simulated)"
ends 1 "cannot write the run 'cut': File too large"
"$loom" check --perf - cut.trace.bin >verdict || wrong "full disk: the records are not valid: $(cat verdict)"
recorder no/such/folder
OVNI_LOOM="channel=socket" ./loomsim none 10 >simulated 2>&1 && wrong "no folder: the simulator succeeded"
ends 1 "cannot write the run 'no/such/folder': No such file"

echo "no recorder, two simulators, a socket of a killed recorder, a file in its place"
OVNI_LOOM="channel=socket" ./loomsim none 10 2>&1 | grep -q "no recorder listens at the channel" || wrong "no recorder"
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
recorder cut
OVNI_LOOM="channel=socket" ./loomsim none 10 >/dev/null || wrong "a stale socket"
ends 0 "'cut': "
echo text >socket
"$loom" record -o cut socket 2>said && wrong "a file is no socket"
[ "$(cat socket)" = text ] || wrong "the file is gone"
grep -q "cannot listen at 'socket': Address already in use" said || wrong "a file: $(cat said)"
rm socket

echo "hostile bytes: bounded in memory, time and files"
recorder hostile
kill -TERM $pid
ends 1 "no simulator came"
cat >hostile.py <<'END'
import os, random, resource, socket, struct, subprocess, sys
program, seeds = sys.argv[1], range(int(sys.argv[2]), int(sys.argv[3]))
HELLO = b"LOOMCHAN" + struct.pack("<IBBBx", 1, 0, 0, 0)
counts = lambda *n: struct.pack("<5Q", *n)
record = lambda cycle: struct.pack("<QIQHIBBHII", cycle, 1, 1, 0, 0, 5, 0, 0, 0, 0)
message = lambda kind, data: struct.pack("<II", kind, len(data)) + data
BEGIN = b'{\n  "schema": "loom-perf", "version": 1, "snapshots": ['
good = [message(1, HELLO), message(3, BEGIN), message(4, b""), message(2, record(7)), message(5, counts(1, 1, 0, 0, 0)),
        message(3, b"],"), message(6, counts(1, 1, 0, 0, 0))]


def attempt(data, want, name="hostile"):
    recorder = subprocess.Popen([program, "record", "-o", name, "socket"], stderr=subprocess.PIPE,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    assert b"waiting" in recorder.stderr.readline()
    s = socket.socket(socket.AF_UNIX)
    s.connect("socket")
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while s.recv(4096):
            pass
    except OSError:
        pass
    said = recorder.communicate(timeout=60)[1].decode("utf-8")  # printable: it is valid text
    assert recorder.returncode in want, (recorder.returncode, want, said, data[:200])
    assert not any(ord(c) < 32 and c != "\n" for c in said), said
    assert "Sanitizer" not in said and "runtime error" not in said, said
    return said


attempt(b"".join(good), {0})
for n in range(len(good)):  # each message is missed, or its stream cut
    attempt(b"".join(good[:n]), {3} if n else {1})
    attempt(b"".join(good[:n] + good[n + 1:]), {0: {1}, 3: {1}, 6: {3}}.get(n, {0}))
attempt(message(1, HELLO) + struct.pack("<II", 2, 1 << 31), {1})         # a length that nothing may have
attempt(message(1, HELLO) + message(2, record(1)[:-1]), {1})             # no whole record
attempt(message(1, HELLO) + message(1, HELLO), {1})                      # twice
attempt(message(1, HELLO[:8] + b"\2" + HELLO[9:]), {1})                  # another version
attempt(message(1, HELLO[:12] + b"\1\0\0\0") + message(2, record(1)), {1})  # records in mode summary
attempt(good[0] + message(6, counts(5, 5, 0, 0, 0)), {1})                # more than came
attempt(good[0] + message(5, counts(1, 1 << 63, 1 << 63, 1, 0)), {1})    # a sum beyond 64 bits
for seed in seeds:
    random.seed(seed)
    data = bytearray(b"".join(random.choice(good) for _ in range(random.randrange(12))) if seed % 3 else b"".join(good))
    for _ in range(random.choice((1, 2, 9))):
        at = random.randrange(len(data) + 1)
        if random.random() < 0.7 and at < len(data):
            data[at] = random.randrange(256)
        else:
            data[at:at + random.randrange(9)] = os.urandom(random.randrange(40))
    attempt(bytes(data), {0, 1, 3})
END
python3 hostile.py "$loom" "${SEED:-1}" $((${SEED:-1} + ${LONG:+1900} + 100)) || wrong "hostile bytes"
rm -f hostile.*.* hostile.p* 

echo "settings in the environment are those of the program"
same() { # SETTINGS MODE SETTINGS MODE: the same records; and the same declaration
	OVNI_LOOM="$1" ./loomsim one 300 2 16 "$2" >one.said && OVNI_LOOM="$3" ./loomsim two 300 2 16 "$4" >two.said ||
		wrong "$1, $3: failed"
	diff one.said two.said || wrong "$1 and $3: accounts"
	equal one two
	rm -f one.* two.*
}
same "mode=summary" full "" summary
same "mode=full" summary "" full
same ";mode=full;" full "" full
OVNI_LOOM="mode=off" ./loomsim none 300 >/dev/null || wrong "off"
[ -z "$(find . -name 'none.*')" ] || wrong "off: files"
OVNI_LOOM="" ./loomsim all 300 2 16 full >/dev/null
OVNI_LOOM="kinds=fire,start,done;cores=1;nodes=1,2,1:12;sample=1/3" ./loomsim some 300 2 16 full >said || wrong "filters: $(cat said)"
"$loom" check some >verdict || wrong "filters: not valid: $(cat verdict)"
python3 - <<'END' || wrong "filters: other records"
import collections, json, struct
def records(name):
    data = open(name + ".trace.bin", "rb").read()[16:]
    return [data[at:at + 38] for at in range(0, len(data), 38)]
seen, want = collections.Counter(), []
for r in records("all"):
    cycle, epoch, invocation, core, node, kind = struct.unpack_from("<QIQHIB", r)
    if kind not in (0, 5, 6) or core != 1 or (kind == 0 and node not in (1, 2, 12)):
        continue
    seen[node, kind] += 1
    if kind >= 5 or seen[node, kind] % 3 == 1:
        want.append(r)
got = records("some")
assert got == want and len(got) > 30, (len(got), len(want))
perf = json.load(open("some.perf.json"))
assert perf["controls"]["kinds"] == ["NODE_FIRE", "INVOCATION_START", "INVOCATION_DONE"], perf["controls"]
assert perf["controls"]["cores"] == [1] and perf["controls"]["sampling"] == {"keep": 1, "of": 3}
assert perf["snapshots"] == json.load(open("all.perf.json"))["snapshots"]  # counters precede filters
END
refused() { # SETTINGS TEXT
	OVNI_LOOM="$1" ./loomsim none 10 2>said && wrong "$1: taken"
	grep -qF "none: OVNI_LOOM: $2" said || wrong "$1: $(cat said)"
	[ -z "$(find . -name 'none.*')" ] || wrong "$1: files"
}
refused "mode=half" "mode=half: a mode is full, summary or off"
refused "modes=full" "modes=full: a setting is mode, kinds, cores, nodes, sample or channel"
refused "mode" "mode: a setting is NAME=VALUE"
refused "mode=full;kinds=fires" "kinds=fires: "
refused "sample=3/2" "sample=3/2: "
refused "channel=" "channel=: the path of a socket is missing"
refused "$(printf 'mode=%0300d' 0)" "mode=0"
OVNI_LOOM="sample=1/2" ./loomsim none 10 1 8 legacy 2>said && wrong "upstream's statistics declare no sampling"
grep -q "options contradict" said || wrong "legacy: $(cat said)"
OVNI_LOOM="channel=$(printf '%0200d' 0)" ./loomsim none 10 2>&1 | grep -q "File name too long" || wrong "a long path"
# the tool writes runs, too, and has options of its own
"$loom" import all -o trace 2>/dev/null && OVNI_LOOM="mode=half" "$loom" export trace --layout packed38 -o packed 2>said ||
	wrong "export: $(cat said)"
exit $status
