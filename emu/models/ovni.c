/* SPDX-License-Identifier: MIT */
/*
 * ovni: states of threads, their CPUs, flushes of the library, and marks (mark.h).
 * Specification: models.md 1.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "emu/models/mark.h"
#include "emu/models/models.h"
#include "emu/occupancy.h"
#include "emu/refuse.h"
#include "emu/track.h"
#include "trace/base/log.h"

enum { FLUSH };

static const struct channel_page channels[] = {
	[FLUSH] = {.type = 7,
		   .name = "flush",
		   .kind = CHANNEL_SINGLE,
		   .track = TRACK_ANY,
		   .policy = POLICY_SKIP,
		   .label = "Flushing ovni buffer"},
};

struct ovni {
	struct marks *marks;
};

/* ---- the state of a thread ---- */

static int refuse_move(struct emulator *emu, const struct thread *th, const char *what)
{
	return emu_refuse(emu, "thread %" PRIi32 " cannot %s in the state %s", th->tid, what,
			  thread_state_names[th->state]);
}

static int refuse_cpu(struct emulator *emu, const struct loom *loom, int32_t index)
{
	return emu_refuse(emu,
			  "loom %s has no CPU with index %" PRIi32 ": it has 0 to %" PRIu32
			  ", and -1 for the virtual one",
			  loom->name, index, loom->ncpus - 1);
}

static int call_watchers(struct emulator *emu, struct thread *th, const struct event *ev)
{
	for (size_t i = 0; i < emu->nwatchers; i++) {
		int err = emu->watchers[i]->model->watch(emu, emu->watchers[i], th, ev);

		if (err)
			return err;
	}
	return 0;
}

static int execute(struct emulator *emu, struct thread *th, const struct event *ev,
		   const struct action *action)
{
	struct cpu *cpu;
	int32_t index;
	int err;

	(void)action;
	if (ev->payload_size < sizeof(index))
		return emu_refuse(emu,
				  "needs 4 bytes of payload for the index of the CPU, and has %u",
				  ev->payload_size);
	if (th->state == THREAD_STATE_RUNNING)
		return refuse_move(emu, th, "begin to execute");
	if (th->cpu)
		return emu_refuse(emu,
				  "thread %" PRIi32 " cannot begin to execute in the state %s: it "
				  "already has a CPU",
				  th->tid, thread_state_names[th->state]);
	index = get_i32(ev->payload);
	cpu = loom_cpu(th->process->loom, index);
	if (!cpu)
		return refuse_cpu(emu, th->process->loom, index);
	err = occupancy_execute(emu, th, cpu);
	return err ? err : call_watchers(emu, th, ev);
}

/* OHe OHp OHr OHc OHw */
static int change(struct emulator *emu, struct thread *th, const struct event *ev,
		  const struct action *action)
{
	static const char *const verbs[] = {
		['e' - 'a'] = "end",  ['p' - 'a'] = "pause", ['r' - 'a'] = "resume",
		['c' - 'a'] = "cool", ['w' - 'a'] = "warm",
	};
	int next = thread_state_next(th->state, (char)ev->value), err = 0;

	(void)action;
	if (__builtin_expect(next < 0, 0))
		return refuse_move(emu, th, verbs[ev->value - 'a']);
	if (next == THREAD_STATE_DEAD)
		occupancy_end(emu, th);
	else
		err = occupancy_change(emu, th, next);
	return err ? err : call_watchers(emu, th, ev);
}

/* ---- affinity ---- */

static int move_self(struct emulator *emu, struct thread *th, const struct event *ev,
		     const struct action *action)
{
	struct cpu *cpu;

	(void)action;
	if (ev->payload_size != 4)
		return emu_refuse(emu, "has 4 bytes of payload (i32 cpu), not %u",
				  ev->payload_size);
	if (!thread_state_is_active(th->state))
		return refuse_move(emu, th, "change its CPU");
	cpu = loom_cpu(th->process->loom, get_i32(ev->payload));
	if (!cpu)
		return refuse_cpu(emu, th->process->loom, get_i32(ev->payload));
	return cpu == th->cpu ? 0 : occupancy_move(emu, th, cpu);
}

static int move_other(struct emulator *emu, struct thread *th, const struct event *ev,
		      const struct action *action)
{
	const struct loom *loom = th->process->loom;
	struct thread *other;
	struct cpu *cpu;
	int32_t tid;

	(void)action;
	if (ev->payload_size != 8)
		return emu_refuse(emu, "has 8 bytes of payload (i32 cpu, i32 tid), not %u",
				  ev->payload_size);
	tid = get_i32(ev->payload + 4);
	cpu = loom_cpu(loom, get_i32(ev->payload));
	if (!cpu)
		return refuse_cpu(emu, loom, get_i32(ev->payload));
	other = process_find_thread(th->process, tid);
	if (!other)
		return emu_refuse(emu, "loom %s has no thread %" PRIi32, loom->name, tid);
	if (other->state == THREAD_STATE_UNKNOWN || other->state == THREAD_STATE_DEAD)
		return refuse_move(emu, other, "be moved");
	if (cpu == other->cpu)
		return emu_refuse(emu, "thread %" PRIi32 " is on that CPU already", tid);
	return occupancy_move(emu, other, cpu);
}

/* ---- marks ---- */

static const struct ovni *ovni_of(const struct emulator *emu)
{
	return emu->by_character['O']->data;
}

static int mark(struct emulator *emu, struct thread *th, const struct event *ev,
		const struct action *action)
{
	int err = mark_event(ovni_of(emu)->marks, emu, th, ev);

	(void)action;
	return err ? err : call_watchers(emu, th, ev);
}

static const struct model_event events[] = {
	{"OHx", false, execute},   {"OHe", false, change},     {"OHp", false, change},
	{"OHr", false, change},	   {"OHc", false, change},     {"OHw", false, change},
	{"OAs", false, move_self}, {"OAr", false, move_other}, {"OCn", false, model_obsolete},
	{"OM[", false, mark},	   {"OM]", false, mark},       {"OM=", false, mark},
};

/* ---- hooks ---- */

static int metadata(struct emulator *emu, struct model_state *state, const struct json *meta,
		    size_t stream)
{
	struct ovni *ovni = state->data;

	if (!ovni) {
		ovni = state->data = calloc(1, sizeof(*ovni));
		if (ovni)
			ovni->marks = mark_new();
		if (!ovni || !ovni->marks)
			return model_complain(state, "out of memory (for the model ovni)");
	}
	if (state->complaint)
		return -EINVAL;
	return mark_declare(ovni->marks, state, meta, stream, emu_stream_name(emu, stream));
}

static int prepare(struct emulator *emu, struct model_state *state)
{
	const struct ovni *ovni = state->data;

	return ovni ? mark_prepare(ovni->marks, emu) : 0;
}

static int finish(struct emulator *emu, struct model_state *state)
{
	uint32_t alive = 0;
	const struct thread *first = NULL;

	(void)state;
	for (uint32_t i = 0; i < emu->sys.nthreads; i++) {
		const struct thread *th = &emu->sys.threads[i];

		if (th->state != THREAD_STATE_DEAD && !emu->damaged[th->stream] && !alive++)
			first = th;
	}
	if (!alive)
		return 0;
	log_error("%s: thread %" PRIi32 " is not dead at the end, but in the state %s (%" PRIu32
		  " threads in all): each must end with OHe",
		  emu_stream_name(emu, first->stream), first->tid, thread_state_names[first->state],
		  alive);
	return -EINVAL;
}

static void close_ovni(struct model_state *state)
{
	struct ovni *ovni = state->data;

	if (ovni)
		mark_free(ovni->marks);
	free(ovni);
}

const struct model model_ovni = {
	.name = "ovni",
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.events = events,
	.nevents = sizeof(events) / sizeof(events[0]),
	.metadata = metadata,
	.prepare = prepare,
	.finish = finish,
	.close = close_ovni,
};
