/* SPDX-License-Identifier: MIT */
/*
 * track: writes the rows that a change touches. The hot path of the emulator.
 *
 *   change                          touched rows
 *   write to a channel              the row of its thread, and of the CPU with that running
 *                                   thread (or as enum channel_cpu says)
 *   state of a thread               the row of the thread, all channels that depend on it
 *   running thread of a CPU         the row of the CPU, all channels
 *
 * In: changes of one event; out: lines, in the order of the touches. A touch of a whole row visits
 * only channels that can write a line (see `has` and `shown` in channel.h).
 * Specification: prv.md 3, 4.1, 4.2, 7.
 */
#ifndef EMU_TRACK_H
#define EMU_TRACK_H

#include "emu/breakdown.h"
#include "emu/emulation.h"
#include "trace/base/array.h"

static inline void bit_put(uint64_t *bits, uint32_t i, bool on)
{
	uint64_t bit = 1ULL << (i & 63);

	if (on)
		bits[i >> 6] |= bit;
	else
		bits[i >> 6] &= ~bit;
}

/* True if the channel also writes a value that equals the last one. */
static inline bool track_repeats(const struct channel *ch, uint8_t has)
{
	return ch->policy != POLICY_SKIP && (ch->policy == POLICY_ALL || has);
}

/*
 * Touches the row of a thread in one channel, with the new `value`. Returns true if it needs a
 * line.
 */
static inline bool track_note_thread(struct thread *th, struct slot *slot, const struct channel *ch,
				     uint32_t c, uint8_t has, int64_t value)
{
	if (has == slot->last_kind && value == slot->last && !track_repeats(ch, has))
		return false;
	if (has != slot->last_kind)
		bit_put(th->shown, c, has);
	slot->last = value;
	slot->last_kind = has;
	return true;
}

/* Updates the row of a thread in one channel. */
static inline void track_thread(struct emulator *emu, struct thread *th, uint32_t c)
{
	const struct channel *ch = &emu->channels[c];
	struct slot *slot = &th->slots[c];
	uint8_t has = slot->has & (ch->visible >> th->state & 1);
	int64_t value = has ? slot->value : 0;

	if (track_note_thread(th, slot, ch, c, has, value))
		prv_line(&emu->thread_prv, &th->row, &emu->time, &ch->type, value);
}

/*
 * Touches the row of a CPU in one channel, with the new `value`. Returns true if it needs a line.
 */
static inline bool track_note_cpu(struct cpu *cpu, const struct channel *ch, uint32_t c,
				  uint8_t has, int64_t value)
{
	struct cpu_slot *slot = &cpu->slots[c];

	if (__builtin_expect(ch->breakdown != NULL, 0))
		breakdown_touch(ch->breakdown, ch->breakdown_input, cpu, has ? value : 0);
	if (has == slot->last_kind && value == slot->last && !track_repeats(ch, has))
		return false;
	if (has != slot->last_kind)
		bit_put(cpu->shown, c, has);
	slot->last = value;
	slot->last_kind = has;
	return true;
}

/* Updates one channel in the row of a CPU with a new running thread. */
static inline void track_cpu(struct emulator *emu, struct cpu *cpu, uint32_t c)
{
	const struct channel *ch = &emu->channels[c];
	int64_t value = ch->cpu_default;
	uint8_t has = value != 0;

	if (cpu->running) {
		has = cpu->running->slots[c].has;
		value = cpu->running->slots[c].value;
	}
	if (track_note_cpu(cpu, ch, c, has, value))
		prv_line(&emu->cpu_prv, &cpu->row, &emu->time, &ch->type, value);
}

/* Updates the row of a thread with a new state, in all channels that depend on the state. */
static inline void track_thread_all(struct emulator *emu, struct thread *th)
{
	for (uint32_t w = 0; w < emu->nwords; w++) {
		uint64_t bits =
			(th->has[w] | th->shown[w] | emu->thread_always[w]) & emu->thread_mask[w];

		for (; bits; bits &= bits - 1)
			track_thread(emu, th, w * 64 + (uint32_t)__builtin_ctzll(bits));
	}
}

/* Updates all channels in the row of a CPU with a new running thread. */
static inline void track_cpu_all(struct emulator *emu, struct cpu *cpu)
{
	const uint64_t *has = cpu->running ? cpu->running->has : NULL;

	for (uint32_t w = 0; w < emu->nwords; w++) {
		uint64_t bits = (cpu->shown[w] | emu->cpu_always[w] | (has ? has[w] : 0)) &
				emu->cpu_mask[w];

		for (; bits; bits &= bits - 1)
			track_cpu(emu, cpu, w * 64 + (uint32_t)__builtin_ctzll(bits));
	}
}

/* True from OHx to OHe: the row of the thread shows lasting types. */
static inline bool track_lasts(const struct thread *th)
{
	return th->state != THREAD_STATE_UNKNOWN && th->state != THREAD_STATE_DEAD;
}

/* Updates the lasting types in the row of a thread that begins or ends; they share a line. */
static inline void track_lasting_all(struct emulator *emu, struct thread *th)
{
	bool lasts = track_lasts(th), begun = false;

	for (uint32_t w = 0; w < emu->nwords; w++) {
		uint64_t bits = th->has[w] & emu->lasting_mask[w];

		for (; bits; bits &= bits - 1) {
			uint32_t c = w * 64 + (uint32_t)__builtin_ctzll(bits);

			prv_pair(&emu->thread_prv, &th->row, &emu->time, &emu->channels[c].lasting,
				 lasts ? th->slots[c].value : 0, &begun);
		}
	}
}

/*
 * Updates the rows of the thread and its CPU after a write to a channel. `changed`: its value is
 * another one than before.
 */
static inline void track_channel(struct emulator *emu, struct thread *th, uint32_t c, bool changed)
{
	const struct channel *ch = &emu->channels[c];
	struct slot *slot = &th->slots[c];
	struct cpu *cpu = th->cpu;
	uint8_t has = slot->has;
	int64_t value = slot->value;
	bool lasting = changed && ch->lasting.len && track_lasts(th);
	struct prv_value text;

	if (!cpu || (cpu->running != th && ch->cpu != CPU_OF_THREAD) || ch->cpu == CPU_NONE) {
		if (ch->visible >> th->state & 1)
			track_thread(emu, th, c);
		if (lasting)
			prv_line(&emu->thread_prv, &th->row, &emu->time, &ch->lasting, value);
		return;
	}
	prv_value_make(&text, value);
	if (ch->visible >> th->state & 1 && track_note_thread(th, slot, ch, c, has, value))
		prv_put(&emu->thread_prv, &th->row, &emu->time, &ch->type, &text);
	if (lasting)
		prv_put(&emu->thread_prv, &th->row, &emu->time, &ch->lasting, &text);
	if (track_note_cpu(cpu, ch, c, has, value))
		prv_put(&emu->cpu_prv, &cpu->row, &emu->time, &ch->type, &text);
}

static inline enum channel_result channel_push(struct emulator *emu, struct thread *th, uint32_t c,
					       int64_t value)
{
	struct slot *slot = &th->slots[c];
	bool changed = slot->value != value;

	if (slot->has && !changed && !emu->channels[c].repeats)
		return CHANNEL_REPEAT;
	if (slot->depth == slot->room) {
		int64_t *stack;

		if (slot->depth >= CHANNEL_STACK_MAX)
			return CHANNEL_FULL;
		stack = stack_more(slot->stack, slot->depth, &slot->room, sizeof(*stack));
		if (!stack)
			return CHANNEL_NOMEM;
		slot->stack = stack;
		emu->channels[c].used = true;
	}
	if (!slot->has)
		bit_put(th->has, c, true);
	slot->stack[slot->depth++] = value;
	slot->value = value;
	slot->has = 1;
	track_channel(emu, th, c, changed);
	return CHANNEL_OK;
}

static inline enum channel_result channel_pop(struct emulator *emu, struct thread *th, uint32_t c,
					      int64_t value)
{
	struct slot *slot = &th->slots[c];

	if (!slot->depth)
		return CHANNEL_EMPTY;
	if (slot->value != value)
		return CHANNEL_MISMATCH;
	slot->depth--;
	if (slot->depth) {
		slot->value = slot->stack[slot->depth - 1];
	} else {
		slot->value = 0;
		slot->has = 0;
		bit_put(th->has, c, false);
	}
	track_channel(emu, th, c, slot->value != value);
	return CHANNEL_OK;
}

/* Sets a single channel; `has` false empties it. Most callers have a constant `has`. */
static inline __attribute__((always_inline)) enum channel_result
channel_put(struct emulator *emu, struct thread *th, uint32_t c, uint8_t has, int64_t value)
{
	struct slot *slot = &th->slots[c];
	bool changed = slot->has != has || slot->value != value;

	if (!changed && !emu->channels[c].repeats)
		return CHANNEL_REPEAT;
	if (slot->has != has)
		bit_put(th->has, c, has);
	slot->value = value;
	slot->has = has;
	emu->channels[c].used = true;
	track_channel(emu, th, c, changed);
	return CHANNEL_OK;
}

static inline enum channel_result channel_set(struct emulator *emu, struct thread *th, uint32_t c,
					      int64_t value)
{
	return channel_put(emu, th, c, 1, value);
}

static inline enum channel_result channel_clear(struct emulator *emu, struct thread *th, uint32_t c)
{
	return channel_put(emu, th, c, 0, 0);
}

/* The same for events of models: 0, or -errno after emu_refuse(). */

static inline int emu_push(struct emulator *emu, struct thread *th, uint32_t c, int64_t value)
{
	enum channel_result result = channel_push(emu, th, c, value);

	return result == CHANNEL_OK ? 0 : emu_refuse_channel(emu, result, th, c, value);
}

static inline int emu_pop(struct emulator *emu, struct thread *th, uint32_t c, int64_t value)
{
	enum channel_result result = channel_pop(emu, th, c, value);

	return result == CHANNEL_OK ? 0 : emu_refuse_channel(emu, result, th, c, value);
}

static inline int emu_put(struct emulator *emu, struct thread *th, uint32_t c, uint8_t has,
			  int64_t value)
{
	enum channel_result result = channel_put(emu, th, c, has, value);

	return result == CHANNEL_OK ? 0 : emu_refuse_channel(emu, result, th, c, value);
}

/* ---- states of threads and running threads of CPUs, from occupancy.c ---- */

/* Prepares the base types (prv.md 2). */
void occupancy_init(void);

/* These return 0, or -errno after emu_refuse() without any change. */

/* The thread, so far without a CPU, runs on `cpu`. */
int occupancy_execute(struct emulator *emu, struct thread *th, struct cpu *cpu);
/* The thread gets another state and stays on its CPU. */
int occupancy_change(struct emulator *emu, struct thread *th, enum thread_state state);
/* The thread moves to another CPU. */
int occupancy_move(struct emulator *emu, struct thread *th, struct cpu *cpu);

/* The thread is dead and leaves its CPU. */
void occupancy_end(struct emulator *emu, struct thread *th);

#endif
