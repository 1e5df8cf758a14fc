#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The block requests of I/O sleeps, as --why=io records them, in a made trace: ovni-dump, Paraver's types 309 and 310,
# the time of interrupts in the same event, a part, two nodes with the same number of a device; hostile ones.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
session='bpf.session={"io":true,"irq":true,"devices":{"254:1":"vda1","8:0":"s\u001bda","8:x":"bad","9:9":7}} ovni.require={"ovni":"1.1.0","bpf":"1.0.0"}'
make_trace trace <<END
thread n 1 1 bpf.name="a" $session
1000 OHx i32:0 i32:-1 u64:0
2000 OHp u16:3 i32:0 u16:17 u64:3
5000 OHw i32:-2 i32:0 u32:0 u32:2
5100 OAs i32:1
5100 OHr u32:300 u32:266338305 u64:2251799813689344
6000 OHp u16:3 i32:0
7000 OHw i32:-2
7100 OHr u32:0 u32:8388608 u64:18446462598732841984
8000 OHp u16:3 i32:0
8500 OHw i32:-2
8600 OHr
8700 OHp u16:1 i32:0
8800 OHw i32:-2 i32:0 u32:0 u32:9
8900 OHr u32:7 u32:12582913 u64:5
9000 OHe
END
dump() { "$B/bin/ovni-dump" "$@" >got 2>err || fail "ovni-dump $*: $(cat err)"; }
dump trace
sed -n 's/^ *[0-9]*  \(OH[wr]\)  [^ ]*  \(.*\)/\1 \2/p' got >lines
diff - lines <<'END' || fail "ovni-dump"
OHw warms up: is about to run, woken by thread -2 (an interrupt), at the device for 2 us
OHr resumes on its CPU, after a read of 4096 bytes at sector 4096 of device 254:1, interrupts took 300 ns from its last run
OHw warms up: is about to run, woken by thread -2 (an interrupt)
OHr resumes on its CPU, after a write of 16776704 or more bytes at sector 1024 of device 8:0
OHw warms up: is about to run, woken by thread -2 (an interrupt)
OHr resumes on its CPU
OHw warms up: is about to run, woken by thread -2 (an interrupt), at the device for 9 us
OHr resumes on its CPU, after a read of 0 bytes at sector 5 of device 12:1, interrupts took 7 ns from its last run
END
dump --json trace
grep '"clock":"5100","mcv":"OHr"' got | grep -q '"device":"254:1","sector":4096,"sectors":8,"write":false,"interrupts":300,' || fail "ovni-dump --json: $(cat got)"
grep '"clock":"5000"' got | grep -q '"device_us":2,' || fail "ovni-dump --json: $(cat got)"
"$B/bin/ovni-report" why --csv trace | grep -q '^a (1),.*,running,.*,307,' || fail "interrupts"
"$B/bin/ovni-check" trace >said 2>&1 || fail "ovni-check: $(cat said)"

# By thread and device; a sleep that a thread or nobody known ended has none; a part, all together.
report() { # ARGUMENTS...: the expected output is standard input
	"$B/bin/ovni-report" io --csv "$@" >got 2>err || fail "ovni-report io $*: $(cat err)"
	diff - got || fail "ovni-report io $*"
}
report trace <<'END'
thread,tid,pid,name,rank,device,sleeps,reads,writes,bytes_read,bytes_written,asleep,at_device,max,max_at
a (1),1,1,a,,vda1 (254:1),1,1,0,4096,0,3000,2000,3000,1000
a (1),1,1,a,,s\x1bda (8:0),1,0,1,0,16776704,1000,0,1000,5000
a (1),1,1,a,,,1,,,,,500,,500,7000
a (1),1,1,a,,12:1,1,1,0,0,0,100,9000,100,7700
END
report --by all --from 6500 --to 8000 trace <<'END'
thread,tid,pid,name,rank,device,sleeps,reads,writes,bytes_read,bytes_written,asleep,at_device,max,max_at
all threads,,,,,s\x1bda (8:0),1,0,1,0,16776704,1000,0,1000,5000
END
make_trace plain <<<'thread n 1 1 bpf.name="a"'
! "$B/bin/ovni-report" io plain >got 2>err && grep -q 'plain has no requests of I/O sleeps: ovni-bpf --why=io records them' err || fail "none: $(cat err)"

# Paraver: from OHp to OHr, of I/O sleeps alone; names, printable ones.
"$B/bin/ovni-emu" -q -o out trace 2>said || fail "ovni-emu: $(cat said)"
grep -A 4 '^0 309' out/thread.pcf | sed -n '3,4p' >values
printf '%s\n' '1    vda1 (254:1)' '2    s\x1bda (8:0)' | diff -b - values || fail "names: $(grep -A 5 309 out/thread.pcf)"
grep -o '^2:[^:]*:1:1:1:[0-9]*\|:309:[0-9]*\|:310:[0-9]*' out/thread.prv | tr -d '\n' | sed 's/2:0:1:1:1:/\n/g' | grep : >types
printf '%s\n' 1000:309:1:310:2 4100:309:0:310:0 5000:309:2 6100:309:0 | diff - types || fail "types: $(cat types)"

# A part keeps them; two nodes name the device of each.
"$B/bin/ovni-cut" -o part --from 1500 --to 5500 trace 2>said || fail "ovni-cut: $(cat said)"
dump part
grep -q 'sector 4096 of device 254:1' got || fail "a part"
make_trace nodes <<END
thread n 1 1 $session
1000 OHx i32:0 i32:-1 u64:0
2000 OHp u16:3 i32:0
3000 OHw i32:0
5000 OHr u32:0 u32:266338305 u64:5
5100 OHe
thread m 1 1 bpf.session={"io":true} ovni.require={"ovni":"1.1.0","bpf":"1.0.0"}
1000 OHx i32:0 i32:-1 u64:0
2000 OHp u16:3 i32:0
3000 OHw i32:0
5000 OHr u32:0 u32:266338305 u64:5
5100 OHe
END
"$B/bin/ovni-emu" -q -o nodes.out nodes 2>said || fail "two nodes: $(cat said)"
grep -A 6 '^0 309' nodes.out/thread.pcf | grep 'on ' >values
grep -q 'device (254:1) on m' values && grep -q 'vda1 (254:1) on n' values || fail "two nodes: $(cat values)"
