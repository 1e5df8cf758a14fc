# SPDX-License-Identifier: MIT
"""
view_firefox: looks at a page of ovni-view in a headless Firefox; see view_firefox.sh.

    view_firefox.py DIR BIN [PICTURES]     DIR has the trace and the page `page`
"""
import os
import sys
import time

from firefox import Firefox
from view_page import report

top, bin_dir, pictures = sys.argv[1:4]
wrong = []


def check(what, condition, *shown):
    if not condition:
        wrong.append(" ".join([what] + [repr(s) for s in shown]))


def look(browser):
    begin = time.monotonic()
    browser.open(top + "/page.html")
    browser.ready()
    print("ready after %.2f s" % (time.monotonic() - begin))
    settle = "await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));"
    check("runs", browser.run("return view.state().runs") == 4000)
    sums = {}
    for row in report(bin_dir, "why", top + "/page"):
        key = row["state"] + (": " + row["reason"] if row["reason"] else "")
        entry = sums.setdefault(row["thread"], {})
        entry[key] = entry.get(key, 0) + int(row["time"])
    theirs = browser.run("""return Object.fromEntries(view.rows.filter((row) => row.kind === 'thread')
        .map((row) => [row.label, view.sum(row.key, 0, view.end)]));""")
    check("times by state", theirs == sums and len(sums) == 8, theirs, sums)
    # the longest run: its place on the canvas
    x, y, name, ns, pixel = browser.run("""
        const { runs } = view.model, length = (i) => runs.end[i] - runs.begin[i];
        let i = 0;
        for (let k = 1; k < runs.n; k++)
            if (length(k) > length(i))
                i = k;
        view.show(runs.begin[i] - length(i), runs.end[i] + length(i));
        """ + settle + """
        const row = view.rows.find((r) => r.kind === 'thread' && r.id === runs.thread[i]), box = view.bars.getBoundingClientRect();
        const x = 240 + view.width / 2, y = row.y - view.main.scrollTop + 9;
        return [x, y + box.top, row.label, length(i), Array.from(view.bars.getContext('2d').getImageData(x, y, 1, 1).data).slice(0, 3)];""")
    check("the colour of a run", pixel == [0x14, 0xa3, 0x7f], pixel)
    browser.pointer(("move", int(x), int(y)))
    said = browser.text("#hover")
    check("under the pointer", name + " ran on CPU" in said and "for %d us" % (ns // 1000) in said, said, name, ns)
    browser.pointer(("move", int(x), int(y)), ("down",), ("up",))
    check("a click selects", browser.run("return view.chosen && view.chosen.kind") == "run" and name in browser.text("#panel"))
    before = browser.run("return view.t1 - view.t0")
    browser.wheel(int(x), int(y), 200)
    check("the wheel zooms out", browser.run("return view.t1 - view.t0") > 1.1 * before, before)
    browser.keys("ff")
    check("f f shows all", browser.run("return view.t0 <= 0 && view.t1 >= view.end"))
    browser.keys("v")
    check("v is a table", browser.run("return document.querySelector('#panel table:last-child').rows.length") == 10, browser.text("#panel"))
    browser.keys("?")
    check("? lists the keys", browser.run("return !document.getElementById('help').hidden"))
    browser.keys("?")
    browser.run("location.hash = '#t=0.001,0.002&row=t103';" + settle)
    check("a link", browser.run("return [view.t0, view.t1, view.chosenRow]") == [1000000, 2000000, "t103"])
    check("a hostile name is text", browser.run("return document.images.length + document.scripts.length")
          == 1 + browser.run("return document.querySelectorAll('script[data-kind]').length")
          and "<img_src=x_onerror=alert(1)>" in browser.text("#rows"), browser.text("#rows"))
    if pictures:
        os.makedirs(pictures, exist_ok=True)
        browser.screenshot(pictures + "/firefox.png")
    errors = browser.errors()
    check("no errors", not errors, errors)
    browser.run("document.body.append(document.createElement('script')); document.scripts[document.scripts.length - 1].text = '1';")
    end, said = time.monotonic() + 20, ""
    while "ontent-Security-Policy" not in said and time.monotonic() < end:  # it is said a moment later
        said = "\n".join(browser.errors())
    check("a planted script is refused, and that is seen", "ontent-Security-Policy" in said, said)


def main():
    folder = top + "/browser"
    os.mkdir(folder)
    browser = Firefox(folder)
    try:
        look(browser)
    finally:
        browser.close()
    print("\n".join(wrong) or "the page is as it should be")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
