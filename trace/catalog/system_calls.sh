#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Writes trace/catalog/system_calls_table.h from the kernel's headers (linux-libc-dev of an x86-64 Debian):
# the numbers of each system call on x86-64, i386 and arm64.
set -eu
cd "$(dirname "$0")"
numbers() { # HEADER [OPTION...]: "name number" of each call
	echo "#include <$1>" | gcc -E -dM "${@:2}" - | awk '
		$1 == "#define" && $2 ~ /^__NR/ { value[$2] = $3 }
		END {
			for (name in value) # __NR_lseek may be defined as __NR3264_lseek
				if (name ~ /^__NR_/) {
					number = value[name] in value ? value[value[name]] : value[name]
					if (number ~ /^[0-9]+$/)
						print substr(name, 6), number
				}
		}'
}
{
	numbers asm/unistd_64.h | sed 's/^/0 /'
	numbers asm/unistd_32.h | sed 's/^/1 /'
	numbers asm-generic/unistd.h -D__BITS_PER_LONG=64 -D__ARCH_WANT_RENAMEAT -D__ARCH_WANT_NEW_STAT \
		-D__ARCH_WANT_SET_GET_RLIMIT -D__ARCH_WANT_TIME32_SYSCALLS -D__ARCH_WANT_SYS_CLONE3 \
		-D__ARCH_WANT_MEMFD_SECRET | sed 's/^/2 /'
} | LC_ALL=C awk '
	$2 !~ /^(syscalls|arch_specific_syscall)$/ { number[$2, $1] = $3; names[$2] = 1 }
	END {
		for (name in names) {
			line = "CALL(" name
			for (table = 0; table < 3; table++)
				line = line ", " ((name, table) in number ? number[name, table] : -1)
			print line ")"
		}
	}' | LC_ALL=C sort >system_calls.new
{
	printf '%s\n' '/* SPDX-License-Identifier: MIT */' \
		"/* Made by system_calls.sh: name, number on x86-64, i386, arm64; -1: it has none. */" \
		'/* clang-format off */'
	cat system_calls.new
	echo '/* clang-format on */'
} >system_calls_table.h
rm system_calls.new
