#!/bin/bash
# SPDX-License-Identifier: MIT
#
# While a program writes, the owner of the directory that holds its output puts another one in its place (or a
# link to it) that has a victim under the name of the output, and a link to another victim under the name of
# the unfinished file: nothing there changes, and status 0 means that the whole output is in the old directory.
# longer: before each act on files
set -eu
cd "$T"
for i in 1 2 3; do
	printf 'thread n 1 %d bpf.name="w"\n%d OHx i32:-1 i32:-1 u64:0\n5000 OHp u16:1 i32:0\n6000 OHw i32:-2\n7000 OHr\n9000 OHe\n' $i $((1000 + i))
done | "$S/tests/golden/tools_make.py" plain
"$B/bin/ovni-pallas" export plain archive 2>said || { cat said; exit 1; }
exec python3 - "$B" ${LONG:+all} <<'PY'
import os, shutil, signal, subprocess, sys, time
build, every = sys.argv[1], len(sys.argv) > 2
POINTS = 8  # of each program and way, unless all
PROGRAMS = ("export --perfetto -o", "export --sqlite -o", "export --csv -o", "export --chrome -o", "view -o",
            "cut --to 8000 -o", "convert -d -m -o", "emu -o", "pallas export plain", "pallas import archive")
wrong, counts = [], {0: 0, 1: 0}


def clean():
    for name in ("place", "moved", "elsewhere"):
        (os.unlink if os.path.islink(name) else shutil.rmtree)(name) if os.path.lexists(name) else None


def tree(top):
    """Contents by path, without what names a moment or a process."""
    found = {}
    for at, folders, names in os.walk(top):
        for name in names + folders:
            path = os.path.join(at, name)
            text = os.readlink(path) if os.path.islink(path) else "folder"
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    text = file.read()
            found[os.path.relpath(path, top)] = text
    return found


def start(words, **fault):
    env = dict(os.environ, LD_PRELOAD=build + "/tests/faults/faults.so", FAULT_PROGRAM="ovni-" + words[0], FAULT_KIND="files",
               **{"FAULT_" + k: str(v) for k, v in fault.items()})
    return subprocess.Popen([build + "/bin/ovni-" + words[0], *words[1:]], env=env, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def wait_until_stopped(child):
    """False: it has ended."""
    for _ in range(3000):
        with open("/proc/%d/stat" % child.pid, encoding="utf-8", errors="replace") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        if state in "TZ":
            return state == "T"
        time.sleep(0.01)
    raise SystemExit("a program neither stops nor ends")


def exchange(way, pid):
    """Puts a directory of the attacker in the place of the one that is written."""
    os.rename("place", "moved")
    os.mkdir("elsewhere")
    for name in ("victim", "out"):
        with open("elsewhere/" + name, "w", encoding="utf-8") as file:
            file.write("" if name == "victim" else "kept")
    os.symlink("victim", "elsewhere/out.%d.part" % pid)
    if way == "link":
        os.symlink("elsewhere", "place")
    else:
        os.rename("elsewhere", "place")
    return tree("place")


def attempt(words, way, at, whole):
    clean()
    os.mkdir("place")
    child = start(words, AT=at, ERROR="stop")
    if not wait_until_stopped(child):
        child.communicate()
        return wrong.append("%s: does not stop at act %d" % (" ".join(words), at))
    before = exchange(way, child.pid)
    child.send_signal(signal.SIGCONT)
    said = child.communicate(timeout=60)[1]
    what = "%s, a %s before act %d" % (" ".join(words), way, at)
    if tree("place") != before:
        wrong.append("%s: changed: %s" % (what, {k: v[:40] for k, v in tree("place").items() if before.get(k) != v}))
    if child.returncode not in counts:
        wrong.append("%s: status %d: %s" % (what, child.returncode, said[-200:]))
    elif child.returncode == 0 and set(tree("moved")) != whole:
        wrong.append("%s: status 0, but there is %s" % (what, sorted(tree("moved"))[:5]))
    counts[child.returncode] = counts.get(child.returncode, 0) + 1


for text in PROGRAMS:
    words = text.split() + ["place/out"]
    if text[-1] == "o":
        words.append("plain")
    clean()
    os.mkdir("place")
    child = start(words, AT=0, ERROR="stop", COUNT="count")
    said = child.communicate()[1]
    with open("count", encoding="utf-8") as file:
        acts = min(int(file.read()), 40)  # of ovni-emu, the others are copies of views
    if child.returncode or acts < 1:
        wrong.append("%s: status %d, %d acts: %s" % (text, child.returncode, acts, said[-300:]))
    whole = set(tree("place"))
    points = range(1, acts + 1) if every or acts <= POINTS else sorted({1 + i * (acts - 1) // (POINTS - 1) for i in range(POINTS)})
    for way in ("link", "directory"):
        for at in points:
            attempt(words, way, at, whole)
clean()
print("%d exchanges: %d wrote into the old directory, %d failed; %d wrong" % (sum(counts.values()), counts[0], counts[1], len(wrong)))
print("\n".join(wrong[:20]))
sys.exit(bool(wrong) or counts[0] < 20)
PY
