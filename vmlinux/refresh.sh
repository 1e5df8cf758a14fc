#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compares the structures of vmlinux.h with those of a kernel, and brings the types of their
# fields up to date:
#
#   vmlinux/refresh.sh [--check] [BTF]      BTF: /sys/kernel/btf/vmlinux unless given
#
# Which structures and fields there are stays a matter of the hand: for a new one, add a line with
# any type, and run this. A field that the kernel lacks is told and its line left alone (status 1).
# With --check nothing is written, and a type that differs is told, too. Needs bpftool and python3.
set -eu
cd "$(dirname "$0")"
check=
[ "${1:-}" = --check ] && { check=1; shift; }
btf=${1:-/sys/kernel/btf/vmlinux}
PATH=$PATH:/usr/sbin:/sbin
[ -r "$btf" ] || { echo "refresh: cannot read $btf" >&2; exit 1; }

bpftool btf dump file "$btf" format c | python3 -c '
import re, sys

check = sys.argv[1] != ""
begin, end = "refresh.sh reads from here", "to here. */"


def name_of(line):
    """The field that a line declares, or None."""
    m = re.match(r"\t[^*/(]*?[ *](\w+)(\[\w*\])*(\s*:\s*\d+)?;", line)
    return m and m[1]


def ours(line):
    """A line of the kernel with the type names of our header."""
    line = line.replace("short unsigned int", "unsigned short")
    line = line.replace("long long unsigned int", "unsigned long long")
    line = line.replace("long unsigned int", "unsigned long")
    line = re.sub(r"\b([us](?:8|16|32|64))\b", r"__\1", line)
    line = re.sub(r"\bpid_t\b", "int", line)
    line = re.sub(r"\bsize_t\b", "unsigned long", line)
    line = re.sub(r"\[0\];", "[1];", line)
    return re.sub(r"\s*:\s*(\d+);", r" : \1;", line)


fields, structure = {}, None
for line in sys.stdin.read().split("\n"):
    m = re.match(r"struct (\w+) \{$", line)
    if m:
        structure = m[1]
    elif line.startswith("}"):
        structure = None
    elif structure:
        line = "\t" + line.strip()  # anonymous members count as members
        if name_of(line):
            fields.setdefault((structure, name_of(line)), ours(line))

text, out, inside, structure, status = open("vmlinux.h").read().split("\n"), [], False, None, 0
for line in text:
    inside = (inside or begin in line) and end not in line
    m = inside and re.match(r"struct (\w+) \{$", line)
    if m:
        structure = m[1]
    elif line.startswith("}"):
        structure = None
    elif structure and name_of(line):
        known = fields.get((structure, name_of(line)))
        if known is None:
            print(f"refresh: this kernel has no {structure}.{name_of(line)}", file=sys.stderr)
            status = 1
        elif known != line:
            print(f"refresh: {structure}: {line.strip()} is {known.strip()}", file=sys.stderr)
            status = status or int(check)
            line = known
    out.append(line)
if not check and out != text:
    open("vmlinux.h", "w").write("\n".join(out))
sys.exit(status)
' "$check"
