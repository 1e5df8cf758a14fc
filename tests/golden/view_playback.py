# SPDX-License-Identifier: MIT
"""
view_playback: the nodes of an accelerator in a page of ovni-view, in a headless Chromium; see view_playback.sh.

    view_playback.py DIR BIN VECTORS [PICTURES]     DIR has the pages and the mappings
"""
import json
import os
import subprocess
import sys

from browser import Browser

PERIOD = 10 # ns of a cycle
top, bin_dir, vectors, pictures = sys.argv[1:5]
COLOURS = {"idle": "#c3cad3", "fire": "#14a37f", "route": "#3b8fd6", "stall_in": "#4b2380", "stall_out": "#f2a900",
           "error": "#7a0033", "outside": "#f3f5f7"}
DARK = {"idle": "#4a525d", "fire": "#2fc79a", "route": "#58aef0", "stall_in": "#7d4fd6", "stall_out": "#ffc233",
        "error": "#c2274f", "outside": "#1d2228"}
WORDS = {"outside": "outside invocation", "stall_in": "stalled on input", "stall_out": "stalled on output"}
wrong = []


def check(what, condition, *shown):
    if not condition:
        wrong.append(" ".join([what] + [repr(s) for s in shown]))


class Truth:
    """The states of the nodes of a vector, as its author wrote them down."""

    def __init__(self, name):
        self.states = {} # (core, node): [(begin, end, state)] in cycles
        nodes = False
        for line in open("%s/%s/expected-states.txt" % (vectors, name)):
            fields = line.split()
            if not line.startswith(" "):
                nodes = line.startswith("node states")
            elif nodes:
                self.states.setdefault((int(fields[0]), int(fields[1])), []).append((int(fields[2]), int(fields[3]), fields[4]))

    def at(self, cycle):
        return {key: next((state for begin, end, state in spans if begin <= cycle < end), "outside") for key, spans in self.states.items()}

    def changes(self):
        """Cycles where the state of a node changes."""
        return sorted({cycle for spans in self.states.values() for begin, end, _ in spans for cycle in (begin, end)})


class Look:
    def __init__(self, browser, name):
        self.browser = browser
        browser.open("%s/%s.html" % (top, name))
        browser.ready()

    def settle(self):
        self.browser.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")

    def click(self, selector, *arguments):
        """Clicks the middle of the node that an expression gives."""
        x, y = self.browser.run("const node = %s; node.scrollIntoView({block: 'nearest'}); const b = node.getBoundingClientRect();"
                                " return [b.left + b.width / 2, b.top + b.height / 2]" % selector, *arguments)
        self.browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
        self.settle()

    def go(self, cycle):
        self.browser.run("view.playback.go(arguments[0])", int((cycle + 0.5) * PERIOD))
        self.settle()

    def cells(self):
        """(core, node): what the user sees of it."""
        found = self.browser.run("""return view.playback.nodes.map((node) => { const b = node.cell.getBoundingClientRect();
            return [node.core, node.node, getComputedStyle(node.cell).backgroundColor, node.cell.title, b.left, b.top, b.width, b.height, node.cell.textContent]; })""")
        return {(core, node): rest for core, node, *rest in found}

    def picture(self, name):
        if pictures:
            os.makedirs(pictures, exist_ok=True)
            self.settle()
            self.browser.screenshot("%s/%s.png" % (pictures, name))


def rgb(colour):
    return "rgb(%d, %d, %d)" % tuple(int(colour[i:i + 2], 16) for i in (1, 3, 5))


def compare(look, truth, cycle, colours, where):
    """Colours, words and numbers of the panel at a cycle."""
    cells, want = look.cells(), truth.at(cycle)
    check(where + ": nodes", sorted(cells) == sorted(want), sorted(cells), sorted(want))
    for key, state in want.items():
        background, title = cells[key][:2]
        check("%s: colour of %s in cycle %d" % (where, key, cycle), background == rgb(colours[state]), background, state, rgb(colours[state]))
        check("%s: words of %s in cycle %d" % (where, key, cycle), title.endswith(": " + WORDS.get(state, state)), title, state)
    said = look.browser.run("return Array.from(document.querySelectorAll('#playback p:nth-of-type(2) > span'), (node) => node.textContent)")
    names = list(want.values())
    check("%s: numbers in cycle %d" % (where, cycle), sorted(said) == sorted("%d %s" % (names.count(s), WORDS.get(s, s)) for s in set(names)), said, names)


def look_at_states(browser):
    """All states of the vector with all kinds, in the middle of each cycle before and after a change; places of a mapping."""
    look, truth = Look(browser, "mapped"), Truth("spec-all-kinds")
    check("hidden at first", browser.run("return document.getElementById('playback').hidden"))
    browser.keys("g")
    check("g shows the panel in place of the findings", browser.run(
        "return !document.getElementById('playback').hidden && document.getElementById('findings').hidden"))
    end = truth.changes()[-1]
    cycles = sorted({cycle + by for cycle in truth.changes() for by in (-1, 0) if 0 <= cycle + by < end})
    seen = set()
    for cycle in cycles:
        look.go(cycle)
        compare(look, truth, cycle, COLOURS, "light")
        seen |= set(truth.at(cycle).values())
    check("all states were seen", seen == set(COLOURS), seen)
    # in the dark, too
    look.go(8)
    browser.run("view.setTheme(true)")
    look.settle()
    compare(look, truth, 8, DARK, "dark")
    browser.run("view.setTheme(false)")
    # places: of the mapping -1 -2, 1 -2, -1 0 in core 0; cells do not overlap
    at = look.cells()
    (x1, y1, w, h), (x2, y2), (x3, y3) = at[0, 1][2:6], at[0, 2][2:4], at[0, 9][2:4]
    check("places of a mapping", y1 == y2 < y3 and x1 == x3 < x2 and abs(w - h) < 1.5 and abs(x2 - x1 - w / 0.94) < 1.5 and abs(y3 - y1 - h / 0.94) < 1.5, at)
    check("the number stands in the cell", at[0, 9][6] == "9", at[0, 9])
    said = browser.text("#playback")
    check("it says so", "accelerator all, core 0places of the mapping1" in said and "accelerator all, core 1no mapping: the nodes by number1" in said, said)
    # sums by steps: the cycles of ovni-loom stats, from the records
    browser.run("view.playback.go(0)")
    look.settle()
    found, visited = {}, [0]
    while visited[-1] < end * PERIOD and len(visited) < 500:
        states = browser.run("return view.playback.nodes.map((node) => [node.core, node.node, node.state])")
        browser.keys(".")
        look.settle()
        visited.append(browser.run("return Math.floor(view.playback.at)"))
        for core, node, state in states:
            found.setdefault((core, node), {}).setdefault(state, 0)
            found[core, node][state] += visited[-1] - visited[-2]
    check("steps are at the changes", {cycle * PERIOD for cycle in truth.changes()} <= set(visited) and visited == sorted(set(visited)), visited)
    out = subprocess.run([bin_dir + "/ovni-loom", "stats", "--json", "--perf", "-", vectors + "/spec-all-kinds/run.trace.bin"], capture_output=True, text=True)
    rows = [row for row in json.loads(out.stdout)["rows"] if row.get("hw_node_id") is not None]
    sums = {}
    for row in rows:
        total = sums.setdefault((row["core_id"], row["hw_node_id"]), [0, 0, 0])
        for i, name in enumerate(("active_cycles", "stall_cycles_in", "stall_cycles_out")):
            total[i] += row["records"][name] or 0
    got = {key: [(by.get(3, 0) + by.get(4, 0)) // PERIOD, by.get(5, 0) // PERIOD, by.get(6, 0) // PERIOD] for key, by in found.items()}
    check("cycles by state as ovni-loom stats has them", got == {**{key: [0, 0, 0] for key in got}, **sums} and any(map(sum, sums.values())), got, sums)
    # back again: a step backwards is at each change, too
    browser.keys(",,")
    look.settle()
    check("two steps back", browser.run("return view.playback.at") == visited[-3], visited[-3:])
    look.picture("playback-states")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_playhead(browser):
    """The playhead in the timeline and the panel follow each other; play, pause, speed, slider, a cell, the link."""
    look = Look(browser, "routes")
    check("a button", "accelerator" in browser.text("#tools"), browser.text("#tools"))
    look.click("Array.from(document.querySelectorAll('#tools button')).find((node) => node.textContent === 'accelerator')")
    check("the button shows the panel", not browser.run("return document.getElementById('playback').hidden"))
    browser.keys("?")
    check("the help has its keys", "previous and next change of a node" in browser.text("#help"), browser.text("#help"))
    browser.keys("?")
    line = lambda: browser.run("""view.draw(); const y = view.height - 3, d = view.bars.getContext('2d');
        return Array.from({length: Math.floor(view.width) - 2}, (_, k) => k + 241).filter((x) => { const [r, g, b] = d.getImageData(x, y, 1, 1).data; return r < 110 && g < 110 && b < 120; })""")
    for t in (35, 95, 140):
        browser.run("view.playback.go(arguments[0])", t)
        look.settle()
        x = browser.run("return view.xOf(arguments[0])", t)
        check("the line of the playhead", line() and all(abs(at - x) <= 2 for at in line()), line(), x)
    # a click in the timeline moves the playhead
    box = browser.run("const b = view.axisCanvas.getBoundingClientRect(); return [b.left, b.top]")
    x = browser.run("return view.xOf(77)")
    browser.pointer(("move", int(box[0] + x), int(box[1] + 10)), ("down",), ("up",))
    look.settle()
    check("a click on the axis moves it", abs(browser.run("return view.playback.at") - 77) < 2, browser.run("return view.playback.at"))
    check("and the slider", abs(browser.run("return Number(view.playback.slider.value)") - 77) < 2)
    x, y = browser.run("const row = view.rows.find((r) => r.kind === 'thread'), b = view.bars.getBoundingClientRect(); return [view.xOf(55) + b.left, row.y + 9 + b.top]")
    browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
    look.settle()
    check("a click on a row moves it", abs(browser.run("return view.playback.at") - 55) < 2, browser.run("return view.playback.at"))
    # the slider by keys; a playhead out of sight takes the timeline along
    browser.run("view.show(40, 60); view.playback.slider.focus()")
    browser.keys("\ue010") # End
    look.settle()
    state = browser.run("return [view.playback.at, view.t0, view.t1, view.playback.end]")
    check("the slider moves the playhead", state[0] == state[3], state)
    check("the timeline follows", state[1] <= state[0] <= state[2] and abs(state[2] - state[1] - 20) < 1, state)
    # a cell selects its row
    look.click("view.playback.nodes.find((node) => node.core === 1 && node.node === 6).cell")
    row = browser.run("return view.meta.threads[view.rowOf.get(view.chosenRow).id]")
    check("a click on a cell selects its row", (row["core"], row["node"]) == (1, 6), row)
    check("and frames the cell", browser.run("return Array.from(document.querySelectorAll('.grid .chosen'), (node) => node.textContent)") == ["6"])
    # plays: × 8 in the part in sight, from the begin to the end, and stops
    browser.run("view.show(0, 230); view.playback.go(0); view.playback.speed.value = 8")
    browser.keys(" ")
    check("Space plays", browser.run("return view.playback.playing && view.playback.player.textContent") == "❚❚")
    browser.wait(lambda: 0 < browser.run("return view.playback.at") < 200, 10)
    browser.keys(" ")
    at = browser.run("return [view.playback.playing, view.playback.at]")
    look.settle()
    check("Space pauses", at == [False, browser.run("return view.playback.at")], at)
    browser.keys(" ")
    browser.wait(lambda: not browser.run("return view.playback.playing"), 20)
    check("it stops at the end", browser.run("return view.playback.at === view.playback.end"))
    # time per second: × 1 is the part in sight in 10 s
    times = browser.run_async("""const done = arguments[0], list = []; view.show(0, 230); view.playback.speed.value = 2; view.playback.go(0); view.playback.play(true);
        const look = (now) => { list.push([now, view.playback.at]); if (list.length < 30) requestAnimationFrame(look); else { view.playback.play(false); done(list); } };
        requestAnimationFrame(look);""")
    (a, b), (c, d) = times[5], times[-1]
    rate = (d - b) / (c - a) * 1000
    check("the speed", abs(rate / 46 - 1) < 0.15, rate)
    # the link
    browser.run("view.playback.go(65)")
    browser.wait(lambda: "play=0.000000065" in browser.run("return location.hash"), 10)
    link = browser.run("return location.hash")
    browser.call("POST", "/url", {"url": "about:blank"})
    browser.call("POST", "/url", {"url": "file://%s/routes.html%s" % (top, link)})
    browser.ready()
    look.settle()
    check("a link shows the panel at its time", browser.run("return [document.getElementById('playback').hidden, view.playback.at]") == [False, 65],
          browser.run("return view.playback.at"))
    browser.keys("g")
    check("g hides it", browser.run("return document.getElementById('playback').hidden"))
    check("no errors", not (errors := browser.errors()), errors)


def look_at_routes(browser):
    """Arrows from the drivers of routed inputs, in the cycles of the records; numbers and order without a mapping."""
    look, truth = Look(browser, "routes"), Truth("multi-core")
    arrow = lambda core, a, b: browser.run("""
        const { nodes, arrows } = view.playback.cores.find(({ nodes }) => nodes[0].core === arguments[0]), ratio = arrows.width / arrows.clientWidth;
        const [x, y] = ['Left', 'Top'].map((side) => [arguments[1], arguments[2]].map((id) => nodes.find(({ node }) => node === id).cell)
            .reduce((sum, cell) => sum + cell['offset' + side] + cell[side === 'Left' ? 'offsetWidth' : 'offsetHeight'] / 2, 0) / 2 * ratio);
        return arrows.getContext('2d').getImageData(x - 1, y - 1, 3, 3).data.some((v, i) => i % 4 === 3 && v > 100);""", core, a, b)
    drawn = 0
    for cycle in range(0, 23):
        look.go(cycle)
        compare(look, truth, cycle, COLOURS, "routes")
        route = truth.at(cycle)[0, 2] == "route"
        check("an arrow in cycle %d" % cycle, arrow(0, 3, 2) == route, route)
        drawn += route
    check("arrows were seen", 0 < drawn < 22, drawn)
    look.go(7)
    look.picture("playback-routes")
    said, at = browser.text("#playback"), look.cells()
    look = Look(browser, "unmapped")
    browser.keys("g")
    look.settle()
    check("nodes without a place follow below", "core 1places of the mapping; below them 3 nodes without one" in said
          and all(at[1, node][3] > at[1, 6][3] + at[1, 6][5] for node in (3, 4, 5)), said, at)
    said, at = browser.text("#playback"), look.cells()
    check("without a mapping it says so", "no mapping: the nodes by number" in said, said)
    for core in {key[0] for key in at}:
        keys = sorted(key for key in at if key[0] == core)
        side = next(n for n in range(99) if n * n >= len(keys))
        left, above, w, h = at[keys[0]][2:6]
        places = [(round((at[key][2] - left) / w * 0.94), round((at[key][3] - above) / h * 0.94)) for key in keys]
        check("nodes by number in a square", places == [(i % side, i // side) for i in range(len(keys))], core, places)
    look.picture("playback-unmapped")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_layout(browser):
    """The layout of upstream's viewer: components by name, several nodes of one component share its place."""
    look = Look(browser, "layout")
    browser.keys("g")
    look.settle()
    at = look.cells()
    at = {node: rest for (_, node), rest in at.items()}
    check("several nodes of one component", at[4][3] == at[5][3] and abs(at[4][2] + at[4][4] / 0.94 - at[5][2]) < 1 and abs(at[4][5] - 2 * at[4][4]) < 2, at)
    check("places by name", at[0][2] < at[1][2] < at[2][2] and at[1][3] < at[2][3], at)
    check("inputs by port", browser.run("return view.playback.nodes.find(({ node }) => node === 2).inputs") == [{"input": 0, "from": 1}],
          browser.run("return view.playback.nodes.map(({ node, inputs }) => [node, inputs])"))
    look.picture("playback-layout")
    check("no errors", not (errors := browser.errors()), errors)


def look_at_hostile(browser):
    """Damaged metadata and names that look like HTML: the page works, and nothing of them acts."""
    look = Look(browser, "hostile")
    browser.keys("g")
    look.settle()
    at = look.cells()
    check("nodes of a hostile trace", len(at) > 3 and all(w >= 1 and h >= 1 for *_, w, h, _ in at.values()), at)
    for cycle in 0, 5, 9:
        look.go(cycle)
    places = browser.run("return view.meta.threads.map(({ x, y, inputs }) => [x, y, inputs ? inputs.length : 0])")
    check("coordinates have limits", all(abs(v or 0) <= 1000000 for x, y, _ in places for v in (x, y)), places)
    check("inputs have limits", all(n <= 256 for *_, n in places) and max(n for *_, n in places) == 256, places)
    check("names are text", browser.run("return [document.images.length, document.querySelectorAll('script:not([data-kind])').length]") == [0, 1]
          and "<script>" in browser.run("return view.playback.nodes.map(({ cell }) => cell.title).join()"))
    look.picture("playback-hostile")
    check("no errors", not (errors := browser.errors()), errors)
    look = Look(browser, "plain")
    browser.keys("g .,")
    check("a page without an accelerator has none of it", browser.run("""return [view.playback === undefined, document.getElementById('playback') === null,
        document.querySelector('#tools').textContent.includes('accelerator'), view.state().t0 === 0]""") == [True, True, False, True])
    browser.keys("?")
    check("nor in the help", "change of a node" not in browser.text("#help"))


def main():
    folder = top + "/browser"
    os.mkdir(folder)
    browser = Browser(folder)
    try:
        look_at_states(browser)
        look_at_playhead(browser)
        look_at_routes(browser)
        look_at_layout(browser)
        look_at_hostile(browser)
    finally:
        browser.close()
        print("\n".join(wrong[:40]))
    print("" if wrong else "the nodes are where and what they should be")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
