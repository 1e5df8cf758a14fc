#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The file for a name: of a running process, by the soname of a mapped library; in another mount
# namespace, where the same path is another file; replaced on the disk meanwhile; of a command
# behind a launcher.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
command -v gcc >/dev/null || skip "there is no gcc"

# Two libraries of one name; in the other one the function lies elsewhere.
cat >one.c <<'E'
#define PROBED __attribute__((noinline, noclone, noipa))
#ifdef OTHER
PROBED long filler(long n) { __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop"); return n * 7 + 3; }
PROBED long filler2(long n) { return filler(n) * 13; }
#endif
PROBED long work(long n) { __asm__ volatile(""); return n + 1; }
E
cat >user.c <<'E'
#include <stdlib.h>
#include <unistd.h>
long work(long n);
/* Waits for a byte, unless there are more arguments, and calls the library N times. */
int main(int argc, char **argv)
{
	char byte;
	if (argc == 2 && (write(1, "x", 1) != 1 || read(0, &byte, 1) < 0))
		return 1;
	for (long i = 0, n = atol(argv[1]); i < n; i++)
		if (work(i) != i + 1)
			return 2;
	return 0;
}
E
mkdir lib other
gcc -O2 -shared -fPIC -Wl,-soname,libwork.so.1 -o lib/libwork.so.1 one.c &&
	gcc -O2 -DOTHER -shared -fPIC -Wl,-soname,libwork.so.1 -o other/libwork.so.1 one.c &&
	gcc -O2 -o user user.c lib/libwork.so.1 -Wl,-rpath,"$T/lib" || exit 1
[ "$(nm lib/libwork.so.1 | grep ' work$')" != "$(nm other/libwork.so.1 | grep ' work$')" ] ||
	complain "the two libraries are alike"

start() { # COMMAND...: waits until it has the library; $target is its pid
	rm -f gate said
	mkfifo gate
	"$@" <gate >said &
	target=$!
	exec 5>gate
	wait_until test -s said || complain "the program does not start"
}

check_calls() { # NAME CALLS LABEL
	judge "$1"
	: >"$1.report"
	CALLS=$2 LABEL=$3 facts "$1" <<'E'
import os
from calls import *
calls = sum((count(s) for s in trace.streams), Counter())
check(calls == {os.environ["LABEL"]: int(os.environ["CALLS"])}, calls)
E
}

attached() { # NAME LABEL WHAT...: records $target while it makes 9 calls
	local name=$1 label=$2
	shift 2
	"$RECORDER" -o "$name" "$@" >"$name.log" 2>&1 &
	recorder=$!
	wait_recording "$name" $recorder
	echo >&5
	wait $target || complain "$name: the program failed"
	wait $recorder || complain "$name: $(cat "$name.log")"
	exec 5>&-
	check_calls "$name" 9 "$label"
}

start ./user 9
attached soname work -p $target -u libwork.so.1:work
start ./user 9
attached short work -p $target -u 'libwork:w?rk'
start ./user 9
# without another target the process that is probed is recorded
attached pid work -u $target:libwork.so:work
start ./user 9
attached all work -u $target:"$T/lib/libwork.so.1":work

# shellcheck disable=SC2016 # the quoted text is for the inner shell
mounted='mount --bind "$0/other" "$0/lib" && exec ./user 9'
# In its namespace the path is another file, which for us is somewhere else.
start unshare --mount --propagation private bash -c "$mounted" "$T"
attached container work -p $target -u libwork.so.1:work
start unshare --mount --propagation private bash -c "$mounted" "$T"
attached below work -p $target -u "$target:$T/lib/libwork.so.1:work"

# Another root, with only the files that the program needs, and a link to its root.
mkdir -p room/opt
for file in $(ldd ./user | grep -oE '/[^ ]+'); do
	[ "${file##*/}" = libwork.so.1 ] || { mkdir -p "room${file%/*}" && cp "$file" "room$file"; }
done
mkdir -p "room$T" && cp user "room$T/" && cp other/libwork.so.1 room/opt/ && ln -s /opt "room$T/lib"
start unshare --mount --propagation private chroot room "$T/user" 9
attached jail work -p $target -u libwork.so.1:work
start unshare --mount --propagation private chroot room "$T/user" 9
attached jailpath work -p $target -u "$target:$T/lib/libwork.so.1:work"

# Replaced while it runs: the mapped file has no name any more.
cp lib/libwork.so.1 keep
start ./user 9
rm lib/libwork.so.1 && cp other/libwork.so.1 lib/
"$RECORDER" -o replaced -p $target -u libwork.so.1:work >replaced.log 2>&1 &
recorder=$!
if wait_until recording replaced $recorder && ! ended $recorder; then
	echo >&5
	wait $target $recorder
	check_calls replaced 9 work
else
	expect "why not is said" grep -q 'has been replaced or deleted' replaced.log
	echo >&5
	wait $target
fi
exec 5>&-
rm -f lib/libwork.so.1 && cp keep lib/libwork.so.1

# The program behind a launcher has its libraries, too.
"$RECORDER" -o launched -u libwork.so.1:work -u user:main -- env A=1 ./user 4 now >launched.log 2>&1
expect "launched: $(cat launched.log)" grep -q 'command=0 status=0' launched.log
judge launched
: >launched.report
facts launched <<'E'
from calls import *
check(text(trace.streams[0]) == "main(work work work work)", text(trace.streams[0]))
E
finish
