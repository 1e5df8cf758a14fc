/* SPDX-License-Identifier: MIT */
/*
 * run_stats_load: tables of keys, for the loaders of all forms of statistics.
 *
 * In: tokens of an object and a table, which has for each key a function that reads its value, and
 * the offset of the result; out: the results. Invariant: unknown keys are skipped, repeated keys
 * are a mistake.
 */
#ifndef TRACE_LOOM_STATS_RUN_STATS_LOAD_H
#define TRACE_LOOM_STATS_RUN_STATS_LOAD_H

#include "trace/loom/stats/run_stats.h"
#include "trace/base/json_tokens.h"

struct stats_loader {
	struct run_stats *perf;
	struct loom_violations *findings;
	struct inflow in;
	struct tokens t;
	struct stats_snapshot *snapshot; /* the present one */
	size_t snapshot_room, invocation_room;
};

struct stats_field {
	const char *key;
	/* reads the value into `to`, at `offset` in the structure */
	bool (*read)(struct stats_loader *l, void *to, const char *key);
	size_t offset;
};

#define STATS_FIELDS_MAX 64

/* Reads the members of an object after its brace. *seen gets a bit for each field. */
bool stats_read_members(struct stats_loader *l, const struct stats_field *fields, size_t n,
			void *to, uint64_t *seen);
/* Reads an object; another value is a mistake. */
bool stats_read_object(struct stats_loader *l, const struct stats_field *fields, size_t n, void *to,
		       uint64_t *seen);

/* Reads an array: calls `element` at the start of each value. Another value is a mistake. */
bool stats_read_array(struct stats_loader *l, bool (*element)(struct stats_loader *l));
/* Reads a string that is one of the names; *which is its index. Other values are the mistake
 * `wrong`. */
bool stats_read_choice(struct stats_loader *l, const char *const *names, size_t n,
		       const char *wrong, int *which);

/* Values: a counter (struct stats_number; P2 for invalid ones), a text (char *), ... */
bool stats_number(struct stats_loader *l, void *to, const char *key);
bool stats_text(struct stats_loader *l, void *to, const char *key);
bool stats_bool(struct stats_loader *l, void *to, const char *key);
/* An id of 64, 32 or 16 bits. */
bool stats_u64(struct stats_loader *l, void *to, const char *key);
bool stats_u32(struct stats_loader *l, void *to, const char *key);
bool stats_u16(struct stats_loader *l, void *to, const char *key);
/* A real number or null (NaN). */
bool stats_real(struct stats_loader *l, void *to, const char *key);

/* Reads a counter or a metric of the present snapshot. */
bool stats_counter_value(struct stats_loader *l, enum stats_counter which, const char *key);
bool stats_metric_value(struct stats_loader *l, enum stats_metric which, const char *key);

/* Appends a snapshot, all zero; NULL after a mistake. */
struct stats_snapshot *stats_new_snapshot(struct stats_loader *l);

/* Reports P2 for counters of `wanted` (bits) that are missing in the snapshot. */
void stats_want(struct stats_loader *l, const struct stats_snapshot *s, uint64_t wanted);
/* Writes the name of a snapshot for violations. Returns `out`. */
const char *stats_called(const struct stats_snapshot *s, char *out, size_t size);
struct loom_place stats_place(const struct run_stats *p, const struct stats_snapshot *s);

#endif
