/* SPDX-License-Identifier: MIT */
#include "trace/loom/stats/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct loom_tally_key {
	uint64_t id;
	uint32_t epoch, core;
	uint32_t index; /* of the invocation in the counters */
};

int loom_tally_init(struct loom_tally *t, enum loom_style style)
{
	memset(t, 0, sizeof(*t));
	t->style = style;
	t->counters = loom_counters_new(style, false);
	return t->counters ? 0 : -ENOMEM;
}

void loom_tally_fini(struct loom_tally *t)
{
	loom_counters_free(t->counters);
	free(t->sorted);
	memset(t, 0, sizeof(*t));
}

int loom_tally_add(struct loom_tally *t, const struct loom_record *r)
{
	int err = loom_counters_add(t->counters, r);

	t->records++;
	t->of_kind[r->event_kind]++;
	t->last_epoch = r->epoch_id;
	t->last_invocation = r->invocation_id;
	if (err)
		goto out;
	return 0;
out:
	if (err == -ENOMEM)
		return err;
	/* a stall may follow the end of its invocation */
	if (err == -ERANGE || r->event_kind == LOOM_NODE_FIRE || r->event_kind == LOOM_ROUTE_USE ||
	    (loom_is_of_node(r->event_kind) && !t->of_kind[LOOM_INVOCATION_DONE]))
		t->refused++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct loom_tally_key *x = a, *y = b;

	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->core < y->core ? -1 : x->core > y->core;
}

int loom_tally_finish(struct loom_tally *t)
{
	const struct loom_invocation *list;
	int err = loom_counters_finish(t->counters);

	if (err)
		return err;
	list = loom_counters_invocations(t->counters, &t->nsorted);
	t->sorted = calloc(t->nsorted + 1, sizeof(*t->sorted));
	if (!t->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < t->nsorted; i++)
		t->sorted[i] = (struct loom_tally_key){list[i].id, list[i].epoch, list[i].core,
						       (uint32_t)i};
	qsort(t->sorted, t->nsorted, sizeof(*t->sorted), compare);
	return 0;
}

const struct loom_invocation *loom_tally_invocation(const struct loom_tally *t, uint16_t core,
						    uint32_t epoch, uint64_t id)
{
	struct loom_tally_key key = {.id = id, .epoch = epoch, .core = core};
	const struct loom_tally_key *found =
		bsearch(&key, t->sorted, t->nsorted, sizeof(key), compare);
	size_t n;

	return found ? &loom_counters_invocations(t->counters, &n)[found->index] : NULL;
}

const struct loom_row *loom_tally_row(const struct loom_tally *t, const struct loom_invocation *v,
				      bool whole_core, uint32_t node)
{
	size_t n, ninvocations, low = 0, high;
	const struct loom_row *rows = loom_counters_rows(t->counters, &n);
	uint32_t index;

	if (!v)
		return NULL;
	index = (uint32_t)(v - loom_counters_invocations(t->counters, &ninvocations));
	if (whole_core)
		node = 0;
	high = n;
	while (low < high) {
		size_t at = low + (high - low) / 2;
		const struct loom_row *r = &rows[at];
		bool before = r->invocation < index;

		if (r->invocation == index)
			before = r->whole_core != whole_core ? r->whole_core : r->node < node;
		if (before)
			low = at + 1;
		else
			high = at;
	}
	if (low < n && rows[low].invocation == index && rows[low].whole_core == whole_core &&
	    rows[low].node == node)
		return &rows[low];
	return NULL;
}

/* First index of the last invocation of the trace in `sorted`; *count is the number of its cores.
 */
static size_t last_ones(const struct loom_tally *t, size_t *count)
{
	struct loom_tally_key first = {.id = t->last_invocation, .epoch = t->last_epoch};
	size_t low = 0, high = t->nsorted;

	while (low < high) {
		size_t at = low + (high - low) / 2;

		if (compare(&t->sorted[at], &first) < 0)
			low = at + 1;
		else
			high = at;
	}
	*count = 0;
	while (low + *count < t->nsorted && t->sorted[low + *count].epoch == t->last_epoch &&
	       t->sorted[low + *count].id == t->last_invocation)
		++*count;
	return low;
}

const struct loom_invocation *loom_tally_last(const struct loom_tally *t)
{
	size_t count, first = last_ones(t, &count), n;

	if (count != 1)
		return NULL;
	return &loom_counters_invocations(t->counters, &n)[t->sorted[first].index];
}

const struct loom_row *loom_tally_last_row(const struct loom_tally *t, uint32_t node)
{
	const struct loom_row *found = NULL;
	size_t count, first = last_ones(t, &count), n;

	for (size_t i = first; i < first + count; i++) {
		const struct loom_invocation *v =
			&loom_counters_invocations(t->counters, &n)[t->sorted[i].index];
		const struct loom_row *row = loom_tally_row(t, v, false, node);

		if (row && found)
			return NULL;
		if (row)
			found = row;
	}
	return found;
}
