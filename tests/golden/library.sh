#!/bin/bash
# SPDX-License-Identifier: MIT
#
# libovni-trace, installed: the example in C, with the shared and the static form, and the Python module, with and without
# numpy, agree with ovni-report and ovni-dump. Only functions of the header are exported; the header compiles as
# C++. Damaged traces are errors of the library, which prints nothing and ends no process.
# longer: more damaged traces, and valgrind
set -eu
root=$T/root
export PYTHONDONTWRITEBYTECODE=1
if nm "$B/libovni-trace.a" 2>/dev/null | grep -q __asan; then
	echo "the build has sanitizers: a shared library needs a plain one"
	exit 77
fi
MAKEFLAGS='' make -s -C "$S" B="$B" DESTDIR="$root" prefix=/usr pydir=/usr/python NO_BUILD=1 install >/dev/null
export LD_LIBRARY_PATH=$root/usr/lib PYTHONPATH=$root/usr/python OVNI_TRACE_LIBRARY=$root/usr/lib/libovni-trace.so.1
cc=("${CC:-gcc}" -Wall -Wextra -Werror -I "$root/usr/include")
needs=(-lcjson -lseccomp -lm -lpthread)

# What is exported, and how.
others=$(nm -D --defined-only "$OVNI_TRACE_LIBRARY" | grep -v -e ' T ovni_trace_[a-z_]*@@OVNI_1$' -e ' T ovni_trace_[a-z_]*@@OVNI_1\.1$' -e ' A OVNI_1$' -e ' A OVNI_1\.1$' -e '^$') || true
others+=$(nm -g --defined-only "$root/usr/lib/libovni-trace.a" | grep ' [A-Z] ' | grep -v ' T ovni_trace_[a-z_]*$') || true
[ -z "$others" ] || { echo "libovni-trace exports $others"; exit 1; }
nm -D --defined-only "$OVNI_TRACE_LIBRARY" | sed -n 's/.* T \(.*\)@@.*/\1/p' | sort >exported
grep -o '\bovni_trace_[a-z_]*(' "$root/usr/include/ovni-trace/reader.h" | tr -d '(' | sort -u >declared
diff declared exported
sed -n 's/^\.Fn \(ovni_trace_[a-z_]*\) .*/\1/p' "$S/docs/man/ovni-trace.3" | sort -u >described
diff declared described
# Each function keeps the version with which it was released: the package has the list.
nm -D --defined-only "$OVNI_TRACE_LIBRARY" | sed -n 's/.* T \(.*\)@@\(.*\)/\1@\2/p' | sort >versions
sed -n 's/^ \(ovni_[^ ]*\) .*/\1/p' "$S/debian/libovni-trace1.symbols" | sort | diff - versions
readelf -d "$OVNI_TRACE_LIBRARY" | grep -q 'SONAME.*\[libovni-trace.so.1\]'
if nm -D --undefined-only "$OVNI_TRACE_LIBRARY" | grep -wE 'exit|_exit|puts|printf|perror|stderr'; then
	echo "the library calls the above"
	exit 1
fi

# It compiles: as C11 and C++, the example of the manual, shared and static.
cp "$root/usr/share/doc/ovni-bpf/examples/longest_waits.c" .
PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root/usr/lib/pkgconfig pkg-config --cflags --libs ovni-trace >flags
# shellcheck disable=SC2046 # words
"${cc[@]}" -std=c11 -D_GNU_SOURCE -pedantic -o shared longest_waits.c $(cat flags)
"${cc[@]}" -o static longest_waits.c "$root/usr/lib/libovni-trace.a" "${needs[@]}"
if command -v g++ >/dev/null; then
	echo '#include <ovni-trace/reader.h>
	int main() { ovni_trace_close(nullptr); return !*ovni_trace_version(); }' >plus.cc
	g++ -Wall -Wextra -Werror -pedantic -o plus plus.cc -I "$root/usr/include" -L "$root/usr/lib" -lovni-trace && ./plus
fi
{
	printf '#include <ovni-trace/reader.h>\n#include <stdio.h>\nint main(void) {\n'
	sed -n '/^\.Bd -literal/,/^\.Ed/{/^\.[BE]d/d;p}' "$S/docs/man/ovni-trace.3" | sed 's/\\e/\\/g'
	echo '}'
} >page.c
"${cc[@]}" -o page page.c -L "$root/usr/lib" -lovni-trace

# The traces: one with all states, and the vectors that reports accept.
"$S/tests/golden/tools_make.py" "$T/ovni" <<'END'
thread n 1 1 bpf.name="main" bpf.session.machine="x86_64" ovni.require={"ovni":"1.1.0","bpf":"1.0.0"} bpf.names={"7001":"outside\u001b"} ovni.mark={"7":{"title":"Function","chan_type":"stack","labels":{"1":"outer","2":"in\u001bner"}},"8":{"title":"Level","chan_type":"single","labels":{"-5":"low"}}}
1000 OHx i32:0 i32:-1 u64:0
1100 OM[ i64:1 i32:7
1200 OM[ i64:2 i32:7
1300 OM[ i64:1 i32:7
1400 OHp u16:1 i32:2 u16:0 u64:3
500000 OHw i32:2
600000 OAs i32:1
600000 OHr
700000 OHp u16:6 i32:2
700000 OHw i32:-1
800000 OHr
810000 OAs i32:2
820000 OM] i64:1 i32:7
830000 OM= i64:-5 i32:8
840000 OM] i64:2 i32:7
900000 OHC i32:2 i32:2 u64:0
1500000 OHp u16:3 i32:0
2500000 OHw i32:-2
2600000 OHr
2650000 OM] i64:1 i32:7
2660000 OM] i64:9 i32:7
2670000 OM[ i64:9 i32:7
2700000 OHe
thread n 1 2 bpf.name="helper"
950000 OHx i32:0 i32:1 u64:0
1000000 OU[
1100000 VWC+ i64:1 i64:-2 i64:3
1200000 VYc+ u32:7 str:a_label
2000000 OHp u16:12 i32:0
2000000 OHw i32:-1
2100000 OHr
2400000 OHp u16:11 i32:0
2650000 OHe
END
traces=("$T/ovni")
for vector in "$CONFORMANCE"/emu/*/trace; do
	"$B/bin/ovni-report" why --csv "$vector" >said 2>&1 && "$B/bin/ovni-dump" "$vector" >/dev/null 2>&1 && traces+=("$vector")
done
[ ${#traces[@]} -gt 20 ] || { echo "only ${#traces[@]} traces"; exit 1; }

# The numbers.
./shared ovni >said
cmp said <(./static ovni)
"$B/bin/ovni-report" why --csv ovni >why.csv
python3 - <<'END'
import csv, re
sums = {}
for row in csv.DictReader(open("why.csv")):
    key = row["tid"], row["state"]
    sums[key] = sums.get(key, 0) + int(row["time"])
lines = open("said").read().splitlines()
for line in lines:
    tid = line.split()[1]
    for state, ns in re.findall(r"(running|runnable|throttled|asleep|unknown)=(\d+)", line):
        assert int(ns) == sums.pop((tid, state), 0), (line, state)
assert not sums and len(lines) == 2, (sums, lines)
assert "longest=1000000 at=1500000" in lines[0] and "waker=-2 ()" in lines[0], lines
END
./page >events
[ "$(wc -l <events)" = "$("$B/bin/ovni-dump" ovni | wc -l)" ]
grep -qx '810000 OAs 2' events
ldd ./shared | grep -q "libovni-trace.so.1 => $root/"
python3 "$S/tests/golden/library.py" "$B/bin" "$S/docs/python.md" "${traces[@]}" >with.numpy || { cat with.numpy; exit 1; }
cat with.numpy
grep -q '^main 1 1000000' with.numpy
# The same where there is no numpy.
mkdir none && echo 'raise ImportError("none")' | tee none/numpy.py >none/pandas.py
PYTHONPATH=$PYTHONPATH:none python3 -c 'import sys; sys.path.insert(0, "none"); sys.argv = sys.argv[1:]
exec(open(sys.argv[0]).read())' "$S/tests/golden/library.py" "$B/bin" "$S/docs/python.md" "${traces[@]}" >without.numpy ||
	{ cat without.numpy; exit 1; }
grep -q "no pandas" without.numpy

# Names and regions of the first trace: the nested call of `outer` ends first, 9 has no label and does not return.
python3 - <<'END'
import ovni_trace
with ovni_trace.open("ovni") as trace:
    rows = [(r.function.name, r.function.type, r.begin, r.end, r.depth, r.nested, r.returned) for r in trace.regions() if r.function.mark_type == 7]
    assert rows == [("outer", "Function", 1300, 820000, 2, True, True), ("in\\x1bner", "Function", 1200, 840000, 1, False, True),
        ("outer", "Function", 1100, 2650000, 0, False, True), ("9", "Function", 2670000, 2700000, 0, False, False)], rows
    assert trace.mark_label(8, -5) == "low" and trace.mark_label(8, 5) == trace.mark_title(9) == ""
    assert [trace.tid_name(tid) for tid in (1, 2, 7001, 7002, -2, 2**32 + 7001)] == ["main", "helper", "outside\x1b", "", "", ""]
    iterator = trace.regions()
    next(iterator)
    assert len(list(trace.intervals())) > 3 and list(iterator) == []
    try:
        trace.mark_label(2**40, 0)
    except ovni_trace.ctypes.ArgumentError:
        pass
END

# Hard cases: all in threads of one process, damaged ones, a file that becomes shorter.
flags=()
lib=$root/usr/lib/libovni-trace.a
if [ -n "${BSAN:-}" ] && [ -e "$BSAN/libovni-trace.a" ]; then
	flags=("-fsanitize=address,undefined" -fno-sanitize-recover=all) lib=$BSAN/libovni-trace.a
fi
"${cc[@]}" -g "${flags[@]}" -o hard "$S/tests/golden/library.c" "$lib" "${needs[@]}"
quiet() { # COMMAND...: status 0 and nothing printed
	"$@" >said 2>&1 && [ ! -s said ] || { echo "$*: status $?"; head -n 30 said; exit 1; }
}
quiet ./hard walk "${traces[@]}" nothing /dev/null "$S"
python3 - "$T/damaged" "$([ "${LONG:-}" ] && echo 2000 || echo 300)" "${traces[@]}" <<'END'
import os, random, shutil, sys
top, n, traces = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
for seed in range(n):
    chance = random.Random(seed)
    path = "%s/%d" % (top, seed)
    shutil.copytree(chance.choice(traces), path)
    files = sorted(os.path.join(folder, f) for folder, _, names in os.walk(path) for f in names if f.startswith("stream."))
    for _ in range(chance.randint(1, 4)):
        file = chance.choice(files)
        data = bytearray(open(file, "rb").read())
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(data) or 1)
            kind = chance.randrange(4)
            if kind == 0:
                del data[at:]
            elif kind == 1:
                data[at:at + 1] = bytes([chance.randrange(256)])
            elif kind == 2:
                data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 12)))
            else:
                del data[at:at + chance.randint(1, 12)]
        os.chmod(file, 0o644)
        open(file, "wb").write(data)
END
printf '%s\n' damaged/* | xargs -n 50 ./hard walk >said 2>&1 && [ ! -s said ] || { echo "damaged:"; head -n 30 said; exit 1; }
{
	echo "thread n 1 1"
	echo "1 OHx i32:0 i32:-1 u64:0"
	for i in $(seq 2 60000); do echo "$i OU["; done
	echo "60001 OHe"
} | "$S/tests/golden/tools_make.py" "$T/long"
quiet ./hard shrink long
if [ "${LONG:-}" ] && command -v valgrind >/dev/null && [ ${#flags[@]} = 0 ]; then
	quiet valgrind -q --error-exitcode=99 --leak-check=full ./hard walk ovni damaged/1 damaged/2 damaged/3 nothing
fi
echo "${#traces[@]} traces, $(find damaged -maxdepth 1 -mindepth 1 | wc -l) damaged ones"
