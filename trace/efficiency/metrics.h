/* SPDX-License-Identifier: MIT */
/*
 * metrics: the factors of efficiency.md 2 of a program, from the times of its ranks.
 *
 * In: the times of all ranks (rank_times.h) after the walk; out: each factor as a number, or the
 * reason why it is not available (efficiency.md 6). Nothing is guessed: a factor whose inputs the
 * trace lacks has no number. Invariant: the factors of a product multiply to it.
 */
#ifndef TRACE_EFFICIENCY_METRICS_H
#define TRACE_EFFICIENCY_METRICS_H

#include "trace/efficiency/rank_times.h"

enum metric {
	METRIC_TRUE_PE,
	METRIC_PE,
	METRIC_LB,
	METRIC_LB_IN,
	METRIC_LB_OUT,
	METRIC_COMM,
	METRIC_MPI_PE,
	METRIC_MPI_LB,
	METRIC_MPI_COMM,
	METRIC_OMP_PE,
	METRIC_OMP_SERIAL,
	METRIC_OMP_LB,
	METRIC_OMP_SCHEDULING,
	METRIC_ON_CPU,
	METRIC_OS,
	METRIC_BLOCKING,
	METRIC_TRUE_LB,
	METRIC_OS_LOSS,
	METRIC_TRANSFER_STAR,
	METRIC_SERIAL_STAR,
	METRIC_WAIT_LAST,
	METRIC_MPI_ON_CPU,
	METRIC_MPI_RUNNABLE,
	METRIC_INTERRUPTS,
	METRIC_SERIALISATION,
	METRIC_TRANSFER,
	METRIC_IPC,
	METRIC_FREQUENCY,
	METRIC_SCALING,
	METRIC_GLOBAL,
	METRICS
};
extern const char *const metric_names[METRICS]; /* in JSON */

/* The reasons, each for some of the factors. */
enum refusal {
	REFUSED_ALL,
	REFUSED_MPI,
	REFUSED_NODES, /* the load balance in and between nodes */
	REFUSED_OPENMP,
	REFUSED_USEFUL, /* the useful time */
	REFUSED_OS,
	REFUSED_STARS,
	REFUSALS
};
#define REFUSAL_TEXT 192

struct metric_value {
	double value, high; /* from value to high, if `bound` */
	bool bound;
	const char *reason; /* not available; NULL: there is a value */
};

struct metric_set {
	struct metric_value list[METRICS];
	int64_t elapsed; /* ns: the longest window */
	int64_t units;
	struct rank_figures sum;
};

/* Parties that may have the CPU of a useful thread. */
enum wait_class {
	WAIT_FOR_OWN, /* a thread of the same rank */
	WAIT_FOR_RANK,
	WAIT_FOR_OTHER, /* another process */
	WAIT_FOR_KERNEL,
	WAIT_FOR_IDLE,
	WAIT_FOR_QUOTA, /* the CPU quota of a cgroup */
	WAIT_FOR_UNKNOWN,
	WAIT_CLASSES
};
extern const char *const wait_class_names[WAIT_CLASSES];

struct wait_share {
	int64_t ns;
	int64_t most;	 /* the culprit with the most of it (culprits.h), or CULPRIT_IDLE: none */
	int64_t most_ns; /* WAIT_FOR_UNKNOWN: 0, `most` took the CPU first most often */
	uint32_t victim; /* stream of one that waited for it */
};

struct node_sum {
	double outside, units; /* ns outside of MPI, of so many execution units */
};

/* Everything about a trace. */
struct efficiency {
	struct rank_times times;
	char refused[REFUSALS][REFUSAL_TEXT]; /* "": not refused */
	bool teams;			      /* workers of parallel regions count */
	bool *members;			      /* of each stream: an execution unit */
	struct node_sum *nodes;		      /* of the present phase; private */
	uint32_t nnodes;
	struct metric_set whole;
	struct wait_share waits[WAIT_CLASSES];
	uint64_t helpers;    /* threads of the ranks that are no execution units, */
	int64_t helpers_run; /* and their time on a CPU in the recording, ns */
};

/* After the walk of e->times and rank_times_finish(). Returns 0 or -ENOMEM; efficiency_fini() must
 * follow in both cases. */
int efficiency_compute(struct efficiency *e) __attribute__((warn_unused_result));

/* The factors of a phase. */
void efficiency_phase(struct efficiency *e, const struct phase_times *phase,
		      struct metric_set *set);

/* Reads a trace: the walk and efficiency_compute(). Returns 0, or -errno after one message (-ENOMEM
 * without); efficiency_fini() must follow in both cases. */
int efficiency_read(struct efficiency *e, const struct source *source,
		    const struct efficiency_settings *settings) __attribute__((warn_unused_result));
void efficiency_fini(struct efficiency *e);

/* ---- refusals.c ---- */

void efficiency_refuse(struct efficiency *e);

/* ---- wait_shares.c ---- */

/* The class of a culprit, for culprits.class_of with the struct rank_times as its argument. */
unsigned wait_class_of(const void *times, uint32_t victim, int64_t culprit);
/* Returns 0 or -ENOMEM. */
int wait_shares_compute(struct efficiency *e);

#endif
