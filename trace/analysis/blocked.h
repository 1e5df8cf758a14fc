/* SPDX-License-Identifier: MIT */
/*
 * blocked: the sleeps of each thread by reason, system call, descriptor or other object, and waker.
 *
 * In: the stays of thread_times.h during a walk (intervals.h), and if asked for, the file `stacks`;
 * out: rows, then also by the places in the program where the thread slept, and where it was woken.
 * Invariant: the rows of a thread add up to its life less its time on a CPU and waiting for one, in
 * ns; the time in unknown states has rows of its own. A thread has at most BLOCKED_ROWS rows with
 * objects and wakers; the rows of later combinations have neither, so that memory follows threads.
 * Specification: why.md, part B; event-mapping.md "The system call of a sleep".
 */
#ifndef TRACE_ANALYSIS_BLOCKED_H
#define TRACE_ANALYSIS_BLOCKED_H

#include "trace/analysis/thread_times.h"
#include "trace/base/hash.h"
#include "trace/ovni/stack_file.h"
#include "trace/states/sleep_call.h"

#define BLOCKED_ROWS 1024 /* of a thread, with objects and wakers */

/* Beside a tid, 0 (not known) and -2 (an interrupt). */
#define BLOCKED_OPEN INT32_MIN	     /* still asleep when the trace, or the part of it, ends */
#define BLOCKED_MANY (INT32_MIN + 1) /* more than BLOCKED_ROWS */

struct blocked_row {
	uint32_t stream;
	enum time_use
		use;   /* TIME_ASLEEP + reason, TIME_LOST, or with `waits` one of TIME_WAITING */
	int32_t waker; /* tid, or one of those above */
	struct sleep_call call;
	uint32_t place;	      /* of blocked_place(); 0: not known */
	uint32_t waker_place; /* of blocked_waker_place(); the same */
	int64_t begin, end;   /* of the first sleep, for the name of the descriptor */
	struct time_stays stays;
};

struct blocked {
	const struct source *source;
	enum call_machine *machines; /* of each stream */
	struct blocked_row *rows;
	size_t nrows;
	struct blocked_thread *threads; /* of each stream; private */
	struct hash row_at;
	bool wakers; /* rows also differ by waker, and by objects that are no descriptors */
	bool waits;  /* rows also of waits for a CPU; set after blocked_init() */
	bool no_memory;
	struct stack_table stacks; /* empty without blocked_add_places() */
	char **places;		   /* texts; the first is "" */
	size_t nplaces;
	uint32_t *place_of, *waker_place_of; /* of each line of `stacks` */
};

/* Returns 0, or -ENOMEM after one message; blocked_fini() must follow in both cases. */
int blocked_init(struct blocked *blocked, const struct source *source, bool wakers)
	__attribute__((warn_unused_result));

/* Rows also differ by the place in the program that slept, of sleeps with frames of user code.
 * Before the walk. 0, or -errno after one message. */
int blocked_add_places(struct blocked *blocked) __attribute__((warn_unused_result));

/* A stay ends, at the event `ev` of the thread; NULL: at the end of the trace. Stays in which the
 * thread ran or waited for a CPU are left out. */
void blocked_add(struct blocked *blocked, const struct intervals *intervals, uint32_t stream,
		 enum time_use use, int64_t begin, int64_t end, const struct event *ev);

/* After the walk. */
void blocked_finish(struct blocked *blocked, const struct intervals *intervals);

/* "read(3 = /data)", "" if the call is not known. For free(); NULL without memory. */
char *blocked_call(const struct blocked *blocked, const struct blocked_row *row);

/* The place of a stack with this number (0: none), in `places`; 0: not known. */
uint32_t blocked_place_of(const struct blocked *blocked, uint32_t stack);

/* "take (pool.c:40) <- worker", "" if it is not known. Lives as long as `blocked`. */
const char *blocked_place(const struct blocked *blocked, const struct blocked_row *row);

/* The same of the waker; of an interrupt its innermost functions of the kernel. With `wakers`. */
const char *blocked_waker_place(const struct blocked *blocked, const struct blocked_row *row);

void blocked_fini(struct blocked *blocked);

#endif
