/* SPDX-License-Identifier: MIT */
/*
 * system_load: what the streams say of themselves, between system_add() and system_finish().
 *
 * In: the metadata of one stream after the other (system_add.c); out: looms, processes, threads and
 * CPUs (system.c), after which all of it is freed. Invariant: looms and facts are in the order
 * of discovery, since that order breaks ties.
 */
#ifndef EMU_SYSTEM_SYSTEM_LOAD_H
#define EMU_SYSTEM_SYSTEM_LOAD_H

#include "emu/system/system.h"

struct cpu_pair { /* one element of ovni.loom_cpus */
	int32_t phyid, index;
	uint32_t found;
};

struct stream_facts {	       /* what one stream says about its thread, process and loom */
	uint32_t stream, loom; /* loom: order of discovery */
	int32_t pid, tid;
	int32_t app_id, rank, nranks; /* 0, -1, 0 if not given */
	int32_t shown_rank;	      /* the same, or what only the recorder tells */
	char *name;
};

struct loom_entry {
	const char *name;
	uint32_t found;
};

struct system_load {
	struct stream_facts *facts;
	size_t nfacts;
	struct loom *looms; /* in order of discovery */
	uint32_t nlooms, room;
	void *by_name;	    /* tree of struct loom_entry */
	const char **paths; /* of the streams, the caller's */
	char *lib;	    /* that wrote the first stream; NULL: none yet */
	bool mixed_libs;    /* some stream is of another one, which has been told */
	uint32_t last_loom;
};

int system_compare_entries(const void *a, const void *b); /* of the tree by_name */

#endif
