/* SPDX-License-Identifier: MIT */
/*
 * cfg: the Paraver configurations, put beside the output.
 *
 * In: the installed set (PREFIX/share/ovni-bpf/cfg, found from the place of the executable, or
 * emu/cfg of the source tree when that runs from build/bin); out: a copy in OUT/cfg, unless that
 * exists; it gets this name once it is complete. Nothing is written through a symbolic link.
 * Specification: emulator.md 1, models.md 5.4.
 */
#ifndef EMU_CFG_H
#define EMU_CFG_H

struct emulator;

/* Copies the set to OUT/cfg. 0, or -errno after a message. */
int cfg_install(struct emulator *emu) __attribute__((warn_unused_result));

/*
 * Writes the two configurations of a hardware counter, OUT/cfg/{thread,cpu}/nosv/hwc-NAME.cfg.
 * A name that cannot be one of a file gets '_' for what it may not have. 0 or -errno.
 */
int cfg_write_counter(struct emulator *emu, unsigned type, const char *name)
	__attribute__((warn_unused_result));

#endif
