#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Small traces written by hand (tests/golden/emu/NAME.txt) and their emulation: NAME.out has the
# lines, names and labels of all views. Comments of a trace say how the emulator is called (`#
# flags:`, one run for each) and how it ends (`# status:`, `# message:`).
#
# After an intended change: UPDATE=1 tests/run --build build -k emu_traces golden, then read the diff.
set -u
cd "$S/tests/golden" || exit 1
failed=0

word() { sed -n "s/^# $1: //p" "$2"; }

run() { # NAME TEXT FLAG...: one emulation, and what it made
	local name=$1 text=$2 status want message
	shift 2
	rm -rf "${T:?}/$name" && ./emu_make.py "$text" "$T/$name" || exit 1
	"$B/bin/ovni-emu" "$@" "$T/$name" 2>"$T/stderr"
	status=$?
	want=$(word status "$text")
	message=$(word message "$text")
	if [ "$status" != "${want:-0}" ] || ! grep -qF -- "$message" "$T/stderr" ||
		[ "$(grep -c 'error:' "$T/stderr")" != "$((${want:-0} != 0))" ]; then
		echo "$name $*: status $status, expected ${want:-0} and: $message" >&2
		cat "$T/stderr" >&2
		failed=1
	fi
	for file in "$T/$name"/*.prv "$T/$name"/*.row "$T/$name"/*.pcf; do
		echo "==> ovni-emu $* $name: $(basename "$file")"
		case $file in
		*.pcf) sed '1,/^22 /d' "$file" | grep . ;; # after options and palette
		*) cat "$file" ;;
		esac
	done
}

for text in emu/*.txt; do
	name=$(basename "$text" .txt)
	word flags "$text" >"$T/flags"
	[ -s "$T/flags" ] || echo >"$T/flags"
	while read -ra flags; do
		run "$name" "$text" "${flags[@]}"
	done <"$T/flags" >"$T/$name.out"
	if [ -n "${UPDATE:-}" ]; then
		cp "$T/$name.out" "emu/$name.out"
	elif ! diff -u "emu/$name.out" "$T/$name.out"; then
		echo "$name: differs"
		failed=1
	fi
done
exit $failed
