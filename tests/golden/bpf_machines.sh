#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The programs compile for the other machine that they know, too.
set -u
cd "$S" || exit 1
command -v clang >/dev/null || { echo "there is no clang"; exit 77; }
wrong=0
for source in bpf/*.bpf.c bpf/why/*.bpf.c bpf/job/*.bpf.c; do
	clang -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_arm64 -I. -Ivmlinux \
		-idirafter "/usr/include/$(gcc -print-multiarch)" -Wall -Werror -c -o "$T/object" "$source" ||
		wrong=$((wrong + 1))
done
exit $((wrong > 0))
