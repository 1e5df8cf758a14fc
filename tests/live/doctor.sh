#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-bpf doctor reports whether a recording is possible, by its exit status and in JSON, and a
# remedy if not; a recording then agrees with the report. It leaves nothing behind.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

P=$(mktemp -d /tmp/ovni-public.XXXXXX) || exit 1
trap 'rm -rf "$P"' EXIT
chmod 755 "$P"
install -m 755 "$RECORDER" "$P"
doctor=$P/ovni-bpf

look() { # NAME STATUS COMMAND...
	local name=$1 want=$2
	shift 2
	"$@" doctor >"$name.text" 2>&1
	status=$?
	[ $status = "$want" ] || complain "$name: status $status instead of $want: $(cat "$name.text")"
	"$@" doctor --json >"$name.json" 2>&1
	[ $? = "$want" ] || complain "$name: --json has another status"
	python3 - "$name.json" "$want" <<-'E' || complain "$name: $(cat "$name.json")"
		import json, sys
		doc = json.load(open(sys.argv[1]))
		assert doc["can_record"] == (sys.argv[2] == "0")
		for f in doc["findings"]:
		    assert f["verdict"] in ("fine", "fact", "less", "stop"), f
		    assert (f["verdict"] in ("less", "stop")) == ("remedy" in f), f
		assert (not doc["can_record"]) == any(f["verdict"] == "stop" for f in doc["findings"])
	E
	# A recording agrees with the report.
	"$@" -q --dry-run -a >"$name.dry" 2>&1
	status=$?
	[ $status = "$want" ] || complain "$name: the doctor says $want, --dry-run $status"
}
verdict() { # NAME FINDING
	python3 -c 'import json, sys
print(*[f["verdict"] for f in json.load(open(sys.argv[1]))["findings"] if f["name"] == sys.argv[2]])' \
		"$1.json" "$2"
}
is() { # NAME FINDING VERDICT
	[ "$(verdict "$1" "$2")" = "$3" ] || complain "$1: $2 is '$(verdict "$1" "$2")', not '$3'"
}
programs() { PATH=$PATH:/usr/sbin:/sbin bpftool prog list | grep -c ovni_doctor; }

look root 0 "$doctor"
is root scheduling fine
# It has tried the programs of a whole recording.
recorded=$("$RECORDER" -v -a -d 10ms -o tried 2>&1 | sed -n 's/.*info: \([0-9]*\) programs attached.*/\1/p')
tried=$(sed -n 's/.*[^0-9]\([0-9]*\) programs were loaded.*/\1/p' root.text)
[ "${tried:-0}" -gt 0 ] && [ "$tried" = "$recorded" ] ||
	complain "a recording attaches ${recorded:-no} programs, the doctor ${tried:-none}"
is root CAP_SYS_PTRACE fine

with_caps() { # CAPS COMMAND...
	local caps=$1
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps="-all$caps" \
		--ambient-caps="-all$caps" "$@"
}
if with_caps ,+bpf,+perfmon true 2>/dev/null; then
	look two 0 with_caps ,+bpf,+perfmon "$doctor"
	is two CAP_BPF fine
	is two scheduling fine
	is two CAP_SYS_PTRACE fact
	is two uprobe.multi "$(verdict root uprobe.multi)"
	look none 1 with_caps '' "$doctor"
	is none CAP_BPF stop
	is none scheduling stop
	expect "without capabilities it says how to get them" \
		grep -q 'sudo setcap' none.text
	look one 1 with_caps ,+bpf "$doctor"
	is one CAP_BPF fine
	is one CAP_PERFMON stop
	withheld() { setpriv --bounding-set=-bpf,-perfmon,-sys_admin "$doctor" "$@"; }
	look withheld 1 withheld
	expect "who withholds the capabilities is told" grep -q -e '--cap-add' withheld.text
else
	echo "setpriv cannot set capabilities here: not tried"
fi
if "$B/tests/live/nobpf" true; then
	look filtered 1 "$B/tests/live/nobpf" "$doctor"
	is filtered 'bpf()' stop
	expect "that a filter forbids it is told" grep -q seccomp=unconfined filtered.text
fi
if unshare -Ur true 2>/dev/null; then
	look userns 1 unshare -Ur "$doctor"
	expect "that it is a user namespace is told" grep -q 'a user namespace' userns.text
fi
if unshare -p -f --mount-proc true 2>/dev/null; then
	look pidns 0 unshare -p -f --mount-proc "$doctor"
	is pidns namespaces less
fi

"$doctor" doctor --nonsense >log 2>&1
[ $? = 2 ] || complain "a wrong option: status $?"
expect "no program of the doctor stays" [ "$(programs)" = 0 ]
"$doctor" doctor >/dev/full 2>log && complain "an answer that cannot be written is taken for one"
finish
