/* SPDX-License-Identifier: MIT */
/*
 * rings: the transport from the kernel side: one ring of records per CPU, merged by clock.
 *
 * In: the records that the BPF programs reserve, fill in and commit; out: the records of each CPU,
 * in the order in which they were reserved. Nothing is copied: a record is read in place, and its
 * space is given back once it has been taken. Invariant: the reader never goes past the records
 * that rings_refresh() found committed.
 *
 * The merge takes records by (clock, CPU, place in the ring). A record whose clock is behind one
 * taken before it from the same ring (an interrupt between its reserve and its clock) counts as of
 * that clock. Records stay in the rings until they are taken, so memory is bounded by the rings,
 * and an idle CPU delays no other.
 *
 * The watermark: with W = (a clock, read before rings_refresh()) - RINGS_SLACK_NS, a record that is
 * not yet visible has a clock above W, since its clock is read after the reserve. So all records
 * below W can be taken, and none that comes later belongs before them. A record that is still being
 * written holds back those that are later than the one before it in its ring.
 * Groups: one thread cannot merge the rings of hundreds of CPUs and make events of them, too. After
 * rings_split(), a thread for each group of rings copies their records, in order, into a buffer,
 * and rings_release() merges the buffers: the same records in the same order. The groups work only
 * while rings_release() waits for them, and not at all as long as there is little to copy.
 * Specification: bpf/state.h (layout of a ring), ebpf.md 10 (barriers, watermark), 14 (memory that
 * is mapped).
 */
#ifndef USER_KERNEL_RINGS_H
#define USER_KERNEL_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"
#include "user/config/config.h"

struct cpu_state;

struct ring {
	const uint8_t *data; /* mask + 1 bytes, and RING_SPILL for a record that begins in them */
	uint64_t mask;
	uint64_t at;	/* position of the next record, in bytes since the beginning */
	uint64_t end;	/* committed when rings_refresh() was called */
	uint64_t clock; /* ns, the latest of the records taken: order never falls */
	bool writing;	/* a record behind `end` was being written then */
	unsigned cpu;	/* kernel number */
	uint64_t given_back;
	uint64_t taken[EVENT_KINDS];	/* out of the ring, by kind of event */
	uint64_t reported[EVENT_KINDS]; /* lost events that the records taken have reported */
	struct cpu_state *state;	/* shared with the producer */
	size_t mapped;			/* bytes at data to unmap; 0: the caller's memory */
};

/* The next record of a ring. */
struct ring_head {
	uint64_t clock; /* of the record, or of the one before it if that is later */
	struct ring *ring;
	const struct record_head *record;
};

struct rings {
	struct ring *ring; /* nrings of them, ascending by cpu */
	unsigned nrings;

	/* Of rings_release(). */
	struct ring_head *heap; /* nheads of them, the earliest first */
	unsigned nheads, since_give_back;
	uint64_t before; /* lowered by rings that are being written */
	int err;

	struct ring_groups *groups; /* of rings_split(); NULL: none */
	bool copies; /* this is a group: its records are counted when they are taken */
};

#define RINGS_OF_GROUP 64 /* about as many as one thread copies without effort */

/* How late the position of a producer may become visible after the clock of its record was read. */
#define RINGS_SLACK_NS 20000

/* rings_close() frees and unmaps all rings; NULL is fine. */
struct rings *rings_new(void);
void rings_close(struct rings *rings);

/* Adds the ring of `cpu` in the map `fd`, of `bytes` (a power of two) and RING_SPILL more; `state`
 * must outlive the rings. CPUs must be added in ascending order. 0 or -errno, after one message. */
int rings_map(struct rings *rings, unsigned cpu, struct cpu_state *state, int fd, size_t bytes)
	__attribute__((warn_unused_result));

/* The same with memory of the caller. */
int rings_add(struct rings *rings, unsigned cpu, struct cpu_state *state, const void *data,
	      size_t bytes) __attribute__((warn_unused_result));

/* Splits the rings into `ngroups` groups, each with a thread, which inherits from the caller; no
 * ring may be added later, and rings_discard() may not be called. 0 or -errno without a message:
 * then there are no groups. */
int rings_split(struct rings *rings, unsigned ngroups) __attribute__((warn_unused_result));

/*
 * Reads how far the producers are. A record that is not visible then was reserved after this call
 * began: its clock is later than any clock read before the call.
 */
void rings_refresh(struct rings *rings);

/* The part of the fullest ring, of its size, that was in use at the last rings_refresh(). */
double rings_fullest(const struct rings *rings);

/* Takes and forgets all records that rings_refresh() has seen. */
void rings_discard(struct rings *rings);

/* Takes the next record, of kernel CPU `cpu` and of a known kind. Not 0: stop. */
typedef int (*rings_take_fn)(void *arg, unsigned cpu, const struct record_head *record);

/*
 * Hands over, in order, all records that rings_refresh() has seen with a clock below `before` ns
 * (UINT64_MAX: all), and gives their space back. Returns 0; the value of `take` if that is not 0
 * (the record counts as taken); or -EBADMSG after one message if a ring holds no valid record.
 */
int rings_release(struct rings *rings, uint64_t before, rings_take_fn take, void *arg)
	__attribute__((warn_unused_result));

/* The clock (excluded) up to which the last rings_release() has handed over all records: `before`,
 * or less if a record was being written. */
uint64_t rings_released(const struct rings *rings);

/* The size of a record by its kind; 0 if there is no such kind. */
extern const uint16_t rings_record_size[256];

/* The size of a record of a known kind. */
static inline uint32_t record_bytes(const struct record_head *record)
{
	if (__builtin_expect(record->kind == RECORD_PROBE, 0) && record->flags & PROBE_SEVERAL)
		return sizeof(struct record_probe_values);
	return rings_record_size[record->kind];
}

/* The next record of a ring, or NULL if there is none up to `end`. It stays valid until
 * rings_release() or rings_discard() returns. */
static inline const struct record_head *ring_peek(const struct ring *ring)
{
	const uint8_t *at = ring->data + (ring->at & ring->mask);

	if (ring->at >= ring->end)
		return NULL;
	__builtin_prefetch(at + 256);
	return (const struct record_head *)at;
}

/* Counts the events in a record. */
static inline void ring_count(uint64_t taken[EVENT_KINDS], const struct record_head *record)
{
	if (__builtin_expect(record_is_switch(record->kind), 1)) {
		taken[EVENT_SWITCH]++;
		taken[EVENT_WAKE] += ((const struct record_switch *)record)->wake_clock != 0;
	} else if (record->kind != RECORD_LOST) {
		taken[event_kind_of_record(record)]++;
	}
}

/* Counts the lost events that a RECORD_LOST reports. */
static inline void ring_count_reported(uint64_t reported[EVENT_KINDS],
				       const struct record_lost *record)
{
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		reported[kind] += record->kinds[kind];
}

/* Counts a record that is taken. */
static inline void ring_take(struct ring *ring, const struct record_head *record)
{
	if (__builtin_expect(record->kind == RECORD_LOST, 0))
		ring_count_reported(ring->reported, (const struct record_lost *)record);
	else
		ring_count(ring->taken, record);
}

/* Takes the record that ring_peek() has returned. */
static inline void ring_advance(struct ring *ring, const struct record_head *record)
{
	ring_take(ring, record);
	ring->at += record_bytes(record);
}

#endif
