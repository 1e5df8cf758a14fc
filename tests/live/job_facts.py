import collections
import json
import os
import sys
from facts import *

folder = sys.argv[1]
truth = {line.split()[0]: int(line.split()[1]) for line in open(sys.argv[2])}
job = json.load(open(folder + "/job.json")) if os.path.exists(folder + "/job.json") else None
nodes = {name[:-5]: json.load(open(f"{folder}/node/{name}"))
         for name in sorted(os.listdir(folder + "/node")) if name.endswith(".json")} if job else {}
ranks = collections.defaultdict(set)     # of the processes of each loom; None: a process without one
pids = {}                                # of each rank
processes = {}                           # their ranks, which the first stream of each has
for top, _, files in os.walk(folder):
    if "stream.json" in files:
        meta = json.load(open(top + "/stream.json"))
        rank = meta["ovni"].get("rank", meta.get("bpf", {}).get("rank"))
        key = meta["ovni"]["loom"], meta["ovni"]["pid"]
        processes[key] = rank if rank is not None else processes.get(key)
for (loom, pid), rank in processes.items():
    ranks[loom].add(rank)
    if rank is not None:
        pids.setdefault(rank, set()).add(pid)
