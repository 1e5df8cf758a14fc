#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The pictures of docs/view.md and of the README: pages of ovni-view in a headless Chromium.
#
#   docs/pictures.sh [BUILD [DIR]]    records into DIR (a temporary folder unless given), as root; a DIR with
#                                     recordings is only drawn
set -eu
S=$(cd "$(dirname "$0")/.." && pwd)
B=$(cd "${1:-$S/build}" && pwd)
if [ $# -lt 2 ]; then
	T=$(mktemp -d /tmp/ovni-pictures.XXXXXX)
	trap 'rm -rf "$T"' EXIT
else
	T=$2
	mkdir -p "$T"
fi
cd "$T"
export PATH=$B/bin:$B/tests/workloads:$T:$PATH PYTHONDONTWRITEBYTECODE=1 WORKLOAD_REPORT=/dev/null

if [ ! -d demo ]; then
	mpicc -O2 -o ring "$S/tests/workloads/runtimes/ring.c"
	ovni-bpf -q -o demo -- phases -t 2000
	ovni-bpf -q -o mpi --api mpi -- mpirun --allow-run-as-root --oversubscribe -n 4 ring 300 >/dev/null
	ovni-bpf -q -b 4K -o lossy -- storm -n 8 -l 5000 || [ $? = 3 ]
fi
if [ ! -d loom ]; then
	# a simulator and threads beside it; the cycles of the accelerator, of 50 us, begin with the recording
	gcc -O2 -I "$B/include" -o loomsim "$S/tests/golden/loomsim.c" "$B/libovni-loom.a"
	ovni-bpf -q -o loom -- sh -c 'loomsim run 2000 2 3 & team -n 3 -w 60 -m 20 -r 4; wait'
	ovni-loom import run.trace.bin -o loom --clock-period 50us
fi
if [ ! -d grid ]; then
	# an accelerator of 36 nodes in a chain, there and back on a grid of six by six; the last one is a switch
	gcc -O2 -I "$B/include" -o loomsim "$S/tests/golden/loomsim.c" "$B/libovni-loom.a"
	loomsim grid 400 1 36
	for node in {0..35}; do
		row=$((node / 6)) column=$((node % 6))
		echo "0 $node $((row % 2 ? 5 - column : column)) $row$([ "$node" != 35 ] || echo " 1=34")"
	done >grid.map
	ovni-loom import grid.trace.bin -o grid --map grid.map
fi
for trace in demo mpi lossy loom grid; do
	ovni-view -q "$trace" || [ $? = 3 ]
done
python3 "$S/docs/pictures.py" "$T" "$S/docs"
