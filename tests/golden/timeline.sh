#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-report timeline: the thread that had each column of each CPU, the states of the threads, parts
# of the trace; colours; the pager and the rows of a terminal, without a shell and without the
# programs of another user.
set -eu
. "$S/tests/golden/tools_lib.sh"
export COLUMNS=68 LC_ALL=C
cd "$T"
# Thread 7 is on CPU 0 from 0 to 4 ms, waits, then on CPU 1 from 6 to 10; 8 is on CPU 0 from 4 to 8.
make_trace trace <<'END'
thread n 1 7 bpf.name="busy"
0 OHx i32:0 i32:-1 u64:0
4000000 OHp u16:6 i32:8
4000000 OHw i32:-1
6000000 OAs i32:1
6000000 OHr
10000000 OHe
thread n 1 8 bpf.name="a\u001b[2Jname_that_is_very_long_indeed"
0 OHx i32:-1 i32:-1 u64:0
0 OHp u16:1 i32:0
4000000 OHw i32:7
4000000 OAs i32:0
4000000 OHr
8000000 OHp u16:1 i32:0
10000000 OHw i32:-2
10000000 OAs i32:-1
10000000 OHr
10000000 OHe
END
report timeline trace >all || fail "the timeline failed"
diff -u - all <<'E' || fail "the timeline"
                             |0 ns       10.000 ms|  one column is 500.000 us
                       CPU 0 |AAAAAAAABBBBBBBB    |  80.0 % recorded
                       CPU 1 |            AAAAAAAA|  40.0 % recorded

                  A busy (7) |########----########|  80.0 % running
B a\x1b[2Jname_that_is_very_ |........########....|  40.0 % running
                              # running   - waits for a CPU   . asleep
E
# A loss: from 2 to 6 ms it is not known whether thread 7 ran; a switch of thread 8 is missing since it
# fell asleep.
make_trace gap <<'END'
thread n 1 7 bpf.name="ran"
0 OHx i32:0 i32:-1 u64:0
6000000 OHp u16:1 i32:0 u64:4000000
8000000 OHw i32:-2
8000000 OHr
10000000 OHe
thread n 1 8 bpf.name="slept"
0 OHx i32:1 i32:-1 u64:0
1000000 OHp u16:1 i32:0
8000000 OHw i32:7 u64:7000000
9000000 OHr
10000000 OHe
END
report timeline gap >all || fail "the timeline of a loss failed"
diff -u - all <<'E' || fail "the timeline of a loss"
                             |0 ns       10.000 ms|  one column is 500.000 us
                       CPU 0 |AAAA            AAAA|  40.0 % recorded
                       CPU 1 |BB                BB|  20.0 % recorded

                   A ran (7) |####????????....####|  40.0 % running
                 B slept (8) |##????????????????##|  20.0 % running
                              # running   - waits for a CPU   . asleep   ? unknown (lost)
E
report why gap --csv >all || fail "the reasons of a loss failed"
[ "$(cut -d, -f 2,6-9 all | sort)" = "7,asleep,sleeping,1,2000000
7,running,,2,4000000
7,unknown,lost,1,4000000
8,running,,2,2000000
8,unknown,lost,1,8000000
tid,state,reason,times,time" ] || fail "the reasons of a loss: $(cut -d, -f 2,6-9 all | sort)"
report preempt gap --csv >all || fail "the culprits of a loss failed"
[ "$(wc -l <all)" = 1 ] || fail "thread 8 waits for a CPU: $(cat all)"
report timehist gap --csv >all || fail "the history of a loss failed"
[ "$(cut -d, -f 1,3,4-7 all)" = "time,thread,sleep,wait,run,why
1000000,slept (8),,,1000000,sleeping
2000000,ran (7),,,2000000,lost
10000000,ran (7),2000000,0,2000000,exited
10000000,slept (8),,,1000000,exited" ] || fail "the history of a loss: $(cut -d, -f 1,3,4-7 all)"
report timeline -n 1 --from +5ms --to +7ms trace >part || fail "a part of the timeline failed"
diff -u - part <<'E' || fail "a part of the timeline"
                             |5.000 ms    7.000 ms|  one column is 100.000 us
                       CPU 0 |AAAAAAAAAAAAAAAAAAAA| 100.0 % recorded
                       CPU 1 |          BBBBBBBBBB|  50.0 % recorded

A a\x1b[2Jname_that_is_very_ |####################| 100.0 % running
                              # running   - waits for a CPU   . asleep   and 1 more thread (-n)
E
LC_ALL=C.UTF-8 report timeline --color=always -n 1 trace >colours || fail "the colours failed"
grep -q "^ *CPU 0 |$(printf '\033')\[32mAAAAAAAA$(printf '\033')\[0m$(printf '\033')\[36mBBBBBBBB$(printf '\033')\[0m    |" colours ||
	{ cat -v colours; fail "the colours of a CPU"; }
grep -q '████████▒▒▒▒████████' colours || fail "the signs of UTF-8"
status=0; report timeline --from +1s trace >/dev/null || status=$?
[ $status = 1 ] && grep -q 'no time to show' said || fail "nothing to show: status $status"

# A terminal of 8 lines and 90 columns.
cat >onpty.py <<'END'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    sys.stdin.readline()
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 8, 90, 0, 0))
os.write(fd, b"\n")
out = b""
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    out += data
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(out)
sys.exit(status)
END
on_pty() { env -u SUDO_UID -u PKEXEC_UID -u DOAS_USER -u NO_COLOR TERM=xterm HOME="$T" "$@" >seen || fail "$* failed"; }
terminal() { on_pty python3 onpty.py "$B/bin/ovni-report" "$@"; }
has() { grep -qF -- "$1" seen || { cat -v seen; fail "$2"; }; }
lacks() { ! grep -qF -- "$1" seen || { cat -v seen; fail "$2"; }; }
escape=$(printf '\033')
# ten threads, five rows
{
	for i in 1 2 3 4 5 6 7 8 9 10; do
		printf 'thread n %d %d bpf.name="thread%d"\n0 OHx i32:-1 i32:-1 u64:0\n%d OHe\n' "$i" "$i" "$i" "$i"
	done
} | make_trace many
export OVNI_PAGER=
terminal latency many
has "and 5 more rows (-n 0 prints all)" "rows are not limited to the terminal"
has "$escape[1mthread" "the head is not bold"
terminal latency -n 0 many
lacks "more rows" "-n 0 leaves rows out"
terminal latency --color=never many
lacks "$escape[1m" "--color=never prints colours"
on_pty env NO_COLOR=1 python3 onpty.py "$B/bin/ovni-report" latency many
lacks "$escape[1m" "NO_COLOR is ignored"

# The pager: words of its command, no shell; none with --no-pager, in a pipe, and for another user.
export OVNI_PAGER='tr a-z A-Z' PAGER=false
terminal latency many
has "THREAD10 (10)" "the pager does not run"
terminal latency --no-pager many
has "thread10 (10)" "--no-pager runs the pager"
report latency many >seen
has "thread10 (10)" "a file gets a pager"
if [ "$(id -u)" = 0 ]; then
	on_pty env SUDO_UID=1000 python3 onpty.py "$B/bin/ovni-report" latency many
	has "thread10 (10)" "root runs the pager of another user"
fi
export OVNI_PAGER="sed s/thread/\$(touch${IFS:0:1}$T/shell)/"
terminal latency many
[ ! -e "$T/shell" ] || fail "a shell reads the pager's command"
export OVNI_PAGER='ovni-no-such-pager -x'
terminal latency many
has "cannot run the pager 'ovni-no-such-pager'" "a missing pager is not told"
has "thread10 (10)" "a missing pager loses the text"

# The picture of an emulated trace: states of both threads, the running threads of both CPUs, and
# the wake-up.
mkdir -p prv/loom.x/proc.7/thread.7
cd prv
echo '{"version":3,"ovni":{"tid":7},"bpf":{"name":"busy"}}' >loom.x/proc.7/thread.7/stream.json
header() { echo "#Paraver (19/01/38 at 03:14):00000000000010000000_ns:0:1:1($1:1)"; }
rows() { printf 'LEVEL NODE SIZE 1\nhostname\n\nLEVEL THREAD SIZE %d\n' $#; printf '%s\n' "$@"; }
{
	header 3
	printf '2:0:1:1:%s\n' 1:0:2:7 1:4000000:2:8 1:8000000:2:0 2:6000000:2:7
} >cpu.prv
{
	header 2
	printf '2:0:1:1:%s\n' 1:0:4:1 1:4000000:4:5 1:6000000:2:7:4:1 2:0:4:2 2:4000000:4:1 2:8000000:4:2
	echo 3:0:1:1:1:3500000:3500000:0:1:1:2:4000000:4000000:0:1 # 1 wakes 2
} >thread.prv
rows ' CPU 0.0' ' CPU 0.1' 'vCPU 0.*' >cpu.row
rows 'TH 1.7' 'TH 1.8' >thread.row
python3 -B "$S/docs/picture.py" . >"$T/picture.svg"
for drawn in '4 Running<' '2 Warming: runnable, waits for a CPU<' '3 Paused: asleep<' '2 TH 1.7</title' \
	'1 TH 1.8</title' '1 <line '; do
	[ "$(grep -c "${drawn#* }" "$T/picture.svg")" = "${drawn%% *}" ] || {
		echo "not ${drawn%% *} of '${drawn#* }' in the picture:"
		cat "$T/picture.svg"
		exit 1
	}
done
