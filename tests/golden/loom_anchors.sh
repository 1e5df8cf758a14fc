#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Anchors: invocations stand where the host called them (loom_writer_anchor), to the nanosecond, with the
# length of their cycles; impossible anchors are refused; files without them stay as they are.
set -u
cd "$T" || exit 1
loom=$B/bin/ovni-loom
status=0

wrong() {
	echo "$*"
	status=1
}

flags=()
nm "$B/libovni-loom.a" 2>/dev/null | grep -q __asan && flags=("-fsanitize=address,undefined")
cat >host.c <<'END'
#include <errno.h>
#include <stdlib.h>
#include <ovni-loom/writer.h>

/* host RUN CLOCK...: one invocation of 6112 cycles for each clock of the host; 88 idle cycles between. */
int main(int argc, char **argv)
{
	struct loom_writer_options o = {.period_ps = 2000};
	struct loom_record r = {.epoch_id = 1, .cycle = 10};
	struct loom_writer *w;

	if (loom_writer_open(&w, argv[1], &o))
		return 1;
	for (int i = 2; i < argc; i++, r.cycle += 88) {
		long long clock = atoll(argv[i]);

		r.invocation_id = (uint64_t)i - 1;
		/* before the start, and after it */
		if (clock && i % 2 && loom_writer_anchor(w, 1, r.invocation_id, clock))
			return 2;
		r.event_kind = LOOM_INVOCATION_START;
		if (loom_writer_event(w, &r))
			return 3;
		if (clock && i % 2 == 0 && loom_writer_anchor(w, 1, r.invocation_id, clock))
			return 4;
		if (clock && loom_writer_anchor(w, 1, r.invocation_id, clock) != -EEXIST)
			return 5;
		r.event_kind = LOOM_NODE_FIRE;
		r.hw_node_id = 3;
		r.cycle += 100;
		if (loom_writer_event(w, &r))
			return 6;
		r.event_kind = LOOM_INVOCATION_DONE;
		r.hw_node_id = 0;
		r.cycle += 6012;
		if (loom_writer_event(w, &r))
			return 7;
	}
	if (loom_writer_anchor(w, 1, 999, -5) != -EINVAL)
		return 8;
	return loom_writer_close(w, NULL) ? 9 : 0;
}
END
"${CC:-gcc}" -std=gnu11 "${flags[@]}" -o host -I "$B/include" host.c "$B/libovni-loom.a" || exit 1

marks() { # TRACE: clocks of starts and ends of invocations, and of fires
	python3 - "$1" <<'END'
import glob, struct, sys
out = []
for name in glob.glob(sys.argv[1] + "/loom.loomsim.*/proc.*/thread.*/stream.obs"):
    data, at = open(name, "rb").read(), 8
    while at < len(data):
        n = data[at] & 15
        n = n + 1 if n else 0
        if data[at + 1:at + 4] == b"OM=":
            value, mark = struct.unpack_from("<qi", data, at + 12)
            if mark == 95 and value > 1 or mark == 93 and value == 3:
                out.append((struct.unpack_from("<q", data, at + 4)[0], "fire" if mark == 93 else "start %d" % (value - 2)))
            elif mark == 95 and out and out[-1][1].startswith("start"):
                out.append((struct.unpack_from("<q", data, at + 4)[0], "end"))
        at += 12 + n
for clock, what in sorted(out):
    print(clock, what)
END
}

echo "three calls: each invocation at its call, 12224 ns long"
./host run 1000000 2000000 2012224 || wrong "host: status $?"
"$loom" check --strict run >verdict || wrong "not valid: $(cat verdict)"
[ "$(grep -c host_clock_ns run.perf.json)" = 3 ] || wrong "no clocks in the statistics"
"$loom" import run -o trace 2>said || wrong "import: $(cat said)"
grep -q "3 invocations start where the host called, from 1000000 ns on" said || wrong "$(cat said)"
marks trace >got
printf '%s\n' "1000000 start 1" "1000200 fire" "1012224 end" "2000000 start 2" "2000200 fire" "2012224 end" \
	"2012224 start 3" "2012424 fire" "2024448 end" | sort -n -k1,1 -s >want
diff <(sort want) <(sort got) || wrong "other places"
"$B/bin/ovni-check" trace >said 2>&1 || wrong "ovni-check: $(cat said)"

echo "the way back: the copy to the byte, and from the marks the same cycles"
"$loom" export trace -o back 2>said || wrong "export: $(cat said)"
cmp run.trace.bin back.trace.bin && cmp run.perf.json back.perf.json || wrong "other bytes"
./host far 1000000 2000000 3000000 && "$loom" import far -o trace.far 2>/dev/null || wrong "far"
"$loom" export trace.far --no-keep -o again 2>said || wrong "export of marks: $(cat said)"
for run in far again; do
	"$loom" dump $run.trace.bin 2>&1 | sed -n 's/^[0-9]* @[0-9]* \([0-9]*\)\.[0-9]* .* \([A-Z_]*\) lane.*/\1 \2/p' >$run.cycles
done
[ "$(wc -l <far.cycles)" = 9 ] && diff far.cycles again.cycles || wrong "other cycles"
"$loom" export trace --kinds start,done -o fewer 2>said || wrong "rewrite: $(cat said)"
[ "$(grep -c host_clock_ns fewer.perf.json)" = 3 ] || wrong "a rewrite forgets the clocks"

echo "one call without a clock follows the one before; --base takes none"
./host some 1000000 0 2000000 || wrong "some"
"$loom" import some -o trace.some 2>/dev/null || wrong "import some"
marks trace.some | grep start >got
printf '%s\n' "1000000 start 1" "1012400 start 2" "2000000 start 3" | diff - got || wrong "some: other places"
"$loom" import run -o trace.base --base 500 2>/dev/null || wrong "import with a base"
marks trace.base | grep start >got
printf '%s\n' "520 start 1" "12920 start 2" "25320 start 3" | diff - got || wrong "base: other places"

echo "impossible anchors"
refused() { # TEXT CLOCK...
	local text=$1
	shift
	./host bad "$@" || wrong "$*: not written"
	"$loom" import bad -o bad.trace 2>said && wrong "$*: imported"
	grep -q "$text" said || wrong "$*: $(cat said)"
	[ ! -e bad.trace ] || wrong "$*: a trace"
}
refused "the longest period that fits is 1636 ps" 1000000 1010000
refused "their order differs" 2000000 1000000
refused "outside of 0 to 2^63" 19
refused "outside of 0 to 2^63" 9223372036854775000
"$loom" import bad -o bad.trace --base 0 2>/dev/null || wrong "--base does not help"

echo "an older reader skips the clocks: unknown keys are no mistake"
sed 's/host_clock_ns/a_later_key/' run.perf.json >later.perf.json && cp run.trace.bin later.trace.bin
"$loom" check --strict later >verdict || wrong "a later key: $(cat verdict)"
sed -i 's/"host_clock_ns": 1000000/"host_clock_ns": -1/' run.perf.json
"$loom" check run >verdict && wrong "a negative clock is valid"
exit $status
