#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Values of arguments and returns; and calls that are left out, by number and by rate: they are
# counted, and never half a call.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

record values command -u "$WORKLOADS/calls:recurse(arg1),leaf(ret)" -- calls -n 2 -d 3
judge values
facts values <<'E'
from calls import *
main = trace.thread(said["main"])
check(text(main) == "recurse(recurse(recurse(leaf))) recurse(recurse(recurse(leaf)))", text(main))
check(values(main, "recurse (argument 1)") == [3, 2, 1] * 2, values(main, "recurse (argument 1)"))
check(values(main, "leaf (returned)") == [2, 2], values(main, "leaf (returned)"))
E

# The value 0 has a mark of its own: marks are never 0.
record zero command -u "$WORKLOADS/calls:leaf(arg1)" -- calls -m 3 -n 1
judge zero
facts zero <<'E'
from calls import *
main = trace.thread(said["main"])
check(values(main, "leaf (argument 1)") == ["0", 1, "0"], values(main, "leaf (argument 1)"))
raw = [e.ints("qi")[0] for e in main.of("OM=")]
check(raw == [-2147483648, 1, -2147483648], raw)
E

# Several values of one call, as the program prints them: in registers, on the stack, behind a pointer that
# the function fills in; from one request and from several, and by an API file; with each kind of link, and with probes
# at the exits.
cat >several.c <<'E'
#include <stdio.h>
struct out {
	int pad[2];
	int twice;
	short seventh;
};
#define PROBED __attribute__((noinline, noclone, noipa))
PROBED long many(int a, long b, short c, unsigned d, unsigned char e, char f, int g, long h, struct out *o)
{
	o->twice = a * 2;
	o->seventh = (short)g;
	return a + b + c + d + e + f + g + h;
}
PROBED int two(int a, int b)
{
	return a - b;
}
int main(void)
{
	struct out o;
	for (int i = 0; i < 7; i++) {
		long r = many(i - 2, 1000L * i, (short)(-300 * i), 4000000000u + i, (unsigned char)(250 + i), (char)i,
			      i * 7 - 3, -1L << (30 + i), &o);
		printf("many %d %ld %d %u %d %d %ld %d\n", i - 2, 1000L * i, -300 * i, 4000000000u + i, i * 7 - 3,
		       o.twice, r, o.seventh);
		printf("two %d %d %d\n", i, 3, two(i, 3));
	}
	return 0;
}
E
gcc -O2 -o several several.c || exit 1
cat >several.json <<'E'
{"api": 1, "title": "several", "marks": {"10": {"title": "a", "chan_type": "single"},
 "11": {"title": "b", "chan_type": "single"}, "12": {"title": "seventh", "chan_type": "single"},
 "13": {"title": "calls", "chan_type": "stack"}},
 "parts": [{"program": true, "functions": [{"symbols": "many", "during": {"mark": 13},
 "entry": [{"set": {"mark": 10, "value": "arg1:i32"}}, {"set": {"mark": 11, "value": "arg2"}}],
 "return": [{"set": {"mark": 12, "value": "*arg9+12@ret:i16"}}]}]}]}
E
values="arg3:i16,arg4:u32,arg7:i32,*arg9+8@ret:i32,ret"
for kind in session multi perf exits; do
	name=several-$kind
	how="--attach $kind"
	[ $kind != exits ] || how=--no-return-probes
	# shellcheck disable=SC2086 # words
	record_output $name $how --api ./several.json -u "./several:many($values)" \
		-u './several:two(arg1:i32)' -u './several:two(ret:i32,arg2:i32)' -- ./several
	judge $name
	./several >told
	facts $name <<'E'
from calls import *
main = trace.streams[0]
truth = [line.split() for line in open("told")]
def column(name, at):
    return ["0" if line[at] == "0" else int(line[at]) for line in truth if line[0] == name]
many = ["a", "b", "many (argument 3)", "many (argument 4)", "many (argument 7)", "many (*arg9+8@ret)",
        "many (returned)", "seventh"]
two = ["two (argument 1)", "two (argument 2)", "two (returned)"]
for name, titles in (("many", many), ("two", two)):
    for at, title in enumerate(titles):
        seen = values(main, title)
        check(seen == column(name, at + 1), title, seen, column(name, at + 1))
E
done

# More than a probe can read is refused; a pointer that leads nowhere is counted.
try 2 'a probe reads 8 values at most' "$RECORDER" -o nine \
	-u './several:many(arg1,arg2,arg3,arg4,arg5,arg6,arg7,arg8,ret)' -- ./several
record_output nowhere -u './several:many(*arg1:i32,arg8)' -- ./several
judge nowhere
expect "what cannot be read is counted" grep -q ' 7 values could not be read' nowhere.log
facts nowhere <<'E'
from calls import *
seen = values(trace.streams[0], "many (argument 8)")
check(seen == [-1 << (30 + i) for i in range(7)], seen)
E

for kind in session multi; do
	record sample-$kind command --attach $kind --sample-calls 10 -u "$WORKLOADS/calls:branch" -- \
		calls -m 10 -n 1000
	judge sample-$kind
	expect "what was left out is told" grep -q ' 900 calls were omitted' sample-$kind.log
	facts sample-$kind <<'E'
from calls import *
check(text(trace.thread(said["main"])) == " ".join(["branch"] * 100), count(trace.thread(said["main"])))
account = trace.streams[0].bpf["session"]["account"]
sampled = sum(int(cpu.get("probe", {}).get("sampled", 0)) for cpu in account)
check(sampled == 900, "the account says", sampled)
E
done

record rate command --max-rate 20 -u "$WORKLOADS/calls:branch,leaf" -- calls -m 10 -n 1000
judge rate
facts rate <<'E'
from calls import *
n = count(trace.thread(said["main"]))
# they are over within two seconds of the clock, on any machine but the slowest
check(20 <= n["branch"] <= 20 * 4 and 20 <= n["leaf"] <= 20 * 4, "calls", n)
seconds = Counter(c.start // 10**9 for c in flat(tree(trace.thread(said["main"]))) if c.label == "leaf")
check(max(seconds.values()) <= 21, "in a second", seconds)
session = trace.streams[0].bpf["session"]
sampled = sum(int(cpu.get("probe", {}).get("sampled", 0)) for cpu in session["account"])
check(sampled == 3000 - n["branch"] - n["leaf"], "left out", sampled, "of 3000, recorded", n)
E
finish
