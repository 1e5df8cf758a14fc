#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Loom runs: written, listed, checked, imported, exported. Time and peak memory of each, against
# `cat` of the bytes that it has to read and write. Runs are made by tests/golden/loomsim.c.
#
#   tests/bench/loom.sh BUILD [RECORDS]
set -eu
cd "$(dirname "$0")/../.."
B=${1:-build}
[ $# -eq 0 ] || shift
exec python3 tests/bench/loom.py "$B" "$@"
