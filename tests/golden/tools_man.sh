#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Each tool that looks at traces has a manual page with the sections that people look for, and
# page and --help have the same options; --help ends with 0 and a mistake with 2.
set -eu
tools='dump sort top version info check convert cut report merge events pallas sync loom'
short_and_long() { grep -oE '(^|[[:space:],])--?[A-Za-z0-9?][A-Za-z0-9-]*' | tr -d '[:blank:],' | sort -u; }
for tool in $tools; do
	program=$B/bin/ovni-$tool page=$S/docs/man/ovni-$tool.1
	[ -e "$S/tools/$tool.c" ] || continue
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'EXIT STATUS' 'SEE ALSO'; do
		grep -qx "\.Sh $section" "$page" || { echo "ovni-$tool.1: no section $section"; exit 1; }
	done
	"$program" --help </dev/null >"$T/text" || { echo "ovni-$tool --help: status $?"; exit 1; }
	"$program" --version </dev/null >"$T/version" || { echo "ovni-$tool --version: status $?"; exit 1; }
	grep -q "^ovni-$tool " "$T/version" || { echo "ovni-$tool --version: $(cat "$T/version")"; exit 1; }
	status=0; "$program" --no-such-option </dev/null >/dev/null 2>&1 || status=$?
	[ $status = 2 ] || { echo "ovni-$tool: a wrong option gives status $status"; exit 1; }
	# -h is a second name of --help that --help does not list; the end of it are examples.
	sed -E '/^ *(mpirun .*)?ovni-/d' "$T/text" | short_and_long | grep -vxe -h >"$T/help"
	sed -n 's/^\.It Fl/Fl/p' "$page" | grep -o 'Fl [^ ]*' | sed 's/^Fl /-/; s/\\&//' |
		grep -vxe -h | sort -u >"$T/page"
	[ -s "$T/page" ] || { echo "ovni-$tool.1: no options found"; exit 1; }
	diff --label "ovni-$tool.1" --label "ovni-$tool --help" "$T/page" "$T/help" || {
		echo "the options of ovni-$tool.1 and of --help differ"; exit 1; }
done
