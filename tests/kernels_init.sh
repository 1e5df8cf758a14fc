#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# The first process of a guest of tests/kernels.sh: records, judges, and says what it saw.
#
#   cell: FEATURE|RESULT    one cell of the table
#   wrong: TEXT             something that must not be
#   kernels: the end        the last line
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ TMPDIR=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /sys/fs/cgroup
mount -t cgroup2 cgroup /sys/fs/cgroup
echo root:x:0:0::/:/bin/sh >/etc/passwd
cd /tmp || poweroff -f

release=$(uname -r)
major=${release%%.*} rest=${release#*.}
minor=${rest%%[!0-9]*}
newer_than() { [ "$major" -gt "$1" ] || { [ "$major" -eq "$1" ] && [ "$minor" -ge "$2" ]; }; }
echo # the firmware leaves no empty line
echo "kernels: this is $major.$minor"
echo "kernels: $release"

cell() { echo "cell: $1|$2"; }
wrong() { echo "wrong: $1"; }
# The programs of ours that the kernel holds; other ones may come from the kernel itself.
programs() { bpftool prog list 2>/dev/null | grep -c '^[0-9]'; }

# Records into NAME; a trace must be complete, and emulated without an error.
record() { # NAME OPTION...
	name=$1
	shift
	result=
	rm -rf "$name"
	# shellcheck disable=SC2086 # lists of words
	"$@" -o "$name" $options -- $command >"$name.log" 2>&1
	status=$?
	[ $status = 0 ] || { result="status $status: $(grep -v ' info: ' "$name.log" | tail -n 1)"; return 1; }
	[ -d "$name" ] || return 0
	ovni-check --strict "$name" >"$name.check" 2>&1 && grep -q '^valid: .*; complete$' "$name.check" ||
		{ result="ovni-check --strict: $(tail -n 1 "$name.check")"; return 1; }
	ovni-emu -l "$name" >"$name.emu" 2>&1 ||
		{ result="ovni-emu -l: $(tail -n 1 "$name.emu")"; return 1; }
}

# How often the threads of the workload slept by the kernel's own count (voluntary=), and by the trace:
# a thread ends after it has read the count, so the trace may have a few more.
slept() { # NAME
	told=0 seen=0 threads=0
	# shellcheck disable=SC2013 # a word is a line
	for line in $(sed -n 's/^tid=\([0-9]*\) .*voluntary=\([0-9]*\)$/\1:\2/p' "$1.log"); do
		tid=${line%:*}
		n=$(ovni-dump "$1" | grep -c "thread\.$tid  pauses: [1234589] ")
		told=$((told + ${line#*:})) seen=$((seen + n)) threads=$((threads + 1))
	done
	echo "$1: $threads threads slept $told times, $seen in the trace"
	[ $threads -gt 0 ] && [ $seen -ge $told ] && [ $seen -le $((told + 4 * threads)) ]
}

# A feature works, or this guest is wrong. The host may stop a guest, and a scheduler need not obey a
# call of sched_yield(), so a check that fails runs again; a mistake of ours comes each time.
must() { # FEATURE NAME CHECK OPTION...
	feature=$1 trace=$2 check=$3
	shift 3
	for attempt in 1 2 3; do
		if record "$trace" "$@" && $check "$trace"; then
			cell "$feature" yes
			return
		fi
		echo "$trace: attempt $attempt of 3 failed: $result"
	done
	cell "$feature" NO
	wrong "$feature: $result"
	cat "$name.log"
}

yielded() { # NAME
	n=$(ovni-dump "$1" | grep -c 'pauses: 7 ')
	m=$(ovni-dump "$1" | grep -c 'pauses: 6 ')
	# A scheduler need not obey: while the other thread is far behind, the caller goes on.
	echo "$1: 2 x 5000 calls of sched_yield: $n switches as yielded, $m as preempted"
	[ "$n" -ge 100 ] && [ "$n" -le 10100 ] && [ "$n" -ge $((2 * m)) ]
}

called() { # NAME
	n=$(ovni-dump "$1" | grep -c 'OM\[') m=$(ovni-dump "$1" | grep -c 'OM\]')
	echo "$1: 8 calls, $n begin and $m end in the trace"
	[ "$n" = 8 ] && [ "$m" = 8 ]
}

# Runs have values of two software events: the page faults of the threads that start, and time.
counted() { # NAME
	n=$(ovni-dump "$1" | grep -c VWC)
	echo "$1: $n runs with counters"
	[ "$n" -ge 50 ]
}

# Sleeps of 3 ms have the stack of nanosleep, in each variant of the program.
stacked() { # NAME
	n=$(ovni-dump "$1" | grep -c 'stack [0-9]* (.*nanosleep')
	echo "$1: $n sleeps with the stack of nanosleep"
	[ "$n" -ge 3 ] || return 1
	case $1 in
	stacks) record stacks-tracepoint ovni-bpf --why=lock,stack --wakeup-clock=tracepoint && stacked stacks-tracepoint &&
		record stacks-cpus ovni-bpf --why=stack,2ms -C 0-1 && stacked stacks-cpus ;;
	esac
}

# Sleeps by the kernel's count and by the row of each thread (its sixth column from the right).
summed() { # NAME
	# shellcheck disable=SC2013 # a word is a line
	for line in $(sed -n 's/^tid=\([0-9]*\) .*voluntary=\([0-9]*\)$/\1:\2/p' "$1.log"); do
		n=$(awk -v tid="${line%:*}" '$2 == tid { print $9 }' "$1.log")
		echo "$1: thread ${line%:*} slept ${line#*:} times, $n in the sums"
		[ "${n:-0}" -ge "${line#*:}" ] && [ "$n" -le $((${line#*:} + 4)) ] || return 1
	done
}

# The same sleeps have the functions of the program, too, up to the begin of each thread.
user_stacked() { # NAME
	stacked "$1" || return 1
	cp "$1/stacks" "$1.stacks"
	n=$(ovni-dump "$1" | grep -c 'stack [0-9]* (.*nanosleep.* <- doze')
	echo "$1: $n sleeps in the function of the program"
	# two functions of libc began the thread
	if ! grep -q ';doze@[^;]*;[^;]*;[^;]*$' "$1.stacks" || ! grep -q ';main@[^;]*;.*_start@' "$1.stacks" ||
		grep ';doze@\|;main@' "$1.stacks" | grep -q '\[cut\]'; then
		result="no whole stack: $(grep '@' "$1.stacks")"
		return 1
	fi
	[ "$n" -ge 3 ] || return 1
	case $1 in
	user-stacks) record user-tracepoint ovni-bpf --why=lock,stack=both,wakers --wakeup-clock=tracepoint && user_stacked user-tracepoint &&
		record user-cpus ovni-bpf --why=stack=both,preempted -C 0-1 && user_stacked user-cpus ;;
	esac
}

any() { :; }

# CAP_BPF and CAP_PERFMON, or the sentence that another one is needed.
with_two_capabilities() {
	feature="\`CAP_BPF\` and \`CAP_PERFMON\` alone" caps=-all,+bpf,+perfmon
	if record two /bin/setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=$caps \
		--ambient-caps=$caps --bounding-set=$caps ovni-bpf && slept two; then
		cell "$feature" yes
	elif ! newer_than 6 10 && echo "$result" | grep -q "before Linux 6.10, CAP_SYS_ADMIN is needed"; then
		cell "$feature" "needs 6.10, or \`CAP_SYS_ADMIN\`"
		echo "$result"
	else
		cell "$feature" NO
		wrong "$feature: $result"
	fi
}

# The way in which probes are attached, or the sentence that refuses it.
probes() { # WAY MAJOR MINOR
	options="--attach $1 -u /bin/calls:leaf(arg1,ret),recurse,branch" command="calls -n 2 -d 3"
	feature="probes of functions (\`--attach $1\`)"
	if record "u-$1" ovni-bpf; then
		if called "u-$1"; then
			cell "$feature" yes
		else
			cell "$feature" NO
			wrong "$feature: not the calls that were made"
		fi
	elif ! newer_than "$2" "$3" && echo "$result" | grep -q "Linux 6\.[0-9]* or newer"; then
		cell "$feature" "needs $2.$3"
		echo "$result"
	else
		cell "$feature" NO
		wrong "$feature: $result"
	fi
}

# A line of `ovni-bpf doctor`.
fact() { # FEATURE NAME GOOD OTHERWISE
	if grep -q "^  fine  $2 " doctor.log; then
		cell "$1" "$3"
	else
		cell "$1" "$4"
	fi
}

before=$(programs)
ovni-bpf doctor >doctor.log 2>&1
if ! newer_than 5 11; then
	options='' command=true
	record none ovni-bpf && wrong "recorded, though the kernel is too old"
	echo "$result"
	case $result in
	*"Linux 5.11 or newer is needed"*) cell "recording (\`-- COMMAND\`)" "needs 5.11" ;;
	*) wrong "another refusal: $result" ;;
	esac
	[ ! -e none ] || wrong "a refused recording left a trace"
	grep -q 'Linux 5.11 or newer is needed: boot a newer kernel' doctor.log ||
		wrong "ovni-bpf doctor does not say that the kernel is too old"
elif ! grep -qw cx16 /proc/cpuinfo && newer_than 6 18; then
	# Since then the storage of a task may need this instruction: it works, or is refused.
	command="sleepers -n 3 -s 50"
	for options in '' -a '--mode summary'; do
		if record none ovni-bpf; then
			case $options in
			'' | -a) slept none || wrong "without CMPXCHG16B '$options' records nothing, with status 0" ;;
			esac
			continue
		fi
		echo "without CMPXCHG16B, '$options': $result"
		case $result in
		"status 1: "*"need a CPU with CMPXCHG16B"*) cell "a CPU without CMPXCHG16B" refused ;;
		*) wrong "another refusal: $result" ;;
		esac
		[ ! -e none ] || wrong "a refused recording left a trace"
	done
else
	options='' command="sleepers -n 3 -s 50"
	must "recording (\`-- COMMAND\`)" command slept ovni-bpf
	command="sleepers -n 3 -s 50"
	must "the whole machine (\`-a\`)" all slept ovni-bpf -a
	command="hopper -n 20"
	must "some CPUs (\`-C\`)" cpus any ovni-bpf -a -C 1
	command="sleepers -n 2 -s 50"
	must "clocks of wake-ups from tracepoints" tracepoint slept ovni-bpf --wakeup-clock=tracepoint
	command="sleepers -n 2 -s 50 -u 3000"
	must "kernel stacks of long sleeps (\`--why=stack\`)" stacks stacked ovni-bpf --why=stack
	must "stacks of user code (\`--why=stack=both\`)" user-stacks user_stacked ovni-bpf --why=stack=both
	options=
	command="sleepers -n 2 -s 50"
	must "counters of runs (\`--counters\`)" counters counted ovni-bpf --counters page-faults,task-clock
	must "summary mode" summary summed ovni-bpf --mode summary
	must "summary mode of the whole machine" sums any ovni-bpf --mode summary -a
	with_two_capabilities
	command="yielder -y 5000"
	must "yielded differs from preempted" yields yielded ovni-bpf
	probes session 6 13
	probes multi 6 10
	probes perf 6 10
	fact "interrupts as wakers" interrupts yes no
	fact "waits for a CPU quota, each" quotas yes "since 6.18; before, those that begin with it"
fi
[ "$(programs)" = "$before" ] || wrong "programs are left in the kernel: $(bpftool prog list)"
echo "kernels: the end"
poweroff -f
