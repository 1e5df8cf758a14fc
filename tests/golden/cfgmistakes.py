#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
cfgmistakes: one good configuration, a table of mistakes, and what cfgcheck must say of each.

A mistake replaces a text of GOOD by another; the message must come, with the line of the
first character that changed (or of the text in the last column). GOOD itself must pass.
"""
import os
import sys
import tempfile

import cfgcheck

GOOD = """\
#ParaverCFG
ConfigFile.Version: 3.4
ConfigFile.NumWindows: 4
ConfigFile.BeginDescription
Any text, also window_nonsense of people.
ConfigFile.EndDescription

window_name Thread: scheduler state
window_type single
window_id 1
window_comm_lines_enabled false
window_noncolor_mode true
window_custom_color_enabled true
window_custom_color_palette {1.0:60,180,75},{2.0:245,130,48},{3.0:128,128,128}
window_units Microseconds
window_minimum_y 0.0
window_maximum_y 1.0
window_compute_y_max true
window_level thread
window_begin_time_relative 0.0
window_end_time_relative 1.0
window_open false
window_selected_functions { 3, { {thread, Last Evt Val}, {appl, Adding}, {evt_type, =} } }
window_compose_functions { 1, { {compose_thread, As Is} } }
window_filter_module evt_type 1 300
window_filter_module evt_type_label 1 "Thread: scheduler state"

window_name Is runnable
window_type single
window_comm_lines_enabled false
window_compute_y_max true
window_open false
window_selected_functions { 2, { {thread, Last Evt Val}, {evt_type, =} } }
window_compose_functions { 1, { {compose_thread, Is Equal (Sign)} } }
window_semantic_module compose_thread Is Equal (Sign) { 1, { 1 2.0 } }
window_filter_module evt_type 1 300
window_filter_module evt_type_label 1 "Thread: scheduler state"

window_name Waiting
window_type single
window_comm_lines_enabled true
window_compute_y_max true
window_open false
window_selected_functions { 3, { {thread, Recv Messages in Transit}, {tag_msg, =}, {evt_type, None} } }
window_filter_module tag_msg 1 7

window_name Sum
window_type composed
window_factors 1.0 1.0
window_operation product
window_identifiers 1 2
window_comm_lines_enabled false
window_color_mode window_in_gradient_mode
window_compute_y_max true
window_open true

< NEW ANALYZER2D >
Analyzer2D.Name: Time per scheduler state
Analyzer2D.ControlWindow: 1
Analyzer2D.DataWindow: 4
Analyzer2D.Statistic: Time
Analyzer2D.CalculateAll: True
Analyzer2D.AnalysisLimits: Alltrace
Analyzer2D.ComputeYScale: True

< NEW ANALYZER2D >
Analyzer2D.Name: Who wakes whom
Analyzer2D.ControlWindow: 3
Analyzer2D.DataWindow: 3
Analyzer2D.Statistic: #Receives
Analyzer2D.CalculateAll: True
Analyzer2D.AnalysisLimits: Allwindow
Analyzer2D.ComputeYScale: False
Analyzer2D.Minimum: 1
Analyzer2D.Maximum: 9
Analyzer2D.Delta: 2
"""

PCF = """\
EVENT_TYPE
0 300        Thread: scheduler state\t
VALUES
0 None
1 Running
2 Runnable
3 Blocked

EVENT_TYPE
0 301        Thread: other
0 302        Thread: another
"""

STATE_FILTER = 'window_filter_module evt_type 1 300\nwindow_filter_module evt_type_label 1 ' \
    '"Thread: scheduler state"\n\nwindow_name Is'
FIRST_WINDOW = "window_name Thread: scheduler state"

# the replaced text, the new text, the expected message, and a text on the expected line (none: the
# line of the first change; "": the first line)
MISTAKES = [
    ("#ParaverCFG\n", "", "no line #ParaverCFG", ""),
    ("ConfigFile.Version: 3.4\n", "", "no line ConfigFile.Version:", ""),
    ("ConfigFile.Version: 3.4", "ConfigFile.Version: 4", "version is '4', not 3.4"),
    ("NumWindows: 4", "NumWindows: 3", "3 windows announced, 4 there", "ConfigFile.NumWindows"),
    ("ConfigFile.NumWindows: 4\n", "", "no line ConfigFile.NumWindows:", ""),
    ("ConfigFile.EndDescription\n", "", "the description is not ended", None),
    ("ConfigFile.EndDescription\n", "ConfigFile.EndDescription\nConfigFile.Author: me\n",
     "unknown tag 'ConfigFile.Author:'", "ConfigFile.Author"),
    ("window_type single\nwindow_id 1", "window_id 1",
     "'window_id' before window_type, which must follow window_name"),
    ("window_type single\nwindow_id 1", "window_type simple\nwindow_id 1",
     "window_type: unknown value 'simple'", "window_type simple"),
    ("window_id 1", "window_id 2", "window_id is 2, but the client counts 1", "window_id 2"),
    ("window_noncolor_mode true", "window_colour_mode true",
     "unknown tag 'window_colour_mode' (the client skips it in silence)", "window_colour_mode"),
    ("window_noncolor_mode true", "window_noncolor_mode yes",
     "window_noncolor_mode: unknown value 'yes'", "window_noncolor_mode yes"),
    ("window_noncolor_mode true", "window_noncolor_mode true ",
     "blanks at the start or the end of the line", "window_noncolor_mode true "),
    ("window_noncolor_mode true", "window_noncolor_mode true\r", "line ends in CR",
     "window_noncolor_mode true\r"),
    ("window_id 1\n", "window_id 1\nwindow_units Seconds\n", "'window_units' for the second time",
     "window_units Microseconds"),
    ("window_units Microseconds", "window_units microseconds",
     "window_units: unknown value 'microseconds'", "window_units m"),
    ("window_level thread", "window_level cpu",
     "level 'cpu' does not load on a trace without resources", "window_level cpu"),
    ("window_level thread", "window_level Thread", "window_level: unknown value 'Thread'",
     "window_level Thread"),
    ("window_end_time_relative 1.0", "window_end_time_relative 1.5", "1.5 is not between 0 and 1",
     "window_end_time_relative"),
    ("window_end_time_relative 1.0", "window_end_time_relative 0.0",
     "the window begins where it ends, or after it", "window_begin_time_relative"),
    ("{1.0:60,180,75}", "{1.0:60,180,275}", "a colour is above 255"),
    ("{1.0:60,180,75},", "{1.0:60,180,75};", "palette is not of the form"),
    ("{2.0:245,130,48}", "{1.0:245,130,48}", "a value has two colours"),
    ("window_custom_color_enabled true\n", "",
     "a custom palette and window_custom_color_enabled true go together", FIRST_WINDOW),
    ("window_custom_color_palette", "window_color_mode window_in_gradient_mode\n"
     "window_custom_color_palette", "colours by value have no effect in a gradient",
     "window_custom_color_palette"),
    ("window_noncolor_mode true", "window_noncolor_mode false\nwindow_color_mode "
     "window_in_punctual_mode", "a colour mode, but window_noncolor_mode false draws lines",
     "window_color_mode"),
    ("window_comm_lines_enabled false", "window_comm_lines_enabled true",
     "communication lines in a window that is not about them", "window_comm_lines_enabled true"),
    ("window_comm_lines_enabled false\n", "",
     "communication lines in a window that is not about them", FIRST_WINDOW),
    ("window_compute_y_max true", "window_compute_y_max false\nwindow_maximum_y 0.0",
     "'window_maximum_y' for the second time", "window_maximum_y 0.0"),
    ("window_maximum_y 1.0\nwindow_compute_y_max true", "window_maximum_y 0.0",
     "window_maximum_y is not above window_minimum_y", "window_maximum_y 0.0"),
    ("window_maximum_y 1.0\nwindow_compute_y_max true\n", "",
     "neither window_compute_y_max true nor a window_maximum_y", FIRST_WINDOW),
    ("{thread, Last Evt Val}, {appl", "{thread, Last Evt Value}, {appl",
     "no function of thread is called 'Last Evt Value'"),
    ("{thread, Last Evt Val}, {appl", "{thread, Last  Evt Val}, {appl",
     "no function of thread is called 'Last  Evt Val'"),
    ("{appl, Adding}", "{application, Adding}", "unknown key 'application'"),
    ("{appl, Adding}", "{thread, Last Evt Val}", "'thread' for the second time"),
    ("{ 3, { {thread, Last", "{ 14, { {thread, Last", "14 pairs announced, 3 there"),
    ("{thread, Last Evt Val}, {appl", "{thread, Last Evt Val},{appl",
     "window_selected_functions is not of the form"),
    ("{compose_thread, As Is}", "{compose_thread, As is}",
     "no function of compose_thread is called 'As is'"),
    ("{compose_thread, As Is}", "{compose_thread, Nesting level}",
     "'Nesting level' is wrong for traces that write the caller on return"),
    ("{compose_thread, As Is}", "{compose_thread, Is Equal}",
     "'Is Equal' of compose_thread has no parameters", "window_selected_functions"),
    ("window_semantic_module compose_thread Is Equal (Sign)",
     "window_semantic_module compose_thread Is Equal",
     "parameters of 'Is Equal', but compose_thread is 'Is Equal (Sign)'"),
    ("window_semantic_module compose_thread", "window_semantic_module compose_task",
     "parameters of 'Is Equal (Sign)', but compose_task is not selected before"),
    ("{ 1, { 1 2.0 } }", "{ 1, { 2 2.0 } }", "parameter '2 2.0' is not a count"),
    ("{ 1, { 1 2.0 } }", "{ 2, { 1 2.0, 1 3.0 } }", "'Is Equal (Sign)' takes 1 parameters, not 2"),
    ("{ 1, { 1 2.0 } }", "{ 1 2.0 }", "window_semantic_module is not of the form"),
    ("{ 1, { 1 2.0 } }", "{ 1, { 1 8.0 } }", "value 8 is not known to type 300"),
    ("{compose_thread, Is Equal (Sign)} } }\nwindow_semantic_module compose_thread Is Equal "
     "(Sign) { 1, { 1 2.0 } }",
     "{compose_thread, Is In Range} } }\nwindow_semantic_module compose_thread Is In Range "
     "{ 2, { 1 1.0, 1 2.0 } }", "'Is In Range' takes the maximum first", "window_semantic_module"),
    (STATE_FILTER, STATE_FILTER.replace("evt_type 1 300", "evt_type 2 300"),
     "evt_type: 2 operands announced, 1 there"),
    (STATE_FILTER, STATE_FILTER.replace("evt_type 1 300", "evt_type 1 4294967296"),
     "an event type is not between 1 and 4294967295"),
    (STATE_FILTER, STATE_FILTER.replace("evt_type 1 300", "evt_type 1 three"),
     "window_filter_module is not of the form KEY COUNT NUMBER..."),
    (STATE_FILTER, STATE_FILTER.replace("evt_type 1 300", "event_type 1 300"),
     "window_filter_module: unknown key 'event_type'"),
    (STATE_FILTER, STATE_FILTER.replace('"Thread: scheduler state"', "Thread: scheduler state"),
     'window_filter_module is not of the form KEY COUNT "LABEL"...'),
    (STATE_FILTER, "\nwindow_name Is", "'=' of evt_type has no operands",
     "window_selected_functions"),
    (STATE_FILTER, "window_filter_module evt_type 1 300\n\nwindow_name Is",
     "an event type without its label (evt_type_label)", "window_filter_module evt_type 1 300"),
    (STATE_FILTER, STATE_FILTER.replace("window_filter_module evt_type 1 300\n", ""),
     "a label without its event type (evt_type)", "window_filter_module evt_type_label"),
    (STATE_FILTER, STATE_FILTER.replace("evt_type 1 300", "evt_type 2 300 301"),
     "2 event types but 1 labels", "window_filter_module evt_type_label"),
    (STATE_FILTER, STATE_FILTER.replace("evt_type 1 300", "evt_type 1 301"),
     "'Thread: scheduler state' is type 300 in", "window_filter_module evt_type_label"),
    (STATE_FILTER, STATE_FILTER.replace("scheduler state\"", "other state\""),
     "type 300 is 'Thread: scheduler state' in"),
    (STATE_FILTER, STATE_FILTER.replace("300", "310").replace("scheduler state\"", "new\""),
     "type 310 is in no .pcf given"),
    (STATE_FILTER, STATE_FILTER.replace("\n\nwindow_name", "\nwindow_filter_module evt_value_label "
                                        '1 "Running"\n\nwindow_name'),
     "evt_value_label looks in all types", "window_filter_module evt_value_label"),
    (STATE_FILTER, STATE_FILTER.replace("\n\nwindow_name", "\nwindow_filter_module evt_value 1 3"
                                        "\n\nwindow_name"),
     "operands for evt_value, but its function is 'All'", "window_filter_module evt_value 1"),
    (FIRST_WINDOW, "window_name Scheduler state",
     "the window is called 'Scheduler state' but its type 'Thread: scheduler state'"),
    (",{3.0:128,128,128}", "", "value 3 (Blocked) of type 300 has no colour"),
    ("{evt_type, None}", "{evt_type, !=}", "'!=' of evt_type has no operands"),
    ("{evt_type, None}", "{evt_type, =}", "'Recv Messages in Transit' needs no events"),
    ("window_filter_module tag_msg 1 7", "", "'=' of tag_msg has no operands",
     "window_selected_functions { 3, { {thread, Recv"),
    ("window_selected_functions { 3, { {thread, Recv Messages in Transit}, {tag_msg, =}, "
     "{evt_type, None} } }\n", "", "a filter before window_selected_functions",
     "window_filter_module tag_msg"),
    ("window_operation product\n", "", "a composed window without window_operation",
     "window_name Sum"),
    ("window_operation product", "window_operation subtract",
     "window_operation: unknown value 'subtract'", "window_operation subtract"),
    ("window_identifiers 1 2", "window_identifiers 1 4", "window 4 is not one before window 4",
     "window_identifiers"),
    ("window_identifiers 1 2", "window_identifiers 1", "takes 2 numbers, not 1",
     "window_identifiers"),
    ("window_operation product", "window_operation product\nwindow_compose_functions { 1, { "
     "{topcompose1, Sign} } }", "'window_compose_functions' in a composed window",
     "window_compose_functions { 1, { {topcompose1"),
    ("window_type composed", "window_type single", "'window_factors' in a single window",
     "window_factors"),
    ("window_compute_y_max true\nwindow_open false\nwindow_selected_functions { 2",
     "window_compute_y_max true\nwindow_open true\nwindow_selected_functions { 2",
     "window 2 is a part of window 4 but open", "window_identifiers"),
    ("Analyzer2D.AnalysisLimits: Alltrace\n", "",
     "a histogram without Analyzer2D.AnalysisLimits is all zeros", "< NEW"),
    ("Analyzer2D.AnalysisLimits: Alltrace", "Analyzer2D.AnalysisLimits: All",
     "Analyzer2D.AnalysisLimits: unknown value 'All'", "Analyzer2D.AnalysisLimits: All\n"),
    ("Analyzer2D.Statistic: Time", "Analyzer2D.Statistic: time",
     "Analyzer2D.Statistic: unknown value 'time'", "Analyzer2D.Statistic: time"),
    ("Analyzer2D.Statistic: Time", "Analyzer2D.Statistic: #Sends",
     "'#Sends' of a window that is not about communications", "Analyzer2D.Statistic: #Sends"),
    ("Analyzer2D.Statistic: #Receives", "Analyzer2D.Statistic: Time",
     "'Time' of a window that is about communications"),
    ("Analyzer2D.DataWindow: 4", "Analyzer2D.DataWindow: 5", "there is no window 5",
     "Analyzer2D.DataWindow: 5"),
    ("Analyzer2D.ComputeYScale: True", "Analyzer2D.ComputeYScale True",
     "'Analyzer2D.ComputeYScale' is not followed by a colon", "Analyzer2D.ComputeYScale True"),
    ("Analyzer2D.ComputeYScale: False", "Analyzer2D.ComputeYScale: True",
     "columns are computed, so Minimum, Maximum and Delta have no effect", "Analyzer2D.Minimum"),
    ("Analyzer2D.Delta: 2\n", "", "columns that are not computed need Minimum, Maximum and Delta",
     "< NEW ANALYZER2D >\nAnalyzer2D.Name: Who"),
    ("Analyzer2D.Delta: 2\n", "Analyzer2D.Delta: 0\n",
     "Minimum, Maximum and Delta make no columns", "< NEW ANALYZER2D >\nAnalyzer2D.Name: Who"),
    ("< NEW ANALYZER2D >\nAnalyzer2D.Name: Time", "Analyzer2D.Name: Time",
     "'Analyzer2D.Name' outside a histogram", "Analyzer2D.Name"),
    ("< NEW ANALYZER2D >\nAnalyzer2D.Name: Time", "< NEW ANALYZER >\nAnalyzer2D.Name: Time",
     "unknown line '< NEW ANALYZER >'", "< NEW ANALYZER >"),
    ("Analyzer2D.Delta: 2\n", "Analyzer2D.Delta: 2\nwindow_name Late\nwindow_type single\n",
     "a window after a histogram", "window_name Late"),
    ("window_name Waiting", "ConfigFile.Version: 3.4\nwindow_name Waiting",
     "ConfigFile.Version: after the first window"),
    ("window_name Waiting", "window_name ", "window_name has no value", "window_name \n"),
    ("{ 1, { 1 2.0 } }", "{ 2, { 1 2.0 } }", "2 parameters announced, 1 there"),
    ("window_filter_module evt_type 1 300\n", "window_semantic_module compose_thread As Is "
     "{ 1, { 1 2.0 } }\nwindow_filter_module evt_type 1 300\n", "'As Is' takes no parameters",
     "window_semantic_module compose_thread As Is"),
    ("window_filter_module tag_msg 1 7", "window_filter_module tag_msg 1 7\n"
     "window_filter_module tag_msg 1 8", "filter 'tag_msg' for the second time",
     "window_filter_module tag_msg 1 8"),
    ("{evt_type, None} } }\n", "{evt_type, [x,y]} } }\nwindow_filter_module evt_type 1 300\n",
     "'[x,y]' of evt_type takes 2 operands, not 1",
     "window_filter_module evt_type 1 300\nwindow_filter_module tag"),
    ("window_selected_functions { 3, { {thread, Last Evt Val}, {appl, Adding}, {evt_type, =} } }\n"
     "window_compose_functions { 1, { {compose_thread, As Is} } }\n" +
     STATE_FILTER[:-len("\n\nwindow_name Is")], "", "no window_selected_functions", FIRST_WINDOW),
    ("Analyzer2D.Name: Who wakes whom\n", "Analyzer2D.Name: Who wakes whom\nwindow_height 3\n",
     "'window_height' outside a window", "window_height 3"),
]


def check(folder, name, cfg, pcf, complete=True):
    paths = [os.path.join(folder, name), os.path.join(folder, "a.pcf")]
    for path, content in zip(paths, (cfg, pcf)):
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    return cfgcheck.Check(paths[0], [cfgcheck.Pcf(paths[1])], complete).run()


def line_of(content, at):
    return content.count("\n", 0, at) + 1


def first_change(old, new):
    return next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))


def main(folder):
    wrong = []
    found = check(folder, "good.cfg", GOOD, PCF)
    if found:
        wrong.append("the good file: %s" % found)
    for old, new, message, *where in MISTAKES:
        if old not in GOOD:
            sys.exit("not in the good file: %r" % old)
        bad = GOOD.replace(old, new, 1)
        if not where:
            at = line_of(bad, first_change(GOOD, bad))
        elif where[0] is None:
            at = bad.count("\n") + 1
        else:
            at = line_of(bad, bad.index(where[0])) if where[0] else 1
        found = check(folder, "bad.cfg", bad, PCF)
        if not any(line == at and message in text for line, text in found):
            wrong.append("%r for %r: no '%d: %s' in %s" % (new, old, at, message, found))
    for name, cfg, pcf, message in (
            ("good.txt", GOOD, PCF, "the name does not end in .cfg"),
            ("none.cfg", "#ParaverCFG\n", PCF, "no window"),
            ("hidden.cfg", GOOD[:GOOD.index("\nwindow_name Is runnable")], PCF,
             "nothing is shown: no open window and no histogram")):
        if message not in [text for _, text in check(folder, name, cfg, pcf)]:
            wrong.append("%s: not said: %s" % (name, message))
    found = cfgcheck.Check(os.path.join(folder, "absent.cfg"), [], False).run()
    if not (found and "cannot be read" in found[0][1]):
        wrong.append("a file that is not there: %s" % found)
    clash = PCF.replace("Thread: another", "Thread: other")
    path = os.path.join(folder, "clash.pcf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(clash)
    if not cfgcheck.Pcf(path).problems:
        wrong.append("a label of two types in a .pcf is not seen")
    for one in wrong:
        print(one)
    print("%d mistakes tried, %d not seen" % (len(MISTAKES) + 5, len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(scratch))
