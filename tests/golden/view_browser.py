# SPDX-License-Identifier: MIT
"""
view_browser: looks at pages of ovni-view in a headless Chromium; see view_browser.sh.

    view_browser.py DIR BIN [PICTURES]     DIR has the traces and pages small, hour and turns
"""
import os
import random
import re
import sys

from browser import Browser
from view_page import Page, report

LEFT = 240
COLOURS = {"running": (0x14, 0xa3, 0x7f), "runnable": (0xf2, 0xa9, 0x00), "asleep": (0xc3, 0xca, 0xd3),
           "io": (0x3b, 0x8f, 0xd6), "paper": (255, 255, 255), "hatch": (0x6e, 0x6e, 0x6e)}
top, bin_dir, pictures = sys.argv[1:4]
wrong = []


def check(what, condition, *shown):
    if not condition:
        wrong.append(" ".join([what] + [repr(s) for s in shown]))


class Look:
    """One page in the browser."""

    def __init__(self, browser, name):
        self.browser, self.name = browser, name
        browser.open("%s/%s.html" % (top, name))
        browser.ready()

    def state(self):
        return self.browser.run("return view.state()")

    def row(self, key):
        """y of the middle of the bar of a row, in the canvas and in the window."""
        return self.browser.run("""
            const row = view.rowOf.get(arguments[0]), box = view.bars.getBoundingClientRect();
            return [row.y - view.main.scrollTop + 9, row.y - view.main.scrollTop + 9 + box.top];""", key)

    def x(self, t):
        state = self.state()
        width = self.browser.run("return view.width")
        return LEFT + (t - state["t0"]) / (state["t1"] - state["t0"]) * width

    def pixel(self, t, key, down=0):
        return tuple(self.browser.run("""
            view.draw();
            return Array.from(view.bars.getContext('2d').getImageData(arguments[0], arguments[1], 1, 1).data).slice(0, 3)""",
                                      int(self.x(t)), int(self.row(key)[0] + down)))

    def click(self, t, key):
        self.browser.pointer(("move", int(self.x(t)), int(self.row(key)[1])), ("down",), ("up",))
        self.settle()

    def settle(self):
        """Two frames: the one asked for has been drawn then."""
        self.browser.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")

    def link(self, text):
        """Clicks the first link of the panel that begins so."""
        x, y = self.browser.run("""
            const link = Array.from(document.querySelectorAll('#panel a')).find((a) => a.textContent.startsWith(arguments[0]));
            link.scrollIntoView(); const box = link.getBoundingClientRect(); return [box.left + 4, box.top + 5];""", text)
        self.browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
        self.settle()

    def panel(self):
        return self.browser.text("#panel")

    def picture(self, name):
        if pictures:
            self.settle()
            self.browser.screenshot(os.path.join(pictures, name + ".png"))


def near(a, b):
    return all(abs(x - y) <= 3 for x, y in zip(a, b))


def sums_of(page, key):
    """The stays of a row, by the words of the page."""
    out = []
    for thread, use, begin, end in page.all_stays():
        if "t" + page.meta["threads"][thread]["tid"] == key:
            words = page.meta["uses"][use]
            out.append((words["state"] + (": " + words["reason"] if words["reason"] else ""), begin, end))
    return out


def look_at_sums(browser, name):
    look, page = Look(browser, name), Page("%s/%s.html" % (top, name))
    end = page.meta["end"]
    random.seed(3)
    windows = [(0, end)] + [sorted(random.randint(0, end) for _ in range(2)) for _ in range(20)]
    for key in ["t" + thread["tid"] for thread in page.meta["threads"]]:
        stays = sums_of(page, key)
        for t0, t1 in windows:
            want = {}
            for use, a, b in stays:
                ns = min(b, t1) - max(a, t0)
                if ns > 0:
                    want[use] = want.get(use, 0) + ns
            got = browser.run("return view.sum(arguments[0], arguments[1], arguments[2])", key, t0, t1)
            check("%s: sums of %s" % (name, key), {k: v for k, v in got.items() if v} == want, (t0, t1), got, want)
    cpus = {}
    for row in report(bin_dir, "cpu", "%s/%s" % (top, name)):
        if row["who"].endswith(")"): # a thread; else idle, unknown, ...
            cpus["c" + row["cpu"]] = cpus.get("c" + row["cpu"], 0) + int(row["time"])
    for cpu in page.meta["cpus"]:
        key = "c%d" % cpu["cpu"]
        if cpu["cpu"] >= 0 and key in cpus:
            got = browser.run("return view.sum(arguments[0], 0, 1e15).busy", key)
            check("%s: busy time of %s" % (name, key), got == cpus[key], got, cpus[key])
    check("%s: CPUs were compared" % name, cpus)
    return look


def look_at_small(browser):
    look = look_at_sums(browser, "small")
    ms = 1000000
    check("lost events in the header", browser.text("#state").count("lost 5 events") == 1, browser.text("#state"))
    check("the first sentence takes no more place than it needs", browser.run("return document.getElementById('panel').offsetHeight") < 50)
    # shapes and colours of thread 7
    for t, down, colour in ((0.5, 0, "running"), (0.5, -5, "running"), (2.5, -5, "runnable"), (5, 0, "asleep"),
                            (5, -5, "paper"), (6.2, -5, "runnable"), (7.5, 0, "io"), (7.5, 5, "paper"), (9.5, -5, "running")):
        got = look.pixel(t * ms, "t7", down)
        check("colour at %s ms" % t, near(got, COLOURS[colour]), got, colour)
    for key in "t7", "c1":
        column = {look.pixel((8.2 + i / 40) * ms, key) for i in range(20)}
        check("the gap is hatched on " + key, column & {COLOURS["hatch"]} or any(
            abs(c[0] - c[1]) < 4 and 90 < c[0] < 190 for c in column), column)
        check("the gap has no colour of a state on " + key, COLOURS["running"] not in column, column)
    # hatches rise where the state is not known yet, and fall where a switch is missing; both have the colour
    slopes = browser.run("""
        const canvas = document.createElement('canvas'), context = canvas.getContext('2d'), found = [];
        for (const state of [UNKNOWN, REPAIRED]) {
            view.painter.hatch(context, 0, 0, 12, 12, state);
            const {data} = context.getImageData(0, 0, 12, 12), dark = (x, y) => data[4 * (12 * y + x)] < 200;
            found.push([[1, -1], [1, 1]].map(([dx, dy]) => Array.from({length: 9}, (_, k) => dark(5 + dx * (k - 4), 5 + dy * (k - 4))).every((v, k, all) => v === all[0])));
        }
        return found;""")
    check("the slopes of hatches", slopes == [[True, False], [False, True]], slopes)
    # time without detail
    browser.run("view.meta.detail.last = 9.6e6; view.draw()")
    check("time without detail is grey", look.pixel(9.8 * ms, "c3") == (0xd7, 0xdc, 0xe2) != look.pixel(9.4 * ms, "c3"), look.pixel(9.8 * ms, "c3"))
    for key in "c3", "t9", "runnable":
        look.click(9.8 * ms, key)
        check("and has a sentence", "The page has no detail of this time" in look.panel(), look.panel())
    browser.run("view.meta.detail.last = view.end; view.draw()")
    # a chosen thread stands out on the CPUs
    colours = [browser.run("view.chosenRow = arguments[0]", key) or look.pixel(4 * ms, "c0", 5) for key in (None, "t8", "t7")]
    check("a chosen thread is in its colour on a CPU, others are pale", colours[0] == colours[1] != colours[2] and sum(colours[2]) > sum(colours[0]), colours)
    browser.run("view.chosenRow = undefined")
    check("threads of one name have different colours", browser.run("return new Set([0, 1, 2, 3, 4, 5, 6, 7].map((n) => hueOf('ring', n))).size") == 8
          and browser.run("return new Set(new Painter({meta: {threads: [{name: 'ring', tid: 1}, {name: 'ring', tid: 2}]}}).hues).size") == 2)
    browser.run("view.measure(8.5e6, 9e6)")
    check("CPUs in order, also idle ones", "CPU 0 busy 0 ns 0.0 %, CPU 1 busy 500 us 100.0 %, CPU 3 busy 0 ns" in look.panel(), look.panel())
    browser.keys("\ue00c")
    look.picture("small")
    # hostile names are text
    check("hostile names as text", "<img_src=x_onerror=alert(2)>" in browser.text("#rows").replace(" ", "_"), browser.text("#rows"))
    check("no image, no further script", browser.run("return [document.images.length, "
          "document.querySelectorAll('script:not([data-kind])').length]") == [0, 1])
    check("direction marks are shown", "\\xe2\\x80\\xae" in browser.text("#rows"))
    # a run: length, why it ended, taker, waker, wait
    look.click(6.7 * ms, "t7")
    said = look.panel()
    for words in ("busy (7) ran on CPU 1 for 500 us", "from 0.006500000 s", "woken by </script>", " on CPU 0, and waited 500 us for a CPU",
                  "Then it slept (io)", "The CPU became idle"):
        check("the sentence of a run", words in said, words, said)
    browser.pointer(("move", int(look.x(3.2 * ms)), int(look.row("t7")[1])))
    hover = browser.text("#hover")
    for words in ("busy (7) ran on CPU 1 for 1 ms", "It had stayed runnable, and waited 1 ms for a CPU", "Then it slept (sleeping)"):
        check("the sentence under the pointer", words in hover, words, hover)
    look.link("</script>") # its waker
    check("a click on the waker goes to its run", "</script>" in look.panel()[:20] and "ran on CPU 0" in look.panel(), look.panel())
    look.click(6.7 * ms, "t7")
    look.link("previous run")
    check("a click goes to the run before", "for 1 ms, from 0.003000000" in look.panel(), look.panel())
    look.link("next run")
    check("a click goes to the next run", "for 500 us, from 0.006500000" in look.panel(), look.panel())
    browser.keys("b") # its waker was on its CPU then
    check("b goes to the waker", "</script>" in look.panel() and "ran on CPU 0" in look.panel(), look.panel())
    look.click(6.7 * ms, "t7")
    browser.keys("O")
    check("O goes to the run before", "for 1 ms, from 0.003000000" in look.panel(), look.panel())
    look.click(1.9 * ms, "t7")
    check("preempted by", "preempted by </script>" in look.panel(), look.panel())
    look.link("</script>")
    check("a click goes to the taker", "from 0.002000001 s" in look.panel(), look.panel())
    look.click(1.9 * ms, "t7")
    browser.keys("o")
    check("o goes to the next run", "from 0.003000000 s" in look.panel(), look.panel())
    look.click(1.9 * ms, "t7")
    browser.keys("t")
    check("t goes to the taker", "from 0.002000001 s" in look.panel(), look.panel())
    look.click(2.5 * ms, "t7")
    check("the sentence of a wait", "runnable (preempted) for 1 ms" in look.panel() and "where it ran next" in look.panel(), look.panel())
    look.click(5.5 * ms, "c1")
    check("a CPU without a thread", "no thread of this page for 2.5 ms" in look.panel(), look.panel())
    look.click(8.5 * ms, "c1")
    check("the sentence of a gap", "5 events of CPU 1 lost" in look.panel(), look.panel())
    # the call of 2.5 ms: half running, the rest runnable
    y = look.row("t7")[1] + 14
    browser.pointer(("move", int(look.x(1.2 * ms)), int(y)), ("down",), ("up",))
    calls = {row["function"]: row for row in report(bin_dir, "func", top + "/small")}
    for use, column in ("running", "on_cpu"), ("runnable", "runnable"):
        ns = int(calls["solve"][column])
        words = "%s ms" % (("%.6f" % (ns / 1e6)).rstrip("0").rstrip("."))
        check("the sentence of a call has the " + use, words in look.panel(), words, look.panel())
    look.picture("small-call")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_gestures(browser):
    look, end = Look(browser, "turns"), Page(top + "/turns.html").meta["end"]
    middle = browser.run("const b = view.bars.getBoundingClientRect(); return [b.left + 800, b.top + 60]")
    at = lambda: browser.run("return view.timeAt(800)")
    before, state = at(), look.state()
    for _ in range(3):
        browser.wheel(int(middle[0]), int(middle[1]), -240)
        look.settle()
    after = look.state()
    check("the wheel zooms in", after["t1"] - after["t0"] < (state["t1"] - state["t0"]) / 2, after)
    check("the wheel keeps the time under the pointer", abs(at() - before) < (after["t1"] - after["t0"]) / 300, before, at())
    browser.pointer(("move", int(middle[0]), int(middle[1])), ("down",), ("move", int(middle[0]) - 200, int(middle[1])), ("up",))
    moved = look.state()
    share = (moved["t0"] - after["t0"]) / (after["t1"] - after["t0"]) * browser.run("return view.width")
    check("a drag moves by as many pixels", abs(share - 200) < 2, share)
    for key, test in (("d", lambda a, b: b["t0"] > a["t0"]), ("a", lambda a, b: b["t0"] < a["t0"]),
                      ("w", lambda a, b: b["t1"] - b["t0"] < a["t1"] - a["t0"]), ("s", lambda a, b: b["t1"] - b["t0"] > a["t1"] - a["t0"])):
        a = look.state()
        browser.keys(key)
        look.settle()
        check("the key " + key, test(a, look.state()), a["t0"], look.state()["t0"])
    browser.run("view.choose(undefined)")
    browser.keys("f")
    look.settle()
    check("f shows the whole trace", (look.state()["t0"], look.state()["t1"]) == (0, end), look.state())
    # measure by Shift and drag: the sums of ovni-report between the two clocks
    browser.call("POST", "/actions", {"actions": [
        {"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": "\ue008"}] + [{"type": "pause"}] * 4 + [{"type": "keyUp", "value": "\ue008"}]},
        {"type": "pointer", "id": "mouse", "actions": [
            {"type": "pause"}, {"type": "pointerMove", "x": 500, "y": int(middle[1]), "origin": "viewport"}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": 900, "y": int(middle[1]), "origin": "viewport"}, {"type": "pointerUp", "button": 0}]}]})
    marks = look.state()["marks"]
    check("Shift and drag measures", len(marks) == 2 and marks[0] < marks[1], marks)
    origin = int(Page(top + "/turns.html").meta["origin"])
    if len(marks) == 2:
        sums = {}
        for row in report(bin_dir, "why", "--from", str(origin + marks[0]), "--to", str(origin + marks[1]), top + "/turns"):
            key = row["state"] + (": " + row["reason"] if row["reason"] else "")
            sums[key] = sums.get(key, 0) + int(row["time"])
        heads, cells = browser.run("""return [Array.from(document.querySelectorAll('#panel th'), (n) => n.textContent.replace(' ▾', '')),
            Array.from(document.querySelectorAll('#panel tr:nth-child(2) td'), (n) => n.textContent)]""")
        check("a table of the measure", len(heads) > 3, heads)
        unit = {"ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}
        got = {}
        for head, cell in zip(heads[1:], cells[1:]):
            number, name = cell.split()
            whole, _, part = number.partition(".")
            got[head] = int(whole) * unit[name] + int((part + "0" * 9)[:9]) * unit[name] // 10 ** 9
        check("the table has the sums of ovni-report", got == sums, got, sums)
    look.picture("turns-measure")
    # a link gives the same state anew
    browser.run("view.show(arguments[0], arguments[1])", end * 0.4, end * 0.41)
    look.settle()
    runs = Page(top + "/turns.html").runs
    run = next(r for r in sorted(runs, key=lambda r: r.begin) if r.begin > end * 0.402 and r.end < end * 0.408 and r.end - r.begin > 30000)
    tid = "t%d" % (100 + run.thread)
    look.click((run.begin + run.end) / 2, tid)
    check("a click selects the run", "from %d.%09d s" % divmod(run.begin, 10 ** 9) in look.panel(), run, look.panel())
    state, said = look.state(), look.panel()
    browser.wait(lambda: "sel=" in browser.run("return location.hash"), 10)
    link = browser.run("return location.hash")
    browser.call("POST", "/url", {"url": "about:blank"})
    browser.call("POST", "/url", {"url": "file://%s/turns.html%s" % (top, link)})
    browser.ready()
    look.settle()
    again = look.state()
    check("a link shows the same time", abs(again["t0"] - state["t0"]) < 2 and abs(again["t1"] - state["t1"]) < 2, state, again)
    check("a link selects the same run", look.panel() == said and again["chosenRow"] == tid, look.panel(), said)
    look.picture("turns-run")
    browser.run("location.hash = '#t=nonsense&row=t1&unknown=1'")
    browser.wait(lambda: "does not have: t=nonsense, row=t1" in look.panel(), 10)
    # rows: pinned first, hidden, of one process, in another order
    order = lambda: browser.run("return view.rows.filter((row) => row.kind === 'thread').map((row) => row.key)")
    browser.run("location.hash = ''")
    by_time = order()
    browser.run("view.chooseRow('t', 5)")
    browser.keys("p")
    check("p pins the row", browser.run("return view.rows[0].key") == "t105" and order()[0] == "t105", order())
    browser.keys("p")
    check("p again lets it go", order() == by_time, order(), by_time)
    browser.keys("h")
    check("h hides the row", order() == [key for key in by_time if key != "t105"], order())
    browser.keys("\ue00c")
    check("Esc shows hidden rows", order() == by_time, order())
    browser.keys("r")
    check("r sorts by name", order() == ["t%d" % tid for tid in range(100, 110)] and by_time != order(), order(), by_time)
    browser.keys("rr")
    check("r three times sorts by time", order() == by_time, order())
    browser.keys("l")
    check("l hides the legend", browser.run("return document.getElementById('legend').hidden"))
    browser.keys("l")
    # the axis has round units; a double click shows the whole trace
    browser.run("view.show(0, 1000000)")
    look.settle()
    step = browser.run("return view.step")
    check("a round step of the axis", str(step).rstrip("0") in ("1", "2", "5") and 90 <= step * browser.run("return view.scale") <= 500, step)
    browser.pointer(("move", int(middle[0]), int(middle[1])), ("down",), ("up",), ("down",), ("up",))
    browser.wait(lambda: (look.state()["t0"], look.state()["t1"]) == (0, end), 10)
    # search, help, dark
    browser.keys("/")
    browser.keys("turn103")
    check("the search finds the thread", "1 found" in look.panel() and "turn103 (103)" in look.panel(), look.panel())
    browser.keys("\ue00c")
    browser.keys("?")
    check("? shows the keys", "Shift and drag" in browser.text("#help") and browser.run("return !document.getElementById('help').hidden"))
    browser.keys("\ue00c")
    browser.run("view.show(0, view.end); document.getElementById('theme').click()")
    look.settle()
    check("dark paper", look.pixel(end * 1.04, "t100", 7) == (0x15, 0x18, 0x1c) or look.state(), look.pixel(end, "t100", 8))
    look.picture("turns-dark")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_hour(browser):
    look = Look(browser, "hour")
    x = look.x(1800 * 10 ** 9)
    row = browser.run("""view.draw();
        const d = view.bars.getContext('2d').getImageData(arguments[0] - 2, arguments[1], 5, 1).data, out = [];
        for (let i = 0; i < d.length; i += 4) out.push([d[i], d[i + 1], d[i + 2]]);
        return out;""", int(x), int(look.row("t1")[0]))
    check("a run of 2 us in an hour is seen", any(near(pixel, COLOURS["running"]) for pixel in row), row)


def look_at_findings(browser):
    """Each finding of ovni-report stands beside the timeline, and jumps to its row and its time."""
    look, page = Look(browser, "costly"), Page(top + "/costly.html")
    said = browser.text("#findings")
    check("the button counts the findings", "%d findings" % len(page.meta["findings"]) == browser.text("#side"), browser.text("#side"))
    for words in [f["text"] for f in page.meta["findings"]] + ["CPU 0", "victim (11)", "ovni-bpf -a -o the_trace", "not recorded:"]:
        check("beside the timeline", words in said, words, said)
    check("when it was recorded", "2026-11-22 03:12:05" in browser.text("#facts"), browser.text("#facts"))
    for i, finding in enumerate(page.meta["findings"]):
        browser.run("view.show(0, view.end); view.choose(undefined)")
        if i % 2:
            browser.keys(str(i + 1))
        else:
            x, y = browser.run("""const node = document.querySelectorAll('#findings li a')[arguments[0]];
                node.scrollIntoView(); const b = node.getBoundingClientRect(); return [b.left + 10, b.top + 5]""", i)
            browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
        look.settle()
        state, key = look.state(), "c%d" % page.meta["cpus"][finding["cpu"]]["cpu"] if "cpu" in finding else \
            "t" + page.meta["threads"][finding["thread"]]["tid"]
        check("a finding goes to its row", state["chosenRow"] == key, state["chosenRow"], key)
        check("a finding goes to its time", state["t0"] <= finding["begin"] and state["t1"] >= finding["end"], state, finding)
        length = finding["end"] - finding["begin"]
        check("not to much more", state["t1"] - state["t0"] <= 2.1 * length, state, finding)
        check("the panel has the finding and the command", finding["text"] in look.panel() and finding["command"] in look.panel(), look.panel())
        if finding["exact"]:
            chosen = state["chosen"] or {}
            clock = 5000000001 + finding["begin"] # in the local time of the recording
            check("the time of day", "(03:12:%02d.%09d)" % divmod(clock, 10 ** 9) in look.panel(), clock, look.panel())
            check("it selects the stay", (chosen.get("begin"), chosen.get("end")) == (finding["begin"], finding["end"]), chosen, finding)
    look.picture("findings")
    browser.run("view.chooseRow('t', %d)" % [thread["tid"] for thread in page.meta["threads"]].index("31"))
    threads = lambda: browser.run("return view.rows.filter((row) => row.kind === 'thread').map((row) => row.key)")
    browser.keys("x")
    check("x shows only its process", sorted(threads()) == ["t30", "t31"], threads())
    browser.keys("x")
    check("x again shows all", sorted(threads()) == ["t11", "t20", "t30", "t31"], threads())
    width = browser.run("return view.width")
    browser.keys("i")
    browser.wait(lambda: browser.run("return view.width") > width, 10)
    check("i hides the findings", browser.run("return document.getElementById('findings').hidden"))
    check("no errors", not (errors := browser.errors()), errors)


def look_at_values(browser):
    """The states of an accelerator, set by marks, as lines below its rows; the time of each value."""
    look = Look(browser, "loom")
    row = "n%d/t3" % Page(top + "/loom.html").meta["looms"].index("loomsim.ranks")
    browser.run("view.show(0, 4000)")
    look.settle()
    said = browser.text("#rows")
    check("an accelerator has names", "core 0 node 1 (3)" in said and "accelerator ranks, core 0 · 2 parts" in said, said)
    # its places are no CPUs of a machine
    page = Page(top + "/loom.html")
    host = [cpu["cpu"] for cpu in page.meta["cpus"] if not page.meta["looms"][cpu["loom"]].startswith("loomsim.")]
    keys = browser.run("return view.rows.filter((row) => row.kind === 'cpu').map((row) => row.label)")
    check("rows of CPUs", sorted(keys) == ["CPU %d" % cpu for cpu in sorted(host)] and len(page.meta["cpus"]) > len(host), keys, page.meta["cpus"])
    check("CPUs in the header", re.search(r"· %d (of \d )?CPUs" % len(host), browser.text("#facts")), browser.text("#facts"))
    busy = sum(run.end - run.begin for run in page.runs if not page.meta["threads"][run.thread].get("accelerator"))
    check("busy time of the overview", sum(page.meta["busy"]["ns"]) == busy and busy, sum(page.meta["busy"]["ns"]), busy)
    order = browser.run("return view.rows.filter((row) => row.kind === 'thread').map((row) => !!view.meta.threads[row.id].accelerator)")
    check("accelerators come last", order == sorted(order) and order[-1], order)
    key = browser.run("return view.rows.filter((row) => row.kind === 'thread')[0].key")
    browser.pointer(("move", int(look.x(10)), int(look.row(key)[1])))
    check("an empty row says why", "no event yet, its first run begins at 0.000000400 s" in browser.text("#hover"), key, browser.text("#hover"))
    # as tests/golden/loom_host.sh has the states: 6 from 0 ns, 4 from 500, 3 from 1000, 7 from 2000 to 3000
    for t, words in ((250, "was stalled on output (6) for 500 ns"), (700, "was route (4) for 500 ns"),
                     (1500, "was fire (3) for 1 us, from 0.000001000 s"), (2500, "was error (7) for 1 us")):
        y = look.row(row)[1] + 15
        browser.pointer(("move", int(look.x(t)), int(y)), ("down",), ("up",))
        check("the value at %d ns" % t, words in look.panel() and "Accel: node state of core 0 node 1 (3)" in look.panel(), look.panel())
    check("values differ by colour", len({look.pixel(t, row, 15) for t in (1900, 2950, 3500)}) == 3)
    check("no value after the end", look.pixel(3500, row, 15) == COLOURS["paper"], look.pixel(3500, row, 15))
    look.picture("loom")
    # a counter that is 0 throughout is a line at the bottom; a constant one is a block
    look = Look(browser, "zero")
    for key, drawn in (("t1", False), ("t2", True)):
        colours = [look.pixel(7500000, key, down) for down in (11, 14, 17)]
        check("a counter that is %s" % ("constant" if drawn else "0 throughout"), (COLOURS["paper"] not in colours) == drawn
              and (colours == [COLOURS["paper"]] * 3) != drawn, key, colours)
        check("is a line, too", look.pixel(7500000, key, 18) != COLOURS["paper"])
    check("no errors", not (errors := browser.errors()), errors)


def look_at_details(browser):
    """Interrupts, the owner of a lock with its arrow, a stack, priorities, and the values of a call."""
    look = Look(browser, "details")
    for t, words in ((500000, ["Interrupts took 300 ns of it.", "Priority: SCHED_OTHER nice 0. Allowed CPUs: 0-1."]),
                     (2000000, ["in futex for 3 ms", "owner (2) had the lock.", "Stack: futex_wait <- do_futex",
                                "Priority: SCHED_OTHER nice 0.", "woken by owner (2)"]),
                     (6500000, ["was runnable (preempted)", "Stack: futex_wait <- do_futex"]),
                     (4500000, ["Interrupts took 2 us of it.", "Priority: SCHED_FIFO 50. Allowed CPUs: 0-1."])):
        browser.pointer(("move", int(look.x(t)), int(look.row("t1")[1])))
        said = browser.text("#hover")
        check("details at %d ns" % t, all(word in said for word in words) and said.count("Interrupts") == words[0].count("Interrupts"), said)
    browser.pointer(("move", int(look.x(5500000)), int(look.row("t1")[1]) + 14))
    said = browser.text("#hover")
    check("the values of a call", "partner: 100, tag: 101, " in said and "color: 108" in said and said.endswith("partner: 5"), said)
    # a line for the priority, which changes; none for the CPUs, which do not; the values have no lines
    lines = browser.run("return [1, 2].map((tid) => view.rowOf.get('t' + tid).lines.map((line) => line.type))")
    check("lines of values", lines == [[None, 90], []], lines)
    arrow = look.row("t1")[0] + (look.row("t2")[0] - look.row("t1")[0]) // 2
    before = look.pixel(1000000, "t1", arrow - look.row("t1")[0])
    look.click(2000000, "t1")
    check("an arrow from the owner", look.pixel(1000000, "t1", arrow - look.row("t1")[0]) != before, before)
    look.link("owner (2)")
    check("a click follows to the owner", look.state()["chosenRow"] == "t2", look.state()["chosenRow"])
    look.picture("details")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_waits(browser):
    """The number of threads that wait for a CPU: its time is that of ovni-report, its threads are those of the page."""
    look, page = Look(browser, "turns"), Page(top + "/turns.html")
    end, origin = page.meta["end"], int(page.meta["origin"])
    words = page.meta["uses"]
    waits = [(thread, begin, stop) for thread, use, begin, stop in page.all_stays() if words[use]["state"] in ("runnable", "throttled")]
    random.seed(5)
    for t0, t1 in [(0, end)] + [sorted(random.randint(0, end) for _ in range(2)) for _ in range(3)]:
        truth = sum(int(row["time"]) for row in report(bin_dir, "why", "--from", str(origin + t0), "--to", str(origin + t1), top + "/turns")
                    if row["state"] in ("runnable", "throttled"))
        got = browser.run("return view.sum('runnable', arguments[0], arguments[1]).waiting", t0, t1)
        check("time of waits", got == truth and truth, got, truth)
    for t in (random.randint(0, end) for _ in range(5)):
        browser.run("view.choose({ kind: 'count', begin: arguments[0], end: arguments[0] })", t)
        n = sum(begin <= t < stop for _, begin, stop in waits)
        check("threads that wait at %d" % t, look.panel().startswith("%d thread" % n), n, look.panel())
    # a wait beside the others of its thread, as ovni-report latency has them
    for row in report(bin_dir, "latency", top + "/turns"):
        thread = [t["tid"] for t in page.meta["threads"]].index(row["tid"])
        own = browser.run("""const { model } = view, place = model.byThread.first[arguments[0]] + 20; view.choose({ kind: 'run', place });
            return model.runs.begin[model.byThread.order[place]] - model.wakeOf(place)""", thread)
        lengths = [stop - begin for other, begin, stop in waits if other == thread]
        shorter = sum(length < own for length in lengths) + int(row["waits"]) - len(lengths) # those of no length
        words = "Of the %s waits of the thread %d were shorter (%.1f %%): " % (row["waits"], shorter, 100 * shorter / int(row["waits"]))
        said = look.panel()
        check("a wait beside the others", words in said and own > 0, words, said)
        for key, before in (("wait_avg", ""), ("wait_max", "at most ")):
            found = re.search(before + r"([0-9.]+) (ns|us|ms|s)%s" % (r"\." if before else " on average"), said)
            got = round(float(found.group(1)) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[found.group(2)]) if found else None
            check("%s of the thread" % key, got == int(row[key]), got, row[key], said)
    # the height of the row at a wait of the greatest number, and where no thread waits
    t0, t1 = waits[len(waits) // 2][1:]
    browser.run("view.show(arguments[0], arguments[1])", t0, t1)
    most = browser.run("""view.draw();
        const row = view.rowOf.get('runnable'), y = row.y - view.main.scrollTop, d = view.bars.getContext('2d');
        const list = []; for (let x = 250; x < 240 + view.width - 10; x += 20) {
            const t = view.timeAt(x + 0.5), column = d.getImageData(x, y, 1, row.height).data; let h = 0;
            for (let k = 0; k < row.height; k++) h += column[4 * k + 2] < 60;
            list.push([t, h]); }
        return [list, view.most];""")
    for t, height in most[0]:
        n = sum(begin <= t < stop for _, begin, stop in waits)
        near_change = any(abs(t - edge) < (t1 - t0) / 400 for _, begin, stop in waits for edge in (begin, stop))
        check("height of the count", near_change or abs(height - n / max(1, most[1]) * 28) <= 2, t, n, height, most[1])
    browser.pointer(("move", 700, int(browser.run("return view.rowOf.get('runnable').y + view.bars.getBoundingClientRect().top - view.main.scrollTop + 20"))),
                    ("down",), ("up",))
    check("a click on the count", "for a CPU at" in look.panel() and look.state()["chosenRow"] == "runnable", look.panel())


def look_at_paths(browser):
    """The critical path is that of ovni-report critical; its steps, its rows and its link."""
    random.seed(11)
    compared = hops = 0
    for name in ["path", "turns"] + ["random%d" % i for i in range(1, 7)]:
        look, page = Look(browser, name), Page("%s/%s.html" % (top, name))
        threads, origin = page.meta["threads"], int(page.meta["origin"])
        for thread in random.sample(range(len(threads)), min(4, len(threads))):
            for begin in 0, random.randint(0, page.meta["end"] // 2):
                options = ["--tid", threads[thread]["tid"], "--from", str(origin + begin)]
                truth = [(int(r["from"]), int(r["to"]), r["tid"], r["state"], r["reason"], r["by"])
                         for r in report(bin_dir, "critical", *options, "%s/%s" % (top, name))]
                got = [(begin, end, threads[who]["tid"], *({"use": page.meta["uses"][use]} if use >= 0 else
                        {"use": {"state": "wake-up" if use == -1 else "not recorded", "reason": ""}})["use"].values(),
                        page.name(by) if by >= 0 else "interrupt" if by == -2 else "") for who, begin, end, use, by in browser.run("""
                    const [thread, from] = arguments, life = stayBefore(view.model, thread, Infinity);
                    return criticalPath(view.model, thread, from, life.end).map((s) => [s.thread, s.begin, s.end, s.use, s.by]);""", thread, begin)]
                at = next((i for i, (a, b) in enumerate(zip(got, truth)) if a != b), min(len(got), len(truth)))
                check("%s: the path of %s" % (name, options), got == truth, len(got), len(truth), got[at:at + 2], truth[at:at + 2])
                compared += 1
                hops += sum(a[2] != b[2] for a, b in zip(got, got[1:]))
    check("paths with hops", compared > 40 and hops > 500, compared, hops)
    look = Look(browser, "path")
    rows = lambda: browser.run("return view.rows.filter((row) => row.kind === 'thread').map((row) => row.key)")
    pixel = lambda t, key: look.pixel(t, key, -5)
    every = rows()
    look.click(95000, "t3")
    ran = pixel(95000, "t3")
    browser.keys("c")
    look.settle()
    check("the path to the end of a run", "The critical path to worker (3) from 0.000000000 s to 0.000099000 s" in look.panel()
          and "1 hop to a waker or creator" in look.panel() and "asleep (io) in read(3 = /data/<b>x)" in look.panel(), look.panel())
    check("only its threads have rows", rows() == [key for key in every if key in ("t3", "t4")], rows(), every)
    check("all else is pale", pixel(95000, "t3") == ran and pixel(85000, "t4") == COLOURS["running"] and not near(pixel(95000, "t4"), COLOURS["io"])
          and pixel(60000, "t3") != COLOURS["asleep"], pixel(95000, "t3"), pixel(85000, "t4"), pixel(60000, "t3"))
    browser.keys("N")
    check("N goes to the step before", "▸ 0.000090000" in look.panel() and look.state()["chosenRow"] == "t3", look.panel())
    browser.keys("NN")
    check("and on to the waker's thread", "▸ 0.000080000" in look.panel() and look.state()["chosenRow"] == "t4", look.panel())
    browser.keys("n")
    check("n goes to the next step", "▸ 0.000080040" in look.panel(), look.panel())
    look.picture("path")
    browser.wait(lambda: "path=t3," in browser.run("return location.hash"), 10)
    link = browser.run("return location.hash")
    browser.call("POST", "/url", {"url": "about:blank"})
    browser.call("POST", "/url", {"url": "file://%s/path.html%s" % (top, link)})
    browser.ready()
    look.settle()
    check("a link shows the path", "The critical path to worker (3) from 0.000000000 s to 0.000099000 s" in look.panel(), look.panel())
    browser.keys("\ue00c")
    check("Esc ends it", rows() == every and browser.run("return view.path === undefined"), rows())
    # system calls and creators in the sentences and the search
    for t, key, words in ((60, "t1", "asleep (sleeping) in futex for 99.98 us"), (60000, "t4", "asleep (io) in read(3 = /data/<b>x) for 79.96 us"),
                          (70, "t5", "asleep (sleeping) in epoll_wait(4) for 150.02 us"), (13, "t3", "was runnable (newborn) for 4 ns"), (13, "t3", "It was created by main (1) on CPU 0"),
                          (16, "t1", "Then it slept (sleeping) in futex.")):
        browser.run("view.show(arguments[0] - 10, arguments[0] + 10)", t)
        look.settle()
        look.click(t, key)
        check("the sentence at %d" % t, words in look.panel(), words, look.panel())
    browser.keys("/")
    browser.keys("read(")
    check("the search finds the system call", re.search(r"read\(3 = /data/<b>x\)\s*sleeps in a system call\s*2 sleeps\s*139.95 us", look.panel()), look.panel())
    browser.keys("\ue00c")
    look.link("read(3")
    check("and goes to its longest sleep", "asleep (io) in read(3 = /data/<b>x) for 79.96 us" in look.panel(), look.panel())
    look.browser.run("document.getElementById('search').value = ''")
    browser.keys("/")
    browser.keys("epoll")
    check("the search finds a sleep from the begin on", re.search(r"epoll_wait\(4\)\s*sleeps in a system call\s*1 sleep\s*150.02 us", look.panel()), look.panel())
    browser.keys("\ue003" * 5 + "(") # Backspace
    times = browser.run("return Array.from(document.querySelectorAll('#panel tr'), (row) => row.lastChild.textContent).slice(1)")
    check("the hit of most time stands first", times == ["150.02 us", "139.95 us"], times)
    # the table of the part in sight, of all threads and of the chosen one
    look = Look(browser, "turns")
    browser.run("view.chooseRow('t', 4)")
    browser.keys("v")
    truth, end = {}, Page(top + "/turns.html").meta["end"]
    for row in report(bin_dir, "why", "--tid", "104", top + "/turns"):
        truth[row["state"] + (" (%s)" % row["reason"] if row["reason"] else "")] = (row["times"], int(row["time"]), int(row["max"]))
    tables = browser.run("""return Array.from(document.querySelectorAll('#panel table'), (table) => Array.from(table.rows, (row) => Array.from(row.cells, (cell) => cell.textContent)))""")
    unit = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9}
    ns = lambda text: round(float(text.split()[0]) * unit[text.split()[1]])
    check("two tables", len(tables) == 2 and "turn104" in tables[0][0][0], tables)
    got = {cells[0]: (cells[1], ns(cells[2]), ns(cells[6])) for cells in tables[0][1:]}
    check("the stays of the chosen thread", got == truth and len(truth) > 3, got, truth)
    check("their shares are the whole", abs(sum(float(cells[3][:-2]) for cells in tables[0][1:]) - 100) < 1, tables[0], end)
    x, y = browser.run("""const link = Array.from(document.querySelectorAll('#panel th a')).find((a) => a.textContent.startsWith('runnable: woken'));
        link.scrollIntoView(); const box = link.getBoundingClientRect(); return [box.left + 4, box.top + 5];""")
    browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
    sorted_by = browser.run("""const table = document.querySelectorAll('#panel table')[1], heads = Array.from(table.rows[0].cells, (cell) => cell.textContent);
        const at = heads.findIndex((head) => head.startsWith('runnable: woken'));
        return [heads[at], Array.from(table.rows, (row) => row.cells[at].textContent).slice(2)]""")
    times = [ns(cell) if cell else 0 for cell in sorted_by[1]]
    check("a click on a head sorts", sorted_by[0].endswith("▾") and times == sorted(times, reverse=True) and len(set(times)) > 3, sorted_by)
    look.picture("turns-table")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_rows(browser):
    """Rows and the time by keys, by their names and by the wheel over the axis and the overview; the sentence beside the pointer."""
    look, end = Look(browser, "small"), Page(top + "/small.html").meta["end"]
    ms = 1000000
    row = lambda: look.state()["chosenRow"]
    for keys, want in (("\ue015", "c0"), ("\ue015", "c1"), ("\ue015", "c3"), ("\ue015", "runnable"), ("\ue015", "t7"), ("\ue015", "t8"), ("\ue013", "t7")):
        browser.keys(keys)
        check("arrows go through the rows", row() == want, row(), want)
    browser.run("view.show(arguments[0], arguments[1])", 6.4 * ms, 7.2 * ms)
    browser.keys("\ue007")
    check("Enter selects what is in the middle of the row", "busy (7) ran on CPU 1 for 500 us, from 0.006500000" in look.panel(), look.panel())
    browser.keys("\ue00c")
    check("Esc gives the place of the panel back", browser.run("return document.getElementById('panel').hidden && view.chosen === undefined"))
    x, y = browser.run("""const b = Array.from(document.querySelectorAll('.row')).find((n) => n.textContent.includes('\\\\xe2\\\\x80\\\\xae')).getBoundingClientRect();
        return [b.left + 20, b.top + 8]""")
    browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
    check("a click on a name chooses its row", row() == "t9", row())
    for canvas in "axis", "overview":
        browser.run("view.show(0, view.end)")
        look.settle()
        x, y = browser.run("const b = document.getElementById(arguments[0]).getBoundingClientRect(); return [700, b.top + 10]", canvas)
        at, before = browser.run("return view.timeAt(700)"), look.state()
        browser.wheel(x, int(y), -240)
        look.settle()
        state = look.state()
        check("the wheel over the " + canvas, state["t1"] - state["t0"] < before["t1"] - before["t0"] and
              abs(browser.run("return view.timeAt(700)") - at) < end / 500, state)
    browser.run("view.show(0, view.end)")
    look.settle()
    # z: the wheel scrolls, Shift and wheel zooms; as often again: as before
    shift = lambda down: browser.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
        {"type": "keyDown" if down else "keyUp", "value": "\ue008"}]}]})
    for swapped in True, False:
        browser.keys("z")
        check("z says what the wheel does", ("The wheel scrolls" in look.panel()) == swapped and "Shift" in look.panel(), look.panel())
        for held in False, True:
            browser.run("view.show(0, view.end)")
            look.settle()
            if held:
                shift(True)
            x, y = browser.run("const b = view.bars.getBoundingClientRect(); return [b.left + 700, b.top + 60]")
            browser.wheel(int(x), int(y), -240)
            look.settle()
            if held:
                shift(False)
            zoomed = look.state()["t1"] - look.state()["t0"] < end / 1.1
            check("the wheel zooms", zoomed == (swapped == held), swapped, held, look.state())
    # the frame of the overview: its edges, and its middle
    overview = lambda t: (int(LEFT + t / end * browser.run("return view.width")),
                          int(browser.run("return document.getElementById('overview').getBoundingClientRect().top")) + 25)
    part = lambda: [look.state()[key] / end for key in ("t0", "t1")]
    same = lambda a, b: all(abs(x - y) < 0.005 for x, y in zip(a, b))
    browser.run("view.show(view.end * 0.2, view.end * 0.4)")
    for begin, to, want in ((0.4, 0.7, (0.2, 0.7)), (0.2, 0.5, (0.5, 0.7)), (0.5, 0.9, (0.7, 0.9)), (0.8, 0.4, (0.3, 0.5)), (0.3, 0.1, (0.1, 0.5))):
        browser.pointer(("move", *overview(begin * end)), ("down",), ("move", *overview(to * end)), ("up",))
        look.settle()
        check("a drag in the overview from %s to %s" % (begin, to), same(part(), want), part(), want)
    browser.run("view.show(view.end * 0.5, view.end * 0.502)")
    browser.pointer(("move", *overview(0.5 * end)), ("down",), ("move", *overview(0.3 * end)), ("up",))
    look.settle()
    check("a narrow frame is moved alone", same(part(), (0.299, 0.301)), part())
    browser.run("view.show(0, view.end)")
    look.settle()
    # a wait of a woken thread: who woke it, who ran instead; of a preempted one: who took the CPU; a sleep: who ended it
    for t, words in ((6.2, ("busy (7) was runnable (woken) for 500 us", "It was woken by </script>", " on CPU 0.",
                            "Meanwhile CPU 1, where it ran next, ran no thread of this page")),
                     (2.5, ("runnable (preempted) for 1 ms", "</script><script>", "took its CPU.")),
                     (5, ("asleep (sleeping) for 2 ms", "Then it was woken by </script>"))):
        browser.pointer(("move", int(look.x(t * ms)), int(look.row("t7")[1])))
        said = browser.text("#hover")
        check("the sentence beside the pointer is seen", not browser.run("return document.getElementById('hover').hidden"))
        for part in words:
            check("the sentence at %s ms" % t, part in said, part, said)
    box = browser.run("const b = document.getElementById('hover').getBoundingClientRect(); return [b.left, b.top, innerWidth - b.right, innerHeight - b.bottom]")
    check("it stays inside of the window", min(box) >= 0, box)
    browser.pointer(("move", 100, 400))
    check("and goes with the pointer", browser.run("return document.getElementById('hover').hidden"))
    # more CPUs than fit into the window: closed until a click on their head
    look = Look(browser, "wide")
    cpus = lambda: browser.run("return view.rows.filter((row) => row.kind === 'cpu').length")
    check("many CPUs are closed", cpus() == 0 and "▸ 40 CPUs" in browser.text("#rows"), browser.text("#rows")[:40])
    x, y = browser.run("const b = document.querySelector('.row.head').getBoundingClientRect(); return [b.left + 20, b.top + 8]")
    browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
    check("a click opens them", cpus() == 40, cpus())
    browser.keys("r")
    check("another order leaves them open", cpus() == 40, cpus())
    # calls that are nested deeply leave room for the other threads
    look = Look(browser, "deep")
    rows = browser.run("return view.rows.filter((row) => row.kind === 'thread').map((row) => [row.key, row.height, row.deeper])")
    check("nested calls", sorted(rows) == [["t1", 18 + 40 * 12 + 2, 260], ["t2", 18, 0]], rows)
    browser.pointer(("move", int(look.x(800)), int(look.row("t1")[1] + 15)))
    check("no thread waits", browser.run("return [view.most, view.mostRunnable]") == [0, 0], browser.run("return [view.most, view.mostRunnable]"))
    check("the first depth is there", "depth 0" in browser.text("#hover"), browser.text("#hover"))
    look = Look(browser, "small")
    # on paper: light, 180 mm wide at twice the pixels, findings below; then as before
    look.click(6.7 * ms, "t7")
    browser.run("view.setTheme(true)")
    look.settle()
    shape = """const box = (id) => document.getElementById(id).getBoundingClientRect();
        return [document.body.offsetWidth, view.bars.width, box('findings').top >= box('timeline').bottom && box('legend').top >= box('findings').bottom, view.dark, view.width]"""
    before = browser.run(shape)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    paper = browser.run(shape)
    check("on paper", paper[:4] == [680, 1360, True, False], paper)
    bars = browser.run("""const row = view.rowOf.get('t7'), d = view.bars.getContext('2d');
        return Array.from(d.getImageData(2 * 300, 2 * (row.y - view.main.scrollTop + 9), 1, 1).data).slice(0, 3)""")
    check("running on paper", near(bars, COLOURS["running"]), bars)
    browser.run("dispatchEvent(new Event('afterprint'))")
    look.settle()
    check("and back on the screen", browser.run(shape) == before and before[3], before, browser.run(shape))
    browser.run("view.setTheme(false)")
    # copied: the sentences and the link
    look.click(6.7 * ms, "t7")
    copied = browser.run("""const data = new DataTransfer();
        document.body.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
        return data.getData('text/plain');""")
    check("Ctrl C copies the sentence and the link", "ran on CPU 1 for 500 us" in copied and "small.html" in copied.splitlines()[-1], copied)
    # styles: the browser knows each rule and each property
    wrong_styles = browser.run("""
        const text = document.querySelector('style').textContent.replace(/\\/\\*[^]*?\\*\\//g, '').replace(/@media[^{]*\\{/g, ''), out = [];
        const known = Array.from(document.styleSheets[0].cssRules).flatMap((rule) => rule.style ? [rule] : Array.from(rule.cssRules));
        const written = Array.from(text.matchAll(/([^{}]+)\\{([^{}]*)\\}/g));
        if (written.length !== known.length || known.length < 20) return [written.length + ' rules, known: ' + known.length];
        written.forEach(([, selector, body], i) => body.split(';').map((line) => line.split(':')[0].trim()).filter((name) => name).forEach((name) => {
            if (known[i].style.getPropertyValue(name) === '') out.push(selector.trim() + ' ' + name); }));
        return out;""")
    check("the browser knows all styles", wrong_styles == [], wrong_styles)
    check("no errors", not (errors := browser.errors()), errors)


def look_at_hostile(browser):
    """Text of a trace is text wherever it stands, and 4 KB of it leave the page usable."""
    look = Look(browser, "hostile")
    tags = "header div strong span label input button canvas aside section p a h2 small ol li table tr th td noscript script".split()
    places = []

    def nothing_injected(where):
        found = browser.run("""return [document.title, document.images.length, document.querySelectorAll('script:not([data-kind])').length,
            Array.from(document.body.querySelectorAll('*'), (node) => node.tagName.toLowerCase()),
            Array.from(document.querySelectorAll('*')).flatMap((node) => Array.from(node.attributes, (a) => a.name))
                .filter((name) => /^on|^href$|^src$/.test(name))]""")
        places.append(where)
        check("%s: the title" % where, "HACKED" not in found[0][:6] and "ovni trace" in found[0] and len(found[0]) < 100, found[0])
        check("%s: no image, no further script" % where, found[1:3] == [0, 1], found[1:3])
        check("%s: no element but our own" % where, set(found[3]) <= set(tags), set(found[3]) - set(tags))
        check("%s: no attribute that acts" % where, set(found[4]) <= {"href"} and len(found[4]) <= 1, found[4])
        sizes = browser.run("""const box = (id) => document.getElementById(id).getBoundingClientRect();
            return [document.documentElement.scrollWidth - innerWidth, document.querySelector('header').offsetHeight, box('main').height,
                box('rows').width, document.getElementById('findings').scrollWidth - document.getElementById('findings').clientWidth,
                Math.max(0, ...Array.from(document.querySelectorAll('.row'), (row) => row.offsetHeight - 18))]""")
        check("%s: the page has its shape" % where, sizes[0] <= 0 and sizes[1] < 100 and sizes[2] > 200 and sizes[3] <= 240 and sizes[4] <= 0
              and sizes[5] == 0, sizes)
        said = browser.run("return document.body.innerText")
        check("%s: no character that acts" % where, not re.search("[\\x00-\\x08\\x0b-\\x1f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]",
              said), re.findall("[^ -~\\n\\t]", said)[:20])

    nothing_injected("start")
    check("the name is seen", "<img src=x onerror=alert(1)>&\\xe2\\x80\\xae" in browser.text("#name"), browser.text("#name"))
    keys = browser.run("return view.rows.filter((row) => row.kind === 'thread').map((row) => row.key)")
    check("rows by rank", keys[0] == "n0/t9" and set(keys[1:]) == {"n1/t7", "n1/t8"}, keys)
    row = "n1/t7"
    for where, t, down in (("run", 0.5, 0), ("wait", 2.5, 0), ("sleep", 5, 0), ("call", 1.5, 14), ("value", 1.3, 26), ("counter", 1.6, 38)):
        x, y = int(look.x(t * 1000000)), int(look.row(row)[1] + down)
        browser.pointer(("move", x, y))
        check("%s: beside the pointer" % where, "<script>" in browser.text("#hover"), browser.text("#hover"))
        box = browser.run("const b = document.getElementById('hover').getBoundingClientRect(); return [b.left, b.top, innerWidth - b.right, innerHeight - b.bottom]")
        check("%s: inside of the window" % where, min(box) >= 0, box)
        browser.pointer(("down",), ("up",))
        look.settle()
        nothing_injected(where)
    look.picture("hostile")
    browser.keys("/")
    browser.keys("<script>")
    check("the search finds all", "found" in look.panel() and not look.panel().startswith("0 "), look.panel()[:80])
    nothing_injected("search")
    browser.keys("\ue00c?")
    nothing_injected("help")
    browser.keys("\ue00c")
    for i in range(len(Page(top + "/hostile.html").meta["findings"])):
        browser.keys(str(i + 1))
        look.settle()
        nothing_injected("finding %d" % (i + 1))
    browser.run("view.measure(0, view.end)")
    nothing_injected("measure")
    check("all places", len(places) > 9, places)
    browser.run("location.hash = '#row=<img src=x onerror=alert(1)>&t=1'")
    browser.wait(lambda: "does not have" in look.panel(), 10)
    nothing_injected("link")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_damage(browser):
    look = Look(browser, "cut")
    check("a damaged trace", "THE TRACE IS DAMAGED: the page ends where the damage begins" in browser.text("#state"), browser.text("#state"))
    check("and its part before the damage", look.state()["runs"] > 0 and browser.text("#findings"), look.state())
    browser.errors()
    text = open(top + "/turns.html", encoding="utf-8").read()
    sections = list(re.finditer(r'data-kind="(\w+)">([^<]*)<', text))
    kinds = [s.group(1) for s in sections]
    stays = sections[kinds.index("stays")]
    middle = (stays.start(2) + stays.end(2)) // 2
    with open(top + "/flipped.html", "w", encoding="utf-8") as file:
        file.write(text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1:])
    look = Look(browser, "flipped")
    check("a damaged block", "1 block of the page damaged" in browser.text("#state"), browser.text("#state"))
    check("the other blocks work", look.state()["runs"] == len(Page(top + "/turns.html").runs), look.state()["runs"])
    browser.errors()
    with open(top + "/short.html", "w", encoding="utf-8") as file:
        file.write(text[:(sections[0].start(2) + sections[0].end(2)) // 2])
    browser.open(top + "/short.html")
    browser.wait(lambda: "cannot be read" in browser.text("#state"), 30)
    browser.errors()
    browser.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": "delete window.DecompressionStream"})
    browser.open(top + "/turns.html")
    browser.wait(lambda: "too old" in browser.text("#state"), 30)


def main():
    folder = top + "/browser"
    os.mkdir(folder)
    browser = Browser(folder)
    try:
        look_at_small(browser)
        look_at_gestures(browser)
        look_at_hour(browser)
        look_at_findings(browser)
        look_at_values(browser)
        look_at_details(browser)
        look_at_waits(browser)
        look_at_paths(browser)
        look_at_rows(browser)
        look_at_hostile(browser)
        look_at_damage(browser)
    finally:
        browser.close()
    print("\n".join(wrong) or "the pages are as they should be")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
