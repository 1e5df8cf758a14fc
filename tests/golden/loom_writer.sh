#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The installed writer library: a simulator is compiled against it alone, with a plain compiler,
# and what it writes is valid, complete, the same each time, and what its account says.
set -u
loom=$B/bin/ovni-loom
root=$T/root
status=0

wrong() {
	echo "$*"
	status=1
}

MAKEFLAGS='' make -s -C "$S" B="$B" DESTDIR="$root" prefix=/usr install >/dev/null || exit 1
flags=()
nm "$root/usr/lib/libovni-loom.a" 2>/dev/null | grep -q __asan && flags=("-fsanitize=address,undefined")
cp "$S/tests/golden/loomsim.c" "$T" && cd "$T" || exit 1
"${CC:-gcc}" -std=gnu11 -Wall -Wextra -Werror -pedantic "${flags[@]}" -o loomsim loomsim.c \
	-I "$root/usr/include/ovni-bpf" -L "$root/usr/lib" -lovni-loom || exit 1
grep -q -- "-lovni-loom" "$root/usr/lib/pkgconfig/ovni-loom.pc" || wrong "no pkg-config file"
# C++ simulators include the headers, too
if command -v g++ >/dev/null; then
	echo '#include <trace/loom/writer.h>
	int main() { return loom_writer_close(nullptr, nullptr); }' >plus.cc
	g++ -Wall -Werror "${flags[@]}" -o plus plus.cc -I "$root/usr/include/ovni-bpf" \
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

echo "drops are declared, and the rest is valid"
expect "seen 9606 written 1000 filtered 0 sampled_out 0 dropped 8606" ./loomsim drop 300 2 16 drop
"$loom" check drop >verdict || { wrong "drop: not valid"; cat verdict; }
grep -q '"seen": 9606, "written": 1000, .*"dropped": 8606' drop.perf.json || wrong "not declared"

echo "summary: the same counters, and no trace"
expect "seen 9606 written 0 filtered 9606 sampled_out 0 dropped 0" ./loomsim sum 300 2 16 summary
[ ! -e sum.trace.bin ] || wrong "summary: a trace"
sed -n '/"snapshots"/,$p' full.perf.json >full.counters
sed -n '/"snapshots"/,$p' drop.perf.json | cmp full.counters - || wrong "drops changed counters"
sed -n '/"snapshots"/,$p' sum.perf.json | cmp full.counters - || wrong "summary: other counters"

echo "off: nothing"
expect "seen 0 written 0 filtered 0 sampled_out 0 dropped 0" ./loomsim off 300 2 16 off
[ -z "$(find . -name 'off.*')" ] || wrong "off: files"
exit $status
