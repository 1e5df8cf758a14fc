#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Two builds of the same files in different folders, with another umask, time zone, locale and number
# of jobs, are the same to the byte: programs, library, objects of BPF, completion. The second one is
# made from the tarball of `make dist`, if git is there. A build with another prefix names that one.
# The flag -O0 from outside wins.
# needs: early
# long: builds all twice, without ccache
set -eu
export CCACHE_DISABLE=1 MAKEFLAGS=''
unset CFLAGS CPPFLAGS LDFLAGS

first=$T/one second=$T/a/longer/path/two
mkdir -p "$first" "$second"
cd "$S"
if git rev-parse --git-dir >/dev/null 2>&1 && git diff --quiet HEAD; then
	make -s B="$T/dist" dist
	tar -xzf "$T"/dist/ovni-bpf-*.tar.gz -C "$second" --strip-components=1
	echo "the second build is that of a tarball"
else
	tar -c --warning=no-file-changed --exclude-vcs --exclude='./build*' . | tar -x -C "$second"
	echo "no git, or changes that are not committed: no tarball is tried"
fi
tar -c --warning=no-file-changed --exclude-vcs --exclude='./build*' . | tar -x -C "$first"

build() { make -s B=build CFLAGS=-O0 prefix=/usr "$@" all; }
(umask 077 && TZ=UTC+11 LC_ALL=C build -j1 -C "$first") &
(cd "$second" && umask 022 && TZ=UTC-9 LC_ALL=C.UTF-8 build -j2)
wait $!

cd "$first/build"
find . -type f ! -name '*.d' | sort >"$T/files"
(cd "$second/build" && find . -type f ! -name '*.d' | sort) | diff "$T/files" -
n=0
while read -r file; do
	cmp "$file" "$second/build/$file" && n=$((n + 1)) || differ=1
	! grep -qaF "$first" "$file" || { echo "$file names its folder"; differ=1; }
done <"$T/files"
echo "$n files are the same"
[ -z "${differ-}" ]
[ "$n" -gt 300 ] && [ -s bin/ovni-bpf ] && [ -s bpf/ovni.o ] && [ -s completion.bash ]
readelf --debug-dump=info trace/base/build_info.o >info 2>/dev/null
grep -q 'DW_AT_producer.* -O3 -O0 ' info && grep -qE 'DW_AT_comp_dir.*: \.$' info

cd "$first"
make -s -j2 B=build CFLAGS=-O0 prefix=/opt/x all
grep -qaF /opt/x/share/ovni-bpf build/bin/ovni-emu && ! grep -qaF /usr/share/ovni-bpf build/bin/ovni-emu ||
	{ echo "another prefix leaves the old one in the programs"; exit 1; }
