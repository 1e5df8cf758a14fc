# SPDX-License-Identifier: MIT
"""
chrome_oracle: what the real trace_processor says of a file of `ovni-export --chrome`, against the tables of --sqlite.

    chrome_oracle.py FOLDER FILE DATABASE

FOLDER has the engine (perfetto_query.mjs). Compared are its own statistics of errors; number and total time of the slices of each
thread and state, of the runs of each thread, of each function; the wake-ups; the losses.
"""
import os
import re
import sqlite3
import subprocess
import sys

folder, path, database = sys.argv[1:]
# Asynchronous slices have no thread.
PAIRS = [
    ("select name, idx, value from stats where severity <> 'info' and value > 0", None),
    ("select t.name, s.name, count(), sum(dur) from slice s join thread_track k on k.id = s.track_id join thread t using(utid)"
     " where category = 'state' group by 1, 2",
     "select SHOWN, state, count(*), sum(duration_ns) from intervals join threads using (thread) group by 1, 2"),
    ("select name, count(), sum(dur) from slice where category = 'run' group by 1",
     "select NAMED, count(*), sum(duration_ns) from intervals join threads using (thread) where state = 'running' and cpu >= 0 group by 1"),
    ("select name, category, count(), sum(dur), sum(extract_arg(arg_set_id, 'args.open_at_end')) from slice where category not in"
     " ('state', 'run', 'lost', 'wakeup', 'mark') group by 1, 2",
     "select f.name, f.type, count(*), sum(duration_ns), nullif(sum(not returned), 0) from regions join functions f using (function) group by 1, 2"),
    ("select t.name, count() from slice s join thread_track k on k.id = s.track_id join thread t using(utid) where category = 'wakeup' group by 1",
     "select SHOWN, count(*) from waits join threads using (thread) where waker_kind <> 'stayed' group by 1"),
    ("select count(), sum(dur), sum(extract_arg(arg_set_id, 'args.events')) from slice where category = 'lost'",
     "select count(*), sum(end_ns - begin_ns), sum(events) from losses"),
    ("select count() from slice where dur < 0", "select 0"),
]
db = sqlite3.connect(database)
first = db.execute("select loom from threads order by loom like 'loomsim.%', loom limit 1").fetchone()[0]
named = "iif(threads.name = '', threads.tid, threads.name)"
shown = ("(%s || iif(loom = '%s' and (select count(*) from threads o where o.loom = threads.loom and o.tid = threads.tid) = 1, '',"
         " ' (' || tid || ')'))" % (named, first.replace("'", "''")))
run = subprocess.run(["node", os.path.dirname(os.path.abspath(__file__)) + "/perfetto_query.mjs", folder, path, *(ours for ours, _ in PAIRS)],
                     capture_output=True, text=True, check=False)
if run.returncode:
    sys.exit(run.stderr[-2000:])
answers = [[]]
for line in run.stdout.splitlines():
    if line == "--":
        answers.append([])
    elif line.startswith("="):
        answers[-1].append(tuple(line[1:].split("\t")))
wrong = 0
for (sql, theirs), rows in zip(PAIRS, answers):
    wanted = [tuple("null" if cell is None else str(cell) for cell in row)
              for row in db.execute(re.sub("NAMED", lambda _: named, re.sub("SHOWN", lambda _: shown, theirs)))] if theirs else []
    if sorted(rows) != sorted(wanted):
        wrong = print("%s: %s, expected %s" % (sql, sorted(set(rows) - set(wanted))[:4], sorted(set(wanted) - set(rows))[:4])) or 1
sys.exit(wrong)
