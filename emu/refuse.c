/* SPDX-License-Identifier: MIT */
/* refuse: messages about refused events (see refuse.h). */
#include "emu/refuse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

const char *emu_stream_name(const struct emulator *emu, size_t i)
{
	return emu->trace.streams[i][0] ? emu->trace.streams[i] : ".";
}

/* Appends a character of an event, with an escape if it is not printable. */
static void put_char(char *text, size_t room, uint8_t c)
{
	size_t length = strlen(text);

	snprintf(text + length, room - length, c > ' ' && c < 0x7f ? "%c" : "\\x%02x", c);
}

int emu_refuse(struct emulator *emu, const char *fmt, ...)
{
	const struct stream *stream = &emu->streams[emu->player.current];
	const struct event *ev = &stream->ev;
	char *reason, mcv[16] = "";
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&reason, fmt, ap) < 0)
		reason = NULL;
	va_end(ap);
	put_char(mcv, sizeof(mcv), ev->model);
	put_char(mcv, sizeof(mcv), ev->category);
	put_char(mcv, sizeof(mcv), ev->value);
	log_error("%s: event %s at byte %" PRIu64 ", clock %" PRIi64 " (%" PRIi64
		  " ns after the first one): %s",
		  emu_stream_name(emu, emu->player.current), mcv, stream_offset(stream),
		  emu->player.clock, emu->time.now, reason ? reason : "(out of memory)");
	free(reason);
	return -EINVAL;
}

int emu_refuse_channel(struct emulator *emu, enum channel_result result, const struct thread *th,
		       uint32_t channel, int64_t value)
{
	const char *label = emu->channels[channel].page->label;
	const struct slot *slot = &th->slots[channel];

	switch (result) {
	case CHANNEL_OK:
		return 0;
	case CHANNEL_REPEAT:
		return emu_refuse(emu,
				  "'%s' of thread %" PRIi32 " has the value %" PRIi64
				  " already, which may not be repeated",
				  label, th->tid, value);
	case CHANNEL_FULL:
		return emu_refuse(emu,
				  "'%s' of thread %" PRIi32 " has %d stacked values, which is the "
				  "maximum",
				  label, th->tid, CHANNEL_STACK_MAX);
	case CHANNEL_EMPTY:
		return emu_refuse(emu,
				  "leaves the value %" PRIi64 " in '%s' of thread %" PRIi32
				  ", which has nothing on its stack",
				  value, label, th->tid);
	case CHANNEL_MISMATCH:
		return emu_refuse(emu,
				  "leaves the value %" PRIi64 " in '%s' of thread %" PRIi32
				  ", but %" PRIi64 " is on top of its stack",
				  value, label, th->tid, slot->value);
	case CHANNEL_NOMEM:
		break;
	}
	emu_refuse(emu, "out of memory (for the stack of '%s')", label);
	return -ENOMEM;
}
