/* SPDX-License-Identifier: MIT */
/*
 * nosv: subsystems of the nOS-V runtime, idle workers, tasks with parallel bodies, and
 * hardware counters (hwc.h).
 * Specification: models.md 5.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/models/hwc.h"
#include "emu/models/models.h"
#include "emu/refuse.h"
#include "emu/task/task.h"
#include "emu/track.h"
#include "trace/base/log.h"

enum { BODY, TASK, TYPE, APP, SUBSYSTEM, RANK, IDLE };

#define IN_BODY 11

enum { PROGRESSING = 100, RESTING = 101 };

#define TASK_CHANNEL(number, again, name)                                                          \
	{                                                                                          \
		.type = number, .kind = CHANNEL_SINGLE, .repeats = again, .track = TRACK_RUNNING,  \
		.policy = POLICY_SKIP_EMPTY, .label = name                                         \
	}

static const struct channel_page channels[] = {
	[BODY] = TASK_CHANNEL(15, true, "nOS-V task body ID"),
	[TASK] = TASK_CHANNEL(10, false, "nOS-V task ID"),
	[TYPE] = TASK_CHANNEL(11, true, "nOS-V task type"),
	[APP] = TASK_CHANNEL(12, true, "nOS-V task AppID"),
	[SUBSYSTEM] = {.type = 13,
		       .name = "subsystem",
		       .kind = CHANNEL_STACK,
		       .repeats = true,
		       .track = TRACK_ACTIVE,
		       .policy = POLICY_SKIP_EMPTY,
		       .label = "nOS-V subsystem"},
	[RANK] = TASK_CHANNEL(14, true, "nOS-V task MPI rank"),
	[IDLE] = {.type = 16,
		  .name = "idle",
		  .kind = CHANNEL_SINGLE,
		  .track = TRACK_RUNNING,
		  .policy = POLICY_SKIP_EMPTY,
		  .label = "nOS-V idle state",
		  .initial = PROGRESSING,
		  .cpu_default = RESTING},
};

static const struct breakdown_page breakdown = {
	.file = "nosv-breakdown",
	.type = 17,
	.label = "CPU: nOS-V Runtime/Idle/Task breakdown",
	.subsystem = SUBSYSTEM,
	.tasks = TYPE,
	.idle = IDLE,
	.body = IN_BODY,
};

struct nosv {
	struct hwc hwc;
	struct tasks *tasks;
};

static const struct model_state *state_of(const struct emulator *emu)
{
	return emu->by_character['V'];
}

/* ---- tasks ---- */

static int create_type(struct emulator *emu, struct thread *th, const struct event *ev,
		       const struct action *action)
{
	const struct nosv *nosv = state_of(emu)->data;

	(void)action;
	return task_create_type(emu, nosv->tasks, th, ev);
}

static int refuse_size(struct emulator *emu, const struct event *ev)
{
	return emu_refuse(emu, "needs 8 bytes of payload (u32 task, u32 %s), and has %u",
			  ev->value == 'c' || ev->value == 'C' ? "type" : "body", ev->payload_size);
}

/* VTc, VTC */
static int create_task(struct emulator *emu, struct thread *th, const struct event *ev,
		       const struct action *action)
{
	const struct nosv *nosv = state_of(emu)->data;

	(void)action;
	if (ev->payload_size < 8)
		return refuse_size(emu, ev);
	return task_create(emu, nosv->tasks, th, get_u32(ev->payload), get_u32(ev->payload + 4),
			   ev->value == 'C' ? TASK_PARALLEL : TASK_AGAIN | TASK_PAUSES);
}

/* Sets the channels of the task to the running body. */
static int show(struct emulator *emu, uint32_t first, struct thread *th, const struct body *body)
{
	const struct process *process = th->process;
	enum channel_result result;

	if (!body->task)
		return emu_refuse(emu, "a task with the id 0 cannot run");
	(void)channel_set(emu, th, first + BODY, body->body ? body->body : 1);
	result = channel_set(emu, th, first + TASK, body->task);
	if (result != CHANNEL_OK)
		return emu_refuse_channel(emu, result, th, first + TASK, body->task);
	(void)channel_set(emu, th, first + TYPE, body->type);
	(void)channel_set(emu, th, first + APP, process->app_id);
	if (process->rank >= 0)
		(void)channel_set(emu, th, first + RANK, process->rank + 1ll);
	return 0;
}

/* Empties the channels of the task: no body runs. */
static int clear(struct emulator *emu, uint32_t first, struct thread *th)
{
	enum channel_result result;

	(void)channel_clear(emu, th, first + BODY);
	result = channel_clear(emu, th, first + TASK);
	if (result != CHANNEL_OK)
		return emu_refuse_channel(emu, result, th, first + TASK, 0);
	(void)channel_clear(emu, th, first + TYPE);
	(void)channel_clear(emu, th, first + APP);
	if (th->process->rank >= 0)
		(void)channel_clear(emu, th, first + RANK);
	return 0;
}

static int execute(struct emulator *emu, struct thread *th, const struct event *ev,
		   const struct action *action)
{
	const struct model_state *state = state_of(emu);
	struct tasks *tasks = ((struct nosv *)state->data)->tasks;
	uint32_t first = state->first_channel;
	enum channel_result result;
	int err;

	if (ev->payload_size < 8)
		return refuse_size(emu, ev);
	err = task_execute(emu, tasks, th, get_u32(ev->payload), get_u32(ev->payload + 4));
	if (err)
		return err;
	result = channel_push(emu, th, action->channel, action->value);
	if (result != CHANNEL_OK)
		return emu_refuse_channel(emu, result, th, action->channel, action->value);
	return show(emu, first, th, task_top(tasks, th));
}

static int end(struct emulator *emu, struct thread *th, const struct event *ev,
	       const struct action *action)
{
	const struct model_state *state = state_of(emu);
	struct tasks *tasks = ((struct nosv *)state->data)->tasks;
	uint32_t first = state->first_channel;
	enum channel_result result;
	int err;

	if (ev->payload_size < 8)
		return refuse_size(emu, ev);
	err = task_end(emu, tasks, th, get_u32(ev->payload), get_u32(ev->payload + 4));
	if (err)
		return err;
	result = channel_pop(emu, th, action->channel, action->value);
	if (result != CHANNEL_OK)
		return emu_refuse_channel(emu, result, th, action->channel, action->value);
	return clear(emu, first, th);
}

static int pause_task(struct emulator *emu, struct thread *th, const struct event *ev,
		      const struct action *action)
{
	const struct model_state *state = state_of(emu);
	const struct nosv *nosv = state->data;
	int err;

	(void)action;
	if (ev->payload_size < 8)
		return refuse_size(emu, ev);
	err = task_pause(emu, nosv->tasks, th, get_u32(ev->payload), get_u32(ev->payload + 4));
	return err ? err : clear(emu, state->first_channel, th);
}

static int resume(struct emulator *emu, struct thread *th, const struct event *ev,
		  const struct action *action)
{
	const struct model_state *state = state_of(emu);
	const struct nosv *nosv = state->data;
	int err;

	(void)action;
	if (ev->payload_size < 8)
		return refuse_size(emu, ev);
	err = task_resume(emu, nosv->tasks, th, get_u32(ev->payload), get_u32(ev->payload + 4));
	return err ? err : show(emu, state->first_channel, th, task_top(nosv->tasks, th));
}

static int counters(struct emulator *emu, struct thread *th, const struct event *ev,
		    const struct action *action)
{
	const struct nosv *nosv = state_of(emu)->data;

	(void)action;
	return hwc_event(&nosv->hwc, emu, th, ev);
}

static const struct model_event events[] = {
	{"VYc", true, create_type}, {"VTc", false, create_task}, {"VTC", false, create_task},
	{"VTx", false, execute},    {"VTp", false, pause_task},	 {"VTr", false, resume},
	{"VTe", false, end},	    {"VWC", true, counters},
};

/* ---- hooks ---- */

static int metadata(struct emulator *emu, struct model_state *state, const struct json *meta,
		    size_t stream)
{
	const char *path = emu_stream_name(emu, stream);
	const struct json *can = json_get(meta, "nosv.can_breakdown");
	struct nosv *nosv = state->data;

	if (!nosv)
		nosv = state->data = calloc(1, sizeof(*nosv));
	if (!nosv)
		return model_complain(state, "out of memory (for the model nosv)");
	if (state->complaint)
		return -EINVAL;
	if (emu->opt->breakdown && !json_is_bool(can))
		return model_complain(state,
				      "%s: nosv.can_breakdown is %s: -b needs true or false in "
				      "each stream",
				      path, can ? "not a boolean" : "missing");
	if (!json_bool(can))
		state->no_breakdown = true;
	return hwc_declare(&nosv->hwc, state, meta, path);
}

static int prepare(struct emulator *emu, struct model_state *state)
{
	struct nosv *nosv = state->data;

	if (!nosv)
		nosv = state->data = calloc(1, sizeof(*nosv));
	if (!nosv) {
		log_no_memory("for the model nosv");
		return -ENOMEM;
	}
	if (emu->opt->breakdown && state->no_breakdown)
		log_warn("no nosv-breakdown: nosv.can_breakdown is false in some stream");
	return hwc_prepare(&nosv->hwc, emu);
}

static int start(struct emulator *emu, struct model_state *state)
{
	struct nosv *nosv = state->data;

	nosv->tasks = tasks_new(emu);
	return nosv->tasks ? 0 : -ENOMEM;
}

static int describe(struct emulator *emu, struct model_state *state)
{
	const struct nosv *nosv = state->data;

	return tasks_describe(emu, nosv->tasks, state->first_channel + TYPE);
}

static void close_nosv(struct model_state *state)
{
	struct nosv *nosv = state->data;

	if (!nosv)
		return;
	hwc_fini(&nosv->hwc);
	tasks_free(nosv->tasks);
	free(nosv);
}

const struct model model_nosv = {
	.name = "nosv",
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.events = events,
	.nevents = sizeof(events) / sizeof(events[0]),
	.lint_channel = SUBSYSTEM,
	.lint = "subsystems",
	.breakdown = &breakdown,
	.metadata = metadata,
	.prepare = prepare,
	.start = start,
	.describe = describe,
	.close = close_nosv,
};
