#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-info: the maker, the contents and the completeness of a trace.
set -eu
info() { "$B/bin/ovni-info" "$@" 2>"$T/said"; }
. "$S/tests/golden/tools_lib.sh"
session='bpf.session={"version":"1.2.3","commit":"abc","kernel":"6.1","machine":"x86_64","options":["ovni-bpf","-a"],"t0":"5","t1":"999","lost":"0"}'
make_trace "$T/a" <<END
thread node1 7 7 bpf.name="main" bpf.cgroup="/job.slice" bpf.rank=1 bpf.nranks=2 bpf.command=["./solver","--fast"] ovni.require={"ovni":"1.1.0","nosv":"2.7.0","bpf":"1.0.0"} $session
10 OHx i32:0 i32:-1 u64:0
1500010 OHe
thread node1 7 8 bpf.name="worker" bpf.cgroup="/job.slice/vcpu"
20 OHx i32:1 i32:-1 u64:0
25 OHp u16:1 i32:0
30 OHw i32:7
35 OHr
40 OHe
thread node2 9 9 ovni.app_id=2 ovni.rank=3 ovni.nranks=4
15 OHx i32:1 i32:-1 u64:0
45 OHe
END
info -t "$T/a" >"$T/got" || fail "it failed"
sed -i '1d' "$T/got"
cat >"$T/want" <<'END'
made by     ovni-bpf 1.2.3 (abc): ovni-bpf -a
kernel      6.1 x86_64
duration    1.500 ms
events      9 in 3 streams, 166 bytes
lost        0
complete?   complete, as the recorder says
loom        node1: 4 CPUs, 2 threads
loom        node2: 4 CPUs, 1 thread
model       ovni 1.1.0
model       nosv 2.7.0 (without events)
model       bpf 1.0.0
process     7: rank 1 of 2, application 1, 2 threads, cgroup /job.slice and others:
            ./solver --fast
process     9: rank 3 of 4, application 2, 1 thread, cgroup unknown
thread      7/7 main: 2 events, cgroup /job.slice
thread      7/8 worker: 5 events, cgroup /job.slice/vcpu
thread      9/9 : 2 events
END
diff "$T/want" "$T/got" || fail "the summary"
info --json "$T/a" | python3 -c '
import json, sys
a = json.load(sys.stdin)
assert a["events"] == "9" and a["duration"] == "1500000", a
assert a["processes"][1] == {"name": "9", "threads": 1, "loom": "node2", "app_id": 2, "rank": 3, "nranks": 4}, a
assert a["processes"][0]["rank"] == 1 and a["processes"][0]["nranks"] == 2, a
assert a["threads"][1]["name"] == "worker" and a["threads"][1]["finished"], a
assert a["session"]["kernel"] == "6.1" and a["session"]["lost"] == "0", a' || fail "JSON"
# The emulator names the rows of a rank, if any stream has it.
mkdir "$T/b" && cp -r "$T/a/loom.node1" "$T/b"
"$B/bin/ovni-emu" "$T/b" 2>"$T/said" || fail "it is not emulated"
sed '1,/LEVEL THREAD/d' "$T/b/thread.row" >"$T/got"
printf '%s\n' 'main rank 1 (7)' 'worker rank 1 (8)' | diff - "$T/got" || fail "the rows of a rank"
"$B/bin/ovni-emu" --compat "$T/b" 2>"$T/said" || fail "it is not emulated"
grep -q 'rank' "$T/b/thread.row" && fail "--compat: names of ours"
printf 'OB' >>"$T/a/loom.node2/proc.9/thread.9/stream.obs"
status=0; info "$T/a" >"$T/got" || status=$?
[ $status = 1 ] || fail "a cut stream gives status $status"
grep -q '^complete? *damaged' "$T/got" || fail "a cut stream is not reported"
