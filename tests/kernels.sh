#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Boots kernels of Debian in QEMU, without KVM, and records in them:
#
#   tests/kernels.sh BUILD [SUITE...]      BUILD: folder of the build; SUITE: a release of Debian
#                                          (default: bullseye bookworm trixie, for 5.10 6.1 6.12)
#
# KERNELS_CPU: the CPU of the guests (-cpu); KERNELS_TIMEOUT: seconds for each guest (340).
#
# Prints a table, kernel x feature, in the form of docs/kernels.md; on standard error each result of
# a guest, and what was wrong. Status 0: every feature works, or is refused with the sentence that
# the manual has; 1: something else; 77: there is nothing to boot, with the reason.
#
# The kernels are the packages linux-image-cloud-amd64, downloaded into BUILD/kernels by an apt with
# folders of its own: the apt of this machine is not touched. tests/kernels_init.sh is the first
# process of each guest. All guests run at the same time; their last line ends the wait, not a time.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd) || exit 2
shift
[ $# -gt 0 ] || set -- bullseye bookworm trixie
cache=$build/kernels
PATH=$PATH:/usr/sbin:/sbin
# shellcheck source=tests/own_apt.sh
. "$top/tests/own_apt.sh"

skip() { echo "$1"; exit 77; }
for tool in qemu-system-x86_64 busybox cpio apt-get dpkg-deb; do
	command -v $tool >/dev/null || skip "there is no $tool"
done
[ "$(uname -m)" = x86_64 ] || skip "the kernels are for x86-64"
[ -r "$own_apt_keys" ] || skip "there are no keys of Debian's archive ($own_apt_keys)"

# The kernel of a suite, at $cache/SUITE/vmlinuz.
fetch() { # SUITE
	local folder=$cache/$1 image package
	[ ! -s "$folder/vmlinuz" ] || return 0
	rm -rf "$folder"
	mkdir -p "$folder/files" || return 1
	(
		cd "$folder" && own_apt "$folder" "$1" amd64 || exit 1
		image=$(apt-cache depends linux-image-cloud-amd64 |
			sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
		[ -n "$image" ] || exit 1
		for package in "$image" "linux-binary-${image#linux-image-}"; do
			apt-cache show "$package" >/dev/null 2>&1 || continue
			apt-get download -qq "$package" || exit 1
		done
		for package in ./*.deb; do
			dpkg-deb -x "$package" files || exit 1
		done
	) >"$folder/log" 2>&1 || return 1
	image=$(find "$folder/files" -name 'vmlinuz*' -type f | head -n 1)
	[ -n "$image" ] && mv "$image" "$folder/new" &&
		rm -rf "${folder:?}"/{files,etc,lists,cache,status,apt.conf,*.deb} && mv "$folder/new" "$folder/vmlinuz"
}

# The files of a guest: our programs with their libraries, the workloads, and busybox.
make_initramfs() { # FOLDER
	local root=$1/root file
	mkdir -p "$root"/{bin,proc,sys,dev,tmp,etc} || return 1
	cp "$(command -v busybox)" "$(command -v setpriv)" "$(command -v bpftool)" "$root/bin" &&
		cp "$build"/bin/ovni-{bpf,check,dump,emu} "$root/bin" &&
		cp "$build"/tests/workloads/{calls,hopper,pingpong,sleepers,yielder} "$root/bin" &&
		cp "$top/tests/kernels_init.sh" "$root/init" || return 1
	for file in $(for f in "$root"/bin/*; do ldd "$f" 2>/dev/null; done |
		grep -o '/[^ :]*' | sort -u); do
		cp -L --parents "$file" "$root" || return 1
	done
	(cd "$root" && find . | cpio -o -H newc 2>/dev/null) >"$1/initramfs"
}

# Boots a kernel; what the guest says is OUTPUT. A guest that panics ends (panic=-1, -no-reboot).
# All virtual CPUs are one thread of QEMU; with a thread for each, guests sometimes hang. QEMU 7.2 damages
# the flags at CMPXCHG16B [seen with one thread, too: c21fa242], which ends in a panic; the kernels of
# releases do without this instruction, and only kernels after 6.18 need it for the storage of tasks.
# Without no_timer_check a kernel panics ("IO-APIC + timer doesn't work") if QEMU does not run for the few
# milliseconds in which that kernel waits for ticks.
boot() { # SUITE OUTPUT SECONDS
	local cpu=max,la57=off
	case $1 in
	bullseye | bookworm | trixie) cpu=$cpu,cx16=off ;;
	esac
	timeout -k 5 "$3" qemu-system-x86_64 -accel tcg,thread=single \
		-cpu "${KERNELS_CPU:-$cpu}" -smp 2 -m 1G -nographic -no-reboot -nic none \
		-kernel "$cache/$1/vmlinuz" -initrd "$folder/initramfs" \
		-append "console=ttyS0 quiet panic=-1 no_timer_check" </dev/null 2>&1 | tr -d '\r' >"$2"
}

# Once more, if the guest panics before the end and time is left.
boot_to_the_end() { # SUITE
	local output=$folder/$1 deadline=$((SECONDS + ${KERNELS_TIMEOUT:-340}))
	boot "$1" "$output" $((deadline - SECONDS))
	grep -qa '^kernels: the end$' "$output" && return
	[ $((deadline - SECONDS)) -ge 60 ] || return
	tail -n 40 "$output" | grep -a '' | sed "s/^/$1, first boot: /" >&2
	boot "$1" "$output" $((deadline - SECONDS))
}

folder=$(mktemp -d "${TMPDIR:-/tmp}/ovni-kernels.XXXXXX") || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$folder"' EXIT
mkdir -p "$cache"
for suite in "$@"; do
	(
		flock 9
		fetch "$suite"
	) 9>"$cache/$suite.lock" ||
		skip "no kernel of $suite: $(tail -n 1 "$cache/$suite/log" 2>/dev/null)"
done
make_initramfs "$folder" || { echo "cannot make the initramfs" >&2; exit 1; }

for suite in "$@"; do
	boot_to_the_end "$suite" &
done
wait

wrong=0 unfinished='' head="| feature |" line="| --- |"
for suite in "$@"; do
	sed "s/^/$suite: /" "$folder/$suite" | grep -a '' >&2
	grep -qa '^kernels: the end$' "$folder/$suite" || {
		echo "$suite: the guest did not come to its end" >&2
		unfinished="$unfinished $suite"
	}
	grep -qa '^wrong: ' "$folder/$suite" && wrong=1
	head="$head $(sed -n 's/.*kernels: this is //p' "$folder/$suite") |"
	line="$line --- |"
done
printf '%s\n%s\n' "$head" "$line"
cat "${@/#/$folder/}" | sed -n 's/^cell: \([^|]*\)|.*/\1/p' | awk '!seen[$0]++' >"$folder/features"
while read -r feature; do
	row="| $feature |"
	for suite in "$@"; do
		row="$row $(sed -n "s/^cell: $feature|//p" "$folder/$suite" | head -n 1) |"
	done
	echo "$row"
done <"$folder/features"
[ $wrong = 1 ] || [ -z "$unfinished" ] ||
	skip "QEMU did not bring this guest to its end in time, so it is not judged:$unfinished"
exit $wrong
