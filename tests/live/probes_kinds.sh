#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The same program in every form that files have: its calls are exact in each. Names are in the file,
# in its debug file (beside it, by build id), or nowhere; then functions go by their address.
# needs: root
# long: compiles a program in every form
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
command -v g++ >/dev/null || skip "there is no g++"

cat >work.c <<'E'
#define PROBED __attribute__((noinline, noclone, noipa))
PROBED long inner(long n) { __asm__ volatile(""); return n + 1; }
PROBED long outer(long n)
{
	long result = inner(n);
	__asm__ volatile("");
	return result + inner(n);
}
int main(void)
{
	long sum = 0;
	for (long i = 0; i < 6; i++)
		sum += outer(i);
	return sum == 42 ? 0 : 1;
}
E
one="outer(inner inner)"

check_calls() { # NAME WHAT EXPECTED...: records ./NAME, probed by WHAT
	local name=$1 what=$2
	shift 2
	rm -rf "trace.$name"
	"$RECORDER" -o "trace.$name" -u "$what" -- "./$name" >"trace.$name.log" 2>&1
	expect "$name, $what: $(cat "trace.$name.log")" grep -q 'command=0 status=0' "trace.$name.log"
	judge "trace.$name"
	: >"trace.$name.report"
	WANT="$*" facts "trace.$name" <<'E'
import os
from calls import *
check(len(trace.streams) == 1, trace.streams)
check(text(trace.streams[0]) == " ".join([os.environ["WANT"]] * 6), text(trace.streams[0]))
E
}

gcc -O2 -fPIE -pie -o pie work.c && gcc -O2 -fno-pie -no-pie -o nopie work.c &&
	gcc -O2 -static -o static work.c && gcc -O2 -static-pie -o staticpie work.c &&
	gcc -O2 -fPIE -pie -Wl,-z,separate-code -Wl,-z,max-page-size=0x200000 -o aligned work.c ||
	exit 1
for file in pie nopie static staticpie aligned; do
	check_calls $file "$file:outer,inner" "$one"
done
check_calls pie "./pie:out*,*nner" "$one"

# Stripped, the names in a file beside it, found by the link in the program.
cp pie linked && objcopy --only-keep-debug pie pie.debug &&
	objcopy --strip-all --add-gnu-debuglink=pie.debug linked || exit 1
check_calls linked "./linked:outer,inner" "$one"
rm pie.debug
"$RECORDER" -o none -u ./linked:outer -- ./linked >none.log 2>&1 && complain "names out of nothing"
expect "why not is said" grep -q 'is stripped' none.log

# By address, as nm has shown it.
address() { nm pie | sed -n "s/^0*\([0-9a-f]*\) T $1\$/0x\1/p"; }
outer=$(address outer) inner=$(address inner)
check_calls linked "./linked:$outer,$inner" "linked+$outer(linked+$inner linked+$inner)"

# C++: as it was written, and as the file has it.
cat >cpp.cc <<'E'
#define PROBED __attribute__((noinline, noclone, noipa))
namespace ns {
struct Work {
	long base;
	PROBED long add(long n) const { __asm__ volatile(""); return base + n; }
};
PROBED long twice(const Work &w, long n) { long r = w.add(n); __asm__ volatile(""); return r + w.add(n); }
PROBED long twice(int) { __asm__ volatile(""); return -1; }
}
int main()
{
	ns::Work w{1};
	long sum = 0;
	for (long i = 0; i < 6; i++)
		sum += ns::twice(w, i);
	return sum == 42 && ns::twice(1) == -1 ? 0 : 1;
}
E
g++ -O2 -o cpp cpp.cc || exit 1
check_calls cpp "cpp:ns::twice(ns::Work const&, long),ns::Work::add" "ns::twice(ns::Work::add ns::Work::add)"
check_calls cpp "cpp:_ZN2ns5twiceERKNS_4WorkEl,ns::Work::*" "ns::twice(ns::Work::add ns::Work::add)"

# Debug information says how large a value is: the upper part of the register may hold anything.
cat >typed.c <<'E'
#define PROBED __attribute__((noinline, noclone, noipa))
PROBED int negative(int n) { __asm__ volatile(""); return -n; }
PROBED unsigned char small(unsigned char c) { __asm__ volatile(""); return c; }
#define CALL(function, setup, n) \
	__asm__ volatile(setup "\n\tcall " #function \
			 : : "r"(n) : "rax", "rdi", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory")
int main(void)
{
	for (int i = 0; i < 3; i++) {
		CALL(negative, "mov $-1, %%rdi\n\tmov %0, %%edi", -1 - i);
		CALL(small, "movabs $0x7777777777777700, %%rdi\n\tor %0, %%rdi", 250L + i);
	}
	return 0;
}
E
if [ "$(uname -m)" = x86_64 ]; then
	gcc -O2 -g -mno-red-zone -o typed typed.c || exit 1
	"$RECORDER" -o typed.trace -u 'typed:negative(arg1),small(arg1)' -- ./typed >typed.log 2>&1
	judge typed.trace
	: >typed.trace.report
	facts typed.trace <<'E'
from calls import *
main = trace.streams[0]
check(values(main, "negative (argument 1)") == [-1, -2, -3], values(main, "negative (argument 1)"))
check(values(main, "small (argument 1)") == [250, 251, 252], values(main, "small (argument 1)"))
E
fi
finish
