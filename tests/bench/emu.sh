#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The emulator on large traces, against plain `cat` of the same bytes: tests/bench/emu.sh BUILD
# [EVENTS [ROUNDS]]. Traces and outputs lie in memory (/dev/shm). Ratios are medians of
# interleaved rounds.
set -eu
cd "$(dirname "$0")/../.."
B=$(realpath "${1:-build}")
T=$(mktemp -d "${SHM:-/dev/shm}/emu-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT
make -s "B=$B" "$B/bin/ovni-emu" "$B/tests/bench/generate"
tests/bench/emu.py "$B" "$T" "${2:-10000000}" "${3:-5}"
