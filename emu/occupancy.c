/* SPDX-License-Identifier: MIT */
/*
 * occupancy: the state of each thread, and the running threads of each CPU.
 *
 * In: state changes and moves of the ovni model; out: the base types (prv.md 2) and touches of
 * channels. A CPU has counts that each change updates: no function walks the threads of a CPU.
 * Invariant: a physical CPU has at most one running thread.
 * Specification: emulator.md 8, prv.md 2, 4.1 and 7.
 */
#include <inttypes.h>

#include "emu/track.h"

static struct prv_type type_pid, type_tid, type_count, type_state, type_cpu, type_process,
	type_thread;

void occupancy_init(void)
{
	prv_type_init(&type_pid, 1);
	prv_type_init(&type_tid, 2);
	prv_type_init(&type_count, 3);
	prv_type_init(&type_state, 4);
	prv_type_init(&type_cpu, 6);
	prv_type_init(&type_process, CPU_TYPE_PROCESS);
	prv_type_init(&type_thread, CPU_TYPE_THREAD);
}

static inline void thread_line(struct emulator *emu, const struct thread *th,
			       const struct prv_type *type, int64_t *last, int64_t value)
{
	if (*last == value)
		return;
	*last = value;
	prv_line(&emu->thread_prv, &th->row, &emu->time, type, value);
}

static inline void show_cpu(struct emulator *emu, struct thread *th)
{
	thread_line(emu, th, &type_cpu, &th->last_cpu, th->cpu ? th->cpu->index + 1 : 0);
}

static inline void show_state(struct emulator *emu, struct thread *th)
{
	thread_line(emu, th, &type_state, &th->last_state, th->state);
}

static inline void show_tid(struct emulator *emu, struct thread *th)
{
	thread_line(emu, th, &type_tid, &th->last_tid,
		    thread_state_is_active(th->state) ? th->tid : 0);
}

static inline void set_state(struct emulator *emu, struct thread *th, enum thread_state state)
{
	emu->nrunnable += (state == THREAD_STATE_WARMING) - (th->state == THREAD_STATE_WARMING);
	if (emu->nrunnable > emu->most_runnable)
		emu->most_runnable = emu->nrunnable;
	th->state = (uint8_t)state;
	th->situation = (uint8_t)((th->situation & THREAD_OUT_OF_CPU) | state);
}

/* Adds or removes one of the running threads of the CPU. */
static inline void count_in(struct cpu *cpu, const struct thread *th)
{
	cpu->nrunning++;
	cpu->mixed ^= th->index;
}

static inline void count_out(struct cpu *cpu, const struct thread *th)
{
	cpu->nrunning--;
	cpu->mixed ^= th->index;
}

/* Called before any change: a refused event leaves all states as they are (--tolerant continues).
 * */
static inline int check_room(struct emulator *emu, const struct cpu *cpu, const struct thread *th)
{
	if (__builtin_expect(!cpu->nrunning || cpu->phyid < 0, 1))
		return 0;
	return emu_refuse(emu,
			  "thread %" PRIi32 " would be the second running thread on CPU %" PRIi32
			  " of loom %s (a physical CPU runs one thread at a time)",
			  th->tid, cpu->phyid, cpu->loom->name);
}

/*
 * Updates a CPU and writes its base types. Returns true if its running thread changed: then
 * track_cpu_all() must follow.
 */
static bool update(struct emulator *emu, struct cpu *cpu)
{
	struct thread *now = cpu->nrunning == 1 ? &emu->sys.threads[cpu->mixed] : NULL;
	bool changed = now != cpu->running;

	if (changed) {
		int64_t tid = now ? now->tid : 0, pid = now ? now->process->pid : 0;

		cpu->running = now;
		if (tid != cpu->last_tid)
			prv_line(&emu->cpu_prv, &cpu->row, &emu->time, &type_tid, tid);
		if (pid != cpu->last_pid)
			prv_line(&emu->cpu_prv, &cpu->row, &emu->time, &type_pid, pid);
		cpu->last_tid = tid;
		cpu->last_pid = pid;
	}
	if (cpu->last_count != (int64_t)cpu->nrunning) {
		cpu->last_count = cpu->nrunning;
		prv_line(&emu->cpu_prv, &cpu->row, &emu->time, &type_count, cpu->nrunning);
	}
	if (changed && emu->names) {
		prv_line(&emu->cpu_prv, &cpu->row, &emu->time, &type_process,
			 now ? now->process->index + 1 : 0);
		prv_more(&emu->cpu_prv, &type_thread, now ? now->index + 1 : 0);
	}
	return changed;
}

/* Updates the rows of `th`, which has a new state, and of its CPU. */
static void update_rows(struct emulator *emu, struct thread *th, struct cpu *cpu)
{
	bool changed = update(emu, cpu);

	track_thread_all(emu, th);
	if (changed)
		track_cpu_all(emu, cpu);
}

int occupancy_execute(struct emulator *emu, struct thread *th, struct cpu *cpu)
{
	int err = check_room(emu, cpu, th);

	if (err)
		return err;
	th->cpu = cpu;
	set_state(emu, th, THREAD_STATE_RUNNING);
	count_in(cpu, th);
	show_cpu(emu, th);
	show_state(emu, th);
	show_tid(emu, th);
	update_rows(emu, th, cpu);
	track_lasting_all(emu, th);
	return 0;
}

int occupancy_change(struct emulator *emu, struct thread *th, enum thread_state state)
{
	bool ran = th->state == THREAD_STATE_RUNNING, runs = state == THREAD_STATE_RUNNING;

	if (runs && !ran) {
		int err = check_room(emu, th->cpu, th);

		if (err)
			return err;
		count_in(th->cpu, th);
	} else if (ran && !runs) {
		count_out(th->cpu, th);
	}
	set_state(emu, th, state);
	show_state(emu, th);
	show_tid(emu, th);
	update_rows(emu, th, th->cpu);
	return 0;
}

void occupancy_end(struct emulator *emu, struct thread *th)
{
	struct cpu *cpu = th->cpu;

	if (th->state == THREAD_STATE_RUNNING)
		count_out(cpu, th);
	set_state(emu, th, THREAD_STATE_DEAD);
	th->cpu = NULL;
	show_state(emu, th);
	show_tid(emu, th);
	show_cpu(emu, th);
	update_rows(emu, th, cpu);
	track_lasting_all(emu, th);
}

int occupancy_move(struct emulator *emu, struct thread *th, struct cpu *cpu)
{
	struct cpu *old = th->cpu;
	bool old_changed, new_changed;

	if (th->state == THREAD_STATE_RUNNING) {
		int err = check_room(emu, cpu, th);

		if (err)
			return err;
		count_out(old, th);
		count_in(cpu, th);
	}
	th->cpu = cpu;
	show_cpu(emu, th);
	old_changed = update(emu, old);
	new_changed = update(emu, cpu);
	if (old_changed)
		track_cpu_all(emu, old);
	if (new_changed)
		track_cpu_all(emu, cpu);
	return 0;
}
