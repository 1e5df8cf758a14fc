# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Functions shared by the fuzzers of this folder: fuzz NAME SOURCE... builds tests/fuzz/NAME.c with
# the given sources as a libFuzzer target with the sanitizers, and runs it on the files of $T/seeds
# for FUZZ_SECONDS (shared with others by `share`), in $T. LDLIBS are its libraries.

# Skips if clang cannot make fuzzers here.
need_fuzzer() {
	local probe=$T/probe.c
	echo 'int LLVMFuzzerTestOneInput(const char *d, long n); int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' >"$probe"
	if ! "${CLANG:-clang}" -fsanitize=fuzzer,address,undefined -o "$T/probe" "$probe" 2>"$T/said"; then
		cat "$T/said"
		echo "clang cannot build fuzzers here: its runtime (libclang-rt-dev) is missing"
		exit 77
	fi
}

build_fuzzer() { # NAME SOURCE...
	local name=$1
	shift
	# shellcheck disable=SC2086 # a list of libraries
	"${CLANG:-clang}" -D_GNU_SOURCE -std=gnu11 -g -O1 -Wall -Wextra -Werror -I"$S" \
		-DVERSION='"fuzz"' -DCOMMIT='"fuzz"' -DDATADIR='"."' \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-o "$T/$name" "$S/tests/fuzz/$name.c" "$@" ${LDLIBS:-}
}

# The C files below the given folders, without those of main(): sources=($(module trace/base emu))
module() {
	(cd "$S" && find "$@" -name '*.c' ! -name main.c) | sed "s|^|$S/|"
}

build_emu_fuzzer() { # NAME: one that calls the emulator
	local sources
	mapfile -t sources < <(module trace/base trace/ovni trace/catalog emu)
	LDLIBS="-lcjson -lm -lz -lpthread" build_fuzzer "$1" "${sources[@]}"
}

# run_fuzzer NAME SECONDS [OPTION...]: a fault is kept as $T/crash-*, whose name and bytes are shown.
run_fuzzer() {
	local name=$1 seconds=$2 work status=0
	shift 2
	mkdir -p "$T/corpus"
	# its files in memory, if possible
	work=$(mktemp -d /dev/shm/fuzz.XXXXXX 2>/dev/null) || work=$(mktemp -d "$T/fuzz.XXXXXX")
	(cd "$work" && "$T/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
		-artifact_prefix="$T/" -print_final_stats=1 "$@" "$T/corpus" "$T/seeds") >"$T/out" 2>&1 || status=$?
	rm -rf "$work"
	if [ $status != 0 ]; then
		tail -n 60 "$T/out"
		for fault in "$T"/crash-* "$T"/timeout-* "$T"/oom-* "$T"/leak-*; do
			[ -e "$fault" ] && echo "$fault:" && base64 "$fault"
		done
		return 1
	fi
	local runs
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$T/out")
	echo "$name: $runs inputs"
	# one that looks at nothing finds nothing
	[ "${runs:-0}" -ge 100 ] || { tail -n 20 "$T/out"; echo "$name: hardly ran"; return 1; }
}

# Half of the time, or a third, of this test.
share() { local s=$((FUZZ_SECONDS / $1)); echo $((s > 0 ? s : 1)); }
