#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Thousands of functions, chosen by one glob and attached by one link: each is called once, in the
# order of the program, and has an id in the order of the labels. One of them cannot be probed.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
command -v gcc >/dev/null || skip "there is no gcc"

{
	echo '#define P __attribute__((noinline, noclone, noipa))'
	echo 'static int word;'
	for i in $(seq 1000 3999); do
		echo "P void many_$i(void) { __asm__ volatile(\"\"); }"
	done
	echo '#if defined(__x86_64__)'
	echo '__attribute__((naked)) void many_locked(void)'
	echo '{ __asm__("lock incl word(%rip); ret"); }'
	echo '#else'
	echo 'void many_locked(void) { word++; }'
	echo '#endif'
	echo 'int main(void) {'
	for i in $(seq 3999 -1 1000); do
		echo "many_$i();"
	done
	echo 'many_locked(); return word - 1; }'
} >many.c
gcc -O0 -w -o many many.c || exit 1

# All begin with the same instruction, push.
"$RECORDER" -v -o many.trace -u "$T/many:many_*" -- ./many >many.trace.log 2>&1 ||
	complain "$(tail -n 5 many.trace.log)"
expect "the command" grep -q 'command=0 ' many.trace.log
if [ "$(uname -m)" = x86_64 ]; then
	expect "what cannot be probed is told" grep -q 'many_locked is not probed' many.trace.log
	grep -q 'never called' many.trace.log && complain "what was not probed counts as never called"
fi
judge many.trace
: >many.trace.report
facts many.trace <<'E'
from calls import *
main = trace.streams[0]
got = [c.label for c in flat(tree(main)) if c.label != "many_locked"]
check(got == [f"many_{i}" for i in range(3999, 999, -1)], len(got), "calls", got[:3])
ids = {int(k): v for k, v in main.meta["ovni"]["mark"]["0"]["labels"].items()}
names = [ids[i] for i in sorted(ids)]
check(names == sorted(names), "ids do not follow the labels", names[:5])
check(min(ids) == 1, "ids begin at", min(ids))
E
finish
