#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every conformance vector for Loom is listed as it stands beside it.
set -u
[ -d "$CONFORMANCE/loom" ] || { echo "no conformance vectors for Loom"; exit 77; }
loom=$B/bin/ovni-loom
status=0 listed=0

for vector in "$CONFORMANCE"/loom/*/; do
	name=$(basename "$vector")
	if ! grep -q '^no trace file' "$vector/expected.txt"; then
		"$loom" dump "$vector" >out 2>err
		sed '/^findings$/,$d' "$vector/expected.txt" >listing
		cmp out listing || { echo "$name: the listing differs"; cat err; status=1; }
		listed=$((listed + 1))
	fi
done
[ $listed -ge 26 ] || { echo "only $listed listings"; status=1; }
exit $status
