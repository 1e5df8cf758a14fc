/* SPDX-License-Identifier: MIT */
/* merge: see main.h. A binary heap of the rings, by the clock of the record at their head. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/kernel/merge.h"
#include "trace/base/log.h"

#define GIVE_BACK_EVERY 4096 /* records; a long release must not keep the producers out */

struct head {
	uint64_t clock; /* of the record, or of the one before it if that is later */
	struct ring *ring;
	const struct record_head *record;
};

struct order {
	struct rings *rings;
	struct head *heap; /* the least one first */
	unsigned size;
	unsigned since_give_back;
	uint64_t before; /* of this release, lowered by rings that are being written */
	int err;
};

struct order *order_new(struct rings *rings)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order)
		return NULL;
	order->rings = rings;
	order->heap = calloc(rings->nrings ? rings->nrings : 1, sizeof(*order->heap));
	if (!order->heap) {
		free(order);
		return NULL;
	}
	return order;
}

void order_free(struct order *order)
{
	if (!order)
		return;
	free(order->heap);
	free(order);
}

/* Rings stand in an array, ascending by CPU. */
static inline bool earlier(const struct head *a, const struct head *b)
{
	return a->clock < b->clock || (a->clock == b->clock && a->ring < b->ring);
}

/* Reads the head of a ring. False if it has none to be released now. */
static inline bool head_read(struct order *order, struct head *head, struct ring *ring)
{
	const struct record_head *record = ring_peek(ring);
	uint64_t clock;

	if (__builtin_expect(!record, 0)) {
		/* The clock of what is written will not be earlier than that of the one before. */
		if (ring->writing && ring->clock < order->before)
			order->before = ring->clock;
		return false;
	}
	if (__builtin_expect(!rings_record_size[record->kind], 0)) {
		log_error("the ring of CPU %u holds no record at byte %llu (kind %u): this is a "
			  "mistake in ovni-bpf, please report it",
			  ring->cpu, (unsigned long long)ring->at, record->kind);
		order->err = -EBADMSG;
		return false;
	}
	clock = record->clock;
	if (__builtin_expect(clock < ring->clock, 0))
		clock = ring->clock;
	*head = (struct head){clock, ring, record};
	return true;
}

static void sift_down(struct order *order, unsigned i)
{
	struct head moved = order->heap[i];

	for (;;) {
		unsigned child = 2 * i + 1;

		if (child >= order->size)
			break;
		if (child + 1 < order->size &&
		    earlier(&order->heap[child + 1], &order->heap[child]))
			child++;
		if (!earlier(&order->heap[child], &moved))
			break;
		order->heap[i] = order->heap[child];
		i = child;
	}
	order->heap[i] = moved;
}

/* The heads of all rings. A ring that is being written lowers `before`, so it comes first. */
static void fill(struct order *order)
{
	order->size = 0;
	for (unsigned i = 0; i < order->rings->nrings; i++)
		if (head_read(order, &order->heap[order->size], &order->rings->ring[i]))
			order->size++;
	for (unsigned i = order->size / 2; i-- > 0;)
		sift_down(order, i);
}

int order_release(struct order *order, uint64_t before, order_take_fn take, void *arg)
{
	int err = 0;

	order->before = before;
	order->err = 0;
	fill(order);
	while (order->size > 0 && !order->err) {
		struct head *top = &order->heap[0];
		struct ring *ring = top->ring;

		if (top->clock >= order->before && order->before != UINT64_MAX)
			break;
		ring->clock = top->clock;
		ring_advance(ring, top->record);
		err = take(arg, ring->cpu, top->record);
		if (__builtin_expect(err, 0))
			break;
		if (++order->since_give_back >= GIVE_BACK_EVERY) {
			order->since_give_back = 0;
			rings_give_back(order->rings);
		}
		if (!head_read(order, top, ring))
			*top = order->heap[--order->size];
		sift_down(order, 0);
	}
	rings_give_back(order->rings);
	return err ? err : order->err;
}

uint64_t order_released(const struct order *order)
{
	return order->before;
}
