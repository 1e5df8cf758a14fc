#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every conformance vector for Loom is listed as it stands beside it, and gets the findings (severity and
# rule, each as often), the verdict and the metrics that stand there, with the exit status that follows.
set -u
loom=$B/bin/ovni-loom
status=0

expect() { # STATUS PATTERN COMMAND...: both hold
	local wanted=$1 pattern=$2 got=0
	shift 2
	"$loom" "$@" >out 2>err || got=$?
	[ $got = "$wanted" ] && grep -qx "$pattern" out && return
	echo "ovni-loom $*: status $got, not $wanted, or no '$pattern'"
	cat out err
	status=1
}

"$S/tests/golden/loom_vectors.py" "$loom" "$CONFORMANCE/loom" || status=1
v=$CONFORMANCE/loom
# The options of the vectors.
expect 0 'verdict valid' check --declare-kinds NODE_FIRE "$v/filtered-kind"
expect 0 '  notice O8 .*' check --declare-kinds fire "$v/filtered-kind"
expect 0 'verdict valid' check --chain "$v/multi-epoch"
expect 0 '  notice O1 .*chained to 14' check --chain "$v/multi-epoch"
expect 1 'verdict valid with warnings' check --strict "$v/multi-core"
# O7: the same records in another layout are the same; another order is not.
expect 0 'verdict valid' check --same-as "$v/layout-natural48" "$v/single-core"
expect 1 '  error O7 .* record 12 .*' check --same-as "$v/bad-order" "$v/single-core"
expect 1 '  error O7 .*first 24 are equal' check --same-as "$v/layout-ambiguous-size" "$v/single-core"
# Joined statistics are not attributable, those of each core are.
expect 0 'verdict valid with warnings' check --perf "$v/multi-core/run.perf.json" "$v/multi-core/run.trace.bin"
# Drops are declared, and have their exit status.
expect 3 'declared seen 47 written 27 filtered 5 sampled_out 13 dropped 2 (CONFIG_WRITE 1, INVOCATION_START 1)' \
	dump "$v/spec-sampled-drops"
expect 3 'events: seen 47 written 27 filtered 5 sampled_out 13 dropped 2' stats "$v/spec-sampled-drops"
# Both sides agree to the last counter, and where they do not it is marked.
expect 0 'records and statistics: 44 counters compared, 0 differ' stats "$v/spec-all-kinds"
expect 0 'records and statistics: .* counters compared, 1 differ' stats "$v/unknown-kind"
expect 0 'announced metrics: 21, of which 1 do not .*' stats "$v/bad-perf-ratio"
# Filters and sampling account for every record.
expect 0 'seen 25 written 4 filtered 21 sampled_out 0 dropped 0' dump --kinds NODE_FIRE "$v/single-core"
expect 0 'seen 25 written 2 filtered 21 sampled_out 2 dropped 0' dump --kinds fire --sample 1/2 "$v/single-core"
expect 0 'seen 59 written 24 filtered 35 sampled_out 0 dropped 0' dump --cores 1 --nodes 1:3,1:5,1:6 "$v/multi-core"
expect 0 'seen 25 written 1 filtered 24 sampled_out 0 dropped 0' dump --cycles 18-18 "$v/single-core"
exit $status
