#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every conformance vector of the emulator as one table: its lines, labels and names of
# rows, and its exit status with and without lint. A vector added to the folder is picked up by
# itself.
set -u
"$CONFORMANCE/run-cases" --emu "$B/bin/ovni-emu -q --compat" "$CONFORMANCE/emu"
