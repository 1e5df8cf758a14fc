#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Recordings in kernels 6.1 and 6.12, which QEMU boots without KVM: each feature works or is refused
# with a clear sentence, and docs/kernels.md says so. 5.10 is refused. A guest that does not come to its end
# in 340 s, because the machine is busy, is not judged: the test says which, and is skipped.
# needs: early
# long: boots three kernels
set -u
cd "$T" || exit 1

"$S/tests/kernels.sh" "$B" >table 2>log
status=$?
[ $status != 77 ] || { cat table; exit 77; }
[ $status = 0 ] || { grep -a -A 12 '^wrong: \|: wrong: ' log; tail -n 5 log; }
sed -n '/^| feature | 5.10/,/^$/p' "$S/docs/kernels.md" | grep . >documented
diff documented table || { echo "wrong: docs/kernels.md differs from what the guests show"; status=1; }
exit $status
