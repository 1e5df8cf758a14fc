#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How many records a second the draining thread takes from the rings of 8, 192 and 512 CPUs:
#
#   tests/bench/many_cpus.sh [BUILD]
#
# One thread plays the kernel side of all CPUs (tests/golden/many_cpus.c). First all records are in the
# rings before the draining thread starts: its own speed. Then each CPU switches 5000 times a second: the
# share of a CPU that draining takes. The producing thread needs a CPU of its own, and on a slow or busy
# machine it comes late: the rate is what it managed. Sizes take turns, three rounds; medians, and the
# lowest and highest. Not measured: transfers between the caches of sockets, which one producer has not.
set -eu
B=$(cd "${1:-build}" && pwd)
T=$(mktemp -d /dev/shm/ovni-bench.XXXXXX)
trap 'rm -rf "$T"' EXIT

for round in 1 2 3; do
	for cpus in 8 192 512; do
		# 2 million records before, 3 seconds of them with the rate
		"$B/tests/golden/many_cpus" "$T/out" $cpus $((2000000 / cpus)) 0 $((16777216 / (cpus > 8 ? 32 : 1))) |
			sed "s/^/speed $round /"
		rm -rf "$T/out"
		"$B/tests/golden/many_cpus" "$T/out" $cpus 15000 5000 2097152 | sed "s/^/rate $round /"
		rm -rf "$T/out"
	done
done >"$T/results"
python3 - "$T/results" <<'E'
import statistics
import sys
runs = {}
for line in open(sys.argv[1], encoding="ascii"):
    kind, _, *words = line.split()
    run = {k: float(v) for k, v in (w.split("=") for w in words)}
    runs.setdefault((int(run["cpus"]), kind), []).append(run)


def spread(values, form):
    return f"{form % statistics.median(values)} ({form % min(values)} to {form % max(values)})"


for (cpus, kind), list_ in sorted(runs.items()):
    assert all(r["repairs"] == r["late"] == 0 for r in list_)
    if kind == "speed":
        print(f"{cpus:4d} CPUs, as fast as it can: {spread([r['ns_per_record'] for r in list_], '%.0f')} ns a record, "
              f"{statistics.median(1e3 / r['ns_per_record'] for r in list_):.2f} M records/s for a core")
    else:
        print(f"{cpus:4d} CPUs x 5000 switches/s:  {spread([r['records'] / r['seconds'] / 1e6 for r in list_], '%.2f')} M "
              f"records/s came, {spread([100 * r['share'] for r in list_], '%.0f')} % of a CPU for the drain, "
              f"{statistics.median(100 * r['writer_s'] / r['seconds'] for r in list_):.0f} % for the rest, "
              f"lost {max(r['lost'] for r in list_):.0f}, fullest ring {100 * max(r['fullest'] for r in list_):.1f} %, "
              f"rings {list_[0]['rings_mib']:.0f} MiB")
E
