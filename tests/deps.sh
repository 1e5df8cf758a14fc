#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The Debian packages that the project needs, and what of them is missing.
#
#   tests/deps.sh --missing [build|test|bench]   prints the missing ones on one line
#   tests/deps.sh --install [bench]              installs all that are missing (root)
#
# bench: the tracers and loads that only the benchmarks compare with.
#
# A package is looked for by a file of it, so that other distributions, which name
# packages differently, can build as well.
set -eu

# package                 what proves it is there: a command, or a path
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
liblzma-dev               /usr/include/lzma.h
'
test='
libcmocka-dev             /usr/include/cmocka.h
python3                   python3
procps                    ps
libclang-rt-dev           /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
groff-base                groff
stress-ng                 stress-ng
g++                       g++
openmpi-bin               mpirun
libopenmpi-dev            mpicc
valgrind                  valgrind
libomp-dev                /usr/lib/llvm-*/lib/libomp.so
sudo                      sudo
systemtap-sdt-dev         /usr/include/*/sys/sdt.h
xz-utils                  xz
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

# The list of a purpose: what tests need includes what the build needs.
list_for() {
	case ${1:-build} in
	build) echo "$build" ;;
	test) echo "$build$test" ;;
	bench) echo "$bench" ;;
	esac
}

case ${1:-} in
--missing) missing "$(list_for "${2:-build}")" ;;
--install)
	list=$(missing "$(list_for "${2:-test}")")
	[ -n "$list" ] || exit 0
	if [ "$(id -u)" != 0 ]; then
		echo "deps: missing packages: $list- run 'sudo make deps' to install them" >&2
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
*)
	echo "usage: $0 --missing [build|test|bench] | --install [bench]" >&2
	exit 2
	;;
esac
