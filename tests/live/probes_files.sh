#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Probes in a library: only the calls of the process that is recorded are in the trace, while another
# one calls the same functions; and calls of a library that is loaded after the probes stand.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
command -v gcc >/dev/null || skip "there is no gcc"

cat >shared.c <<'E'
__attribute__((noinline, noclone, noipa)) long shared_inner(long n) { asm volatile(""); return n; }
__attribute__((noinline, noclone, noipa)) long shared_work(long n)
{
	long result = shared_inner(n);
	asm volatile("");
	return result + 1;
}
E
cat >user.c <<'E'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* Waits for a byte, calls the library N times (loaded only then), and says so. */
int main(int argc, char **argv)
{
	long (*work)(long), calls = atol(argv[1]);
	void *library;
	char byte;

	if (read(0, &byte, 1) < 0)
		return 1;
	library = dlopen("./libshared.so", RTLD_NOW);
	work = library ? (long (*)(long))dlsym(library, "shared_work") : NULL;
	if (!work)
		return 2;
	for (long i = 0; i < calls; i++)
		if (work(i) != i + 1)
			return 3;
	dlclose(library);
	printf("called %ld\n", calls);
	return argc - 2;
}
E
gcc -O2 -shared -fPIC -o libshared.so shared.c && gcc -O2 -o user user.c -ldl || exit 1

check_calls() { # NAME CALLS
	judge "$1"
	: >"$1.report"
	CALLS=$2 facts "$1" <<'E'
import os
from calls import *
n = int(os.environ["CALLS"])
check(len(trace.streams) == 1, trace.streams)
check(text(trace.streams[0]) == " ".join(["shared_work(shared_inner)"] * n), text(trace.streams[0]))
E
}

# By a path: nobody has the library mapped yet.
echo | "$RECORDER" -o late -u "$T/libshared.so:shared_*" -- ./user 5 >late.log 2>&1
expect "late: the command" grep -q 'command=0 status=0' late.log
check_calls late 5

for follow in "" --no-follow; do
	name=two$follow
	mkfifo one.gate other.gate
	./user 7 <one.gate >one.out &
	one=$!
	./user 1000 <other.gate >other.out &
	other=$!
	exec 5>one.gate 6>other.gate
	# shellcheck disable=SC2086 # nothing, or one word
	"$RECORDER" -o "$name" $follow -p $one -u "$T/libshared.so:shared_*" >"$name.log" 2>&1 &
	recorder=$!
	wait_recording "$name" $recorder
	echo >&6
	wait $other || complain "$name: the other one failed"
	echo >&5
	wait $one || complain "$name: it failed"
	wait $recorder || complain "$name: the recorder failed"
	exec 5>&- 6>&-
	expect "$name: both have called it" cat one.out other.out >/dev/null
	check_calls "$name" 7
	rm -f one.gate other.gate
done
finish
