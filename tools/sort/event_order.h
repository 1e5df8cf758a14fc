/* SPDX-License-Identifier: MIT */
/*
 * event_order: events by clock, equal clocks as they stood.
 *
 * In: (clock, place in the file) of events; out: the same in stable order. A merge sort
 * that takes the runs that are there already, since what is sorted here is mostly two
 * sorted sequences, one after the other.
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
