#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The emulator as a program: options, exit status, output files, refusals, and each warning only
# once.
set -u
emu=$B/bin/ovni-emu
failed=0

trace() { # NAME TEXT: makes a fresh trace from emu/TEXT.txt
	rm -rf "${T:?}/$1" && "$S/tests/golden/emu_make.py" "$S/tests/golden/emu/$2.txt" "$T/$1"
}

make() { # NAME: makes a trace from what is on standard input
	cat >"$1.txt" && "$S/tests/golden/emu_make.py" "$1.txt" "$1" || failed=1
}

check() { # TITLE STATUS MESSAGE COMMAND...: status, one line with MESSAGE on standard error
	local title=$1 want=$2 message=$3 status
	shift 3
	"$@" >"$T/stdout" 2>"$T/stderr"
	status=$?
	if [ "$status" != "$want" ] || { [ -n "$message" ] && ! grep -q -- "$message" "$T/stderr"; } ||
		[ "$(grep -c 'error:' "$T/stderr")" -gt 1 ]; then
		echo "$title: status $status, expected $want and: $message"
		cat "$T/stderr"
		failed=1
	fi
}

that() { # TITLE COMMAND...: the command must succeed
	local title=$1
	shift
	"$@" || { echo "$title: not so"; failed=1; }
}

cd "$T" || exit 1
trace t states

# ---- options ----
check "help goes to standard output" 0 '' "$emu" --help
that "help names the models" grep -q 'nosv 2.7.0' stdout
check "help" 0 '' "$emu" -h
check "version" 0 '' "$emu" -V
check "version" 0 '' "$emu" --version
that "version is printed" grep -q "ovni-emu $(cat "$S/VERSION")" stdout
check "no directory" 2 'TRACEDIR is missing' "$emu"
check "unknown option" 2 'unrecognized option' "$emu" --nonsense t
check "bad number of threads" 2 '-j 0: the smallest number is 1' "$emu" -j 0 t
check "bad number of threads" 2 '-j 2x: not a whole number' "$emu" -j 2x t
check "help that nobody gets" 1 'cannot write standard output: No space' bash -c "'$emu' --help >/dev/full"
check "options after the directory are not read" 0 '' "$emu" -q t --nonsense
check "slashes at the end" 0 '' "$emu" -q t///
check "no such trace" 1 'No such file' "$emu" nowhere
check "no such table of offsets" 1 'No such file' "$emu" -c nowhere t
printf 'titles\n0 n1 1e30 0 0\n' >table
check "an offset too large" 1 'table: line 2: the offset is out of range' "$emu" -c table t
that "silent with -q" test ! -s <("$emu" -q t 2>&1)
mkdir empty
check "a trace without streams is incomplete" 3 'empty is incomplete: it has no streams' "$emu" empty
check "the reference accepts a trace without streams" 0 '' "$emu" --compat empty
that "its output has no rows" grep -q '_ns:0:1:1(0:1)$' empty/thread.prv

# ---- each deprecated feature has one warning ----
trace old old
check "deprecated events" 0 '' "$emu" -q old
for said in 'thread.3: event OCn is obsolete' 'thread.3: event 6TC is obsolete' \
	'thread.3: task 2 runs over task 1, which is running on thread 3'; do
	that "told once: $said" test "$(grep -c -- "$said" stderr)" = 1
done

# ---- where it writes ----
check "-o makes its directory" 0 '' "$emu" -q -o views t
that "same output there" cmp t/thread.prv views/thread.prv
that "configurations are copied" test -s views/cfg/thread/state.cfg
echo mine >views/cfg/thread/state.cfg
check "again" 0 '' "$emu" -q -o views t
that "configurations that are there stay" grep -q mine views/cfg/thread/state.cfg
that "those that would show nothing are not copied" test ! -e views/cfg/thread/wake-ups.cfg
that "nor those of a model that does not occur" test ! -e views/cfg/thread/mpi
check "with arrows" 0 '' "$emu" -q --arrows -o views t
that "those with arrows are added" test -s views/cfg/thread/wake-ups.cfg
that "and the others stay" grep -q mine views/cfg/thread/state.cfg
check "-o in a file" 1 'Not a directory' "$emu" -o t/thread.prv t
rm -rf out && mkdir out && ln -s "$T/victim" out/thread.prv
check "a symbolic link is not followed" 1 'symbolic link' "$emu" -o out t
that "nothing is made through it" test ! -e victim
rm -rf out && mkdir out && ln -s "$T/victim" out/cfg && mkdir victim
check "nor is one in place of cfg" 0 '' "$emu" -q -o out t
that "nothing is made through it" test -z "$(ls victim)"
rm -rf out && mkdir out
check "one writer at a time" 1 'error: out is in use by flock (pid [0-9]*): wait' flock out "$emu" -o out t
that "nothing is made beside it" test -z "$(ls out)"
check "two readers, two writers" 0 '' flock out "$emu" -q -o out2 t
check "-o without its parent" 1 'its parent must exist' "$emu" -o nowhere/views t
rm -rf out && mkdir -p out/cpu.row
check "a directory in the way" 1 'Is a directory' "$emu" -o out t
rm -rf out && mkdir out && mkfifo out/cpu.prv
check "a FIFO in the way does not hang" 1 'cannot create' timeout 10 "$emu" -o out t

# ---- a full disk: said once, status 1 ----
trace long states
python3 - long <<'END' # a thread that pauses and resumes 20,000 times
import glob, struct, sys
path = glob.glob(sys.argv[1] + "/**/thread.101/stream.obs", recursive=True)[0]
with open(path, "r+b") as f:
    f.seek(0, 2)
    clock = 1000
    for i in range(20000):
        for mcv, data in (("OHx", struct.pack("<i", 0)), ("OHp", b""), ("OHr", b""), ("OHe", b"")):
            clock += 10
            f.write(bytes([len(data) - 1 if data else 0]) + mcv.encode() + struct.pack("<q", clock) + data)
END
for jobs in 1 2 4; do
	check "a file that cannot grow, -j $jobs" 1 'cannot write' \
		bash -c 'ulimit -f 300; exec "$@"' - "$emu" -q -j $jobs -o out1 long
done
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=1m none full 2>/dev/null; then
	for jobs in 1 3; do
		rm -rf full/*
		check "a full disk, -j $jobs" 1 'No space left' "$emu" -q -j $jobs -o full long
	done
	rm -rf full/* && head -c 1040384 /dev/zero >full/filler
	check "a disk that is full from the start" 1 'No space left' "$emu" -q -o full t
	# each configuration is copied as a whole or not at all
	rm -rf full/* && mount -o remount,size=48k full
	check "a disk without room for the configurations" 1 'make room there' "$emu" -q -o full t
	mount -o remount,size=4m full
	check "once it has room" 0 '' "$emu" -q -o full t
	that "they are all there" diff -r out2/cfg full/cfg
	that "and nothing else is" test "$(find full -mindepth 1 -maxdepth 1 | wc -l)" = 7
	rm -rf full/* && cp -r t/loom.n1 full && mount -o remount,ro full
	check "a file system that is read-only" 1 '-o DIR writes elsewhere' "$emu" -q full
	check "which helps" 0 '' "$emu" -q -o out2 full
	umount full
fi

# ---- the same bytes ----
"$emu" -q -o one long || failed=1
for options in '-j2' '-j4' '--compat' '--tolerant' '--arrows'; do
	"$emu" -q $options -o other long || failed=1
	that "same lines with $options" cmp one/thread.prv other/thread.prv
	that "same lines with $options" cmp one/cpu.prv other/cpu.prv
done
for options in '-j1' '-j3'; do
	"$emu" -q --gz $options -o "gz$options" long || failed=1
	that "compressed lines with $options" cmp one/thread.prv <(zcat "gz$options/thread.prv.gz")
done
that "compressed bytes do not depend on -j" cmp gz-j1/thread.prv.gz gz-j3/thread.prv.gz
that "a trace may be read-only" bash -c "chmod -R a-w long && '$emu' -q -o other long; chmod -R u+w long"

# ---- standard descriptors that are closed: messages do not go into a file ----
for closed in '2>&-' '<&- 2>&-' '<&- >&- 2>&-'; do
	bash -c "rm -rf out && '$emu' -o out t $closed" || { echo "status with $closed"; failed=1; }
	for file in cpu.prv thread.prv cpu.row thread.row; do
		that "same bytes with $closed" cmp "views/$file" "out/$file"
	done
done

# ---- descriptors: many threads need no more of them than one ----
make many < <(
	for ((i = 0; i < 200; i++)); do
		echo "thread $((1000 + i)) of 10 in n1 cpus 0:0 require ovni=1.1.0"
		printf '%d OHx i32:-1 i32:-1 u64:0\n%d OHe\n' "$((100 + i))" "$((1000 + i))"
	done
)
check "200 threads with 16 descriptors" 0 '' bash -c "ulimit -n 16 && '$emu' -q -j3 many"
that "all of them are there" grep -q 'SIZE 200$' many/thread.row

# ---- interruption: the outputs are complete up to there, status 0 ---- The emulator shares one CPU
# with the interrupting process, at a lower priority, and is stopped while it is interrupted: its
# speed does not matter.
cat >interrupt.py <<'END'
import os, signal, subprocess, sys, time
emu, trace, out = sys.argv[1:]
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
p = subprocess.Popen([emu, "-o", out, trace], stderr=subprocess.PIPE, preexec_fn=lambda: os.nice(19))
while p.poll() is None and not os.path.exists(out + "/thread.prv"):
    time.sleep(0.0005)
for number in signal.SIGSTOP, signal.SIGINT, signal.SIGCONT:
    os.kill(p.pid, number)
said = p.communicate(timeout=60)[1].decode()
sys.exit(p.returncode if "interrupted" in said else "not interrupted: " + said)
END
trace endless states
# 25 M events without effect: longer than the time until the signal
python3 - endless <<'END'
import glob, struct, sys
path = glob.glob(sys.argv[1] + "/**/thread.101/stream.obs", recursive=True)[0]
with open(path, "r+b") as f:
    f.truncate(8)
    f.seek(8)
    f.write(b"\x0fOHx" + struct.pack("<q", 0) + bytes(16))
    block = b"".join(b"\0OB." + struct.pack("<q", 1000) for i in range(1 << 20))
    for i in range(24):
        f.write(block)
END
check "an interrupt ends it in good order" 0 '' python3 interrupt.py "$emu" endless stopped
that "rows and labels are there" test -s stopped/thread.row -a -s stopped/thread.pcf

# ---- damage ----
trace cut bpf
truncate -s -5 cut/loom.n1/proc.10/thread.12/stream.obs
check "a stream cut short" 1 'ends inside an event' "$emu" -q cut
check "left out with --tolerant" 3 'left out from byte' "$emu" -q --tolerant -l cut
that "its thread is dead there" grep -q '^2:0:1:1:2:395:4:3$' cut/thread.prv
echo '{' >cut/loom.n1/proc.10/thread.12/stream.json
check "damaged metadata" 1 'thread.12' "$emu" -q cut
check "left out as a whole with --tolerant" 3 'whole stream is left out' "$emu" -q --tolerant cut

# The readable metadata of a stream is kept: here only thread 101 lists the CPUs.
trace cpus states
first=cpus/loom.n1/proc.100/thread.101
printf x | dd of=$first/stream.obs conv=notrunc status=none
check "no stream" 1 'thread.101/stream.obs: not a stream' "$emu" -q cpus
check "its CPUs stay with --tolerant" 3 'whole stream is left out' "$emu" -q --tolerant cpus
that "both threads have a row" grep -q 'SIZE 2$' cpus/thread.row
# A loom of which nothing can be used is not there.
make looms <<'END'
thread 11 of 10 in n1 cpus 0:0
100 OHx i32:0 i32:-1 u64:0
200 OHe
thread 21 of 20 in n0
json {"ovni": {"loom_cpus": [{"index": 0, "phyid": 3e9}]}}
END
check "a number out of range" 1 'thread.21: .*phyid 3000000000: both must be from 0' "$emu" -q looms
check "its loom is left out" 3 'whole stream is left out' "$emu" -q --tolerant looms
that "the other is the first one" grep -qx ' CPU 0.0' looms/cpu.row
that "no other is there" grep -q 'SIZE 2$' looms/cpu.row

# ---- warnings, once ----
make warn <<'END'
thread 11 of 10 in n1 cpus 0:0
100 OHx i32:0 i32:-1 u64:0
200 OHe
thread 12 of 10 in n1
json {"ovni": {"lib": {"commit": "another"}}}
100 OHx i32:-1 i32:-1 u64:0
200 OHe
thread 13 of 10 in n1
json {"ovni": {"lib": {"version": "a third one"}}}
END
check "a thread that was never alive" 1 'thread.13: thread 13 is not dead' "$emu" -q warn
that "streams without events are told of" grep -q 'warning: 1 of 3 streams have no events.*thread.13' stderr
that "so are several libraries" grep -q 'warning: .*thread.12: written by version 0 (commit another)' stderr
that "but once" test "$(grep -c 'written by' stderr)" = 1

make unfinished < <(sed 's/a third one"}/0"}, "finished": 1.5/' warn.txt)
check "finished is 1 and nothing near it" 1 'thread.13: ovni.finished is not 1' "$emu" -q unfinished

# ---- a trace that is a stream itself has a name, too ----
"$emu" -q -o out warn/loom.n1/proc.10/thread.11 || failed=1
truncate -s -12 warn/loom.n1/proc.10/thread.11/stream.obs
check "no name is empty" 1 'error: [.]: thread 11 is not dead' "$emu" -q -o out warn/loom.n1/proc.10/thread.11
exit $failed
