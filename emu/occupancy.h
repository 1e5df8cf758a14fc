/* SPDX-License-Identifier: MIT */
/*
 * occupancy: the state of each thread, and the running threads of each CPU.
 *
 * In: state changes and moves of the ovni model; out: the base types (prv.md 2) and touches of
 * channels. A CPU has counts that each change updates: no function walks the threads of a CPU.
 * Invariant: a physical CPU has at most one running thread.
 * Specification: emulator.md 8, prv.md 2 and 4.1.
 */
#ifndef EMU_OCCUPANCY_H
#define EMU_OCCUPANCY_H

#include "emu/emulation.h"

/* Prepares the base types. */
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
