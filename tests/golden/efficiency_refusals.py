#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
efficiency_refusals: every row of efficiency.md 6: the sentence, null in JSON, and the rest still there.

    efficiency_refusals.py OVNI-REPORT DIR
"""
import json
import os
import shutil
import subprocess
import sys

import tools_make
import efficiency_make
from efficiency_make import example_a

REPORT, DIR = sys.argv[1:3]
OFFSETS = "rank hostname offset_median offset_mean offset_std\n0 a 0 0 0 1 9 0 0\n1 b 0 0 0 1 9 0 %d\n"
RUN = "`0 OHx`, `1 MUi`, `10 MUI`, %s`1010 MUf`, `1020 MUF`, `1030 OHe`"
CALL = "`810 MAr`, `1010 MAR`, "
TEAM = "`210 PCf`, `210 PMu`, `710 PMU`, `810 PCF`, "
WORKER = "`5 OHx`, `210 PMu`, `610 PMU`, `1022 OHe`"
OS = ("on_cpu_efficiency", "os_efficiency", "blocking_efficiency", "true_parallel_efficiency")
MPI = ("mpi_parallel_efficiency", "mpi_load_balance", "mpi_communication_efficiency", "parallel_efficiency",
       "load_balance_in_nodes", "load_balance_between_nodes", "transfer_estimate", "serialisation_estimate")
OPENMP = ("openmp_parallel_efficiency", "openmp_serial_efficiency", "openmp_load_balance",
          "openmp_scheduling_efficiency")
STARS = ("transfer_estimate", "serialisation_estimate", "wait_for_last", "os_loss")


def thread(*args, comm=tools_make.WORLD, **more):
    return efficiency_make.thread(*args, comm=comm, **more)


def ranks(n, events=RUN % CALL, nranks=None, meta="", comm=tools_make.WORLD):
    lines = []
    for rank in range(n):
        lines += thread("a", 10 + rank, 10 + rank, events, rank, rank, nranks or n, meta, comm=comm)
    return lines


def report(name, lines, *options, files=()):
    trace = os.path.join(DIR, name.replace(" ", "-"))
    shutil.rmtree(trace, ignore_errors=True)
    tools_make.main(trace, lines)
    for text in files:
        with open(os.path.join(trace, "clock-offsets.txt"), "w", encoding="utf-8") as file:
            file.write(text)
    out = {}
    for form in ((), ("--json",)):
        done = subprocess.run([REPORT, "efficiency", *form, *options, trace], capture_output=True, text=True)
        assert done.returncode == 0, (name, done.stderr)
        out[bool(form)] = done.stdout
    return out[False], json.loads(out[True])


def refused(name, reason, metrics, lines, *options, rest=(), files=()):
    text, got = report(name, lines, *options, files=files)
    assert "not available: " + reason in text, (name, text)
    for metric in metrics:
        assert got["metrics"][metric] is None, (name, metric, got["metrics"][metric])
        assert got["unavailable"][metric] == reason, (name, metric, got["unavailable"][metric])
    for metric in rest:
        assert got["metrics"][metric] is not None, (name, metric, got["unavailable"])
    return text, got


def main():
    # everything
    everything = OS + MPI + OPENMP + STARS + ("interrupts", "ipc_scaling")
    _, got = refused("nothing", "no process has a rank, and none has a parallel region of OpenMP", everything,
                     thread("a", 10, 10, "`0 OHx`, `1030 OHe`"))
    assert all(v is None for v in got["times"].values()) and got["culprits"] is None, got["times"]
    refused("no calls", "calls of MPI are not recorded (--api mpi), and no rank has a parallel region of OpenMP",
            everything, ranks(2, "`0 OHx`, `1030 OHe`"))
    refused("no switches", "switches are not recorded (--events without switch)", everything,
            ranks(2, meta='bpf.session.kinds_off=["switch","wake"]'))
    hint = " (--window recording takes the recorded part)"
    late = ranks(1, "`0 OHx`, `810 MAr`, `1010 MAR`, `1010 MUf`, `1020 MUF`, `1030 OHe`")
    early = ranks(1, "`0 OHx`, `1 MUi`, `10 MUI`, `810 MAr`, `1010 MAR`, `1030 OHe`")
    refused("late", "the recording began after MPI_Init of rank 0" + hint, everything, late)
    refused("early", "the recording ended before MPI_Finalize of rank 0" + hint, everything, early)
    refused("in init", "the recording ended in MPI_Init of rank 0" + hint, everything,
            ranks(1, "`0 OHx`, `1 MUi`, `1030 OHe`"))
    for name, lines, window in (("late", late, 1010), ("early", early, 1020)):
        text, got = refused(name + " recording", "the windows are those of the recording (--window)", STARS, lines,
                            "--window", "recording", rest=OS + MPI[:4])
        assert got["window"] == window * 1000 and "of the recording" in text, (name, got["window"], text)
        assert "The windows are those of the recording" in text, text
    summary = os.path.join(DIR, "x.stats.json")
    open(summary, "w").close()
    done = subprocess.run([REPORT, "efficiency", summary], capture_output=True, text=True)
    assert done.returncode == 1 and "efficiency needs the events of a trace" in done.stderr, done

    # MPI
    refused("no mpi", "calls of MPI are not recorded (--api mpi)", MPI,
            thread("a", 10, 10, "`0 OHx`, " + TEAM + "`1030 OHe`", 0, 0, 2) +
            thread("a", 10, 11, WORKER, 1), rest=OPENMP)
    refused("dropped", "the recorder left out 5 calls (--max-rate, --sample-calls)", MPI + OS,
            ranks(1, meta='bpf.session.account=[{"cpu":0,"probe":{"sampled":"5"}}]'))
    refused("missing", "2 of 4 ranks are in the trace (--partial takes these)", MPI, ranks(2, nranks=4),
            rest=OS[:3])
    refused("missing partial", "2 of 4 ranks are in the trace", STARS, ranks(2, nranks=4), "--partial",
            rest=OS + MPI[:6])
    refused("twice", "rank 0 is there twice: processes 10 and 20", MPI,
            ranks(1) + thread("a", 20, 20, RUN % CALL, 1, 0, 1), rest=OS[:3])
    lines = ranks(2, meta="ovni.loom=")
    refused("no node", "rank 0 has no node", MPI[4:6], lines, rest=MPI[:4])
    _, got = report("one node", ranks(2))
    assert got["metrics"]["load_balance_between_nodes"] == 1, got["metrics"]

    # the job of somebody else is left out, of a recording of a command and the whole machine
    mine = [line.replace(" ovni.require.bpf", " bpf.parent=5 ovni.require.bpf") for line in ranks(2)]
    other = [line.replace("thread a 1", "thread a 2").replace(" ovni.require.bpf", " bpf.parent=1 ovni.require.bpf")
             for line in ranks(2, RUN % "`20 MAr`, `1010 MAR`, ")]
    other = [line.replace(" 10 bpf", " 20 bpf").replace(" 11 bpf", " 21 bpf") for line in other]
    machine = thread("a", 4, 4, "`0 OHx 2`, `1030 OHe`", meta='bpf.name="ovni-bpf"') + \
        thread("a", 5, 5, "`0 OHx 3`, `1030 OHe`", meta='bpf.name="mpirun" bpf.parent=4')
    _, got = report("other job", mine + other + machine)
    assert got["nranks"] == 2 and got["metrics"]["parallel_efficiency"] == 0.8, (got["nranks"], got["unavailable"])
    assert got["metrics"]["transfer_estimate"] is not None, got["unavailable"]
    refused("two jobs", "rank 0 is there twice: processes 10 and 20", MPI, mine + other)

    # OpenMP: without it, of what the ranks did nothing is known but their calls
    refused("no openmp", "OpenMP is not recorded (--api openmp)", OPENMP, ranks(2), rest=MPI)
    worker = thread("a", 10, 11, WORKER, 1)
    useful = OPENMP + OS + ("parallel_efficiency",)
    refused("stripped", "the work in parallel regions is not recorded: the program has no symbols", useful,
            ranks(1, RUN % ("`210 PCf`, `810 PCF`, " + CALL)), rest=MPI[:3])
    refused("nested", "process 10 has nested parallel regions, or regions of several threads", useful,
            ranks(1, RUN % ("`210 PCf`, `210 PMu`, `300 PCf`, `400 PCF`, `710 PMU`, `810 PCF`, " + CALL)) + worker,
            rest=MPI[:3])
    refused("of a worker", "process 10 has nested parallel regions, or regions of several threads", useful,
            ranks(1, RUN % (TEAM + CALL)) +
            thread("a", 10, 11, "`5 OHx`, `210 PMu`, `300 PCf`, `400 PCF`, `610 PMU`, `1022 OHe`", 1), rest=MPI[:3])
    refused("left", "a thread of process 10 left its team within a region", useful,
            ranks(1, RUN % (TEAM + CALL)) + thread("a", 10, 11, "`5 OHx`, `210 PMu`, `600 OHe`", 1), rest=MPI[:3])
    refused("tasks", "no rank has a parallel region in its window", OPENMP,
            ranks(1, RUN % ("`210 PT[`, `310 PT]`, " + CALL)), rest=MPI + OS)

    # MPI from several threads
    text, got = refused("several", "several threads of a rank call MPI", STARS,
                        ranks(1, RUN % (TEAM + CALL)) +
                        thread("a", 10, 11, "`5 OHx`, `210 PMu`, `300 MR[`, `400 MR]`, `610 PMU`, `850 MR[`, "
                               "`900 MR]`, `1022 OHe`", 1), rest=MPI[:4] + OPENMP)
    assert "Several threads of a rank call MPI" in text, text
    t = got["times"]
    # the worker is in MPI for 100 in the region and 50 while its master is
    assert (t["mpi"], t["idle_in_mpi"], t["serial"]) == (350000, 150000, 200000), t
    assert sum(t[n] for n in ("useful", "mpi", "idle_in_mpi", "serial", "imbalance", "scheduling")) == 2000000, t

    # the factor of the operating system
    refused("kernel model", "the trace has no wake-ups: its states are those of --kernel-model", OS,
            ranks(2, RUN.replace("`10 MUI`,", "`10 MUI`, `20 KCO`, `50 KCI`,") % CALL), rest=MPI[:4])
    for options in ('["-t","12"]', '["--tid=12"]'):
        refused("threads", "not all threads are recorded (-t, --sample)", OS,
                ranks(2, meta="bpf.session.options=" + options), rest=MPI[:4])
    refused("sample", "not all threads are recorded (-t, --sample)", OS, ranks(2, meta='bpf.session.sampling="1/2"'),
            rest=MPI[:4])
    # 20 of 800 us are unknown: 700 of them ran, 80 waited
    unknown = RUN % ("`100 OHp 6,0,20`, `100 OHw -1`, `100 OHr`, `200 OHp 6,0`, `200 OHw -1`, `280 OHr`, " + CALL)
    text, got = report("unknown", ranks(1, unknown))
    assert got["bounds"]["os_efficiency"] == [0.875, 0.9], got["bounds"]
    assert got["bounds"]["on_cpu_efficiency"] == [0.875, 0.9], got["bounds"]
    assert got["metrics"]["os_efficiency"] is None and got["metrics"]["true_load_balance"] is None
    assert "0.875 to 0.900" in text, text
    few = unknown.replace("6,0,20", "6,0,2")
    _, got = report("few unknown", ranks(1, few))
    assert got["metrics"]["os_efficiency"] is not None and not got["bounds"], got["bounds"]
    refused("interrupts", "not recorded", ("interrupts",), ranks(2), rest=OS)
    # the names of takers alone
    text, got = report("takers", ranks(1, RUN % ("`100 OHp 6,77`, `100 OHw -1`, `200 OHr`, " + CALL),
                                       meta='bpf.names={"77":"stress"}'))
    assert "first taker: stress (77)" in text and "only the first thread" in text, text
    assert [c["ns"] for c in got["culprits"] if c["class"] == "not recorded"] == [100000], got["culprits"]

    # the estimates of collectives
    refused("others", "not all calls are collectives of all ranks", STARS,
            ranks(2, RUN % (CALL.replace("MAr", "MR[").replace("MAR", "MR]"))), rest=MPI[:6])
    assert report("no communicators", ranks(2, comm=0))[1]["metrics"]["transfer_estimate"] is not None
    refused("a copy", "a collective has a communicator that is not MPI_COMM_WORLD (--api mpi-messages knows copies of it)",
            STARS, ranks(2, comm=7), rest=MPI[:6])
    mixed = ranks(2, RUN % "`200 MCb`, `300 MCB`, `810 MAr`, `1010 MAR`, ")
    assert report("mixed", mixed)[1]["metrics"]["transfer_estimate"] is not None
    at = [i for i, line in enumerate(mixed) if " OM= " in line][0]
    mixed[at] = mixed[at].replace(str(tools_make.WORLD), "7")
    refused("mixed", "a collective has a communicator that is not MPI_COMM_WORLD (--api mpi-messages knows copies of it)",
            STARS, mixed, rest=MPI[:6])
    # of a function of Fortran the communicator stands within the call
    fortran = []
    for line in ranks(2):
        if "M" == line.split()[1][0] and line.split()[1] in tools_make.SYNCHRONISING:
            world = fortran.pop()
            fortran += [line, "%d %s" % (int(line.split()[0]) + 1, world.split(" ", 1)[1])]
        else:
            fortran.append(line)
    assert report("Fortran", fortran)[1]["metrics"]["transfer_estimate"] is not None
    refused("none", "the program calls no collective of all ranks", STARS, ranks(2, RUN % ""), rest=OS)
    different = [line.replace("MAr", "MCb").replace("MAR", "MCB") for line in ranks(2)[9:]]
    refused("different", "the ranks call different sequences of collectives", STARS, ranks(2)[:9] + different)
    refused("more calls", "the ranks call different sequences of collectives", STARS,
            ranks(2)[:9] + thread("a", 11, 11, RUN % (CALL + "`1010 MAr`, `1010 MAR`, "), 1, 1, 2))
    clocks = ("a rank leaves a collective before another one enters it: it is not of all ranks, or the clocks of the "
              "nodes differ")
    refused("clocks", clocks, STARS, ranks(2)[:9] +
            thread("a", 11, 11, RUN % "`300 MAr`, `320 MAR`, ", 1, 1, 2))
    refused("part", "only a part of the recording counts (--from, --to)", STARS, ranks(2), "--from", "+100us",
            rest=OS)
    # E is 1 ms, with one collective
    refused("bound", "the clocks of the nodes agree within 10.001 us (clock-offsets.txt), which is more than 1 % of the "
            "mean phase", STARS, example_a(), files=[OFFSETS % 10001], rest=MPI[:6])
    text, got = report("bound", example_a(), files=[OFFSETS % 10000])
    assert got["metrics"]["transfer_estimate"] == 0.8, got["unavailable"]
    assert "The clocks of the nodes are corrected, and agree within 10.000 us." in got["notes"], got["notes"]

    # always
    refused("network", "it needs a simulation of the network", ("serialisation_efficiency", "transfer_efficiency"),
            ranks(2), rest=MPI)
    refused("counters", "the trace has no hardware counters", ("ipc_scaling", "frequency_scaling"), ranks(2))
    refused("scaling", "it needs a second run to compare with", ("computation_scaling", ), ranks(2))


main()
