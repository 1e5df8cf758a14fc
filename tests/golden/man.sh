#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The manual pages: they render without a warning; every option that --help prints is in
# the page, and the other way round; the sections that people look for are there.
set -eu
cd "$S/docs/man"

for page in *.[1-8]; do
	for section in NAME DESCRIPTION EXAMPLES 'SEE ALSO'; do
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
		groff -mandoc -Tutf8 -ww -z "$page" >"$T/warnings" 2>&1 || echo "$page: groff fails" >>"$T/warnings"
		if [ -s "$T/warnings" ]; then
			cat "$T/warnings"
			exit 1
		fi
	done
else
	echo "no groff: rendering is not tried"
fi

# Options: names, arguments and order are those of --help, which is printed from the table of options.
options_of_page() {
	groff -mandoc -Tascii -P-cbou "$1" | awk '/^[A-Z]/{options = /^OPTIONS/} options' |
		grep -E '^     -' | sed 's/^ *//; s/  .*//'
}
options_of_help() {
	sed -nE '/^Examples:/,$d; s/^  (    )?(-.*)/\2/p' | sed 's/  .*//'
}
for page in ovni-bpf.8 ovni-emu.1; do
	program=$B/bin/${page%.*}
	if [ ! -x "$program" ] || ! command -v groff >/dev/null; then
		echo "no $program or no groff: its options are not compared"
		continue
	fi
	options_of_page "$page" >"$T/page"
	[ "$(wc -l <"$T/page")" -gt 10 ] || { echo "$page: no options found"; exit 1; }
	"$program" --help </dev/null >"$T/help.txt" || { echo "${page%.*} --help: status $?"; exit 1; }
	awk 'length > 80 { print FILENAME ": wider than 80 columns: " $0; bad = 1 } END { exit bad }' "$T/help.txt"
	options_of_help <"$T/help.txt" >"$T/help"
	if ! diff --label "$page" --label "${page%.*} --help" "$T/page" "$T/help"; then
		echo "the options of $page and of --help differ"
		exit 1
	fi
done

# Examples do what they say: the recorder's as far as --dry-run goes, the emulator's on a
# small trace. Names of programs, processes and traces are made to exist.
examples() { # PAGE PROGRAM: the arguments of each example
	sed -n '/^\.Sh EXAMPLES/,/^\.Sh EXIT/p' "$1" | sed -n "s/^\.Dl [#\$] $2 //p"
}
cd "$T"
printf '#!/bin/sh\n' | tee solver >mpirun
chmod +x solver mpirun
python3 "$S/tests/golden/cfgtrace.py" "$T/ovni"

n=0
if [ -x "$B/bin/ovni-emu" ]; then
	while read -r line; do
		line=${line//\/archive\/solver/ovni}
		# shellcheck disable=SC2086 # words of a command
		"$B/bin/ovni-emu" ${line//\/tmp\//} || { echo "fails: ovni-emu $line"; exit 1; }
		n=$((n + 1))
	done < <(examples "$S/docs/man/ovni-emu.1" ovni-emu)
	[ $n -ge 2 ] || { echo "ovni-emu.1: only $n examples"; exit 1; }
fi
rm -rf ovni

if [ ! -x "$B/bin/ovni-bpf" ] || ! "$B/bin/ovni-bpf" --dry-run -a >why 2>&1; then
	echo "ovni-bpf cannot record here, its examples are not tried: $(tail -n 1 why 2>/dev/null)"
	exit 0
fi
n=0
while read -r line; do
	line=${line//\'/} # what the shell needs
	line=${line//1234/$$} line=${line//-C 2,3/-C 0}
	dry=--dry-run
	[[ $line != doctor* ]] || dry= # it records nothing anyway
	# shellcheck disable=SC2086 # words of a command
	PATH=$B/bin:$PATH:$T "$B/bin/ovni-bpf" $dry $line >out 2>&1 || {
		cat out
		echo "fails: ovni-bpf $line"
		exit 1
	}
	n=$((n + 1))
done < <(examples "$S/docs/man/ovni-bpf.8" ovni-bpf)
[ $n -ge 4 ] || { echo "ovni-bpf.8: only $n examples"; exit 1; }

# The examples of the pages of formats, on a real recording.
status=0
"$B/bin/ovni-bpf" -q -a -d 100ms -o ovni 2>out || status=$?
[ $status = 0 ] || [ $status = 3 ] || { echo "the recording ends with $status:"; cat out; exit 1; }
n=0
while read -r line; do
	PATH=$B/bin:$PATH bash -c "$line" >said 2>out || status=$?
	[ -s said ] && { [ $status = 0 ] || [ $status = 3 ]; } || { echo "fails with $status: $line"; cat out; exit 1; }
	n=$((n + 1))
done < <(sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^\.Dl \$ //p' "$S/docs/man/ovni-stats.5" "$S/docs/man/ovni-trace.5")
[ $n = 5 ] || { echo "$n examples of the pages of formats, not 5"; exit 1; }

# Each key of the metadata of a real recording is in ovni-trace(5).
python3 - "$S/docs/man/ovni-trace.5" <<'PYTHON'
import glob, json, re, sys

words = set(re.findall(r"[a-z0-9_]+", open(sys.argv[1], encoding="utf-8").read()))
seen = set()


def walk(node):
    if isinstance(node, list):
        for one in node:
            walk(one)
    elif isinstance(node, dict):
        for key, value in node.items():
            seen.add(key)
            walk({} if key == "names" else value)


for path in glob.glob("ovni/**/stream.json", recursive=True):
    walk(json.load(open(path, encoding="utf-8")))
missing = sorted(key for key in seen if key not in words and not key.isdigit())
if len(seen) < 30 or missing:
    sys.exit("of %d keys of the metadata, ovni-trace(5) lacks: %s" % (len(seen), missing))
PYTHON
