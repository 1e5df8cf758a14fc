#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Called through sudo, the command runs as the calling user, who owns the trace. Without root,
# CAP_BPF and CAP_PERFMON are enough.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

# A place that everybody can reach; the scratch folder is root's alone.
P=$(mktemp -d /tmp/ovni-public.XXXXXX) || exit 1
trap 'rm -rf "$P"' EXIT
chmod 1777 "$P"
mkdir "$P/bin" "$P/mine"
chown 65534:65534 "$P/mine"
install -m 755 "$RECORDER" "$EMULATOR" "$WORKLOADS/sleepers" "$P/bin"
export WORKLOAD_REPORT=$P/mine/report
cd "$P/mine" || exit 1

as_if_sudo() {
	env SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody SUDO_COMMAND=ovni-bpf "$@"
}
as_if_sudo "$P/bin/ovni-bpf" -o out -- sh -c 'id -u; id -g; id -G' >log 2>said ||
	complain "as if by sudo: $(cat said)"
[ "$(grep -cx 65534 log)" = 3 ] || complain "the command ran as $(tr '\n' ' ' <log)"
others=$(find out ! -user 65534 -print -quit)
[ -z "$others" ] || complain "$others does not belong to the user"
judge out

as_if_sudo "$P/bin/ovni-bpf" --emulate -a -d 300ms -o all >log 2>&1 || complain "sudo -a: $(cat log)"
others=$(find all ! -user 65534 -print -quit)
[ -z "$others" ] || complain "$others does not belong to the user"

# The threads between the buffers and the disk go before those of a busy machine.
nice_values() { # PID: name, nice value, and real-time priority and policy if it has one
	cat /proc/"$1"/task/*/stat 2>/dev/null | # a thread may end meanwhile
		awk '{ name = $2; sub(/.*\) /, ""); print name, $17 ($38 ? " real-time " $38 " " $39 : "") }' | sort -u | tr '\n' ' '
}
"$RECORDER" -a --rotate 200ms -o nice >nice.log 2>&1 &
recorder=$!
wait_recording nice $recorder
wait_until grep -q 'nice/0002' nice.log
values=$(nice_values $recorder)
kill -INT $recorder
wait $recorder
first=-20 # where the kernel gives no real-time priority
! chrt --rr 1 true 2>/dev/null || first="$(nice) real-time 1 2"
expect "nice values: $values" \
	[ "$values" = "(ovni-bpf) $(nice) (ovni-drain) $first (ovni-finalizer) -20 (ovni-writer) -20 " ]

# A user in sudo's variables must not gain a place that is root's alone.
mkdir "$P/roots" && chmod 700 "$P/roots"
(cd "$P/roots" && as_if_sudo "$P/bin/ovni-bpf" -o out -- sh -c 'echo x >file' >log 2>&1)
expect "the command has only the user's rights" [ ! -e "$P/roots/file" ]

cat >"$P/bin/with_caps" <<'E'
#!/bin/sh
caps=$1
shift
exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="-all$caps" \
	--ambient-caps="-all$caps" --bounding-set="-all$caps" "$@"
E
chmod 755 "$P/bin/with_caps"
PATH=$P/bin:$PATH
with_caps ,+bpf,+perfmon true || skip "setpriv cannot set capabilities here"
for way in '-a -d 300ms' "-- $P/bin/sleepers -s 20"; do
	rm -rf caps
	# shellcheck disable=SC2086 # words
	with_caps ,+bpf,+perfmon "$P/bin/ovni-bpf" -o caps $way >log 2>&1 ||
		complain "with CAP_BPF and CAP_PERFMON, $way: $(cat log)"
	expect "$way with two capabilities" [ -n "$(find caps -name stream.json)" ]
	judge caps
done
# Probes as well.
rm -rf caps
with_caps ,+bpf,+perfmon "$P/bin/ovni-bpf" -o caps -u "$P/bin/sleepers:doze" -- \
	"$P/bin/sleepers" -n 3 -s 5 >log 2>&1 ||
	complain "probes with CAP_BPF and CAP_PERFMON: $(cat log)"
judge caps
[ "$("$B/bin/ovni-dump" caps | grep -c 'OM\[')" = 3 ] ||
	complain "probes with CAP_BPF and CAP_PERFMON: $("$B/bin/ovni-dump" caps | grep -c 'OM\[') calls, not 3"

mkfifo -m 666 gate
WORKLOAD_GATE=$PWD/gate with_caps "" "$P/bin/sleepers" -s 20 &
target=$!
rm -rf caps
with_caps ,+bpf,+perfmon "$P/bin/ovni-bpf" -o caps -p $target >caps.log 2>&1 &
recorder=$!
wait_recording caps $recorder
: >gate
wait $recorder || complain "with CAP_BPF and CAP_PERFMON, -p: $(cat caps.log)"
judge caps
wait $target || complain "the workload of the user failed"

# While it records, each thread has the capabilities that it needs and no more: BPF is 0x8000000000,
# KILL and DAC_OVERRIDE, for root alone, 0x22, SYS_PTRACE and DAC_READ_SEARCH 0x80004.
kept() { # PID WANT
	[ "$(sed -s -n 's/^CapEff:.//p' /proc/"$1"/task/*/status 2>/dev/null | sort -u |
		tr '\n' ' ')" = "$2" ]
}
while_recording() { # NAME WANT COMMAND...
	local name=$1 want=$2
	shift 2
	"$@" -a -o "$name" >"$name.log" 2>&1 &
	recorder=$!
	wait_recording "$name" $recorder
	wait_until kept $recorder "$want" ||
		complain "$name: $(grep -H CapEff /proc/$recorder/task/*/status)"
	for thread in /proc/"$recorder"/task/*/status; do
		expect "$name: what is permitted is what is effective" \
			[ "$(sed -n 's/^CapPrm:.//p' "$thread")" = "$(sed -n 's/^CapEff:.//p' "$thread")" ]
	done
	kill -INT $recorder
	wait $recorder || complain "$name: status $?: $(cat "$name.log")"
}
while_recording root '0000000000080006 0000008000000000 0000008000000022 ' "$P/bin/ovni-bpf"
while_recording two '0000000000000000 0000008000000000 ' with_caps ,+bpf,+perfmon "$P/bin/ovni-bpf"

# Another user's process: its executable is known with CAP_SYS_PTRACE alone, its MPI rank with
# CAP_DAC_READ_SEARCH as well (its environment is a file that only that user may read), its threads
# and their names in any case.
for caps in ,+bpf,+perfmon ,+bpf,+perfmon,+sys_ptrace ,+bpf,+perfmon,+sys_ptrace,+dac_read_search; do
	rm -f gate && mkfifo -m 666 gate
	OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 WORKLOAD_GATE=$PWD/gate WORKLOAD_REPORT=/dev/null \
		setpriv --reuid 65533 --regid 65533 --clear-groups "$P/bin/sleepers" -n 2 -s 400 &
	target=$!
	rm -rf others others.log # the wait must not find the lines of the one before
	with_caps $caps "$P/bin/ovni-bpf" -o others -p $target >others.log 2>&1 &
	recorder=$!
	wait_recording others $recorder
	: >gate
	wait $target || complain "the workload of another user failed"
	wait $recorder || complain "another user's process with $caps: status $?: $(cat others.log)"
	judge others
	python3 - others $target $caps <<-'E' || complain "another user's process with $caps"
		import glob, json, sys
		trace, pid, caps = sys.argv[1:]
		docs = [json.load(open(f)) for f in glob.glob(trace + "/loom.*/proc.%s/*/stream.json" % pid)]
		first = [d for d in docs if d["ovni"]["tid"] == int(pid)][0]
		rank = "dac_read_search" in caps
		assert ("rank" in first["ovni"]) == rank and ("rank" in first["bpf"]) == rank, first
		assert ("executable" in first["bpf"]) == ("ptrace" in caps), first
		assert len(docs) == 3 and any("sleeper-1" in json.dumps(d["bpf"]) for d in docs), docs
	E
done

for caps in '' ,+bpf ,+perfmon; do
	with_caps "$caps" "$P/bin/ovni-bpf" -o few -a -d 100ms >log 2>&1
	status=$?
	[ $status = 1 ] || complain "with the capabilities '$caps': status $status"
	expect "with '$caps' it says what would permit it" grep -q CAP_PERFMON log
done
finish
