/* SPDX-License-Identifier: MIT */
#include "trace/loom/stats/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

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
	free(t->last);
	memset(t, 0, sizeof(*t));
}

int loom_tally_add(struct loom_tally *t, const struct loom_record *r)
{
	int err = loom_counters_add(t->counters, r);

	t->records++;
	t->of_kind[r->event_kind]++;
	t->last_epoch = r->epoch_id;
	t->last_invocation = r->invocation_id;
	if (!err || err == -ENOMEM)
		return err;
	/* a stall may follow the end of its invocation */
	if (err == -ERANGE || r->event_kind == LOOM_NODE_FIRE || r->event_kind == LOOM_ROUTE_USE ||
	    (loom_is_of_node(r->event_kind) && !t->of_kind[LOOM_INVOCATION_DONE]))
		t->refused++;
	return 0;
}

int loom_tally_finish(struct loom_tally *t)
{
	const struct loom_invocation *list;
	int err = loom_counters_finish(t->counters);
	size_t n;

	if (err)
		return err;
	list = loom_counters_invocations(t->counters, &n);
	for (size_t i = 0; i < n; i++) {
		const struct loom_invocation **last;

		if (list[i].epoch != t->last_epoch || list[i].id != t->last_invocation)
			continue;
		last = ARRAY_ADD(t->last, t->nlast);
		if (!last)
			return -ENOMEM;
		*last = &list[i];
	}
	return 0;
}

const struct loom_invocation *loom_tally_last(const struct loom_tally *t)
{
	return t->nlast == 1 ? t->last[0] : NULL;
}

const struct loom_row *loom_tally_last_row(const struct loom_tally *t, uint32_t node)
{
	const struct loom_row *found = NULL;

	for (size_t i = 0; i < t->nlast; i++) {
		const struct loom_row *row =
			loom_counters_row(t->counters, t->last[i], false, node);

		if (row && found)
			return NULL;
		if (row)
			found = row;
	}
	return found;
}
