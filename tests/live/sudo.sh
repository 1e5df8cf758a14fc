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
install -m 755 "$RECORDER" "$EMULATOR" "$WORKLOADS/sleepers" "$P/bin"
install -m 755 -D "$WORKLOADS/sleepers" "$P/user/bin/mine"
chown -R $id:$id "$P/user"

for file in passwd group shadow; do
	cp -p /etc/$file "$T/$file" || skip "no /etc/$file"
done
echo "ovnitest:x:$id:$id::$P/user:/bin/sh" >>passwd
printf 'ovnitest:x:%d:\novniextra:x:%d:ovnitest\n' $id $((id + 1)) >>group
echo 'ovnitest:*:19000:0:99999:7:::' >>shadow
for file in passwd group shadow; do
	mount --bind "$T/$file" /etc/$file || skip "nothing can be mounted over /etc/$file"
done
mkdir -p /etc/sudoers.d && mount -t tmpfs -o mode=755 none /etc/sudoers.d || skip "no tmpfs"
echo 'ovnitest ALL=(root) NOPASSWD: ALL' >/etc/sudoers.d/ovnitest
chmod 440 /etc/sudoers.d/ovnitest

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

# --user chooses somebody else, whose environment is that of a login.
as_user sudo -n "$P/bin/ovni-bpf" --user nobody -o other -- sh -c 'id -un; env' >log 2>said ||
	complain "--user nobody: $(cat said)"
expect "--user" [ "$(head -n 1 log)" = nobody ]
expect "--user has not the caller's environment" [ "$(grep -c OMP_NUM_THREADS log)" = 0 ]
finish
