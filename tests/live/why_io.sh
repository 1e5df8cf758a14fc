#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --why=io: direct reads and writes of known offsets have their request: device, sector, size, direction, as the file system
# has the places of the file, and a time at the device that fits the sleep; a sleep without a request, which a thread
# ends. Without the part none of its programs is loaded, and the others have the same instructions.
# needs: root
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
on_disk || skip "the scratch folder is in memory"
command -v filefrag >/dev/null || skip "there is no filefrag, which says where a file lies"

cat >direct.py <<'P'
import mmap, os, resource, sys
def sleeps(): return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
name, count = sys.argv[1], int(sys.argv[2])
fd = os.open(name, os.O_RDWR | os.O_DIRECT)
page = mmap.mmap(-1, 65536)
def at(i): return i * 37 % 500 * 65536, 4096 * (1 + i % 4)
for i in range(count):  # every third one is a write
    offset, size = at(i)
    view = memoryview(page)[:size]
    before = sleeps()
    done = os.pwritev(fd, [view], offset) if i % 3 == 2 else os.preadv(fd, [view], offset)
    assert done == size
    print(f"offset={offset} size={size} write={int(i % 3 == 2)} slept={int(sleeps() > before)}")
P
dd if=/dev/urandom of=data bs=1M count=32 2>/dev/null && sync data
# logical and physical extents, in sectors of the partition; "offset: first..last: first..last: length:"
filefrag -b512 -v data | sed -n 's/^ *[0-9]*: *\([0-9]*\)\.\. *[0-9]*: *\([0-9]*\)\.\. *[0-9]*: *\([0-9]*\):.*/\1 \2 \3/p' >extents
[ -s extents ] || skip "the file system does not say where a file lies: $(filefrag -b512 -v data 2>&1 | tail -n 1)"
device=$(stat -c %d .)

cat >judge.py <<'P'
import struct, sys
from facts import *
trace, said = Trace(sys.argv[1]), report(sys.argv[2])
device = int(sys.argv[3])
major, minor = os.major(device), os.minor(device)
extents = [tuple(map(int, line.split())) for line in open("extents")]
session = trace.session
check(session.get("io") is True, "the session does not say that it has requests")
check(session["devices"].get(f"{major}:{minor}"), "the device", major, minor, "has no name:", session["devices"])
try:  # requests have sectors of the whole disk
    start = int(open(f"/sys/dev/block/{major}:{minor}/start").read())
except OSError:
    start = 0
def sector_of(offset):
    for logical, physical, length in extents:
        if logical <= offset // 512 < logical + length:
            return start + physical + offset // 512 - logical
key_of = lambda line: (sector_of(line["offset"]), line["size"] // 512, line["write"])
wanted = [key_of(line) for line in said]
slept = {key_of(line) for line in said if line["slept"]}  # a request may be over before its thread sleeps
found, late, sleeps = [], [], 0
for stream in trace.streams:
    left = us = began = None
    for e in stream.events:
        if e.mcv == "OHp":
            left, us = e.clock, None
        elif e.mcv == "OHw":
            woken = e.clock
            us = struct.unpack_from("<I", e.data, 12)[0] if len(e.data) == 16 else None
        elif e.mcv == "OHr" and len(e.data) == 16 and left:
            _, dev, request = struct.unpack("<IIQ", e.data)
            key = (request & (1 << 48) - 1, request >> 48 & 0x7fff, request >> 63)
            if key in wanted and dev == major << 20 | minor:
                sleeps += 1
                found.append(key)
                # the kernel hands it over between the begin of the run and the sleep
                if us is None or not (woken - left) / 1000 - 20 <= us <= (woken - began) / 1000 + 20:
                    late.append((us, (woken - left) // 1000, (woken - began) // 1000))
        if e.mcv in ("OHx", "OHr"):
            began = e.clock
for key in found:
    if key in wanted:
        wanted.remove(key)
wanted = [key for key in wanted if key in slept]
missing = len(wanted)
print(f"{len(said)} requests, {len(slept)} slept, {len(found)} sleeps with one of them, {missing} missing, {len(late)} with another time at the device: {late[:4]}")
# a switch may be hidden
check(len(slept) > len(said) / 2, "only", len(slept), "requests slept")
check(missing <= 5 * len(said) // 300, missing, "requests of", len(said), "are missing:", wanted[:3])
check(len(late) <= len(said) // 20, "times at the device, of sleeps, since the runs before began (us):", late[:5])
verdict()
P
direct() {
	rm -rf direct
	"$RECORDER" -q -o direct --why=io -- python3 direct.py data 300 >direct.said 2>direct.log || complain "direct: $(cat direct.log)"
	python3 judge.py direct direct.said "$device" || complain "direct: the requests"
}
attempts 4 direct
: >direct.report
judge direct

# With all parts, of all threads. A sleep that another thread ends has no request: pages of a pipe are never on a disk.
everything() {
	rm -rf all
	"$RECORDER" -q -a -o all --why=call,lock,irq,prio,stack,io -- python3 direct.py data 300 >all.said 2>all.log || complain "all: $(cat all.log)"
	python3 judge.py all all.said "$device" || complain "all: the requests"
}
attempts 4 everything
"$B/bin/ovni-check" --strict all >check.log 2>&1 || complain "all: $(cat check.log)"
oracle_judge all
python3 - <<'E' || complain "requests at wake-ups by threads"
import struct
from facts import *
trace, by_thread = Trace("all"), 0
for stream in trace.streams:
    waker = why = None
    for e in stream.events:
        if e.mcv == "OHp":
            why = struct.unpack_from("<H", e.data)[0]
        elif e.mcv == "OHw":
            waker = struct.unpack_from("<i", e.data)[0]
        elif e.mcv == "OHr" and len(e.data) == 16:
            check(why == 3, stream.path, "has a request after a sleep of the kind", why)
            by_thread += waker is not None and waker > 0
print(by_thread, "requests whose completion ran in a thread")
verdict()
E
# ovni-report: the bytes of the requests, and the time asleep for I/O, are those of the events and of why
"$B/bin/ovni-report" io --csv direct >io.csv 2>io.log || [ $? = 3 ] || complain "ovni-report io: $(cat io.log)"
"$B/bin/ovni-report" why --csv direct >why.csv 2>/dev/null
python3 - <<'E' || complain "ovni-report io: $(cat io.csv)"
import csv, struct
from facts import *
rows, whys = list(csv.DictReader(open("io.csv"))), list(csv.DictReader(open("why.csv")))
asleep, truth = sum(int(r["asleep"]) for r in rows), sum(int(r["time"]) for r in whys if r["reason"] == "io")
# why also has a sleep that began before the recording, or whose end is not known
check(0.98 * truth - 1e5 <= asleep <= truth, asleep, "ns asleep for I/O, why has", truth)
bytes_of = [0, 0]
for stream in Trace("direct").streams:
    for e in stream.events:
        if e.mcv == "OHr" and len(e.data) == 16:
            request = struct.unpack("<IIQ", e.data)[2]
            bytes_of[request >> 63] += (request >> 48 & 0x7fff) * 512
check([sum(int(r[key] or 0) for r in rows) for key in ("bytes_read", "bytes_written")] == bytes_of, rows, bytes_of)
verdict()
E
"$EMULATOR" -q -o views all >emu.log 2>&1 || [ $? = 3 ] || complain "emu: $(cat emu.log)"
[ -s views/cfg/thread/device.cfg ] && [ -s views/cfg/thread/device-request.cfg ] || complain "no views of the device"

"$RECORDER" -q -o refused --why=io --kernel-model -- true >refused.log 2>&1
[ $? = 2 ] && grep -q 'no --kernel-model' refused.log || complain "--kernel-model: $(cat refused.log)"

program_lengths call
program_lengths io
python3 - <<'E' || complain "the programs with and without --why=io"
def programs(name):
    return {program: int(size) for program, size in (line.split() for line in open(name))}
call, io = programs("len.call.txt"), programs("len.io.txt")
# the program of switches is that with parts, in which the instructions of io are
assert io.pop("record_switch_parts") > call.pop("record_switch_calls"), (call, io)
assert {name[:3] for name in set(io) - set(call)} == {"io_"} and len(set(io) - set(call)) == 4, (call, io)
assert all(io[name] == size for name, size in call.items()), (call, io)
E
finish
