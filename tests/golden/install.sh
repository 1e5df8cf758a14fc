#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The paths and modes of the installed files, also with another prefix; an installed program finds its
# data relative to itself; `make uninstall` leaves nothing of ours behind. NO_BUILD=1 installs the build as it is: other tests
# use its programs at the same time.
set -eu
root=$T/root
make_() { MAKEFLAGS='' make -s -C "$S" B="$B" DESTDIR="$root" prefix=/usr NO_BUILD=1 "$@"; }

if ! ls "$B"/bin/ovni-* >/dev/null 2>&1; then
	echo "no programs are built"
	exit 77
fi
if make_ -n -W VERSION install | grep -E -- ' -c -o |version\.stamp'; then
	echo "NO_BUILD=1 builds"
	exit 1
fi
(umask 077 && make_ install install-tests)
cd "$root/usr"
for program in "$B"/bin/*; do
	[ -x "bin/${program##*/}" ] || { echo "not installed: ${program##*/}"; exit 1; }
done
[ -x lib/ovni-bpf/tests/tests/run ] && [ -d lib/ovni-bpf/tests/build/vectors ]
[ "$(readlink lib/ovni-bpf/tests/build/bin)" = /usr/bin ]
[ "$(ls lib/ovni-bpf/tests/build/tests/unit)" = "$(cd "$S/tests/unit" && basename -a -s .c ./*.c)" ]
diff -r "$S/emu/cfg" share/ovni-bpf/cfg
diff -r --exclude='*.[ch]' "$S/user/apis" share/ovni-bpf/apis
for page in "$S"/docs/man/*.[1-8]; do
	cmp "$page" "share/man/man${page##*.}/${page##*/}"
done
cmp "$S/bpf/COPYING" share/doc/ovni-bpf/COPYING
for text in README.md CHANGELOG.md CONTRIBUTING.md LICENSE; do
	cmp "$S/$text" "share/doc/ovni-bpf/$text"
done
for text in "$S"/docs/*.md "$S"/docs/internals/*.md "$S"/docs/spec/*.md; do
	cmp "$text" "share/doc/ovni-bpf/${text#"$S"/}"
done
hidden=$(find "$root" -type f ! -perm -444 -o -type d -mindepth 1 ! -perm -555)
[ -z "$hidden" ] || { echo "not readable by all: $hidden"; exit 1; }
[ -d "$root/etc/ovni-bpf" ] || { echo "no /etc/ovni-bpf, which ovni-bpf(8) names"; exit 1; }

# The configurations that the installed emulator places are those beside it.
if [ -x bin/ovni-emu ]; then
	echo "installed here" >>share/ovni-bpf/cfg/thread/state.cfg
	python3 "$S/tests/golden/cfgtrace.py" "$T/trace"
	bin/ovni-emu -a -b --arrows --critical 7 "$T/trace" # everything occurs; the scales are those of the trace
	diff -r --exclude='hwc-*' -I '^window_maximum_y' share/ovni-bpf/cfg "$T/trace/cfg"
else
	echo "no ovni-emu: where it finds its data is not tried"
fi

# So with the API files of the recorder, which says where it has looked.
if [ -x bin/ovni-bpf ]; then
	said=$(bin/ovni-bpf --api nothing -- /bin/true 2>&1) && { echo "an API that is not there: $said"; exit 1; }
	case $said in
	*"--api nothing: no such API in $root/usr/bin/../share/ovni-bpf/apis, only: mpi-messages, mpi, nosv, openmp, pthread "*) ;;
	*) echo "where are the API files? $said"; exit 1 ;;
	esac
fi

cd "$T"
make_ uninstall
left=$(find "$root" ! -type d -o -name '*ovni*' -o -path '*/share/doc/*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }

# With another prefix all is below it, and what names a path names that one. Files of others remain.
make_ prefix=/opt/x install
away=$(find "$root" ! -type d ! -path "$root/opt/x/*")
[ -z "$away" ] || { echo "not below the prefix: $away"; exit 1; }
cd "$root/opt/x"
wrong=$(grep -rnE '/usr/(local/)?(bin/ovni|lib|include|share/ovni)|[^x]/etc/ovni|@[a-z]+@' lib/pkgconfig lib/systemd share/*-completion) &&
	{ echo "names another prefix: $wrong"; exit 1; }
grep -q '^EnvironmentFile=-/opt/x/etc/ovni-bpf/%i.conf$' lib/systemd/system/ovni-bpf@.service
grep -q '^Libs: -L/opt/x/lib ' lib/pkgconfig/ovni-loom.pc
grep -q '^Libs: -L/opt/x/lib ' lib/pkgconfig/ovni-trace.pc
grep -q '"/opt/x/lib/libovni-trace.so.1"' lib/python3/dist-packages/ovni_trace.py
[ -e lib/libovni-trace.so ] && [ -e lib/libovni-loom.so ]
touch etc/ovni-bpf/night.conf share/ovni-bpf/apis/own.json share/doc/others
cd "$T"
make_ prefix=/opt/x uninstall
left=$(cd "$root/opt/x" && find . ! -type d | sort)
[ "$left" = './etc/ovni-bpf/night.conf
./share/doc/others
./share/ovni-bpf/apis/own.json' ] ||
	{ echo "left behind: $left"; exit 1; }
