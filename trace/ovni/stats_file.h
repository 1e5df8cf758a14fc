/* SPDX-License-Identifier: MIT */
/*
 * stats_file: names and derived values of perf.json, the statistics of a recording.
 *
 * In: counters; out: ratios and costs, as text of the schema `ovni-bpf-perf`. ovni-loom check
 * computes them again (trace/loom/stats/run_stats.h).
 * Specification: loom.md 5.4, 6, 12; ovni-perf(5).
 */
#ifndef TRACE_OVNI_STATS_FILE_H
#define TRACE_OVNI_STATS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define STATS_SCHEMA	  "ovni-bpf-perf"
#define STATS_FILE	  "perf.json"
#define STATS_PART	  ".part" /* behind that name: snapshots of a recording that goes on, */
#define STATS_NEW	  ".tmp"  /* and the whole while it is being written */
#define STATS_BEGINS	  "{\n  \"schema\": \"" STATS_SCHEMA "\""
#define STATS_LINE_BEGINS "{\"clock\": " /* of a snapshot */
#define STATS_VERSION	  1

/* "name": above / below, with nine significant digits; if below is 0, 0 or with `none` null. */
void stats_ratio(FILE *out, const char *name, uint64_t above, uint64_t below, bool none);

/* What `runs` of programs cost, ns, when `timed_runs` of them took `timed_ns`: rounded down. */
uint64_t stats_cost_ns(uint64_t runs, uint64_t timed_runs, uint64_t timed_ns);

#endif
