# SPDX-License-Identifier: MIT
"""
pictures: takes the pictures of docs/view.md; see pictures.sh.

    pictures.py FROM TO     FROM has the pages, TO gets view.png, view-NAME.png
"""
import collections
import os
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden"))
from browser import Browser

MOST = 150000 # bytes
# A worker's run that another worker woke, in the middle: its sentence and its wake-ups.
RUN = """
    const { model, meta } = view, { runs, byThread } = model;
    const good = (i) => runs.waker[i] >= 0 && meta.threads[runs.thread[i]].name.startsWith('worker') && runs.latency[i] > 1e5;
    let best = -1;
    for (let i = 0; i < runs.n; i++)
        if (good(i) && (best < 0 || Math.abs(runs.begin[i] - view.end / 2) < Math.abs(runs.begin[best] - view.end / 2)))
            best = i;
    view.show(runs.begin[best] - 5e7, runs.begin[best] + 5e7);
    view.choose({ kind: 'run', place: model.placeOf(best) });"""
PICTURES = (("demo", "view.png", 680, RUN), ("demo", "view-finding.png", 680, "view.findings.jump(0)"),
            ("mpi", "view-mpi.png", 950, ""), ("lossy", "view-lossy.png", 680, ""),
            ("loom", "view-loom.png", 760, "view.show(84e6, 94e6)"),
            ("grid", "view-playback.png", 680, "view.show(80, 200); view.playback.go(142)"))


def pixels(png):
    """Width, height, and the rows of a PNG of 8 bits a channel, as bytes, without its filters."""
    data, at = b"", 8
    width, height, depth, colours = struct.unpack(">IIBB", png[16:26])
    channels = {2: 3, 6: 4}[colours]
    assert depth == 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    data, stride, rows = zlib.decompress(data), width * channels, [bytes(width * channels)]
    for y in range(height):
        kind, row, up = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)]), rows[-1]
        for i in range(stride if kind else 0):
            a, b, c = (row[i - channels], up[i], up[i - channels]) if i >= channels else (0, up[i], 0)
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = row[i] + (0, a, b, (a + b) // 2, near)[kind] & 255
        rows.append(bytes(row))
    return width, height, channels, rows[1:]


def packed(png):
    """The same picture with 256 colours."""
    width, height, channels, rows = pixels(png)
    lines = [[row[i:i + 3] for i in range(0, len(row), channels)] for row in rows]
    count = collections.Counter(colour for line in lines for colour in line)
    similar, cells = collections.Counter(), {} # of colours that are nearly the same, the one of most pixels
    for colour, n in count.most_common():
        cell = bytes(v >> 4 for v in colour)
        cells.setdefault(cell, colour)
        similar[cell] += n
    palette = [cells[cell] for cell, _ in similar.most_common(256)]
    place = {colour: i for i, colour in enumerate(palette)}
    for colour in count:
        if colour not in place:
            place[colour] = min(range(len(palette)), key=lambda i: sum((x - y) ** 2 for x, y in zip(colour, palette[i])))
    body = b"".join(b"\0" + bytes(place[colour] for colour in line) for line in lines)
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)), (b"PLTE", b"".join(palette)),
              (b"IDAT", zlib.compress(body, 9)), (b"IEND", b""))
    return png[:8] + b"".join(struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
                              for kind, part in chunks)


def main(source, target):
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder, "1180,740")
        try:
            for page, name, height, script in PICTURES:
                browser.call("POST", "/window/rect", {"width": 1180, "height": height})
                browser.open("%s/%s.html" % (source, page))
                browser.ready()
                browser.run(script)
                browser.run_async("const done = arguments[0];"
                                  "setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done())), 400);")
                path = os.path.join(target, name)
                browser.screenshot(path)
                with open(path, "rb") as file:
                    png = packed(file.read())
                if len(png) > MOST:
                    sys.exit("%s: %d bytes, more than %d" % (name, len(png), MOST))
                with open(path, "wb") as file:
                    file.write(png)
                print(name, len(png))
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
