/* SPDX-License-Identifier: MIT */
/*
 * views: writes the files beside a .prv: names of rows (.row) and labels (.pcf).
 *
 * In: the finished emulation; out: thread.row, thread.pcf, cpu.row, cpu.pcf, and those of the
 * breakdowns. They are created empty together with the .prv, and filled at the end.
 * Specification: prv.md 1.3, 1.4, 2, 6.4; emulator.md 4.3.
 */
#ifndef EMU_VIEWS_H
#define EMU_VIEWS_H

#include "emu/emulation.h"

/* Creates (truncates) NAME.prv, NAME.pcf and NAME.row. NULL after a message. */
struct out *view_create(struct emulator *emu, const char *name);

/* Writes the two files of each view. Returns 0, or -errno after a message. */
int views_write(struct emulator *emu) __attribute__((warn_unused_result));

#endif
