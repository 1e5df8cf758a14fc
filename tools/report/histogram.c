/* SPDX-License-Identifier: MIT */
#include "tools/report/histogram.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/ovni/event.h"

#define BITS	5 /* 32 buckets for each power of two */
#define BUCKETS (HISTOGRAM_POWERS * HISTOGRAM_WIDTH)
_Static_assert(HISTOGRAM_WIDTH == 1 << BITS, "buckets of a power");

static unsigned bucket_of(uint64_t v)
{
	unsigned power, bucket;

	if (v < 1u << BITS)
		return (unsigned)v;
	power = 63 - (unsigned)__builtin_clzll(v);
	bucket = ((power - BITS + 1) << BITS) +
		 (unsigned)((v >> (power - BITS)) & ((1u << BITS) - 1));
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The highest value of a bucket. */
static int64_t bucket_top(unsigned bucket)
{
	unsigned shift;

	if (bucket < 1u << BITS)
		return bucket;
	shift = (bucket >> BITS) - 1;
	return (int64_t)(((uint64_t)(bucket & ((1u << BITS) - 1)) + (1u << BITS) + 1) << shift) - 1;
}

int histogram_add(struct histogram *h, int64_t ns)
{
	unsigned bucket = bucket_of(ns < 0 ? 0 : (uint64_t)ns);
	uint32_t **power = &h->power[bucket >> BITS];

	if (!*power)
		*power = calloc(HISTOGRAM_WIDTH, sizeof(**power));
	if (!*power)
		return -ENOMEM;
	if (ns < 0)
		ns = 0;
	h->count++;
	h->sum = clock_sum(h->sum, ns);
	if (ns > h->most)
		h->most = ns;
	(*power)[bucket & (HISTOGRAM_WIDTH - 1)]++;
	return 0;
}

int64_t histogram_quantile(const struct histogram *h, double percent)
{
	double wanted = (double)h->count * percent / 100;
	uint64_t seen = 0;

	if (!h->count)
		return 0;
	for (unsigned i = 0; i < BUCKETS - 1; i++) {
		const uint32_t *power = h->power[i >> BITS];
		uint32_t n = power ? power[i & (HISTOGRAM_WIDTH - 1)] : 0;

		seen += n;
		if (n && (double)seen >= wanted) {
			int64_t top = bucket_top(i);

			return top < h->most ? top : h->most;
		}
	}
	return h->most;
}

void histogram_free(struct histogram *h)
{
	for (unsigned i = 0; h && i < HISTOGRAM_POWERS; i++)
		free(h->power[i]);
	free(h);
}
