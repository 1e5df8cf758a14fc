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
