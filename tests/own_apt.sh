# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For scripts that source it: packages of Debian's archive, for any release and machine, with an apt
# whose folders are all its own. The apt of this machine is not touched, and root is not needed.

own_apt_keys=/usr/share/keyrings/debian-archive-keyring.gpg

# Prepares FOLDER for the packages of a release (SUITE) for a machine (ARCH: amd64, arm64), and reads
# their lists. Call it in a subshell: it exports APT_CONFIG, which makes apt use the folder.
own_apt() { # FOLDER SUITE ARCH
	mkdir -p "$1"/{etc,lists/partial,cache/archives/partial} || return 1
	echo "deb [signed-by=$own_apt_keys] ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $2 main" \
		>"$1/etc/sources.list"
	: >"$1/status"
	cat >"$1/apt.conf" <<-E
		Dir::State::lists "$1/lists";
		Dir::State::status "$1/status";
		Dir::Cache "$1/cache";
		Dir::Etc "$1/etc";
		Dir::Etc::sourcelist "$1/etc/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::parts "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		APT::Architecture "$3";
		APT::Architectures { "$3"; };
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		Acquire::Retries "2";
		Acquire::http::Timeout "20";
	E
	export APT_CONFIG=$1/apt.conf
	apt-get update -qq
}
