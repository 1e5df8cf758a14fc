#!/bin/bash
# SPDX-License-Identifier: MIT
#
# CPPFLAGS, CFLAGS and LDFLAGS from outside, by the command line or the environment, reach each
# compiler call after our own flags, so that they win; and ours stay. Nothing is built.
set -eu

commands() { # VARIABLE=VALUE...: what a complete build would run, one command a line
	env -u CFLAGS -u CPPFLAGS -u LDFLAGS MAKEFLAGS='' "${in_environment[@]}" \
		make -nB -C "$S" V=1 B="$T/build" "$@" all >commands
	grep -- ' -std=gnu11 .* -c -o ' commands >compiles || true
	grep -- ' -pie .* -o [^ ]*/bin/' commands >links || true
	[ "$(wc -l <compiles)" -gt 200 ] && [ "$(wc -l <links)" -gt 10 ] || { echo "which commands?"; exit 1; }
}
every() { # FILE PATTERN: stands in all lines of FILE
	! grep -vE -- "$2" "$1" || { echo "$how: not $2 in these of $1"; exit 1; }
}

for how in 'the command line' 'the environment'; do
	flags=('CPPFLAGS=-DFROM_OUTSIDE' 'CFLAGS=-O0 -fcf-protection' 'LDFLAGS=-Wl,-z,ibt')
	if [ "$how" = 'the environment' ]; then
		in_environment=("${flags[@]}")
		commands
	else
		in_environment=(A=)
		commands "${flags[@]}"
	fi
	every compiles ' -D_GNU_SOURCE .* -DDATADIR=.* -DFROM_OUTSIDE .* -O[23] .* -fPI[EC] .* -O0 -fcf-protection '
	every links ' -pie .*relro.* -Wl,-z,ibt '
done

# Some files have flags of their own, which stay, too.
grep -q -- "-Wa,-I$T/build .*page_source\.o" compiles || { echo "no -Wa,-I for the page"; exit 1; }
grep -q -- ' -O3 .*emu/emulator\.o' compiles || { echo "no -O3 for the emulator"; exit 1; }
