#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The programs of `make arm64` with qemu-user: unit tests, and golden tests of the emulator, of
# comparisons and of the catalog, print on arm64 what they must print everywhere.
# long: needs the build for arm64, which make check-long makes
#
# Not run here: the unit tests in `slow` (minutes in qemu-user; they repeat random traces), and those
# in `host`, which need more of the machine than qemu-user shows: ldconfig, ldd, /proc/PID/maps,
# openat2 and the name of the process, or that run the programs which they compile.
set -u
slow=' pallas_archive trace_stream trace_trace user_flight user_inherit user_schedules user_state_times user_threads '
host=' elf_data_types probes_libraries probes_symbols trace_write user_output '
golden='compare emu_traces events'

qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { echo "there is no qemu-user"; exit 77; }
[ -e "$B/arm64/sysroot/complete" ] || { echo "there are no libraries for arm64 (make arm64)"; exit 77; }
root=$B/arm64/sysroot run=$T/run

# A build folder whose programs run with QEMU.
mkdir -p "$run"
ln -s "$B/vectors" "$run/vectors"
(cd "$B/arm64" && find bin tests/unit tests/live -type f -executable) >programs
[ "$(grep -c '^bin/' programs)" -ge 15 ] || { echo "the build for arm64 is not complete"; exit 1; }
while read -r program; do
	mkdir -p "$run/${program%/*}"
	printf '#!/bin/sh\nexec %s -L %s -0 "$0" %s "$@"\n' "$qemu" "$root" "$B/arm64/$program" >"$run/$program"
	chmod +x "$run/$program"
done <programs
[[ $("$run/bin/ovni-version") = *aarch64* ]] || { echo "ovni-version does not run on arm64"; exit 1; }

# For unit tests that compile programs and look into them.
tools=$T/tools
mkdir tools
for tool in strip objcopy ld as; do
	ln -s "$(command -v aarch64-linux-gnu-$tool)" tools/$tool
done
printf '#!/bin/sh\nexec aarch64-linux-gnu-gcc --sysroot=%s "$@"\n' "$root" >tools/gcc
chmod +x tools/gcc

wrong=0 passed=0
for test in "$run"/tests/unit/*; do
	name=${test##*/}
	[[ $slow$host = *" $name "* ]] && continue
	mkdir "$T/$name"
	(cd "$T/$name" && T=$PWD B=$run PATH=$tools:$PATH "$test") >"$T/$name.out" 2>&1
	case $? in
	0) passed=$((passed + 1)) ;;
	77) ;;
	*)
		echo "unit/$name on arm64:"
		grep -B 4 -A 2 'ERROR' "$T/$name.out" | tail -n 20
		wrong=1
		;;
	esac
done
echo "$passed unit tests passed"
for name in $golden; do
	mkdir "$T/golden-$name"
	(cd "$T/golden-$name" && T=$PWD B=$run LONG="" "$S/tests/golden/$name.sh") >"$T/$name.out" 2>&1 && continue
	echo "golden/$name on arm64:"
	tail -n 20 "$T/$name.out"
	wrong=1
done
exit $wrong
