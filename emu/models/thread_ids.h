/* SPDX-License-Identifier: MIT */
/*
 * thread_ids: dense numbers for the threads in payloads.
 *
 * In: a loom and a tid, millions of times; out: a small number, from 0 in the order of their first
 * use. Invariants: a tid is unique in its loom only; memory follows the number of different tids.
 * Part of the bpf model.
 */
#ifndef EMU_MODELS_THREAD_IDS_H
#define EMU_MODELS_THREAD_IDS_H

#include "emu/system/system.h"

#define TID_MAX	       (1 << 22) /* the maximum of Linux */
#define THREAD_ID_NONE UINT32_MAX

struct known_thread {
	const struct loom *loom;
	struct thread *thread; /* NULL if it has no stream */
	int32_t tid;
};

struct thread_ids_table { /* of one loom: from the tid to the index in the list */
	struct thread_ids_entry {
		int32_t tid; /* 0: free */
		uint32_t number;
	} * entries;	  /* open addressing, at most half full */
	uint32_t n, room; /* room: a power of two */
};

struct thread_ids {
	struct thread_ids_table *tables; /* by loom */
	uint32_t ntables;
	const struct loom *looms;
	struct known_thread *list;
	uint32_t n, room;
};

int thread_ids_init(struct thread_ids *ids, const struct system *sys)
	__attribute__((warn_unused_result));
void thread_ids_fini(struct thread_ids *ids);

/*
 * Stores the number of a thread in *number, or THREAD_ID_NONE for an invalid tid. Returns 0 or
 * -ENOMEM.
 */
int thread_ids_get(struct thread_ids *ids, const struct loom *loom, int32_t tid, uint32_t *number)
	__attribute__((warn_unused_result));

#endif
