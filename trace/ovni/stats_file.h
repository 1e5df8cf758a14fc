/* SPDX-License-Identifier: MIT */
/*
 * stats_file: stats.json, the statistics of a recording.
 *
 * In: a file of the schema `ovni-bpf-stats`; out: its integers. For the writer
 * (user/stats/stats_output.h): the names.
 * Invariants: integers keep their 64 bits; each line of a thread, process, CPU or run has its ids,
 * and the times that add up to its total. Specification: loom.md 12; ovni-stats(5).
 */
#ifndef TRACE_OVNI_STATS_FILE_H
#define TRACE_OVNI_STATS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATS_SCHEMA	  "ovni-bpf-stats"
#define STATS_FILE	  "stats.json"
#define STATS_SCHEMA_OLD  "ovni-bpf-perf" /* of the first version, */
#define STATS_FILE_OLD	  "perf.json"	  /* which is still read */
#define STATS_PART	  ".part"	  /* behind that name: snapshots of a running recording, */
#define STATS_NEW	  ".tmp"	  /* and the whole while it is being written */
#define STATS_BEGINS	  "{\n  \"schema\": \"" STATS_SCHEMA "\""
#define STATS_BEGINS_OLD  "{\n  \"schema\": \"" STATS_SCHEMA_OLD "\""
#define STATS_LINE_BEGINS "{\"clock\": " /* of a snapshot */
#define STATS_VERSION	  1

/* The integers of the document: name in the enumeration, key. */
#define STATS_KEYS(KEY)                                                                            \
	KEY(VERSION_NUMBER, version)                                                               \
	KEY(FIRST_CYCLE, first_cycle)                                                              \
	KEY(END_CYCLE, end_cycle)                                                                  \
	KEY(TOTAL_CYCLES, total_cycles)                                                            \
	KEY(KEEP, keep)                                                                            \
	KEY(OF, of)                                                                                \
	KEY(CPU_NS, cpu_ns)                                                                        \
	KEY(PEAK_RSS_BYTES, peak_rss_bytes)                                                        \
	KEY(SEEN, seen)                                                                            \
	KEY(WRITTEN, written)                                                                      \
	KEY(FILTERED, filtered)                                                                    \
	KEY(SAMPLED_OUT, sampled_out)                                                              \
	KEY(DROPPED, dropped)                                                                      \
	KEY(DROPPED_FULL, dropped_full)                                                            \
	KEY(DROPPED_SIZE, dropped_size)                                                            \
	KEY(DROPPED_USER, dropped_user)                                                            \
	KEY(INTERVAL, interval)                                                                    \
	KEY(TID, tid)                                                                              \
	KEY(PID, pid)                                                                              \
	KEY(CPU_ID, cpu)                                                                           \
	KEY(THREADS, threads)                                                                      \
	KEY(TOTAL_NS, total_ns)                                                                    \
	KEY(ACTIVE_NS, active_ns)                                                                  \
	KEY(RUNNABLE_NS, runnable_ns)                                                              \
	KEY(THROTTLED_NS, throttled_ns)                                                            \
	KEY(BLOCKED_NS, blocked_ns)                                                                \
	KEY(UNKNOWN_NS, unknown_ns)                                                                \
	KEY(OTHER_NS, other_ns)                                                                    \
	KEY(IDLE_NS, idle_ns)                                                                      \
	KEY(SWITCHES, switches)                                                                    \
	KEY(SWITCHES_VOLUNTARY, switches_voluntary)                                                \
	KEY(SWITCHES_PREEMPTED, switches_preempted)                                                \
	KEY(WAKEUPS, wakeups)                                                                      \
	KEY(MIGRATIONS, migrations)                                                                \
	KEY(CALLS, calls)                                                                          \
	KEY(WINDOW_NS, window_ns)                                                                  \
	KEY(CPUS, cpus)                                                                            \
	KEY(CPU_ACTIVE_NS, cpu_active_ns)                                                          \
	KEY(CPU_OTHER_NS, cpu_other_ns)                                                            \
	KEY(CPU_IDLE_NS, cpu_idle_ns)                                                              \
	KEY(CPU_UNKNOWN_NS, cpu_unknown_ns)                                                        \
	KEY(PROG_RUNS, prog_runs)                                                                  \
	KEY(PROG_NS, prog_ns)

#define STATS_KEY_ENUM(name, key) STATS_##name,
enum stats_key { STATS_KEYS(STATS_KEY_ENUM) STATS_NKEYS };

extern const char *const stats_keys[STATS_NKEYS];

/* The subject of a line, and its name in the document. */
enum stats_scope { STATS_NO_SCOPE, STATS_RUN, STATS_CPU, STATS_PROCESS, STATS_THREAD };

/* The integers of one object of the document. Missing ones are 0. */
struct stats_line {
	uint64_t has; /* a bit for each key */
	uint64_t values[STATS_NKEYS];
	enum stats_scope scope;
	char comm[20];
};

struct recorded_stats {
	struct stats_line head, window, sampling, events, recorder, unlisted;
	struct stats_line *by_kind; /* events by CPU and kind */
	struct stats_line *lines;   /* the snapshots; STATS_INTERVAL: not of the end */
	size_t nby_kind, nlines;
	bool recovered; /* after a crash: has no counts of events */
};

static inline bool stats_has(const struct stats_line *line, enum stats_key key)
{
	return line->has >> key & 1;
}

/* The name of the statistics file in the directory of a trace; NULL: none. */
const char *stats_find(int dirfd);
/* True if the file name is one of statistics: stats.json, NAME.stats.json, or the same with the old
 * perf.json. */
bool stats_is_file_name(const char *path);

/* Reads the file. Returns 0, -EBADMSG for a damaged file or another schema, or another -errno,
 * after one message. recorded_stats_free() may follow in all cases. */
int recorded_stats_load(struct recorded_stats *stats, int dirfd, const char *path)
	__attribute__((warn_unused_result));
void recorded_stats_free(struct recorded_stats *stats);

#endif
