#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Dump, top and sort have the same output as the reference on all conformance vectors.
set -eu
python3 "$CONFORMANCE/run-cases" --sort "$B/bin/ovni-sort" --dump "$B/bin/ovni-dump" \
	--top "$B/bin/ovni-top" "$CONFORMANCE/emu"
