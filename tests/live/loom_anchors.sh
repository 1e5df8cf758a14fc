#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A host program calls a simulated accelerator; ovni-bpf probes the function of the call. With anchors, each
# invocation of 6,112 cycles starts inside the call that made it, and nowhere else, and between two
# clocks that the program reads itself.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"

cat >host.c <<'END'
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <ovni-loom/writer.h>

static struct loom_writer *w;
static struct loom_record r = {.epoch_id = 1};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

__attribute__((noinline)) int call_accelerator(void)
{
	int err = loom_writer_anchor(w, 1, ++r.invocation_id, 0);

	r.event_kind = LOOM_INVOCATION_START;
	err |= loom_writer_event(w, &r);
	r.event_kind = LOOM_NODE_FIRE;
	r.hw_node_id = 3;
	for (int i = 0; i < 6112; i++, r.cycle++)
		err |= loom_writer_event(w, &r);
	r.event_kind = LOOM_INVOCATION_DONE;
	r.hw_node_id = 0;
	err |= loom_writer_event(w, &r);
	usleep(2000); /* as a slow simulator */
	return err;
}

int main(void)
{
	int err = loom_writer_open(&w, "run", NULL);

	for (int i = 0; i < 20 && !err; i++) {
		long long before = now();

		err = call_accelerator();
		printf("%lld %lld\n", before, now());
		usleep(1000 * (i % 4));
	}
	return err || loom_writer_close(w, NULL);
}
END
flags=()
nm "$B/libovni-loom.a" 2>/dev/null | grep -q __asan && flags=("-fsanitize=address,undefined")
"${CC:-gcc}" -std=gnu11 -O2 "${flags[@]}" -o host -I "$B/include" host.c "$B/libovni-loom.a" || exit 1

timeout 60 "$RECORDER" -o trace -u host:call_accelerator -- ./host >clocks 2>log || complain "$(tail -n 3 log)"
"$B/bin/ovni-loom" import run -o trace 2>said || complain "import: $(cat said)"
grep -q "20 invocations start where the host called" said || complain "$(cat said)"
! grep -q "before the trace begins" said || complain "$(cat said)"
cat >compare.py <<'END'
import glob, struct
starts, ends, calls, depth = {}, {}, [], 0
for name in glob.glob("trace/**/stream.obs", recursive=True):
    data, at, current = open(name, "rb").read(), 8, None
    accelerator = "loomsim." in name
    while at < len(data):
        flags = data[at]
        n = (flags & 15) + 1 if flags & 15 else 0
        mcv, clock = data[at + 1:at + 4].decode(), struct.unpack_from("<q", data, at + 4)[0]
        if mcv.startswith("OM"):
            value, mark = struct.unpack_from("<qi", data, at + 12)
            if accelerator and mark == 95:
                if value > 1:
                    current = value - 2
                    starts[current] = clock
                elif current is not None:
                    ends[current] = clock
            elif not accelerator and mcv == "OM[":
                calls.append([clock, None])
            elif not accelerator and mcv == "OM]":
                calls[-1][1] = clock
        at += 12 + (4 + struct.unpack_from("<I", data, at + 12)[0] if flags & 16 else n)
said = [tuple(map(int, line.split())) for line in open("clocks")]
calls.sort()
assert len(said) == len(calls) == len(starts) == 20, (len(said), len(calls), len(starts))
for i in range(20):
    start, end = starts[i + 1], ends[i + 1]
    assert end - start == 6112, (i, end - start)          # cycles of 1 ns
    assert calls[i][0] <= start < end <= calls[i][1], (i, calls[i], start, end)
    assert said[i][0] <= start <= said[i][1], (i, said[i], start)
print("20 invocations inside their calls; at most", max(starts[i + 1] - calls[i][0] for i in range(20)), "ns after the entry")
END
python3 compare.py || complain "an invocation stands elsewhere"
"$EMULATOR" -l trace >err 2>&1 || complain "both on one page: $(cat err)"
"$B/bin/ovni-check" trace >err 2>&1 || [ $? = 3 ] || complain "ovni-check: $(cat err)"
! grep -q '^warning.*loomsim' err || complain "a warning about the accelerator: $(cat err)"
finish
