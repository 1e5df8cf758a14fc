#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A real bash and a real zsh, on a terminal, complete the functions of a binary after -u BINARY:, the
# names of running sessions, sub-commands and options.
# needs: root
set -u
failed=0
name=complete-$$
sleep 1000 &
"$B/bin/ovni-bpf" session start "$name" -p $! -o "$T/out" || exit 1
stop() {
	kill %1
	"$B/bin/ovni-bpf" session stop "$name" >/dev/null 2>&1
}
trap stop EXIT
ln -s "$B/bin/ovni-emu" app

for shell in bash zsh; do
	command -v $shell >/dev/null || { echo "no $shell: not tried"; continue; }
	cat >lines <<-E
		ovni-bpf -u ./app:emulator_r|emulator_run|emulator_open
		ovni-bpf -u ./app:main,emulator_r|main,emulator_run|
		ovni-bpf --probe=./app:emulator_r|emulator_run|emulator_open
		ovni-bpf session sta|start|doctor
		ovni-bpf session status complete-|$name|
		ovni-bpf --perfe|--perfetto|
		ovni-bpf --counters=task-clock,page-f|task-clock,page-faults|
		ovni-bpf --counters minor|minor-faults|
		ovni-bpf --why=lock,sta|stack|
		ovni-bpf --why=lock,stack=bo|stack=both|
		ovni-bpf --why io,pri|io,prio|
		ovni-bpf --why=|irq|cycles
		ovni-bpf --events=switch,wa|switch,wake|
		ovni-bpf --api mpi-m|mpi-messages|
		ovni-bpf --trig|--trigger|
		ovni-bpf session start x --on-t|--on-trigger|
		ovni-bpf session sa|save|
		ovni-report eff|efficiency|
		ovni-report perf --func|--functions|
		ovni-bpf doctor --js|--json|--rotate
	E
	timeout 500 python3 "$S/tests/live/completion.py" $shell "$B/completion.$shell" "$B/bin" <lines || failed=1
done
exit $failed
