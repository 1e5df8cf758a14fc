/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "trace/pallas/write/series.h"

int pallas_series_grow(struct series *s, size_t *held)
{
	uint32_t room = s->room ? 2 * s->room : 2;
	uint64_t *v = realloc(s->v, room * sizeof(*v));

	if (!v)
		return -ENOMEM;
	*held += (room - s->room) * sizeof(*v);
	s->v = v;
	s->room = room;
	return 0;
}

int pallas_series_flush(struct series *s, enum pallas_vector_kind kind, struct chunk_writer *w,
			uint64_t *offset, size_t *held)
{
	uint64_t min = UINT64_MAX, max = 0, sum = 0, place = PALLAS_INVALID;
	int err = 0;

	if (s->n == 0)
		return 0;
	if (offset && *offset != PALLAS_INVALID)
		place = *offset;
	else
		err = chunk_writer_put(w, s->v, s->n, &place);
	if (err)
		return err;
	if (offset)
		*offset = place;
	bytes_u64(&s->subs, s->n);
	if (kind == VECTOR_DURATIONS) {
		for (uint32_t i = 0; i < s->n; i++) {
			min = s->v[i] < min ? s->v[i] : min;
			max = s->v[i] > max ? s->v[i] : max;
			sum += s->v[i];
		}
		bytes_u64(&s->subs, min);
		bytes_u64(&s->subs, max);
		bytes_u64(&s->subs, sum / s->n);
		s->min = s->nsubs == 0 || min < s->min ? min : s->min;
		s->max = max > s->max ? max : s->max;
		s->sum += sum;
	} else {
		bytes_u64(&s->subs, s->v[0]);
		bytes_u64(&s->subs, s->v[s->n - 1]);
	}
	bytes_u64(&s->subs, place);
	s->nsubs++;
	s->total += s->n;
	s->n = 0;
	*held -= s->room * sizeof(*s->v);
	free(s->v);
	s->v = NULL;
	s->room = 0;
	return s->subs.failed ? -ENOMEM : 0;
}

int pallas_series_describe(const struct series *s, enum pallas_vector_kind kind, struct bytes *out)
{
	bytes_u64(out, s->total);
	bytes_u64(out, s->nsubs);
	if (kind == VECTOR_DURATIONS) {
		bytes_u64(out, s->min);
		bytes_u64(out, s->max);
		bytes_u64(out, s->sum / s->total);
	}
	bytes_put(out, s->subs.data, s->subs.size);
	return out->failed ? -ENOMEM : 0;
}

void pallas_series_free(struct series *s, size_t *held)
{
	*held -= s->room * sizeof(*s->v);
	free(s->v);
	bytes_free(&s->subs);
	*s = (struct series){0};
}
