#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No damage to a program or library harms ovni-bpf --list, -u and --usdt, which read it in a child process:
# numbers of headers, sections, symbols, notes and unwind tables, and bytes, damaged by tests/fuzz/mutations.py,
# which has the judges. Nor does damage to the debug information, from which locks have their names. Runs the sanitized
# build if there is one. A failure names its seed.
# MUTATIONS=10000 does so many instead of a fixed number; SEED=N begins with another one.
# needs: root
# longer: 200 files, not 60
set -eu
. "$S/tests/fuzz/lib.sh"
bin=$B/bin
[ -n "${BSAN:-}" ] && [ -x "$BSAN/bin/ovni-bpf" ] && bin=$BSAN/bin
make_elf_files "$T/seeds"
for seed in "$T"/seeds/*; do
	mv "$seed" "$T/seeds/elf.$(basename "$seed")"
done
"$bin/ovni-bpf" --dry-run -u "$T/seeds/elf.static:ns::f" -a >"$T/said" 2>&1 || { cat "$T/said"; exit 1; }
# An offset of a version beyond 2 GiB was a fault in this one.
SEED=704938 MUTATIONS=1 "$S/tests/fuzz/mutations.py" "$bin" "$T" "$(printf '%s,' "$T"/seeds/*)" || exit 1
types=$B/tests/unit/elf_data_types
[ -n "${BSAN:-}" ] && [ -x "$BSAN/tests/unit/elf_data_types" ] && types=$BSAN/tests/unit/elf_data_types
MUTATIONS=${MUTATIONS:-$([ "$LONG" ] && echo 200 || echo 60)} ONLY="damaged*" "$types" >"$T/said" 2>&1 || { cat "$T/said"; exit 1; }
MUTATIONS=${MUTATIONS:-$([ "$LONG" ] && echo 200 || echo 60)} RUNS=${RUNS:-1} \
	exec "$S/tests/fuzz/mutations.py" "$bin" "$T" "$(printf '%s,' "$T"/seeds/*)"
