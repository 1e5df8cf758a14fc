/* SPDX-License-Identifier: MIT */
/*
 * style: the duration of a record of a node.
 *
 * In: a record and its style; out: cycles. The style is not in the trace file, but in the
 * statistics
 * (`record_style`), or an option of the user.
 * Specification: loom.md 4.3.
 */
#ifndef TRACE_LOOM_STYLE_H
#define TRACE_LOOM_STYLE_H

#include "trace/loom/loom_record.h"

enum loom_style {
	LOOM_STYLE_CYCLE, /* its own cycle */
	LOOM_STYLE_EDGE,  /* until the next record of the node, or the end of the invocation */
	LOOM_STYLE_SPAN,  /* kinds 0 to 2: for arg0 + 2^32 * arg1 cycles; ROUTE_USE: its own */
	LOOM_STYLES
};

static const char *const loom_style_names[LOOM_STYLES]
	__attribute__((unused)) = {"cycle", "edge", "span"};

/* Number of cycles of a record of kind 0 to 2 in style `span`. */
static inline uint64_t loom_record_span(const struct loom_record *r)
{
	return r->event_kind <= LOOM_NODE_STALL_OUT ? (uint64_t)r->arg1 << 32 | r->arg0 : 1;
}

static inline void loom_record_set_span(struct loom_record *r, uint64_t cycles)
{
	r->arg0 = (uint32_t)cycles;
	r->arg1 = (uint32_t)(cycles >> 32);
}

#endif
