#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The cookbook, the tutorial and the FAQ: each command in them is understood. ovni-report runs on a small trace; the options of
# ovni-bpf are in its help, and the API files exist. Each finding that the cookbook shows has words of the program.
set -eu
python3 "$S/tests/golden/tools_make.py" "$T/ovni" <<'END'
thread n 1 1 bpf.name="gzip" bpf.session.io=true bpf.counters=true nosv.hwc={"0":{"name":"major-faults"}} ovni.require={"ovni":"1.1.0","nosv":"2.6.0"}
0 OHx i32:0 i32:-1 u64:0
1000000000 OHe
END
ln -s ovni "$T/first" && ln -s ovni "$T/alone"
"$B/bin/ovni-bpf" --help >"$T/help"
cd "$T"
python3 - <<'END'
import os, re, shlex, subprocess, sys
S, B = os.environ["S"], os.environ["B"]
text = open(S + "/docs/cookbook.md").read()
help = open("help").read()
wrong, reports, recorders = [], 0, 0
pages = text + "".join(open(S + name).read() for name in ("/docs/tutorial.md", "/docs/faq.md"))
commands = re.findall(r"^(?:    |  )(?:sudo )?(ovni-(?:bpf|report).*)$", pages, re.M)
commands += re.findall(r"`(?:sudo |srun )?(ovni-(?:bpf|report) [^`]*)`", pages)
for command in commands:
    for part in re.split(r"\s+or: (?:sudo )?", command):
        words = shlex.split(part)
        if words[0] == "ovni-report":
            reports += 1
            words = ["1" if w == "TID" or re.fullmatch(r"\d+", w) else w for w in words]
            run = subprocess.run([B + "/bin/" + words[0]] + words[1:], capture_output=True, text=True)
            if run.returncode != 0:
                wrong.append("%s: status %d: %s" % (part, run.returncode, run.stderr))
            continue
        recorders += 1
        options = words[1:words.index("--")] if "--" in words else words[1:]
        for i, word in enumerate(options):
            word = word.split("=")[0]
            if word.startswith("-") and not re.search(r"(^|[\s,])" + re.escape(word) + r"\b", help, re.M):
                wrong.append("%s: no option %s" % (part, word))
            if word == "--api" and not os.path.exists("%s/user/apis/%s.json" % (S, options[i + 1])):
                wrong.append("%s: no API file %s" % (part, options[i + 1]))
if reports < 28 or recorders < 22:
    wrong.append("only %d commands of ovni-report and %d of ovni-bpf found" % (reports, recorders))
# The words of each sample, without its numbers and names, stand in the program.
source = " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', open(S + "/tools/findings/finding_text.c").read()))
source = re.sub(r"\s+", " ", re.sub(r"%[-.\d]*[a-z%]\w*", " ", source))
for sample in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
    sentence = " ".join(l for l in sample.split("\n") if not l.startswith("  "))
    for words in re.findall(r"(?:was throttled by|had the CPU|slept|waited for I/O|worked|for which other threads slept|of these holds|outside of MPI, computed for|longest:|of its own process ran|spent|runs every|the hypervisor took|its threads waited)", sentence):
        if words not in source:
            wrong.append("no sentence of the overview has '%s'" % words)
print("%d commands of ovni-report, %d of ovni-bpf" % (reports, recorders))
sys.exit("\n".join(wrong) or None)
END
