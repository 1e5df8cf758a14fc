#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The libraries that our programs need on another machine, from Debian's archive:
#
#   tests/sysroot.sh FOLDER ARCH      ARCH: Debian's name, such as arm64
#
# FOLDER is afterwards a --sysroot of a cross compiler, and the folder in which qemu-user looks for
# libraries (-L). Needs the network, not root. Nothing happens if FOLDER is complete. Status 1: the
# packages cannot be fetched; the last line says why.
set -u
# shellcheck source=tests/own_apt.sh
. "$(dirname "$0")/own_apt.sh"
packages='libc6-dev libbpf-dev libelf-dev zlib1g-dev libcjson-dev libzstd-dev libcap-ng-dev libdw-dev
	libiberty-dev libcapstone-dev libsqlite3-dev libseccomp-dev libcmocka-dev
	systemtap-sdt-dev'

[ "$(cat "$1/complete" 2>/dev/null)" != "$packages" ] || exit 0
[ ! -e "$1" ] || [ -e "$1/complete" ] || { echo "$1 exists, and is not a folder of this script"; exit 1; }
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || { echo "there is no $tool"; exit 1; }
done
[ -r "$own_apt_keys" ] || { echo "there are no keys of Debian's archive ($own_apt_keys)"; exit 1; }
rm -rf "$1.new"
mkdir -p "$1.new" || exit 1
folder=$(cd "$1.new" && pwd)
(
	own_apt "$folder/apt" bookworm "$2" || exit 1
	# shellcheck disable=SC2086 # a list of words
	apt-get install -y -qq --download-only $packages || exit 1
	for package in "$folder"/apt/cache/archives/*.deb; do
		dpkg-deb -x "$package" "$folder" || exit 1
	done
) >"$folder/log" 2>&1 || { echo "no packages for $2: $(tail -n 1 "$folder/log")"; exit 1; }
rm -rf "$folder/apt" "$1" && echo "$packages" >"$folder/complete" && mv "$folder" "$1"
