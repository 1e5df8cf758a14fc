/* SPDX-License-Identifier: MIT */
/*
 * run_stats: reads the statistics of a run in any form, and checks their own rules.
 *
 * In: a statistics file of upstream (JSON, lines of text, or of the gem5 device), or "loom-perf" of
 * a co-simulation; out: counters, the metrics in the file, and its declarations: clock, controls,
 * counts of events. Memory follows nodes and scopes.
 * Invariants: integers keep their 64 bits; a missing counter is not zero but missing.
 * Specification: loom.md 5, 6; rules P1 to P5, P7, P10 to P12 of 8.
 */
#ifndef TRACE_LOOM_STATS_RUN_STATS_H
#define TRACE_LOOM_STATS_RUN_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/controls.h"
#include "trace/loom/violation.h"
#include "trace/loom/modules.h"
#include "trace/loom/loom_record.h"

enum stats_form {
	STATS_UNKNOWN,
	STATS_LEGACY, /* .stat of upstream in JSON (L0, L1) */
	STATS_TEXT,   /* .stat of upstream in lines (J2) */
	STATS_GEM5,   /* stat.json of the gem5 device */
	STATS_LOOM,   /* schema loom-perf */
};
const char *stats_form_name(enum stats_form form);

/* Name in the enumeration, key in the schema loom-perf. */
#define STATS_COUNTERS(COUNTER)                                                                    \
	COUNTER(TOTAL_CYCLES, total_cycles)                                                        \
	COUNTER(ACTIVE_CYCLES, active_cycles)                                                      \
	COUNTER(STALL_CYCLES_IN, stall_cycles_in)                                                  \
	COUNTER(STALL_CYCLES_OUT, stall_cycles_out)                                                \
	COUNTER(TOKENS_IN, tokens_in)                                                              \
	COUNTER(TOKENS_OUT, tokens_out)                                                            \
	COUNTER(CONFIG_WRITES, config_writes)

#define STATS_COUNTER_ENUM(name, key) STATS_##name,
enum stats_counter { STATS_COUNTERS(STATS_COUNTER_ENUM) STATS_NCOUNTERS };

/* Derived metrics, by their keys in this schema. */
#define STATS_METRICS(METRIC)                                                                      \
	METRIC(UTILIZATION, utilization)                                                           \
	METRIC(INPUT_STALL, input_stall_ratio)                                                     \
	METRIC(OUTPUT_STALL, output_stall_ratio)                                                   \
	METRIC(THROUGHPUT, throughput)                                                             \
	METRIC(CONFIG_OVERHEAD, config_overhead)

#define STATS_METRIC_ENUM(name, key) STATS_M_##name,
enum stats_metric { STATS_METRICS(STATS_METRIC_ENUM) STATS_NMETRICS };

extern const char *const stats_counter_names[STATS_NCOUNTERS];
extern const char *const stats_metric_names[STATS_NMETRICS];

/* The object of a snapshot. */
enum stats_scope { STATS_NODE, STATS_CORE };

struct stats_snapshot {
	uint64_t counters[STATS_NCOUNTERS];
	double metrics[STATS_NMETRICS]; /* NaN: null */
	uint32_t has_counter;		/* a bit for each */
	uint32_t bad_counter;		/* invalid values */
	uint16_t has_metric;
	enum stats_scope scope;
	bool has_core;
	bool is_last; /* the final one of its object in its invocation */
	uint16_t core_id;
	uint32_t epoch_id, hw_node_id;
	uint64_t invocation_id;
	uint64_t cycle;
	uint64_t offset; /* of its start in the file */
};

enum stats_status { STATS_DONE, STATS_ERROR, STATS_CUT };

struct stats_invocation {
	uint16_t core_id;
	uint32_t epoch_id;
	uint64_t invocation_id, start_cycle, end_cycle;
	uint64_t host_clock_ns; /* of the host's call; 0: not known */
	enum stats_status status;
};

/* An optional number. */
struct stats_number {
	uint64_t v;
	bool given;
};

/* seen = written + filtered + sampled_out + dropped, where declared. */
struct stats_account {
	bool given;
	struct stats_number seen, written, filtered, sampled_out, dropped;
	struct stats_number dropped_full, dropped_size, dropped_user;
	bool by_kind, by_core;		    /* it has the breakdown */
	uint64_t of_kinds, of_cores;	    /* sums of the breakdowns */
	uint64_t of_kind[256];		    /* of kinds with a known name */
	struct loom_controls dropped_cores; /* the cores with lost records */
	uint64_t *of_core;		    /* LOOM_CORES, or NULL for none */
};

struct run_stats {
	enum stats_form form;
	char *path;
	struct stats_number period_ps;
	bool bad_period; /* invalid values */
	enum loom_style style;
	bool has_style;
	struct stats_number first_cycle, end_cycle, window_cycles; /* "window" */
	struct loom_controls controls; /* filters and sampling of the producer */
	bool samples;		       /* the producer declares sampling */
	struct stats_account events;
	struct stats_invocation *invocations;
	size_t ninvocations;
	struct stats_snapshot *snapshots; /* of upstream: the nodes, in the order of the file */
	size_t nsnapshots;
	struct loom_modules modules; /* gem5 */
	bool joins_cores;	     /* a node is listed twice without a core (P11): */
	uint32_t joined_node;	     /* this one */

	/* totals of the run, of upstream */
	struct stats_number total_cycles, config_cycles, execution_cycles, kernel_cycles;
	struct stats_number node_count, snapshot_count, event_count;
	struct stats_number sums[STATS_NCOUNTERS]; /* of the nodes, from the file */
	double config_overhead;			   /* NaN: missing */
	bool has_config_overhead;
};

/*
 * Reads the statistics `path` below `dirfd`, and reports P1 and P2 to `findings`. Returns 0;
 * -EBADMSG for an unknown form or a damaged file, after P1; or another -errno after one message.
 * run_stats_free() may follow in all cases.
 */
int run_stats_load(struct run_stats *p, int dirfd, const char *path,
		   struct loom_violations *findings) __attribute__((warn_unused_result));
void run_stats_free(struct run_stats *p);

/* Checks the statistics by themselves: rules P3 to P5, P7, P10 to P12. Returns 0 or -ENOMEM. */
int run_stats_check(const struct run_stats *p, struct loom_violations *findings)
	__attribute__((warn_unused_result));

/* True if the producer declares that records are missing in the trace. */
bool run_stats_leaves_out(const struct run_stats *p);
/* True if a record of this kind and core (node 0) may be missing by these declarations. */
bool run_stats_may_lack(const struct run_stats *p, uint8_t kind, uint16_t core);

/* The configuration writes of the run: of all nodes, or of the cores. Returns false if they are
 * unknown. */
bool run_stats_config_writes(const struct run_stats *p, uint64_t *sum);

static inline bool stats_has(const struct stats_snapshot *s, enum stats_counter c)
{
	return s->has_counter >> c & 1;
}

/* A ratio; a divisor of 0 gives 0. */
static inline double stats_ratio(unsigned __int128 part, unsigned __int128 whole)
{
	return whole ? (double)part / (double)whole : 0.0;
}

/*
 * Derives the five metrics of loom.md 6: out[STATS_M_UTILIZATION ... STATS_M_CONFIG_OVERHEAD].
 * `total` is the length of the window in cycles. A divisor of 0 gives 0, and NaN for the
 * throughput.
 */
void stats_derive(const uint64_t counters[STATS_NCOUNTERS], uint64_t total,
		  double out[STATS_NMETRICS]);

/* The length of the window of a snapshot: of its invocation, or of the execution without any. */
struct stats_number stats_window(const struct run_stats *p, const struct stats_snapshot *s);

/*
 * The expected metrics of a snapshot, by the definition of its form (loom.md 6; busy cycles in
 * legacy files of upstream). NaN: null.
 */
void stats_wanted(const struct run_stats *p, const struct stats_snapshot *s,
		  double out[STATS_NMETRICS]);
/* True if the numbers are equal within the precision of the form (loom.md 6, tolerance). */
bool stats_agrees(const struct run_stats *p, double have, double want);
/* True if the snapshot has this metric, and all counters that the metric depends on. */
bool stats_announces(const struct run_stats *p, const struct stats_snapshot *s,
		     enum stats_metric m);

/* ---- for violations ---- */

/* Writes the name of a snapshot for violations. Returns `out`. */
const char *stats_called(const struct stats_snapshot *s, char *out, size_t size);
struct loom_place stats_place(const struct run_stats *p, const struct stats_snapshot *s);
/* Reports a violation of the snapshot, with its name, or of the file (s is NULL). */
void stats_found(struct loom_violations *f, const struct run_stats *p,
		 const struct stats_snapshot *s, enum loom_rule rule, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif
