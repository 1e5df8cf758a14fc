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

# Compiles a source once for all fuzzers of a run; prints its object.
object_of() { # SOURCE
	local objects=${memory:-$T}/fuzz-objects object
	object=$objects/${1//\//_}.o
	mkdir -p "$objects"
	(
		flock 9
		[ -e "$object" ] && exit
		"${CLANG:-clang}" -D_GNU_SOURCE -std=gnu11 -g -O1 -Wall -Wextra -Werror -I"$S" \
			-DVERSION='"fuzz"' -DCOMMIT='"fuzz"' -DDATADIR='"."' \
			-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
			-c -o "$object.new" "$1" && mv "$object.new" "$object"
	) 9>"$object.lock" && echo "$object"
}

build_fuzzer() { # NAME SOURCE...
	local name=$1 source object objects=()
	shift
	for source in "$S/tests/fuzz/$name.c" "$@"; do
		object=$(object_of "$source") || return 1
		objects+=("$object")
	done
	# shellcheck disable=SC2086 # a list of libraries
	"${CLANG:-clang}" -fsanitize=fuzzer,address,undefined -o "$T/$name" "${objects[@]}" ${LDLIBS:-}
}

# The C files below the given folders, without those of main(): sources=($(module trace/base emu))
module() {
	(cd "$S" && find "$@" -name '*.c' ! -name main.c) | sed "s|^|$S/|"
}

build_emu_fuzzer() { # NAME: one that calls the emulator
	local sources
	mapfile -t sources < <(module trace/base trace/ovni trace/catalog trace/states trace/analysis trace/messages emu)
	LDLIBS="-lcjson -lm -lz -lseccomp -lpthread" build_fuzzer "$1" "${sources[@]}"
}

# run_fuzzer NAME SECONDS [OPTION...]: a fault is kept as $T/crash-*, whose name and bytes are shown.
run_fuzzer() {
	local name=$1 seconds=$2 work status=0
	shift 2
	mkdir -p "$T/corpus"
	# its files in memory, if possible
	work=$(mktemp -d /dev/shm/fuzz.XXXXXX 2>/dev/null) || work=$(mktemp -d "$T/fuzz.XXXXXX")
	(cd "$work" && "$T/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
		-seed="${SEED:-1}" -artifact_prefix="$T/" -print_final_stats=1 "$@" "$T/corpus" "$T/seeds") >"$T/out" 2>&1 || status=$?
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

# Small programs with all kinds of sections: a static one, a library with versions, stripped, with the symbols in
# another file; functions of C, C++ and Rust, a USDT probe.
make_elf_files() ( # FOLDER
	mkdir -p "$1" "$T/make" && cd "$T/make" || exit
	cat >a.c <<'C'
int inner(int x) { return x * 3; }
int _ZN2ns1fEi(int x) { return x + inner(x); }
int _RNvC6_123foo3bar(int x) { return x; }
__asm__("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
	"993: .8byte 990b, 0, 0\n.asciz \"app\"\n.asciz \"probe\"\n"
	".asciz \"-4@%edi 8@-8(%rbp) 4@$7 4@v(%rip)\"\n994: .balign 4\n.popsection\n");
C
	echo 'V1 { global: inner; }; V2 { global: *; } V1;' >a.map
	${CC:-gcc} -O1 -nostdlib -Wl,--build-id -o "$1/static" -Wl,-e,inner a.c
	${CC:-gcc} -O1 -nostdlib -fPIC -shared -Wl,-soname,liba.so -Wl,--version-script=a.map -o "$1/lib" a.c
	cp "$1/lib" stripped && strip stripped && cp stripped "$1/stripped"
	objcopy --only-keep-debug "$1/static" static.debug
	objcopy --strip-all --add-gnu-debuglink=static.debug "$1/static" "$1/linked"
)
