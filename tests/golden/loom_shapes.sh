#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Time follows records and scopes, for any shape: an import of runs built to be slow needs a
# fraction of the allowed processor time, and would need many times as much with any linear search.
set -eu
python3 - "$T" <<'END'
import random, struct, sys
random.seed(1)
FIRE, START, DONE, ERROR = 0, 5, 6, 7
MANY = 400000


def record(cycle, kind, node=0, inv=0, arg0=0):
    return struct.pack("<QIQHIBBHII", cycle, 1, inv, 0, node, kind, 0, 0, arg0, 0)


SHAPES = {
    "parts": [record(5 if i % 2 else 3, FIRE, 1, i % 2) for i in range(MANY)],  # each other record restarts
    "codes": [record(0, START)] + [record(i, ERROR, 1, arg0=random.getrandbits(32)) for i in range(MANY)],
    "nested": [record(0, START, inv=i) for i in range(MANY)] +
              [record(2 + i, DONE, inv=MANY - 1 - i) for i in range(MANY)],
}
for name, rows in SHAPES.items():
    with open("%s/%s.bin" % (sys.argv[1], name), "wb") as out:
        out.write(b"LTRC" + struct.pack("<IQ", 1, len(rows)) + b"".join(rows))
END
status=0
for shape in parts codes nested; do
	(ulimit -t 6 && exec "$B/bin/ovni-loom" import "$T/$shape.bin" -o "$T/$shape" --no-keep) 2>"$T/said" || {
		echo "$shape: too slow, or failed:"
		cat "$T/said"
		status=1
	}
done
exit $status
