# SPDX-License-Identifier: MIT
"""
export_tables: asks a database of ovni-export the questions of docs/export.md, and compares each
answer with ovni-report; and the files of --csv with the database.

    export_tables.py BIN DOCS TRACE DATABASE CSV [--culprits] [OPTIONS of ovni-report]

--culprits: also those of preempt, which need a trace with all threads and the clocks of moves.
"""
import collections
import csv
import os
import re
import sqlite3
import subprocess
import sys

bin_dir, docs, trace, database, folder, *options = sys.argv[1:]
culprits = "--culprits" in options
options = [option for option in options if option != "--culprits"]
questions = {re.search(r"\((\w+)\)$", text.split("\n")[0]).group(1) + str(i): text
             for i, text in enumerate(re.findall(r"```sql\n(.*?)```", open(docs, encoding="utf-8").read(), re.S))}
db = sqlite3.connect(database)
db.row_factory = sqlite3.Row
wrong = []


def ask(name):
    found = [text for key, text in questions.items() if key.rstrip("0123456789") == name]
    rows = []
    for text in found:
        *before, question = [part for part in text.split(";\n") if part.strip()]
        for statement in before:
            db.execute(statement)
        rows.append([dict(row) for row in db.execute(question)])
    return rows


def report(name, *words):
    done = subprocess.run([bin_dir + "/ovni-report", name, "--csv", *words, *options, trace], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 3), name
    return list(csv.DictReader(done.stdout.decode().splitlines()))


def same(what, ours, theirs):
    ours, theirs = collections.Counter(ours), collections.Counter(theirs)
    if ours != theirs:
        wrong.append("%s: only in the tables %s, only in the report %s" % (what, list((ours - theirs).items())[:5],
                                                                       list((theirs - ours).items())[:5]))
    print("%s: %d rows" % (what, sum(ours.values())))


def number(text):
    return int(text) if text else None


def tid_of(shown):
    found = re.search(r"\((\d+)\)$", shown)
    return int(found.group(1)) if found else int(shown) if shown.isdigit() else None


latency = report("latency")
runs, waits = ask("latency")
same("run time", [(r["tid"], r["name"], r["run_ns"], r["runs"]) for r in runs],
     [(int(r["tid"]), r["name"], int(r["run_time"]), int(r["runs"])) for r in latency if r["runs"] != "0"])
same("waits", [(r["tid"], r["waits"], r["wait_ns"], r["longest_ns"]) for r in waits],
     [(int(r["tid"]), int(r["waits"]), int(r["wait_time"]), int(r["wait_max"])) for r in latency if r["waits"] != "0"])
states, calls, irqs = ask("why")
times = collections.Counter()  # a reason has a row for each system call
for row in report("why"):
    times[int(row["tid"]), row["state"], row["reason"]] += int(row["time"])
for row in states:
    times[row["tid"], row["state"], row["reason"]] -= row["ns"]
if any(times.values()):
    wrong.append("states: %s" % {key: ns for key, ns in times.items() if ns})
print("states: %d rows" % len(states))


def together(rows):
    """Times, sum and longest by key: the report has a row for each place in user code, too."""
    sums = {}
    for *key, times, ns, longest in rows:
        before = sums.get(tuple(key), (0, 0, 0))
        sums[tuple(key)] = (before[0] + times, before[1] + ns, max(before[2], longest))
    return [(*key, *row) for key, row in sums.items()]


same("system calls", together((r["tid"], r["reason"], r["call"], r["times"], r["ns"], r["longest_ns"]) for r in calls if r["ns"]),
     together((int(r["tid"]), r["reason"], r["call"], int(r["times"]), int(r["time"]), int(r["max"]))
              for r in report("why") if r["state"] == "asleep"))
same("interrupts", [(r["tid"], r["ns"]) for r in irqs if r["ns"]],
     [(int(r["tid"]), int(r["interrupts"])) for r in report("why") if r["interrupts"] not in ("", "0")])
paths = collections.Counter()  # stacks with the same functions are one line
for row in ask("stacks")[0]:
    paths[row["tid"], row["path"]] += row["ns"]
folded = subprocess.run([bin_dir + "/ovni-report", "stacks", *options, trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                        check=False).stdout.decode()
lines = [re.fullmatch(r".*\((\d+)\);(.*) (\d+)", line.replace("_[k]", "")) for line in folded.splitlines()]
reported = collections.Counter()  # the query is of sleeps: without the wakers that the report has behind them
for line in lines:
    if line[2] != "[no stack]":
        reported[int(line[1]), line[2].split(";[woken by]")[0]] += int(line[3])
same("stacks", [(*key, ns // 1000) for key, ns in paths.items() if ns >= 1000], [(*key, us) for key, us in reported.items()])
def io_rows():
    """The rows of ovni-report io with a device; it refuses a recording without requests."""
    if not db.execute("SELECT count(*) FROM requests").fetchone()[0]:
        return []
    return [r for r in report("io") if r["device"]]


same("requests", [(r["tid"], r["device"], r["sleeps"], r["writes"], r["bytes"], r["at_device_ns"], r["asleep_ns"]) for r in ask("io")[0]],
     [(int(r["tid"]), r["device"].split("(")[-1].rstrip(")"), int(r["sleeps"]), int(r["writes"]), int(r["bytes_read"]) + int(r["bytes_written"]),
       int(r["at_device"]), int(r["asleep"])) for r in io_rows()])
# each owner is that of locks: its share of the waits on an object
owners = collections.Counter()
for row in ask("locks")[0]:
    owners[row["lock_owner_tid"]] += row["ns"]
shown = collections.Counter()
for row in report("locks"):
    if row["owner"]:
        shown[int(row["owner"])] += int(row["total"]) * float(row["owner_percent"]) / 100
for tid, ns in shown.items():  # the first owner of each object; the tables have all
    if owners[tid] < ns * 0.99999 - 1:
        wrong.append("owner %d: %d ns in the tables, %d in the report" % (tid, owners[tid], ns))
print("owners: %d" % len(owners))
longest = sorted((int(r["wait"]) for r in report("timehist") if r["wait"]), reverse=True)[:10]
same("longest waits", [r["duration_ns"] for r in ask("timehist")[0]], longest)
same("wakers", [(r["waker_tid"], r["tid"], r["times"], r["longest_ns"]) for r in ask("wake")[0]],
     [(tid_of(r["waker"]), tid_of(r["woken"]), int(r["times"]), int(r["wait_max"])) for r in report("wake")
      if tid_of(r["waker"])])
same("functions", [(r["name"], r["type"], r["calls"], r["wall_ns"], r["on_cpu_ns"], r["runnable_ns"], r["asleep_ns"])
                   for r in ask("func")[0]],
     [(r["function"], r["type"], int(r["calls"]), int(r["wall"]), int(r["on_cpu"]), int(r["runnable"]), int(r["asleep"]))
      for r in report("func")])
sums = collections.Counter()
for row in report("cpu"):
    if row["who"] not in ("idle", "other threads", "other threads or idle", "unknown (lost)"):
        sums[row["loom"], int(row["cpu"])] += int(row["time"])
same("CPUs", [(r["loom"], r["cpu"], r["ns"]) for r in ask("cpu")[0] if r["ns"]], [(*key, ns) for key, ns in sums.items() if ns])
if culprits:
    ours, times = collections.Counter(), collections.Counter()
    for row in ask("preempt")[0]:
        ours[row["victim"], row["culprit"]] += row["ns"]
        times[row["victim"], row["culprit"]] += row["times"]
    theirs = collections.Counter()
    for row in report("preempt"):
        if row["ran"] and row["culprit"] not in ("idle", "not recorded", "CPU quota"):
            theirs[tid_of(row["victim"]), tid_of(row["culprit"])] += int(row["ran"])
    far = [(pair, ours[pair], theirs[pair], times[pair]) for pair in {*ours, *theirs}
           if not 0 <= theirs[pair] - ours[pair] <= 2 * times[pair] + 2]
    print("culprits: %d pairs" % len(ours))
    if far:
        wrong.append("culprits: %d differ: %s" % (len(far), far[:8]))
# a life has no gap, and no two states at a time
for thread, begin, end, total, parts in db.execute("""
        SELECT thread, min(begin_ns), max(end_ns), sum(duration_ns), count(*) FROM intervals
        WHERE duration_ns > 0 GROUP BY thread"""):
    if total != end - begin:
        wrong.append("thread %d: %d ns of states in %d ns" % (thread, total, end - begin))
for (name,) in list(db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")):
    rows = list(db.execute("SELECT * FROM " + name))
    with open(os.path.join(folder, name + ".csv"), encoding="utf-8", newline="") as file:
        head, *lines = list(csv.reader(file))
    if head != [column[1] for column in db.execute("PRAGMA table_info(%s)" % name)]:
        wrong.append("%s.csv: the columns %s" % (name, head))
    if lines != [["" if cell is None else str(cell) for cell in row] for row in rows]:
        wrong.append("%s.csv: other rows than the database" % name)
# the documented tables and columns are the real ones, in their order
documented = {}
for part in re.split(r"^(?=\*\*\w+\*\*)", open(docs, encoding="utf-8").read().split("## JSON")[0], flags=re.M)[1:]:
    rows = re.search(r"\| column \|.*?\n\n", part, re.S)
    names = [row.split("|")[1] for row in rows.group(0).split("\n")[2:-2]] if rows else re.findall(r"`(\w+)`", part.split("\n\n")[0])
    documented[re.match(r"\*\*(\w+)", part).group(1)] = [name.strip() for text in names for name in text.split(",")]
real = {name: [column[1] for column in db.execute("PRAGMA table_info(%s)" % name)]
        for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
if documented != real:
    wrong.append("docs/export.md has %s, the database %s" % (documented, real))
if db.execute("PRAGMA user_version").fetchone()[0] != 1 or db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
    wrong.append("version or integrity of the database")
sys.exit("\n".join(wrong) or None)
