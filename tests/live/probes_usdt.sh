#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Probes that programs have in themselves: every place of them, their arguments wherever the compiler has
# left them, and semaphores, which switch a probe on only while somebody listens.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
echo '#include <sys/sdt.h>' | gcc -fsyntax-only -x c - 2>/dev/null || skip "there is no sys/sdt.h"

cat >probed.c <<'E'
#include <stdio.h>
#include <sys/sdt.h>
#define PROBED __attribute__((noinline, noclone, noipa))
volatile int variable = -5;
PROBED void values(int i, long l, unsigned char c, short s)
{
	char buffer[64];
	long local = l * 3;
	__asm__ volatile("" : "+m"(local), "+m"(buffer));
	STAP_PROBE4(app, values, i, l, c, s);
	__asm__ volatile("");
	STAP_PROBE2(app, other, 77, local);
	__asm__ volatile("");
	STAP_PROBE1(app, variable, variable);
}
PROBED void places(int n)
{
	if (n % 2)
		STAP_PROBE1(app, place, n);
	else
		STAP_PROBE1(app, place, -n);
	__asm__ volatile("");
}
int main(void)
{
	for (int i = 0; i < 4; i++) {
		values(-1 - i, 1L << (30 + i), (unsigned char)(250 + i), (short)(-i));
		places(i);
	}
	return 0;
}
E
cat >counted.c <<'E'
#define _SDT_HAS_SEMAPHORES 1
#include <stdlib.h>
#include <sys/sdt.h>
unsigned short app_counted_semaphore __attribute__((section(".probes"))) = 0;
/* Status: how often somebody listened. */
int main(int argc, char **argv)
{
	int listened = 0;
	for (int i = 1; i <= 5; i++)
		if (*(volatile unsigned short *)&app_counted_semaphore) {
			listened++;
			STAP_PROBE1(app, counted, i * 10);
		}
	return argc > 1 ? listened != atoi(argv[1]) : 0;
}
E
gcc -O2 -fPIE -pie -o pie probed.c && gcc -O0 -fno-pie -no-pie -o nopie probed.c &&
	gcc -O2 -o counted counted.c || exit 1

for file in pie nopie; do
	"$RECORDER" -o $file.trace --usdt $file:app:values,arg1 --usdt $file:app:values,arg2 -- \
		./$file >$file.trace.log 2>&1
	expect "of two values of one site one is taken" \
		grep -q 'the same site: only the first counts' $file.trace.log
	for n in 1 2 3 4; do
		"$RECORDER" -o $file.$n --usdt $file:app:values,arg$n --usdt $file:app:other,$((n % 2 + 1)) \
			--usdt $file:app:variable,arg1 --usdt $file:app:place,arg1 -- ./$file >$file.$n.log 2>&1
		expect "$file: $(cat $file.$n.log)" grep -q 'command=0 status=0' $file.$n.log
		judge $file.$n
		: >$file.$n.report
		N=$n facts $file.$n <<'E'
import os
from calls import *
n = int(os.environ["N"])
main = trace.streams[0]
want = [[-1, -2, -3, -4], [1 << 30, 1 << 31, 1 << 32, 1 << 33], [250, 251, 252, 253], ["0", -1, -2, -3]][n - 1]
got = values(main, "app:values (argument %d)" % n)
check(got == want, "argument", n, got)
want = [3 << 30, 3 << 31, 3 << 32, 3 << 33] if n % 2 else [77] * 4
got = values(main, "app:other (argument %d)" % (n % 2 + 1))
check(got == want, "other", got)
check(values(main, "app:variable (argument 1)") == [-5] * 4, values(main, "app:variable (argument 1)"))
check(values(main, "app:place (argument 1)") == ["0", 1, -2, 3], values(main, "app:place (argument 1)"))
E
	done
done

# Points without a value, in order.
"$RECORDER" -o points --usdt 'pie:app:*' -- ./pie >points.log 2>&1
expect "points: $(cat points.log)" grep -q 'command=0 status=0' points.log
judge points
: >points.report
facts points <<'E'
from calls import *
want = ["app:values", "app:other", "app:variable", "app:place"] * 4
check(values(trace.streams[0], "Point") == want, values(trace.streams[0], "Point"))
E

./counted 0 || complain "somebody listens before"
"$RECORDER" -o counted.trace --usdt ./counted:app:counted,arg1 -- ./counted 5 >counted.trace.log 2>&1
expect "counted: $(cat counted.trace.log)" grep -q 'command=0 status=0' counted.trace.log
judge counted.trace
: >counted.trace.report
facts counted.trace <<'E'
from calls import *
got = values(trace.streams[0], "app:counted (argument 1)")
check(got == [10, 20, 30, 40, 50], got)
E
./counted 0 || complain "somebody still listens"
finish
