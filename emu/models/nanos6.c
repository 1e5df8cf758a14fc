/* SPDX-License-Identifier: MIT */
/*
 * nanos6: subsystems of the runtime, types of its threads, idle workers, tasks.
 * Specification: models.md 6.
 */
#include "emu/model.h"
#include "emu/task/task.h"
#include "emu/track.h"

enum { TASK, TYPE, SUBSYSTEM, RANK, THREAD_TYPE, IDLE };

#define IN_BODY 1

enum { PROGRESSING = 100, RESTING = 101 };

static const struct channel_page channels[] = {
	[TASK] = CHANNEL_PAGE(35, "Nanos6 task ID", SINGLE, RUNNING, SKIP),
	[TYPE] = CHANNEL_PAGE(36, "Nanos6 task type", SINGLE, RUNNING, ALL, .repeats = true),
	[SUBSYSTEM] =
		CHANNEL_PAGE(37, "Nanos6 subsystem", STACK, ACTIVE, SKIP, .name = "subsystem"),
	[RANK] = CHANNEL_PAGE(38, "Nanos6 task MPI rank", SINGLE, RUNNING, ALL, .repeats = true,
			      .brief = true),
	[THREAD_TYPE] =
		CHANNEL_PAGE(39, "Nanos6 thread type", STACK, ANY, SKIP, .name = "thread type"),
	[IDLE] = CHANNEL_PAGE(40, "Nanos6 idle state", SINGLE, RUNNING, SKIP, .name = "idle",
			      .initial = PROGRESSING, .cpu_default = RESTING, .brief = true),
};

static const struct breakdown_page breakdown = {
	.file = "nanos6-breakdown",
	.type = 41,
	.label = "CPU: Nanos6 Runtime/Idle/Task breakdown",
	.subsystem = SUBSYSTEM,
	.tasks = TYPE,
	.idle = IDLE,
	.body = IN_BODY,
};

static int create_task(struct emulator *emu, struct thread *th, const struct event *ev,
		       const struct action *action)
{
	(void)action;
	if (ev->payload_size != 8)
		return emu_refuse(emu, "has 8 bytes of payload (u32 task, u32 type), not %u",
				  ev->payload_size);
	return task_create(emu, emu->by_character['6']->tasks, th, get_u32(ev->payload),
			   get_u32(ev->payload + 4), TASK_PAUSES | TASK_RELAXED);
}

/* Sets the channels of the task to a body, or empties them (NULL). */
static int show(struct emulator *emu, struct thread *th, const struct body *body)
{
	uint32_t first = emu->by_character['6']->first_channel;
	int32_t rank = th->process->rank;
	uint8_t has = body != NULL;
	int err;

	if (body && !body->task)
		return emu_refuse(emu, "a task with the id 0 cannot be shown");
	err = emu_put(emu, th, first + TASK, has, body ? body->task : 0);
	if (err)
		return err;
	(void)channel_put(emu, th, first + TYPE, has, body ? body->type : 0);
	if (rank >= 0)
		(void)channel_put(emu, th, first + RANK, has, body ? rank + 1ll : 0);
	return 0;
}

/* 6Tx 6Tp 6Tr 6Te */
static int task(struct emulator *emu, struct thread *th, const struct event *ev,
		const struct action *action)
{
	struct tasks *tasks = emu->by_character['6']->tasks;
	uint32_t subsystem = emu->by_character['6']->first_channel + SUBSYSTEM, id;
	const struct body *top;
	int err;

	(void)action;
	if (ev->payload_size < 4)
		return emu_refuse(emu, "needs 4 bytes of payload for the id of a task, and has %u",
				  ev->payload_size);
	id = get_u32(ev->payload);
	switch (ev->value) {
	case 'x':
		err = task_execute(emu, tasks, th, id, 0);
		if (err)
			return err;
		err = emu_push(emu, th, subsystem, IN_BODY);
		break;
	case 'p':
		err = task_pause(emu, tasks, th, id, 0);
		break;
	case 'r':
		err = task_resume(emu, tasks, th, id, 0);
		break;
	default:
		err = task_end(emu, tasks, th, id, 0);
		if (err)
			return err;
		err = emu_pop(emu, th, subsystem, IN_BODY);
	}
	if (err)
		return err;
	top = task_top(tasks, th);
	return show(emu, th, top && top->running ? top : NULL);
}

static const struct model_event events[] = {
	{"6Yc", true, task_create_type},
	{"6Tc", false, create_task},
	{"6Tx", false, task},
	{"6Tp", false, task},
	{"6Tr", false, task},
	{"6Te", false, task},
	{"6TC", false, model_obsolete},
};

const struct model model_nanos6 = {
	.name = "nanos6",
	CHANNELS(channels),
	EVENTS(events),
	.lint_channel = SUBSYSTEM,
	.lint = "subsystems",
	.breakdown = &breakdown,
	.types_channel = TYPE,
	.start = tasks_start,
	.describe = tasks_describe,
	.close = tasks_close,
};
