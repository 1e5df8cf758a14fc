#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
cfg: one table of views in, the Paraver configurations of emu/cfg/ out.

    emu/cfg.py              replaces emu/cfg/
    emu/cfg.py FOLDER       writes the files into a new folder

A view is a line of a table below: where its file lies, the label and number of
its event type (those that the emulator writes in the .pcf), and how it is drawn. The folder
says on which trace a view is to be opened: thread/ on thread.prv, cpu/ on cpu.prv,
breakdown/ on the trace of the same name. The same numbers mean other things in the
other trace, so a view opened there shows something plausible and wrong.
"""
import dataclasses
import os
import shutil
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cfg")

# How a value becomes a colour (window_color_mode), and which of several values a pixel shows.
BY_VALUE = ("", "draw_randnotzero")
GRADIENT = ("window_in_null_gradient_mode", "draw_maximum")
LINES = ("lines", "draw_maximum")

STATE = (4, "Thread: thread state")
STATE_RUNNING, STATE_WARMING = 1, 5
# Green runs, orange waits for a CPU, greys do nothing.
STATE_COLOURS = {1: (60, 180, 75), 2: (217, 217, 217), 3: (128, 128, 128), 4: (170, 255, 195),
                 5: (245, 130, 48)}

# Of an accelerator's node: green works, blue passes on, orange and red wait, greys do nothing.
NODE = (193, "Accel: node state")
NODE_FIRE, NODE_STALLS = 3, (5, 6)
NODE_COLOURS = {1: (240, 240, 240), 2: (190, 190, 190), 3: (60, 180, 75), 4: (67, 130, 216),
                5: (245, 130, 48), 6: (220, 60, 60), 7: (0, 0, 0)}

TAG_WAKE, TAG_MIGRATION = 1, 2

OPENED_ON = {"thread": "thread.prv", "cpu": "cpu.prv"}

# How records become a value.
SELECTED = ("window_selected_functions { 14, { {cpu, Active Thd}, {appl, Adding}, {task, Adding}, "
            "{thread, %s}, {node, Adding}, {system, Adding}, {workload, Adding}, {from_obj, All}, "
            "{to_obj, All}, {tag_msg, %s}, {size_msg, All}, {bw_msg, All}, {evt_type, %s}, "
            "{evt_value, All} } }")
COMPOSED = ("window_compose_functions { 9, { {compose_cpu, As Is}, {compose_appl, As Is}, "
            "{compose_task, As Is}, {compose_thread, %s}, {compose_node, As Is}, "
            "{compose_system, As Is}, {compose_workload, As Is}, {topcompose1, As Is}, "
            "{topcompose2, As Is} } }")


@dataclasses.dataclass
class Window:
    """One window of a file: what it shows and how it is drawn."""
    name: str
    type_label: tuple = None        # (number, label) of the event type, or None
    draw: tuple = BY_VALUE
    thread: str = "Last Evt Val"    # thread function
    compose: str = None             # compose_thread function with `values`, or None
    values: tuple = ()
    tag: int = None                 # of the communications it is about, or None
    arrows: bool = False
    level: str = "thread"
    colours: dict = None
    shown: bool = True
    parts: tuple = None             # (operation, i, j) of a composed window

    def lines(self, number):
        mode, pixel = self.draw
        flag = {True: "true", False: "false"}
        out = ["window_name " + self.name,
               "window_type " + ("composed" if self.parts else "single"),
               "window_id %d" % number]
        if self.parts:
            out += ["window_factors 1.0 1.0", "window_operation " + self.parts[0],
                    "window_identifiers %d %d" % self.parts[1:]]
        out += ["window_width 1000", "window_height 300",
                "window_comm_lines_enabled " + flag[self.arrows],
                "window_flags_enabled false",
                "window_noncolor_mode " + flag[mode != "lines"]]
        if mode not in ("", "lines"):
            out.append("window_color_mode " + mode)
        if self.colours:
            out += ["window_custom_color_enabled true",
                    "window_custom_color_palette " + ",".join(
                        "{%.1f:%d,%d,%d}" % ((value,) + self.colours[value])
                        for value in sorted(self.colours))]
        if self.tag:
            out += ["window_logical_filtered true", "window_physical_filtered false"]
        out += ["window_units Microseconds",
                "window_minimum_y 0.0", "window_maximum_y 1.0", "window_compute_y_max true",
                "window_level " + self.level,
                "window_begin_time_relative 0.0", "window_end_time_relative 1.0",
                "window_open " + flag[self.shown],
                "window_drawmode " + pixel, "window_drawmode_rows " + pixel,
                "window_pixel_size 1", "window_labels_to_draw 1"]
        if self.parts:
            return out
        out += [SELECTED % (self.thread, "=" if self.tag else "All",
                            "=" if self.type_label else "None"),
                COMPOSED % (self.compose or "As Is")]
        if self.values:
            where = "compose_thread " + self.compose if self.compose else "thread " + self.thread
            out.append("window_semantic_module %s { 1, { %d %s } }" % (
                where, len(self.values), " ".join("%.1f" % v for v in self.values)))
        if self.tag:
            out.append("window_filter_module tag_msg 1 %d" % self.tag)
        if self.type_label:
            out += ["window_filter_module evt_type 1 %d" % self.type_label[0],
                    'window_filter_module evt_type_label 1 "%s"' % self.type_label[1]]
        return out


def histogram(name, statistic, control, data=None, columns=None):
    """A block: rows of window `control`, a column per value of it, a statistic of `data`."""
    out = ["< NEW ANALYZER2D >", "Analyzer2D.Name: " + name,
           "Analyzer2D.Width: 800", "Analyzer2D.Height: 400",
           "Analyzer2D.ControlWindow: %d" % control, "Analyzer2D.DataWindow: %d" % (data or control),
           "Analyzer2D.Statistic: " + statistic, "Analyzer2D.CalculateAll: True",
           "Analyzer2D.HideCols: True", "Analyzer2D.HorizVert: Horizontal",
           "Analyzer2D.AnalysisLimits: Alltrace"]
    if columns:
        out += ["Analyzer2D.ComputeYScale: False", "Analyzer2D.Minimum: %g" % columns[0],
                "Analyzer2D.Maximum: %g" % columns[1], "Analyzer2D.Delta: %g" % columns[2]]
    else:
        out.append("Analyzer2D.ComputeYScale: True")
    return out


def text(path, about, windows, histograms=()):
    """A whole file."""
    trace = OPENED_ON.get(path.split("/")[0]) or os.path.basename(path) + "-breakdown.prv"
    out = ["#ParaverCFG", "ConfigFile.Version: 3.4", "ConfigFile.NumWindows: %d" % len(windows),
           "ConfigFile.BeginDescription"]
    out += about.split("\n") + ["To be opened on %s." % trace, "ConfigFile.EndDescription"]
    for number, window in enumerate(windows, 1):
        out += [""] + window.lines(number)
    for block in histograms:
        out += [""] + block
    return "\n".join(out) + "\n"


# ---- timelines and histograms of one event type -------------------------------------------------

# file, type, label, drawing, what it shows; then the histograms: file, title, statistic, what
BASE = [
    ("thread/state", *STATE, BY_VALUE,
     "State of every thread. In a trace of ovni-bpf: Running on a CPU, Warming is runnable and\n"
     "waits for a CPU, Paused sleeps, Dead has ended.",
     [("thread/state-time", "Time per thread state", "Time",
       "Time that each thread spends in each state."),
      ("thread/state-bursts", "Visits of each thread state", "# Bursts",
       "How often each thread enters each state."),
      ("thread/runnable-average", "Average stay in each thread state", "Average Burst Time",
       "How long a stay of each thread in each state lasts on average. The column Warming is\n"
       "the run-queue latency: from being runnable to running.")]),
    ("thread/cpu", 6, "Thread: CPU affinity", BY_VALUE,
     "CPU of every thread: where it runs, or where it ran last while it does not. A change of\n"
     "colour is a migration.",
     [("thread/cpu-time", "Time per CPU of the thread", "Time",
       "Time that each thread belongs to each CPU, whether it runs or not.")]),
    ("thread/tid", 2, "Thread: TID of the ACTIVE thread", BY_VALUE,
     "Thread id of every thread while it is active (Running, Cooling or Warming).", []),
    ("thread/why", 300, "Thread: why off the CPU", BY_VALUE,
     "Why every thread left the CPU, from then until it runs again.",
     [("thread/why-time", "Time off the CPU per reason", "Time",
       "Time that each thread is off the CPU for each reason, the wait for a CPU after a wake-up\n"
       "included."),
      ("thread/why-bursts", "Times off the CPU per reason", "# Bursts",
       "How often each thread leaves the CPU for each reason.")]),
    ("thread/taken-by", 301, "Thread: who took the CPU", BY_VALUE,
     "Which thread took the CPU that every thread left, from then until it runs again.", []),
    ("thread/woken-by", 302, "Thread: woken by", BY_VALUE,
     "Which thread woke every thread, from the wake-up until it sleeps again.", []),
    ("thread/lost", 303, "Gap: scheduler events lost", GRADIENT,
     "Number of scheduler events that were lost, from the first lost one to the next one\n"
     "recorded. Inside a gap the states are a guess: it must not be read as idleness.", []),
    ("cpu/thread", 2, "CPU: TID of the RUNNING thread", BY_VALUE,
     "Thread id of the thread that runs on every CPU; nothing while none does.", []),
    ("cpu/process", 1, "CPU: PID of the RUNNING thread", BY_VALUE,
     "Process id of the thread that runs on every CPU; nothing while none does.", []),
    ("cpu/running", 3, "CPU: number of RUNNING threads", GRADIENT,
     "Number of running threads of every CPU: 0 or 1, and any number on a virtual CPU (vCPU).",
     []),
    ("cpu/lost", 303, "Gap: scheduler events lost", GRADIENT,
     "Number of scheduler events that were lost, shown on the CPU of the thread of the first record\n"
     "after them. Inside a gap the states are a guess: it must not be read as idleness.", []),
]

# ---- accelerators: what ovni-loom import makes ---------------------------------------------------

HIDDEN_STALLS = ("Where the simulator writes no records of stalls, a node that waits is shown as\n"
                 "idle: see \"stalls\" under accel.run in the metadata.")
ACCELERATOR = [
    ("thread/accel/node-state", *NODE, BY_VALUE,
     "State of every hardware node: outside an invocation, idle, fire, route, stalled on input,\n"
     "stalled on output, error.\n" + HIDDEN_STALLS,
     [("thread/accel/node-state-time", "Time per node state", "Time",
       "Time that each node spends in each state."),
      ("thread/accel/node-state-percent", "Share of time per node state", "% Time",
       "Share of the time that each node spends in each state, of the whole run: the column fire\n"
       "is its utilization, stalled on input and on output are its stall ratios. For one\n"
       "invocation choose its time range.\n" + HIDDEN_STALLS),
      ("thread/accel/node-state-average", "Average stay in each node state", "Average Burst Time",
       "How long a stay of each node in each state lasts on average."),
      ("thread/accel/node-state-bursts", "Visits of each node state", "# Bursts",
       "How often each node enters each state.")]),
    ("thread/accel/route", 194, "Accel: route", BY_VALUE,
     "Input that the lowest active output of every switch, fifo or tag node comes from.",
     [("thread/accel/route-time", "Time per route", "Time",
       "Time that each node passes on each of its inputs.")]),
    ("thread/accel/invocation", 195, "Accel: invocation", BY_VALUE,
     "Invocation that runs on every core, on its control thread.",
     [("thread/accel/invocation-time", "Time per invocation", "Time",
       "Time of each invocation on each core, its configuration not included."),
      ("thread/accel/invocation-average", "Average duration of an invocation",
       "Average Burst Time",
       "How long an invocation of each id lasts on average, on each core.")]),
    ("thread/accel/epoch", 196, "Accel: epoch", BY_VALUE,
     "Configuration epoch of every core, on its control thread.", []),
    ("thread/accel/configuration", 197, "Accel: configuration word", GRADIENT,
     "Word of the configuration that is written to every core, on its control thread.", []),
    ("thread/accel/error", 198, "Accel: device error", BY_VALUE,
     "Error of every node, and of every core on its control thread, from its cycle to the end of\n"
     "the invocation.", []),
    ("thread/accel/extension", 199, "Accel: extension record", BY_VALUE,
     "Records of kinds that the specification leaves to the simulator.", []),
]

# ---- the models: one line a channel, two files --------------------------------------------------

# folder, file, type, first part of the label, tracking in thread.prv, what; histogram of time too?
ANY, ACTIVE, RUNNING, TITLE = "any", "ACTIVE", "RUNNING", "title"
CHANNELS = [
    ("ovni", "flush", 7, "Flushing ovni buffer", ANY,
     "When the instrumentation library writes its buffer to disk.", True),
    ("ovni", "function", 100, "Function", TITLE,
     "Function on top of the stack, of those that are probed.", True),
    ("pthread", "call", 180, "Pthread", TITLE,
     "Function of POSIX threads that is called (recorded with --api pthread).", True),
    ("pthread", "held", 181, "Pthread mutexes held", TITLE,
     "When the thread holds a mutex (recorded with --api pthread).", True),
    ("kernel", "context-switch", 45, "Kernel context switch", ANY,
     "When the kernel had taken the thread off its CPU.", True),
    ("nosv", "task-id", 10, "nOS-V task ID", RUNNING, "Id of the task that runs.", False),
    ("nosv", "task-type", 11, "nOS-V task type", RUNNING, "Type of the task that runs.", False),
    ("nosv", "app-id", 12, "nOS-V task AppID", RUNNING,
     "Application id of the task that runs.", False),
    ("nosv", "subsystem", 13, "nOS-V subsystem", ACTIVE,
     "What the nOS-V runtime does.", True),
    ("nosv", "rank", 14, "nOS-V task MPI rank", RUNNING,
     "MPI rank of the task that runs, plus one.", False),
    ("nosv", "body-id", 15, "nOS-V task body ID", RUNNING,
     "Id of the body of the task that runs.", False),
    ("nosv", "idle", 16, "nOS-V idle state", RUNNING,
     "Whether the worker makes progress, rests, or absorbs noise.", True),
    ("tampi", "subsystem", 20, "TAMPI subsystem", ACTIVE, "What the TAMPI library does.", True),
    ("mpi", "function", 25, "MPI function", RUNNING, "MPI function that is called.", True),
    ("nodes", "subsystem", 30, "NODES subsystem", ACTIVE, "What the NODES runtime does.", True),
    ("nanos6", "task-id", 35, "Nanos6 task ID", RUNNING, "Id of the task that runs.", False),
    ("nanos6", "task-type", 36, "Nanos6 task type", RUNNING, "Type of the task that runs.", False),
    ("nanos6", "subsystem", 37, "Nanos6 subsystem", ACTIVE, "What the Nanos6 runtime does.", True),
    ("nanos6", "rank", 38, "Nanos6 task MPI rank", RUNNING,
     "MPI rank of the task that runs, plus one.", False),
    ("nanos6", "thread-type", 39, "Nanos6 thread type", ANY,
     "Role of the thread: leader, main, worker or external.", False),
    ("nanos6", "idle", 40, "Nanos6 idle state", RUNNING,
     "Whether the worker makes progress, rests, or absorbs noise.", True),
    ("openmp", "subsystem", 50, "OpenMP subsystem", ACTIVE, "What the OpenMP runtime does.", True),
    ("openmp", "label", 51, "OpenMP label", ACTIVE,
     "Label of the task or worksharing that runs.", False),
    ("openmp", "task-id", 52, "OpenMP task ID", ACTIVE, "Id of the task that runs.", False),
]

BREAKDOWNS = [
    ("nosv", 17, "CPU: nOS-V Runtime/Idle/Task breakdown", "runtime, idle or in a task"),
    ("nanos6", 41, "CPU: Nanos6 Runtime/Idle/Task breakdown", "runtime, idle or in a task"),
    ("openmp", 53, "CPU: OpenMP Runtime/Label breakdown", "in the runtime or under a label"),
]


def base_views():
    palettes = {STATE: STATE_COLOURS, NODE: NODE_COLOURS}
    for path, number, label, draw, about, histograms in BASE + ACCELERATOR:
        colours = palettes.get((number, label))
        yield path, about, [Window(label, (number, label), draw, colours=colours)], []
        for hpath, name, statistic, habout in histograms:
            window = Window(label, (number, label), draw, colours=colours, shown=False)
            yield hpath, habout, [window], [histogram(name, statistic, 1)]


def model_views():
    for folder, file, number, first, tracking, about, timed in CHANNELS:
        for view in ("thread", "cpu"):
            if tracking == TITLE or (view == "thread" and tracking == ANY):
                label = first
            else:
                label = "%s of the %s thread" % (first, tracking if view == "thread" else RUNNING)
            path = "%s/%s/%s" % (view, folder, file)
            yield path, about, [Window(label, (number, label))], []
            if timed:
                yield (path + "-time", "Time per value. " + about,
                       [Window(label, (number, label), shown=False)],
                       [histogram("Time per " + first, "Time", 1)])
    for folder, number, label, about in BREAKDOWNS:
        yield ("breakdown/" + folder,
               "How many physical CPUs are in each state at each moment (%s): the states of all\n"
               "CPUs, sorted, so a row is not a CPU." % about,
               [Window(label, (number, label))], [])


def other_views():
    """What is computed from more than one event type's value."""
    def is_state(name, value, **more):
        return Window(name, STATE, compose="Is Equal (Sign)", values=(value,), **more)

    runnable = [is_state("Thread: is runnable", STATE_WARMING, shown=False),
                Window("Thread: stay in its state", STATE, GRADIENT, thread="Int. Between Evt",
                       shown=False)]
    time_runnable = Window("Thread: time runnable", None, GRADIENT, parts=("product", 1, 2))
    yield ("thread/runnable",
           "Run-queue latency of every thread: while it is runnable and waits for a CPU (Warming),\n"
           "how long this wait lasts in all, in microseconds; nothing otherwise.",
           runnable + [time_runnable], [])
    yield ("thread/runnable-lengths",
           "How many waits for a CPU (Warming) of each thread have each length: columns of 25\n"
           "microseconds, up to 5 milliseconds; longer ones are not counted.",
           runnable + [dataclasses.replace(time_runnable, shown=False)],
           [histogram("Waits for a CPU by length", "# Bursts", 3, columns=(0.001, 5000.001, 25))])
    yield ("thread/running-count",
           "Number of threads that run at each moment, of all in the trace, as a line.",
           [is_state("Number of running threads", STATE_RUNNING, draw=LINES, level="appl")], [])
    yield ("thread/runnable-count",
           "Number of threads that wait for a CPU (Warming) at each moment, of all in the trace,\n"
           "as a line: the length of all run queues together.",
           [is_state("Number of runnable threads", STATE_WARMING, draw=LINES, level="appl")], [])
    yield ("thread/wake-ups",
           "Thread states with an arrow for every wake-up, from the waker when it wakes to the\n"
           "woken thread when it runs. Needs a trace emulated with wake-up arrows.",
           [Window("Thread: state and wake-ups", STATE, tag=TAG_WAKE, arrows=True,
                   colours=STATE_COLOURS)], [])
    waiting = Window("Thread: waiting to run after a wake-up", thread="Recv Messages in Transit",
                     tag=TAG_WAKE, arrows=True)
    yield ("thread/waiting",
           "Rows light up from a wake-up until the woken thread runs, with an arrow from the waker.\n"
           "Needs a trace emulated with wake-up arrows.", [waiting], [])
    for file, about, title, statistic in (
            ("who-wakes-whom",
             "Who wakes whom, and how often: the row is the thread that is woken, the column its\n"
             "waker.", "Wake-ups: woken thread by waker", "#Receives"),
            ("wake-up-latency",
             "Average time from a wake-up until the woken thread (row) runs, in nanoseconds, by waker\n"
             "(column).", "Wake-up latency in ns: woken thread by waker",
             "Average bytes received"),
            ("wake-up-latency-maximum",
             "Longest time from a wake-up until the woken thread (row) runs, in nanoseconds, by waker\n"
             "(column).", "Longest wake-up latency in ns: woken thread by waker",
             "Maximum bytes received")):
        yield ("thread/" + file, about + " Needs a trace emulated with wake-up arrows.",
               [dataclasses.replace(waiting, arrows=False, shown=False)],
               [histogram(title, statistic, 1)])

    running = (1, "CPU: PID of the RUNNING thread")
    for file, name, tag, what in (
            ("wake-ups", "CPU: process and wake-ups", TAG_WAKE,
             "wake-up, from the CPU of the waker to the CPU where the woken thread then runs"),
            ("migrations", "CPU: process and migrations", TAG_MIGRATION,
             "migration, from the CPU that a thread left to the one where it runs next")):
        yield ("cpu/" + file,
               "Process on every CPU, with an arrow for every %s.\n"
               "Needs a trace emulated with arrows." % what,
               [Window(name, running, tag=tag, arrows=True)], [])
    for file, name, tag, statistic, title in (
            ("who-wakes-whom", "CPU: waiting to run after a wake-up", TAG_WAKE, "#Receives",
             "Wake-ups: CPU of the woken thread by CPU of the waker"),
            ("wake-up-latency", "CPU: waiting to run after a wake-up", TAG_WAKE,
             "Average bytes received",
             "Wake-up latency in ns: CPU of the woken thread by CPU of the waker"),
            ("migration-count", "CPU: migrations under way", TAG_MIGRATION, "#Receives",
             "Migrations: CPU reached by CPU left")):
        yield ("cpu/" + file,
               title + " (row by column).\nNeeds a trace emulated with arrows.",
               [Window(name, thread="Recv Messages in Transit", tag=tag, shown=False)],
               [histogram(title, statistic, 1)])
    yield ("thread/accel/stalls",
           "When every node is stalled, on input or on output; nothing otherwise.\n" + HIDDEN_STALLS,
           [Window("Accel: stalls", NODE, thread="Given Evt Val", values=NODE_STALLS,
                   colours=NODE_COLOURS)], [])
    yield ("thread/accel/firing-count",
           "Number of nodes of each core that fire at each moment, as a line.",
           [Window("Accel: number of firing nodes", NODE, LINES, compose="Is Equal (Sign)",
                   values=(NODE_FIRE,), level="appl")], [])
    for view in ("thread", "cpu"):
        yield (view + "/ovni/mark",
               "Marks of type 0, whatever their title (event type 100 + type; for another type,\n"
               "change the number in the last lines of this file).",
               [Window("Mark of type 0", (100, "Unknown"))], [])
    yield ("cpu/busy",
           "Share of the time that every CPU has no running thread (column 0) and one (column 1).\n"
           "Threads that were not recorded are not seen: only a trace of the whole system tells\n"
           "how busy a CPU is.",
           [Window("CPU: number of RUNNING threads", (3, "CPU: number of RUNNING threads"),
                   shown=False)],
           [histogram("Share of time by number of running threads", "% Time", 1)])


def main(argv):
    if len(argv) > 2 or argv[1:2] == ["--help"]:
        sys.exit("usage: %s [FOLDER]" % argv[0])
    out = argv[1] if argv[1:] else HERE
    if out == HERE:
        shutil.rmtree(HERE)
    for source in (base_views, model_views, other_views):
        for path, about, windows, histograms in source():
            file_path = os.path.join(out, path + ".cfg")
            os.makedirs(os.path.dirname(file_path), exist_ok=True)
            with open(file_path, "x", encoding="utf-8") as file:
                file.write(text(path, about, windows, histograms))


if __name__ == "__main__":
    main(sys.argv)
