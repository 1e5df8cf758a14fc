/* SPDX-License-Identifier: MIT */
#include "trace/base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define FIRST 64 /* slots; a power of two */

struct hash_slot {
	uint64_t a, b;
	uint32_t c;
	uint32_t index; /* HASH_NONE: the slot is free */
};

static uint64_t seed[2];

static void __attribute__((constructor)) set_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes */

	if (random)
		memcpy(seed, random, sizeof(seed));
}

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* SipHash-2-4 of 8 bytes. */
uint64_t hash_secret(uint64_t value)
{
	const uint64_t last = 8ull << 56; /* the length */
	uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575, seed[1] ^ 0x646f72616e646f6d,
			 seed[0] ^ 0x6c7967656e657261, seed[1] ^ 0x7465646279746573};

	v[3] ^= value;
	sip_round(v);
	sip_round(v);
	v[0] ^= value;
	v[3] ^= last;
	sip_round(v);
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t hash_of(struct hash_key key)
{
	uint64_t h = (key.a ^ seed[0]) * 0x9e3779b97f4a7c15u;

	h = ((h ^ h >> 32) + (key.b ^ seed[1])) * 0xff51afd7ed558ccdu;
	h = ((h ^ h >> 32) + key.c) * 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 32;
}

static struct hash_slot *slot_of(const struct hash *h, struct hash_key key)
{
	size_t mask = h->room - 1, i = hash_of(key) & mask;

	for (;; i = (i + 1) & mask) {
		struct hash_slot *s = &h->slots[i];

		if (s->index == HASH_NONE || (s->a == key.a && s->b == key.b && s->c == key.c))
			return s;
	}
}

static int grow(struct hash *h)
{
	struct hash more = {.room = h->room ? 2 * h->room : FIRST};

	more.slots = reallocarray(NULL, more.room, sizeof(*more.slots));
	if (!more.slots)
		return -1;
	memset(more.slots, 0xff, more.room * sizeof(*more.slots));
	for (size_t i = 0; i < h->room; i++) {
		const struct hash_slot *s = &h->slots[i];

		if (s->index == HASH_NONE)
			continue;
		*slot_of(&more, (struct hash_key){s->a, s->b, s->c}) = *s;
		more.n++;
	}
	free(h->slots);
	*h = more;
	return 0;
}

uint32_t *hash_at(struct hash *h, struct hash_key key)
{
	struct hash_slot *s;

	if (2 * (h->n + 1) > h->room && grow(h))
		return NULL;
	s = slot_of(h, key);
	if (s->index == HASH_NONE) {
		h->n++;
		*s = (struct hash_slot){key.a, key.b, key.c, HASH_NONE};
	}
	return &s->index;
}

uint32_t hash_get(const struct hash *h, struct hash_key key)
{
	return h->room ? slot_of(h, key)->index : HASH_NONE;
}

void hash_free(struct hash *h)
{
	free(h->slots);
	*h = (struct hash){.n = 0};
}

struct hash_key hash_key_of(const void *bytes, size_t size)
{
	struct hash_key key = {.a = 1, .b = 2, .c = (uint32_t)size};

	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		size_t rest = size - at;
		uint64_t word = 0;

		memcpy(&word, (const char *)bytes + at, rest < sizeof(word) ? rest : sizeof(word));
		key.a = hash_secret(key.a ^ word);
		key.b = hash_secret(key.b + word);
	}
	return key;
}
