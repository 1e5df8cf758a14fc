/* SPDX-License-Identifier: MIT */
/*
 * keymap: from a 64-bit key to a pointer. Open addressing; nothing is ever taken out.
 *
 * Key 0 does not exist (no thread and no process has it). Not thread safe.
 */
#ifndef TRACE_BASE_KEYMAP_H
#define TRACE_BASE_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

struct keymap_slot {
	uint64_t key; /* 0: free */
	void *value;
};

struct keymap {
	struct keymap_slot *slots;
	size_t size; /* a power of two, or 0 */
	size_t used;
};

/* The value of `key`, or NULL. */
void *keymap_get(const struct keymap *map, uint64_t key);
/* Adds a key that is not there yet. 0 or -ENOMEM. */
int keymap_add(struct keymap *map, uint64_t key, void *value) __attribute__((warn_unused_result));
void keymap_fini(struct keymap *map); /* the values stay the caller's */

#endif
