/* SPDX-License-Identifier: MIT */
/*
 * occupancy: the state of each thread, and who runs on each CPU.
 *
 * In: moves of the ovni model; out: the base types (prv.md 2) and the touches that follow from
 * them. Counts per CPU are kept as threads come and go: nothing here walks the threads of a CPU.
 * Invariant: a physical CPU has at most one running thread.
 * Specification: emulator.md 8, prv.md 2 and 4.1.
 */
#ifndef EMU_OCCUPANCY_H
#define EMU_OCCUPANCY_H

#include "emu/emulator.h"

/* Prepares the base types. */
void occupancy_init(void);

/* These return 0, or -errno after emu_refuse(), and then nothing has changed. */

/* The thread joins `cpu` and runs. It belonged to none. */
int occupancy_execute(struct emulator *emu, struct thread *th, struct cpu *cpu);
/* The thread goes to another state of its life and stays on its CPU. */
int occupancy_change(struct emulator *emu, struct thread *th, enum thread_state state);
/* The thread moves to another CPU. */
int occupancy_move(struct emulator *emu, struct thread *th, struct cpu *cpu);

/* The thread is dead and leaves its CPU. */
void occupancy_end(struct emulator *emu, struct thread *th);

#endif
