#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The page of ovni-report flame --html in a headless Chromium: a click enlarges a frame, Escape ends
# that, the search marks frames and counts each part of their time once; hostile names stay names; no
# error of a script and nothing refused by the content policy. FLAME_SHOTS=DIR keeps pictures.
# long: starts a browser
set -eu
if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
	echo "no chromium or no chromedriver: the page is not looked at"
	exit 77
fi
cd "$T"
python3 "$S/tests/golden/tools_make.py" trace <<'END'
thread n 1 1 bpf.name="</script><script>alert(1)</script>" ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"solve","2":"<img\u0020src=x\u0020onerror=alert(2)>","3":"step"}}}
0 OHx i32:0 i32:-1 u64:0
1000 OM[ i64:1 i32:0
2000 OM[ i64:3 i32:0
4000 OM[ i64:1 i32:0
5000 OM] i64:1 i32:0
6000 OM] i64:3 i32:0
7000 OM] i64:1 i32:0
7500 OM[ i64:2 i32:0
8000 MS[
8900 MS]
9000 OM] i64:2 i32:0
10000 OHe
END
"$B/bin/ovni-report" flame --html trace >page.html
PYTHONPATH="$S/tests/golden" python3 -B - "$T" "${FLAME_SHOTS:-}" <<'END'
import os, sys
from browser import Browser
folder, pictures = sys.argv[1:]
browser = Browser(folder)

def shot(name):
    if pictures:
        browser.screenshot(os.path.join(pictures, name + ".png"))

def widths():
    """Of the frames that are shown, by their names from the top."""
    return browser.run("""return Array.from(document.querySelectorAll('g[data-ns]')).filter(
        (g) => g.getAttribute('display') !== 'none').map((g) => [g.querySelector('text').dataset.name,
        Math.round(g.querySelector('rect').getAttribute('width')), g.querySelector('text').textContent])""")

def click(name, which=0):
    x, y = browser.run("""
        const g = Array.from(document.querySelectorAll('g[data-ns]')).filter(
            (g) => g.querySelector('text').dataset.name === arguments[0])[arguments[1]];
        const box = g.querySelector('rect').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]""", name, which)
    browser.pointer(("move", int(x), int(y)), ("down",), ("up",))

try:
    browser.open(folder + "/page.html")
    thread = "</script><script>alert(1)</script> (1)"
    image = "<img src=x onerror=alert(2)>"
    whole = [["all", 1200], [thread, 1200], [thread, 1200], ["solve", 720], ["step", 480], ["solve", 120], [image, 180],
             ["MPI_Send", 108]]
    assert [frame[:2] for frame in widths()] == whole, widths()
    shot("flame")
    click("step")
    assert [frame[:2] for frame in widths()] == [["all", 1200], [thread, 1200], [thread, 1200], ["solve", 1200],
                                                 ["step", 1200], ["solve", 300]], widths()
    assert browser.text("#about") == "step (Function): 4.000 us, 40.00 %; itself 3.000 us; 1 call", browser.text("#about")
    shot("flame_step")
    browser.keys("\ue00c")
    assert [frame[:2] for frame in widths()] == whole, widths()
    assert [frame[2] for frame in widths()][-1] == "MPI_Send" and widths()[6][2].endswith("…"), widths()
    browser.run("document.querySelector('#search').focus()")
    browser.keys("SOLVE")
    assert browser.text("#found") == "2 frames, 60.00 % of the time", browser.text("#found")
    assert browser.run("return document.querySelectorAll('g.hit').length") == 2
    shot("flame_search")
    assert not browser.errors(), browser.errors()
    browser.run("const s = document.createElement('script'); s.textContent = 'window.evil = 1'; document.body.append(s)")
    assert browser.run("return window.evil") is None and browser.errors(), "the content policy allows another script"
finally:
    browser.close()
END
