#!/bin/bash
# SPDX-License-Identifier: MIT
#
# One version everywhere: VERSION, the newest release in CHANGELOG.md, debian/changelog, and the tag of
# this commit if it has one. The Debian package needs for its build what tests/deps.sh names.
set -eu
cd "$S"
version=$(cat VERSION)
same() { # WHAT FOUND WANTED
	[ "$2" = "$3" ] || { echo "$1: '$2', expected '$3'"; exit 1; }
}
same "the newest release in the changelog" "$(sed -n 's/^## \[\([0-9.]*\)\] - 20[0-9-]*$/\1/p' CHANGELOG.md | head -n 1)" "$version"
same debian/changelog "$(sed -n '1s/^ovni-bpf (\(.*\)) .*/\1/p' debian/changelog)" "$version"
same ovni-bpf.spec "$(sed -n 's/^Version: *//p' ovni-bpf.spec)" "$version"
same 'the changelog of ovni-bpf.spec' "$(sed -n '/^%changelog/{n;s/.* - \(.*\)-1$/\1/p}' ovni-bpf.spec)" "$version"
tag=$(git -c safe.directory="$S" tag --points-at HEAD -l 'v*' 2>/dev/null || true)
same 'the tag of this commit' "${tag:-v$version}" "v$version"

# gcc and libc6-dev are there on each machine that builds packages.
deps=$(sed -n "/^build='/,/^'/s/^\([a-z][a-z0-9.-]*\) .*/\1/p" tests/deps.sh | grep -vxE 'gcc|libc6-dev' | sort)
control=$(sed -n '/^Build-Depends:/,/^[A-Z]/{/^Standards/d;s/^Build-Depends://;p}' debian/control |
	tr -d ' ' | tr ',' '\n' | grep -v -e '^$' -e '^debhelper-compat' -e '^dh-python$' -e '^python3$' -e '^libcmocka-dev$' -e '^systemtap-sdt-dev$' -e '^xz-utils$' | sort)
same 'Build-Depends of debian/control' "$control" "$deps"
[ "$(echo "$deps" | wc -l)" -gt 10 ]
