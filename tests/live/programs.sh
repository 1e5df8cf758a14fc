#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The kernel accepts every program, also the variants for older kernels, and each combination of
# options that changes the loaded code.
# needs: root
# long: tries each option with each target
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

"$B/tests/live/loadall" "$B/bpf/ovni.o" >loaded 2>log || complain "$(tail -n 20 log)"
for program in record_switch record_switch_tracepoint record_switch_cpus record_switch_5_17 sched_waking sched_wakeup \
	summary_switch summary_switch_lazy summary_switch_5_17 take_snapshot probe_entry probe_return probe_point; do
	expect "$program is loaded" grep -qx $program loaded
done

for options in '' '-C 0' '--mode summary' '--events switch' '--events fork,exit' '--events rename' \
	'--mode summary --events switch,wake -C 0' '--sample 1/3' '--no-kthreads --no-self' "--comm a*" "--comm a* -C 0" '-b 4K'; do
	for target in -a "-p $$" "-t $$"; do
		# shellcheck disable=SC2086 # words
		"$RECORDER" $target $options --dry-run >plan 2>&1 ||
			complain "$target $options: $(cat plan)"
	done
done
finish
