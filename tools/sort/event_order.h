/* SPDX-License-Identifier: MIT */
/*
 * event_order: a stable sort of events by clock.
 *
 * In: (clock, place in the file) of events; out: the same in stable order. A merge sort that
 * starts from the runs in the input, since that is mostly two sorted sequences.
 */
#ifndef TOOLS_SORT_EVENT_ORDER_H
#define TOOLS_SORT_EVENT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_place {
	uint64_t clock; /* unsigned, as the sorting tool compares them */
	uint64_t at;	/* byte in the file */
};

bool event_order_is_sorted(const struct event_place *places, size_t n);

/* Sorts; `scratch` has room for n places. */
void event_order_sort(struct event_place *places, size_t n, struct event_place *scratch);

#endif
