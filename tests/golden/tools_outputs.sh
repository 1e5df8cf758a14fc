#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Output files: under umask 000 nobody else may write them; ovni-emu replaces its files, so that
# hard links keep their content, and warns of more rows than Paraver has; an index of a CPU beyond
# all integers is refused; ovni-check without memory does not call a trace invalid.
set -eu
. "$S/tests/golden/tools_lib.sh"
do_it() { "$B/bin/$1" "${@:2}" >"$T/said" 2>&1 || fail "$* failed"; }
trace() { make_trace "$@" <<END
thread n 1 1 $extra
1000 OHx i32:0 i32:-1 u64:0
2000 OU[
1500 OB.
2100 OU]
9000 OHe
END
}
umask 000
extra=''
trace t
trace second
chmod -R go-w t second
do_it ovni-sort t
do_it ovni-sort second
do_it ovni-emu -b -o views t
do_it ovni-cut --to 5000 -o cut t
do_it ovni-check --repair -o repaired t
do_it ovni-convert --modernise -o converted t
do_it ovni-merge -o merged t second
do_it ovni-pallas export t archive
do_it ovni-pallas import archive back
do_it ovni-loom import -o imported "$CONFORMANCE/loom/single-core"
do_it ovni-loom export -o run imported
do_it ovni-view -o page.html t
do_it ovni-export --perfetto -o page.pftrace t
do_it ovni-export --csv -o page.csv t
do_it ovni-export --sqlite -o page.sqlite t
do_it ovni-export --chrome -o page.json t
mkdir exported && mv run.* exported
for made in t views cut repaired converted merged archive back imported exported/run.* page.html page.pftrace page.csv page.sqlite page.json; do
	find "$made" -perm /022 >open
	[ ! -s open ] || { echo "others may write:"; head open; exit 1; }
done
umask 022

cp views/thread.prv want.prv
echo kept >old && ln -f old views/thread.prv && ln -f old views/cpu.pcf && ln -f old views/cpu.row
do_it ovni-emu -o views t
[ "$(cat old)" = kept ] || fail "another name of an output has new bytes"
cmp views/thread.prv want.prv || fail "another output"
[ "$(stat -c %h views/cpu.pcf views/cpu.row views/thread.prv | sort -u)" = 1 ] || fail "an output still has two names"

cpus() { python3 -c 'import sys; print("ovni.loom_cpus=[%s]" % ",".join("{\"index\":%d,\"phyid\":%d}" % (i, i) for i in range(int(sys.argv[1]))))' "$1"; }
extra=$(cpus 65534)
trace fits
extra=$(cpus 65535)
trace large # and the virtual CPU
do_it ovni-sort fits
do_it ovni-sort large
do_it ovni-emu -o fits.views fits
! grep warning "$T/said" || fail "a warning of 65535 rows"
do_it ovni-emu -o large.views large
grep -q 'warning: large.views/cpu.prv: 65536 rows; Paraver shows 65535 at most' "$T/said" || fail "no warning"

for index in 1e19 9223372036854775807 65535; do
	rm -rf far
	extra="ovni.loom_cpus=[{\"index\":$index,\"phyid\":0}]"
	trace far
	! "$B/bin/ovni-loom" export -o far.run far >"$T/said" 2>&1 || fail "the index $index is accepted"
	grep -q 'a CPU has the index' "$T/said" || fail "the index $index"
done

for i in {1..1499}; do
	printf 'thread n %d %d\n%d OHx i32:-1 i32:-1 u64:0\n9000 OHe\n' "$i" "$i" "$i"
done | make_trace many
do_it ovni-check -q many
for i in {1..1499}; do
	printf 'thread n %d %d\n%d OHx i32:-1 i32:-1 u64:0\n9000 OHe\n' "$i" "$i" "$i"
done | sed 's/^thread .*/& ovni.require.bpf="1.0.0" bpf.name="a"/' | make_trace recorded
for many in many recorded; do
	failed=0
	for limit in {8000..20000..500}; do # KiB, from nearly no memory to enough
		(ulimit -v "$limit" && exec "$B/bin/ovni-check" -q $many) >"$T/said" 2>&1 && continue
		[ $? -lt 128 ] || fail "$many: a crash with $limit KiB"
		! grep -q '^invalid' "$T/said" || fail "$many: with $limit KiB the trace is called invalid"
		! grep -q emory "$T/said" || failed=$((failed + 1))
	done
	[ "$failed" -gt 3 ] || fail "$many: memory was lacking only $failed times"
done
