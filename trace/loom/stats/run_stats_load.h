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
#include "trace/loom/json_tokens.h"

struct stats_loader {
	struct run_stats *perf;
	struct loom_violations *findings;
	struct inflow in;
	struct tokens t;
	struct stats_snapshot *snapshot; /* the one that is being read */
	size_t snapshot_room, invocation_room;
};

struct stats_field {
	const char *key;
	/* Reads the value into `to`, which is `offset` behind the object's structure. */
	bool (*read)(struct stats_loader *l, void *to, const char *key);
	size_t offset;
};

#define STATS_FIELDS_MAX 64

/* Reads the members of an object whose brace was taken. *seen gets a bit for each field. */
bool stats_read_members(struct stats_loader *l, const struct stats_field *fields, size_t n,
			void *to, uint64_t *seen);
/* The same with the brace; anything but an object is refused. */
bool stats_read_object(struct stats_loader *l, const struct stats_field *fields, size_t n, void *to,
		       uint64_t *seen);

/* Reads an array: `element` is called where each of its values begins. Anything else is refused. */
bool stats_read_array(struct stats_loader *l, bool (*element)(struct stats_loader *l));
/* Reads a string that is one of the names: *which is its index. Anything else is refused with
 * `wrong`. */
bool stats_read_choice(struct stats_loader *l, const char *const *names, size_t n,
		       const char *wrong, int *which);

/* Values: a counter (struct stats_number; what is none is finding P2), a text (char *), ... */
bool stats_number(struct stats_loader *l, void *to, const char *key);
bool stats_text(struct stats_loader *l, void *to, const char *key);
bool stats_bool(struct stats_loader *l, void *to, const char *key);
/* An integer of 64, 32 or 16 bits that identifies something. */
bool stats_u64(struct stats_loader *l, void *to, const char *key);
bool stats_u32(struct stats_loader *l, void *to, const char *key);
bool stats_u16(struct stats_loader *l, void *to, const char *key);
/* A real number or null (NaN). */
bool stats_real(struct stats_loader *l, void *to, const char *key);

/* Into the snapshot that is being read. */
bool stats_counter_value(struct stats_loader *l, enum stats_counter which, const char *key);
bool stats_metric_value(struct stats_loader *l, enum stats_metric which, const char *key);

/* A new snapshot at the end of the list, all zero; NULL after a mistake was noted. */
struct stats_snapshot *stats_new_snapshot(struct stats_loader *l);

/* Reports P2 for the counters of `wanted` (bits) that the snapshot lacks. */
void stats_want(struct stats_loader *l, const struct stats_snapshot *s, uint64_t wanted);
/* What a snapshot is called in a finding. Returns `out`. */
const char *stats_called(const struct stats_snapshot *s, char *out, size_t size);
struct loom_place stats_place(const struct run_stats *p, const struct stats_snapshot *s);

#endif
