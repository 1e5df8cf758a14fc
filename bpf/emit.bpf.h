/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * emit: reserve, stamp, fill, commit; count records without space.
 *
 * The clock is read after the reserve: a record that user code does not yet see has a later clock
 * than any that user code has read before (ebpf.md 10). Nothing is woken or locked: a ring has one
 * producer, its CPU. All producers run with preemption off, the switch with interrupts off, and
 * interrupts do not emit, with three exceptions. The snapshot: if it comes in the middle of another
 * record it finds no space, and is tried again. Long handlers (settings.irq_ns): in the middle of
 * another record, which `emits` marks, they are kept, and sent at its end. Priorities
 * (settings.priority_words): there they wait for the next tick. Any other record there would be
 * counted as lost.
 * Invariant: per CPU and kind of event, seen = committed + filtered + sampled + full. The caller
 * counts seen, filtered and sampled.
 */
#ifndef BPF_EMIT_H
#define BPF_EMIT_H

#include "maps.bpf.h"

/* Raises a position that user code reads, after all earlier stores. */
static __always_inline void emit_publish(__u64 *position, __u64 value)
{
#if defined(__TARGET_ARCH_x86)
	barrier(); /* stores are seen in their order */
	*(volatile __u64 *)position = value;
	barrier();
#else
	__sync_lock_test_and_set(position, value); /* a full barrier */
#endif
}

/* Space for `size` bytes at the end of the ring, or NULL. */
static __always_inline struct record_head *emit_reserve(struct cpu_state *state, __u8 *ring,
							__u32 size)
{
	__u64 at = state->reserved, used = at - *(volatile __u64 *)&state->consumed;

	if (unlikely(used + size > settings.ring_mask + 1))
		return NULL;
	emit_publish(&state->reserved, at + size);
	return (void *)(ring + (at & settings.ring_mask));
}

static __always_inline void emit_end(struct cpu_state *state)
{
	emit_publish(&state->committed, state->reserved);
}

/* Would a record of `size` bytes find space now? For callers that can try again. */
static __always_inline bool emit_possible(struct cpu_state *state, __u32 size)
{
	__u64 used = state->reserved - *(volatile __u64 *)&state->consumed;
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu) && state->reserved == state->committed &&
	       used + size + sizeof(struct record_lost) <= settings.ring_mask + 1;
}

/* Records the gap that ends here. If the ring has no space for this record, the gap stays open. */
static __noinline int emit_gap(struct cpu_state *state, __u8 *ring)
{
	struct record_lost *record;

	record = (void *)emit_reserve(state, ring, sizeof(*record));
	if (!record)
		return -1;
	record->head.clock = bpf_ktime_get_ns();
	record->head.kind = RECORD_LOST;
	record->head.flags = 0;
	record->head.why = 0;
	record->head.id = 0;
	record->first_clock = state->gap_clock;
	record->count = state->gap_count;
#pragma unroll
	for (int kind = 0; kind < EVENT_KINDS; kind++) {
		__u64 full = state->events[kind].full;

		record->kinds[kind] = full - state->reported[kind];
		state->reported[kind] = full;
	}
	state->gap_count = 0;
	emit_end(state);
	return 0;
}

static __noinline int emit_lost(struct cpu_state *state, __u32 kind)
{
	if (kind < EVENT_KINDS)
		state->events[kind].full++;
	if (!state->gap_count) /* user code reads the count first */
		state->gap_clock = bpf_ktime_get_ns();
	emit_publish(&state->gap_count, state->gap_count + 1);
	return 0;
}

/*
 * Space for a record of `size` bytes, with clock and kind filled in; ended by emit_end(). NULL, and
 * counted as the loss of an `event`, if there is no space. A gap that ends here is recorded first.
 */
static __always_inline void *emit_begin(struct cpu_state *state, __u8 kind, enum event_kind event,
					__u32 size)
{
	__u32 zero = 0, cpu = bpf_get_smp_processor_id();
	struct record_head *head;
	__u8 *ring;
	void *map;

	map = bpf_map_lookup_elem(&rings, &cpu);
	if (unlikely(!map))
		goto lost;
	ring = bpf_map_lookup_elem(map, &zero);
	if (unlikely(!ring || state->reserved != state->committed))
		goto lost;
	if (unlikely(state->gap_count) && emit_gap(state, ring))
		goto lost;
	head = emit_reserve(state, ring, size);
	if (unlikely(!head))
		goto lost;
	head->clock = bpf_ktime_get_ns();
	head->kind = kind;
	return head;
lost:
	emit_lost(state, event);
	return NULL;
}

/* ---- long interrupt handlers (--why=irq) ---- */

/*
 * In: a handler that has ended; out: a RECORD_INTERRUPT at once, or, where the handler has
 * interrupted a program that fills in a record, at the end of that. Until then it lies in a slot of
 * its CPU, which one atomic addition takes: a handler may interrupt another one here, too. Without
 * space in the ring it is counted as left out: no event is lost. Without settings.irq_ns the
 * verifier removes all of it. Specification: event-mapping.md "The time of interrupts".
 */
static __always_inline struct cpu_irqs *this_cpu_irqs(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&irqs, &cpu);
}

/* Sends the handlers in the slots. */
static __noinline int long_irq_send(struct cpu_state *cpu)
{
	struct cpu_irqs *irq = this_cpu_irqs();
	struct record_interrupt *record;

	if (!irq)
		return 0;
	*(volatile __u32 *)&cpu->emits = 1;
	barrier();
	for (int i = 0; i < IRQ_KEPT && irq->sent != *(volatile __u32 *)&irq->taken; i++) {
		const struct irq_kept *kept = &irq->kept[irq->sent & (IRQ_KEPT - 1)];

		if (emit_possible(cpu, sizeof(*record))) {
			cpu->events[EVENT_OTHER].seen++;
			record = emit_begin(cpu, RECORD_INTERRUPT, EVENT_OTHER, sizeof(*record));
			if (record) {
				record->head.flags = kept->depth;
				record->head.why = kept->kind;
				record->head.id = kept->id;
				record->begin = kept->begin;
				record->end = kept->end;
				emit_end(cpu);
			}
		} else {
			irq->left_out++;
		}
		irq->sent++;
	}
	cpu->kept_irqs = irq->sent != *(volatile __u32 *)&irq->taken;
	barrier();
	*(volatile __u32 *)&cpu->emits = 0;
	return 0;
}

/* A handler has ended, which has interrupted the task of the id in `ended`. */
static __always_inline void long_irq_ended(struct cpu_state *cpu, struct cpu_irqs *irq,
					   const struct irq_kept *ended)
{
	__u32 interrupted = *(volatile __u32 *)&cpu->emits, at;

	/* as many slots stay free as handlers can interrupt this one */
	if (irq->taken - irq->sent >= IRQ_KEPT - IRQ_NESTED) {
		irq->left_out++;
		return;
	}
	*(volatile __u32 *)&cpu->emits = 1;
	at = __sync_fetch_and_add(&irq->taken, 1);
	irq->kept[at & (IRQ_KEPT - 1)] = *ended;
	cpu->kept_irqs = 1;
	barrier();
	if (!interrupted)
		long_irq_send(cpu);
}

/* A program begins to fill in a record: long handlers that interrupt it are kept until its end, and
 * ticks send nothing. */
static __always_inline void long_irq_wait(struct cpu_state *cpu)
{
	if (settings.irq_ns || settings.priority_words)
		*(volatile __u32 *)&cpu->emits = 1;
	barrier();
}

static __always_inline void long_irq_go_on(struct cpu_state *cpu)
{
	if (!settings.irq_ns && !settings.priority_words)
		return;
	barrier();
	*(volatile __u32 *)&cpu->emits = 0;
	if (settings.irq_ns && unlikely(*(volatile __u32 *)&cpu->kept_irqs))
		long_irq_send(cpu);
}

/* The same for programs in the context of a task, which interrupts may interrupt. */
static __always_inline void *emit_begin_in_task(struct cpu_state *state, __u8 kind,
						enum event_kind event, __u32 size)
{
	void *record;

	long_irq_wait(state);
	record = emit_begin(state, kind, event, size);
	if (unlikely(!record))
		long_irq_go_on(state);
	return record;
}

static __always_inline void emit_end_in_task(struct cpu_state *state)
{
	emit_end(state);
	long_irq_go_on(state);
}

#endif
