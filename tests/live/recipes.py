# SPDX-License-Identifier: MIT
"""
recipes: the overview of a recording beside what the program itself counted.

In: the JSON of `ovni-report TRACE --json` and the lines that the program said; out: a line for each
number, and status 1 if one of them is more than 2 % off the truth.
"""
import json
import sys

from facts import check, report, verdict

doc = json.load(open(sys.argv[1] + ".json", encoding="utf-8"))
lines = report(sys.argv[1] + ".report")
said = {k: v for line in lines for k, v in line.items()}


def total(key):
    """The sum of what all threads said."""
    values = [line[key] for line in lines if key in line]
    check(values, "no thread said", key)
    return sum(values)


def finding(kind, **wanted):
    """The only finding of a kind of these threads: who=TID, by=TID, pid=PID of `who`."""
    found = []
    for f in doc["findings"]:
        facts = {"who": f.get("who", {}).get("tid"), "by": f.get("by", {}).get("tid"),
                 "pid": f.get("who", {}).get("pid")}
        if f["kind"] == kind and all(facts[k] == v for k, v in wanted.items()):
            found.append(f)
    if len(found) != 1:
        print("wrong:", len(found), "findings", kind, wanted, "among")
        for f in doc["findings"]:
            print("  ", f["kind"], f["text"])
        sys.exit(1)
    print("overview:", found[0]["text"])
    return found[0]["numbers"]


def near(what, ours, truth):
    off = 100 * (ours - truth) / truth if truth else 0
    print(f"  {what}: overview {ours}, truth {truth} ({off:+.2f} %)")
    check(truth > 0, what, "is 0")
    check(abs(ours - truth) <= 0.02 * truth, what, "is", ours, "in the overview, not", truth)


def between(what, ours, least, most):
    """For a truth that the program cannot know better."""
    print(f"  {what}: overview {ours}, truth {least} to {most}")
    check(0.98 * least <= ours <= 1.02 * most, what, "is", ours, "in the overview, not", least, "to", most)
