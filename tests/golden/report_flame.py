# SPDX-License-Identifier: MIT
"""
report_flame: compares ovni-report flame with its func and why, and examines its picture and page.

    report_flame.py OVNI-REPORT TRACE [OPTIONS...]

Each function must have the time of func, in each kind of time: the sum of the folded lines that
contain it (so a recursive one counts once). All lines together must be the lives of the threads.
Functions whose calls are not all returned, or with the label of another one, are left out by the
caller: func does not count them.
"""
import collections
import csv
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

program, trace, *options = sys.argv[1:]
WIDTH = 1200


def report(*words):
    done = subprocess.run([program, *words, *options, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode in (0, 3), (words, done.stderr)
    return done.stdout.decode()


def rows(name):
    drop = options.index("--by") if "--by" in options else None
    words = [word for i, word in enumerate(options) if drop is None or i not in (drop, drop + 1)]
    done = subprocess.run([program, name, "--csv", *words, trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 3), name
    return list(csv.DictReader(done.stdout.decode().splitlines()))


def folded_name(name):
    return re.sub(r" ([0-9.]+)$", r"_\1", name).replace(";", ":")


def compare():
    functions = rows("func")
    lives = sum(int(row["time"]) for row in rows("why"))
    for time, column in (("wall", "wall"), ("cpu", "on_cpu"), ("runnable", "runnable"), ("throttled", "throttled"),
                         ("asleep", "asleep")):
        sums, total = collections.Counter(), 0
        for line in report("flame", "--time", time).splitlines():
            stack, ns = line.rsplit(" ", 1)
            total += int(ns)
            for name in set(stack.split(";")):
                sums[name] += int(ns)
        for row in functions:
            assert sums[folded_name(row["function"])] == int(row[column]), (time, row, sums)
        if time == "wall":
            assert total == lives, (total, lives)
    print("%d functions and %d ns of lives agree" % (len(functions), lives))
    return {row["function"] for row in functions}


def picture(root, names):
    frames = [node for node in root.iter() if node.get("data-ns")]
    total = int(frames[0].get("data-ns"))
    spans, seen = [], set()
    # "3 frames of less than 1/12000 of the time are not drawn"; with the frames inside of them
    note = next(filter(None, (re.match(r"(\d+) frames? of less than 1/(\d+) ", node.text or "") for node in root.iter())), None)
    small = int(note.group(1)) if note else 0
    missing = total - sum(int(frame.get("data-own")) for frame in frames)
    assert 0 <= missing <= (small * total / int(note.group(2)) if note else 0), (missing, small, total)
    for frame in frames:
        rect, text = [next(node for node in frame if node.tag.endswith(tag)) for tag in ("rect", "text")]
        begin, ns, depth = (int(frame.get(key)) for key in ("data-from", "data-ns", "data-depth"))
        assert abs(float(rect.get("width")) - WIDTH * ns / total) < 0.001, frame.attrib
        assert abs(float(rect.get("x")) - WIDTH * begin / total) < 0.001, frame.attrib
        assert len(text.text or "") <= max(0, (float(rect.get("width")) - 6) / 7.25), text.text
        above = [span for span in spans if span[2] == depth - 1 and span[0] <= begin and begin + ns <= span[1]]
        assert bool(above) == (depth > 0), (frame.attrib, spans)
        beside = [span for span in spans if span[2] == depth and begin < span[1] and span[0] < begin + ns]
        assert not beside, (frame.attrib, beside)
        spans.append((begin, begin + ns, depth))
        seen.add(text.get("data-name"))
    assert len({name.replace("\uffff", "?") for name in names} - seen) <= small, (names, seen, small)
    print("%d frames, %d too small" % (len(frames), small))


called = compare()
svg = report("flame", "--svg")
picture(xml.fromstring(svg), called)
page = report("flame", "--html")
begin = page.index("<svg")
picture(xml.fromstring(page[begin:page.index("</svg>") + 6]), called)
assert page.count("<script>") == 1 and "http:" not in page.replace("http://www.w3.org/2000/svg", ""), "the page"
assert "default-src 'none'" in page and "@" not in page[:page.index("<style>")]
