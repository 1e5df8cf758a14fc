#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A disk that is slower than the recording: a file system of its own, whose every write waits, on a
# device that the block controller of cgroups holds at 1 MB/s for the recorder. Nothing is lost while the queue of
# the writer has space, the recorded program does not wait for the disk, and the end waits for the last byte.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

rate=1000000 # bytes/s
loop='' group=''
clean_up() {
	umount disk 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop" 2>/dev/null
	[ -z "$group" ] || wait_until rmdir "$group" 2>/dev/null
}
trap clean_up EXIT

# The controller, of version 1 or 2: leaves $group, and limits the device MAJOR:MINOR in it.
limit_writes() { # MAJOR:MINOR
	local place type options
	while read -r _ place type options _; do
		group=$place/ovni-slow.$$
		case $type,$options in
		cgroup,*blkio*)
			mkdir "$group" && echo "$1 $rate" >"$group/blkio.throttle.write_bps_device" && return
			;;
		cgroup2,*)
			grep -qw io "$place/cgroup.controllers" && echo +io >"$place/cgroup.subtree_control" &&
				mkdir "$group" && echo "$1 wbps=$rate" >"$group/io.max" && return
			;;
		esac
	done </proc/mounts 2>/dev/null
	group=''
	return 1
}

command -v mkfs.ext4 >/dev/null || skip "no mkfs.ext4"
truncate -s 256M image && mkfs.ext4 -q image || skip "no file system can be made here"
loop=$(losetup --find --show image 2>/dev/null) || skip "no loop device"
mkdir disk
mount -o sync "$loop" disk 2>/dev/null || skip "the loop device cannot be mounted"
limit_writes "$(lsblk -ndo MAJ:MIN "$loop" | tr -d ' ')" || skip "no block controller of cgroups can be used here"
now_ms() { echo $(($(date +%s%N) / 1000000)); }
limited() { # COMMAND...
	# shellcheck disable=SC2016 # the other shell expands it
	bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$group" "$@"
}

# It is slow.
before=$(now_ms)
limited dd if=/dev/zero of=disk/probe bs=16k count=64 oflag=sync 2>dd.log || complain "dd: $(cat dd.log)"
probe_ms=$(($(now_ms) - before))
[ $probe_ms -gt 800 ] || skip "the block controller does not slow the disk: 1 MiB in $probe_ms ms"

mkfifo gate
WORKLOAD_REPORT=$T/slow.report WORKLOAD_GATE=$T/gate "$WORKLOADS/storm" -n 8 -l 6000 &
target=$!
limited "$RECORDER" -p $target -o disk/slow >slow.log 2>&1 &
recorder=$!
wait_recording slow $recorder
: >gate
before=$(now_ms)
wait $target || complain "the program failed"
program_ms=$(($(now_ms) - before))
before=$(now_ms)
wait $recorder || complain "status $?: $(tail -n 3 slow.log)"
after_ms=$(($(now_ms) - before))
bytes=$(find disk/slow -name stream.obs -printf '%s\n' | awk '{ n += $1 } END { print n }')
echo "1 MiB takes $probe_ms ms; $bytes bytes: the program ran $program_ms ms, and the recorder wrote $after_ms ms after it"
expect "all is written at the rate of the disk" [ $((program_ms + after_ms)) -gt $((bytes / (rate / 1000) / 2)) ]
expect "the disk was too slow for the program" [ $after_ms -gt 300 ]
expect "nothing is lost" grep -q ' lost=0 ' slow.log
judge disk/slow
"$B/bin/ovni-check" --strict disk/slow >check.log 2>&1 || complain "ovni-check: $(tail -n 3 check.log)"
finish
