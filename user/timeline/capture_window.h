/* SPDX-License-Identifier: MIT */
/*
 * capture_window: how a session begins and how it ends, for every thread at once.
 *
 * Inside the timeline. Up to t0, records and the iterator only tell who runs where and who
 * is who; then those who run are entered, the others with their first later event.
 * At t1 everybody is brought to dead.
 * All return 0 or -errno after one message. timeline_iterated() and timeline_close() are
 * here, too.
 * Specification: event-mapping.md "Clock and window", ebpf.md 9.
 */
#ifndef USER_TIMELINE_CAPTURE_WINDOW_H
#define USER_TIMELINE_CAPTURE_WINDOW_H

#include "user/timeline/cpu_state.h"

/* A record up to t0. */
int window_before(struct timeline *tl, struct cpu *cpu, const struct record_head *head);

/* The first record after t0, or the end: who runs enters at t0. */
int window_open(struct timeline *tl);

/* The task `id`, which has not run since, was woken at `wake` (0: it was not); if that lies in the
 * window, it is no more asleep at its end. */
int window_woken(struct timeline *tl, uint32_t id, uint64_t wake, int32_t waker);

#endif
