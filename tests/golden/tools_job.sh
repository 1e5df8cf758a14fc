#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The directory of a job: each missing piece (a node, its loom, its file, job.json, a rank) is a reason, with its
# name and status 3; a rank in two looms is refused; files of hostile bytes are read within bounds, without
# links, and shown without control characters.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
make_trace whole <<'E'
thread n1 1 1 ovni.rank=0 ovni.nranks=2 bpf.events="2" bpf.session.t0="0" bpf.session.t1="1000" bpf.session.lost="0" bpf.session.streams="1" bpf.session.counts={"events":"2"}
0 OHx i32:0 i32:-1 u64:0
1000 OHe
thread n2 2 2 ovni.rank=1 ovni.nranks=2 bpf.events="2" bpf.session.t0="0" bpf.session.t1="1000" bpf.session.lost="0" bpf.session.streams="1" bpf.session.counts={"events":"2"}
0 OHx i32:0 i32:-1 u64:0
1000 OHe
E
mkdir whole/node
echo '{"version":1,"key":"k","launcher":"srun","ranks":2,"nodes":2}' >whole/job.json
for n in 1 2; do
	echo '{"state":"complete","threads":1,"events":2,"lost":0,"members":[{"rank":'$((n - 1))'}]}' >whole/node/n$n.json
done

judge() { # STATUS PATTERN COMMAND...
	local want=$1 pattern=$2 got=0
	shift 2
	timeout 20 "$@" >got 2>said || got=$?
	cat got >>said
	[ $got = "$want" ] || fail "$*: status $got, not $want"
	grep -q -- "$pattern" said || fail "$*: does not say '$pattern'"
	! LC_ALL=C grep -q "$(printf '[\001-\010\016-\037\177]')" said || fail "$*: control characters"
}
all() { # STATUS PATTERN: the programs that judge a trace
	judge "$1" "$2" "$B/bin/ovni-check" damaged
	judge "$1" "$2" "$B/bin/ovni-report" cpu damaged
	rm -rf out
	judge "$1" "$2" "$B/bin/ovni-emu" -o out damaged
	! grep -q 'error: ' said || [ "$1" = 1 ] || fail "an error, and status $1"
}
damaged() { rm -rf damaged; cp -R whole damaged; }

damaged
all 0 ''
judge 0 'nodes *2 of 2\|2 of 2 nodes' "$B/bin/ovni-info" damaged
damaged && sed -i 's/,"nodes":2//' damaged/job.json
judge 0 'job  *2 nodes complete, 2 of 2 ranks recorded' "$B/bin/ovni-info" damaged
# the ranks of a job that no launcher has told the recorders: ovni-job
damaged && sed -i 's/"ranks":2,//' damaged/job.json && sed -i 's/"state"/"ranks":4,"state"/' damaged/node/n2.json
all 3 'ranks 2-3 of 4 are not recorded'
# the clocks of the nodes: 2000 ns in 1 s are 2 ppm
damaged && cat >damaged/clock-offsets.txt <<'E'
rank hostname offset_median offset_mean offset_std begin end offset_end bound
0 n1 0 0 0 0 1000000000 0 0
1 n2 -1000000000000 0 0 0 1000000000 -999999998000 4100
E
judge 0 '^ *n2  *1  *1  *2  *0  *-1000.000000000 s  +2.000 ppm  4.1 us  complete$' "$B/bin/ovni-info" damaged
judge 0 '"clock_drift_ppm": *2,' "$B/bin/ovni-info" --json damaged
# a host whose streams are all left out has a row all the same; one without a loom is a mistake
sed -i 's/"finished": *1/"finished": 0/' damaged/loom.n2/proc.2/thread.2/stream.json
rm -rf out
judge 3 'the whole stream is left out' "$B/bin/ovni-emu" --tolerant -o out damaged
sed -i 's/ n2 / n3 /' damaged/clock-offsets.txt
rm -rf out
judge 1 "no loom of the trace is on the host 'n3'" "$B/bin/ovni-emu" --tolerant -o out damaged
damaged && rm -r damaged/loom.n2
all 3 'loom.n2 is missing'
damaged && rm damaged/node/n2.json
all 3 '1 of 2 nodes left nothing'
damaged && rm damaged/job.json
all 3 'job.json is missing'
damaged && rm -r damaged/job.json damaged/loom.n2
all 3 'job.json is missing; loom.n2 is missing'
damaged && sed -i 's/"ranks":2/"ranks":4/' damaged/job.json
all 3 'ranks 2-3 of 4 are not recorded'
damaged && sed -i 's/complete/recording/' damaged/node/n1.json
all 3 'the recorder of node n1 has not ended'
damaged && sed -i 's/complete","threads"/failed","why":"no \\u001b[1m\\u0007privilege","threads"/' damaged/node/n2.json
all 3 'node n2 is failed: no .*privilege'
for value in '"x"' 1e19 -1 2147483648 null '[]' '{}'; do
	damaged && sed -i "s/\"ranks\":2,\"nodes\":2/\"ranks\":$value,\"nodes\":$value/" damaged/job.json
	judge 0 '' "$B/bin/ovni-check" damaged
	damaged && sed -i "s/\"rank\":1/\"rank\":$value/" damaged/node/n2.json
	judge 3 'rank 1 of 2 is not recorded' "$B/bin/ovni-check" damaged
done
damaged && sed -i 's/"ranks":2/"ranks":1000001/' damaged/job.json # more are not listed
judge 0 '' "$B/bin/ovni-check" damaged
damaged && printf '{"state":"complete","threads":1,"members":[' >damaged/node/n2.json
all 3 'a file of a node is damaged (see ovni-info)'
judge 1 'error: .*node/n2.json' "$B/bin/ovni-info" damaged
damaged && python3 -c 'print("{\"members\":[" + "{\"rank\":1}," * 100000 + "{}]}")' >damaged/node/n2.json
all 3 'node n2 is without a state'
damaged && python3 -c 'print("[" * 100000)' >damaged/node/n2.json
all 3 'a file of a node is damaged'
for file in job.json node/n2.json; do
	damaged && rm damaged/$file && ln -s /dev/zero damaged/$file
	all 3 'is damaged'
	damaged && rm damaged/$file && ln -s /etc/passwd damaged/$file
	all 3 'is damaged'
	! grep -q root: said || fail "$file: the link is followed"
	damaged && rm damaged/$file && mkfifo damaged/$file
	all 3 'is damaged'
	damaged && truncate -s 1T damaged/$file
	all 3 'is damaged'
done
damaged && rm -r damaged/node && ln -s ../whole/node damaged/node
all 1 'links in a trace are not followed'
damaged && cp damaged/node/n1.json "damaged/node/$(printf 'e\033[1m').json"
all 3 'loom.e.*is missing'
damaged && sed -i 's/"rank": *1/"rank":0/' damaged/node/n2.json damaged/loom.n2/proc.2/thread.2/stream.json
rm -rf out
judge 1 'rank 0' "$B/bin/ovni-emu" -o out damaged

# CLOCK_REALTIME of the nodes, which is asked for: n2 is 1000 s ahead, and n1 ran 400 ns before it
damaged && sed -i 's/"state"/"begin":{"clock":"5000","realtime_ns":"1790000000000005000"},"state"/' damaged/node/n1.json
sed -i 's/"state"/"begin":{"clock":"1000000005000","realtime_ns":"1790000000000005400"},"state"/' damaged/node/n2.json
python3 - damaged/loom.n2/proc.2/thread.2 <<'P'
import struct, sys
path = sys.argv[1] + "/stream.obs"
data = bytearray(open(path, "rb").read())
at = 8
while at < len(data): # without large payloads
    struct.pack_into("<q", data, at + 4, struct.unpack_from("<q", data, at + 4)[0] + 10**12)
    at += 12 + (data[at] & 15) + (data[at] & 15 > 0)
open(path, "wb").write(data)
P
emulated() { awk -F: '/^2/ && $7 == 4 && $8 == 1 { print $6 }' out/thread.prv | sort -n | xargs; } # the begins
cp -R damaged clocked
for words in '' '--to 1s' '--looms n2'; do
	rm -rf out
	# shellcheck disable=SC2086 # words
	judge 3 'warning: the clocks of 2 nodes are compared by CLOCK_REALTIME: as good as the nodes. NTP or PTP, not bounded' \
		"$B/bin/ovni-emu" -q $words --clock=realtime -o out clocked
	[ "$(emulated)" = "$([ "$words" = '--looms n2' ] && echo 400 || echo 0 400)" ] || fail "realtime $words: $(emulated)"
done
rm -rf out
judge 3 'looms without a table' "$B/bin/ovni-emu" -o out clocked
! grep -q REALTIME said || fail "CLOCK_REALTIME that nobody asked for"
[ "$(emulated)" = "0 1000000000000" ] || fail "not asked for: $(emulated)"
for file in n1 n2; do
	rm -rf out damaged && cp -R clocked damaged && sed -i 's/"begin"/"x"/' damaged/node/$file.json
	judge 1 "--clock=realtime: node/$file.json does not say which CLOCK_REALTIME" "$B/bin/ovni-emu" --clock=realtime -o out damaged
	judge 1 "--clock=realtime: node/$file.json does not say" "$B/bin/ovni-emu" --to 1s --clock=realtime -o out damaged
done
rm -rf damaged && cp -R clocked damaged && sed -i 's/"realtime_ns":"179/"realtime_ns":"-912/' damaged/node/n2.json
judge 1 'node/n2.json: begin: its clocks are out of range' "$B/bin/ovni-emu" --clock=realtime -o out damaged
rm -rf damaged && cp -R clocked damaged && cp damaged/node/n2.json damaged/node/n2.x.json
judge 1 "two files are of the host 'n2'" "$B/bin/ovni-emu" --clock=realtime -o out damaged
judge 1 '--clock=realtime: node/n1.json does not say' "$B/bin/ovni-emu" --clock=realtime -o out whole
judge 2 'excludes --compat and -c' "$B/bin/ovni-emu" --clock=realtime --compat -o out clocked
judge 2 'excludes --compat and -c' "$B/bin/ovni-emu" --clock=realtime -c /dev/null -o out clocked

# ---- a second step of the same job: an application of its own, with the same rank numbers ----
make_trace steps <<'E'
thread n1 1 1 ovni.rank=0 ovni.nranks=1 bpf.events="2" bpf.session.t0="0" bpf.session.t1="1000" bpf.session.lost="0" bpf.session.streams="1" bpf.session.counts={"events":"2"}
0 OHx i32:0 i32:-1 u64:0
1000 OHe
thread n1.app2 1 1 ovni.app_id=2 ovni.rank=0 ovni.nranks=1 bpf.events="2" bpf.session.t0="0" bpf.session.t1="1000" bpf.session.lost="0" bpf.session.streams="1" bpf.session.counts={"events":"2"}
0 OHx i32:0 i32:-1 u64:0
1000 OHe
E
mkdir steps/node
for app in 1 2; do
	dot=$([ $app = 1 ] || echo .app$app)
	echo '{"version":1,"key":"k'$app'","job":"j","launcher":"srun","ranks":1,"nodes":1}' >"steps/job$dot.json"
	echo '{"app_id":'$app',"state":"complete","threads":1,"events":2,"lost":0,"members":[{"rank":0}]}' >"steps/node/n1$dot.json"
done
damaged() { rm -rf damaged; cp -R steps damaged; }
damaged
all 0 ''
judge 0 '2 of 2 nodes complete, 2 of 2 ranks recorded' "$B/bin/ovni-info" damaged
judge 0 '^ *n1.app2  *0  *1  *2  *0  .*complete$' "$B/bin/ovni-info" damaged
# the row of a host is that of all its looms
printf 'rank hostname offset_median offset_mean offset_std\n0 n1 5 5.0 0\n' >damaged/clock-offsets.txt
rm -rf out
judge 0 '' "$B/bin/ovni-emu" -o out damaged
damaged && rm damaged/node/n1.app2.json
all 3 '1 of 1 nodes of application 2 left nothing; rank 0 of 1 of application 2 is not recorded'
damaged && rm damaged/node/n1.json
all 3 '1 of 1 nodes of application 1 left nothing; rank 0 of 1 of application 1 is not recorded'
damaged && rm damaged/job.app2.json
all 3 'job.app2.json is missing'
damaged && rm damaged/job.json
all 3 'job.json is missing'
damaged && rm damaged/job.json damaged/node/n1.json
all 3 'job.json is missing'
damaged && rm -r damaged/loom.n1.app2
all 3 'loom.n1.app2 is missing'
damaged && sed -i 's/complete/recording/' damaged/node/n1.app2.json
all 3 'the recorder of node n1.app2 has not ended'
for value in '"x"' 1e19 -1 0 1001 null '[]'; do # as without a number: the first one has both nodes
	damaged && sed -i "s/\"app_id\":2/\"app_id\":$value/" damaged/node/n1.app2.json
	all 3 '1 of 1 nodes of application 2 left nothing'
done
damaged && sed -i 's/"app_id":2/"app_id":1000/' damaged/node/n1.app2.json
all 3 'job.app3.json is missing; job.app4.json is missing'
damaged && printf '{' >damaged/job.app2.json
all 3 'damaged'
damaged && rm damaged/job.app2.json && ln -s /dev/zero damaged/job.app2.json
all 3 'is damaged'
