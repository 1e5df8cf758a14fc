/* SPDX-License-Identifier: MIT */
#include "trace/states/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "trace/ovni/event.h"

static struct pair *place_of(struct pair *places, size_t room, int64_t a, int64_t b)
{
	uint64_t hash = ((uint64_t)a * 0x9e3779b97f4a7c15u ^ (uint64_t)b) * 0xff51afd7ed558ccdu;
	size_t i = (size_t)(hash >> 20) & (room - 1);

	while (places[i].count && (places[i].a != a || places[i].b != b))
		i = (i + 1) & (room - 1);
	return &places[i];
}

static int grow(struct pairs *pairs)
{
	size_t room = pairs->room ? 2 * pairs->room : 64;
	struct pair *places = calloc(room, sizeof(*places));

	if (!places)
		return -1;
	for (size_t i = 0; i < pairs->room; i++)
		if (pairs->places[i].count)
			*place_of(places, room, pairs->places[i].a, pairs->places[i].b) =
				pairs->places[i];
	free(pairs->places);
	pairs->places = places;
	pairs->room = room;
	return 0;
}

struct pair *pairs_add(struct pairs *pairs, int64_t a, int64_t b, int64_t ns, int64_t at)
{
	struct pair *pair;

	if (2 * pairs->n >= pairs->room && grow(pairs) < 0)
		return NULL;
	pair = place_of(pairs->places, pairs->room, a, b);
	if (!pair->count) {
		*pair = (struct pair){.a = a, .b = b, .most = INT64_MIN};
		pairs->n++;
	}
	pair->count++;
	pair->sum = clock_sum(pair->sum, ns);
	if (ns > pair->most) {
		pair->most = ns;
		pair->most_at = at;
	}
	return pair;
}

void pairs_free(struct pairs *pairs)
{
	free(pairs->places);
	memset(pairs, 0, sizeof(*pairs));
}
