#!/bin/bash
# SPDX-License-Identifier: MIT
#
# 20,000 threads, all alive at once: a flight recorder saves a stream for each, with its name.
# needs: root alone
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

needs_room_for_threads 24000 ovni-threads
trap 'rm -rf "$shm"' EXIT
record flight command --last 60s,512M -o "$shm/flight" -- threads -n 20000 -s 1
judge "$shm/flight/0001"
expect "each has a stream" [ "$(find "$shm" -name stream.json | wc -l)" = 20001 ]
expect "each has its name" [ "$(find "$shm" -name stream.json -exec grep -ohE '"thr-[0-9]+"' {} + |
	sort -u | wc -l)" = 20000 ]
expect "nothing is lost" grep -q ' lost=0 ' flight.log
finish
