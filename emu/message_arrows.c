/* SPDX-License-Identifier: MIT */
/*
 * message_arrows: the messages of MPI as communication records (--messages), and the collectives
 * with communicators for clock_check.c.
 *
 *   sender     ──┌ MPI_Send ┐────────────      from the entry of the call that sends
 *   receiver   ──────────────┌ MPI_Recv ┐      to the return of the call that receives
 *
 * In: the events of the emulation with their corrected clocks; out: a record of thread.prv for each
 * message of which both ends are known, with its bytes (0: not known) and its tag. Memory: that of
 * messages.h. Specification: event-mapping.md "MPI messages".
 */
#include <errno.h>
#include <stdlib.h>

#include "emu/emulation.h"
#include "trace/base/log.h"
#include "trace/messages/messages.h"

struct arrows {
	struct source source; /* owners */
	struct messages messages;
	uint64_t written, unknown;
};

static int write_arrow(void *arg, const struct message *message)
{
	struct emulator *emu = arg;
	const struct thread *from = emu->sys.thread_of_stream[message->send.stream];
	const struct thread *to = emu->sys.thread_of_stream[message->receive.stream];
	int err = prv_begin(&emu->thread_prv);

	if (err)
		emu->output_failed = true;
	if (err || !from || !to)
		return err;
	if (message->receive.to == INT64_MIN) {
		emu->arrows->unknown++;
		return 0;
	}
	prv_arrow(&emu->thread_prv, &from->row, message->send.posted - emu->first_clock, &to->row,
		  message->receive.to - emu->first_clock, message->bytes < 0 ? 0 : message->bytes,
		  message->tag);
	emu->arrows->written++;
	return 0;
}

int message_arrows_prepare(struct emulator *emu)
{
	struct arrows *arrows;
	int err;

	if (!emu->opt->messages && !(emu->clock_check && emu->communicators))
		return 0;
	arrows = emu->arrows = calloc(1, sizeof(*arrows));
	if (!arrows)
		return log_no_memory("for the messages");
	err = source_open(&arrows->source, emu->opt->trace);
	if (!err)
		err = messages_init(&arrows->messages, &arrows->source);
	arrows->messages.matched = write_arrow;
	arrows->messages.only_collectives = !emu->opt->messages;
	arrows->messages.collective = emu->communicators ? clock_check_collective : NULL;
	arrows->messages.arg = emu;
	return err;
}

static int report(int err)
{
	return err == -ENOMEM ? log_no_memory("for the messages") : err;
}

int message_arrows_step(struct emulator *emu, const struct event *ev)
{
	struct event corrected = *ev;
	int err;

	corrected.clock = (uint64_t)emu->player.clock;
	err = messages_step(&emu->arrows->messages, (uint32_t)emu->player.current, &corrected);
	if (err)
		return report(err);
	/* the lines stay if the present event is refused */
	return emu->opt->messages ? prv_begin(&emu->thread_prv) : 0;
}

int message_arrows_finish(struct emulator *emu)
{
	struct arrows *arrows = emu->arrows;
	int err = messages_finish(&arrows->messages);

	if (err)
		return report(err);
	if (!arrows->messages.any && emu->opt->messages)
		log_warn("--messages: the trace has no point-to-point calls of MPI (ovni-bpf --api "
			 "mpi-messages records them)");
	if (arrows->unknown)
		log_info("%llu messages have no arrow: the trace does not tell when they were "
			 "received",
			 (unsigned long long)arrows->unknown);
	return 0;
}

void message_arrows_fini(struct emulator *emu)
{
	if (!emu->arrows)
		return;
	messages_fini(&emu->arrows->messages);
	source_close(&emu->arrows->source);
	free(emu->arrows);
}
