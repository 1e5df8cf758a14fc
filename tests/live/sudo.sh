#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A user records through the real sudo: the command runs as that user, with all groups and
# the environment that sudo was called with; everything that is written belongs to the user; nothing is
# done with root's rights that the user could not do. The user and the permission exist only in
# a mount namespace of this test: the machine is not changed.
# needs: root
set -u
if [ -z "${OVNI_TEST_NAMESPACE:-}" ]; then
	command -v sudo >/dev/null || { echo "there is no sudo"; exit 77; }
	unshare -m --propagation private true 2>/dev/null || { echo "no mount namespace"; exit 77; }
	OVNI_TEST_NAMESPACE=1 exec unshare -m --propagation private "$0"
fi
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

id=64321
P=$(mktemp -d /tmp/ovni-public.XXXXXX) || exit 1
trap 'rm -rf "$P"' EXIT
chmod 755 "$P"
mkdir "$P/bin" "$P/user" "$P/roots" && chmod 700 "$P/roots"
install -m 755 "$RECORDER" "$EMULATOR" "$WORKLOADS/sleepers" "$WORKLOADS/asleep" "$WORKLOADS/named_locks" "$P/bin"
install -m 755 -D "$WORKLOADS/sleepers" "$P/user/bin/mine"
chown -R $id:$id "$P/user"
mkdir "$P/other" && chown $((id + 1)):$((id + 1)) "$P/other"

for file in passwd group shadow; do
	cp -p /etc/$file "$T/$file" || skip "no /etc/$file"
done
echo "ovnitest:x:$id:$id::$P/user:/bin/sh" >>passwd
echo "ovniother:x:$((id + 1)):$((id + 1))::$P/other:/bin/sh" >>passwd
printf 'ovnitest:x:%d:\novniextra:x:%d:ovnitest\n' $id $((id + 1)) >>group
printf '%s:*:19000:0:99999:7:::\n' ovnitest ovniother >>shadow
for file in passwd group shadow; do
	mount --bind "$T/$file" /etc/$file || skip "nothing can be mounted over /etc/$file"
done
mkdir -p /etc/sudoers.d && mount -t tmpfs -o mode=755 none /etc/sudoers.d || skip "no tmpfs"
echo 'ovnitest ALL=(root) NOPASSWD: ALL' >/etc/sudoers.d/ovnitest
echo "ovniother ALL=(root) NOPASSWD: $P/bin/ovni-bpf" >/etc/sudoers.d/ovniother
chmod 440 /etc/sudoers.d/*

as_user() {
	setpriv --reuid $id --regid $id --init-groups env -i PATH="$P/user/bin:/usr/bin:/bin" \
		HOME="$P/user" USER=ovnitest LOGNAME=ovnitest OMP_NUM_THREADS=7 LD_LIBRARY_PATH="$P/lib" \
		"$@"
}
cd "$P/user" || exit 1
[ "$(as_user sudo -n id -u 2>&1)" = 0 ] || skip "sudo does not work here: $(as_user sudo -n id -u 2>&1)"

as_user sudo -n "$P/bin/ovni-bpf" -o out -- sh -c \
	'id -u; id -g; id -G | tr " " "\n" | sort | tr "\n" " "; echo; env; grep CapEff /proc/self/status' \
	>log 2>said || complain "through sudo: $(cat said)"
printf '%s\n' $id $id "$id $((id + 1)) " >want
head -n 3 log | diff want - || complain "the command ran as somebody else"
for variable in OMP_NUM_THREADS=7 LD_LIBRARY_PATH="$P/lib" HOME="$P/user" USER=ovnitest; do
	expect "the command has the environment of the caller" grep -qx "$variable" log
done
expect "the command does not know of sudo" [ "$(grep -c SUDO_ log)" = 0 ]
expect "the command has no capability" grep -q 'CapEff:.0000000000000000' log
others() { find "$1" ! -user $id -print -quit; }
[ -z "$(others out)" ] || complain "$(others out) does not belong to the user"
judge out

# A command of the user's own PATH, which sudo's lacks; and files for Paraver.
as_user sudo -n "$P/bin/ovni-bpf" --emulate -o own -- mine -n 1 -s 3 >log 2>&1 ||
	complain "a command in the user's PATH: $(cat log)"
[ -z "$(others own)" ] || complain "$(others own) does not belong to the user"
expect "--emulate through sudo" [ -s own/thread.prv ]

# While it records, the recorder has the user's ID, and each thread the capabilities that it needs
# and no more.
as_user sudo -n "$P/bin/ovni-bpf" -a -d 2s -o all >all.log 2>&1 &
wait_until grep -q '^ovni-bpf: recording' all.log
self=$(pgrep -u $id -x ovni-bpf | head -n 1)
lowered() { # BPF is 0x8000000000, SYS_PTRACE and DAC_READ_SEARCH 0x80004
	[ "$(sed -s -n 's/^CapEff:.//p' /proc/"$self"/task/*/status 2>/dev/null | sort -u |
		tr '\n' ' ')" = '0000000000080004 0000008000000000 ' ]
}
if [ -n "$self" ]; then
	wait_until lowered || complain "threads keep: $(grep -H CapEff /proc/"$self"/task/*/status)"
	[ "$(sed -n 's/^Uid:.//p' /proc/"$self"/status)" = "$id	$id	$id	$id" ] ||
		complain "it runs as $(grep ^Uid /proc/"$self"/status)"
	expect "its groups are the user's" grep -q "^Groups:.$id $((id + 1))" /proc/"$self"/status
else
	complain "no recorder runs as the user: $(cat all.log)"
fi
wait
[ -z "$(others all)" ] || complain "$(others all) does not belong to the user"
judge all

# Requests beyond the user's rights are refused.
(cd "$P/roots" && as_user sudo -n "$P/bin/ovni-bpf" -o out -- true) >log 2>&1 &&
	complain "a trace was written to a folder of root alone"
[ -z "$(ls "$P/roots")" ] || complain "something is in the folder of root: $(ls "$P/roots")"
as_user sudo -n "$P/bin/ovni-bpf" -o "$P/roots/out" -- true >log 2>&1 &&
	complain "a trace was written to a folder of root alone"

# --user chooses another user, with the environment of a login: for root itself, not through sudo, even
# with a rule for everything.
for mode in '--mode full' '--mode off'; do
	# shellcheck disable=SC2086 # words
	as_user sudo -n "$P/bin/ovni-bpf" $mode --user nobody -o other -- id -un >log 2>said &&
		complain "--user nobody through sudo, $mode: it ran as $(cat log)"
	expect "--user says why not: $(cat said)" grep -q 'only root itself can run it as another user' said
	as_user sudo -n "$P/bin/ovni-bpf" $mode --user ovnitest -o own-user --force -- id -un >log 2>said ||
		complain "--user of the caller, $mode: $(cat said)"
	expect "--user of the caller" [ "$(head -n 1 log)" = ovnitest ]
done
OMP_NUM_THREADS=7 "$P/bin/ovni-bpf" --user nobody -o "$P/other.trace" -- sh -c 'id -un; env' >log 2>said ||
	complain "--user nobody of root: $(cat said)"
expect "--user" [ "$(head -n 1 log)" = nobody ]

# A rule for ovni-bpf alone. Files that the user names are opened as the user, whatever the user puts into
# SUDO_UID; the user's own files, and those that all may read, are no obstacle.
alone() {
	setpriv --reuid $((id + 1)) --regid $((id + 1)) --init-groups env -i PATH=/usr/bin:/bin SUDO_UID=0 \
		HOME="$P/other" USER=ovniother LOGNAME=ovniother sudo -n "$P/bin/ovni-bpf" "$@"
}
cd "$P/other" || exit 1
expect "the rule holds for ovni-bpf alone" [ "$(setpriv --reuid $((id + 1)) --regid $((id + 1)) --init-groups \
	sudo -n id -u 2>/dev/null)" = '' ]
install -m 755 "$WORKLOADS/sleepers" "$P/roots/secret"
echo '{"api": "secret-word", "functions": secret-word' >"$P/roots/secret.json"
refused() { # PATTERN ARGUMENTS...
	local pattern=$1
	shift
	alone "$@" >said 2>&1 && complain "$*: as root: $(head -n 3 said)"
	grep -qi "$pattern" said || complain "$*: does not say '$pattern': $(cat said)"
	expect "$*: nothing of the file is printed" [ "$(grep -c 'doze\|secret-word' said)" = 0 ]
}
refused 'permission denied' --list "$P/roots/secret"
refused 'permission denied' --list "$P/roots/secret:*"
refused 'permission denied' -a --dry-run -u "$P/roots/secret:main"
refused 'permission denied' -a --dry-run --usdt "$P/roots/secret:a:b"
refused 'permission denied' -a --dry-run --api "$P/roots/secret.json"
refused 'permission denied' -o out -- "$P/roots/secret"
refused 'permission denied' --mode off -- "$P/roots/secret"
refused 'permission denied' -a --last 1s --trigger 'latency>1s' --on-trigger "$P/roots/secret" -o out
refused 'permission denied' -a -d 10ms -o "$P/roots/out"
refused 'permission denied' -a -d 10ms -o "$P/user/new"
mkdir -m 1777 "$P/roots/all" # that all may write, in one that only root may search
refused 'permission denied' -a -d 10ms -o "$P/roots/all/out"
refused 'permission denied' -a -d 10ms --mode summary -o "$P/roots/all/out"
refused 'permission denied' -a -d 10ms -o "$P/roots/nothing/out"
expect "nothing is written into a folder out of reach" [ -z "$(ls "$P/roots/all")" ]
refused 'only root itself' --user root -o out -- id -u
refused 'only root itself' --user ovnitest -o out -- id -u
expect "none was begun" [ ! -e out ]
alone --list "$P/bin/sleepers:doze" >said 2>&1 || complain "--list of a program for all: $(cat said)"
expect "--list" grep -q doze said
alone -o probed -u "$P/bin/sleepers:doze" -- "$P/bin/sleepers" -n 2 -s 5 >said 2>&1 ||
	complain "-u of a program for all: $(cat said)"
[ "$("$B/bin/ovni-dump" probed | grep -c 'OM\[')" = 2 ] || complain "-u of a program for all: $(cat said)"

# The programs that ovni-bpf starts at the end, or at a trigger, are the user's: IDs, groups, no capability. They
# write nowhere where the user may not, also through links that the user has put there.
for name in view export emu; do
	install -m 755 "$B/bin/ovni-$name" "$P/bin/ovni-$name.real"
	cat >"$P/bin/ovni-$name" <<-E
		#!/bin/sh
		{ id -u; id -g; id -G; grep ^Cap[EPI] /proc/self/status; } >"$P/other/who.$name"
		exec "$P/bin/ovni-$name.real" "\$@"
	E
done
cat >"$P/other/told" <<-E
	#!/bin/sh
	{ id -u; id -g; id -G; grep ^Cap[EPI] /proc/self/status; } >"$P/other/who.told"
	cat "$P/roots/victim" >"$P/other/stolen" 2>/dev/null
	echo x >"$P/roots/victim"
E
chmod 755 "$P"/bin/ovni-* "$P/other/told"
chown $((id + 1)):$((id + 1)) "$P/other/told"
echo 'secret-word' >"$P/roots/victim" && chmod 600 "$P/roots/victim"
sum_roots() { (cd "$P/roots" && find . -type f -exec sha256sum {} + -o -printf '%p %y %m %u\n' | sort); }
sum_roots >"$T/before"
printf '%s\n' $((id + 1)) $((id + 1)) $((id + 1)) CapInh:0 CapPrm:0 CapEff:0 >"$T/nobody"
users() { # NAME: the program ran as the user
	sed 's/[[:space:]]*0*$/0/; s/^\([0-9].*\)0$/\1/' "who.$1" | diff - "$T/nobody" || complain "ovni-$1 did not run as the user: $(cat "who.$1")"
}
alone --html --perfetto=made.perfetto --emulate -o made -- "$P/bin/sleepers" -n 2 -s 5 >said 2>&1 ||
	complain "--html --perfetto --emulate: $(cat said)"
for name in view export emu; do users $name; done
expect "all three wrote" [ -s made.html -a -s made.perfetto -a -s made/thread.prv ]
expect "all is the user's" [ -z "$(find made made.html made.perfetto ! -user $((id + 1)) -print -quit)" ]
ln -s "$P/roots/victim" linked.html
ln -s "$P/roots/victim" linked.perfetto
alone --html --perfetto=linked.perfetto -o linked -- true >said 2>&1 && [ "$(readlink linked.html linked.perfetto)" ] &&
	complain "--html and --perfetto through links: $(cat said)"
alone --perfetto="$P/roots/new" -o elsewhere -- true >said 2>&1 && complain "--perfetto below root's folder: $(cat said)"
alone --perfetto="$P/roots/victim" --force -o elsewhere -- true >said 2>&1 && complain "--perfetto over root's file: $(cat said)"
alone -a --last 1s --trigger 'latency>1ns' --on-trigger ./told -o saved -d 5s >said 2>&1 &
trigger=$!
wait_until [ -s who.told ] || complain "no trigger: $(cat said)"
kill -INT $(pgrep -u $((id + 1)) -x ovni-bpf) 2>/dev/null
wait $trigger
users told
expect "a program of the user cannot read root's files" [ ! -s stolen ]
sum_roots | diff "$T/before" - || complain "root's folder has changed"

# Sessions are those of their user; of others not even the names are listed.
n=sudo-$$
ours() { (cd "$P/user" && as_user sudo -n "$P/bin/ovni-bpf" session "$@"); }
trap 'for name in $n $n-root $n-dead $n-calls; do "$P/bin/ovni-bpf" session stop $name >/dev/null 2>&1; done; rm -rf "$P"' EXIT
ours start $n --comm 'sleep*' --last 1s -o kept >said 2>&1 || complain "start: $(cat said)"
"$P/bin/ovni-bpf" session start $n-root --comm 'sleep*' -o "$P/root.trace" >said 2>&1 || complain "start of root: $(cat said)"
for name in $n $n-root; do
	refused 'belongs to another user' session status $name
	refused 'belongs to another user' session save $name
	refused 'belongs to another user' session stop $name
	refused 'other users own it' session start $name --comm 'sleep*' -o mine
done
alone session list >said 2>&1 || complain "list: $(cat said)"
expect "sessions of others are not listed: $(cat said)" [ "$(grep -c "$n" said)" = 0 ]
ours list >said 2>&1 || complain "list: $(cat said)"
expect "the user's own session is listed: $(cat said)" grep -q "^$n  *running" said
ours save $n >said 2>&1 || complain "the user's own session: $(cat said)"
ours stop $n >said 2>&1 || complain "the user's own session: $(cat said)"
expect "nothing of it is left" [ ! -e /run/ovni-bpf/$n ]
"$P/bin/ovni-bpf" session stop $n-root >said 2>&1 || complain "the session of root: $(cat said)"
ours start $n-dead --comm 'sleep*' -o dead >said 2>&1 || complain "start: $(cat said)"
kill -KILL "$(sed -n 's/.*(pid \([0-9]*\))/\1/p' said)"
dead() { "$P/bin/ovni-bpf" session list | grep -q "^$n-dead  *dead"; }
wait_until dead || complain "nobody sees that it is dead"
refused 'other users own it' session start $n-dead --comm 'sleep*' -o mine
refused 'belongs to another user' session stop $n-dead
ours start $n-dead --comm 'sleep*' -o alive >said 2>&1 || complain "the user's own dead session: $(cat said)"
ours stop $n-dead >said 2>&1 || complain "stop: $(cat said)"

# The files behind descriptors and the futexes of other users' processes have no names.
alone session start $n-calls -a --why=call -o calls >said 2>&1 || complain "--why=call: $(cat said)"
(cd "$T" && exec "$P/bin/asleep") >log 2>&1 & roots=$!
wait $roots || complain "the process of root: $(cat log)"
(cd "$T" && exec "$P/bin/named_locks") >log 2>&1 & roots_locks=$!
wait $roots_locks || complain "the process of root: $(cat log)"
setpriv --reuid $((id + 1)) --regid $((id + 1)) --clear-groups "$P/bin/named_locks" >log 2>&1 & own_locks=$!
wait $own_locks || complain "the process of the user: $(cat log)"
for i in 1 2; do
	setpriv --reuid $((id + 1)) --regid $((id + 1)) --clear-groups "$P/bin/asleep" >log 2>&1 & own[i]=$!
	wait ${own[i]} || complain "the process of the user: $(cat log)"
done
alone session stop $n-calls >said 2>&1 || [ $? = 3 ] || complain "--why=call: $(cat said)"
names_of() { # KEY PID...
	local key=$1 pid
	shift
	for pid; do grep -oh "\"$key\": *\"*[0-9]" calls/loom.*/proc."$pid"/thread.*/stream.json; done | wc -l
}
expect "the recording has the process of root" [ -e "$(echo calls/loom.*/proc.$roots/thread.$roots/stream.json)" ]
expect "descriptors of the user have names" [ "$(names_of fd "${own[@]}")" -gt 0 ]
expect "descriptors of root have none: $(names_of fd $roots)" [ "$(names_of fd $roots)" = 0 ]
expect "the recording has the locks of root" [ -e "$(echo calls/loom.*/proc.$roots_locks/thread.$roots_locks/stream.json)" ]
expect "futexes of the user have names" [ "$(names_of address $own_locks)" -gt 3 ]
expect "futexes of root have none: $(names_of address $roots_locks)" [ "$(names_of address $roots_locks)" = 0 ]
finish
