#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Called through sudo, the command runs as the user who called, and the trace is that user's.
# Without root, CAP_BPF and CAP_PERFMON are enough.
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

# A user in sudo's variables must not gain a place that is root's alone.
mkdir "$P/roots" && chmod 700 "$P/roots"
(cd "$P/roots" && as_if_sudo "$P/bin/ovni-bpf" -o out -- sh -c 'echo x >file' >log 2>&1)
expect "the command has only the user's rights" [ ! -e "$P/roots/file" ]

with_caps() { # CAPS COMMAND...
	local caps=$1
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="-all$caps" \
		--ambient-caps="-all$caps" --bounding-set="-all$caps" "$@"
}
with_caps ,+bpf,+perfmon true || skip "setpriv cannot set capabilities here"
for way in '-a -d 300ms' "-- $P/bin/sleepers -s 20"; do
	rm -rf caps
	# shellcheck disable=SC2086 # words
	with_caps ,+bpf,+perfmon "$P/bin/ovni-bpf" -o caps $way >log 2>&1 ||
		complain "with CAP_BPF and CAP_PERFMON, $way: $(cat log)"
	expect "$way with two capabilities" [ -n "$(find caps -name stream.json)" ]
	judge caps
done
with_caps '' "$P/bin/sleepers" -s 200 &
target=$!
rm -rf caps
with_caps ,+bpf,+perfmon "$P/bin/ovni-bpf" -o caps -p $target >log 2>&1 ||
	complain "with CAP_BPF and CAP_PERFMON, -p: $(cat log)"
judge caps
wait $target

for caps in '' ,+bpf ,+perfmon; do
	with_caps "$caps" "$P/bin/ovni-bpf" -o few -a -d 100ms >log 2>&1
	status=$?
	[ $status = 1 ] || complain "with the capabilities '$caps': status $status"
	expect "with '$caps' it says what would permit it" grep -q CAP_PERFMON log
done
finish
