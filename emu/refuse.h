/* SPDX-License-Identifier: MIT */
/*
 * refuse: logs why the emulator refuses the present event.
 *
 * In: the emulation at the event, and a reason; out: one message that starts with the MCV, the
 * clock, the stream and the byte of the event.
 */
#ifndef EMU_REFUSE_H
#define EMU_REFUSE_H

#include "emu/emulation.h"

/* Name of a stream in messages: its path in the trace. */
const char *emu_stream_name(const struct emulator *emu, size_t i);

/*
 * Refuses the present event: logs its MCV, clock, stream and byte, then the reason.
 * Returns -EINVAL.
 */
int emu_refuse(struct emulator *emu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for a failed write to a channel. Returns 0 for CHANNEL_OK, else a negative errno. */
int emu_refuse_channel(struct emulator *emu, enum channel_result result, const struct thread *th,
		       uint32_t channel, int64_t value);

#endif
