/* SPDX-License-Identifier: MIT */
/* record_merge: merges sources of records (see record_merge.h). */
#include "tools/loom/export/record_merge.h"

#include <errno.h>
#include <stdlib.h>

struct head {
	struct loom_record record;
	size_t source;
};

struct record_merge {
	char *sources;
	size_t size;
	loom_next_fn next;
	struct head *heads; /* a heap */
	size_t n;
	bool taken; /* the caller has the record of the root */
};

static bool before(const struct head *a, const struct head *b)
{
	if (a->record.cycle != b->record.cycle)
		return a->record.cycle < b->record.cycle;
	return a->source < b->source;
}

static void sink(struct record_merge *m, size_t i)
{
	struct head moving = m->heads[i];

	while (2 * i + 1 < m->n) {
		size_t child = 2 * i + 1;

		if (child + 1 < m->n && before(&m->heads[child + 1], &m->heads[child]))
			child++;
		if (!before(&m->heads[child], &moving))
			break;
		m->heads[i] = m->heads[child];
		i = child;
	}
	m->heads[i] = moving;
}

struct record_merge *record_merge_new(void *sources, size_t n, size_t size, loom_next_fn next,
				      int *err)
{
	struct record_merge *m = calloc(1, sizeof(*m));

	*err = -ENOMEM;
	if (!m)
		return NULL;
	*m = (struct record_merge){.sources = sources, .size = size, .next = next};
	m->heads = calloc(n + 1, sizeof(*m->heads));
	for (size_t i = 0; m->heads && i < n; i++) {
		int got = next(m->sources + i * size, &m->heads[m->n].record);

		if (got < 0) {
			*err = got;
			record_merge_free(m);
			return NULL;
		}
		m->heads[m->n].source = i;
		m->n += got > 0;
	}
	if (!m->heads) {
		record_merge_free(m);
		return NULL;
	}
	for (size_t i = m->n / 2; i-- > 0;)
		sink(m, i);
	*err = 0;
	return m;
}

void record_merge_free(struct record_merge *m)
{
	if (!m)
		return;
	free(m->heads);
	free(m);
}

int record_merge_next(struct record_merge *m, struct loom_record *record, void **source)
{
	if (m->taken) {
		int got = m->next(m->sources + m->heads[0].source * m->size, &m->heads[0].record);

		if (got < 0)
			return got;
		if (!got)
			m->heads[0] = m->heads[--m->n];
		if (m->n)
			sink(m, 0);
		m->taken = false;
	}
	if (!m->n)
		return 0;
	*record = m->heads[0].record;
	*source = m->sources + m->heads[0].source * m->size;
	m->taken = true;
	return 1;
}
