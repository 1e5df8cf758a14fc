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
LONGEST = ("", "draw_maximum")
# Yellow for any value that is small beside ALARM, then orange and red.
WARNING = ("window_in_alternative_gradient_mode", "draw_maximum")
ALARM = 100000
# All rows in one plot with a scale from 0, drawn as lines.
LINES = ("window_in_fused_lines_mode", "draw_maximum")

STATE = (4, "Thread: thread state")
STATE_RUNNING, STATE_PAUSED, STATE_WARMING = 1, 2, 5
# Green runs, orange waits for a CPU, greys do nothing.
STATE_COLOURS = {1: (60, 180, 75), 2: (217, 217, 217), 3: (128, 128, 128), 4: (170, 255, 195),
                 5: (245, 130, 48)}

# Why a thread is off its CPU (type 300), and the same with the states (type 324): grey sleeps, blue
# waits for a disk, warm colours wait for a CPU, and only losses are pink.
WHY = (300, "Thread: why off the CPU")
ACTIVITY = (324, "Thread: running, runnable, sleeping, and why")
SLEEPING_COLOURS = {1: (128, 128, 128), 2: (145, 30, 180), 3: (0, 130, 200), 4: (128, 128, 0),
                    5: (0, 128, 128), 8: (90, 90, 90), 9: (70, 70, 90), 10: (50, 50, 50),
                    11: (240, 50, 230), 20: (60, 60, 80)}
RUNNABLE_COLOURS = {6: (230, 70, 30), 7: (255, 225, 25), 12: (190, 0, 60)}
WHY_COLOURS = {**SLEEPING_COLOURS, **RUNNABLE_COLOURS}
ACTIVITY_COLOURS = {1: (60, 180, 75), 2: (245, 130, 48),
                    **{10 + value: colour for value, colour in SLEEPING_COLOURS.items()},
                    **{40 + value: colour for value, colour in RUNNABLE_COLOURS.items()}}
# Of 301 and 302: not known, nobody (idle), an interrupt (302; 301: the CPU quota), nobody (it stayed
# runnable). Threads follow.
PEER_COLOURS = {1: (60, 60, 80), 2: (70, 70, 70), 3: (0, 130, 200), 4: (105, 95, 80)}

# Of OpenMP: one family of colours for barriers, critical sections, worksharing, tasks, the runtime.
OPENMP_COLOURS = {
    1: (255, 200, 120), 2: (245, 130, 48), 3: (230, 25, 75), 4: (250, 190, 212), 5: (170, 60, 30),
    6: (145, 30, 180), 7: (220, 190, 255), 8: (240, 50, 230),
    9: (0, 130, 200), 10: (70, 240, 240), 11: (0, 128, 128), 12: (40, 40, 220), 13: (120, 160, 255),
    14: (90, 110, 160),
    15: (255, 250, 200), 16: (255, 225, 25), 17: (210, 245, 60), 18: (170, 255, 195),
    19: (30, 120, 60), 20: (128, 190, 60), 21: (170, 110, 40), 22: (255, 215, 180),
    23: (200, 160, 0), 24: (150, 120, 0), 25: (110, 90, 40),
    26: (128, 128, 128), 27: (190, 190, 190), 28: (100, 100, 120), 29: (128, 128, 0),
    30: (60, 180, 75), 31: (70, 70, 70)}

# Waits for a CPU by their length, in microseconds: yellow below 10, then more and more red.
WAIT_COLOURS = {1: (255, 255, 190), 10: (255, 225, 25), 100: (255, 170, 30), 1000: (245, 110, 30),
                10000: (225, 30, 40), 100000: (230, 0, 150)}

# Of an accelerator's node: green works, blue passes on, orange and red wait, greys do nothing.
NODE = (193, "Accel: node state")
NODE_FIRE, NODE_STALLS = 3, (5, 6)
NODE_COLOURS = {1: (240, 240, 240), 2: (190, 190, 190), 3: (60, 180, 75), 4: (67, 130, 216),
                5: (245, 130, 48), 6: (220, 60, 60), 7: (0, 0, 0)}

WAKER = (302, "Thread: woken by")
OWNER = (306, "Thread: owner of the lock")
CRITICAL = (311, "Thread: on the critical path")
CPU_PROCESS = (321, "CPU: process of the RUNNING thread")
CPU_THREAD = (322, "CPU: the RUNNING thread")
CPU_COUNT = (3, "CPU: number of RUNNING threads")

TAG_WAKE, TAG_MIGRATION, TAG_OWNER = 1, 2, 3

OPENED_ON = {"thread": "thread.prv", "cpu": "cpu.prv"}

# How records become a value.
SELECTED = ("window_selected_functions { 14, { {cpu, Active Thd}, {appl, Adding}, {task, Adding}, "
            "{thread, %s}, {node, Adding}, {system, Adding}, {workload, Adding}, {from_obj, All}, "
            "{to_obj, All}, {tag_msg, %s}, {size_msg, All}, {bw_msg, All}, {evt_type, %s}, "
            "{evt_value, All} } }")
COMPOSED = ("window_compose_functions { 9, { {compose_cpu, As Is}, {compose_appl, As Is}, "
            "{compose_task, As Is}, {compose_thread, %s}, {compose_node, As Is}, "
            "{compose_system, As Is}, {compose_workload, As Is}, {topcompose1, %s}, "
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
    factors: tuple = (1.0, 1.0)     # of its parts
    top: tuple = None               # (function, parameter) that changes the value last, or None
    units: str = "Milliseconds"
    limits: tuple = None            # (minimum, maximum, what ovni-emu puts for the maximum or None)

    def lines(self, number):
        mode, pixel = self.draw
        flag = {True: "true", False: "false"}
        out = ["window_name " + self.name,
               "window_type " + ("composed" if self.parts else "single"),
               "window_id %d" % number]
        if self.parts:
            out += ["window_factors %.1f %.1f" % self.factors, "window_operation " + self.parts[0],
                    "window_identifiers %d %d" % self.parts[1:]]
        out += ["window_width 1000", "window_height 300",
                "window_comm_lines_enabled " + flag[self.arrows],
                "window_flags_enabled false",
                "window_noncolor_mode true"]
        if mode:
            out.append("window_color_mode " + mode)
        if self.colours:
            out += ["window_custom_color_enabled true",
                    "window_custom_color_palette " + ",".join(
                        "{%.1f:%d,%d,%d}" % ((value,) + self.colours[value])
                        for value in sorted(self.colours))]
        if self.tag:
            out += ["window_logical_filtered true", "window_physical_filtered false"]
        low, high, what = self.limits or (0, 1, None)
        if what:
            out.append("# maximum: " + what)
        out += ["window_maximum_y %.1f" % high, "window_minimum_y %.1f" % low,
                "window_compute_y_max " + flag[not self.limits],
                "window_units " + self.units,
                "window_level " + self.level,
                "window_begin_time_relative 0.0", "window_end_time_relative 1.0",
                "window_open " + flag[self.shown],
                "window_drawmode " + pixel, "window_drawmode_rows " + pixel,
                "window_pixel_size 1", "window_labels_to_draw 1"]
        if self.parts:
            return out
        out += [SELECTED % (self.thread, "=" if self.tag else "All",
                            "=" if self.type_label else "None"),
                COMPOSED % (self.compose or "As Is", self.top[0] if self.top else "As Is")]
        if self.top:
            out.append("window_semantic_module topcompose1 %s { 1, { 1 %.1f } }" % self.top)
        if self.values and self.compose == "Is In Range":    # the maximum precedes the minimum
            out.append("window_semantic_module compose_thread Is In Range "
                       "{ 2, { 1 %r, 1 %r } }" % self.values)
        elif self.values:
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
           "Analyzer2D.Zoom: Disabled", "Analyzer2D.AnalysisLimits: Alltrace"]
    if statistic.startswith("% "):  # a share of all columns, so 0 must have one
        out.append("Analyzer2D.ComputeYScaleZero: True")
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
    ("thread/activity", *ACTIVITY, BY_VALUE,
     "What every thread does: running (green), runnable and waiting for a CPU (warm colours: woken up,\n"
     "preempted, yielded, throttled), or sleeping and why (grey, blue, purple).",
     [("thread/activity-time", "Time running, runnable, sleeping", "Time",
       "Time that each thread runs, waits for a CPU, and sleeps, for each reason.")]),
    ("thread/why", *WHY, BY_VALUE,
     "Why every thread left the CPU, from then until it runs again.",
     [("thread/why-time", "Time off the CPU per reason", "Time",
       "Time that each thread is off the CPU for each reason, the wait for a CPU after a wake-up\n"
       "included."),
      ("thread/why-bursts", "Times off the CPU per reason", "# Bursts",
       "How often each thread leaves the CPU for each reason.")]),
    ("thread/stack", 307, "Thread: stack of the sleep", BY_VALUE,
     "Innermost functions of the kernel stack in which every thread sleeps long, from then until it runs\n"
     "again.",
     [("thread/stack-time", "Time asleep per stack", "Time",
       "Time that each thread is off the CPU with each stack, the wait for a CPU after a wake-up included.")]),
    ("thread/device", 309, "Thread: block device of the sleep", BY_VALUE,
     "Block device for whose request every thread sleeps, from then until it runs again.",
     [("thread/device-time", "Time asleep per block device", "Time",
       "Time that each thread is off the CPU for each block device, the wait for a CPU after a wake-up\n"
       "included.")]),
    ("thread/device-request", 310, "Thread: request at the device, us", GRADIENT,
     "Time at the device, in us, of the request for which every thread sleeps, from then until it runs\n"
     "again.", []),
    ("thread/interrupts", 308, "Thread: interrupts in the run, 1/10000", GRADIENT,
     "Part of every run of every thread that interrupts took, in 1/10000: 100 is 1 %.", []),
    ("thread/first-taker", 301, "Thread: first taker of the CPU", BY_VALUE,
     "The first thread that ran on the CPU that every thread left, from then until it runs again. Others\n"
     "may have run there since: `ovni-report preempt` charges each one with its time.", []),
    ("thread/woken-by", *WAKER, BY_VALUE,
     "Which thread woke every thread, from the wake-up until it sleeps again.",
     [("thread/who-wakes-whom", "Wake-ups: woken thread by waker", "# Bursts",
       "How often each thread (row) is woken by each waker (column).")]),
    ("thread/lost", 303, "Gap: scheduler events lost", WARNING,
     "Number of scheduler events that were lost, from the first lost one to the next one\n"
     "recorded. Inside a gap the states are a guess: it must not be read as idleness.", []),
    ("cpu/thread", *CPU_THREAD, BY_VALUE,
     "Thread that runs on every CPU; black while none does.",
     [("cpu/thread-time", "Time per running thread", "Time",
       "Time that each thread runs on each CPU.")]),
    ("cpu/process", *CPU_PROCESS, BY_VALUE,
     "Process of the thread that runs on every CPU; black while none does.",
     [("cpu/process-time", "Time per running process", "Time",
       "Time that the threads of each process run on each CPU.")]),
    ("cpu/running", *CPU_COUNT, BY_VALUE,
     "Number of running threads of every CPU: 0 or 1, and any number on a virtual CPU (vCPU).",
     []),
    ("cpu/interrupts", 308, "Thread: interrupts in the run, 1/10000", GRADIENT,
     "Part of the run of every CPU's thread that interrupts took, in 1/10000: 100 is 1 %.", []),
    ("cpu/lost", 303, "Gap: scheduler events lost", WARNING,
     "Number of scheduler events that were lost, shown on the CPU of the thread of the first record\n"
     "after them. Inside a gap the states are a guess: it must not be read as idleness.", []),
]

# ---- accelerators: traces of ovni-loom import ---------------------------------------------------

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
    ("sched", "priority", 190, "Priority", TITLE,
     "Scheduling policy and priority of the thread (recorded with --why=prio).", True),
    ("sched", "allowed-cpus", 189, "Allowed CPUs", TITLE,
     "CPUs on which the thread may run (recorded with --why=prio).", True),
    ("sched", "interrupt", 191, "Interrupt", TITLE,
     "Long interrupt handler that has interrupted the thread (recorded with --why=irq).", True),
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


PALETTES = {STATE: STATE_COLOURS, NODE: NODE_COLOURS, WHY: WHY_COLOURS, ACTIVITY: ACTIVITY_COLOURS,
            WAKER: PEER_COLOURS, OWNER: PEER_COLOURS, CPU_COUNT: {1: STATE_COLOURS[STATE_RUNNING]},
            (301, "Thread: first taker of the CPU"): {**PEER_COLOURS, 3: RUNNABLE_COLOURS[12]}}


def base_views():
    for path, number, label, draw, about, histograms in BASE + ACCELERATOR:
        window = Window(label, (number, label), draw, colours=PALETTES.get((number, label)),
                        limits=(-ALARM, ALARM, None) if draw == WARNING else None,
                        units="Nanoseconds" if "/accel/" in path else "Milliseconds")
        yield path, about, [window], []
        for hpath, name, statistic, habout in histograms:
            yield (hpath, habout, [dataclasses.replace(window, shown=False)],
                   [histogram(name, statistic, 1)])


# The types of ours that keep a value while the thread is off its CPU (prv.md 7).
LASTING, LASTING_LABEL = 320, "%s (on and off the CPU)"
BRIEF = {12, 14, 16, 38, 40}    # have none: properties of a process, and what a worker does with its CPU
HIDDEN = {RUNNING: "Only while the thread is on its CPU.",
          ACTIVE: "Only while the thread is on its CPU or waits for one.",
          TITLE: "Only while the thread is on its CPU or waits for one."}


def channel_views(path, number, label, first, about, timed):
    colours = OPENMP_COLOURS if first == "OpenMP subsystem" else None
    window = Window(label, (number, label), colours=colours)
    yield path, about, [window], []
    if timed:
        yield (path + "-time", "Time per value. " + about,
               [dataclasses.replace(window, shown=False)],
               [histogram("Time per " + first, "Time", 1)])


def model_views():
    for folder, file, number, first, tracking, about, timed in CHANNELS:
        path = "%%s/%s/%s" % (folder, file)
        on_cpu = first if tracking == TITLE else "%s of the %s thread" % (first, RUNNING)
        yield from channel_views(path % "cpu", number, on_cpu, first, about, timed)
        if tracking == ANY:
            yield from channel_views(path % "thread", number, first, first, about, timed)
            continue
        label = first if tracking == TITLE else "%s of the %s thread" % (first, tracking)
        if number in BRIEF:
            yield from channel_views(path % "thread", number, label, first, about, timed)
            continue
        yield from channel_views(path % "thread", LASTING + number, LASTING_LABEL % first, first,
                                 about, timed)
        word = "-running" if tracking == RUNNING else "-active"
        yield from channel_views(path % "thread" + word, number, label, first,
                                 about + "\n" + HIDDEN[tracking], timed)
    for folder, number, label, about in BREAKDOWNS:
        yield ("breakdown/" + folder,
               "How many physical CPUs are in each state at each moment (%s): the states of all\n"
               "CPUs, sorted, so a row is not a CPU." % about,
               [Window(label, (number, label))], [])


def is_state(name, value, **more):
    return Window(name, STATE, compose="Is Equal (Sign)", values=(value,), **more)


def sleep_views():
    """Sleeps by system call, object and owner: from the sleep until the thread runs, and the time asleep."""
    asleep = is_state("Thread: is asleep", STATE_PAUSED, shown=False)
    for file, kind, about, title in (
            ("call", (304, "Thread: system call of the sleep"),
             "System call in which every thread sleeps (fault: none, a page fault)", "system call"),
            ("object", (305, "Thread: object of the sleep"),
             "Object on which every thread sleeps: a descriptor with its file, a futex, a process, a lock of\n"
             "the kernel", "object"),
            ("lock-owner", OWNER,
             "Owner of the lock on which every thread sleeps, when the sleep began (recorded with\n"
             "--why=lock)", "owner of the lock")):
        window = Window(kind[1], kind, colours=PALETTES.get(kind))
        yield "thread/" + file, about + ", until it runs again.", [window], []
        yield ("thread/%s-time" % file,
               about + ": the time\nasleep, without the wait for a CPU after the wake-up.",
               [dataclasses.replace(window, shown=False), asleep],
               [histogram("Time asleep in ms per " + title, "Integral", 1, 2)])


def critical_views():
    """The critical path of a thread (ovni-emu --critical)."""
    on_path = Window(CRITICAL[1], CRITICAL, shown=False)
    activity = Window(ACTIVITY[1], ACTIVITY, colours=ACTIVITY_COLOURS, shown=False)
    about = "The critical path to the end of a thread (ovni-emu --critical): "
    yield ("thread/critical-path", about + "what each thread does while it\nis on it. Read it from the end, back in time.",
           [on_path, activity, Window("Thread: critical path", parts=("product", 1, 2), colours=ACTIVITY_COLOURS)], [])
    yield ("thread/critical-path-time", about + "time that each thread is\non it, by what it does then.",
           [on_path, activity], [histogram("Time in ms on the critical path", "Integral", 2, 1)])


def runnable_views():
    """Waits for a CPU: how long they are, over time, by length, and by waker."""
    runnable = is_state("Thread: is runnable", STATE_WARMING, shown=False)
    stay = Window("Thread: stay in its state", STATE, GRADIENT, thread="Int. Between Evt",
                  shown=False)
    length = Window("Thread: time runnable", None, GRADIENT, parts=("product", 1, 2), shown=False)
    waits = [runnable, stay, length]

    # 1 for a wait; 9, 90, ... more for one that is longer than 10, 100, ... microseconds
    windows = [runnable]
    for shortest in sorted(WAIT_COLOURS)[1:]:
        windows.append(dataclasses.replace(
            stay, name="Thread: stays %d us or longer" % shortest, compose="Is In Range",
            values=(1e12, shortest / 1000)))
        more = shortest - shortest // 10
        windows.append(Window("Thread: stays, up to %d us" % shortest, None, GRADIENT, shown=False,
                              parts=("add", len(windows) - 1 or 1, len(windows)),
                              factors=(1.0, float(more))))
    windows.append(Window("Thread: waits for a CPU by length in us", None, LONGEST,
                          parts=("product", 1, len(windows)), colours=WAIT_COLOURS,
                          limits=(0, max(WAIT_COLOURS), None)))
    yield ("thread/runnable",
           "Run-queue latency of every thread: while it is runnable and waits for a CPU (Warming), how\n"
           "long this wait is in all. Each colour is ten times longer than the one before, from pale\n"
           "yellow (below 10 microseconds, value 1) over 10, 100, 1000, 10000 (red) to 100000\n"
           "microseconds and longer (pink).",
           windows, [])
    yield ("thread/runnable-lengths",
           "How many waits for a CPU (Warming) of each thread have each length, from the shortest to the\n"
           "longest wait in 200 columns.",
           waits, [histogram("Waits for a CPU by length", "# Bursts", 3)])
    yield ("thread/runnable-lengths-short",
           "How many waits for a CPU (Warming) of each thread have each length: columns of 25\n"
           "microseconds, and in the last one, from 5 milliseconds, all that are longer.",
           waits + [is_state("Thread: 5 ms while runnable", STATE_WARMING, shown=False,
                             top=("Prod", 5)),
                    Window("Thread: time runnable, at most 5 ms", None, GRADIENT, shown=False,
                           parts=("minimum", 3, 4))],
           [histogram("Waits for a CPU by length, up to 5 ms", "# Bursts", 5,
                      columns=(0.000001, 5.025001, 0.025))])
    for file, about, title, statistic in (
            ("wake-up-latency", "Average time", "Wake-up latency", "Average per Burst != 0"),
            ("wake-up-latency-maximum", "Longest time", "Longest wake-up latency", "Maximum")):
        yield ("thread/" + file,
               about + " in milliseconds from a wake-up until the woken thread (row) runs, by waker\n"
               "(column).",
               waits + [Window(WAKER[1], WAKER, shown=False, colours=PEER_COLOURS)],
               [histogram(title + " in ms: woken thread by waker", statistic, 4, 3)])
    yield ("thread/running-count",
           "Number of threads that run at each moment, of all in the trace, as a line. The top of the\n"
           "scale is the number of CPUs.",
           [is_state("Number of running threads", STATE_RUNNING, draw=LINES, level="appl",
                     limits=(0, 16, "CPUs"))], [])
    yield ("thread/runnable-count",
           "Number of threads that wait for a CPU (Warming) at each moment, of all in the trace,\n"
           "as a line: the length of all run queues together.",
           [is_state("Number of runnable threads", STATE_WARMING, draw=LINES, level="appl",
                     limits=(0, 16, "runnable threads"))], [])


def in_state(name, *values, **more):
    return Window(name, STATE, thread="In Evt Val", values=values, shown=False, **more)


# Of OpenMP, in a parallel region: the user's code, and what only frames it.
OPENMP_WORKS = (7, 8, 10, 12, 13, 14, 17, 19, 20, 22, 25, 30)
EFFICIENCY_COLOURS = {1: STATE_COLOURS[STATE_RUNNING], 2: (0, 130, 200), 3: STATE_COLOURS[STATE_WARMING],
                      4: (128, 128, 128)}


def efficiency_views():
    """Useful time, in MPI or not, and what the system did to it (ovni-report efficiency)."""
    mpi = (LASTING + 25, LASTING_LABEL % "MPI function")
    openmp = (LASTING + 50, LASTING_LABEL % "OpenMP subsystem")
    window = ".\nFrom the first to the last moment of the thread; MPI_Init and MPI_Finalize are in MPI."
    outside = [Window("Thread: outside of MPI", mpi, compose="1-Sign", shown=False)]
    works = [Window("Thread: works in a region", openmp, thread="In Evt Val", values=OPENMP_WORKS, shown=False)]
    for folder, useful, what, about in (
            ("mpi", outside, "useful", "outside of MPI" + window),
            ("openmp", works, "works in a region", "in the user's code in a parallel region of OpenMP.")):
        name = "Thread: " + what

        def both(title, part, useful=useful, **more):
            return useful + [part, Window(title, None, parts=("product", 1, 2), **more)]

        yield ("thread/%s/useful" % folder, "When every thread is alive, and " + about,
               both(name, in_state("Thread: is alive", 1, 2, 4, 5),
                    colours=EFFICIENCY_COLOURS), [])
        yield ("thread/%s/useful-on-cpu" % folder,
               "When every thread is on a CPU, and %s\n" % about +
               "What %s/useful.cfg has more is lost to waits for a CPU and to sleeps." % folder,
               both(name + ", on a CPU", in_state("Thread: is running", STATE_RUNNING),
                    colours=EFFICIENCY_COLOURS), [])
        stay = Window("Thread: stay in its state", STATE, GRADIENT, thread="Int. Between Evt", shown=False)
        waits = both(name + ", runnable", in_state("Thread: is runnable", STATE_WARMING), shown=False)
        yield ("thread/%s/os-delay" % folder,
               "How long every thread waits for a CPU, in all: the longest waits stand out. While it is\n" + about,
               waits + [stay, Window(name + ": wait for a CPU", None, GRADIENT, parts=("product", 3, 4))], [])
        yield ("thread/%s/os-culprit" % folder,
               "The first thread that ran on the CPU for which every thread waits. Others may have run there\n"
               "since: `ovni-report efficiency` charges each one with its time. While the thread is\n" + about,
               waits + [Window("Thread: first taker of the CPU", (301, "Thread: first taker of the CPU"), shown=False),
                        Window(name + ": first taker", None, parts=("product", 3, 4),
                               colours=PALETTES[301, "Thread: first taker of the CPU"])], [])
    inside = Window("Thread: in MPI", mpi, compose="Sign", shown=False)
    yield ("thread/mpi/on-cpu",
           "When every thread is in MPI and on a CPU: it polls, or moves data. With more threads than CPUs\n"
           "this takes CPUs from useful threads.",
           [inside, in_state("Thread: is running", STATE_RUNNING),
            Window("Thread: in MPI, on a CPU", None, parts=("product", 1, 2), colours={1: EFFICIENCY_COLOURS[2]})], [])
    yield ("thread/mpi/efficiency",
           "Time of every thread outside of MPI on a CPU (column 1), in MPI (2), outside of MPI waiting for\n"
           "a CPU (3), and asleep (4). The row Avg/Max of column 1 is the true load balance of the threads" + window,
           [Window("Thread: outside of MPI", mpi, compose="1-Sign", shown=False),
            in_state("Thread: is running", STATE_RUNNING), in_state("Thread: is runnable", STATE_WARMING),
            in_state("Thread: is asleep", 2),
            Window("Thread: 1 running, 3 runnable", None, parts=("add", 2, 3), factors=(1.0, 3.0), shown=False),
            Window("Thread: 4 asleep, too", None, parts=("add", 5, 4), factors=(1.0, 4.0), shown=False),
            Window("Thread: its state outside of MPI", None, parts=("product", 1, 6), shown=False),
            inside, in_state("Thread: is alive", 1, 2, 4, 5),
            Window("Thread: in MPI and alive", None, parts=("product", 8, 9), shown=False),
            Window("Thread: 1 on a CPU, 2 in MPI, 3 runnable, 4 asleep", None, parts=("add", 7, 10),
                   factors=(1.0, 2.0), colours=EFFICIENCY_COLOURS)],
           [histogram("Time on a CPU, in MPI, runnable, asleep", "Time", 11)])


def other_views():
    """What is computed from more than one event type's value."""
    yield ("thread/wake-ups",
           "Thread states with an arrow for every wake-up, from the waker when it wakes to the\n"
           "woken thread when it runs. Needs a trace emulated with wake-up arrows.",
           [Window("Thread: state and wake-ups", STATE, tag=TAG_WAKE, arrows=True,
                   colours=STATE_COLOURS)], [])
    yield ("thread/waiting",
           "Rows light up from a wake-up until the woken thread runs, with an arrow from the waker.\n"
           "Needs a trace emulated with wake-up arrows.",
           [Window("Thread: waiting to run after a wake-up", thread="Recv Messages in Transit",
                   tag=TAG_WAKE, arrows=True, colours={1: STATE_COLOURS[STATE_WARMING]})], [])
    yield ("thread/lock-owner-arrows",
           "Owner of the lock on which the thread sleeps, with an arrow from the owner, when the sleep\n"
           "began, to the thread, when it was woken. Needs a trace emulated with arrows.",
           [Window("Thread: owner of the lock, with arrows", OWNER, tag=TAG_OWNER, arrows=True)], [])
    yield ("thread/lock-owners",
           "Time asleep on locks in ns: sleeping thread by owner (row by column).\n"
           "Needs a trace emulated with arrows.",
           [Window("Thread: asleep on a lock", thread="Recv Messages in Transit", tag=TAG_OWNER, shown=False),
            Window(OWNER[1], OWNER, shown=False)],
           [histogram("Time asleep on locks in ns: thread by owner", "Bytes received", 1, 2)])
    for file, name, tag, what in (
            ("wake-ups", "CPU: process and wake-ups", TAG_WAKE,
             "wake-up, from the CPU of the waker to the CPU where the woken thread then runs"),
            ("migrations", "CPU: process and migrations", TAG_MIGRATION,
             "migration, from the CPU that a thread left to the one where it runs next")):
        yield ("cpu/" + file,
               "Process on every CPU, with an arrow for every %s.\n"
               "Needs a trace emulated with arrows." % what,
               [Window(name, CPU_PROCESS, tag=tag, arrows=True)], [])
    for file, name, tag, statistic, title in (
            ("who-wakes-whom", "CPU: waiting to run after a wake-up", TAG_WAKE, "#Receives",
             "Wake-ups: CPU of the woken thread by CPU of the waker"),
            ("wake-up-latency-maximum", "CPU: waiting to run after a wake-up", TAG_WAKE,
             "Maximum bytes received",
             "Longest wake-up latency in ns: CPU of the woken thread by CPU of the waker"),
            ("migration-count", "CPU: migrations under way", TAG_MIGRATION, "#Receives",
             "Migrations: CPU reached by CPU left")):
        yield ("cpu/" + file,
               title + " (row by column).\nNeeds a trace emulated with arrows.",
               [Window(name, thread="Recv Messages in Transit", tag=tag, shown=False)],
               [histogram(title, statistic, 1)])
    yield ("thread/accel/stalls",
           "When every node is stalled, on input or on output; nothing otherwise.\n" + HIDDEN_STALLS,
           [Window("Accel: stalls", NODE, thread="Given Evt Val", values=NODE_STALLS,
                   colours=NODE_COLOURS, units="Nanoseconds")], [])
    yield ("thread/accel/firing-count",
           "Number of nodes that fire at each moment, as a line. The top of the scale is the number of\n"
           "rows.",
           [Window("Accel: number of firing nodes", NODE, LINES, compose="Is Equal (Sign)",
                   values=(NODE_FIRE,), level="appl", units="Nanoseconds",
                   limits=(0, 16, "threads"))], [])
    for view in ("thread", "cpu"):
        number = 100 + (LASTING if view == "thread" else 0)
        yield (view + "/ovni/mark",
               "Marks of type 0, whatever their title (event type %d + type; for another type,\n"
               "change the number in the last lines of this file)." % number,
               [Window("Mark of type 0", (number, "Unknown"))], [])
    yield ("cpu/busy",
           "Share of the time that every CPU has no running thread (column 0) and one (column 1).\n"
           "Threads that were not recorded are not seen: only a trace of the whole system shows\n"
           "how busy a CPU is.",
           [Window(CPU_COUNT[1], CPU_COUNT, shown=False)],
           [histogram("Share of time by number of running threads", "% Time", 1)])


def main(argv):
    if len(argv) > 2 or argv[1:2] == ["--help"]:
        sys.exit("usage: %s [FOLDER]" % argv[0])
    out = argv[1] if argv[1:] else HERE
    if out == HERE:
        shutil.rmtree(HERE)
    for source in (base_views, model_views, sleep_views, critical_views, runnable_views, efficiency_views,
                   other_views):
        for path, about, windows, histograms in source():
            file_path = os.path.join(out, path + ".cfg")
            os.makedirs(os.path.dirname(file_path), exist_ok=True)
            with open(file_path, "x", encoding="utf-8") as file:
                file.write(text(path, about, windows, histograms))


if __name__ == "__main__":
    main(sys.argv)
