# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# cpu_group: a cgroup with the CPU controller, for tests of CPU quotas. Sourced, after lib.sh; not a test.
#
#   find_group          makes the cgroup $group of version $version; fails if the machine has none
#   set_quota USEC      of each 50 ms; none: no quota
#   throttled_ns        prints for how long the kernel has stopped the group
#   clean_up            for trap ... EXIT: ends the processes of the group and removes it

# A group of the controller cpu, of version 1 or 2, wherever that is mounted, or can be.
find_group() {
	local type options place
	while read -r _ place type options _; do
		case $type,$options in
		cgroup,*) [[ ,$options, == *,cpu,* ]] || continue ;;
		cgroup2,*) grep -qw cpu "$place/cgroup.controllers" 2>/dev/null || continue ;;
		*) continue ;;
		esac
		version=${type#cgroup}
		version=${version:-1}
		group=$place/ovni-quota.$$
		mkdir "$group" 2>/dev/null && return
	done </proc/mounts
	mkdir -p cpu && mount -t cgroup -o cpu none cpu 2>/dev/null || return
	mounted=cpu version=1 group=$T/cpu/ovni-quota.$$
	mkdir "$group" 2>/dev/null
}

clean_up() {
	local pid
	[ -d "${group:-}" ] && {
		set_quota none
		while read -r pid; do kill -KILL "$pid" 2>/dev/null; done <"$group/cgroup.procs"
		wait_until rmdir "$group" 2>/dev/null || echo "cannot remove $group"
	}
	[ "${mounted:-}" ] && umount "$mounted"
}

set_quota() { # USEC|none, of 50 ms
	local quota=$1
	if [ "$version" = 2 ]; then
		[ "$quota" = none ] && quota=max
		echo "$quota 50000" >"$group/cpu.max"
	else
		[ "$quota" = none ] && quota=-1
		echo 50000 >"$group/cpu.cfs_period_us" && echo "$quota" >"$group/cpu.cfs_quota_us"
	fi
}

throttled_ns() {
	awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { print $2 * 1000 }' "$group/cpu.stat"
}
