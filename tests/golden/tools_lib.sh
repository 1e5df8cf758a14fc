# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Functions for the tests of the tools, which source this file:
#
#   report ARG...        ovni-report, its messages in $T/said
#   fail TEXT            ends the test with TEXT, $T/got and $T/said
#   make_trace DIR <<E   makes or replaces the trace DIR; tools_make.py describes its input
report() { "$B/bin/ovni-report" "$@" 2>"$T/said"; }
fail() { echo "$1"; cat "$T/got" "$T/said" 2>/dev/null; exit 1; }
make_trace() { rm -rf "${1:?}"; python3 "$S/tests/golden/tools_make.py" "$1"; }
