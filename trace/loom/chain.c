/* SPDX-License-Identifier: MIT */
#include "trace/loom/chain.h"

#include <errno.h>

int loom_chain_record(struct loom_chain *c, struct loom_record *r)
{
	bool falls = c->any && r->cycle < c->raw;
	bool begins = falls && !c->off &&
		      (r->epoch_id != c->epoch_id || r->invocation_id != c->invocation_id);
	uint64_t shift = c->shift, cycle;

	if (begins && c->has_done && c->done >= c->last)
		shift = c->done;
	else if (begins && __builtin_add_overflow(c->last, 1, &shift))
		return -EOVERFLOW;
	if (__builtin_add_overflow(r->cycle, shift, &cycle))
		return -EOVERFLOW;
	if (begins) {
		c->parts++;
		c->shift = shift;
		c->has_done = false;
	}
	c->fell = falls && !begins;
	c->raw = r->cycle;
	c->epoch_id = r->epoch_id;
	c->invocation_id = r->invocation_id;
	c->any = true;
	c->last = r->cycle = cycle;
	if (r->event_kind == LOOM_INVOCATION_DONE) {
		c->done = cycle;
		c->has_done = true;
	}
	return begins;
}

int loom_chain_step(struct loom_chain *c, struct loom_record *r)
{
	uint64_t cycle = r->cycle;
	int begins = loom_chain_record(c, r);

	if (begins < 0)
		return begins;
	if (!c->fell)
		return 0;
	r->cycle = cycle;
	return -ERANGE;
}
