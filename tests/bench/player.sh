#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How long reading and ordering an event takes, for 1 to 10,000 streams: player.sh BUILD
# The streams are in memory (/dev/shm), so that no disk is measured.
set -eu
top=/dev/shm
[ -w "$top" ] || top=${TMPDIR:-/tmp}
exec "$1/tests/bench/player" "$top"
