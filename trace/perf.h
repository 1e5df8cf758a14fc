/* SPDX-License-Identifier: MIT */
/*
 * perf: the file perf.json of a recording: what it holds, and whether it adds up.
 *
 * In: the text of a document of the schema `ovni-bpf-perf`; out: each thing that is wrong with it,
 * under the numbers of the rules that it breaks. What the recorder and the checker
 * must compute alike (ratios, costs) is here, too.
 * Invariant: integers are read from the text, never through a double.
 * Specification: loom.md 5.4, 6, 8 (P1 to P5, P8, P10), 12; ovni-perf(5).
 */
#ifndef TRACE_PERF_H
#define TRACE_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PERF_SCHEMA  "ovni-bpf-perf"
#define PERF_FILE    "perf.json"
#define PERF_BEGINS  "{\n  \"schema\": \"" PERF_SCHEMA "\""
#define PERF_VERSION 1

struct json;

/*
 * Parses a document in which every integer of more than 15 digits is put into quotes before, so that
 * json_u64() reads it exactly. NULL after one message.
 */
struct json *perf_parse(const char *text, size_t size, const char *path);
/* The same for a file of at most 256 MiB below `dirfd`. */
struct json *perf_load(int dirfd, const char *path);

/* Told of each thing that is wrong: the rule ("P3"), where ("snapshots[4] thread 12"), and what. */
typedef void (*perf_wrong_fn)(void *arg, const char *rule, const char *where, const char *what);

/* Holds the document against the rules. Returns how many things are wrong. */
size_t perf_check(const struct json *doc, perf_wrong_fn wrong, void *arg);

/* ---- what both sides compute ---- */

/* "name": above / below, with nine significant digits; if below is 0, 0 or with `none` null. */
void perf_ratio(FILE *out, const char *name, uint64_t above, uint64_t below, bool none);

/* What `runs` of programs cost, ns, when `timed_runs` of them took `timed_ns`: rounded down. */
uint64_t perf_cost_ns(uint64_t runs, uint64_t timed_runs, uint64_t timed_ns);

#endif
