#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The page of ovni-view in a real Firefox, headless, from disk: no error of a script or a style and nothing refused by the
# content policy; runs and times equal to ovni-report; the sentence under the pointer, a click, the wheel,
# keys, a link, pixels; hostile names stay text. golden/view_browser has every gesture, in Chromium. VIEW_SHOTS=DIR keeps a picture.
# long: starts a browser
set -eu
if ! command -v firefox-esr >/dev/null; then
	echo "no firefox-esr: the page is not looked at"
	exit 77
fi
cd "$T"
python3 - <<'PYTHON' | python3 "$S/tests/golden/tools_make.py" page
import random
random.seed(3)
events = {tid: ["0 OHx i32:-1 i32:-1 u64:0", "0 OHp u16:1 i32:0"] for tid in range(100, 108)}
asleep, now = {tid: 0 for tid in events}, [10, 20]
for turn in range(4000):
    cpu = now.index(min(now))
    tid = random.choice([tid for tid, since in asleep.items() if since < now[cpu]])
    woken = random.randint(asleep[tid], now[cpu])
    events[tid] += ["%d OHw i32:%d" % (woken, random.choice(list(events))), "%d OAs i32:%d" % (now[cpu], cpu), "%d OHr" % now[cpu]]
    now[cpu] += random.choice((300, 5000, 40000, 900000))
    events[tid].append("%d OHp u16:%d i32:0" % (now[cpu], random.choice((1, 2, 3))))
    asleep[tid] = now[cpu]
    now[cpu] += 1
for tid, lines in events.items():
    name = "<img_src=x_onerror=alert(1)>" if tid == 100 else "t%d" % tid
    print("thread n 1 %d bpf.name=\"%s\"" % (tid, name))
    print("\n".join(lines + ["%d OHe" % max(now)]))
PYTHON
"$B/bin/ovni-view" page
python3 -B "$S/tests/golden/view_firefox.py" "$PWD" "$B/bin" "${VIEW_SHOTS:-}"
