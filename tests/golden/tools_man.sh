#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Each tool that looks at traces has a manual page with the sections that people look for, and
# page and --help have the same options; --help ends with 0 and a mistake with 2.
set -eu
names_of_help() { # the names in front of the help of each option: "  -d, --duration=TIME   stop ..."
	sed -nE '/^Examples:/,$d; s/^  (    )?(-.*)/\2/p' | sed 's/  .*//; s/=.*//; s/, /\n/g'
}
for program in "$B"/bin/ovni-*; do
	tool=${program##*/ovni-} page=$S/docs/man/${program##*/}.1
	[ "$tool" != bpf ] && [ "$tool" != emu ] || continue # see man.sh
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'EXIT STATUS' 'SEE ALSO'; do
		grep -qx "\.Sh $section" "$page" || { echo "ovni-$tool.1: no section $section"; exit 1; }
	done
	for option in --help -h '-?' --usage; do
		"$program" "$option" </dev/null >"$T/text" || { echo "ovni-$tool $option: status $?"; exit 1; }
		grep -q "^Usage: ovni-$tool" "$T/text" || { echo "ovni-$tool $option: no usage"; exit 1; }
	done
	for option in --version -V; do
		"$program" "$option" </dev/null >"$T/version" || { echo "ovni-$tool $option: status $?"; exit 1; }
		grep -q "^ovni-$tool [0-9]" "$T/version" || { echo "ovni-$tool $option: $(cat "$T/version")"; exit 1; }
	done
	status=0; "$program" --no-such-option </dev/null >/dev/null 2>&1 || status=$?
	[ $status = 2 ] || { echo "ovni-$tool: a wrong option gives status $status"; exit 1; }
	"$program" --help >"$T/text"
	names_of_help <"$T/text" >"$T/names" # of commands, the page lists each option once
	for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$T/text"); do
		"$program" "$command" -V | grep -q "^ovni-$tool [0-9]" || { echo "ovni-$tool $command -V"; exit 1; }
		"$program" "$command" -h >"$T/command" || { echo "ovni-$tool $command -h: status $?"; exit 1; }
		names_of_help <"$T/command" >>"$T/names"
		cat "$T/command" >>"$T/text"
	done
	awk 'length > 80 { print "wider than 80 columns: " $0; bad = 1 } END { exit bad }' "$T/text"
	sort -u "$T/names" >"$T/help"
	sed -n 's/^\.It Fl/Fl/p' "$page" | grep -o 'Fl [^ ]*' | sed 's/^Fl /-/; s/\\&//' |
		grep -vxe '-?' -e --usage | sort -u >"$T/page"
	[ -s "$T/page" ] || { echo "ovni-$tool.1: no options found"; exit 1; }
	diff --label "ovni-$tool.1" --label "ovni-$tool --help" "$T/page" "$T/help" || {
		echo "the options of ovni-$tool.1 and of --help differ"; exit 1; }
done
