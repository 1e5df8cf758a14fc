/* SPDX-License-Identifier: MIT */
/*
 * window_edge: the machine at the beginning or the end of a window: the time of day, and the time
 * that a hypervisor has stolen from each CPU, and that interrupt handlers took (--why=irq).
 *
 * In: the clocks of the kernel, and `proc`/stat; out: struct window_edge, plain data, which the
 * metadata and the statistics turn into differences. Invariant: the time of day is at most
 * `error_ns` off the clock of the trace beside it. A value that the kernel does not have, or that
 * is wrong, is unknown, never an error. Specification: event-mapping.md "Metadata".
 */
#ifndef USER_CONFIG_WINDOW_EDGE_H
#define USER_CONFIG_WINDOW_EDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEAL_UNKNOWN UINT64_MAX

struct cpu_irqs;
struct irq_sum;

struct window_edge {
	uint64_t clock;	    /* of the trace, ns; 0: nobody looked */
	int64_t realtime;   /* CLOCK_REALTIME at `clock`, ns since the epoch */
	uint64_t error_ns;  /* of that pair */
	int32_t utc_offset; /* of the local time, s east of UTC */
	uint64_t *steal_ns; /* since boot, by kernel number, ncpus of them, each may be
			       STEAL_UNKNOWN; NULL: not known */
	unsigned ncpus;
	struct irq_sum *irqs; /* of interrupt handlers since the programs were attached: IRQ_KINDS
				 of each CPU (bpf/state.h); NULL: not recorded */
};

/* From now on each edge has the sums of interrupt handlers on these CPUs, by kernel number; NULL:
 * no more. They stay the caller's. */
void window_edge_watch(const struct cpu_irqs *irqs, unsigned ncpus);

/* Looks now, at CPUs below `ncpus`. `proc` is "/proc" (another one in tests); NULL: no steal is
 * read. Frees nothing that was in *edge. */
void window_edge_read(struct window_edge *edge, const char *proc, unsigned ncpus);

/* A copy for window_edge_free(); without memory its steal is not known. */
struct window_edge window_edge_copy(const struct window_edge *edge);
void window_edge_free(struct window_edge *edge); /* also of a zeroed struct */

/* CLOCK_REALTIME at a clock of the trace near the edge, ns since the epoch. */
int64_t window_edge_realtime(const struct window_edge *edge, uint64_t clock);

/* The change of CLOCK_REALTIME against the clock of the trace between the edges, in ns: it was set,
 * or the machine slept. 0: none, or less than the error of the pairs. */
int64_t window_edge_step(const struct window_edge *begin, const struct window_edge *end);

/* The time stolen from a CPU between the edges, ns, or STEAL_UNKNOWN. */
uint64_t window_edge_stolen(const struct window_edge *begin, const struct window_edge *end,
			    unsigned cpu);

/* What handlers of a kind (enum irq_kind) did on a CPU between the edges. False: not recorded. */
bool window_edge_irq(const struct window_edge *begin, const struct window_edge *end, unsigned cpu,
		     unsigned kind, struct irq_sum *sum);

/* Reads the steal of each CPU from the text of /proc/stat, whose unit is 1 / `hz` s, into
 * steal_ns[ncpus]; STEAL_UNKNOWN for a CPU without a value. The text may be damaged. */
void steal_parse(const char *text, uint64_t hz, uint64_t *steal_ns, unsigned ncpus);

#endif
