/* SPDX-License-Identifier: MIT */
/* run_clock: converts cycles and nanoseconds (see run_clock.h). */
#include "tools/loom/run/run_clock.h"

#include <errno.h>
#include <string.h>

struct unit {
	const char *name;
	unsigned zeros; /* powers of ten above the smallest unit */
};

/*
 * Parses a decimal number with a unit, in `10^-digits` of the smallest unit: 1.25ns is 1250 with
 * digits 0. Returns false for other text, or more digits than 64 bits.
 */
static bool parse(const char *text, const struct unit *units, size_t n, uint64_t *value,
		  unsigned *digits)
{
	unsigned fraction = 0, zeros;
	bool dot = false, any = false;

	*value = 0;
	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !dot); text++) {
		if (*text == '.') {
			dot = true;
			continue;
		}
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
			return false;
		fraction += dot;
		any = true;
	}
	while (n > 0 && strcmp(text, units[n - 1].name) != 0)
		n--;
	if (!any || n == 0)
		return false;
	for (; fraction && *value % 10 == 0; fraction--)
		*value /= 10;
	zeros = units[n - 1].zeros;
	for (; zeros && fraction; zeros--)
		fraction--;
	for (; zeros; zeros--) {
		if (__builtin_mul_overflow(*value, 10, value))
			return false;
	}
	*digits = fraction;
	return true;
}

uint64_t run_clock_period(const char *text)
{
	static const struct unit units[] = {{"ps", 0}, {"ns", 3}, {"us", 6}, {"ms", 9}, {"s", 12}};
	uint64_t value;
	unsigned digits;

	return parse(text, units, 5, &value, &digits) && !digits ? value : 0;
}

uint64_t run_clock_frequency(const char *text, bool *exact)
{
	static const struct unit units[] = {
		{"Hz", 0}, {"kHz", 3}, {"KHz", 3}, {"MHz", 6}, {"GHz", 9}};
	unsigned __int128 ps = 1000000000000;
	uint64_t value;
	unsigned digits;

	if (!parse(text, units, 5, &value, &digits) || !value || digits > 12)
		return 0;
	for (; digits; digits--)
		ps *= 10;
	*exact = ps % value == 0;
	ps = (ps + value / 2) / value;
	return ps > UINT64_MAX ? 0 : (uint64_t)ps;
}

uint64_t run_clock_last(const struct run_clock *c)
{
	unsigned __int128 most =
		((unsigned __int128)(INT64_MAX - c->base) * 1000 + 999) / c->period_ps;

	return most > UINT64_MAX ? UINT64_MAX : (uint64_t)most;
}

uint64_t run_clock_longest(const struct run_clock *c, uint64_t cycle)
{
	unsigned __int128 ps = (unsigned __int128)(INT64_MAX - c->base) * 1000 + 999;

	if (cycle)
		ps /= cycle;
	return ps > UINT64_MAX ? UINT64_MAX : (uint64_t)ps;
}

/* ---- anchors ---- */

int run_clock_anchor(struct run_clock *c, const struct run_anchor *a, size_t n, uint64_t end)
{
	const struct run_anchor *last = &a[n - 1];
	unsigned __int128 before = (unsigned __int128)a[0].cycle * c->period_ps;
	unsigned __int128 after;

	for (size_t i = 1; i < n; i++) {
		if (a[i].cycle <= a[i - 1].cycle || a[i].clock < a[i - 1].clock)
			return -EINVAL;
	}
	after = end > last->cycle ? (unsigned __int128)(end - last->cycle) * c->period_ps : 0;
	if (a[0].clock < 0 || before > (unsigned __int128)a[0].clock * 1000 ||
	    after > (unsigned __int128)(INT64_MAX - last->clock) * 1000)
		return -ERANGE;
	c->anchors = a;
	c->nanchors = n;
	c->base = run_clock_anchored_ns(c, 0);
	return 0;
}

int64_t run_clock_anchored_ns(const struct run_clock *c, uint64_t cycle)
{
	const struct run_anchor *a = c->anchors;
	size_t low = 0,
	       high = c->nanchors; /* the last anchor at or before the cycle is before high */
	unsigned __int128 ns;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a[middle].cycle <= cycle)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low) {
		ns = (unsigned __int128)(a->cycle - cycle) * c->period_ps;
		return a->clock - (int64_t)((ns + 999) / 1000);
	}
	ns = (unsigned __int128)(cycle - a[low - 1].cycle) * c->period_ps / 1000;
	if (low < c->nanchors && ns > (uint64_t)(a[low].clock - a[low - 1].clock))
		return a[low].clock;
	return a[low - 1].clock + (int64_t)ns;
}

uint64_t run_clock_anchored_cycle(const struct run_clock *c, int64_t ns)
{
	const struct run_anchor *a = c->anchors;
	size_t low = 0, high = c->nanchors;
	unsigned __int128 ps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a[middle].clock <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low) {
		ps = (unsigned __int128)(uint64_t)(a->clock - ns) * 1000 / c->period_ps;
		return ps > a->cycle ? 0 : a->cycle - (uint64_t)ps;
	}
	ps = (unsigned __int128)(uint64_t)(ns - a[low - 1].clock) * 1000;
	/* each anchor made the cycles from it on one higher */
	ps = a[low - 1].cycle - low + (ps + c->period_ps - 1) / c->period_ps;
	return ps > UINT64_MAX ? UINT64_MAX : (uint64_t)ps;
}
