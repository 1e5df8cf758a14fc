#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-convert: the dumps that the specifications print go through byte for byte; unknown and
# old events are changed only if asked; every rule of version 1 is checked.
set -eu
convert() { status=0; "$B/bin/ovni-convert" "$@" >"$T/got" 2>&1 || status=$?; }
. "$S/tests/golden/tools_lib.sh"
expect() { [ "$status" = "$1" ] || fail "status $status, not $1: $2"; }
has() { grep -qF -- "$1" "$T/got" || fail "it does not say: $1"; }
bytes() { tr -d ' \n' | python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))'; }
old() { # DIR: a trace of version 1 with one thread, whose events come from standard input
	mkdir -p "$1/loom.n1/proc.5"
	echo '{"version": 1, "app_id": 3, "cpus": [{"index": 0, "phyid": 4}, {"index": 1, "phyid": 2}]}' \
		>"$1/loom.n1/proc.5/metadata.json"
	cat >"$1/loom.n1/proc.5/thread.7"
}
a=loom.n1/proc.5/thread.7

# The long dump of version 1: it has no header and no end.
bytes >"$T/v1.events" <<'END'
0f 4f 48 78 58 c1 b0 b5 95 43 11 00 00 00 00 00
ff ff ff ff 00 00 00 00 00 00 00 00 00 36 53 72
ab cb b0 b5 95 43 11 00 00 36 53 73 78 c3 b9 b5
95 43 11 00 00 36 53 40 87 a4 c2 b5 95 43 11 00
00 36 53 68 9c 4b cb b5 95 43 11 00 00 36 53 66
85 44 d4 b5 95 43 11 00 00 36 53 5b cb e7 dc b5
95 43 11 00 00 36 53 5d cf ca e5 b5 95 43 11 00
00 36 53 75 8c db ee b5 95 43 11 00 00 36 53 55
5a 70 f8 b5 95 43 11 00 00 36 55 5b 1b ae 01 b6
95 43 11 00 00 36 55 5d aa 19 0b b6 95 43 11 00
END
# The dump of version 3, with its header; its task events have 4 bytes.
bytes >"$T/v3.obs" <<'END'
6f 76 6e 69 01 00 00 00 0f 4f 48 78 08 ba 2e 5c
b5 b0 00 00 00 00 00 00 ff ff ff ff 00 00 00 00
00 00 00 00 13 56 59 63 3c c2 2e 5c b5 b0 00 00
0e 00 00 00 01 00 00 00 74 65 73 74 74 79 70 65
31 00 07 56 54 63 43 cc 2e 5c b5 b0 00 00 01 00
00 00 01 00 00 00 03 56 54 78 03 cd 2e 5c b5 b0
00 00 01 00 00 00 03 56 54 70 2b 7d 37 5c b5 b0
00 00 01 00 00 00 03 56 54 72 c3 4d 40 5c b5 b0
00 00 01 00 00 00 03 56 54 65 03 36 49 5c b5 b0
00 00 01 00 00 00 00 4f 48 65 f5 36 49 5c b5 b0
00 00
END
header() { printf 'ovni\1\0\0\0'; }

old "$T/one" <"$T/v1.events"
convert -o "$T/three" "$T/one"
expect 3 "the dump of version 1: its thread executes to the end"
has "one is incomplete: 1 stream is not finished"
(header; cat "$T/v1.events") | cmp - "$T/three/$a/stream.obs" || fail "it is not byte for byte"
for event in 6Sh 6Sf 6Su 6SU; do has "$event: no present model knows this event; 1 kept"; done
"$B/bin/ovni-dump" "$T/three" >"$T/dumped" 2>"$T/got" && fail "the converted trace looks complete"
has "it was made from an incomplete trace: 1 stream is not finished"
python3 - "$T/three/$a/stream.json" <<'END' || fail "the metadata"
import json, sys
meta = json.load(open(sys.argv[1]))
assert meta["version"] == 3
ovni = meta["ovni"]
assert (ovni["loom"], ovni["pid"], ovni["tid"], ovni["app_id"]) == ("n1", 5, 7, 3), ovni
assert ovni["part"] == "thread" and ovni["finished"] == 1
assert ovni["loom_cpus"] == [{"index": 0, "phyid": 4}, {"index": 1, "phyid": 2}], ovni
assert ovni["require"] == {"ovni": "1.1.0", "nanos6": "1.1.0"}, ovni
END

# With a header it is the same.
(header; cat "$T/v1.events") | old "$T/headed"
convert "$T/headed"
expect 3 "with a header"
cmp "$T/headed.v3/$a/stream.obs" "$T/three/$a/stream.obs" || fail "the header was taken for events"

# Without the unknown events, and with an end, it emulates.
(cat "$T/v1.events"; bytes <<<'00 4f 48 65 00 00 00 b7 95 43 11 00') | old "$T/ended"
convert --drop-unknown --modernise -o "$T/new" "$T/ended"
expect 0 "--drop-unknown"
has "4 left out"
"$B/bin/ovni-check" --strict "$T/new" >"$T/got" || fail "the converted trace is not valid"

# The dump of version 3: as it is, and with bodies.
make_trace "$T/v3" <<'END'
thread n1 5 7 ovni.require={"ovni":"1.1.0","nosv":"2.3.0"}
END
cp "$T/v3.obs" "$T/v3/$a/stream.obs"
convert "$T/v3"
expect 1 "version 3 without anything to do"
has "has version 3 already"
rm -rf "$T/v3.v3"
"$B/bin/ovni-check" "$T/v3" >"$T/got" && fail "task events without a body were accepted"
convert --drop-unknown -o "$T/same" "$T/v3"
cmp "$T/v3.obs" "$T/same/$a/stream.obs" || fail "version 3 is not byte for byte"
convert --modernise "$T/v3"
expect 0 "--modernise"
has "4 given a body"
"$B/bin/ovni-check" --strict "$T/v3.v3" >"$T/got" || fail "with bodies it is not valid"

# The single events that the texts print.
bytes <<<'00 4f 48 65 01 c5 cf 1d 96 d0 12 00' | old "$T/a"
bytes <<<'13 56 59 63 eb c1 4b 1a 96 d0 12 00 0e 00 00 00 01 00 00 00 74 65 73 74 74 79 70 65 31 00' |
	old "$T/b"
for t in a b; do
	convert "$T/$t"
	expect 0 "event $t"
	(header; cat "$T/$t/$a") | cmp - "$T/$t.v3/$a/stream.obs" || fail "event $t"
done

# The rules of version 1.
refused() { # WHAT SENTENCE: after a change of a good trace
	rm -rf "$T/bad.v3"
	convert "$T/bad"
	expect 1 "$1"
	has "$2"
	rm -rf "$T/bad"
	old "$T/bad" <"$T/v1.events"
}
meta() { echo "$1" >"$T/bad/loom.n1/proc.5/metadata.json"; }
cpus='"cpus": [{"index": 0, "phyid": 0}]'
old "$T/bad" <"$T/v1.events"
meta "{\"version\": 2, \"app_id\": 1, $cpus}"; refused "another version" "version must be 1"
meta "{\"version\": 1, \"app_id\": 0, $cpus}"; refused "application 0" "app_id must be"
meta "{\"version\": 1, $cpus}"; refused "no application" "app_id must be"
meta '{"version": 1, "app_id": 1}'; refused "no CPUs" "0 of its processes declare the CPUs"
meta '{"version": 1, "app_id": 1, "cpus": []}'; refused "empty CPUs" "at least one CPU"
meta '{"version": 1, "app_id": 1, "cpus": [{"index": 1, "phyid": 0}]}'
refused "a gap in the indices" "from 0 to N-1"
meta '{"version": 1, "app_id": 1, "cpus": [{"index": 0, "phyid": 1}, {"index": 1, "phyid": 1}]}'
refused "a CPU twice" "the same index or phyid"
meta "{\"version\": 1, \"app_id\": 1, \"rank\": 2, \"nranks\": 2, $cpus}"
refused "a rank too high" "0 <= rank < nranks"
meta 'nonsense'; refused "no JSON" "metadata.json"
cp -r "$T/bad/loom.n1/proc.5" "$T/bad/loom.n1/proc.6"
refused "CPUs declared twice" "2 of its processes declare the CPUs"
mv "$T/bad/loom.n1/proc.5" "$T/bad/loom.n1/proc.x"; refused "a name without a number" "proc. and a positive number"
mv "$T/bad/$a" "$T/bad/loom.n1/proc.5/thread.0"; refused "thread 0" "thread. and a positive number"
truncate -s -1 "$T/bad/$a"; refused "a cut event" "no whole event at byte 148"
printf 'ovni\2\0\0\0' >"$T/bad/$a"; refused "another header" "another version than 1"
