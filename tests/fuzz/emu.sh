#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The emulator on random traces: valid ones, whose output must be the same for every -j,
# compressed or not, and but for our own lines with --compat; and damaged ones (those, and
# conformance vectors), which end with status 0, 1 or 3, at most one
# error message, and never a crash. Runs the sanitized build if there is one, for
# FUZZ_SECONDS; a failure names its seed (SEED=N repeats it).
# longer: for 30 seconds, not 3
set -eu
bin=$B/bin/ovni-emu
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-emu" ] && bin=$BSAN/bin/ovni-emu
exec "$S/tests/fuzz/emu.py" "$bin" "$T" "$FUZZ_SECONDS" "$CONFORMANCE/emu"
