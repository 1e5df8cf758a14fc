#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Packs a folder of conformance vectors into vectors.tar.xz, beside this script:
#
#   tests/vectors/pack.sh FOLDER
#
# FOLDER has the folders emu, loom and pallas (cases; the README.md of each explains their files) and
# the programs run-cases and compare-prv. The same files give the same bytes: names are
# sorted; owner, time and mode do not depend on the machine. `make` unpacks the archive into
# build/vectors, which tests find in $CONFORMANCE. To change a vector: unpack, edit, pack, commit.
set -eu
[ $# = 1 ] && [ -d "$1/emu" ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
archive=$(cd "$(dirname "$0")" && pwd)/vectors.tar.xz
cd "$1"
tar --create --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
	--mode=u=rwX,go=rX -- compare-prv emu loom pallas run-cases |
	xz --compress -9 --extreme --threads=1 >"$archive.new"
mv "$archive.new" "$archive"
