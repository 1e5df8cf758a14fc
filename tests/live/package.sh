#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Debian packages: built in a chroot without network and without root, checked by lintian; installed in
# a clean chroot, where the programs record this machine and emulate (debian/tests); removed, which leaves nothing.
# The chroots are made by mmdebstrap, once, in BUILD/package; without a network the test is skipped. The programs are
# compiled without optimization, and hardly compressed, which saves more than half of the time. Still all of it takes ten
# minutes or more: it runs only by `TEST_TIMEOUT=1800 PACKAGE=1 make test T=live/package`.
# needs: root
# long: fetches 400 MB, and builds all
set -eu
[ "${PACKAGE:-}" ] || { echo "takes ten minutes: PACKAGE=1 runs it"; exit 77; }
if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
	command -v mmdebstrap >/dev/null || { echo "no mmdebstrap"; exit 77; }
	exec unshare -m "$0" inside # the mounts end with this process
fi
suite=bookworm
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
kept=$B/package
mkdir -p "$kept"
depends=$(sed -n '/^Build-Depends:/,/^[A-Z]/{/^Standards/d;s/^Build-Depends://;p}' "$S/debian/control" | sed 's/([^)]*)//g' | tr -d ' \n')
# Makes KEPT/NAME-SUM.tar, where it is not there.
chroot_of() { # NAME VARIANT PACKAGES
	local tar
	tar=$kept/$1-$(echo "$suite $2 $3" | md5sum | cut -c1-8).tar
	[ -e "$tar" ] || {
		rm -f "$kept/$1"-*.tar
		timeout 10 /usr/lib/apt/apt-helper -o Acquire::Retries=0 download-file "$mirror/dists/$suite/InRelease" InRelease >network.log 2>&1 || {
			tail -n 5 network.log
			echo "cannot fetch from $mirror, so no chroot can be made"
			exit 77
		}
		# All is thrown away if it fails: dpkg need not wait for the disk at each package.
		mmdebstrap --quiet --dpkgopt=force-unsafe-io --variant="$2" --include="$3" "$suite" "$tar.new.tar" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >mmdebstrap.log 2>&1 || {
			rm -f "$tar.new.tar"
			tail -n 5 mmdebstrap.log
			echo "mmdebstrap cannot make a chroot: see above"
			exit 1
		}
		mv "$tar.new.tar" "$tar"
	}
	mkdir "$1" && tar -xpf "$tar" --exclude='./dev/*' -C "$1" && mount --rbind /dev "$1/dev" && mount --rbind /proc "$1/proc"
}
in_chroot() { # NAME COMMAND...
	local name=$1
	shift
	chroot "$name" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
log() { # FILE COMMAND...: its output is shown if it fails
	"${@:2}" >"$1" 2>&1 || { tail -n 60 "$1"; echo "fails: ${*:2}"; exit 1; }
}

chroot_of build buildd "$depends,lintian"
mkdir -p build/src/ovni-bpf
tar -c --warning=no-file-changed --exclude-vcs --exclude='./build*' -C "$S" . | tar -x -C build/src/ovni-bpf
chown -R 65534:65534 build/src
form=("DEB_BUILD_OPTIONS=parallel=$(nproc) noopt" DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1)
as_nobody() { in_chroot build setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/src "$@"; }
export -f in_chroot as_nobody
# shellcheck disable=SC2016 # the shell of the new network expands it
log build.log unshare -n bash -c 'as_nobody "$@" sh -c "cd /src/ovni-bpf && dpkg-buildpackage -us -uc -b"' sh "${form[@]}"
as_nobody sh -c 'lintian --fail-on none /src/*.changes' >lintian.log 2>&1
[ ! -s lintian.log ] || { cat lintian.log; echo "lintian is not silent"; exit 1; }
find build/src -maxdepth 1 -name '*.deb' -printf '%f\n' | sort

chroot_of clean minbase ca-certificates
mount --rbind /sys clean/sys
cp /etc/resolv.conf clean/etc/resolv.conf
everything() { (cd clean && find . -xdev ! -path './var/lib/apt/*' ! -path './var/cache/*' ! -path './var/log/*' \
	! -path './debs*' ! -path './var/lib/dpkg/*-old' ! -path './tmp/*' ! -name '*.pyc' ! -name __pycache__ | sort); }
# shellcheck disable=SC2016 # the form of dpkg-query
installed() { in_chroot clean dpkg-query -W -f '${Package}\n' | sort; }
installed >packages.before
everything >before
mkdir clean/debs
cp build/src/*.deb clean/debs
log update.log in_chroot clean apt-get update -qq
log install.log in_chroot clean sh -c 'apt-get install -y --no-install-recommends /debs/*.deb'
version=$(cat "$S/VERSION")
in_chroot clean ovni-bpf --version | grep -qF "$version" || { echo "not $version"; exit 1; }
in_chroot clean python3 -c 'import ovni_trace, sys
try: ovni_trace.open("/nothing")
except ovni_trace.Error: sys.exit()
sys.exit("opened")'
for test in record installed; do
	cp "$S/debian/tests/$test" clean/debs
	status=0
	in_chroot clean "/debs/$test" >"$test.log" 2>&1 || status=$?
	tail -n 3 "$test.log"
	[ $status = 0 ] || [ $status = 77 ] || { grep -E "FAILED|wrong:" "$test.log"; tail -n 40 "$test.log"; echo "debian/tests/$test: status $status"; exit 1; }
done
installed | comm -13 packages.before - >added
log purge.log in_chroot clean sh -c 'xargs apt-get purge -y' <added
rm -r clean/debs
everything >after
left=$(comm -13 before after | grep -iE 'ovni|loom|cmocka' || true)
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "$(wc -l <added) packages were added and removed; besides ours $(comm -13 before after | wc -l) paths are new"
