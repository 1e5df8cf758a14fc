#!/bin/bash
# SPDX-License-Identifier: MIT
#
# docs/promises.md: its sentences are those of SAFETY in ovni-bpf(8), each test that it names exists
# and is run by `make check`. And by their imports: our programs call no function that runs a shell,
# writes without a bound, or makes temporary files.
set -eu
cd "$S"
python3 - <<'END'
import os, re, sys

wrong = []
page = open("docs/man/ovni-bpf.8", encoding="utf-8").read()
safety = re.search(r"^\.Sh SAFETY\n(.*?)^\.Sh ", page, re.S | re.M).group(1)
items = [" ".join(item.split()).replace("\\-", "-")
         for item in re.split(r"^\.It\n", safety.split(".El")[0], flags=re.M)[1:]]
rows = []
for line in open("docs/promises.md", encoding="utf-8"):
    cells = [c.strip() for c in line.strip().strip("|").split("|")]
    if line.startswith("|") and len(cells) == 2 and cells[0] not in ("promise", "---"):
        rows.append((cells[0], re.findall(r"`([^`]+)`", cells[1])))
if len(items) < 15:
    wrong.append("SAFETY has only %d promises" % len(items))
for item in items:
    if item not in [row[0] for row in rows]:
        wrong.append("not in docs/promises.md: " + item)
for text, tests in rows:
    if text not in items:
        wrong.append("not in SAFETY: " + text)
    if not tests:
        wrong.append("no test for: " + text)
check = re.search(r"^check:.*\n((?:\t.*\n)+)", open("Makefile", encoding="utf-8").read(), re.M).group(1)
groups = re.search(r"tests/run (.*)", check).group(1).split()
for test in {test for _, tests in rows for test in tests}:
    name, _, case = test.partition(": ")
    group = name.split("/")[0]
    if group not in groups:
        wrong.append(test + ": its group is not run by make check")
    path = "tests/" + name + (".c" if group == "unit" else ".sh")
    if not os.path.exists(path) or (group != "unit" and not os.access(path, os.X_OK)):
        wrong.append(test + ": there is no such test")
        continue
    source = open(path, encoding="utf-8").read()
    if re.search(r"^[# *]+long: ", source, re.M):
        wrong.append(test + ": only make check-long runs it")
    if case:
        if not re.search(r"^static void %s\(" % case, source, re.M) or \
           not re.search(r"\(%s\),?$" % case, source, re.M):
            wrong.append(test + ": there is no such case, or it is not run")
for text in wrong:
    print("wrong:", text)
print(len(items), "promises")
sys.exit(bool(wrong))
END

calls='system|popen|mkstemp|mkostemp|mkdtemp|mktemp|tmpfile|tmpfile64|tmpnam|tempnam|sprintf|vsprintf|strcpy|strcat|gets'
for program in "$B"/bin/*; do
	if nm -D --undefined-only "$program" | grep -E " ($calls)(@|\$)"; then
		echo "$program calls the above"
		exit 1
	fi
done
nm -D --undefined-only "$B/bin/ovni-bpf" | grep -q openat || { echo "nm shows nothing"; exit 1; }
if grep -rnE '"/(tmp|var/tmp|dev/shm)|P_tmpdir|TMPDIR' user trace emu tools; then
	echo "a place where everybody can write is named above"
	exit 1
fi
