#!/bin/bash
# SPDX-License-Identifier: MIT
#
# How wrong ovni-sync is: rounds with two processes in time namespaces whose true offsets are
# known, each row with the error, the deviation that the table states, and whether the error is
# at most 1 us or three deviations.
#
#   tests/bench/sync.sh BUILD      knobs: ROUNDS=5
set -u
cd "$(dirname "$0")/../.." || exit 1
sync=$(realpath "${1:-build}")/bin/ovni-sync
ROUNDS=${ROUNDS:-5}
command -v mpirun >/dev/null && [ -x "$sync" ] || { echo "bench: no MPI here"; exit 0; }
unshare -T --monotonic 1 --uts --fork true 2>/dev/null || { echo "bench: no time namespaces here"; exit 0; }
D=$(mktemp -d "${TMPDIR:-/tmp}/ovni-sync.XXXXXX") || exit 1
trap 'rm -rf "$D"' EXIT
printf '%8s %12s %12s   %s\n' 'true s' 'error ns' 'deviation' 'at most 1 us or 3 deviations'
for ((i = 1; i <= ROUNDS; i++)); do
	ahead=$((i * 1000))
	# shellcheck disable=SC2016 # the words are for the shell that it starts
	mpirun --allow-run-as-root --oversubscribe -n 1 "$sync" -o "$D/table" : \
		-n 1 unshare -T --monotonic $ahead --uts --fork sh -c 'hostname other && exec "$0"' "$sync" || exit 1
	awk -v ahead=$ahead '$2 == "other" {
		error = $3 + ahead * 1e9
		if (error < 0) error = -error
		most = 3 * $5 > 1000 ? 3 * $5 : 1000
		printf "%8d %12d %12.1f   %s\n", -ahead, error, $5, error <= most ? "met" : "MISSED"
	}' "$D/table"
done
