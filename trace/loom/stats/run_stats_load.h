/* SPDX-License-Identifier: MIT */
/*
 * run_stats_load: the inside of run_stats.c: reads values of JSON by tables of their keys.
 *
 * In: tokens; out: the members of struct run_stats, and findings. A function that returns bool has
 * refused the file through the tokens if it returns false.
 * Specification: loom.md 5, 12.
 */
#ifndef TRACE_LOOM_STATS_RUN_STATS_LOAD_H
#define TRACE_LOOM_STATS_RUN_STATS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/files/input.h"
#include "trace/base/json_tokens.h"
#include "trace/loom/stats/run_stats.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ALL_COUNTERS ((1u << STATS_NCOUNTERS) - 1)

/* While one file is read. */
struct stats_loader {
	struct run_stats *p;
	struct loom_violations *findings;
	struct inflow in;
	struct tokens t;
	struct stats_snapshot *snapshot; /* the present one */
	uint64_t element_at;		 /* offset of the present element of an array */
};

enum field_type {
	FIELD_ID,      /* an integer of the size of its member */
	FIELD_NUMBER,  /* a struct stats_number */
	FIELD_COUNTER, /* of the present snapshot: `at` is its number */
	FIELD_METRIC,  /* likewise */
	FIELD_CHOICE,  /* one of the `names`, as their index */
	FIELD_TEXT,    /* a string or null, not kept */
	FIELD_BOOL,    /* not kept */
	FIELD_OBJECT,  /* `fields` */
	FIELD_ARRAY,   /* `read` reads each element */
	FIELD_LIST,    /* the same, or null */
	FIELD_OTHER,   /* `read` reads it */
};

/* A key of the JSON object; its value goes into the member at offset `at`. */
struct field {
	const char *key;
	enum field_type type;
	size_t at, size;
	const struct field *fields; /* of an object: `size` of them */
	const char *const *names;   /* of a choice: `size` of them */
	const char *wrong;	    /* of a choice: the mistake */
	bool (*read)(struct stats_loader *l, const struct token *v);
};

/* The place of a member: offset and size. */
#define IN(type, member)                                                                           \
	.at = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)
#define OBJECT_OF(table)   .type = FIELD_OBJECT, .size = COUNT(table), .fields = (table)
#define ARRAY_OF(function) .type = FIELD_ARRAY, .read = (function)
#define LIST_OF(function)  .type = FIELD_LIST, .read = (function)
#define OTHER(function)	   .type = FIELD_OTHER, .read = (function)

/* Reads the object that `v` begins into `to`. *seen gets a bit for each of the fields that it has.
 */
bool stats_read_fields(struct stats_loader *l, const struct token *v, const struct field *fields,
		       size_t n, void *to, uint64_t *seen);

/* Reads the value of a key into its member of `to`. */
bool stats_read_field(struct stats_loader *l, const struct field *f, void *to);

/* A real number, or null: NaN. */
bool stats_read_real(struct stats_loader *l, const struct token *v, double *to);

/* Reports P2: the value of `key` is not a counter. */
void stats_no_counter(struct stats_loader *l, const char *key);

/* The number of a counter, or that it is wrong. */
void stats_set_counter(struct stats_snapshot *s, size_t counter, struct stats_number n);

/* Appends a snapshot, all zero, that starts at `offset`; NULL out of memory. */
struct stats_snapshot *stats_new_snapshot(struct stats_loader *l, uint64_t offset);

/* Reports P2 for missing counters of the present snapshot, and for a missing number of the run. */
void stats_require_counters(struct stats_loader *l, uint32_t wanted);
void stats_require_number(struct stats_loader *l, const struct stats_number *n, const char *key);

/* The forms: `v` is the first token of the document. */
bool stats_load_legacy(struct stats_loader *l, const struct token *v);
bool stats_load_gem5(struct stats_loader *l, const struct token *v);
bool stats_load_text(struct stats_loader *l);
bool stats_load_loom(struct stats_loader *l, const struct token *v);

#endif
