/* SPDX-License-Identifier: MIT */
#include "tools/report/histogram.h"

#include "trace/ovni/event.h"

#define BITS 5 /* 32 buckets for each power of two */

static unsigned bucket_of(uint64_t v)
{
	unsigned power, bucket;

	if (v < 1u << BITS)
		return (unsigned)v;
	power = 63 - (unsigned)__builtin_clzll(v);
	bucket = ((power - BITS + 1) << BITS) +
		 (unsigned)((v >> (power - BITS)) & ((1u << BITS) - 1));
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
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

void histogram_add(struct histogram *h, int64_t ns)
{
	if (ns < 0)
		ns = 0;
	h->count++;
	h->sum = clock_sum(h->sum, ns);
	if (ns > h->most)
		h->most = ns;
	h->bucket[bucket_of((uint64_t)ns)]++;
}

int64_t histogram_quantile(const struct histogram *h, double percent)
{
	double wanted = (double)h->count * percent / 100;
	uint64_t seen = 0;

	if (!h->count)
		return 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (h->bucket[i] && (double)seen >= wanted) {
			int64_t top = bucket_top(i);

			return top < h->most ? top : h->most;
		}
	}
	return h->most;
}
