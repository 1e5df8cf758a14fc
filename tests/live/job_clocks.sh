#!/bin/bash
# SPDX-License-Identifier: MIT
#
# ovni-job measures the clocks again while the ranks run, in a Slurm of two nodes whose clocks are 1000 s apart: each
# measurement is within its bound of the truth, in order, and between those of the table, whose bound is the largest.
# The first is after twice the time of --clock-interval; with the default a short job has none. Wrong measurements are found.
# Without a table, CLOCK_REALTIME of the nodes, which is the same here, gives the same duration, if it is asked for.
# needs: root alone
# long: needs Slurm
set -u
cd "$T" || exit 1
. "$S/tests/live/lib.sh"
. "$S/tests/live/job_lib.sh"
ovni_job_cluster
cat >judge.py <<'P'
every = int(sys.argv[3]) * 10**9
rows = {words[1]: [int(float(w)) for w in words[2:]] for words in (line.split() for line in open(folder + "/clock-offsets.txt")) if words[0] != "rank"}
first, _, _, begin, end, last, bound = rows["n2"]
check(all(node["state"] == "complete" for node in nodes.values()), nodes)
check("clock_points" not in nodes["n1"], "measurements of the reference", nodes["n1"])
points = [[int(p[key]) for key in ("clock", "offset", "bound")] for p in nodes["n2"].get("clock_points", [])]
print(len(points), "measurements between both ends of", (end - begin) / 1e9, "s")
check((len(points) > 1) == bool(every), points)
before = begin
for clock, offset, own in points:
    true = truth["n2"] - truth["n1"]
    check(before < clock < end, "clocks", before, clock, end)
    check(clock - begin > 2 * every and (before == begin or clock - before >= 0.9 * every), "too early:", clock - begin, clock - before)
    check(abs(offset - true) <= own <= bound, "offset", offset, "+-", own, "true:", true, "bound of the table:", bound)
    before = clock
verdict()
P
judged() { cat "$S/tests/live/job_facts.py" judge.py >judge.script; python3 judge.script "$1" "$cluster/truth" "$2" >found 2>&1; }

# ranks that sleep: on a busy node no measurement between both ends counts
cat >sleeper <<'X'
#!/bin/sh
until [ -e go ]; do sleep 0.1; done
X
chmod +x sleeper
measured() { awk '$2 == "n2" { print $7 }' t/clock-offsets.txt >>ends && [ "$(sort -u ends | wc -l)" -ge 3 ]; }
wrapper='nice -n -20'
start t --clock-interval 2s
ranks ./sleeper >out 2>log &
sleepers=$!
wait_for "measurements while the ranks run" measured
touch go
wait $sleepers
ended 0 "the ranks" log
wait $job
ended 0 "ovni-job" t.log
judged t 2
ended 0 "measurements between both ends" found
cat found
"$EMULATOR" -q t >emu.log 2>&1
ended 0 "the emulator accepts them" emu.log
cp -r t damaged
sed -i 's/"offset": ".*"/"offset": "-1005000000000"/' damaged/node/n2.json
"$EMULATOR" -q damaged >emu.log 2>&1
ended 1 "measurements that are 5 s wrong" emu.log
expect "by name: $(cat emu.log)" grep -q 'error: node/n2.json: clock_points' emu.log
expect "wrong measurements are not found" eval '! judged damaged 2'

# ---- the default ----
start short
ranks ./app 20 0 >out 2>log
ended 0 "the application" log
wait $job
ended 0 "ovni-job" short.log
judged short 0
ended 0 "only both ends" found
"$EMULATOR" -q -o with short >emu.log 2>&1
ended 0 "with the table" emu.log
bound=$(awk '$2 == "n2" { print $9 }' short/clock-offsets.txt)
rm short/clock-offsets.txt
"$EMULATOR" -q --clock=realtime -o without short >emu.log 2>&1
ended 0 "by CLOCK_REALTIME" emu.log
expect "said: $(cat emu.log)" grep -q 'the clocks of 2 nodes are compared by CLOCK_REALTIME: .* not bounded' emu.log
lasts() { sed -n '1s/.*:\([0-9]*\)_ns:.*/\1/p' "$1/thread.prv"; }
by=$((10#$(lasts with) - 10#$(lasts without)))
echo "the durations by the table and by CLOCK_REALTIME differ by $by ns, bound $bound ns"
expect "the durations differ by $by ns" [ "${by#-}" -lt $((bound + 1000000)) ]
finish
