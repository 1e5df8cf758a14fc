/* SPDX-License-Identifier: MIT */
/* rings: see rings.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rings.h"
#include "trace/log.h"

static const size_t record_sizes[RECORD_KINDS] = {
	[RECORD_SWITCH] = sizeof(struct record_switch),
	[RECORD_TASK] = sizeof(struct record_task),
	[RECORD_EXIT] = sizeof(struct record_exit),
	[RECORD_SNAPSHOT] = sizeof(struct record_snapshot),
	[RECORD_LOST] = sizeof(struct record_lost),
};

size_t rings_record_size(unsigned kind)
{
	return kind < RECORD_KINDS ? record_sizes[kind] : 0;
}

struct rings *rings_new(void)
{
	return calloc(1, sizeof(struct rings));
}

void rings_close(struct rings *rings)
{
	if (!rings)
		return;
	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];
		size_t page = (size_t)sysconf(_SC_PAGESIZE);

		if (ring->mapped[0])
			munmap(ring->mapped[0], page);
		if (ring->mapped[1])
			munmap(ring->mapped[1], page + 2 * (ring->mask + 1));
	}
	free(rings->ring);
	free(rings);
}

int rings_add(struct rings *rings, unsigned cpu, uint64_t *consumer, const uint64_t *producer,
	      const void *data, size_t bytes)
{
	struct ring *grown;

	grown = realloc(rings->ring, (rings->nrings + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	rings->ring = grown;
	grown[rings->nrings++] = (struct ring){
		.data = data,
		.mask = bytes - 1,
		.at = *consumer,
		.end = *consumer,
		.given_back = *consumer,
		.cpu = cpu,
		.consumer = consumer,
		.producer = producer,
	};
	return 0;
}

/* A page with the consumer position, writable; a page with the producer's and the data,
 * twice, both read-only. */
int rings_map(struct rings *rings, unsigned cpu, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *consumer, *producer;
	int err;

	consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED) {
		err = -errno;
		goto failed;
	}
	producer = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (producer == MAP_FAILED) {
		err = -errno;
		munmap(consumer, page);
		goto failed;
	}
	err = rings_add(rings, cpu, consumer, producer, (const uint8_t *)producer + page, bytes);
	if (err) {
		munmap(consumer, page);
		munmap(producer, page + 2 * bytes);
		goto failed;
	}
	rings->ring[rings->nrings - 1].mapped[0] = consumer;
	rings->ring[rings->nrings - 1].mapped[1] = producer;
	return 0;
failed:
	log_error("cannot map the ring buffer of CPU %u: %s", cpu, strerror(-err));
	return err;
}

void rings_look(struct rings *rings)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];

		ring->end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	}
}

double rings_fullest(const struct rings *rings)
{
	double fullest = 0;

	for (unsigned i = 0; i < rings->nrings; i++) {
		const struct ring *ring = &rings->ring[i];
		double part = (double)(ring->end - ring->given_back) / (double)(ring->mask + 1);

		if (part > fullest)
			fullest = part;
	}
	return fullest;
}

void rings_give_back(struct rings *rings)
{
	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];

		if (ring->given_back == ring->at)
			continue;
		__atomic_store_n(ring->consumer, ring->at, __ATOMIC_RELEASE);
		ring->given_back = ring->at;
	}
}

void rings_discard(struct rings *rings)
{
	const struct record_head *record;
	bool busy;

	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];

		while ((record = ring_peek(ring, &busy)) && rings_record_size(record->kind))
			ring_advance(ring, record);
	}
	rings_give_back(rings);
}
