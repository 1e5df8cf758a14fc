/* SPDX-License-Identifier: MIT */
/*
 * perf_events: the perf events of --counters: their names, and one file of each on each CPU.
 *
 * In: the option; out: open perf events that count all that runs on a CPU, in a map from which the
 * programs read them. Index in the map: event x possible CPUs + CPU.
 * Specification: event-mapping.md "The perf events of a run".
 */
#ifndef USER_CONFIG_PERF_EVENTS_H
#define USER_CONFIG_PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"

struct topology;
struct perf_events;

struct counters {
	unsigned n;
	struct counter {
		const char *name; /* as perf prints it; static */
		uint32_t type;	  /* PERF_TYPE_* */
		uint64_t config;
	} list[COUNTERS_MAX];
};

/* Parses "cycles,page-faults", with the names of perf and their aliases. NULL, or what is wrong: a
 * sentence that is valid until the next call. */
const char *counters_parse(const char *text, struct counters *counters);

/*
 * Opens the events on each CPU of the topology, and puts them into the map `map_fd` of `npossible`
 * CPUs. 0, or -errno after one message; *events is for perf_events_close() in any case.
 */
int perf_events_open(struct perf_events **events, const struct counters *counters,
		     const struct topology *topology, unsigned npossible, int map_fd)
	__attribute__((warn_unused_result));

/* The time for which the event `i` was wanted, and for which it was counted: sums of all CPUs, ns.
 * False if they cannot be read. */
bool perf_events_times(const struct perf_events *events, unsigned i, uint64_t *enabled,
		       uint64_t *running);

void perf_events_close(struct perf_events *events);

#endif
