#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The unit for systemd: `make install` puts it where systemd looks, with the path of the program;
# systemd finds nothing wrong with it, and little that is left to be hardened.
set -eu

make_() { MAKEFLAGS='' make -s -C "$S" B="$B" "$@"; }
make_ prefix="$T/usr" NO_BUILD=1 install
unit=$T/usr/lib/systemd/system/ovni-bpf@.service
[ -e "$unit" ] || { echo "no unit is installed"; exit 1; }
grep -qx "ExecStart=$T/usr/bin/ovni-bpf session run %i \$OVNI_BPF_OPTIONS" "$unit" ||
	{ echo "it does not start the installed program: $(grep ExecStart "$unit")"; exit 1; }
! grep -v '^#' "$unit" | grep -q '@bindir' || { echo "a path is left open"; exit 1; }

# Its capabilities are those in the manual page.
for capability in CAP_BPF CAP_PERFMON CAP_SYS_PTRACE; do
	grep -q "^CapabilityBoundingSet=.*$capability" "$unit" || { echo "without $capability"; exit 1; }
done
! grep -q 'CAP_SYS_ADMIN' "$unit" || { echo "it may do everything"; exit 1; }

# Its options are options.
options=$(sed -n 's/^Environment="OVNI_BPF_OPTIONS=\(.*\)"$/\1/p' "$unit")
# shellcheck disable=SC2086 # words
"$B/bin/ovni-bpf" --dry-run -p 4194304 ${options#-a} >out 2>&1 || status=$?
[ "${status:-0}" = 1 ] && grep -q 'no process 4194304' out ||
	{ echo "its options are not understood: $(cat out)"; exit 1; }

if ! command -v systemd-analyze >/dev/null; then
	echo "no systemd-analyze: the unit is not verified"
	exit 0
fi
cp "$unit" "$T/ovni-bpf@try.service"
systemd-analyze verify --man=no "$T/ovni-bpf@try.service" >"$T/said" 2>&1 ||
	{ cat "$T/said"; exit 1; }
[ ! -s "$T/said" ] || { cat "$T/said"; exit 1; }
systemd-analyze security --offline=yes --threshold=25 "$T/ovni-bpf@try.service" >"$T/said" 2>&1 ||
	{ tail -n 3 "$T/said"; exit 1; }

# A mistake would be found.
sed 's/^ProtectSystem=strict/ProtectSytem=strict/' "$unit" >"$T/ovni-bpf@wrong.service"
systemd-analyze verify --man=no "$T/ovni-bpf@wrong.service" >"$T/said" 2>&1 || true
grep -q ProtectSytem "$T/said" || { echo "systemd-analyze finds nothing"; exit 1; }
