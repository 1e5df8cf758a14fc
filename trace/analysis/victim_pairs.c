/* SPDX-License-Identifier: MIT */
/* victim_pairs: see victim_pairs.h. */
#include "trace/analysis/victim_pairs.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/base/array.h"

#define ROOM_FIRST 4 /* slots of a victim; a power of two */
#define MAIN_SHARE 8  /* a culprit is a main one if it has at least 1/8 of the time */

static int64_t culprit_of(uint32_t key)
{
	if (key > KEY_TIDS)
		return CULPRIT_TID((int32_t)(key - KEY_TIDS));
	return key < KEY_FIXED ? key : (int64_t)key - KEY_TIDS;
}

static bool is_thread(uint32_t key)
{
	return key < KEY_FIXED || key > KEY_TIDS;
}

/* The slot of a culprit in the table of its victim, or the free one for it. The table is small, so
 * that numbers chosen by an attacker cost at most one walk over it. */
static inline uint32_t slot_of(const struct victim *v, uint32_t key)
{
	uint32_t mask = v->room - 1;
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & mask;

	while (v->slots[i].key != key && v->slots[i].key != KEY_FREE)
		i = (i + 1) & mask;
	return i;
}

static void clear_slots(struct victim *v)
{
	for (uint32_t i = 0; i < v->room; i++)
		v->slots[i] = (struct slot){.key = KEY_FREE};
	v->npairs = 0;
}

/* Whether one more pair fits: the table is at most 7/8 full. */
static inline bool has_room(const struct victim *v)
{
	return 8 * (v->npairs + 1) <= 7 * v->room;
}

/* Puts a pair into its slot, free or not yet; there must be room. Returns the index of the slot. */
static inline uint32_t put(struct victim *v, uint32_t key)
{
	uint32_t at = slot_of(v, key);

	if (v->slots[at].key == key)
		return at;
	v->slots[at] = (struct slot){.key = key};
	if (v->details)
		v->details[at] = (struct detail){.max_at = INTERVAL_UNKNOWN};
	v->npairs++;
	return at;
}

/* Doubles the table of a victim. */
static int grow(struct culprits *c, struct victim *v)
{
	struct victim old = *v;

	v->room = old.room ? 2 * old.room : ROOM_FIRST;
	v->slots = reallocarray(NULL, v->room, sizeof(*v->slots));
	v->details = c->detailed ? reallocarray(NULL, v->room, sizeof(*v->details)) : NULL;
	if (!v->slots || (c->detailed && !v->details)) {
		free(v->slots);
		free(v->details);
		*v = old;
		return -ENOMEM;
	}
	clear_slots(v);
	for (uint32_t i = 0; i < old.room; i++) {
		uint32_t to;

		if (old.slots[i].key == KEY_FREE)
			continue;
		to = put(v, old.slots[i].key);
		v->slots[to] = old.slots[i];
		if (c->detailed)
			v->details[to] = old.details[i];
	}
	free(old.slots);
	free(old.details);
	return 0;
}

/* The charge of one wait is complete. */
static void close_charge(struct detail *detail)
{
	if (detail->now_ns > detail->max) {
		detail->max = detail->now_ns;
		detail->max_at = detail->now_at;
	}
}

/* A time that at least a quarter of the pairs do not exceed: the mean, or a multiple of it. */
static int64_t small_time(const struct victim *v)
{
	uint32_t threads = 0, small;
	int64_t sum = 0, limit;

	for (uint32_t i = 0; i < v->room; i++) {
		if (!is_thread(v->slots[i].key))
			continue;
		threads++;
		sum = clock_sum(sum, v->slots[i].ns);
	}
	for (limit = threads ? sum / threads : 0;; limit = clock_sum(limit, limit)) {
		small = 0;
		for (uint32_t i = 0; i < v->room; i++)
			small += is_thread(v->slots[i].key) && v->slots[i].ns <= limit;
		if (small >= threads / 4)
			return limit;
	}
}

/* Adds a pair to the sum of its class, when a victim has too many of them. */
static void sum_pair(struct culprits *c, uint32_t victim, const struct slot *slot)
{
	struct victim_sums *sums = &c->sums[victim];
	int64_t culprit = culprit_of(slot->key);
	unsigned class = 0;

	if (culprit >= 0)
		class = victim_class(c, victim, slot->key);
	else if (c->parties)
		class = PARTY_UNKNOWN;
	else if (c->class_of)
		class = c->class_of(c->class_arg, victim, culprit);
	sums->ns[class] = clock_sum(sums->ns[class], slot->ns);
	sums->first[class] += slot->first;
}

/* Copies the pairs of a victim, so that its table can be filled again. Returns their number. */
static int64_t copy_slots(struct culprits *c, const struct victim *v)
{
	uint32_t n = 0;

	if (v->room > c->scratch_room) {
		free(c->scratch);
		free(c->scratch_details);
		c->scratch_room = v->room;
		c->scratch = reallocarray(NULL, v->room, sizeof(*c->scratch));
		c->scratch_details = reallocarray(NULL, v->room, sizeof(*c->scratch_details));
	}
	if (!c->scratch || !c->scratch_details)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->room; i++) {
		if (v->slots[i].key == KEY_FREE)
			continue;
		c->scratch[n] = v->slots[i];
		if (v->details)
			c->scratch_details[n] = v->details[i];
		n++;
	}
	return n;
}

/* Whether a pair of a victim has a share of the time that it waited since the charges began. */
static bool has_main_culprit(const struct victim *v, int64_t *most)
{
	*most = 0;
	for (uint32_t i = 0; i < v->room; i++)
		if (is_thread(v->slots[i].key) && v->slots[i].ns > *most)
			*most = v->slots[i].ns;
	return *most >= clock_distance(v->charged_from, v->charged) / MAIN_SHARE;
}

/*
 * Sums up the pairs of a victim that have the least time. If no culprit has a share, all of them:
 * then its waits are charged to the others until they have doubled.
 */
static int sum_up(struct culprits *c, uint32_t victim)
{
	struct victim *v = &c->threads[victim];
	int64_t limit, n = copy_slots(c, v);

	if (n < 0)
		return (int)n;
	if (has_main_culprit(v, &limit))
		limit = small_time(v);
	else
		v->charged_from = clock_sum(v->charged, v->charged);
	clear_slots(v);
	for (int64_t i = 0; i < n; i++) {
		const struct slot *slot = &c->scratch[i];
		uint32_t kept;

		if (is_thread(slot->key) && slot->ns <= limit)
			continue;
		kept = put(v, slot->key);
		v->slots[kept] = *slot;
		if (v->details)
			v->details[kept] = c->scratch_details[i];
	}
	for (int64_t i = 0; i < n; i++) {
		const struct slot *slot = &c->scratch[i];

		if (is_thread(slot->key) && slot->ns <= limit)
			sum_pair(c, victim, slot);
	}
	v->missing = clock_sum(v->missing, limit);
	return 0;
}

/* The index of the slot of a culprit, a new one if there is none; NO_SLOT without memory. */
static inline uint32_t pair_of(struct culprits *c, uint32_t victim, uint32_t key)
{
	struct victim *v = &c->threads[victim];
	uint32_t at;

	if (v->room) {
		at = slot_of(v, key);
		if (v->slots[at].key == key)
			return at;
	}
	if (v->npairs >= c->most && sum_up(c, victim))
		return NO_SLOT;
	return has_room(v) || !grow(c, v) ? put(v, key) : NO_SLOT;
}

int victim_charge(struct culprits *c, uint32_t victim, uint32_t key, int64_t ns)
{
	struct victim *v = &c->threads[victim];
	struct detail *detail;
	uint32_t at;

	if (ns <= 0)
		return 0;
	at = pair_of(c, victim, key);
	if (at == NO_SLOT)
		return -ENOMEM;
	v->slots[at].ns = clock_sum(v->slots[at].ns, ns);
	v->charged = clock_sum(v->charged, ns);
	if (!v->details)
		return 0;
	detail = &v->details[at];
	if (detail->wait != v->wait) {
		close_charge(detail);
		detail->wait = v->wait;
		detail->waits++;
		detail->now_ns = 0;
		detail->now_at = v->begin;
	}
	detail->now_ns = clock_sum(detail->now_ns, ns);
	return 0;
}

int victim_count_first(struct culprits *c, uint32_t victim, uint32_t key)
{
	uint32_t at;

	if (key_is_stream(key) && victim_summed(&c->threads[victim])) {
		c->sums[victim].first[victim_class(c, victim, key)]++;
		return 0;
	}
	at = pair_of(c, victim, key);
	if (at == NO_SLOT)
		return -ENOMEM;
	c->threads[victim].slots[at].first++;
	return 0;
}

int victims_list(struct culprits *c)
{
	size_t nstreams = c->source->trace.nstreams, n = 0;

	for (size_t i = 0; i < nstreams; i++)
		n += c->threads[i].npairs + CULPRIT_CLASSES;
	c->pairs = reallocarray(NULL, n + 1, sizeof(*c->pairs));
	if (!c->pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < nstreams; i++) {
		struct victim *v = &c->threads[i];

		for (uint32_t at = 0; at < v->room; at++) {
			struct slot *slot = &v->slots[at];
			struct detail none = {.max_at = INTERVAL_UNKNOWN}, *detail = &none;

			if (slot->key == KEY_FREE)
				continue;
			if (v->details)
				detail = &v->details[at];
			close_charge(detail);
			c->pairs[c->npairs++] = (struct culprit_pair){
				i,	     slot->first,    detail->waits,	   slot->ns,
				detail->max, detail->max_at, culprit_of(slot->key)};
		}
		for (unsigned class = 0; class < CULPRIT_CLASSES; class ++) {
			const struct victim_sums *sums = &c->sums[i];

			if (sums->ns[class] || sums->first[class])
				c->pairs[c->npairs++] = (struct culprit_pair){
					.victim = i,
					.first = sums->first[class],
					.ns = sums->ns[class],
					.max_at = INTERVAL_UNKNOWN,
					.culprit = CULPRIT_OTHERS - (int64_t) class};
		}
		free(v->slots);
		free(v->details);
		v->slots = NULL;
		v->details = NULL;
		v->room = 0;
	}
	return 0;
}
