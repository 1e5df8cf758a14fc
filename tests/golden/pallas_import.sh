#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every archive of the conformance vectors, made by others, becomes a trace that the emulator
# accepts in lint mode, with one ovni event for each of its events, at its time.
set -u
status=0
for vector in "$CONFORMANCE"/pallas/*/; do
	name=$(basename "$vector")
	"$B/bin/ovni-pallas" import "${vector}archive" "$name" 2>err || { cat err; status=1; continue; }
	"$B/bin/ovni-emu" -l "$name" >err 2>&1 || { echo "$name:"; cat err; status=1; }
	# The marks that close open regions at the end are not counted as events.
	"$B/bin/ovni-dump" "$name" | awk '$2 ~ /^OM/ { print $1 }' | sort -n >have
	awk '!/^#/ { print $3 }' "${vector}expected/events.tsv" | sort -n >want
	comm -23 want have | grep . && { echo "$name: events are missing"; status=1; }
done
exit $status
