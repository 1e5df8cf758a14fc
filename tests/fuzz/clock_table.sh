#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No table of clock offsets makes its reader crash, and accepted tables are unambiguous.
# long: other fuzzers cover the promises
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds"
titles='rank       hostname             offset_median        offset_mean          offset_std\n'
table() { printf '%b' "$titles$1"; }
table '0          a                    0                    0.000000             0.000000\n' >"$T/seeds/one"
table '0 a 0 0 0\n1 b 1165382584 1.5 2e3\n2 c -7.9 0 0\n' >"$T/seeds/three"
table ' 0\ta  3 \t0 0 more 1 2\r\n\n  \n1 b 1e18 nan inf' >"$T/seeds/blanks"
table '0 a 1 0 0\n1 a 2 0 0\n' >"$T/seeds/twice"
table '0 a 5 0 0 0 1000 6 9\n1 b -5 0 0 7 600000000007 -29000005 900\n' >"$T/seeds/drift"
table '0x1 c 0x1p62 -1e999 0\n' >"$T/seeds/numbers"
table "" >"$T/seeds/none"
find "$CONFORMANCE/emu" -name clock-offsets.txt -size -4 | head -n 20 | while read -r table; do
	cp "$table" "$T/seeds/$(echo "$table" | cksum | cut -d' ' -f1)"
done
build_emu_fuzzer clock_table
run_fuzzer clock_table "$FUZZ_SECONDS" -max_len=2000
