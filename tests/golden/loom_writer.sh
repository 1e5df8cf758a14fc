#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The installed writer library: a simulator is compiled against it alone, with a plain compiler, and
# its output is valid, complete, the same each time, and agrees with its account.
set -u
loom=$B/bin/ovni-loom
root=$T/root
status=0

wrong() {
	echo "$*"
	status=1
}

MAKEFLAGS='' make -s -C "$S" B="$B" DESTDIR="$root" prefix=/usr NO_BUILD=1 install >/dev/null || exit 1
flags=()
nm "$root/usr/lib/libovni-loom.a" 2>/dev/null | grep -q __asan && flags=("-fsanitize=address,undefined")
export LD_LIBRARY_PATH=$root/usr/lib
cp "$root"/usr/share/doc/ovni-bpf/examples/loomsim.c "$T" && cd "$T" || exit 1
"${CC:-gcc}" -std=gnu11 -Wall -Wextra -Werror -pedantic "${flags[@]}" -o loomsim loomsim.c \
	-I "$root/usr/include" -L "$root/usr/lib" -lovni-loom || exit 1
grep -q -- "-lovni-loom" "$root/usr/lib/pkgconfig/ovni-loom.pc" || wrong "no pkg-config file"
# the examples of the manual page are programs, too
python3 - "$S/docs/man/ovni-loom-writer.3" <<'END' >examples.c || exit 1
import re, sys
first, second = re.findall(r"\.Bd -literal\n(.*?)\.Ed", open(sys.argv[1]).read(), re.S)
print("#include <ovni-loom/writer.h>\nint one(void) {", first, "}\nint two(void) {",
      "struct loom_writer_options options = {.mode = LOOM_FULL};", second, "return options.mode; }",
      "\nint main(void) { return one() || two(); }")
END
"${CC:-gcc}" -std=gnu11 -Wall -Werror "${flags[@]}" -o examples examples.c \
	-I "$root/usr/include" -L "$root/usr/lib" -lovni-loom && ./examples &&
	"$loom" check --strict run >verdict || wrong "the examples of the manual: $(cat verdict)"
# exported are the functions of the headers, and nothing else; the shared form works, too
others=$(nm -D --defined-only "$root/usr/lib/libovni-loom.so.1" | grep -v -e ' loom_[a-z_]*@@OVNI_1$' -e ' loom_writer_anchor@@OVNI_1[.]1$' -e ' A OVNI_1$' -e ' A OVNI_1[.]1$' -e '^$')
others+=$(nm -g --defined-only "$root/usr/lib/libovni-loom.a" | grep ' [A-Z] ' | grep -v -e ' loom_[a-z_]*$' -e asan -e ubsan)
[ -z "$others" ] || wrong "libovni-loom exports $others"
if [ ${#flags[@]} = 0 ]; then
	readelf -d "$root/usr/lib/libovni-loom.so.1" | grep -q 'SONAME.*\[libovni-loom.so.1\]' || wrong "no soname"
	LD_LIBRARY_PATH=$root/usr/lib ldd ./loomsim | grep -q "libovni-loom.so.1 => $root/" || wrong "not the shared form"
	"${CC:-gcc}" -std=gnu11 -o static loomsim.c -I "$root/usr/include" "$root/usr/lib/libovni-loom.a" &&
		./static alone 300 2 16 >/dev/null && ./loomsim shared 300 2 16 >/dev/null &&
		cmp alone.trace.bin shared.trace.bin || wrong "the static form"
fi
# C++ simulators include the headers, too
if command -v g++ >/dev/null; then
	echo '#include <ovni-loom/writer.h>
	int main() { return loom_writer_close(nullptr, nullptr); }' >plus.cc
	g++ -Wall -Werror "${flags[@]}" -o plus plus.cc -I "$root/usr/include" \
		-L "$root/usr/lib" -lovni-loom && ./plus || wrong "not usable from C++"
fi

expect() { # WORDS COMMAND...: prints exactly these
	local words=$1 said
	shift
	said=$("$@" 2>&1) || wrong "$*: failed"
	[ "$said" = "$words" ] || wrong "$*: $said"
}

echo "full: everything, valid, the same each time"
expect "seen 9606 written 9606 filtered 0 sampled_out 0 dropped 0" ./loomsim full 300 2 16
"$loom" check --strict full >verdict || { wrong "full: not valid"; cat verdict; }
./loomsim again 300 2 16 >/dev/null
cmp full.trace.bin again.trace.bin || wrong "another order"
cmp full.perf.json again.perf.json || wrong "other statistics"
"$loom" import full -o trace 2>said || wrong "not imported: $(cat said)"
"$B/bin/ovni-emu" -l trace 2>said || wrong "not emulated: $(cat said)"

echo "snapshots on the way: at every multiple, from the start, never smaller than the one before"
expect "seen 9606 written 9606 filtered 0 sampled_out 0 dropped 0" ./loomsim some 300 2 16 snapshots
"$loom" check --strict some >verdict || { wrong "snapshots: not valid"; cat verdict; }
cmp full.trace.bin some.trace.bin || wrong "snapshots changed the records"
"$loom" stats --json full >full.stats && "$loom" stats --json some >some.stats || wrong "no statistics"
python3 - <<'END' || wrong "other snapshots"
import collections, json
full, some = (json.load(open(name + ".perf.json")) for name in ("full", "some"))
series = collections.defaultdict(list)
for s in some["snapshots"]:
    series[s["core_id"], s.get("hw_node_id")].append(s)
assert len(series) == 2 * 17, len(series)
for key, list_ in series.items():
    # the end of the run, cycle 301, is the one after
    assert [s["cycle"] for s in list_] == [100, 200, 300, 301], list_
    for before, s in zip(list_, list_[1:]):
        assert s["total_cycles"] == s["cycle"] - 1
        assert all(s[k] >= before[k] for k in s if k.endswith("cycles") or k.startswith(("st", "to")))
    assert list_[-1] in full["snapshots"]
    # a node has one state in every cycle: the states add up
    assert all(s["active_cycles"] + s["stall_cycles_in"] + s["stall_cycles_out"] == s["total_cycles"]
               for s in list_)
stats = [json.load(open(name + ".stats")) for name in ("full", "some")]
for s in stats:
    del s["run"], s["announced"]  # snapshots on the way announce metrics, too
assert stats[0] == stats[1]
END

echo "upstream's statistics: of one core"
expect "seen 4803 written 4803 filtered 0 sampled_out 0 dropped 0" ./loomsim old 300 1 16 legacy
[ -e old.stat ] && [ ! -e old.perf.json ] || wrong "legacy: other files"
"$loom" check --strict old >verdict || { wrong "legacy: not valid"; cat verdict; }
"$loom" stats old | grep -qx "statistics: legacy" || wrong "legacy: another form: $("$loom" stats old | head -n 5)"
./loomsim old 300 2 16 legacy >said 2>&1 && wrong "legacy: two cores"

echo "whatever is called in whatever order: what is taken is valid"
"${CC:-gcc}" -std=gnu11 -Wall -Wextra -Werror "${flags[@]}" -o wild "$S/tests/golden/loom_random.c" \
	-I "$root/usr/include" -L "$root/usr/lib" -lovni-loom || exit 1
./wild 100 || wrong "wild: failed"
tried=0
for seed in $(seq 100); do
	layout=()
	[ $((seed % 4)) = 0 ] && layout=(--layout natural48)
	# a dropped start or end breaks the order; everything else must be right
	rules='^ *(error|warning P)'
	[ $((seed % 7)) = 0 ] && rules='^ *(error [PS]|warning P)'
	"$loom" check "${layout[@]}" "random.$seed" >verdict 2>&1
	grep -q '^verdict' verdict && ! grep -E "$rules" verdict && tried=$((tried + 1)) ||
		{ wrong "seed $seed:"; cat verdict; }
done
[ $tried = 100 ] || wrong "only $tried of 100"

echo "drops are declared, and the rest is valid"
expect "seen 9606 written 1000 filtered 0 sampled_out 0 dropped 8606" ./loomsim drop 300 2 16 drop
"$loom" check drop >verdict || { wrong "drop: not valid"; cat verdict; }
grep -q '"seen": 9606, "written": 1000, .*"dropped": 8606' drop.perf.json || wrong "not declared"

echo "summary: the same counters, and no trace"
expect "seen 9606 written 0 filtered 9606 sampled_out 0 dropped 0" ./loomsim sum 300 2 16 summary
[ ! -e sum.trace.bin ] || wrong "summary: a trace"
sed -n '/"snapshots"/,/^  ]/p' full.perf.json >full.counters
sed -n '/"snapshots"/,/^  ]/p' drop.perf.json | cmp full.counters - || wrong "drops changed counters"
sed -n '/"snapshots"/,/^  ]/p' sum.perf.json | cmp full.counters - || wrong "summary: other counters"

echo "off: nothing"
expect "seen 0 written 0 filtered 0 sampled_out 0 dropped 0" ./loomsim off 300 2 16 off
[ -z "$(find . -name 'off.*')" ] || wrong "off: files"
exit $status
