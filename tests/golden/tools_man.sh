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

# ovni-report(1): each report has a table as a sample, whose column titles are those of the program, and
# the columns of CSV are listed.
cat >"$T/lines" <<'E'
thread n 1 1 bpf.name="a" bpf.session.io=true bpf.counters=true nosv.hwc={"0":{"name":"cycles"}} ovni.require={"ovni":"1.1.0","nosv":"2.6.0"} ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f"}}}
0 OHx i32:0 i32:-1 u64:0
10 OM[ i64:1 i32:0
20 OHp u16:1 i32:0
30 OHw i32:-2
40 OHr
50 OM] i64:1 i32:0
60 OHe
E
python3 "$S/tests/golden/tools_make.py" "$T/trace" <"$T/lines"
python3 - <<'E' || exit 1
import glob, os, re, subprocess, sys
S, B, T = os.environ["S"], os.environ["B"], os.environ["T"]
page = open(S + "/docs/man/ovni-report.1", encoding="utf-8").read()
titles = set()
for path in glob.glob(S + "/tools/report/**/*.[ch]", recursive=True):
    titles |= set(re.findall(r'\{\s*"[a-z0-9_]+",\s*"([^"]+)",\s*CELL_', open(path, encoding="utf-8").read()))
help = subprocess.run([B + "/bin/ovni-report", "--help"], capture_output=True, text=True).stdout
names = re.findall(r"^  ([a-z]+)  +\S", help.split("Reports:")[1].split("\n\n")[0], re.M)
wrong, lists, samples = [], 0, 0
for name, text in re.findall(r"^\.It Cm (\w+(?: --\w+)?)\n(.*?)(?=^\.It |^\.El)", page.split(".Sh FINDINGS")[0], re.S | re.M):
    if name.split()[0] not in names:
        continue
    sample = re.search(r"^\.Bd -literal -compact\n(.*?)\n", text, re.M)
    columns = re.search(r"^CSV and JSON: ([^.]*)\.", text, re.M)
    if name not in ("flame", "stacks", "timeline", "critical --sum", "efficiency"):
        if not sample:
            wrong.append(name + " has no sample")
            continue
        samples += 1
        for title in re.split(r"\s{2,}", sample.group(1).strip()):
            if title not in titles:
                wrong.append("%s has no column '%s'" % (name, title))
    if columns and name not in ("counters", "efficiency"):
        listed = re.sub(r"\([^)]*\)|, and steal.*", "", columns.group(1).replace("\n", " "))
        listed = [word.strip() for word in listed.split(",") if word.strip()]
        run = subprocess.run([B + "/bin/ovni-report", *name.split(), "--csv", T + "/trace"], capture_output=True, text=True)
        real = run.stdout.split("\n")[0].split(",")
        lists += 1
        if listed != real:
            wrong.append("%s: the page lists %s, the program has %s" % (name, listed, real))
for text in wrong:
    print(text)
print(samples, "samples,", lists, "lists of columns;", len(names), "reports")
sys.exit(bool(wrong) or samples < 11 or lists < 12)
E
