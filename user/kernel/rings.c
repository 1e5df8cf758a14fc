/* SPDX-License-Identifier: MIT */
/* rings: see rings.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/kernel/rings.h"
#include "bpf/state.h"
#include "trace/base/log.h"

const uint8_t rings_record_size[256] = {
	[RECORD_SWITCH] = sizeof(struct record_switch),
	[RECORD_TASK] = sizeof(struct record_task),
	[RECORD_EXIT] = sizeof(struct record_exit),
	[RECORD_SNAPSHOT] = sizeof(struct record_snapshot),
	[RECORD_LOST] = sizeof(struct record_lost),
	[RECORD_PROBE] = sizeof(struct record_probe),
};
_Static_assert(sizeof(struct record_task) <= RING_SPILL, "the largest record fits behind a ring");

struct rings *rings_new(void)
{
	return calloc(1, sizeof(struct rings));
}

void rings_close(struct rings *rings)
{
	if (!rings)
		return;
	for (unsigned i = 0; i < rings->nrings; i++)
		if (rings->ring[i].mapped)
			munmap((void *)rings->ring[i].data, rings->ring[i].mapped);
	free(rings->ring);
	free(rings);
}

int rings_add(struct rings *rings, unsigned cpu, struct cpu_state *state, const void *data,
	      size_t bytes)
{
	struct ring *grown;

	grown = realloc(rings->ring, (rings->nrings + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	rings->ring = grown;
	grown[rings->nrings++] = (struct ring){
		.data = data,
		.mask = bytes - 1,
		.at = state->consumed,
		.end = state->consumed,
		.given_back = state->consumed,
		.cpu = cpu,
		.state = state,
	};
	return 0;
}

int rings_map(struct rings *rings, unsigned cpu, struct cpu_state *state, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t mapped = (bytes + RING_SPILL + page - 1) / page * page;
	void *data;
	int err;

	data = mmap(NULL, mapped, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED) {
		err = -errno;
		goto failed;
	}
	err = rings_add(rings, cpu, state, data, bytes);
	if (err) {
		munmap(data, mapped);
		goto failed;
	}
	rings->ring[rings->nrings - 1].mapped = mapped;
	return 0;
failed:
	log_error("cannot map the ring of CPU %u: %s", cpu, strerror(-err));
	return err;
}

void rings_look(struct rings *rings)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];
		/* in this order: what is reserved in between is later than the call */
		uint64_t reserved = __atomic_load_n(&ring->state->reserved, __ATOMIC_ACQUIRE);

		ring->end = __atomic_load_n(&ring->state->committed, __ATOMIC_ACQUIRE);
		ring->writing = reserved > ring->end;
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
		__atomic_store_n(&ring->state->consumed, ring->at, __ATOMIC_RELEASE);
		ring->given_back = ring->at;
	}
}

void rings_discard(struct rings *rings)
{
	const struct record_head *record;

	for (unsigned i = 0; i < rings->nrings; i++) {
		struct ring *ring = &rings->ring[i];

		while ((record = ring_peek(ring)) && rings_record_size[record->kind])
			ring_advance(ring, record);
	}
	rings_give_back(rings);
}
