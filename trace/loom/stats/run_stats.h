/* SPDX-License-Identifier: MIT */
/*
 * run_stats: statistics of a run, in any form, and the rules that they must obey by themselves.
 *
 * In: a statistics file of upstream (JSON, lines of text, the gem5 device's), or of ours:
 * "loom-perf" of co-simulations and "ovni-bpf-perf" of the recorder; out: counters, the metrics
 * that the file derives from them, and what it declares: clock, controls, the account of events.
 * Memory follows nodes, threads and scopes. Invariants: integers keep their 64 bits; counters that
 * are missing are not zero but missing. Specification: loom.md 5, 6, 12; rules P1 to P5, P7, P10 to
 * P12 of 8.
 */
#ifndef TRACE_LOOM_STATS_RUN_STATS_H
#define TRACE_LOOM_STATS_RUN_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/loom/controls.h"
#include "trace/loom/violation.h"
#include "trace/loom/modules.h"
#include "trace/loom/style.h"

enum perf_form {
	PERF_UNKNOWN,
	PERF_LEGACY, /* upstream's .stat in JSON (L0, L1) */
	PERF_TEXT,   /* upstream's .stat in lines (J2) */
	PERF_GEM5,   /* stat.json of the gem5 device */
	PERF_LOOM,   /* schema loom-perf */
	PERF_OVNI,   /* schema ovni-bpf-perf */
};
const char *perf_form_name(enum perf_form form);

/* Name in the enumeration, key in our two schemas. */
#define PERF_COUNTERS(COUNTER)                                                                     \
	COUNTER(TOTAL_CYCLES, total_cycles)                                                        \
	COUNTER(ACTIVE_CYCLES, active_cycles)                                                      \
	COUNTER(STALL_CYCLES_IN, stall_cycles_in)                                                  \
	COUNTER(STALL_CYCLES_OUT, stall_cycles_out)                                                \
	COUNTER(TOKENS_IN, tokens_in)                                                              \
	COUNTER(TOKENS_OUT, tokens_out)                                                            \
	COUNTER(CONFIG_WRITES, config_writes)                                                      \
	COUNTER(TOTAL_NS, total_ns)                                                                \
	COUNTER(ACTIVE_NS, active_ns)                                                              \
	COUNTER(RUNNABLE_NS, runnable_ns)                                                          \
	COUNTER(BLOCKED_NS, blocked_ns)                                                            \
	COUNTER(UNKNOWN_NS, unknown_ns)                                                            \
	COUNTER(OTHER_NS, other_ns)                                                                \
	COUNTER(IDLE_NS, idle_ns)                                                                  \
	COUNTER(SWITCHES, switches)                                                                \
	COUNTER(SWITCHES_VOLUNTARY, switches_voluntary)                                            \
	COUNTER(SWITCHES_PREEMPTED, switches_preempted)                                            \
	COUNTER(WAKEUPS, wakeups)                                                                  \
	COUNTER(MIGRATIONS, migrations)                                                            \
	COUNTER(CALLS, calls)                                                                      \
	COUNTER(CALLS_NS, calls_ns)                                                                \
	COUNTER(PROG_NS, prog_ns)                                                                  \
	COUNTER(PROG_RUNS, prog_runs)                                                              \
	COUNTER(EVENTS_SEEN, events_seen)                                                          \
	COUNTER(EVENTS_WRITTEN, events_written)                                                    \
	COUNTER(EVENTS_FILTERED, events_filtered)                                                  \
	COUNTER(EVENTS_SAMPLED_OUT, events_sampled_out)                                            \
	COUNTER(EVENTS_DROPPED, events_dropped)                                                    \
	COUNTER(THREADS, threads)                                                                  \
	COUNTER(YIELDS, yields)                                                                    \
	COUNTER(WINDOW_NS, window_ns)                                                              \
	COUNTER(CPUS, cpus)                                                                        \
	COUNTER(CPU_ACTIVE_NS, cpu_active_ns)                                                      \
	COUNTER(CPU_OTHER_NS, cpu_other_ns)                                                        \
	COUNTER(CPU_IDLE_NS, cpu_idle_ns)                                                          \
	COUNTER(CPU_UNKNOWN_NS, cpu_unknown_ns)

#define PERF_COUNTER_ENUM(name, key) PERF_##name,
enum perf_counter { PERF_COUNTERS(PERF_COUNTER_ENUM) PERF_NCOUNTERS };

/* Derived metrics, by their keys in our schemas. */
#define PERF_METRICS(METRIC)                                                                       \
	METRIC(UTILIZATION, utilization)                                                           \
	METRIC(INPUT_STALL, input_stall_ratio)                                                     \
	METRIC(OUTPUT_STALL, output_stall_ratio)                                                   \
	METRIC(THROUGHPUT, throughput)                                                             \
	METRIC(CONFIG_OVERHEAD, config_overhead)                                                   \
	METRIC(TRACED_SHARE, traced_share)                                                         \
	METRIC(UNKNOWN, unknown_ratio)                                                             \
	METRIC(CALL_THROUGHPUT, call_throughput)                                                   \
	METRIC(MEAN_WAIT, mean_wait_ns)                                                            \
	METRIC(OVERHEAD, overhead)                                                                 \
	METRIC(DROP_RATIO, drop_ratio)

#define PERF_METRIC_ENUM(name, key) PERF_M_##name,
enum perf_metric { PERF_METRICS(PERF_METRIC_ENUM) PERF_NMETRICS };

extern const char *const perf_counter_names[PERF_NCOUNTERS];
extern const char *const perf_metric_names[PERF_NMETRICS];

/* What a snapshot is of. */
enum perf_scope { PERF_NODE, PERF_CORE, PERF_THREAD, PERF_PROCESS, PERF_CPU, PERF_RUN };

struct perf_snapshot {
	uint64_t counters[PERF_NCOUNTERS];
	double metrics[PERF_NMETRICS]; /* NaN: null */
	uint64_t has_counter;	       /* a bit for each */
	uint64_t bad_counter;	       /* what stands there is none */
	uint16_t has_metric;
	enum perf_scope scope;
	bool has_core, has_epoch, has_invocation, has_cycle;
	bool is_last; /* of its node, core, ... in its invocation: others were taken on the way */
	uint16_t core_id;
	uint32_t epoch_id, hw_node_id;
	uint64_t invocation_id;
	uint64_t cycle;		/* or clock in ns */
	uint64_t interval;	/* the recorder's: 0 for the counters at the end */
	uint64_t tid, pid, cpu; /* the recorder's */
	char comm[20];		/* likewise */
	uint64_t offset;	/* where it starts in the file */
};

enum perf_status { PERF_DONE, PERF_ERROR, PERF_CUT };

struct perf_invocation {
	uint16_t core_id;
	uint32_t epoch_id;
	uint64_t invocation_id, start_cycle, end_cycle;
	enum perf_status status;
};

/* A number that may be missing. */
struct perf_number {
	uint64_t v;
	bool given;
};

/* seen = written + filtered + sampled_out + dropped, as far as it is declared. */
struct perf_account {
	bool given;
	struct perf_number seen, written, filtered, sampled_out, dropped;
	struct perf_number dropped_full, dropped_size, dropped_user;
	bool by_kind, by_core;		    /* the breakdown is there */
	uint64_t of_kinds, of_cores;	    /* the sums of the breakdowns */
	uint64_t of_kind[256];		    /* only if it is known by a name of ours */
	struct loom_controls dropped_cores; /* the cores that have lost records */
	uint64_t *of_core;		    /* 65536 of them; NULL: none has */
};

struct loom_perf {
	enum perf_form form;
	char *path;
	char *producer, *mode, *termination, *error_message; /* NULL: not given */
	struct perf_number period_ps;
	bool bad_period; /* what stands there is none */
	enum loom_style style;
	bool has_style;
	struct perf_number first_cycle, end_cycle, window_cycles; /* "window" */
	struct loom_controls controls; /* what the producer let through */
	bool samples;		       /* it declares a sampling of less than all */
	struct perf_account events;
	struct perf_invocation *invocations;
	size_t ninvocations;
	struct perf_snapshot *snapshots; /* upstream's: the nodes, in the order of the file */
	size_t nsnapshots;
	struct loom_modules modules; /* gem5 */
	bool joins_cores;	     /* a node is listed twice, without a core (P11): */
	uint32_t joined_node;	     /* this one */

	/* The recorder's: threads without a snapshot of their own, together; accounts that do not
	 * close, and the sums of all, of events by CPU and kind. */
	struct perf_snapshot unlisted;
	bool has_unlisted, has_matrix;
	uint64_t matrix_open;
	struct perf_account matrix;
	struct perf_number recorder_cpu_ns, recorder_peak_rss_bytes; /* what it has cost itself */

	/* Upstream's run totals. */
	struct perf_number total_cycles, config_cycles, execution_cycles, kernel_cycles;
	struct perf_number node_count, snapshot_count, event_count;
	struct perf_number sums[PERF_NCOUNTERS]; /* of the nodes, as announced */
	double config_overhead;			 /* NaN: not given */
	bool has_config_overhead;
	bool has_success, success;
};

/*
 * Reads the statistics `path` below `dirfd`. Findings P1 and P2 go to `findings`. Returns 0;
 * -EBADMSG if the form is unknown or the file is damaged (P1 was reported); or another -errno after
 * one message. loom_perf_free() is allowed in any case.
 */
int loom_perf_load(struct loom_perf *p, int dirfd, const char *path, struct loom_findings *findings)
	__attribute__((warn_unused_result));
void loom_perf_free(struct loom_perf *p);

/* Holds the statistics against themselves: rules P3 to P5, P7, P10 to P12. Returns 0 or -ENOMEM. */
int loom_perf_check(const struct loom_perf *p, struct loom_findings *findings)
	__attribute__((warn_unused_result));

/* True if the producer declares that something is not in the trace. */
bool loom_perf_leaves_out(const struct loom_perf *p);
/* True if it declares what may have taken a record of this kind of this core (node 0) out of the
 * trace. */
bool loom_perf_may_lack(const struct loom_perf *p, uint8_t kind, uint16_t core);

static inline bool perf_has(const struct perf_snapshot *s, enum perf_counter c)
{
	return s->has_counter >> c & 1;
}

/*
 * The five metrics of loom.md 6 from counters: out[PERF_M_UTILIZATION ... PERF_M_CONFIG_OVERHEAD].
 * `total` is the span of the window. A divisor of 0 gives 0, and NaN ("none") for the throughput.
 */
void perf_derive(const uint64_t counters[PERF_NCOUNTERS], uint64_t total,
		 double out[PERF_NMETRICS]);

/* The span of the window that the counters of a snapshot are judged against: of its invocation, or
 * of the execution where the file knows no invocations. */
struct perf_number perf_window(const struct loom_perf *p, const struct perf_snapshot *s);

/*
 * What the metrics of a snapshot have to be, in the reading of its form (the seed's; the busy
 * cycles in upstream's legacy files; loom.md 12 for the recorder's). NaN: null.
 */
void perf_wanted(const struct loom_perf *p, const struct perf_snapshot *s,
		 double out[PERF_NMETRICS]);
/* Are these the same number, as far as the form prints it (loom.md 6, tolerance)? */
bool perf_agrees(const struct loom_perf *p, double have, double want);
/* Does the snapshot announce this metric, and have all counters that it follows from? */
bool perf_announces(const struct loom_perf *p, const struct perf_snapshot *s, enum perf_metric m);

/* ---- between the files of perf ---- */

struct perf_loader;
int perf_check_recorder(const struct loom_perf *p, struct loom_findings *findings)
	__attribute__((warn_unused_result));
bool perf_has_states(const struct perf_snapshot *s);
void perf_wanted_recorder(const struct perf_snapshot *s, double out[PERF_NMETRICS]);
bool perf_load_json(struct perf_loader *l);
bool perf_load_ours(struct perf_loader *l);
bool perf_load_text(struct perf_loader *l);

#endif
