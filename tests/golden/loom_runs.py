#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
loom_runs: small Loom runs, each with the findings that it has to get.

    loom_runs.py DIR

Makes a folder for each run: its files, `options` for the check if it needs some, and `expected`: severity and
rule of each finding, sorted, then the verdict. What is expected was worked out by hand from loom.md.
"""
import json
import os
import struct
import sys

FIRE, STALL_IN, STALL_OUT, ROUTE, CONFIG, START, DONE, ERROR = range(8)
NAMES = ["node_fire", "node_stall_in", "node_stall_out", "route_use", "config_write",
         "invocation_start", "invocation_done", "device_error"]
MAX64, MAX32 = 2 ** 64 - 1, 2 ** 32 - 1


def rec(cycle, kind, node=0, core=0, epoch=1, inv=0, lane=0, flags=0, arg0=0, arg1=0):
    return dict(cycle=cycle, kind=kind, node=node, core=core, epoch=epoch, inv=inv, lane=lane,
                flags=flags, arg0=arg0, arg1=arg1)


def packed(r):
    return struct.pack("<QIQHIBBHII", r["cycle"], r["epoch"], r["inv"], r["core"], r["node"],
                       r["kind"], r["lane"], r["flags"], r["arg0"], r["arg1"])


def natural(r, pad=0):
    return struct.pack("<QIIQHHIBBHIII", r["cycle"], r["epoch"], pad, r["inv"], r["core"], 0,
                       r["node"], r["kind"], r["lane"], r["flags"], r["arg0"], r["arg1"], 0)


def ltrc(records, count=None, version=1, order="<"):
    n = len(records) if count is None else count
    return b"LTRC" + struct.pack(order + "IQ", version, n) + b"".join(map(packed, records))


def event(r, phase="commit"):
    e = {"cycle": r["cycle"]}
    if phase:
        e["phase"] = phase
    e.update(epoch_id=r["epoch"], invocation_id=r["inv"], core_id=r["core"], hw_node_id=r["node"],
             event_kind=NAMES[r["kind"]] if r["kind"] < 8 else "unknown", lane=r["lane"],
             flags=r["flags"], arg0=r["arg0"], arg1=r["arg1"])
    return e


def document(records, **changes):
    d = {"version": 1, "trace_kind": "loom_cycle_trace", "producer": "loom", "epoch_id": 0,
         "invocation_id": 0, "core_id": 0,
         "modules": [{"hw_node_id": 1, "kind": "fifo", "name": "f\n\"1\"", "component_name": "c",
                      "function_unit_name": "", "boundary_ordinal": -1}],
         "events": [event(r) for r in records]}
    d.update(changes)
    return {k: v for k, v in d.items() if v is not None}


def dumps(value):
    return (json.dumps(value, indent=1) + "\n").encode()


# One invocation, cycles 2 to 8: node 1 fires at 3 and 5, node 2 routes at 4.
PLAIN = [rec(0, CONFIG), rec(1, CONFIG, arg0=1), rec(2, START), rec(3, FIRE, 1), rec(4, ROUTE, 2),
         rec(5, FIRE, 1), rec(8, DONE)]


def legacy_node(index, active, stall_in=0, stall_out=0, tokens_in=0, tokens_out=0, writes=0):
    busy = active + stall_in + stall_out

    def ratio(n):
        return float("%.6g" % (n / busy)) if busy else 0
    return {"nodeIndex": index, "activeCycles": active, "stallCyclesIn": stall_in,
            "stallCyclesOut": stall_out, "tokensIn": tokens_in, "tokensOut": tokens_out,
            "configWrites": writes, "utilization": ratio(active), "inputStallRatio": ratio(stall_in),
            "outputStallRatio": ratio(stall_out),
            "throughputProxy": float("%.6g" % (tokens_out / active)) if active else 0}


def legacy(nodes, events=7, total=8, config=2, writes=2, **changes):
    def sums(key):
        return sum(n[key] for n in nodes if isinstance(n.get(key), int))
    d = {"success": True, "termination": "completed", "totalCycles": total, "configCycles": config,
         "executionCycles": total - config,
         "hostTiming": {"host_config_time": 0, "host_exec_time": 0, "accel_exec_time": 0, "total_time": 0},
         "nodePerf": nodes,
         "summary": {"nodeCount": len(nodes), "totalActiveCycles": sums("activeCycles"),
                     "totalStallInCycles": sums("stallCyclesIn"),
                     "totalStallOutCycles": sums("stallCyclesOut"), "totalTokensIn": sums("tokensIn"),
                     "totalTokensOut": sums("tokensOut"), "totalConfigWrites": writes,
                     "configOverheadRatio": float("%.6g" % (writes / total)) if total else 0,
                     "traceEventCount": events}}
    for key, value in changes.items():
        at = d["summary"] if key in d["summary"] else d
        at[key] = value
    return {k: v for k, v in d.items() if v is not None}


NODES = [legacy_node(1, 2, 3, 1, 4, 2, 1), legacy_node(2, 1, 0, 0, 2, 2, 1)]


def snapshot(node=None, total=6, active=0, stall_in=0, stall_out=0, tokens_in=0, tokens_out=0,
             writes=0, cycle=8, core=0, epoch=1, inv=0):
    s = {"cycle": cycle, "epoch_id": epoch, "invocation_id": inv, "core_id": core}
    if node is not None:
        s["hw_node_id"] = node

    def ratio(n):
        return float("%.9g" % (n / total)) if total else 0
    s.update(total_cycles=total, active_cycles=active, stall_cycles_in=stall_in,
             stall_cycles_out=stall_out, tokens_in=tokens_in, tokens_out=tokens_out,
             config_writes=writes,
             metrics={"utilization": ratio(active), "input_stall_ratio": ratio(stall_in),
                      "output_stall_ratio": ratio(stall_out),
                      "throughput": float("%.9g" % (tokens_out / active)) if active else None,
                      "config_overhead": ratio(writes)})
    return s


def perf(snapshots, records=7, **changes):
    d = {"schema": "loom-perf", "version": 1, "producer": "loom_runs", "mode": "full",
         "clock": {"period_ps": 1250}, "record_style": "cycle",
         "window": {"first_cycle": 0, "end_cycle": 8, "total_cycles": 8},
         "controls": {"kinds": None, "cores": None, "nodes": None, "sampling": {"keep": 1, "of": 1},
                      "buffer": {"policy": "drop-new", "records": 64}},
         "events": {"seen": records, "written": records, "filtered": 0, "sampled_out": 0,
                    "dropped": 0, "dropped_by_kind": {}, "dropped_by_core": {}},
         "invocations": [{"core_id": 0, "epoch_id": 1, "invocation_id": 0, "start_cycle": 2,
                          "end_cycle": 8, "status": "done"}],
         "snapshots": snapshots}
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(d.get(key), dict):
            d[key].update(value)
        else:
            d[key] = value
    return {k: v for k, v in d.items() if v is not None}


WHOLE = [snapshot(None, active=3, tokens_in=6, tokens_out=4, writes=2),
         snapshot(1, active=2, tokens_in=4, tokens_out=2), snapshot(2, active=1, tokens_in=2, tokens_out=2)]


def changed(value, *path_and_new):
    value = json.loads(json.dumps(value))
    *path, last, new = path_and_new
    at = value
    for key in path:
        at = at[key]
    if new is None:
        del at[last]
    else:
        at[last] = new
    return value


TEXT = """success: true
termination: completed
total_cycles: 8
config_cycles: 2
total_config_writes: 2
trace_event_count: 7
perf_snapshot_count: 2
error_message: <none>
[node_perf]
node=1 active=2 stall_in=3 stall_out=1 tokens_in=4 tokens_out=2 config_writes=1
node=2 active=1 stall_in=0 stall_out=0 tokens_in=2 tokens_out=2 config_writes=1
"""

GEM5 = {"total_cycles": 8, "kernel_cycles": 6, "config_load": {}, "modules": [
    {"hw_node_id": 1, "name": "pe", "kind": "function_unit", "active_cycles": 2, "stall_cycles_in": 3,
     "stall_cycles_out": 1, "tokens_in": 4, "tokens_out": 2, "dynamic_utilization": 0.333333},
    {"hw_node_id": 2, "name": "sw", "kind": "spatial_switch", "active_cycles": 1, "stall_cycles_in": 0,
     "stall_cycles_out": 0, "tokens_in": 2, "tokens_out": 2, "dynamic_utilization": 0.166667}]}

EXTREME = [rec(0, CONFIG, 0, 65535, MAX32, MAX64, 255, 65535, MAX32, MAX32),
           rec(2 ** 53 + 1, START, 0, 65535, MAX32, MAX64),
           rec(2 ** 63, FIRE, MAX32, 65535, MAX32, MAX64, 255, 65535, MAX32, MAX32),
           rec(MAX64, 255, MAX32, 65535, MAX32, MAX64, 1, 2, 3, 4)]

# Stalls as levels (edge): node 1 fires 3-4, waits for input 4-6, for output 6-8.
EDGE = [rec(0, CONFIG), rec(1, CONFIG, arg0=1), rec(2, START), rec(3, FIRE, 1), rec(4, STALL_IN, 1),
        rec(6, STALL_OUT, 1), rec(8, DONE)]
EDGE_NODE = [snapshot(1, active=1, stall_in=2, stall_out=2, tokens_in=1, tokens_out=1)]
SPAN = [rec(0, CONFIG), rec(1, CONFIG, arg0=1), rec(2, START), rec(3, FIRE, 1, arg0=1),
        rec(4, STALL_IN, 1, arg0=2), rec(6, STALL_OUT, 1, arg0=2), rec(8, DONE)]
# Two nodes: while node 1 waits, node 2 fires in the cycles 5 and 6, and waits for input in 7.
EDGE_CORE = EDGE[:5] + [rec(5, FIRE, 2)] + EDGE[5:6] + [rec(7, STALL_IN, 2)] + EDGE[6:]
SPAN_CORE = SPAN[:5] + [rec(5, FIRE, 2, arg0=2)] + SPAN[5:6] + [rec(7, STALL_IN, 2, arg0=1)] + SPAN[6:]
CORE_OF_TWO = EDGE_NODE + [snapshot(2, active=2, stall_in=1),
                           snapshot(None, active=3, stall_in=1, stall_out=1, tokens_in=1, tokens_out=1, writes=2)]
BIG_SPAN = [rec(0, START), rec(0, FIRE, 1, arg0=1, arg1=1), rec(2 ** 32 + 1, DONE)]

# name: ({file: content}, options, findings without verdict)
RUNS = {
    "plain": ({"run.trace.bin": ltrc(PLAIN), "run.perf.json": dumps(legacy(NODES))}, "", []),
    "header-alone": ({"run.trace.bin": ltrc([])}, "", []),
    "extreme": ({"run.trace.bin": ltrc(EXTREME)}, "", ["notice K1", "notice O9"]),
    "big-endian": ({"run.trace.bin": ltrc(PLAIN, order=">")}, "", ["error S2"]),
    "empty-file": ({"run.trace.bin": b""}, "run.trace.bin", ["error S1"]),
    "not-a-trace": ({"run.trace.bin": b"neither a trace nor statistics\n"}, "run.trace.bin", ["error S1"]),
    "short-magic": ({"run.trace.bin": b"LTR"}, "run.trace.bin", ["error S1"]),
    "both-layouts": ({"run.trace.bin": bytes(912)}, "run.trace.bin", ["error S1"]),
    "both-layouts-named": ({"run.trace.bin": bytes(912)}, "run.trace.bin --layout natural48", ["error O8"]),
    "cut-packed": ({"run.trace.bin": b"".join(map(packed, PLAIN)) + b"xyz"},
                   "run.trace.bin --layout packed38", ["error S4"]),
    "dirty-padding": ({"run.trace.bin": b"".join(natural(r, r["cycle"] == 4) for r in PLAIN)},
                      "run.trace.bin --layout natural48", ["notice S5"]),
    "fewer-announced": ({"run.trace.bin": ltrc(PLAIN, 3)}, "", ["error S3"]),
    "more-announced": ({"run.trace.bin": ltrc(PLAIN, MAX64)}, "", ["error S3"]),
    # order
    "epoch-falls": ({"run.trace.bin": ltrc([rec(0, START, epoch=2), rec(1, DONE, epoch=2),
                                            rec(2, START), rec(3, DONE)])}, "", ["warning O2"]),
    "epochs-of-cores": ({"run.trace.bin": ltrc([rec(0, START, core=1, epoch=2), rec(1, DONE, core=1, epoch=2),
                                                rec(2, START), rec(3, DONE)])}, "", []),
    "done-first": ({"run.trace.bin": ltrc([rec(0, DONE), rec(1, START)])}, "", ["error O5"]),
    "two-dones": ({"run.trace.bin": ltrc(PLAIN + [rec(9, DONE)])}, "", ["error O5"]),
    "config-late": ({"run.trace.bin": ltrc(PLAIN[:4] + [rec(3, CONFIG)] + PLAIN[4:])}, "", ["warning O6"]),
    "codes": ({"run.trace.bin": ltrc(PLAIN[:3] + [rec(3, ERROR), rec(3, ERROR, arg0=16), rec(3, ERROR, arg0=255),
                                                  rec(3, ERROR, arg0=256), rec(3, ERROR, arg0=15)])},
              "", ["notice K2", "notice K2", "notice K2", "notice O9"]),
    "stall-trails": ({"run.trace.bin": ltrc(PLAIN + [rec(9, STALL_IN, 1)])}, "", []),
    "fire-trails": ({"run.trace.bin": ltrc(PLAIN + [rec(8, FIRE, 1)])}, "", ["error O4"]),
    # a core takes over START and DONE of another one
    "one-start": ({"run.trace.bin": ltrc([rec(0, START), rec(1, FIRE, 1), rec(1, FIRE, 1, core=9), rec(3, DONE)])},
                  "", []),
    "one-start-late": ({"run.trace.bin": ltrc([rec(0, FIRE, 1, core=9), rec(0, START), rec(3, DONE)])},
                       "", ["error O3"]),
    "one-done-early": ({"run.trace.bin": ltrc([rec(0, START), rec(1, DONE), rec(2, FIRE, 1, core=9)])},
                       "", ["error O4"]),
    "other-invocation": ({"run.trace.bin": ltrc([rec(0, START), rec(1, FIRE, 1, core=9, inv=1), rec(2, DONE)])},
                         "", ["error O8"]),
    # parts that restart
    "restart": ({"run.trace.bin": ltrc(PLAIN + [dict(r, epoch=2) for r in PLAIN])}, "", ["error O1"]),
    "restart-chained": ({"run.trace.bin": ltrc(PLAIN + [dict(r, epoch=2) for r in PLAIN])}, "--chain",
                        ["notice O1"]),
    "restart-cut-chained": ({"run.trace.bin": ltrc(PLAIN[:-1] + [dict(r, inv=1) for r in PLAIN])}, "--chain",
                            ["notice O1", "notice O9"]),
    "falls-within-chained": ({"run.trace.bin": ltrc(PLAIN[:4] + [rec(1, FIRE, 1)] + PLAIN[4:])}, "--chain",
                             ["error O1"]),
    # JSON
    "json": ({"run.trace": dumps(document(PLAIN)), "run.stat": TEXT.encode()}, "", ["notice O10"]),
    "json-bare": ({"run.trace": dumps([event(r, None) for r in PLAIN])}, "", ["notice O10"]),
    "json-older": ({"run.trace": dumps(document(PLAIN, trace_kind="fcc_cycle_trace", producer="fcc"))}, "",
                   ["notice O10"]),
    "json-version": ({"run.trace": dumps(document(PLAIN, version=2))}, "", ["error S2"]),
    "json-no-version": ({"run.trace": dumps(document(PLAIN, version=None))}, "", ["error S2"]),
    "json-kind": ({"run.trace": dumps(document(PLAIN, trace_kind="wave"))}, "", ["error S1"]),
    "json-modules-last": ({"run.trace": dumps({"version": 1, "trace_kind": "loom_cycle_trace",
                                               "events": [event(r) for r in PLAIN],
                                               "modules": document(PLAIN)["modules"]})}, "", ["notice O10"]),
    "json-modules-unsorted": ({"run.trace": dumps(document(PLAIN, modules=[
        {"hw_node_id": 2, "kind": "spatial_switch", "name": "sw", "component_name": "s"},
        {"hw_node_id": 1, "kind": "fifo", "name": "in", "boundary_ordinal": 0},
        {"hw_node_id": 1, "kind": "fifo", "name": "again"}]))}, "", ["notice O10"]),
    # upstream escapes only a few control characters; the first member may be longer than the
    # searched part
    "json-raw-strings": ({"run.trace": dumps(dict(modules=[
        {"hw_node_id": n, "kind": "fifo", "name": "f\x01%d" % n} for n in range(300)], **document(PLAIN, modules=None)))
        .replace(b"\\u0001", b"\x01")}, "", ["notice O10"]),
    "json-statistics-late": ({"run.trace.bin": ltrc(PLAIN), "run.accel.stat.json": dumps(dict(
        memory_regions=[{"name": "\"event_kind\" %d" % n} for n in range(600)], **GEM5))}, "", []),
    # records without a header whose first byte is that of a document
    "cycle-123": ({"run.trace.bin": b"".join(packed(dict(r, cycle=r["cycle"] + 123)) for r in PLAIN)}, "", []),
    "cycle-91": ({"run.trace.bin": b"".join(natural(dict(r, cycle=r["cycle"] + 91)) for r in PLAIN)}, "", []),
    "json-extreme": ({"run.trace": dumps([event(r) for r in EXTREME])}, "", ["notice K1", "notice O10", "notice O9"]),
    "json-cut": ({"run.trace": dumps(document(PLAIN))[:-300]}, "", ["error S4", "notice O10", "notice O9"]),
    "json-damaged": ({"run.trace": dumps(document(PLAIN)).replace(b"\"lane\": 0", b"\"lane\" 0", 1)}, "",
                     ["error S1"]),
    "json-lacks": ({"run.trace": dumps(document(PLAIN)).replace(b"   \"lane\": 0,\n", b"", 1)}, "", ["error S1"]),
    "json-too-large": ({"run.trace": dumps(document(PLAIN)).replace(b"\"core_id\": 0,\n   \"hw", b"\"core_id\": 65536,\n   \"hw", 1)},
                       "", ["error S1"]),
    "json-tail": ({"run.trace": dumps(document(PLAIN)) + b"x"}, "", ["error S1", "notice O10"]),
    # statistics
    "legacy-older": ({"run.trace.bin": ltrc(PLAIN), "run.stat": dumps(legacy(
        NODES, termination=None, hostTiming={"configSeconds": 0, "executeSeconds": 0, "totalSeconds": 0}))}, "", []),
    "legacy-lacks": ({"run.stat": dumps(legacy([dict(NODES[0]), changed(NODES[1], "tokensIn", None)],
                                               executionCycles=None))}, "", ["error P2", "error P2"]),
    "legacy-negative": ({"run.stat": dumps(legacy([NODES[0], changed(NODES[1], "stallCyclesIn", -1)]))}, "",
                        ["error P2"]),
    "legacy-fraction": ({"run.stat": dumps(legacy([NODES[0], changed(NODES[1], "tokensIn", 2.5)],
                                                  totalTokensIn=4))}, "", ["error P2"]),
    "legacy-execution": ({"run.stat": dumps(legacy(NODES, executionCycles=7))}, "", ["error P7"]),
    "legacy-count": ({"run.stat": dumps(legacy(NODES, nodeCount=3))}, "", ["error P4"]),
    "legacy-wide": ({"run.stat": dumps(legacy([legacy_node(1, 2 ** 60 + 1), legacy_node(2, 2 ** 60)], total=2 ** 62,
                                              config=0, writes=0, totalActiveCycles=2 ** 61))}, "", ["error P4"]),
    "legacy-overhead": ({"run.stat": dumps(legacy(NODES, configOverheadRatio=0.3))}, "", ["error P3"]),
    "legacy-within-tolerance": ({"run.stat": dumps(legacy(NODES, configOverheadRatio=0.2500004))}, "", []),
    "legacy-events": ({"run.trace.bin": ltrc(PLAIN), "run.stat": dumps(legacy(NODES, traceEventCount=8))}, "",
                      ["error P8"]),
    "legacy-writes": ({"run.trace.bin": ltrc(PLAIN), "run.stat": dumps(legacy(
        [changed(NODES[0], "configWrites", 2), NODES[1]], writes=3))}, "", ["warning P9"]),
    "legacy-activity": ({"run.trace.bin": ltrc(PLAIN), "run.stat": dumps(legacy(
        [legacy_node(1, 3, 2, 1, 4, 2, 1), NODES[1]]))}, "", ["warning P6"]),
    "text-count": ({"run.stat": TEXT.replace("count: 2", "count: 3").encode()}, "", ["error P4"]),
    "text-counter": ({"run.stat": TEXT.replace("stall_in=3", "stall_in=x").encode()}, "", ["error P2"]),
    "text-window": ({"run.stat": TEXT.replace("stall_in=3", "stall_in=4").encode()}, "", ["error P5"]),
    "gem5": ({"run.trace.bin": ltrc(PLAIN), "run.accel.stat.json": dumps(GEM5)}, "", []),
    "gem5-ratio": ({"run.accel.stat.json": dumps(changed(GEM5, "modules", 0, "dynamic_utilization", 0.4))}, "",
                   ["error P3"]),
    "unknown-schema": ({"run.perf.json": b'{"schema": "other", "version": 1}\n'}, "", ["error P1"]),
    "schema-version": ({"run.perf.json": dumps(perf(WHOLE, version=2))}, "", ["error P1"]),
    "damaged-statistics": ({"run.perf.json": dumps(perf(WHOLE))[:-9]}, "", ["error P1"]),
    "twice": ({"run.perf.json": dumps(perf(WHOLE)).replace(b'"mode"', b'"version": 1, "mode"', 1)}, "", ["error P1"]),
    # our own
    "ours": ({"run.trace.bin": ltrc(PLAIN), "run.perf.json": dumps(perf(WHOLE))}, "", []),
    "ours-periodic": ({"run.trace.bin": ltrc(PLAIN), "run.perf.json": dumps(perf(
        [snapshot(None, 3, 2, tokens_in=4, tokens_out=2, cycle=5), snapshot(1, 3, 1, cycle=5, tokens_in=2, tokens_out=1),
         snapshot(2, 3, 1, cycle=5, tokens_in=2, tokens_out=1)] + WHOLE))}, "", []),
    "ours-null": ({"run.perf.json": dumps(perf([snapshot(3)]))}, "", []),
    "ours-not-null": ({"run.perf.json": dumps(perf([changed(snapshot(3), "metrics", "throughput", 1)]))}, "",
                      ["error P3"]),
    "ours-ratio": ({"run.perf.json": dumps(perf([changed(WHOLE[1], "metrics", "utilization", 0.3333)]))}, "",
                   ["error P3"]),
    "ours-window": ({"run.perf.json": dumps(perf(WHOLE, window={"total_cycles": 9}))}, "", ["error P4"]),
    "ours-span-of-invocation": ({"run.perf.json": dumps(perf([snapshot(1, total=7)]))}, "", ["error P4"]),
    "ours-tokens": ({"run.perf.json": dumps(perf([changed(WHOLE[0], "tokens_in", 7)] + WHOLE[1:]))}, "",
                    ["error P4"]),
    "ours-fit": ({"run.perf.json": dumps(perf([snapshot(1, active=5, stall_in=2)]))}, "", ["error P5"]),
    "ours-twice": ({"run.trace.bin": ltrc(PLAIN), "run.perf.json": dumps(perf(WHOLE[1:] + WHOLE[1:2]))}, "",
                   ["warning P11"]),
    "ours-string": ({"run.perf.json": dumps(perf([changed(snapshot(3), "tokens_in", "4")]))}, "", ["error P2"]),
    "ours-lacks": ({"run.perf.json": dumps(perf([changed(snapshot(3), "epoch_id", None)]))}, "", ["error P2"]),
    "ours-clock": ({"run.perf.json": dumps(perf(WHOLE, clock={"period_ps": 0}))}, "", ["error P2"]),
    "ours-edge": ({"run.trace.bin": ltrc(EDGE), "run.perf.json": dumps(perf(EDGE_NODE, record_style="edge"))}, "", []),
    "ours-edge-unsaid": ({"run.trace.bin": ltrc(EDGE), "run.perf.json": dumps(perf(EDGE_NODE, record_style=None))},
                         "", []),
    "ours-edge-as-cycle": ({"run.trace.bin": ltrc(EDGE), "run.perf.json": dumps(perf(EDGE_NODE))}, "",
                           ["warning P6", "warning P6"]),
    "ours-span": ({"run.trace.bin": ltrc(SPAN), "run.perf.json": dumps(perf(EDGE_NODE, record_style="span"))}, "", []),
    "ours-edge-core": ({"run.trace.bin": ltrc(EDGE_CORE), "run.perf.json": dumps(perf(
        CORE_OF_TWO, 9, record_style="edge"))}, "", []),
    "ours-edge-core-differs": ({"run.trace.bin": ltrc(EDGE_CORE), "run.perf.json": dumps(perf(
        CORE_OF_TWO[:2] + [snapshot(None, active=3, stall_in=1, stall_out=2, tokens_in=1, tokens_out=1, writes=2)], 9,
        record_style="edge"))}, "", ["warning P6"]),
    "ours-span-core": ({"run.trace.bin": ltrc(SPAN_CORE), "run.perf.json": dumps(perf(
        CORE_OF_TWO, 9, record_style="span"))}, "", []),
    "ours-span-core-differs": ({"run.trace.bin": ltrc(SPAN_CORE), "run.perf.json": dumps(perf(
        CORE_OF_TWO[:2] + [snapshot(None, active=2, stall_in=2, stall_out=1, tokens_in=1, tokens_out=1, writes=2)], 9,
        record_style="span"))}, "", ["warning P6", "warning P6"]),
    "ours-span-wide": ({"run.trace.bin": ltrc(BIG_SPAN), "run.perf.json": dumps(perf(
        [snapshot(1, total=2 ** 32 + 1, active=2 ** 32 + 1, cycle=2 ** 32 + 1)], 3, record_style="span",
        window={"end_cycle": 2 ** 32 + 1, "total_cycles": 2 ** 32 + 1},
        invocations=[{"core_id": 0, "epoch_id": 1, "invocation_id": 0, "start_cycle": 0,
                      "end_cycle": 2 ** 32 + 1, "status": "done"}]))}, "", []),
    # declared losses
    "start-filtered": ({"run.trace.bin": ltrc([PLAIN[3]]), "run.perf.json": dumps(perf(
        WHOLE, 1, controls={"kinds": ["NODE_FIRE", "EXT_9"]}, events={"seen": 7, "filtered": 6}))}, "",
        ["notice O8", "notice P12"]),
    "start-of-other-core-dropped": ({"run.trace.bin": ltrc([PLAIN[3]]), "run.perf.json": dumps(perf(
        WHOLE, 1, events={"seen": 2, "dropped": 1, "dropped_by_kind": {"INVOCATION_START": 1},
                          "dropped_by_core": {"5": 1}}))}, "", ["error O8", "notice P12"]),
    "other-kind-dropped": ({"run.trace.bin": ltrc([PLAIN[3]]), "run.perf.json": dumps(perf(
        WHOLE, 1, events={"seen": 2, "dropped": 1, "dropped_by_kind": {"ROUTE_USE": 1},
                          "dropped_by_core": {"0": 1}}))}, "", ["error O8", "notice P12"]),
    "no-breakdown": ({"run.trace.bin": ltrc([PLAIN[3]]), "run.perf.json": dumps(perf(
        WHOLE, 1, events={"seen": 2, "dropped": 1, "dropped_by_kind": None, "dropped_by_core": None}))}, "",
        ["notice O8", "notice P12"]),
    "account": ({"run.trace.bin": ltrc(PLAIN), "run.perf.json": dumps(perf(WHOLE, events={"seen": 8}))}, "",
                ["error P10"]),
    "breakdown": ({"run.perf.json": dumps(perf(WHOLE, events={"seen": 8, "dropped": 1}))}, "",
                  ["error P10", "notice P12"]),
    "recording": ({"run.perf.json": b'{"schema": "ovni-bpf-stats", "version": 1, "snapshots": []}\n'}, "", ["error P1"]),
}


def verdict(findings):
    if any(f.startswith("error") for f in findings):
        return "invalid"
    return "valid with warnings" if any(f.startswith("warning") for f in findings) else "valid"


def main(folder):
    for name, (files, options, findings) in RUNS.items():
        at = os.path.join(folder, name)
        os.makedirs(at, exist_ok=True)
        for file, content in files.items():
            with open(os.path.join(at, file), "wb") as out:
                out.write(content)
        if options:
            with open(os.path.join(at, "options"), "w") as out:
                out.write(options + "\n")
        with open(os.path.join(at, "expected"), "w") as out:
            out.write("".join(f + "\n" for f in sorted(findings)) + "verdict " + verdict(findings) + "\n")


main(*sys.argv[1:])
