# SPDX-License-Identifier: MIT
"""
apis: reads traces made with --api, for the live tests.

In: a Trace (facts.py); out: how often each event was written, and whether its states are balanced.
"""
from collections import Counter

from facts import check


def counts(streams):
    """How often each event was written, by MCV; marks as "TITLE: LABEL" and "TITLE: LABEL/" for
    their ends."""
    n = Counter()
    for s in streams:
        marks = s.meta["ovni"].get("mark", {})
        for e in s.events:
            if e.mcv in ("OM[", "OM]", "OM="):
                value, type_ = e.ints("qi")
                mark = marks.get(str(type_), {"title": type_})
                label = mark.get("labels", {}).get(str(value), value)
                n[f"{mark['title']}: {label}{'/' if e.mcv == 'OM]' else ''}"] += 1
            elif e.mcv[0] not in "OK":
                n[e.mcv] += 1
    return n


def check_counts(n, wanted):
    """`wanted`: (entering MCV or mark, leaving one or None, times)."""
    for enter, leave, times in wanted:
        check(n[enter] == times, enter, "was written", n[enter], "times, the program says", times)
        if leave:
            check(n[leave] == n[enter], n[enter], enter, "but", n[leave], leave)


def check_required(trace, model, version):
    """A stream requires a model exactly if it has events of it."""
    character = {"mpi": "M", "openmp": "P", "nosv": "V"}[model]
    used = 0
    for s in trace.streams:
        has = any(e.mcv[0] == character for e in s.events)
        wants = s.meta["ovni"]["require"].get(model)
        used += has
        check(wants == (version if has else None), s, "requires", model, wants,
              "and has events of it" if has else "and has none")
    check(used, "no stream has events of", model)
