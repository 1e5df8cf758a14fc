/* SPDX-License-Identifier: MIT */
/*
 * rank_walk: what the files of rank_times share: the list of ranks (rank_list.c), sums of time by
 * place and phase (rank_sums.c), and the events (rank_times.c).
 */
#ifndef TRACE_EFFICIENCY_RANK_WALK_H
#define TRACE_EFFICIENCY_RANK_WALK_H

#include "trace/efficiency/rank_times.h"

/* ---- rank_list.c: 0, -ENOMEM, or -errno after one message ---- */

int rank_list_init(struct rank_times *t);
int rank_list_finish(struct rank_times *t);

/* ---- rank_sums.c: sums up to a clock, before something changes there ---- */

/* The window of a rank, and the time of its master outside of regions. */
void sum_window(struct rank_times *t, struct rank_walk *r, int64_t clock);
/* The time of a thread in its present place. */
void sum_unit(struct rank_times *t, uint32_t unit, int64_t clock);
/* All threads of a rank. */
void sum_units(struct rank_times *t, const struct rank_walk *r, int64_t clock);

/* A region begins or ends for the whole window and the phase. */
void region_begin(struct rank_times *t, struct rank_walk *r, int64_t clock);
void region_end(struct rank_times *t, struct rank_walk *r, int64_t clock);

/* Makes room for the sums of a phase. Returns 0 or -ENOMEM. */
int phase_init(const struct rank_times *t, struct phase_times *phase);
void phase_fini(struct phase_times *phase);
/* The rank goes to a phase, or to none. */
void phase_switch(struct rank_times *t, struct rank_walk *r, uint32_t phase, int64_t clock);

#endif
