/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * emit: reserve, stamp, fill, submit; count what has no room.
 *
 * The clock is read after the reserve: what user code does not yet see was stamped later than
 * any clock it has read before (ebpf.md 10). All who emit run with preemption off; the snapshot
 * alone may interrupt another one (life.bpf.c), and counts its records under its own kind.
 * Invariant: per CPU and kind, seen = submitted + lost.
 */
#ifndef BPF_EMIT_H
#define BPF_EMIT_H

#include "maps.bpf.h"

/*
 * Room for a record of `size` bytes with clock and kind filled in; NULL, and counted, if there is
 * none. A gap that ends here is told of first; if that finds no room, the gap goes on.
 */
static __always_inline void *emit_begin(struct cpu_state *state, __u32 cpu, __u8 kind, __u32 size)
{
	struct record_head *head;
	struct record_lost *gap;
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	state->seen[kind]++;
	if (unlikely(!ring))
		goto lost;
	if (unlikely(state->gap_count)) {
		gap = bpf_ringbuf_reserve(ring, sizeof(*gap), 0);
		if (!gap)
			goto lost;
		gap->head.clock = bpf_ktime_get_ns();
		gap->head.kind = RECORD_LOST;
		gap->head.flags = 0;
		gap->head.why = 0;
		gap->head.id = 0;
		gap->first_clock = state->gap_clock;
		gap->count = __sync_lock_test_and_set(&state->gap_count, 0);
		bpf_ringbuf_submit(gap, BPF_RB_NO_WAKEUP);
	}
	head = bpf_ringbuf_reserve(ring, size, 0);
	if (unlikely(!head))
		goto lost;
	head->clock = bpf_ktime_get_ns();
	head->kind = kind;
	return head;
lost:
	state->lost[kind]++;
	if (state->gap_count++ == 0)
		state->gap_clock = bpf_ktime_get_ns();
	return NULL;
}

static __always_inline void emit_end(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

#endif
