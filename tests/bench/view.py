# SPDX-License-Identifier: MIT
"""
view: how fast a page of ovni-view opens and draws in a headless Chromium.

    view.py PAGE FOLDER     prints ms: first overview, ready; script and distance of 60 frames of a
                            zoom, median and 95th of 100; the memory of the renderer; and in the last line, for
                            view.sh: "= READY_MS FRAME_MS FRAME_95TH_MS RENDERER_MIB ERRORS", the slowest zoom's frames
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from browser import Browser  # noqa: E402


def memory():
    """Greatest VmHWM of the renderers, MiB."""
    most = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if b"--type=renderer" in open("/proc/%s/cmdline" % pid, "rb").read():
                lines = open("/proc/%s/status" % pid, encoding="utf-8").read().split("\n")
                most = max([most] + [int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")])
        except OSError:
            pass
    return most


def cpu_time():
    """Of all renderers so far, ms: what a busy machine does not change much."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if b"--type=renderer" in open("/proc/%s/cmdline" % pid, "rb").read():
                fields = open("/proc/%s/stat" % pid, encoding="utf-8").read().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return ticks * 1000 // os.sysconf("SC_CLK_TCK")


def at(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def main(page, folder):
    browser = Browser(folder)
    try:
        opened, used = [], []
        for _ in range(3):
            before = cpu_time()
            browser.open(page)
            browser.ready(120)
            used.append(cpu_time() - before)
            marks = browser.run("return performance.getEntriesByType('mark').map((m) => [m.name, m.startTime])")
            opened.append(dict(marks))
        print("opened    overview %5.0f ms   ready %5.0f ms, %d ms of CPU (medians of 3)" % (
            at([o["overview"] for o in opened], 50), at([o["ready"] for o in opened], 50), at(used, 50)))
        slowest = (0, 0)
        for name, share in ("all", 1), ("a tenth", 0.1), ("a thousandth", 0.001):
            before = cpu_time()
            distances = browser.run_async("""
                const [share, done] = arguments, gaps = [];
                let last = 0, left = 60;
                view.show(view.end * 0.3, view.end * (0.3 + share));
                view.frames.length = 0;
                const step = (now) => {
                    if (last) gaps.push(now - last);
                    last = now;
                    if (!left--) return done(gaps);
                    view.zoom(left % 2 ? 0.97 : 1.03, 800);
                    requestAnimationFrame(step);
                };
                requestAnimationFrame(() => requestAnimationFrame(step));""", share)
            script = browser.run("return view.frames")
            print("%-12s  CPU %5.1f ms   script %5.1f ms, 95th %5.1f   frame %5.1f ms, 95th %5.1f   %d rows" % (
                name, (cpu_time() - before) / 60, at(script, 50), at(script, 95), at(distances, 50), at(distances, 95), browser.run("return view.visible().length")))
            slowest = max(slowest, (at(distances, 95), at(distances, 50)))
        errors = browser.errors()
        print("renderer  %d MiB   errors %r" % (memory(), errors))
        print("= %d %.1f %.1f %d %d" % (at([o["ready"] for o in opened], 50), slowest[1], slowest[0], memory(), len(errors)))
    finally:
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
