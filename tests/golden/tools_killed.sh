#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Programs that write files are killed (SIGKILL) before their N-th act on files, or in the middle of a write:
# the output is as without a kill, or it does not look whole: ovni-check, ovni-pallas check and ovni-loom check
# refuse it or call it incomplete, a page or a file of another program has another name (of several parts, the
# first one), and the first line of a .prv has no duration. The traces are of another program: no counts of the recorder say what is missing.
# longer: before each act
set -eu
cd "$T"
make() { "$S/tests/golden/tools_make.py" "$1"; }
thread() { printf 'thread %s %d\n%d OHx i32:-1 i32:-1 u64:0\n9000 OHe\n' "$1" "$2" $((1000 + $2)); }
for i in 1 2 3; do thread 'n 1' $i; done | make plain
for i in 1 2 3; do thread 'm 1' $i; done | make other
{ thread 'n 1' 1; thread 'n 1' 2; printf 'thread n 1 3 ovni.finished=\n1010 OHx i32:-1 i32:-1 u64:0\n'; } | make broken
for i in 1 2 3; do
	echo "thread n 1 $i bpf.name=\"w\" ovni.require={\"ovni\":\"1.1.0\",\"kernel\":\"1.0.0\"}"
	printf '%s\n' '900 KCI i32:0' '950 OHx i32:-1 i32:-1 u64:0' '1990 KCO u16:1 i32:0' '1995 KCI i32:0' '9600 OHe'
done | make kernel
{ echo 'thread n 1 1'; echo '0 OHx i32:0 i32:-1 u64:0'
	awk 'BEGIN { for (i = 1; i < 40000; i++) printf "%d OHp\n%d OHr\n", 2 * i, 2 * i + 1; print "80000 OHe" }'; } | make long
"$B/bin/ovni-pallas" export plain archive 2>said || { cat said; exit 1; }
"$B/bin/ovni-loom" import -o imported "$S/tests/golden/loom/ours" 2>said || { cat said; exit 1; }
LOOM=$S/tests/golden/loom exec python3 - "$B" ${LONG:+all} <<'PY'
import glob, os, shutil, subprocess, sys
build, every = sys.argv[1], len(sys.argv) > 2
POINTS = 14  # of each program, unless all
CHECK = ["check", "-q", "out"]
PROGRAMS = [  # arguments, the program that judges the output
    ("check --repair -o out broken", CHECK),
    ("cut --from 1000 --to 8000 -o out plain", CHECK),
    ("merge -o out plain kernel", CHECK),
    ("merge -a --loom n=m -o out plain other", CHECK),
    ("convert -d -m -o out plain", CHECK),
    ("pallas import archive out", CHECK),
    ("loom import -o out LOOM/ours", CHECK),
    ("loom import -o out LOOM/json", CHECK),
    ("loom export -o out imported", ["loom", "check", "out"]),
    ("pallas export plain out", ["pallas", "check", "out"]),
    ("emu -o out plain", None),
    ("emu --gz -o out plain", None),
    ("view -o out plain", None),
    ("export --perfetto -o out plain", None),
    ("export --perfetto --split 64K -o out.pftrace long", None),
    ("export --csv -o out plain", None),
    ("export --sqlite -o out plain", None),
    ("export --chrome -o out plain", None),
]
wrong, counts = [], {"whole": 0, "not whole": 0}


def run(words, **fault):
    env = dict(os.environ, **{"FAULT_" + k: str(v) for k, v in fault.items()})
    if fault:
        env.update(LD_PRELOAD=build + "/tests/faults/faults.so", FAULT_PROGRAM="ovni-" + words[0], FAULT_KIND="files")
    words = [w.replace("LOOM/", os.environ["LOOM"] + "/") for w in words]
    return subprocess.run([build + "/bin/ovni-" + words[0], *words[1:]], env=env, capture_output=True, timeout=60, check=False)


def load(path):
    with open(path, "rb") as file:
        return file.read()


def output():
    """Contents by path; a file in the place of a folder is one of them."""
    return {p: load(p) for p in glob.glob("out*/**", recursive=True) + glob.glob("out*") if os.path.isfile(p)}


def clean():
    for path in glob.glob("out*"):
        (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)


def looks_whole(words, judge, left, full):
    if judge:
        return run(judge).returncode == 0
    if "--split" in words:
        return "out-1.pftrace" in left or (left and not any(p.endswith(".part") for p in left))
    for path in left:
        hidden = path.split("/")[0].endswith(".part") or os.path.basename(path).startswith(".")
        named = path.endswith((".prv", ".prv.gz"))
        if named or (words[0] != "emu" and not hidden):
            text = left[path]
            # not the whole first line, or one without a duration
            if text != full.get(path) and b"\n" in text and b":00000000000000000000_ns:" not in text[:100]:
                return True
    return False


def attempt(words, judge, full, error, at):
    clean()
    done = run(words, AT=at, ERROR=error)
    left = output()
    if done.returncode != -9:
        wrong.append("%s: %s at %d: status %d, not killed" % (" ".join(words), error, at, done.returncode))
    elif all(left.get(p) == full[p] for p in full):
        counts["whole"] += 1
    elif looks_whole(words, judge, left, full):
        wrong.append("%s: %s at %d: looks whole with %d of %d files: %s" % (
            " ".join(words), error, at, sum(left.get(p) == full[p] for p in full), len(full), " ".join(sorted(left))[:300]))
    else:
        counts["not whole"] += 1


for text, judge in PROGRAMS:
    words = text.split()
    clean()
    done = run(words, AT=0, ERROR="kill", COUNT="count")
    full, acts = output(), int(load("count"))
    ended = run(judge).returncode if judge else 0
    if (done.returncode, ended) != ((3, 3) if "--repair" in words else (0, 0)) or acts < 1:
        wrong.append("%s: status %d, %d acts, its output %d: %s" % (text, done.returncode, acts, ended, done.stderr[-300:]))
    if words[0] == "emu":
        acts = min(acts, 30)  # the others are copies of views
    points = range(1, acts + 1) if every or acts <= POINTS else sorted({1 + i * (acts - 1) // (POINTS - 1) for i in range(POINTS)})
    for error in ("kill", "short"):
        for at in points:
            attempt(words, judge, full, error, at)
print("%d kills left nothing that looks whole, %d the whole output, %d wrong" % (counts["not whole"], counts["whole"], len(wrong)))
print("\n".join(wrong[:20]))
sys.exit(bool(wrong) or counts["not whole"] < 100)
PY
