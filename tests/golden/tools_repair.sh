#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-check --repair: the trace of a killed recorder becomes valid and keeps all its events, the
# original stays as it is, and the result never claims to be complete.
set -eu
repair() { status=0; "$B/bin/ovni-check" --repair "$@" >"$T/got" 2>"$T/said" || status=$?; }
. "$S/tests/golden/tools_lib.sh"
has() { grep -qF -- "$1" "$T/got" "$T/said" || fail "missing: $1"; }

# Three threads are cut off: one runs inside functions, one sleeps, one has nothing yet; a
# fourth was finished and moves the dead one.
make_trace "$T/t" <<'END'
thread n 1 1 ovni.finished= bpf.events="3" ovni.mark={"0":{"title":"Function","chan_type":"stack","labels":{"1":"f","2":"g"}}} ovni.require={"ovni":"1.1.0","mpi":"1.0.0"}
10 OHx i32:0 i32:-1 u64:0
20 OM[ i64:1 i32:0
30 OM[ i64:2 i32:0
40 MS[
raw 0f 4f 48 70 00
thread n 1 2 ovni.finished=
15 OHx i32:1 i32:-1 u64:0
25 OHp u16:1 i32:0
26 KCO
thread n 1 3 ovni.finished=
thread n 1 4
16 OHx i32:-1 i32:-1 u64:0
35 OAr i32:2 i32:1
50 OAr i32:3 i32:1
60 OHe
END
# A stream that cannot be read is left out, and the copy says so, although all that it has is whole.
make_trace "$T/foreign" <<'END'
thread n 1 1
10 OHx i32:0 i32:-1 u64:0
60 OHe
thread n 1 2
raw 00
END
printf 'x' | dd of="$T/foreign/loom.n/proc.1/thread.2/stream.obs" conv=notrunc 2>/dev/null
for again in "--repair -o $T/left $T/foreign" "$T/left"; do
	status=0
	# shellcheck disable=SC2086 # several words
	"$B/bin/ovni-check" $again >"$T/got" 2>"$T/said" || status=$?
	[ $status = 3 ] || fail "a stream is left out: status $status, not 3"
	has "it was made from an incomplete trace: 1 stream could not be read"
done

cp -r "$T/t" "$T/before"
repair -o "$T/mended" "$T/t"
[ $status = 3 ] || fail "status $status, not 3 (valid, but incomplete)"
diff -r "$T/t" "$T/before" || fail "the original has changed"
has "incomplete: a repair closed 4 streams after a crash: later events are missing"
"$B/bin/ovni-dump" -x -s "$T/mended" | sed 's/  loom.n.proc.1.thread/ /; s/^ *//' >"$T/dump"
cat >"$T/want" <<'END'
10  OHx .1  :00:00:00:00:ff:ff:ff:ff:00:00:00:00:00:00:00:00
20  OM[ .1  :01:00:00:00:00:00:00:00:00:00:00:00
30  OM[ .1  :02:00:00:00:00:00:00:00:00:00:00:00
40  MS[ .1  
40  MS] .1  
40  OM] .1  :02:00:00:00:00:00:00:00:00:00:00:00
40  OM] .1  :01:00:00:00:00:00:00:00:00:00:00:00
40  OHe .1  
15  OHx .2  :01:00:00:00:ff:ff:ff:ff:00:00:00:00:00:00:00:00
25  OHp .2  :01:00:00:00:00:00
26  KCO .2  
26  KCI .2  
26  OHw .2  
26  OAs .2  :ff:ff:ff:ff
26  OHr .2  
26  OHe .2  
10  OHx .3  :ff:ff:ff:ff:ff:ff:ff:ff:00:00:00:00:00:00:00:00
10  OHe .3  
16  OHx .4  :ff:ff:ff:ff:ff:ff:ff:ff:00:00:00:00:00:00:00:00
35  OAr .4  :02:00:00:00:01:00:00:00
60  OHe .4  
END
diff "$T/want" "$T/dump" || fail "the mended streams"
"$B/bin/ovni-check" --strict "$T/mended" >"$T/got" && fail "a mended trace was taken for complete"
repair "$T/mended"
[ $status = 3 ] || fail "a second repair gives status $status"
[ -d "$T/mended.repaired" ] || fail "the default output is not TRACE.repaired"
repair -o "$T/mended" "$T/t"
[ $status = 1 ] || fail "an output that exists gives status $status"
repair --in-place "$T/t"
[ $status = 3 ] || fail "--in-place gives status $status"
for i in 1 2 3 4; do
	cmp "$T/t/loom.n/proc.1/thread.$i/stream.obs" "$T/mended/loom.n/proc.1/thread.$i/stream.obs"
done
find "$T" -name '.stream*' | grep . && fail "temporary files were left behind"

# A program of libovni that was killed has no CPUs in its metadata, which come at its end.
make_trace "$T/killed" <<'END'
thread n 1 1 ovni.finished= ovni.loom_cpus= ovni.app_id= ovni.require=
10 OHx i32:3 i32:-1 u64:0
20 VS[
END
repair "$T/killed"
[ $status = 3 ] || fail "without CPUs: status $status"

# Kill points: valid traces whose streams are cut anywhere.
python3 - "$CONFORMANCE/emu" "$B/bin/ovni-check" "$T/kill" <<'END'
import glob, json, os, random, shutil, subprocess, sys
vectors, check, top = sys.argv[1:]
random.seed(7)
tried = beyond = 0
for case in sorted(glob.glob(vectors + "/*/case.json")):
    folder, meta = os.path.dirname(case), json.load(open(case))
    if meta["kind"] != "ok" or meta["flags"] or not os.path.isdir(folder + "/trace"):
        continue
    if meta["models"] != ["ovni"] and meta["models"] != ["ovni", "kernel"]:
        continue
    for _ in range(4):
        shutil.rmtree(top, ignore_errors=True)
        shutil.copytree(folder + "/trace", top + "/t")
        cut = False
        for path in glob.glob(top + "/t/**/stream.obs", recursive=True):
            size = os.path.getsize(path)
            if random.random() < 0.7:
                os.truncate(path, random.randrange(size + 1))
                name = os.path.dirname(path) + "/stream.json"
                try:
                    doc = json.load(open(name))
                except ValueError:
                    continue # with comments
                doc["ovni"].pop("finished", None)
                json.dump(doc, open(name, "w"))
                cut = True
        if not cut:
            continue
        run = subprocess.run([check, "--repair", top + "/t"], capture_output=True, text=True)
        tried += 1
        if run.returncode != 3:
            beyond += 1
            print(meta["name"], run.returncode, run.stdout[-600:], run.stderr[-300:])
print("%d kill points, %d beyond repair" % (tried, beyond))
sys.exit(beyond > 0 or tried < 40)
END
