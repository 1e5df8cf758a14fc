#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Every archive of the conformance vectors yields its events, statistics, grammar, attributes and
# text, byte for byte; statistics and grammar without the data files; and the check finds the
# violations that the specification lists. Older ABI versions of the archives yield the same.
set -u
pallas=$B/bin/ovni-pallas
status=0 compared=0

same() { # ARCHIVE EXPECTED COMMAND...
	local archive=$1 expected=$2
	shift 2
	[ -f "$expected" ] || return
	compared=$((compared + 1))
	if ! "$pallas" "$@" "$archive" >out 2>err; then
		echo "$archive: $*: failed"; cat err; status=1
	elif ! cmp out "$expected"; then
		echo "$archive: $*: differs from ${expected##*/}"; status=1
	fi
}

for vector in "$CONFORMANCE"/pallas/*/; do
	archive=${vector}archive expected=${vector}expected name=$(basename "$vector")
	same "$archive" "$expected/print.txt" print
	same "$archive/main.pallas" "$expected/events.tsv" print --tsv
	same "$archive" "$expected/attributes.tsv" print --attributes
	same "$archive" "$expected/print.txt" print --memory 1M
	cp -R "$archive" "bare_$name"
	chmod -R u+w "bare_$name"
	find "bare_$name" -name '*.dat' -delete
	same "bare_$name" "$expected/stats.tsv" stats --tsv
	same "bare_$name" "$expected/grammar.txt" info --grammar
	"$pallas" info --definitions "bare_$name" >/dev/null || status=1
	"$pallas" check "$archive" >"check_$name" 2>err
	[ -s err ] && { cat err; status=1; }
done

# The same archives with an older ABI version are read alike. What version 16 lacks are the types of groups and the metadata.
for name in procs2x2 nested_loops records; do
	vector=$CONFORMANCE/pallas/$name/
	for version in 19 18 17 16; do
		rm -rf older
		"$S/tests/golden/pallas_older.py" "${vector}archive" older $version || status=1
		same older "${vector}expected/print.txt" print
		same older "${vector}expected/stats.tsv" stats --tsv
		same older "${vector}expected/grammar.txt" info --grammar
		"$pallas" info --definitions "${vector}archive" | sed "1s/.*/older: ABI version $version/" >want
		"$pallas" info --definitions older 2>err | sed '1s/.*\(ABI version [0-9]*\).*/older: \1/' >out
		[ $version = 16 ] && sed -Ei 's/ type=[0-9]+ paradigm=[0-9]+//; /^  metadata/d' want out
		[ ! -s err ] && cmp want out || { echo "$name, version $version: definitions"; cat err; status=1; }
	done
done

[ $compared -ge 76 ] || { echo "only $compared comparisons"; status=1; }

# The known violations of the reference writer, and no others.
for name in tiny loop1000 irregular records attributes; do
	grep -q 'no violation found' "check_$name" || { cat "check_$name"; status=1; }
done
grep -q '^R1: .*root is sequence 6' check_synced || status=1
for name in procs2x2 nested_loops; do
	grep -q '^R10: .*never used' "check_$name" || status=1
	! grep -v '^R10: .*loop\|more violations' "check_$name" || status=1
done

# Names and values of attributes are shown without control characters.
cp -R "$CONFORMANCE/pallas/attributes/archive" hostile && chmod -R u+w hostile
LC_ALL=C sed -i 's/hello/h\x1b\x7f\xffo/; s/an u8/a\x1b\x07u8/' hostile/main.pallas
"$pallas" print --attributes hostile >out 2>err || { cat err; status=1; }
grep -q 'h\\x1b\\x7f\\xffo' out && grep -q 'a\\x1b\\x07u8=' out || { echo "attributes are not escaped"; status=1; }
! LC_ALL=C grep -q "$(printf '[\001-\010\016-\037\177\377]')" out || { echo "attributes have control characters"; status=1; }
exit $status
