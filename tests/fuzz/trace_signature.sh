#!/bin/bash
# SPDX-License-Identifier: MIT
#
# With any declaration and any arguments, only the event's own bytes are read.
# long: other fuzzers cover the promises
set -eu
. "$S/tests/fuzz/lib.sh"
need_fuzzer
mkdir "$T/seeds"
# The signatures of the catalogue, each with some bytes of arguments.
grep -oE '"[!-~]{3}\+?\([^)]*\)"' "$S"/trace/catalog/*.c | sed 's/^[^:]*:"//; s/"$//' >"$T/list"
[ "$(wc -l <"$T/list")" -ge 20 ] || { echo "no signatures found"; exit 1; }
n=0
while IFS= read -r signature; do
	n=$((n + 1))
	printf '%s\n\001\002\003\004label\000\005\006\007\010\011\012' "$signature" >"$T/seeds/$n"
done <"$T/list"
printf 'XYZ(u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g[, i64 h])\n0123456789012345678901234567890' >"$T/seeds/types"
build_fuzzer trace_signature "$S/trace/catalog/signature.c"
run_fuzzer trace_signature "$FUZZ_SECONDS" -max_len=256
