/* SPDX-License-Identifier: MIT */
/*
 * cfg: copies the Paraver configurations beside the output.
 *
 * In: the installed set (PREFIX/share/ovni-bpf/cfg, found relative to the executable, or emu/cfg
 * of the source tree for an executable in build/bin); out: a copy in OUT/cfg, unless that exists.
 * Invariants: OUT/cfg is complete, and nothing is written through a symbolic link.
 * Specification: emulator.md 1, models.md 5.4.
 */
#ifndef EMU_CFG_H
#define EMU_CFG_H

struct emulator;

/* Copies the set to OUT/cfg. Returns 0, or -errno after a message. */
int cfg_install(struct emulator *emu) __attribute__((warn_unused_result));

/*
 * Writes the two configurations of a hardware counter, OUT/cfg/{thread,cpu}/nosv/hwc-NAME.cfg.
 * Characters that a file name cannot have become '_'. Returns 0, or -errno after a message.
 */
int cfg_write_counter(struct emulator *emu, unsigned type, const char *name)
	__attribute__((warn_unused_result));

#endif
