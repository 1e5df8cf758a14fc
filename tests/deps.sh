#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The Debian packages that the project needs, and the missing ones.
#
#   tests/deps.sh --missing PURPOSE    prints the missing ones on one line
#   tests/deps.sh --install PURPOSE    installs the missing ones (root)
#
# PURPOSE: build; check (build, and what its tests need); check-long (check, and what its tests
# need); bench (the tracers and loads that the benchmarks compare with). Libraries of the oracles
# (tests/README.md) belong to check-long where the oracles are present.
#
# A package is looked for by a file of it, so that other distributions, which name
# packages differently, can build as well.
set -eu

# package                 its proof: a command, or a path
build='
gcc                       gcc
libc6-dev                 /usr/include/stdlib.h
clang                     clang
llvm                      llvm-strip
bpftool                   bpftool
pkg-config                pkg-config
libbpf-dev                /usr/include/bpf/libbpf.h
libelf-dev                /usr/include/libelf.h
zlib1g-dev                /usr/include/zlib.h
libcjson-dev              /usr/include/cjson/cJSON.h
libzstd-dev               /usr/include/zstd.h
libcap-ng-dev             /usr/include/cap-ng.h
libdw-dev                 /usr/include/elfutils/libdwfl.h
libiberty-dev             /usr/include/libiberty/demangle.h
libcapstone-dev           /usr/include/capstone/capstone.h
libsqlite3-dev            /usr/include/sqlite3.h
libseccomp-dev            /usr/include/seccomp.h
'
check='
libcmocka-dev             /usr/include/cmocka.h
python3                   python3
procps                    ps
btrfs-progs               mkfs.btrfs
libclang-rt-dev           /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
groff-base                groff
g++                       g++
sudo                      sudo
systemtap-sdt-dev         /usr/include/*/sys/sdt.h
xz-utils                  xz
zsh                       zsh
dwz                       dwz
'
long='
stress-ng                 stress-ng
openmpi-bin               mpirun
libopenmpi-dev            mpicc
valgrind                  valgrind
slurmd                    slurmd
slurmctld                 slurmctld
slurm-client              srun
munge                     munged
libomp-dev                /usr/lib/llvm-*/lib/libomp.so
chromium                  chromium
chromium-driver           chromedriver
firefox-esr               firefox-esr
fonts-dejavu-core         /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf
qemu-system-x86           qemu-system-x86_64
busybox-static            busybox
cpio                      cpio
gcc-aarch64-linux-gnu     aarch64-linux-gnu-gcc
qemu-user-static          qemu-aarch64-static
mmdebstrap                mmdebstrap
rpm                       rpmbuild
'
oracles='
libboost-serialization1.74.0  /usr/lib/*/libboost_serialization.so.1.74.0
libxml2                   /usr/lib/*/libxml2.so.2
libssl3                   /usr/lib/*/libssl.so.3
libzfp1                   /usr/lib/*/libzfp.so.1
libgomp1                  /usr/lib/*/libgomp.so.1
nodejs                    node
'
bench='
linux-perf                perf
bpftrace                  bpftrace
sysbench                  sysbench
uftrace                   uftrace
'

present() {
	case $1 in
	/*) # shellcheck disable=SC2086 # a pattern: versions are in the names of some folders
		set -- $1
		[ -e "$1" ]
		;;
	*) PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1 ;;
	esac
}

missing() {
	printf '%s\n' "$1" | while read -r package proof; do
		[ -z "$package" ] || present "$proof" || printf '%s ' "$package"
	done
}

list_for() { # PURPOSE
	case $1 in
	build) echo "$build" ;;
	check) echo "$build$check" ;;
	check-long)
		echo "$build$check$long"
		[ ! -d "${ORACLES:-$(dirname "$0")/../../shared/oracles}" ] || echo "$oracles"
		;;
	bench) echo "$bench" ;;
	*) usage ;;
	esac
}

usage() {
	echo "usage: $0 --missing|--install build|check|check-long|bench" >&2
	exit 2
}

[ $# = 2 ] || usage
needed=$(list_for "$2")
list=$(missing "$needed")
case $1 in
--missing) echo "$list" ;;
--install)
	[ -n "$list" ] || exit 0
	if [ "$(id -u)" != 0 ]; then
		echo "deps: missing packages: $list- run 'sudo make deps-$2' to install them" >&2
		exit 1
	fi
	if ! command -v apt-get >/dev/null; then
		echo "deps: no apt-get here; install what provides: $list" >&2
		exit 1
	fi
	echo "deps: installing $list"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	# shellcheck disable=SC2086 # a list of words on purpose
	apt-get install -y -qq --no-install-recommends $list >/dev/null
	;;
*) usage ;;
esac
