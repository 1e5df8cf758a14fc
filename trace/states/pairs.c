/* SPDX-License-Identifier: MIT */
#include "trace/states/pairs.h"

#include "trace/base/array.h"
#include "trace/ovni/event.h"

struct pair *pairs_add(struct pairs *pairs, int64_t a, int64_t b, int64_t ns, int64_t when)
{
	uint32_t *at =
		hash_at(&pairs->index_of, (struct hash_key){.a = (uint64_t)a, .b = (uint64_t)b});
	struct pair *pair;

	if (!at)
		return NULL;
	if (*at == HASH_NONE) {
		pair = ARRAY_ADD(pairs->list, pairs->n);
		if (!pair)
			return NULL;
		*pair = (struct pair){.a = a, .b = b, .most = INT64_MIN};
		*at = (uint32_t)(pair - pairs->list);
	}
	pair = &pairs->list[*at];
	pair->count++;
	pair->sum = clock_sum(pair->sum, ns);
	if (ns > pair->most) {
		pair->most = ns;
		pair->most_at = when;
	}
	return pair;
}

void pairs_free(struct pairs *pairs)
{
	hash_free(&pairs->index_of);
	free(pairs->list);
	*pairs = (struct pairs){.n = 0};
}
