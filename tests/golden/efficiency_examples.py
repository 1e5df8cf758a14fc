#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
efficiency_examples: what ovni-report says about the worked examples of efficiency.md 5.

    efficiency_examples.py OVNI-REPORT OVNI-CUT DIR       DIR as efficiency_make.py writes it

The expected figures are those of the page, to three decimals; text and JSON must have the same.
"""
import json
import subprocess
import sys

US = 1000

# of the page: E, U of each rank, C I S L D, factors
WANTED = {
    "A": dict(window=1000, useful=[800, 600, 400, 200], sums=[2000, 0, 0, 0, 0],
              parallel_efficiency=0.500, load_balance=0.625, communication_efficiency=0.800,
              load_balance_in_nodes=0.875, load_balance_between_nodes=0.714,
              mpi_parallel_efficiency=0.500, mpi_load_balance=0.625, mpi_communication_efficiency=0.800,
              openmp_parallel_efficiency=None, on_cpu_efficiency=1, os_efficiency=1, blocking_efficiency=1,
              true_load_balance=0.625, true_parallel_efficiency=0.500, mpi_on_cpu=1,
              transfer_estimate=0.800, serialisation_estimate=1, os_loss=0, culprits={}),
    "B": dict(window=1000, useful=[800, 800], sums=[400, 0, 0, 0, 0],
              parallel_efficiency=0.800, load_balance=1, communication_efficiency=0.800,
              load_balance_in_nodes=1, load_balance_between_nodes=1,
              mpi_parallel_efficiency=0.800, mpi_load_balance=1, mpi_communication_efficiency=0.800,
              openmp_parallel_efficiency=None, on_cpu_efficiency=0.906, os_efficiency=0.935,
              blocking_efficiency=0.969, true_load_balance=0.906, true_parallel_efficiency=0.725,
              mpi_on_cpu=0.505, transfer_estimate=0.800, serialisation_estimate=1, os_loss=0,
              culprits={"other process": (100000, "noise (99)")}),
    "C": dict(window=1000, useful=[1200, 1500], sums=[200, 200, 600, 100, 200],
              parallel_efficiency=0.675, load_balance=0.750, communication_efficiency=0.900,
              load_balance_in_nodes=1, load_balance_between_nodes=1,
              mpi_parallel_efficiency=0.900, mpi_load_balance=1, mpi_communication_efficiency=0.900,
              openmp_parallel_efficiency=0.750, openmp_serial_efficiency=0.833, openmp_load_balance=0.967,
              openmp_scheduling_efficiency=0.931, on_cpu_efficiency=1, os_efficiency=1, blocking_efficiency=1,
              true_load_balance=0.750, true_parallel_efficiency=0.675, mpi_on_cpu=1,
              transfer_estimate=0.900, serialisation_estimate=1, os_loss=0, culprits={}),
    "D": dict(window=870, useful=[700, 750], sums=[290, 0, 0, 0, 0],
              parallel_efficiency=0.833, load_balance=0.967, communication_efficiency=0.862,
              load_balance_in_nodes=0.967, load_balance_between_nodes=1,
              mpi_parallel_efficiency=0.833, mpi_load_balance=0.967, mpi_communication_efficiency=0.862,
              openmp_parallel_efficiency=None, on_cpu_efficiency=0.897, os_efficiency=0.897,
              blocking_efficiency=1, true_load_balance=0.929, true_parallel_efficiency=0.747, mpi_on_cpu=1,
              transfer_estimate=0.977, serialisation_estimate=0.882, os_loss=0.172,
              culprits={"not recorded": (150000, "")}),
}
TALP = {
    "A": dict(parallel_efficiency=0.500), "B": dict(parallel_efficiency=0.800),
    "C": dict(parallel_efficiency=0.675, openmp_parallel_efficiency=0.725, openmp_serial_efficiency=0.784,
              openmp_load_balance=0.974, openmp_scheduling_efficiency=0.950),
    "D": dict(parallel_efficiency=0.833),
}
PHASES = [dict(parallel_efficiency=0.854, load_balance=0.875, communication_efficiency=0.976),
          dict(parallel_efficiency=0.815, load_balance=0.833, communication_efficiency=0.978)]
SUMS = ("mpi", "idle_in_mpi", "serial", "imbalance", "scheduling")
LABELS = {"True parallel efficiency": "true_parallel_efficiency", "Parallel efficiency": "parallel_efficiency",
          "Load balance": "load_balance", "Communication efficiency": "communication_efficiency",
          "MPI parallel efficiency": "mpi_parallel_efficiency", "On-CPU efficiency": "on_cpu_efficiency",
          "OpenMP parallel efficiency": "openmp_parallel_efficiency", "Serial parts": "openmp_serial_efficiency",
          "Scheduling": "openmp_scheduling_efficiency", "OS efficiency": "os_efficiency",
          "Blocking efficiency": "blocking_efficiency", "MPI time on a CPU": "mpi_on_cpu"}


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 0, (args, done.returncode, done.stdout, done.stderr)
    return done.stdout


def report(*args):
    return json.loads(run(REPORT, "efficiency", "--json", *args))


def three(value):
    return None if value is None else "%.3f" % value


def check_factors(what, metrics, wanted):
    for name, value in wanted.items():
        assert three(metrics[name]) == three(value), (what, name, metrics[name], value)


def check_text(name, got):
    """Every line of the tree has the number, or the reason, of the object."""
    seen = 0
    for line in run(REPORT, "efficiency", "%s/%s" % (DIR, name)).splitlines():
        label, rest = line[:35].strip(), line[35:]
        metric = LABELS.get(label)
        if not metric:
            continue
        if line.startswith("      ") and label in ("Load balance", "Communication efficiency"):
            metric = "mpi_" + metric if "in nodes" in line or "transfer*" in line else "openmp_" + metric
        value = got["metrics"][metric]
        assert rest.startswith("not available: " + got["unavailable"][metric] if value is None else three(value)), \
            (name, line, value)
        seen += 1
    assert seen >= 8, (name, seen)


def sums_of(got):
    """Times by rank, and in all, of a trace or of parts of it."""
    times = {}
    for r in got["ranks"]:
        for key, value in list(r["times"].items()) + [("window", r["window"])]:
            if value is not None:
                times[r["rank"], key] = value
    return times


def added(parts):
    out = {}
    for part in parts:
        for key, value in sums_of(part).items():
            out[key] = out.get(key, 0) + value
    return out


def check(name):
    wanted = dict(WANTED[name])
    got = report("%s/%s" % (DIR, name))
    assert got["window"] == wanted.pop("window") * US, (name, got["window"])
    assert [r["times"]["useful"] for r in got["ranks"]] == [u * US for u in wanted.pop("useful")], name
    assert [got["times"][key] for key in SUMS] == [t * US for t in wanted.pop("sums")], (name, got["times"])
    for r in got["ranks"]:
        t = r["times"]
        assert sum(t[key] for key in SUMS) + t["useful"] == r["team"] * r["window"], (name, r)
    culprits = {c["class"]: (c["ns"], c["most"]) for c in got["culprits"] if c["ns"]}
    assert culprits == wanted.pop("culprits"), (name, culprits)
    check_factors(name, got["metrics"], wanted)
    check_text(name, got)
    talp = report("--model=talp", "%s/%s" % (DIR, name))
    assert talp["model"] == "talp" and talp["times"] == got["times"]
    check_factors(name + " --model=talp", talp["metrics"], TALP[name])
    # the same from parts: of one trace, and of what ovni-cut makes of it
    for number, middle in enumerate((5, 150, 505, 845)):
        clock = str(10**12 + middle * US)
        parts = [report("--to", clock, "%s/%s" % (DIR, name)), report("--from", clock, "%s/%s" % (DIR, name))]
        assert added(parts) == sums_of(got), (name, middle)
        cut = ["%s/cut%s%d%s" % (DIR, name, number, half) for half in "ab"]
        run(CUT, "--to", clock, "-o", cut[0], "%s/%s" % (DIR, name))
        run(CUT, "--from", clock, "-o", cut[1], "%s/%s" % (DIR, name))
        parts = [report("--window", "recording", part) for part in cut]
        total = added(parts)
        for (rank, key), value in sums_of(got).items():
            if name == "C" and key not in ("useful", "useful_run", "mpi", "window"):
                continue  # a part without a region does not know the team
            assert total.get((rank, key), 0) == value, (name, middle, rank, key, total.get((rank, key)), value)


def main():
    for name in WANTED:
        check(name)
    for options in (("--phase", "collectives", DIR + "/D"), ("--phase=mark:7", DIR + "/marks"),
                    ("--every=410us", DIR + "/D")):
        got = report(*options)
        phases = got["phases"]
        assert sum(p["times"]["useful"] for p in phases) == got["times"]["useful"], options
        for phase, wanted in list(zip(phases, PHASES))[:1 if "--every=410us" in options else 2]:
            check_factors(options, phase["metrics"], wanted)
        rows = run(REPORT, "efficiency", "--csv", *options).splitlines()
        assert len(rows) == len(phases) + 1, (options, rows)
        for row, phase in zip(rows[1:], phases):
            cells = dict(zip(rows[0].split(","), row.split(",")))
            for key in PHASES[0]:
                assert cells[key] == "%.6f" % phase["metrics"][key], (options, cells, phase["metrics"])
    labels = [p["phase"] for p in report("--phase=mark:7", DIR + "/marks")["phases"]]
    assert labels == ["first", "second"], labels
    rows = [dict(zip(HEAD, r.split(","))) for r in CSV[1:]]
    got = report(DIR + "/C")
    for row, r in zip(rows, got["ranks"]):
        assert int(row["useful"]) == r["times"]["useful"] and int(row["team"]) == r["team"], (row, r)


REPORT, CUT, DIR = sys.argv[1:4]
CSV = run(REPORT, "efficiency", "--csv", DIR + "/C").splitlines()
HEAD = CSV[0].split(",")
main()
