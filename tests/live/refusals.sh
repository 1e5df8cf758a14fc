#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A disk that refuses: full, over quota (an injected error, and the quota of a real file system, btrfs, on a
# loop device), failed, read-only, gone, or with a limit on the size of files; each for a trace, for statistics alone, for several traces, for the flight recorder and for
# a session. The recording ends once: one sentence that says why, status 1. The disk has a trace or
# one that can be mended, and traces reported as complete are.
# needs: root
# longer: each refusal in every mode
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
[ "${REFUSALS_NAMESPACE:-}" ] || # mounts go with it
	REFUSALS_NAMESPACE=1 exec unshare --mount --propagation private "$0"

CHECK=$B/bin/ovni-check
session=refusals-$$
"$WORKLOADS/switcher" -n 4 -u 600000000 >/dev/null 2>&1 &
target=$!
trap 'kill $target; "$RECORDER" session stop $session >/dev/null 2>&1' EXIT
mkdir disk out

# The modes: options, and the number of the act on the disk at which injected faults begin.
declare -A options=(
	[trace]='--flush-interval 10ms'
	[summary]='--mode summary --interval 20ms'
	[rotate]='--flush-interval 10ms --rotate 100ms'
	[last]='--last 1s'
	[session]='--flush-interval 10ms'
)
declare -A act=([trace]=25 [summary]=4 [rotate]=25 [last]=8 [session]=25)

# Faults: the message; if necessary the making of the disk, the environment of the recorder, and an
# action while it records.
declare -A says=(
	[full]='No space left on device'
	[quota]='Disk quota exceeded'
	[btrfs]='Disk quota exceeded'
	[failed]='Input/output error'
	[readonly]='Read-only file system'
	[gone]='No such file or directory|Stale file handle'
	[limit]='File too large'
)
declare -A injected=([quota]=122 [failed]=5)

with_quota() { # BYTES: mounts a file system that is larger than its quota
	rm -f image # the one before ends with its mount
	{
		truncate -s 128M image && mkfs.btrfs -q image && mount -o loop image disk &&
			btrfs quota enable disk && btrfs quota rescan -w disk && btrfs qgroup limit "$1" 0/5 disk
	} >disk.log 2>&1
}
disk() { # FAULT MODE
	local size=64m
	case $2,$1 in
	summary,full | last,full) size=16k ;; # they write less, or late
	summary,btrfs | last,btrfs) size=160k ;; # its own directories take some, too
	*,full | *,btrfs) size=256k ;;
	esac
	if [ "$1" = btrfs ]; then
		with_quota "$size" || complain "$1: no disk: $(cat disk.log)"
	else
		mount -t tmpfs -o "size=$size" none disk || complain "$1: no disk"
	fi
	mkdir disk/here
}
environment() { # FAULT MODE
	[ -n "${injected[$1]:-}" ] || return 0
	echo "LD_PRELOAD=$B/tests/faults/faults.so FAULT_PROGRAM=ovni-bpf FAULT_KIND=files" \
		"FAULT_ON=$PWD/disk FAULT_FOREVER=1 FAULT_ERROR=${injected[$1]} FAULT_AT=${act[$2]}"
}
happens() { # FAULT
	case $1 in
	readonly) wait_until mount -o remount,ro disk 2>/dev/null || complain "readonly: it stays writable" ;;
	gone) until rm -rf disk/here 2>/dev/null; do :; done ;;
	esac
}

# Checks the traces below a directory: they are accepted, or mended and not complete.
left() { # FAULT MODE
	local part
	for part in disk/here/trace disk/here/trace/0* disk/here/trace/.next; do
		[ -n "$(find "$part"/loom.* -name stream.json 2>/dev/null | head -n 1)" ] || continue
		if "$CHECK" "$part" >said.check 2>&1; then
			"$EMULATOR" -l -o out/emulated "$part" >said.emu 2>&1 ||
				complain "$1, $2: $part is refused: $(tail -n 3 said.emu)"
			continue
		fi
		! grep -q "/${part##*/}: .* lost (" said || complain "$1, $2: $part was told to be complete"
		"$CHECK" --repair -o out/mended "$part" >said.check 2>&1
		[ $? = 3 ] || complain "$1, $2: $part cannot be mended: $(tail -n 3 said.check)"
		"$EMULATOR" -l -o out/emulated out/mended >said.emu 2>&1
		[ $? = 3 ] || complain "$1, $2: $part is not mended: $(tail -n 3 said.emu)"
		rm -rf out/*
	done
	for part in disk/here/*.stats.json; do
		[ ! -e "$part" ] || "$CHECK" "$part" >said.check 2>&1 || [ $? = 3 ] ||
			complain "$1, $2: $part: $(cat said.check)"
	done
}

begun() { grep -q '^ovni-bpf: recording' said || ended "$recorder"; }
over() { "$RECORDER" session list | grep -qE "^$session +(ended|dead)"; }

refuse() { # FAULT MODE
	local fault=$1 mode=$2 run=() status=0
	disk "$fault" "$mode"
	read -ra run <<<"$(environment "$fault" "$mode")"
	[ "$fault" != limit ] || run+=(prlimit --fsize=6000)
	run=(env "${run[@]}" "$RECORDER")
	[ "$mode" != session ] || run+=(session start "$session")
	# shellcheck disable=SC2206 # words
	run+=(${options[$mode,$fault]:-${options[$mode]}} -o "$PWD/disk/here/trace" -p $target)
	if [ "$mode" = session ]; then
		"${run[@]}" >said 2>&1 || complain "$fault: the session does not start: $(cat said)"
		happens "$fault"
		wait_until over || complain "$fault: the session goes on"
		"$RECORDER" session stop $session >said 2>&1 || status=$?
	else
		: >said # begun() must not find what the last one said
		"${run[@]}" >said 2>&1 &
		recorder=$!
		wait_until begun
		happens "$fault"
		[ "$mode" != last ] || kill -USR1 $recorder # it writes on request
		wait_until ended $recorder || complain "$fault, $mode: it goes on: $(cat said)"
		kill -INT $recorder 2>/dev/null
		wait $recorder || status=$?
	fi
	[ $status = 1 ] || complain "$fault, $mode: status $status: $(cat said)"
	[ "$(grep -c 'ovni-bpf: error:' said)" = 1 ] || complain "$fault, $mode: said not once: $(cat said)"
	grep -qE "error: .*(${says[$fault]})" said || complain "$fault, $mode: does not say why: $(cat said)"
	left "$fault" "$mode"
	umount -l disk
}

quotas=
if with_quota 1M; then
	quotas=1
else
	echo "no quota of a file system: $(tail -n 1 disk.log)"
fi
umount -l disk 2>/dev/null

# Each mode and each fault; FAULTS=all: each of these in each of those.
tried=0
while read -r fault modes; do
	[ "${FAULTS:-${LONG:+all}}" != all ] || modes='trace summary rotate last session'
	for mode in $modes; do
		# its file is open for writing, so the kernel refuses to make the disk read-only
		[ "$mode,$fault" != summary,readonly ] || continue
		[ "$fault" != btrfs ] || [ "$quotas" ] || continue
		refuse "$fault" "$mode"
		tried=$((tried + 1))
		[ $wrong -lt 5 ] || finish
	done
done <<'E'
full trace summary rotate last session
quota session
btrfs trace summary last
failed rotate
readonly trace
gone summary
limit summary
E
echo "refused $tried times"
expect "they were tried" [ $tried -ge 10 ]
finish
