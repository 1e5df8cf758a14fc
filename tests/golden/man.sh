#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The manual pages: they render without a warning; every option that --help prints is in
# the page, and the other way round; the sections that people look for are there.
set -eu
cd "$S/docs/man"

for page in *.[1-8]; do
	for section in NAME DESCRIPTION 'SEE ALSO'; do
		grep -qx "\.Sh $section" "$page" || { echo "$page: no section $section"; exit 1; }
	done
done
for page in ovni-bpf.8 ovni-emu.1; do
	for section in SYNOPSIS OPTIONS EXAMPLES 'EXIT STATUS' FILES LIMITS; do
		grep -qx "\.Sh $section" "$page" || { echo "$page: no section $section"; exit 1; }
	done
done
for section in PRIVILEGES OVERHEAD; do
	grep -qx "\.Sh $section" ovni-bpf.8 || { echo "ovni-bpf.8: no section $section"; exit 1; }
done

# Pages refer to pages that exist: ours, or of the system's sections 2 to 8.
grep -ho '^\.Xr ovni[^ ]* [0-9]' ./*.[1-8] | sort -u | while read -r _ name section; do
	[ -e "$name.$section" ] || { echo "no page $name($section)"; exit 1; }
done

if command -v groff >/dev/null; then
	for page in *.[1-8]; do
		groff -mandoc -Tutf8 -ww -z "$page" >"$T/warnings" 2>&1
		if [ -s "$T/warnings" ]; then
			cat "$T/warnings"
			exit 1
		fi
	done
else
	echo "no groff: rendering is not tried"
fi

# Options: --help on one side, `.It Fl` of the page on the other.
options_of_page() {
	sed -n 's/^\.It Fl/Fl/p' "$1" | sed 's/\\&//g' | grep -o 'Fl [^ ]*' | sed 's/^Fl /-/; s/,$//' |
		sort -u
}
options_of_help() {
	sed -n 's/^ \{0,8\}-/-/p' | sed 's/  .*//' |
		grep -oE '(^|[[:space:],])(-[?]|--?[A-Za-z0-9][A-Za-z0-9-]*)' | tr -d '[:blank:],' | sort -u
}
for page in ovni-bpf.8 ovni-emu.1; do
	program=$B/bin/${page%.*}
	options_of_page "$page" >"$T/page"
	[ -s "$T/page" ] || { echo "$page: no options found"; exit 1; }
	if [ ! -x "$program" ]; then
		echo "no $program: its options are not compared"
		continue
	fi
	"$program" --help 2>&1 </dev/null >"$T/help.txt"
	options_of_help <"$T/help.txt" >"$T/help"
	if ! diff --label "$page" --label "${page%.*} --help" "$T/page" "$T/help"; then
		echo "the options of $page and of --help differ"
		exit 1
	fi
done
