#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every citation of a page of ours leads somewhere: "ebpf.md 11.3", `prv.md` 3, "section 5 of
# `emulator.md`", event-mapping.md "Clock and window", in code, tests, manual pages and documents.
# A page is looked for in docs/spec, docs, beside the citing file and at the top. A number must be
# that of a heading of the page. A text in quotes must be in a heading, or be set apart by * or **.
set -eu
cat >check.py <<'PYTHON'
import os, re, sys

tree = sys.argv[1]
NUMBER = r"[A-E]?\d+(?:\.\d+)*(?![\w%-])(?!\.\d)"
ITEM = re.compile(r"(?:(%s)|\"([^\"]{3,80})\")(?:\s*\([^()]*\))?" % NUMBER)
JOIN = re.compile(r"\s*(?:,|,?\s+and|,?\s+to|-)\s*(?:(?:section|sections)\s+)?(?=[\dA-E\"])")
PAGE = re.compile(r"(?:(?<![\w./$-])|(?<=\$S/))((?:[\w.-]+/)*[A-Za-z][\w-]*\.md)\b(?!\w)[`)]*")
SECTION = re.compile(r"\b[Ss]ections?\s+(?=\d)|§(?=\d)")
wrong = []
cited = 0
headings = {}


def find(citing, name):
    for folder in (os.path.dirname(citing), "docs/spec", "docs", ""):
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(tree, path)):
            return path
    return None


def read(path):
    """The numbers of a page's headings, and the texts that can be cited in quotes."""
    if path not in headings:
        with open(os.path.join(tree, path), encoding="utf-8") as page:
            body = re.sub(r"^```.*?^```", "", page.read(), flags=re.M | re.S)
        titles = re.findall(r"^#+ +(.*)$", body, re.M)
        numbers = {m.group(1) for t in titles for m in [re.match(r"([A-E]?\d+(?:\.\d+)*)\b", t)] if m}
        texts = titles + re.findall(r"\*+([^*\n]{3,80}?)\*+", body)
        headings[path] = (numbers, [t.lower() for t in texts])
    return headings[path]


def items(text, at):
    """The numbers and quoted texts of a list that begins at `at`, and where it ends."""
    found = []
    while True:
        item = ITEM.match(text, at)
        if not item:
            return found, at
        found.append((item.group(1), item.group(2)))
        at = item.end()
        join = JOIN.match(text, at)
        if not join:
            return found, at
        at = join.end()


def check(where, page, found):
    global cited
    numbers, texts = read(page)
    for number, quoted in found:
        cited += 1
        if number and number not in numbers:
            wrong.append("%s: %s has no section %s" % (where, page, number))
        elif quoted and not any(" ".join(quoted.lower().split()).rstrip(".,") in t for t in texts):
            wrong.append('%s: %s has no "%s"' % (where, page, quoted))


def scan(path):
    global cited
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        text = file.read()
    # One line: a citation may continue on the next line of a comment.
    lines = [m.end() for m in re.finditer(r"\n", text)]
    flat = re.sub(r"\n[ \t]*(?:/?\*+|//|#|\.\\\")?(?=[ \t])",
                  lambda m: " " * len(m.group(0)), text).replace("\n", " ")
    taken = []

    def where(at):
        return "%s:%d" % (path, 1 + sum(1 for end in lines if end <= at))

    for name in PAGE.finditer(flat):
        page = find(path, name.group(1))
        cited += 1
        if not page:
            wrong.append("%s: there is no page %s" % (where(name.start()), name.group(1)))
            continue
        after = re.compile(r",?\s+(?:§|sections?\s+)?(?=[\dA-E\"])").match(flat, name.end())
        if after:
            found, end = items(flat, after.end())
            taken.append((name.start(), end))
            check(where(name.start()), page, found)
    # In a page, "section 3" is one of its own, or of the page that follows.
    for word in SECTION.finditer(flat) if path.startswith("docs/") and path.endswith(".md") else ():
        found, end = items(flat, word.end())
        other = re.compile(r"\s+of\s+`?((?:[\w.-]+/)*[A-Za-z][\w-]*\.md)").match(flat, end)
        if any(a <= word.start() < b for a, b in taken):
            continue
        page = find(path, other.group(1)) if other else path
        if page and (other or read(page)[0]):
            check(where(word.start()), page, found)


if sys.argv[2:]:
    files = sys.argv[2:]
else:
    kinds = (".c", ".h", ".sh", ".py", ".md", ".json", ".1", ".3", ".5", ".8", "Makefile", "tests/run")
    files = [os.path.relpath(os.path.join(folder, name), tree)
             for top in ("bpf", "trace", "emu", "user", "tools", "tests", "docs")
             for folder, _, names in os.walk(os.path.join(tree, top)) for name in names]
    files += [name for name in os.listdir(tree) if os.path.isfile(os.path.join(tree, name))]
    files = [f for f in files if f.endswith(kinds) and f != "tests/golden/citations.sh"]
for path in sorted(files):
    scan(path)
for text in wrong:
    print(text)
print("%d citations" % cited)
sys.exit(bool(wrong) or (not sys.argv[2:] and cited < 300))
PYTHON
python3 check.py "$S"

# The check itself: a file with a wrong citation beside a copy of the pages is found.
mkdir copy
cp -R "$S/docs" copy
planted=0
expect() { # FILE TEXT MESSAGE
	mkdir -p "copy/$(dirname "$1")"
	printf '%s\n' "$2" >"copy/$1"
	if python3 check.py copy "$1" >out; then
		echo "not found: $2" && exit 1
	fi
	grep -qF -- "$3" out || { echo "no message '$3':"; cat out; exit 1; }
	planted=$((planted + 1))
}
right() { # TEXT
	printf '%s\n' "$1" >copy/right.h
	python3 check.py copy right.h || { echo "is right: $1"; exit 1; }
}
right '/* Specification: ebpf.md 8.2, 11.3; event-mapping.md "Clock and window", "Repair". */'
right $'/*\n * Specification: loom.md 5.1 (cores),\n * 8; docs/spec/prv.md.\n */'
expect user/planted.h '/* Specification: ebpf.md 11.9. */' 'docs/spec/ebpf.md has no section 11.9'
expect user/planted.h $'/*\n * Specification: ebpf.md 11.3,\n * 99.\n */' 'planted.h:2: docs/spec/ebpf.md has no section 99'
expect user/planted.h '/* See event-mapping.md "No such heading". */' 'has no "No such heading"'
expect tests/unit/planted.c '/* See nowhere.md 1. */' 'there is no page nowhere.md'
expect docs/man/planted.1 '.\" emulator.md 3.1 and 3.77' 'docs/spec/emulator.md has no section 3.77'
# shellcheck disable=SC2016 # backticks of Markdown
{
	expect docs/spec/planted.md 'As in `emulator.md` 88.' 'docs/spec/emulator.md has no section 88'
	expect docs/spec/planted.md 'As in section 88 of `emulator.md`.' 'docs/spec/emulator.md has no section 88'
	expect docs/spec/planted.md $'# 1. A page\n\nAs in section 77.' 'docs/spec/planted.md has no section 77'
}
echo "$planted planted citations were found"
