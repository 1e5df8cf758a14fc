#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Exceptions of C++ through probed functions: the program survives, unlike with return probes, and
# the callers are exact.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
command -v g++ >/dev/null || skip "there is no g++"

cat >throws.cc <<'E'
#include <cstdlib>
#include <stdexcept>
#define PROBED __attribute__((noinline, noclone, noipa))
extern "C" {
PROBED void thrower(int n) { asm volatile(""); if (n > 0) throw std::runtime_error("n"); }
PROBED int middle(int n) { thrower(n); asm volatile(""); return n + 1; }
PROBED int after(int n) { asm volatile(""); return n; }
PROBED int catcher(int n)
{
	int result;
	try { result = middle(n); } catch (std::exception &) { result = 2; }
	asm volatile("");
	result += after(n);
	asm volatile("");
	return result;
}
}
int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < atoi(argv[1]); i++)
		sum += catcher(i % 2);
	return argc == 2 ? sum : 0;
}
E
g++ -O2 -g -o throws throws.cc || exit 1
./throws 10
want=$?
for optimized in -O0 -O2; do
	g++ $optimized -o throws throws.cc || exit 1
	"$RECORDER" -o trace$optimized -u "$T/throws:thrower,middle,after,catcher" -- ./throws 10 \
		>trace$optimized.log 2>&1
	expect "$optimized: the program lives" grep -q "command=$want status=0" trace$optimized.log
	expect "$optimized: exits are probed" grep -q 'whose exits are probed' trace$optimized.log
	judge trace$optimized
	: >trace$optimized.report
	facts trace$optimized <<'E'
from calls import *
check(len(trace.streams) == 1, trace.streams)
one = "catcher(middle(thrower) after)"
check(text(trace.streams[0]) == " ".join([one] * 10), text(trace.streams[0]))
E
done

# A library of C++ in which nothing is cleaned up has no table of exceptions; they pass all the same.
cat >passes.cc <<'E'
extern "C" __attribute__((noinline)) int passes(int n) { if (n % 2) throw n; return n; }
E
cat >user.cc <<'E'
extern "C" int passes(int);
int main()
{
	int caught = 0;
	for (int i = 0; i < 10; i++)
		try { passes(i); } catch (int) { caught++; }
	return caught;
}
E
g++ -O1 -fPIC -shared -o libpasses.so passes.cc && g++ -O1 -o user user.cc ./libpasses.so || exit 1
expect "it has no such table" [ "$(readelf -SW libpasses.so | grep -c gcc_except_table)" = 0 ]
"$RECORDER" -o passes -u libpasses.so:passes -- ./user >passes.log 2>&1
expect "an exception passes through a library" grep -q 'command=5 status=0' passes.log
judge passes
: >passes.report
facts passes <<'E'
from calls import *
check(text(trace.streams[0]) == " ".join(["passes"] * 10), text(trace.streams[0]))
E

# And that it would not: if this ever passes, kernels have learnt it, and exits need no probes.
"$RECORDER" -o unsafe --unsafe-returns -u "$T/throws:middle,catcher" -- ./throws 10 >unsafe.log 2>&1
expect "the danger is there" grep -q 'command=signal-6 ' unsafe.log
judge unsafe
finish
