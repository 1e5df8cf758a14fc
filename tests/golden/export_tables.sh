#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-export --sqlite and --csv: rows worked out by hand; each question of docs/export.md, answered
# from the database, equals ovni-report to the ns, also of a part, of time that was not recorded, and of a trace of
# another program; the files have the rows of the database; hostile names stay values; incomplete
# and damaged traces; a full disk, and outputs that must not be replaced, leave nothing behind.
set -eu
. "$S/tests/golden/tools_lib.sh"
cd "$T"
export_it() { # WANTED_STATUS ARGUMENTS...
	local want=$1 status=0
	shift
	"$B/bin/ovni-export" "$@" >said 2>&1 || status=$?
	[ $status = "$want" ] || fail "ovni-export $*: status $status, expected $want"
}
agree() { # TRACE STATUS [--culprits] [OPTIONS]
	local trace=$1 status=$2 culprits=
	shift 2
	[ "${1-}" != --culprits ] || { culprits=$1; shift; }
	rm -rf t.sqlite t-csv
	export_it "$status" --sqlite "$@" -o t.sqlite "$trace"
	export_it "$status" --csv "$@" -o t-csv "$trace"
	python3 -B "$S/tests/golden/export_tables.py" "$B/bin" "$S/docs/export.md" "$trace" t.sqlite t-csv $culprits "$@" \
		>said 2>&1 || fail "$trace $*"
}
make_trace trace <<'END'
thread n 1 1 bpf.name="Robert');DROP_TABLE_threads;--" bpf.session={"t0":"1000","t1":"3000","lost":"5","realtime":{"begin":{"clock":"1000","ns":"1700000000000000000"},"utc_offset":3600}} ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"<script>","2":"g,\u0022h\u000a","3":"\ud83d\ude00"}},"5":{"title":"Counter","chan_type":"single"}}
1000 OHx i32:0 i32:-1 u64:0
1100 OM[ i64:1 i32:0
1150 OM[ i64:2 i32:0
1200 OHp u16:6 i32:9
1200 OHw i32:-1
1500 OHr
1550 OM] i64:2 i32:0
1560 OM[ i64:1 i32:0
1570 OM] i64:1 i32:0
1600 OM] i64:1 i32:0
1700 OHp u16:1 i32:2
2500 OHw i32:2
2600 OHr
2610 OM[ i64:3 i32:0
2650 MS[
2700 OM[ i64:5 i32:92
2720 OM] i64:5 i32:92
2750 MS]
2755 OM= i64:-7 i32:5
3000 OHe
thread n 1 2 bpf.name="b"
1000 OHx i32:-1 i32:-1 u64:0
1000 OHp u16:1 i32:0
1650 OHw i32:1
1660 OAs i32:0
1701 OHr
2001 OAs i32:1
2401 OHp u16:3 i32:0
2401 OHw i32:99
2450 OAs i32:2
2501 OHr
2501 OHp u16:12 i32:0
2501 OHw i32:-1
3000 OAs i32:-1
3000 OHr
3000 OHe
thread m 7 1 bpf.name="other_loom"
1100 OHx i32:0 i32:-1 u64:0
1100 KCO u16:6 i32:8
1300 KCI i32:1
1400 KCO u16:1 i32:0
2800 KCI i32:0
2900 OHe
END
agree trace 3 --culprits
same() { # TABLE: its file is standard input
	diff - "t-csv/$1.csv" >got || fail "$1.csv"
}
same intervals <<'END'
thread,state,reason,begin_ns,end_ns,duration_ns,cpu,ended_by,next_tid,call,lock_owner,lock_owner_tid,stack,waker_stack
0,running,,1100,1100,0,0,preempted,8,,,,,
1,running,,1000,1200,200,0,preempted,9,,,,,
0,runnable,preempted,1100,1300,200,0,,,,,,,
0,running,,1300,1400,100,1,sleeping,0,,,,,
1,runnable,preempted,1200,1500,300,0,,,,,,,
2,asleep,sleeping,1000,1650,650,,,,,,,,
1,running,,1500,1700,200,0,sleeping,2,,,,,
2,runnable,woken,1650,1660,10,-1,,,,,,,
2,runnable,woken,1660,1701,41,0,,,,,,,
2,running,,1701,2001,300,0,moved,,,,,,
2,running,,2001,2401,400,1,io,0,,,,,
1,asleep,sleeping,1700,2500,800,,,,,,,,
2,runnable,woken,2401,2450,49,1,,,,,,,
2,runnable,woken,2450,2501,51,2,,,,,,,
2,running,,2501,2501,0,2,throttled,0,,,,,
1,runnable,woken,2500,2600,100,0,,,,,,,
0,asleep,sleeping,1400,2800,1400,,,,,,,,
0,running,,2800,2900,100,0,exited,,,,,,
1,running,,2600,3000,400,0,exited,,,,,,
2,throttled,,2501,3000,499,2,,,,,,,
END
same waits <<'END'
thread,begin_ns,end_ns,duration_ns,cpu,waker_kind,waker,waker_tid
1,1200,1500,300,0,stayed,,
2,1650,1701,51,0,thread,1,1
2,2401,2501,100,2,thread,,99
1,2500,2600,100,0,thread,2,2
END
same regions <<'END'
thread,function,begin_ns,end_ns,duration_ns,depth,nested,returned,running_ns,runnable_ns,throttled_ns,asleep_ns,unknown_ns
1,1,1150,1550,400,1,0,1,100,300,0,0,0
1,0,1560,1570,10,1,1,1,10,0,0,0,0
1,0,1100,1600,500,0,0,1,200,300,0,0,0
1,3,2650,2750,100,1,0,1,100,0,0,0,0
1,2,2610,3000,390,0,0,0,390,0,0,0,0
END
same functions <<'END'
function,name,type
0,<script>,Function
1,"g,""h\x0a",Function
2,😀,Function
3,MPI_Send,mpi function
END
same threads <<'END'
thread,process,loom,tid,pid,name,cgroup,kernel,life_begin_ns,life_end_ns
0,0,m,1,7,other_loom,,0,1100,2900
1,1,n,1,1,Robert');DROP_TABLE_threads;--,,0,1000,3000
2,1,n,2,1,b,,0,1000,3000
END
printf '%s\n' thread,cpu,begin_ns,end_ns,events 1,0,2700,2720,5 | same losses
printf '%s\n' thread,clock_ns,type,title,value,label 1,2755,5,Counter,-7, | same marks
for line in schema_version,1, lost,5, 'complete,0,the recorder lost 5 events' damaged,0, first_event,1000, \
	realtime,1700000000000000000, realtime_clock,1000, utc_offset,3600,; do
	grep -qx "$line" t-csv/meta.csv || fail "meta.csv: $line"
done

# Time that was not recorded: the end of a run, a sleep, the begin of a wait.
make_trace unsure <<'END'
thread n 1 1 bpf.name="a"
1000 OHx i32:0 i32:-1 u64:0
1500 OHp u16:1 i32:2 u64:200
1700 OHw i32:0
1800 OHr
2000 OHp u16:6 i32:2
2000 OHw i32:-1
2300 OHr u64:100
2400 OHp u16:1 i32:0
2600 OHw i32:0 u64:50
2700 OHr
2900 OHe u64:60
thread n 1 2 bpf.name="b"
1000 OHx i32:1 i32:-1 u64:0
1200 OHp u16:6 i32:0
1200 OHw i32:-1
1300 OAs i32:2
1500 OAs i32:1
1500 OHr u64:300
1700 OHp u16:6 i32:0
1700 OHw i32:-1
1800 OAs i32:2
1900 OAs i32:1
2000 OHr
2100 OHe
END
agree unsure 0
same intervals <<'END'
thread,state,reason,begin_ns,end_ns,duration_ns,cpu,ended_by,next_tid,call,lock_owner,lock_owner_tid,stack,waker_stack
1,running,,1000,1200,200,1,preempted,0,,,,,
0,running,,1000,1300,300,0,lost,,,,,,
0,unknown,lost,1300,1500,200,,,,,,,,
1,unknown,lost,1200,1500,300,,,,,,,,
0,asleep,sleeping,1500,1700,200,,,,,,,,
1,running,,1500,1700,200,1,preempted,0,,,,,
0,runnable,woken,1700,1800,100,0,,,,,,,
0,running,,1800,2000,200,0,preempted,2,,,,,
1,runnable,preempted,1700,1800,100,1,,,,,,,
1,runnable,preempted,1800,1900,100,2,,,,,,,
1,runnable,preempted,1900,2000,100,1,,,,,,,
1,running,,2000,2100,100,1,exited,,,,,,
0,unknown,lost,2000,2300,300,,,,,,,,
0,running,,2300,2400,100,0,sleeping,0,,,,,
0,unknown,lost,2400,2700,300,,,,,,,,
0,running,,2700,2840,140,0,lost,,,,,,
0,unknown,lost,2840,2900,60,,,,,,,,
END

# System calls of sleeps: a descriptor with its name, an unknown number, a fault; hostile names. None of a wait, or of
# the time before T0.
make_trace calls <<'END'
thread n 1 1 bpf.session.machine="x86_64" bpf.fds=[{"fd":3,"name":"/a,\"b\"\u001b[2J","from":"1","to":"9000"}]
1000 OHx i32:0 i32:-1 u64:0
1100 OHp u16:1 i32:0 u16:0 u64:3
1200 OHw i32:0
1300 OHr
1400 OHp u16:3 i32:0 u16:0 u64:4
1600 OHw i32:0
1700 OHr
1800 OHp u16:1 i32:0 u16:0 u64:3
1900 OHw i32:0
1950 OHr
2000 OHp u16:1 i32:0 u16:9999
2100 OHw i32:0
2150 OHr
2200 OHp u16:2 i32:0 u16:0xffff u64:4096
2300 OHw i32:0
2350 OHr
2400 OHp u16:6 i32:0
2400 OHw i32:-1
2450 OHr
2500 OHe
END
agree calls 0
agree calls 0 --from 1150 --to 2250
"$B/bin/ovni-export" --csv -o calls.csv calls
python3 -B - <<'END' || fail "system calls"
import csv
rows = [(r["begin_ns"], r["call"]) for r in csv.DictReader(open("calls.csv/intervals.csv")) if r["call"]]
assert rows == [("1100", 'read(3 = /a,"b"\\x1b[2J)'), ("1400", "read(4)"), ("1800", 'read(3 = /a,"b"\\x1b[2J)'), ("2000", "call 9999"),
                ("2200", "fault")], rows
END

# What --why=lock, stack and irq record: owners, in the trace and outside; stacks, once each; interrupts, of a part by its share.
# A damaged file of stacks costs the stacks alone.
make_trace details <"$S/tests/golden/export_details.txt"
printf 'ovni-bpf stacks 1\n7\tfutex_wait+0x1;do_futex+0x2;take@pool.so+0x1a@pool.c:40;[prog+0x1149]@0fb7\n8\t=7\t9\n9\twake+0x1\n10\tunused+0x1\n' >details/stacks
agree details 0
grep asleep t-csv/intervals.csv >got
diff - got <<'END' || fail "owners and stacks"
1,asleep,uninterruptible,3000,4000,1000,,,,,,,8,9
0,asleep,sleeping,2000,5000,3000,,,,futex,1,2,7,
0,asleep,sleeping,6000,7000,1000,,,,futex,,99,,
END
same stacks <<'END'
stack,depth,function,frame
8,0,futex_wait,futex_wait+0x1
8,1,do_futex,do_futex+0x2
8,2,take,take@pool.so+0x1a@pool.c:40
8,3,[prog+0x1149],[prog+0x1149]@0fb7
9,0,wake,wake+0x1
7,0,futex_wait,futex_wait+0x1
7,1,do_futex,do_futex+0x2
7,2,take,take@pool.so+0x1a@pool.c:40
7,3,[prog+0x1149],[prog+0x1149]@0fb7
END
printf '%s\n' thread,begin_ns,end_ns,interrupts_ns 0,1000,2000,300 0,7100,8000,50 0,8100,10000,1024 | same interrupts
export_it 0 --csv --from 1500 --to 4500 -o piece.csv details
printf '%s\n' thread,begin_ns,end_ns,interrupts_ns 0,1500,2000,150 | diff - piece.csv/interrupts.csv >got || fail "interrupts of a part"
"$B/bin/ovni-report" why --csv --from 1500 --to 4500 details | grep -q '^waiter (1),.*,running,.*,150,' || fail "interrupts of a part, by ovni-report"
cp -r details torn
printf 'no stacks\n' >torn/stacks
export_it 1 --csv -o torn.csv torn
[ "$(wc -l <torn.csv/stacks.csv) $(grep -c ',1,2,,$' torn.csv/intervals.csv)" = '1 1' ] || fail "a damaged file of stacks"

# Requests of I/O sleeps.
make_trace requests <<'END'
thread n 1 1 bpf.name="a" bpf.session={"io":true,"devices":{"254:1":"vda1"}} ovni.require={"ovni":"1.1.0","bpf":"1.0.0"}
1000 OHx i32:0 i32:-1 u64:0
2000 OHp u16:3 i32:0
5000 OHw i32:-2 i32:0 u32:0 u32:2
5100 OHr u32:0 u32:266338305 u64:2251799813689344
6000 OHp u16:3 i32:0
7000 OHw i32:-2
7100 OHr u32:0 u32:266338305 u64:18446462598732841984
8000 OHe
END
agree requests 0
same requests <<'END'
thread,clock_ns,major,minor,sector,bytes,write,at_device_ns,asleep_ns
0,5100,254,1,4096,4096,0,2000,3000
0,7100,254,1,1024,16776704,1,0,1000
END

# A wait with more moves than are kept: the CPU of its rest is unknown.
{ printf '%s\n' 'thread n 1 1' '1000 OHx i32:0 i32:-1 u64:0' '1100 OHp u16:6 i32:0' '1100 OHw i32:-1'
	for ((i = 0; i < 5000; i++)); do echo "$((1200 + i)) OAs i32:$((1 + i % 2))"; done
	printf '%s\n' '9000 OHr' '9100 OHe'; } | make_trace moves
export_it 0 --csv -o moves.csv moves
grep runnable moves.csv/intervals.csv | awk -F, '{ n++; sum += $6; last = $0 }
	END { exit !(n == 4098 && sum == 7900 && last == "0,runnable,preempted,5296,9000,3704,,,,,,,,") }' ||
	fail "moves: $(grep runnable moves.csv/intervals.csv | tail -n 2)"

# A part: intervals are cut, waits that touch it and calls within it are there; chosen threads.
export_it 3 --csv --from 1160 --to 1560 --comm 'R*' -o part trace
diff - part/intervals.csv >got <<'END' || fail "the intervals of a part"
thread,state,reason,begin_ns,end_ns,duration_ns,cpu,ended_by,next_tid,call,lock_owner,lock_owner_tid,stack,waker_stack
1,running,,1160,1200,40,0,preempted,9,,,,,
1,runnable,preempted,1200,1500,300,0,,,,,,,
1,running,,1500,1560,60,0,sleeping,2,,,,,
END
[ "$(wc -l <part/waits.csv) $(wc -l <part/regions.csv) $(wc -l <part/threads.csv)" = "2 2 4" ] || fail "rows of a part"
# Traces of other programs, of all models.
for name in syn-random-06 syn-kernel-switches syn-nodes-tampi-mpi-nosv-random; do
	agree "$CONFORMANCE/emu/$name/trace" 0
done

# Damage: the part before it, status 1. No events. Outputs that must not be replaced. A full disk.
cp -r trace cut
truncate -s -5 cut/loom.n/proc.1/thread.1/stream.obs
for format in sqlite csv; do
	export_it 1 --$format -o cut.$format cut
	grep -q 'the file ends where the trace is damaged' said || fail "damage"
done
grep -qx damaged,1, cut.csv/meta.csv && grep -qx 'complete,0,.*' cut.csv/meta.csv || fail "damage in meta"
make_trace none <<<'thread n 1 1'
export_it 1 --csv none
grep -q 'no event to export' said && [ ! -e none-csv ] || fail "no event"
mkdir folder
ln -s elsewhere link
for format in sqlite csv; do
	for output in folder link /dev/null absent/file; do
		export_it 1 --$format -o $output trace
		grep -q "cannot write '$output'" said || fail "$output"
	done
done
[ ! -e elsewhere ] && rmdir folder || fail "an output was followed or replaced"
echo old >old
for format in sqlite csv; do
	(
		trap '' XFSZ
		ulimit -f 0
		status=0
		text=$("$B/bin/ovni-export" --$format -o old-$format trace 2>&1) || status=$?
		[ $status = 1 ] && [[ $text == *"cannot write 'old-$format"* ]]
	) || fail "a full disk, $format"
	[ ! -e old-$format ] || fail "half an output"
done
[ "$(find . -name '*.part')" = '' ] || fail "half a file is left"
export_it 2 --csv --sqlite trace
grep -q 'one run writes one format' said || fail "two formats"
export_it 2 --csv --split 1M trace
