/* SPDX-License-Identifier: MIT */
/*
 * details: what a recording with --why=irq, lock or stack knows beside the runs and sleeps of a
 * page.
 *
 * In: the events that end a sleep, and those that have the interrupts of a run; out: blocks of
 * entries {thread, kind, clock, value}, and the texts of stacks. Nothing is written, and nothing is
 * looked up, for a trace without them. Specification: view.md 8.
 */
#ifndef TOOLS_VIEW_DETAILS_H
#define TOOLS_VIEW_DETAILS_H

#include "tools/view/actors.h"
#include "tools/view/columns.h"
#include "trace/base/hash.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/trace.h"

enum detail_kind {
	DETAIL_IRQ,   /* of the run that ends at the clock: ns that interrupts took */
	DETAIL_OWNER, /* of the sleep that begins at the clock: number of the owner of its lock */
	DETAIL_STACK, /* the same: its index in `texts` */
};

struct details {
	struct columns columns;
	struct page_file *page;
	int64_t at; /* clock of the entry before */
	uint64_t n; /* entries */
	struct stack_table stacks;
	struct hash text_of; /* indices in `texts`, by the first lines of a stack and its waker's */
	char **texts;	     /* of the stacks of entries */
	size_t ntexts;
	bool damaged; /* the stacks cannot be read, after a message */
};

/* Reads the stacks of the trace. Returns 0, or -ENOMEM after one message; details_fini() must
 * follow in both cases. */
int details_init(struct details *details, const struct source *source, struct page_file *page)
	__attribute__((warn_unused_result));

/* Writes the owner and the stack of the sleep, or of the wait for a CPU, that `ev` of `stream`
 * ends. It began `at` ns after the first event. The same for the interrupts of a run that ended
 * then. Both return 0, or -ENOMEM after one message. */
int details_end_off_cpu(struct details *details, struct actors *actors, uint32_t stream,
			const struct event *ev, int64_t at) __attribute__((warn_unused_result));
int details_end_run(struct details *details, uint32_t stream, int64_t irq_ns, int64_t at)
	__attribute__((warn_unused_result));

/* Adds the last block. Returns 0, or -ENOMEM after one message. */
int details_flush(struct details *details) __attribute__((warn_unused_result));
void details_fini(struct details *details);

#endif
