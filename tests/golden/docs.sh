#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The texts for people are true: links lead somewhere, the files and make targets that
# they name exist, and no path of one machine has slipped in.
set -eu
cd "$S"
python3 - <<'PYTHON'
import glob, os, re, sys

texts = sorted(glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True))
pages = sorted(glob.glob("docs/man/*.[1-8]"))
makefile = open("Makefile").read()
targets = {name for line in re.findall(r"^([\w $().-]+?):(?!=)", makefile, re.M)
           for name in line.split()}
wrong = []


def slug(heading):
    kept = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).strip().lower())
    return kept.replace(" ", "-")


def anchors(path):
    body = re.sub(r"^```.*?^```", "", open(path).read(), flags=re.M | re.S)
    return {slug(found) for found in re.findall(r"^#+ (.*)$", body, re.M)}


def link(path, at, target):
    file, _, anchor = target.partition("#")
    full = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    if not os.path.exists(full):
        wrong.append("%s:%d: no file for the link %s" % (path, at, target))
    elif anchor and full.endswith(".md") and anchor not in anchors(full):
        wrong.append("%s:%d: no heading for the link %s" % (path, at, target))


for path in texts + pages:
    for at, line in enumerate(open(path), 1):
        for found in re.findall(r"\]\(([^)\s]+)\)", line) if path in texts else ():
            if not re.match(r"https?:", found):
                link(path, at, found)
        for found in re.findall(r"(?:^|[\s`\"'(])(/(?:work|root|home|mnt)(?:/[\w.]+)?)\b", line):
            wrong.append("%s:%d: a path of one machine: %s" % (path, at, found))
        for words in re.findall(r"(?:^\s*|[`$] ?)(?:sudo )?make ([\w -]+?)(?:`|  |#|$)", line):
            for word in words.split():
                if word not in targets and not re.match(r"-|\d", word) and path in texts:
                    wrong.append("%s:%d: no target '%s' in the Makefile" % (path, at, word))
        # A file of ours, named with its folder, must be there.
        for found in re.findall(r"`((?:bpf|user|trace|emu|tools|tests|docs|vmlinux|\.ci)/[\w./-]*)`",
                                line) if path in texts else ():
            if not os.path.exists(found):
                wrong.append("%s:%d: there is no %s" % (path, at, found))

print("%d texts, %d pages" % (len(texts), len(pages)))
if not texts or not pages:
    wrong.append("no texts or no pages found")
sys.exit("\n".join(wrong) or None)
PYTHON
