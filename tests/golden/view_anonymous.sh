#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-view --anonymous: no text of the metadata is left in the page, decoded as a whole; its runs, stays and calls are
# those of the page with names, and so are its findings but for the names. Each text of the metadata has a word that the
# page with names has in many places.
set -eu
fail() { echo "$1"; cat "$T/said" 2>/dev/null; exit 1; }
cd "$T"
make_trace() { python3 "$S/tests/golden/tools_make.py" "$1"; }
make_trace costly <"$S/tests/golden/view_costly.txt"
make_trace names <<'END'
thread n 7 7 bpf.name="main" bpf.session={"calls":true,"machine":"x86_64","locks":true,"kernel":"6.1.0","hostname":"host","options":["-o","trace","prog"],"t0":"0","t1":"30000000","cpus":[{"index":0,"interrupts":[{"kind":"irq\u002024\u0020eth0","ns":"9000000","times":"3"}],"ns":{"idle":"1","other":"0","unknown":"0"}}]} bpf.command=["prog","argument"] bpf.cgroup="/slice/job" bpf.names={"99":"outside"} bpf.fds=[{"fd":3,"name":"/data/x","from":"0","to":"30000000"}] bpf.futexes=[{"address":"4096","from":"0","name":"queue.mutex"}] ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"solve"}},"5":{"title":"level","chan_type":"single","labels":{"1":"low"}}} ovni.require={"ovni":"1.1.0","nosv":"2.6.0"} nosv.hwc={"0":{"name":"cycles"}} nosv.can_breakdown=false
0 OHx i32:0 i32:-1 u64:0
100 OM[ i64:1 i32:0
200 OM= i64:1 i32:5
300 VWC+ i64:100
1000000 OHp u16:1 i32:8 u16:202 u64:4096
9000000 OHw i32:8 i32:8 u32:7 u32:0
9000000 OHr u32:300
10000000 OM] i64:1 i32:0
11000000 OHp u16:3 i32:99 u16:0 u64:3
25000000 OHw i32:99
25000001 OHr
30000000 OHe
thread n 7 8 bpf.name="worker"
0 OHx i32:1 i32:-1 u64:0
30000000 OHe
thread m 9 9 bpf.name="other"
0 OHx i32:0 i32:-1 u64:0
30000000 OHe
END
printf 'ovni-bpf stacks 1\n7\tsecret_function+0x1;do_futex+0x2\n' >names/stacks
python3 -B "$S/tests/golden/loom_schedule.py" loom
python3 -B "$S/tests/golden/loom_make.py" runs
"$B/bin/ovni-loom" import runs/ranks.trace.bin -o loom --clock-period 500ns >said 2>&1 || fail "ovni-loom import"
# an incomplete trace, with the paths of its streams in the reason
sed -i 's/"finished": 1/"finished": 0/' names/loom.n/proc.7/thread.8/stream.json
python3 - <<'PYTHON'
import glob, json
STRUCTURE = "part", "machine", "chan_type", "version", "commit"
def mark(node, key=""):
    if isinstance(node, dict):
        return {k: mark(v, k) for k, v in node.items()}
    if isinstance(node, list):
        return [mark(v, key) for v in node]
    if isinstance(node, str) and key not in STRUCTURE and not node.lstrip("-").isdigit():
        return node + "Secret"
    return node
for path in [p for name in ("costly", "names", "loom") for p in glob.glob(name + "/**/stream.json", recursive=True)]:
    meta = json.load(open(path))
    require = meta["ovni"].get("require")
    meta = mark(meta)
    if require:
        meta["ovni"]["require"] = require
    json.dump(meta, open(path, "w"))
PYTHON
for name in costly names loom; do
	mv $name "secret.$name"
	for option in --anonymous --quiet; do
		status=0
		"$B/bin/ovni-view" $option -o "$name$option.html" "secret.$name" >said 2>&1 || status=$?
		[ $status = 0 ] || [ $status = 3 ] || fail "ovni-view $option $name: status $status"
	done
	python3 -B - "$S/tests/golden" "$name" <<'PYTHON' || fail "$name"
import re, sys
sys.path.insert(0, sys.argv[1])
from view_page import Page, sections
plain, neutral = (sys.argv[2] + option + ".html" for option in ("--quiet", "--anonymous"))
def words(path):
    data = [open(path, "rb").read(), *(part for _, part in sections(path))]
    return [text for part in data for text in re.findall(rb"[\x20-\x7e]*secret[\x20-\x7e]{0,40}", part, re.I)]
assert len(words(plain)) > 0 and words(neutral) == [], words(neutral)
a, b = Page(plain), Page(neutral)
assert str(a.meta).lower().count("secret") > (30 if sys.argv[2] == "names" else 8), a.meta
strip = lambda runs: [run._replace(call=0) for run in runs]
assert strip(a.runs) == strip(b.runs) and len(a.runs) > 0 and a.calls == b.calls
cut = lambda page: [(f["kind"], f["cost"], f["begin"], f["end"], f.get("thread"), f.get("cpu")) for f in page.meta["findings"]]
assert cut(a) == cut(b), (cut(a), cut(b))
for key in "end", "counts", "busy", "runnable", "cpus", "lost", "repairs":
    assert a.meta[key] == b.meta[key], key
for x, y in zip(a.meta["threads"], b.meta["threads"], strict=True):
    assert (x["tid"], x["pid"], x["loom"], x.get("accelerator")) == (y["tid"], y["pid"], y["loom"], y.get("accelerator"))
names = [thread["name"] for thread in b.meta["threads"]]
assert len(set(names)) == len(names) and all(re.fullmatch(r"(process|thread|part) \d+", name) for name in names), names
if sys.argv[2] == "costly":
    assert cut(a)
else:
    assert b.meta["functions"] == [] or b.meta["functions"][0]["label"].startswith("function "), b.meta["functions"]
if sys.argv[2] == "names":
    assert names == ["process 1", "process 2", "thread 3"], names
    assert sorted(b.meta["looms"]) == ["node 1", "node 2"] and b.meta["others"] == ["99"], (b.meta["looms"], b.meta["others"])
    assert "incomplete" in b.meta, b.meta
PYTHON
done
