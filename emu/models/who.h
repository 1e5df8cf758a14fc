/* SPDX-License-Identifier: MIT */
/*
 * who: threads that appear in payloads, as dense ids with names.
 *
 * In: a loom and a tid, millions of times; out: a small number, the same each time, given at
 * first sight. A tid is unique in its loom only. Memory follows the tids seen.
 * Part of the bpf model.
 */
#ifndef EMU_MODELS_WHO_H
#define EMU_MODELS_WHO_H

#include "emu/system/system.h"

#define WHO_TID_MAX (1 << 22) /* Linux has no higher ones */
#define WHO_NONE    UINT32_MAX

struct who {
	const struct loom *loom;
	struct thread *thread; /* NULL if it has no stream */
	int32_t tid;
};

struct who_table { /* of one loom: tids by the numbers of their entries in the list */
	struct who_entry {
		int32_t tid; /* 0: free */
		uint32_t number;
	} * entries;	  /* open addressing, at most half full */
	uint32_t n, room; /* room is a power of two */
};

struct whos {
	struct who_table *tables; /* by loom */
	uint32_t ntables;
	const struct loom *looms;
	struct who *list;
	uint32_t n, room;
};

int whos_init(struct whos *whos, const struct system *sys) __attribute__((warn_unused_result));
void whos_fini(struct whos *whos);

/* The number of a thread, from 0; WHO_NONE if there can be no such tid. 0 or -ENOMEM. */
int who_is(struct whos *whos, const struct loom *loom, int32_t tid, uint32_t *number)
	__attribute__((warn_unused_result));

#endif
