# SPDX-License-Identifier: MIT
"""
calls: what a trace tells of functions that were probed, for the live tests to look at.

In: a stream (facts.py); out: its calls as a tree, from the marks of type 0. A stream whose marks
are not balanced, or not declared, is wrong.
"""
from collections import Counter

from facts import check


class Call:
    __slots__ = ("label", "start", "end", "depth", "calls")

    def __init__(self, label, start, depth):
        self.label, self.start, self.end, self.depth, self.calls = label, start, None, depth, []

    def __str__(self):
        return self.label + ("(" + " ".join(map(str, self.calls)) + ")" if self.calls else "")


def labels(stream, type_):
    mark = stream.meta["ovni"].get("mark", {}).get(str(type_))
    return {int(k): v for k, v in mark.get("labels", {}).items()} if mark else None


def tree(stream):
    """The outermost calls of a stream."""
    top, stack, names = [], [], labels(stream, 0) or {}
    for e in stream.events:
        if e.mcv == "OHe":
            check(not stack, stream, "ends in", [str(c) for c in stack])
        if e.mcv not in ("OM[", "OM]") or e.ints("qi")[1] != 0:
            continue
        value = e.ints("qi")[0]
        check(value in names, stream, "has the mark", value, "without a label")
        if e.mcv == "OM[":
            call = Call(names.get(value, value), e.clock, len(stack))
            (stack[-1].calls if stack else top).append(call)
            stack.append(call)
        else:
            check(stack and stack[-1].label == names.get(value), stream, "leaves", names.get(value),
                  "in", stack[-1].label if stack else None)
            if stack:
                stack.pop().end = e.clock
    return top


def flat(calls):
    for call in calls:
        yield call
        yield from flat(call.calls)


def count(stream):
    return Counter(c.label for c in flat(tree(stream)))


def text(stream):
    """"f(g g) f": the calls of a stream, in their order."""
    return " ".join(map(str, tree(stream)))


def values(stream, title):
    """What the single mark with this title was set to, with labels where it has them."""
    types = [int(t) for t, m in stream.meta["ovni"].get("mark", {}).items() if m["title"] == title]
    if not types:
        return []
    names = labels(stream, types[0])
    sets = [e.ints("qi") for e in stream.of("OM=")]
    return [names.get(v, v) for v, t in sets if t == types[0]]
