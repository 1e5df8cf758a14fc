/* SPDX-License-Identifier: MIT */
/*
 * hash: from keys of up to three words to indices into an array of the caller.
 *
 * Open addressing, at most half full; entries are never removed. The hash function is seeded by
 * the kernel at each start of the program (AT_RANDOM), because keys come from untrusted files; so
 * nothing may depend on the order of the slots.
 */
#ifndef TRACE_BASE_HASH_H
#define TRACE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_NONE UINT32_MAX

struct hash_key {
	uint64_t a, b;
	uint32_t c;
};

struct hash {
	struct hash_slot *slots;
	size_t n, room; /* room is a power of two; all zero: empty */
};

/* The index of a key, to read or to set: HASH_NONE if the key is new, and as long as the caller
 * sets nothing else. Valid until the next call. NULL without memory. */
uint32_t *hash_at(struct hash *h, struct hash_key key);
/* The index of a key, or HASH_NONE. */
uint32_t hash_get(const struct hash *h, struct hash_key key);
void hash_free(struct hash *h);

/* A key for a byte string: its hash of 128 bits, with a secret of this run, so that an input cannot
 * be made to collide. */
struct hash_key hash_key_of(const void *bytes, size_t size);

/* The same number for the same value, in this run of the program; it does not show the value. */
uint64_t hash_secret(uint64_t value);

#endif
