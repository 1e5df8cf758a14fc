/* SPDX-License-Identifier: MIT */
/*
 * rings: the transport from the kernel side: one ring of records per CPU.
 *
 * In: what the BPF programs reserve, fill and submit; out: the records of each CPU, in the order
 * in which they were reserved. Nothing is copied: a record is looked at where it lies, and its
 * room is given back once it has been taken. Who merges the rings (order.h) needs only what is
 * declared here; where the records come from is told when a ring is added.
 * Invariant: the reader never goes past the producer position that rings_look() has seen,
 * nor past a record that is still being written.
 * Specification: ebpf.md 10 (layout of a ring, barriers).
 */
#ifndef USER_RINGS_H
#define USER_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define RING_BUSY      0x80000000u /* bits of the length in front of a record */
#define RING_DISCARDED 0x40000000u
#define RING_HEADER    8u

struct ring {
	const uint8_t *data; /* mapped twice in a row: a record never wraps */
	uint64_t mask;	     /* bytes - 1 */
	uint64_t at;	     /* position of the next record, in bytes since the beginning */
	uint64_t end;	     /* producer position that rings_look() has seen */
	uint64_t clock;	     /* ns, the latest of the records taken: order never falls */
	uint32_t length;     /* of the record that ring_peek() has returned */
	unsigned cpu;	     /* kernel number */
	uint64_t given_back; /* consumer position that the producer knows */
	uint64_t taken[RECORD_KINDS];
	uint64_t *consumer; /* shared with the producer */
	const uint64_t *producer;
	void *mapped[2]; /* NULL: the memory is the caller's */
};

struct rings {
	struct ring *ring; /* nrings of them, ascending by cpu */
	unsigned nrings;
};

/* All are freed, and what was mapped is unmapped, by rings_close(); NULL is fine there. */
struct rings *rings_new(void);
void rings_close(struct rings *rings);

/* Adds the ring buffer map `fd` of `bytes` (a power of two) as that of `cpu`. CPUs must be added in
 * ascending order. 0 or -errno, after one message. */
int rings_map(struct rings *rings, unsigned cpu, int fd, size_t bytes)
	__attribute__((warn_unused_result));

/* The same with memory of the caller: `data` has 2 * bytes, the halves being equal. */
int rings_add(struct rings *rings, unsigned cpu, uint64_t *consumer, const uint64_t *producer,
	      const void *data, size_t bytes) __attribute__((warn_unused_result));

/*
 * Reads the producer positions. What is not visible then was reserved later than anything read
 * before the call: in particular later than a clock read before it.
 */
void rings_look(struct rings *rings);

/* The part of the fullest ring, of its size, that was in use at the last rings_look(). */
double rings_fullest(const struct rings *rings);

/* Gives the room of the records taken back to the producers. */
void rings_give_back(struct rings *rings);

/* Takes and forgets all that rings_look() has seen. */
void rings_discard(struct rings *rings);

/* The size that a record of `kind` has; 0 if there is no such kind. */
size_t rings_record_size(unsigned kind);

/*
 * The next record of a ring, or NULL if there is none up to `end` or if it is still being
 * written, which is told in *busy. It stays valid until rings_give_back().
 */
static inline const struct record_head *ring_peek(struct ring *ring, bool *busy)
{
	*busy = false;
	while (ring->at < ring->end) {
		const uint8_t *at = ring->data + (ring->at & ring->mask);
		uint32_t length = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);

		if (__builtin_expect(length & RING_BUSY, 0)) {
			*busy = true;
			return NULL;
		}
		ring->length = length & ~RING_DISCARDED;
		if (__builtin_expect(!(length & RING_DISCARDED), 1)) {
			__builtin_prefetch(at + 256);
			return (const struct record_head *)(at + RING_HEADER);
		}
		ring->at += (ring->length + RING_HEADER + 7) & ~7u;
	}
	return NULL;
}

/* Takes the record that ring_peek() has returned. */
static inline void ring_advance(struct ring *ring, const struct record_head *record)
{
	ring->taken[record->kind]++;
	ring->at += (ring->length + RING_HEADER + 7) & ~7u;
}

#endif
