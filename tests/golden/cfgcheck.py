#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
cfgcheck: Paraver configurations (.cfg) in, a line for each violation out.

    cfgcheck.py [--pcf FILE]... [--complete] FILE.cfg...

Reads a .cfg the way the Paraver client does and reports as `FILE:LINE: message` what the
client would refuse, skip in silence, or show wrongly, and what our own set forbids
(one colour mode, hidden helper windows, arrows only where they are meant). With --pcf
the number and the label of every event type must belong together as in that file, and
values that a window asks for must be known to it; with --complete every type must
be in one of the .pcf files. Status 0 if nothing was found, 1 if something was, 2 usage.

Only what the specification of configurations names is known here: a function that the client has
but no view of ours needs is reported, which is a line to add to a table below.
"""
import argparse
import re
import sys

# ---- the rules of the client (paraver-cfg.md)
# -----------------------------------------------------

LEVELS = {"thread", "task", "appl", "workload"}
RESOURCE_LEVELS = {"cpu", "node", "system"}     # refused without resources; our traces have none
UNITS = {"Nanoseconds", "Microseconds", "Milliseconds", "Seconds"}
DRAW_MODES = {"draw_last", "draw_maximum", "draw_minnotzero", "draw_random", "draw_randnotzero",
              "draw_average", "draw_averagenotzero", "draw_mode", "draw_absolute_maximum",
              "draw_absolute_minimum"}
COLOUR_MODES = {"window_in_gradient_mode", "window_in_null_gradient_mode",
                "window_in_alternative_gradient_mode", "window_in_punctual_mode",
                "window_in_fused_lines_mode"}
GRADIENTS = {"gradient_function_linear", "gradient_function_log", "gradient_function_exp",
             "gradient_function_steps"}
OPERATIONS = {"add", "product", "substract", "divide", "maximum", "minimum", "different",
              "controlled: clear by", "controlled: add", "controlled: maximum",
              "controlled: enumerate", "controlled: average"}

LEVEL_FUNCTIONS = {"Adding", "AddingSign", "Average", "Maximum", "Minimum", "Mode", "Activity"}
CPU_FUNCTIONS = {"Active Thd", "Active Thd Sign", "Active Thd Val", "Active Thd Val Sign"}
EVENT_FUNCTIONS = {"Last Evt Val", "Last Evt Val w/o Bursts", "Last Evt Type", "Next Evt Val",
                   "Avg Next Evt Val", "Given Evt Val", "In Evt Val", "Not In Evt Val",
                   "Int. Between Evt"}
STATE_FUNCTIONS = {"State As Is", "Useful", "In State", "Not In State", "State Record Dur."}
COMM_FUNCTIONS = {"Recv Messages in Transit", "Send Messages in Transit", "Last Send Dur.",
                  "Comm Partner", "Comm Recv. Partner", "Last Tag", "Comm Size",
                  "Number Of Sends", "Number Of Receives"}
OBJECT_FUNCTIONS = {"Thread ID", "TaskID", "Application ID", "Cpu ID", "Node ID"}
THREAD_FUNCTIONS = EVENT_FUNCTIONS | STATE_FUNCTIONS | COMM_FUNCTIONS | OBJECT_FUNCTIONS
COMPOSE_FUNCTIONS = {"As Is", "Sign", "1-Sign", "Mod", "Div", "Prod", "Add", "Subs", "Is Equal",
                     "Is Equal (Sign)", "Is In Range", "Select Range", "Burst Time", "Delta",
                     "Accumulate", "Enumerate", "Translate", "Join Bursts", "Nesting level",
                     "Stacked Val"}
# Functions that mean nothing without parameters, and how many they take.
PARAMETERS = {"Given Evt Val": 1, "In Evt Val": 1, "Not In Evt Val": 1, "In State": 1,
              "Not In State": 1, "Is Equal": 1, "Is Equal (Sign)": 1, "Mod": 1, "Div": 1,
              "Prod": 1, "Add": 1, "Subs": 1, "Is In Range": 2, "Select Range": 2,
              "Avg Next Evt Val": 1}
# Functions whose parameters are values of the event type (or states) that is shown.
VALUE_PARAMETERS = {"Given Evt Val", "In Evt Val", "Not In Evt Val", "Is Equal", "Is Equal (Sign)"}
STACK_FUNCTIONS = {"Nesting level", "Stacked Val"}

FILTER_FUNCTIONS = {"All": 0, "None": 0, "=": None, "!=": None, ">": 1, "<": 1, "[x,y]": 2}
FILTERS = ("from_obj", "to_obj", "tag_msg", "size_msg", "bw_msg", "evt_type", "evt_value")
SELECTED = {"cpu": CPU_FUNCTIONS | LEVEL_FUNCTIONS, "appl": LEVEL_FUNCTIONS,
            "task": LEVEL_FUNCTIONS, "thread": THREAD_FUNCTIONS, "node": LEVEL_FUNCTIONS,
            "system": LEVEL_FUNCTIONS, "workload": LEVEL_FUNCTIONS}
SELECTED.update({key: set(FILTER_FUNCTIONS) for key in FILTERS})
COMPOSED = {key: COMPOSE_FUNCTIONS for key in (
    "compose_cpu", "compose_appl", "compose_task", "compose_thread", "compose_node",
    "compose_system", "compose_workload", "topcompose1", "topcompose2")}

VALUE_STATISTICS = {"Time", "% Time", "% Time Not Zero", "% Window Time", "# Bursts", "% # Bursts",
                    "# Bursts != 0", "Integral", "Average value", "Average value != 0", "Maximum",
                    "Minimum", "Average Burst Time", "Stdev Burst Time", "Average per Burst",
                    "Average per Burst != 0", "Sum bursts"}
COMM_STATISTICS = {"#Sends", "#Receives", "Bytes sent", "Bytes received"} | {
    "%s bytes %s" % (how, way) for how in ("Average", "Minimum", "Maximum")
    for way in ("sent", "received")}

# ---- the kinds of values a tag takes ------------------------------------------------------------


def one_of(words):
    return lambda value: None if value in words else "unknown value '%s'" % value


def number(low, high, kind=float):
    def check(value):
        try:
            n = kind(value)
        except ValueError:
            return "'%s' is not a number" % value
        return None if low <= n <= high else "%s is not between %g and %g" % (value, low, high)
    return check


def numbers(count):
    def check(value):
        try:
            found = [float(word) for word in value.split()]
        except ValueError:
            return "'%s' is not a list of numbers" % value
        return None if len(found) == count else "takes %d numbers, not %d" % (count, len(found))
    return check


def palette(value):
    one = r"\{-?\d+(\.\d+)?:\d{1,3},\d{1,3},\d{1,3}\}"
    if not re.fullmatch(one + "(," + one + ")*", value):
        return "palette is not of the form {VALUE:R,G,B},{VALUE:R,G,B}..."
    entries = re.findall(r"\{([^:]+):(\d+),(\d+),(\d+)\}", value)
    if any(int(part) > 255 for entry in entries for part in entry[1:]):
        return "a colour is above 255"
    values = [float(entry[0]) for entry in entries]
    return "a value has two colours" if len(set(values)) != len(values) else None


def level(value):
    if value in RESOURCE_LEVELS:
        return "level '%s' does not load on a trace without resources" % value
    return one_of(LEVELS)(value)


def anything(value):
    return None if value.strip() else "has no value"


BOOL = one_of({"true", "false"})
BIG_BOOL = one_of({"True", "False"})
PIXELS = number(0, 65535, int)
REAL = number(-1e300, 1e300)
PART = number(0.0, 1.0)

WINDOW_TAGS = {
    "window_id": number(1, 1e9, int), "window_level": level, "window_units": one_of(UNITS),
    "window_begin_time_relative": PART, "window_end_time_relative": PART,
    "window_scale_relative": PART, "window_begin_time": REAL, "window_stop_time": REAL,
    "window_position_x": PIXELS, "window_position_y": PIXELS, "window_width": PIXELS,
    "window_height": PIXELS, "window_minimum_y": REAL, "window_maximum_y": REAL,
    "window_compute_y_max": BOOL, "window_noncolor_mode": BOOL,
    "window_color_mode": one_of(COLOUR_MODES), "window_custom_color_enabled": BOOL,
    "window_custom_color_palette": palette, "window_gradient_function": one_of(GRADIENTS),
    "window_comm_lines_enabled": BOOL, "window_flags_enabled": BOOL,
    "window_logical_filtered": BOOL, "window_physical_filtered": BOOL,
    "window_intracomms_enabled": BOOL, "window_intercomms_enabled": BOOL,
    "window_comm_fromto": BOOL, "window_comm_tagsize": BOOL, "window_comm_typeval": BOOL,
    "window_drawmode": one_of(DRAW_MODES), "window_drawmode_rows": one_of(DRAW_MODES),
    "window_pixel_size": one_of({"1", "2", "4", "8", "16"}),
    "window_labels_to_draw": one_of({"0", "1", "2"}), "window_zoom_objects": numbers(2),
    "window_object": anything, "window_open": BOOL, "window_factors": numbers(2),
    "window_operation": one_of(OPERATIONS), "window_identifiers": numbers(2),
    "window_selected_functions": anything, "window_compose_functions": anything,
    "window_semantic_module": anything, "window_filter_module": anything,
}
COMPOSED_ONLY = {"window_factors", "window_operation", "window_identifiers"}
SINGLE_ONLY = {"window_selected_functions", "window_compose_functions", "window_semantic_module",
               "window_filter_module"}
REPEATABLE = {"window_semantic_module", "window_filter_module"}

HISTOGRAM_TAGS = {
    "Analyzer2D.Name": anything, "Analyzer2D.X": PIXELS, "Analyzer2D.Y": PIXELS,
    "Analyzer2D.Width": PIXELS, "Analyzer2D.Height": PIXELS,
    "Analyzer2D.ControlWindow": number(1, 1e9, int), "Analyzer2D.DataWindow": number(1, 1e9, int),
    "Analyzer2D.Statistic": one_of(VALUE_STATISTICS | COMM_STATISTICS),
    "Analyzer2D.CalculateAll": BIG_BOOL, "Analyzer2D.HideCols": BIG_BOOL,
    "Analyzer2D.HorizVert": one_of({"Horizontal", "Vertical"}), "Analyzer2D.Color": BIG_BOOL,
    "Analyzer2D.Zoom": one_of({"Enabled", "Disabled"}),
    "Analyzer2D.AnalysisLimits": one_of({"Alltrace", "Allwindow"}),
    "Analyzer2D.ComputeYScale": BIG_BOOL, "Analyzer2D.ComputeYScaleZero": BIG_BOOL,
    "Analyzer2D.ComputeGradient": BIG_BOOL,
    "Analyzer2D.Minimum": REAL, "Analyzer2D.Maximum": REAL, "Analyzer2D.Delta": REAL,
    "Analyzer2D.SortCols": BIG_BOOL, "Analyzer2D.SortCriteria": anything,
}
HISTOGRAM_NEEDS = ("Analyzer2D.Name", "Analyzer2D.ControlWindow", "Analyzer2D.DataWindow",
                   "Analyzer2D.Statistic", "Analyzer2D.CalculateAll", "Analyzer2D.AnalysisLimits",
                   "Analyzer2D.ComputeYScale")

# ---- the .pcf -----------------------------------------------------------------------------------


def trim(label):
    return label.replace("\t", " ").strip(" ")


class Pcf:
    """Types and values of one .pcf, as the client takes them in."""

    def __init__(self, path):
        self.path = path
        self.label_of = {}      # number -> label
        self.number_of = {}     # label -> number
        self.values = {}        # number -> {value: label}
        self.problems = []
        section, types = None, []
        with open(path, encoding="utf-8") as file:
            for at, line in enumerate(file, 1):
                line = trim(line.rstrip("\n"))
                if not line or line.startswith("#"):
                    continue
                if re.fullmatch(r"[A-Z_]+", line):
                    if line == "EVENT_TYPE":
                        types = []
                    section = line
                    continue
                found = re.fullmatch(r"(-?\d+)\s+(?:(\d+)\s+)?(.*)", line)
                if section == "EVENT_TYPE" and found and found.group(2):
                    self._type(at, int(found.group(2)), trim(found.group(3)))
                    types.append(int(found.group(2)))
                elif section == "VALUES":
                    found = re.fullmatch(r"(-?\d+)\s+(.*)", line)
                    for number_ in types if found else ():
                        self.values[number_][int(found.group(1))] = trim(found.group(2))

    def _type(self, at, number_, label):
        if label in self.number_of and self.number_of[label] != number_:
            self.problems.append((at, "label '%s' is used for type %d and type %d" %
                                  (label, self.number_of[label], number_)))
        self.label_of[number_] = label
        self.number_of[label] = number_
        self.values.setdefault(number_, {})


# ---- the .cfg -----------------------------------------------------------------------------------


class Window:
    def __init__(self, at, number_, name):
        self.at, self.number, self.name = at, number_, name
        self.type = None
        self.tags = {}          # tag -> (line, value); the last one of repeatable tags
        self.functions = {}     # key -> function, of both function lines
        self.parameters = {}    # (level, function) -> (line, [[numbers]])
        self.filters = {}       # key -> (line, [operands])

    def value(self, tag, default=None):
        return self.tags[tag][1] if tag in self.tags else default

    def is_comm(self):
        return self.functions.get("thread") in COMM_FUNCTIONS or "tag_msg" in self.filters


class Check:
    """One file: parse() goes through the lines, then the windows as wholes are looked at."""

    def __init__(self, path, pcfs, complete):
        self.path, self.pcfs, self.complete = path, pcfs, complete
        self.found = []
        self.windows = []
        self.histograms = []    # {tag: (line, value)}, "at" -> line
        self.declared = None    # ConfigFile.NumWindows: (line, value)

    def say(self, at, message):
        self.found.append((at, message))

    def run(self):
        if not self.path.endswith(".cfg"):
            self.say(1, "the name does not end in .cfg")
        try:
            with open(self.path, encoding="utf-8", newline="") as file:
                self.lines = file.read().split("\n")
        except (OSError, UnicodeDecodeError) as error:
            self.say(1, "cannot be read: %s" % error)
            return self.found
        self.parse()
        for window in self.windows:
            if window.type == "single":
                self.single(window)
            elif window.type == "composed":
                self.composed(window)
            if window.type:
                self.drawing(window)
        for histogram in self.histograms:
            self.histogram(histogram)
        self.whole()
        return sorted(set(self.found))

    # -- line by line --

    def parse(self):
        seen = set()            # tags of the header
        inside = None           # None (header), "description", a Window, or a histogram
        for at, line in enumerate(self.lines, 1):
            if line.endswith("\r"):
                self.say(at, "line ends in CR")
                line = line[:-1]
            if line == "#ParaverCFG":
                seen.add(line)
                continue
            if inside == "description":
                if line == "ConfigFile.EndDescription":
                    inside = None
                    seen.add(line)
                continue
            if not line or line.startswith("#"):
                continue
            if line != line.strip():
                self.say(at, "blanks at the start or the end of the line")
            if line.startswith("<"):
                if line != "< NEW ANALYZER2D >":
                    self.say(at, "unknown line '%s'" % line)
                    continue
                inside = {"at": at}
                self.histograms.append(inside)
                continue
            tag, _, value = line.partition(" ")
            if tag.startswith("ConfigFile."):
                if inside is not None:
                    self.say(at, "%s after the first window" % tag)
                inside = "description" if tag == "ConfigFile.BeginDescription" else inside
                self.header(at, tag, value, seen)
            elif tag == "window_name":
                if isinstance(inside, dict):
                    self.say(at, "a window after a histogram")
                inside = Window(at, len(self.windows) + 1, value)
                if not value:
                    self.say(at, "window_name has no value")
                self.windows.append(inside)
            elif tag.startswith("Analyzer2D."):
                self.setting(at, tag[:-1] if tag.endswith(":") else tag, value, inside,
                             HISTOGRAM_TAGS, dict, "a histogram")
                if not tag.endswith(":"):
                    self.say(at, "'%s' is not followed by a colon" % tag)
            elif isinstance(inside, Window) and inside.type is None:
                self.type(at, tag, value, inside)
            else:
                self.setting(at, tag, value, inside, WINDOW_TAGS, Window, "a window")
        if inside == "description":
            self.say(len(self.lines), "the description is not ended")
        if "#ParaverCFG" not in seen:
            self.say(1, "no line #ParaverCFG")
        for tag in ("ConfigFile.Version:", "ConfigFile.NumWindows:", "ConfigFile.EndDescription"):
            if tag not in seen and inside != "description":
                self.say(1, "no line %s" % tag)

    def header(self, at, tag, value, seen):
        seen.add(tag)
        if tag == "ConfigFile.NumWindows:":
            self.declared = (at, value)
        elif tag == "ConfigFile.Version:":
            if value != "3.4":
                self.say(at, "version is '%s', not 3.4" % value)
        elif tag != "ConfigFile.BeginDescription":
            self.say(at, "unknown tag '%s'" % tag)

    def type(self, at, tag, value, window):
        if tag != "window_type":
            self.say(at, "'%s' before window_type, which must follow window_name" % tag)
            window.type = ""
        elif value not in ("single", "composed"):
            self.say(at, "window_type: unknown value '%s'" % value)
            window.type = ""
        else:
            window.type = value

    def setting(self, at, tag, value, inside, known, place, where):
        if tag not in known:
            self.say(at, "unknown tag '%s' (the client skips it in silence)" % tag)
            return
        if not isinstance(inside, place):
            self.say(at, "'%s' outside %s" % (tag, where))
            return
        wrong = known[tag](value)
        if wrong:
            self.say(at, "%s: %s" % (tag, wrong))
            return
        tags = inside.tags if isinstance(inside, Window) else inside
        if tag in tags and tag not in REPEATABLE:
            self.say(at, "'%s' for the second time" % tag)
        tags[tag] = (at, value)
        if isinstance(inside, Window):
            if tag == "window_selected_functions":
                self.functions(at, tag, value, inside, SELECTED)
            elif tag == "window_compose_functions":
                self.functions(at, tag, value, inside, COMPOSED)
            elif tag == "window_semantic_module":
                self.parameter(at, value, inside)
            elif tag == "window_filter_module":
                self.filter(at, value, inside)

    def functions(self, at, tag, value, window, known):
        shape = re.fullmatch(r"\{ (\d+), \{ (.*) \} \}", value)
        pairs = re.findall(r"\{(\w+), ((?:[^{}])+)\}", shape.group(2)) if shape else []
        if not shape or ", ".join("{%s, %s}" % pair for pair in pairs) != shape.group(2):
            self.say(at, "%s is not of the form { N, { {KEY, NAME}, ... } }" % tag)
            return
        if int(shape.group(1)) != len(pairs):
            self.say(at, "%s: %s pairs announced, %d there" % (tag, shape.group(1), len(pairs)))
        for key, name in pairs:
            if key not in known:
                self.say(at, "%s: unknown key '%s'" % (tag, key))
            elif key in window.functions:
                self.say(at, "%s: '%s' for the second time" % (tag, key))
            elif name not in known[key]:
                self.say(at, "%s: no function of %s is called '%s'" % (tag, key, name))
            else:
                window.functions[key] = name
                if name in STACK_FUNCTIONS:
                    self.say(at, "'%s' is wrong for traces that write the caller on return" % name)

    def parameter(self, at, value, window):
        shape = re.fullmatch(r"(\w+) (.+?) \{ (\d+), \{ (.*) \} \}", value)
        if not shape:
            self.say(at, "window_semantic_module is not of the form "
                         "LEVEL FUNCTION { N, { COUNT v1 ..., ... } }")
            return
        where, name, count, rest = shape.groups()
        if window.functions.get(where) != name:
            self.say(at, "parameters of '%s', but %s is %s" % (
                name, where, "'%s'" % window.functions[where] if where in window.functions
                else "not selected before"))
            return
        lists = []
        for one in rest.split(", "):
            try:
                words = [float(word) for word in one.split()]
            except ValueError:
                words = []
            if not words or words[0] != len(words) - 1:
                self.say(at, "parameter '%s' is not a count and so many numbers" % one)
                return
            lists.append(words[1:])
        if int(count) != len(lists):
            self.say(at, "%s parameters announced, %d there" % (count, len(lists)))
        elif name not in PARAMETERS:
            self.say(at, "'%s' takes no parameters" % name)
        elif len(lists) != PARAMETERS[name]:
            self.say(at, "'%s' takes %d parameters, not %d" % (name, PARAMETERS[name], len(lists)))
        elif name == "Is In Range" and lists[0] < lists[1]:
            self.say(at, "'Is In Range' takes the maximum first")
        window.parameters[where, name] = (at, lists)

    def filter(self, at, value, window):
        key, _, rest = value.partition(" ")
        count, _, rest = rest.partition(" ")
        base = key[:-len("_label")] if key.endswith("_label") else key
        if base not in FILTERS or (key != base and not base.startswith("evt_")):
            self.say(at, "window_filter_module: unknown key '%s'" % key)
            return
        if key == "evt_value_label":
            self.say(at, "evt_value_label looks in all types: give evt_value numbers")
            return
        if "window_selected_functions" not in window.tags:
            self.say(at, "a filter before window_selected_functions")
            return
        if key != base:
            operands = re.findall(r'"([^"]*)"', rest)
            well = " ".join('"%s"' % one for one in operands) == rest
        else:
            operands = rest.split()
            well = all(re.fullmatch(r"-?\d+", one) for one in operands) and rest == " ".join(operands)
            operands = [int(one) for one in operands] if well else []
        if not well or not count.isdigit() or not operands:
            self.say(at, "window_filter_module is not of the form KEY COUNT %s..." %
                     ('"LABEL"' if key != base else "NUMBER"))
            return
        if int(count) != len(operands):
            self.say(at, "%s: %s operands announced, %d there" % (key, count, len(operands)))
        if key == "evt_type" and not all(0 < one < 1 << 32 for one in operands):
            self.say(at, "an event type is not between 1 and 4294967295")
        if key in window.filters:
            self.say(at, "filter '%s' for the second time" % key)
        function = window.functions.get(base, "All")
        takes = FILTER_FUNCTIONS[function]
        if takes == 0:
            self.say(at, "operands for %s, but its function is '%s'" % (key, function))
        elif takes and takes != len(operands):
            self.say(at, "'%s' of %s takes %d operands, not %d" % (function, key, takes,
                                                                    len(operands)))
        window.filters[key] = (at, operands)

    # -- window by window --

    def single(self, window):
        for tag in sorted(COMPOSED_ONLY & set(window.tags)):
            self.say(window.tags[tag][0], "'%s' in a single window" % tag)
        if "window_selected_functions" not in window.tags:
            self.say(window.at, "no window_selected_functions")
            return
        at = window.tags["window_selected_functions"][0]
        for where, name in window.functions.items():
            if name in PARAMETERS and (where, name) not in window.parameters:
                self.say(at, "'%s' of %s has no parameters" % (name, where))
        for key in FILTERS:
            function = window.functions.get(key, "All")
            if FILTER_FUNCTIONS[function] != 0 and key not in window.filters:
                self.say(at, "'%s' of %s has no operands" % (function, key))
        self.event_type(window, at)
        thread = window.functions.get("thread", "Last Evt Val")
        if thread not in EVENT_FUNCTIONS and window.functions.get("evt_type") not in ("None", "All"):
            self.say(at, "'%s' needs no events: evt_type must be None" % thread)

    def event_type(self, window, at):
        """Number and label belong together, in this file and in each .pcf."""
        numbers_at, found = window.filters.get("evt_type", (at, []))
        labels_at, labels = window.filters.get("evt_type_label", (numbers_at, []))
        if found and not labels:
            self.say(numbers_at, "an event type without its label (evt_type_label)")
        elif labels and not found:
            self.say(labels_at, "a label without its event type (evt_type)")
        elif len(found) != len(labels):
            self.say(labels_at, "%d event types but %d labels" % (len(found), len(labels)))
        thread = window.functions.get("thread", "Last Evt Val")
        plain = (thread == "Last Evt Val" and len(labels) == 1 and not window.is_comm() and
                 window.functions.get("compose_thread", "As Is") == "As Is")
        if plain and labels[0] != "Unknown" and window.name != labels[0]:
            self.say(window.at, "the window is called '%s' but its type '%s'" %
                     (window.name, labels[0]))
        known = set()
        for pcf in self.pcfs:
            for number_, label in zip(found, labels):
                if label in pcf.number_of and pcf.number_of[label] != number_:
                    self.say(labels_at, "'%s' is type %d in %s, not %d" %
                             (label, pcf.number_of[label], pcf.path, number_))
                elif label != "Unknown" and pcf.label_of.get(number_, label) != label:
                    self.say(labels_at, "type %d is '%s' in %s, not '%s'" %
                             (number_, pcf.label_of[number_], pcf.path, label))
                elif number_ in pcf.label_of:
                    known.add(number_)
                    self.values(window, pcf, number_)
        if self.complete:
            for number_ in found:
                if number_ not in known and "Unknown" not in labels:
                    self.say(numbers_at, "type %d is in no .pcf given" % number_)

    def values(self, window, pcf, number_):
        """Values that the window asks for are values of its type."""
        names = pcf.values[number_]
        if not names:
            return
        wanted = [window.filters.get("evt_value", (0, []))]
        wanted += [(at, lists[0]) for (_, name), (at, lists) in window.parameters.items()
                   if name in VALUE_PARAMETERS]
        for at, values in wanted:
            for value in values:
                if value not in names:
                    self.say(at, "value %g is not known to type %d in %s" %
                             (value, number_, pcf.path))
        if "window_custom_color_palette" in window.tags:
            at, text = window.tags["window_custom_color_palette"]
            coloured = {float(one) for one in re.findall(r"\{([^:]+):", text)}
            for value in sorted(set(names) - coloured - {0}):
                self.say(at, "value %d (%s) of type %d has no colour" %
                         (value, names[value], number_))

    def composed(self, window):
        for tag in sorted(SINGLE_ONLY & set(window.tags)):
            self.say(window.tags[tag][0], "'%s' in a composed window" % tag)
        for tag in sorted(COMPOSED_ONLY - set(window.tags)):
            self.say(window.at, "a composed window without %s" % tag)
        at, value = window.tags.get("window_identifiers", (window.at, ""))
        for part in value.split():
            n = float(part)
            if n != int(n) or not 1 <= n < window.number:
                self.say(at, "window %s is not one before window %d" % (part, window.number))
            elif self.windows[int(n) - 1].value("window_open", "true") != "false":
                self.say(at, "window %d is a part of window %d but open" % (n, window.number))

    def drawing(self, window):
        low, high = (float(window.value("window_" + what, "0")) for what in
                     ("minimum_y", "maximum_y"))
        if window.value("window_compute_y_max", "false") != "true":
            at = window.tags.get("window_maximum_y", (window.at,))[0]
            if "window_maximum_y" not in window.tags:
                self.say(window.at, "neither window_compute_y_max true nor a window_maximum_y")
            elif low >= high:
                self.say(at, "window_maximum_y is not above window_minimum_y")
        if "window_color_mode" in window.tags and window.value("window_noncolor_mode") == "false":
            self.say(window.tags["window_color_mode"][0],
                     "a colour mode, but window_noncolor_mode false draws lines")
        if ("window_custom_color_palette" in window.tags) != \
                (window.value("window_custom_color_enabled", "false") == "true"):
            self.say(window.at, "a custom palette and window_custom_color_enabled true go together")
        if "window_custom_color_palette" in window.tags and "window_color_mode" in window.tags:
            self.say(window.tags["window_custom_color_palette"][0],
                     "colours by value have no effect in a gradient")
        lines = window.value("window_comm_lines_enabled", "true") == "true"
        if lines and not window.is_comm():
            self.say(window.tags.get("window_comm_lines_enabled", (window.at,))[0],
                     "communication lines in a window that is not about them")
        if "window_begin_time_relative" in window.tags and "window_end_time_relative" in window.tags:
            at, begin = window.tags["window_begin_time_relative"]
            if float(begin) >= float(window.value("window_end_time_relative")):
                self.say(at, "the window begins where it ends, or after it")

    # -- histograms and the file as a whole --

    def histogram(self, histogram):
        at = histogram["at"]
        for tag in HISTOGRAM_NEEDS:
            if tag not in histogram:
                self.say(at, "a histogram without %s" % tag + (
                    " is all zeros" if tag == "Analyzer2D.AnalysisLimits" else ""))
        windows = {}
        for tag in ("Analyzer2D.ControlWindow", "Analyzer2D.DataWindow"):
            line, value = histogram.get(tag, (at, ""))
            if value and int(value) > len(self.windows):
                self.say(line, "there is no window %s" % value)
            elif value:
                windows[tag] = self.windows[int(value) - 1]
        scale = [tag for tag in ("Minimum", "Maximum", "Delta") if "Analyzer2D." + tag in histogram]
        if histogram.get("Analyzer2D.ComputeYScale", (0, ""))[1] == "False":
            if len(scale) != 3:
                self.say(at, "columns that are not computed need Minimum, Maximum and Delta")
            else:
                low, high, step = (float(histogram["Analyzer2D." + tag][1]) for tag in scale)
                if low >= high or step <= 0 or (high - low) / step > 10000:
                    self.say(at, "Minimum, Maximum and Delta make no columns")
        elif scale:
            self.say(histogram["Analyzer2D." + scale[0]][0],
                     "columns are computed, so Minimum, Maximum and Delta have no effect")
        line, statistic = histogram.get("Analyzer2D.Statistic", (at, ""))
        control = windows.get("Analyzer2D.ControlWindow")
        if control and statistic and (statistic in COMM_STATISTICS) != \
                (control.functions.get("thread") in COMM_FUNCTIONS):
            self.say(line, "'%s' of a window that is %sabout communications" %
                     (statistic, "not " if statistic in COMM_STATISTICS else ""))

    def whole(self):
        if not self.windows:
            self.say(1, "no window")
        if self.declared and self.declared[1] != str(len(self.windows)):
            self.say(self.declared[0], "%s windows announced, %d there" %
                     (self.declared[1], len(self.windows)))
        for window in self.windows:
            at, value = window.tags.get("window_id", (window.at, str(window.number)))
            if value != str(window.number):
                self.say(at, "window_id is %s, but the client counts %d" % (value, window.number))
        shown = [window for window in self.windows if window.value("window_open", "true") == "true"]
        if self.windows and not shown and not self.histograms:
            self.say(self.windows[0].at, "nothing is shown: no open window and no histogram")


def main(argv):
    parser = argparse.ArgumentParser(description="checks Paraver configurations")
    parser.add_argument("--pcf", action="append", default=[])
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("cfg", nargs="+")
    options = parser.parse_args(argv[1:])
    pcfs = [Pcf(path) for path in options.pcf]
    found = 0
    for pcf in pcfs:
        for at, message in pcf.problems:
            print("%s:%d: %s" % (pcf.path, at, message))
            found += 1
    for path in options.cfg:
        for at, message in Check(path, pcfs, options.complete).run():
            print("%s:%d: %s" % (path, at, message))
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
