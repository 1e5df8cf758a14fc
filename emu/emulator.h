/* SPDX-License-Identifier: MIT */
/*
 * emulator: runs one emulation, from the trace to the Paraver files.
 *
 * In: the options; out: the Paraver files, messages and the exit status. emulator.c has the stages
 * of emulator.md 2 in order; emulation.h has the data that stages and models share.
 */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H

#include <signal.h>

#include "emu/emulation.h"

/*
 * Runs the whole emulation and logs its messages. Returns the exit status: 0; 1 after a failure;
 * 3 if parts of the trace were left out (--tolerant).
 */
int emulator_run(const struct emu_options *opt);

/* The signal handler sets this to stop after the present event. */
extern volatile sig_atomic_t emulator_interrupted;

#endif
