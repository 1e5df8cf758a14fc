/* SPDX-License-Identifier: MIT */
#include "tools/sort/event_order.h"

#include <string.h>

#define SMALL 24 /* below this insertion is faster */

bool event_order_is_sorted(const struct event_place *places, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (places[i].clock < places[i - 1].clock)
			return false;
	return true;
}

static void insertion(struct event_place *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct event_place p = a[i];
		size_t j = i;

		for (; j > 0 && a[j - 1].clock > p.clock; j--)
			a[j] = a[j - 1];
		a[j] = p;
	}
}

static size_t run_end(const struct event_place *a, size_t start, size_t n)
{
	size_t end = start + 1;

	while (end < n && a[end].clock >= a[end - 1].clock)
		end++;
	return end < n ? end : n;
}

/* Merges neighbouring runs of `from` into `to`; returns how many are left. */
static size_t merge_pass(const struct event_place *from, struct event_place *to, size_t n)
{
	size_t runs = 0;

	for (size_t start = 0; start < n; runs++) {
		size_t middle = run_end(from, start, n), end = middle;
		size_t a = start, b = middle, out = start;

		if (middle < n)
			end = run_end(from, middle, n);
		while (a < middle && b < end)
			to[out++] = from[b].clock < from[a].clock ? from[b++] : from[a++];
		memcpy(to + out, from + a, (middle - a) * sizeof(*to));
		out += middle - a;
		memcpy(to + out, from + b, (end - b) * sizeof(*to));
		start = end;
	}
	return runs;
}

void event_order_sort(struct event_place *places, size_t n, struct event_place *scratch)
{
	struct event_place *from = places, *to = scratch;

	if (n <= SMALL) {
		insertion(places, n);
		return;
	}
	if (event_order_is_sorted(places, n))
		return;
	for (size_t i = 0; i < n; i += SMALL)
		if (!event_order_is_sorted(places + i, n - i < SMALL ? n - i : SMALL))
			insertion(places + i, n - i < SMALL ? n - i : SMALL);
	for (;;) {
		struct event_place *swap = from;
		size_t runs = merge_pass(from, to, n);

		from = to;
		to = swap;
		if (runs <= 1)
			break;
	}
	if (from != places)
		memcpy(places, from, n * sizeof(*places));
}
