#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the static checkers on the whole tree, and the unit tests under valgrind (golden/valgrind
# does so with the programs):
#
#   tests/lint.sh [BUILD] [TOOL...]     TOOL: modules tidiness format pages pyflakes shellcheck
#                                             cppcheck clang-tidy valgrind
#
# A missing tool is named and left out. Status 1 if any tool found something. clang-tidy needs the
# generated skeleton (make first).
# shellcheck disable=SC2317 # the functions are called by name
set -u
cd "$(dirname "$0")/.." || exit 1
B=${1:-build}
[ $# -gt 0 ] && shift
chosen=("$@")
[ $# -gt 0 ] || chosen=(modules tidiness format pages pyflakes shellcheck cppcheck clang-tidy valgrind)
status=0

have() {
	command -v "$1" >/dev/null && return
	echo "lint: $1 is not installed (apt-get install $2): left out"
	return 1
}

sources() { find trace user emu tools tests -name '*.c' -not -path '*/build*' 2>/dev/null | sort; }

# A test of tests/golden.
lint_test() {
	local t
	t=$(mktemp -d) || return 1
	S=$PWD T=$t "tests/golden/$1.sh"
	local result=$?
	rm -rf "$t"
	return "$result"
}

lint_modules() { lint_test modules; }

# JavaScript and CSS of the pages.
lint_pages() {
	have node nodejs || return 0
	lint_test page_lint
}

# Checks of our own: work left for later, blanks at line ends, and names of machines. The words are
# put together so that this file does not find itself.
lint_tidiness() {
	local later="TO""DO|FIX""ME|XX""X" places='/(wor''k|roo''t|hom''e)/' found
	found=$(git grep -nIE "\b($later)\b" -- '*.[ch]' '*.sh' '*.py' '*.md' Makefile tests/run &&
		true
	git grep -nIE "$places" -- . ':!docs/man'
	git grep -nIE '[ 	]+$' -- '*.[ch]' '*.py' Makefile)
	[ -z "$found" ] || { echo "$found"; return 1; }
}

# Versions of clang-format disagree in a few dozen places: the tree is as this one has it.
FORMAT_VERSION=14
lint_format() {
	have clang-format clang-format || return 0
	if ! clang-format --version | grep -q "version $FORMAT_VERSION\."; then
		echo "lint: clang-format is not of version $FORMAT_VERSION: left out"
		return 0
	fi
	local found
	found=$(git ls-files -z '*.c' '*.h' ':!vmlinux' |
		xargs -0 clang-format --dry-run -Werror 2>&1) && return
	echo "$found" | grep error: || echo "$found" # without the lines themselves
	return 1
}

lint_pyflakes() {
	have pyflakes3 pyflakes3 || return 0
	git ls-files -z '*.py' | xargs -0 pyflakes3
}

lint_shellcheck() {
	have shellcheck shellcheck || return 0
	git ls-files -z | xargs -0 grep -lIE '^#!.*\b(ba|da)?sh\b' | xargs shellcheck -x
}

lint_cppcheck() {
	have cppcheck cppcheck || return 0
	sources | cppcheck --file-list=- --quiet --inline-suppr --error-exitcode=1 \
		--enable=warning,portability,performance --std=c11 -D_GNU_SOURCE \
		-DVERSION='""' -DCOMMIT='""' -DDATADIR='""' -D__x86_64__ -I. \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		--suppress=unknownMacro -j"$(nproc)"
}

lint_clang_tidy() {
	have clang-tidy clang-tidy || return 0
	if [ ! -e "$B/bpf/ovni.skel.h" ]; then
		echo "lint: clang-tidy needs the skeleton: run 'make' first"
		return 1
	fi
	MPI_FLAGS=$(mpicc --showme:compile 2>/dev/null) # some of it includes mpi.h
	export MPI_FLAGS
	# shellcheck disable=SC2016 # the files are the inner shell's
	sources | xargs -P"$(nproc)" -n 8 sh -c 'clang-tidy --quiet "$@" -- -std=gnu11 -D_GNU_SOURCE \
		-I. -I"$0" -DVERSION=\"\" -DCOMMIT=\"\" -DDATADIR=\"\" $MPI_FLAGS 2>&1 |
		{ ! grep -vE "warnings? (generated|treated)|^Suppressed"; }' "$B"
}

# Tests that take long, or forbid system calls of valgrind, are left to the sanitizers.
lint_valgrind() {
	have valgrind valgrind || return 0
	local test result=0 t top=$PWD
	t=$(mktemp -d) || return 1
	chmod 755 "$t" # some tests go on as nobody
	for test in "$B"/tests/unit/*; do
		[ -x "$test" ] && [ -f "$test" ] || continue
		case ${test##*/} in
		user_schedules | user_inherit | user_flight | user_threads | user_timeline | pallas_* | \
			loom_* | trace_write | base_units | base_digits | probes_libraries) continue ;;
		esac
		if ! (cd "$t" && S=$top timeout 300 valgrind -q --error-exitcode=99 --leak-check=full \
			--errors-for-leak-kinds=definite --trace-children=no \
			"$(readlink -f "$OLDPWD/$test" || echo "$test")") >"$t/said" 2>&1; then
			echo "lint: valgrind: ${test##*/}"
			grep -aE '^==|FAILED|Failure|rror' "$t/said" | head -n 25
			result=1
		fi
	done
	rm -rf "$t"
	return "$result"
}

for tool in "${chosen[@]}"; do
	start=$(date +%s)
	if "lint_${tool//-/_}"; then word=ok; else word=FOUND status=1; fi
	printf '%-12s %4d s  %s\n' "$tool" $(($(date +%s) - start)) "$word"
done
exit $status
