/* SPDX-License-Identifier: MIT */
/*
 * run_stats_load: what the loaders of the forms of statistics share: tables of keys.
 *
 * A table says for each key of an object how its value is read and where to. Keys that are not in
 * it are passed over; a key twice is refused.
 */
#ifndef TRACE_LOOM_STATS_RUN_STATS_LOAD_H
#define TRACE_LOOM_STATS_RUN_STATS_LOAD_H

#include "trace/loom/stats/run_stats.h"
#include "trace/base/json_tokens.h"

struct perf_loader {
	struct loom_perf *perf;
	struct loom_findings *findings;
	struct inflow in;
	struct tokens t;
	struct perf_snapshot *snapshot; /* the one that is being read */
	size_t snapshot_room, invocation_room;
};

struct perf_field {
	const char *key;
	/* Reads the value into `to`, which is `offset` behind the object's structure. */
	bool (*read)(struct perf_loader *l, void *to, const char *key);
	size_t offset;
};

#define PERF_FIELDS_MAX 64

/* Reads the members of an object whose brace was taken. *seen gets a bit for each field. */
bool perf_read_members(struct perf_loader *l, const struct perf_field *fields, size_t n, void *to,
		       uint64_t *seen);
/* The same with the brace; anything but an object is refused. */
bool perf_read_object(struct perf_loader *l, const struct perf_field *fields, size_t n, void *to,
		      uint64_t *seen);

/* Reads an array: `element` is called where each of its values begins. Anything else is refused. */
bool perf_read_array(struct perf_loader *l, bool (*element)(struct perf_loader *l));
/* Reads a string that is one of the names: *which is its index. Anything else is refused with
 * `wrong`. */
bool perf_read_choice(struct perf_loader *l, const char *const *names, size_t n, const char *wrong,
		      int *which);

/* Values: a counter (struct perf_number; what is none is finding P2), a text (char *), ... */
bool perf_number(struct perf_loader *l, void *to, const char *key);
bool perf_text(struct perf_loader *l, void *to, const char *key);
bool perf_bool(struct perf_loader *l, void *to, const char *key);
/* An integer of 64, 32 or 16 bits that identifies something. */
bool perf_u64(struct perf_loader *l, void *to, const char *key);
bool perf_u32(struct perf_loader *l, void *to, const char *key);
bool perf_u16(struct perf_loader *l, void *to, const char *key);
/* A real number or null (NaN). */
bool perf_real(struct perf_loader *l, void *to, const char *key);

/* Into the snapshot that is being read. */
bool perf_counter_value(struct perf_loader *l, enum perf_counter which, const char *key);
bool perf_metric_value(struct perf_loader *l, enum perf_metric which, const char *key);

/* A new snapshot at the end of the list, all zero; NULL after a mistake was noted. */
struct perf_snapshot *perf_new_snapshot(struct perf_loader *l);

/* Reports P2 for the counters of `wanted` (bits) that the snapshot lacks. */
void perf_want(struct perf_loader *l, const struct perf_snapshot *s, uint64_t wanted);
/* What a snapshot is called in a finding. Returns `out`. */
const char *perf_called(const struct perf_snapshot *s, char *out, size_t size);
struct loom_place perf_place(const struct loom_perf *p, const struct perf_snapshot *s);

#endif
