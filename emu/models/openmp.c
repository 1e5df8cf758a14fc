/* SPDX-License-Identifier: MIT */
/*
 * openmp: subsystems of the runtime, tasks and worksharings with labels.
 * Specification: models.md 7.
 */
#include <errno.h>

#include "emu/model.h"
#include "emu/task/task.h"
#include "emu/track.h"

enum { SUBSYSTEM, LABEL, TASK };

#define OPENMP_CHANNEL(number, catalog_name, text)                                                 \
	CHANNEL_PAGE(number, text, STACK, ACTIVE, SKIP_EMPTY, .name = catalog_name, .repeats = true)

static const struct channel_page channels[] = {
	[SUBSYSTEM] = OPENMP_CHANNEL(50, "subsystem", "OpenMP subsystem"),
	[LABEL] = OPENMP_CHANNEL(51, "label", "OpenMP label"),
	[TASK] = OPENMP_CHANNEL(52, "task", "OpenMP task ID"),
};

static const struct breakdown_page breakdown = {
	.file = "openmp-breakdown",
	.type = 53,
	.label = "CPU: OpenMP Runtime/Label breakdown",
	.two_inputs = true,
	.subsystem = SUBSYSTEM,
	.tasks = LABEL,
};

static int create_task(struct emulator *emu, struct thread *th, const struct event *ev,
		       const struct action *action)
{
	(void)action;
	if (ev->payload_size != 8)
		return emu_refuse(emu, "has 8 bytes of payload (u32 task, u32 type), not %u",
				  ev->payload_size);
	if (!get_u32(ev->payload))
		return emu_refuse(emu, "the id of a task may not be 0");
	return task_create(emu, emu->by_character['P']->tasks, th, get_u32(ev->payload),
			   get_u32(ev->payload + 4), TASK_AGAIN | TASK_RELAXED);
}

/* Pushes or pops one value in a channel of the model. */
static int push_or_pop(struct emulator *emu, struct thread *th, uint32_t local, bool push,
		       int64_t value)
{
	uint32_t channel = emu->by_character['P']->first_channel + local;

	return push ? emu_push(emu, th, channel, value) : emu_pop(emu, th, channel, value);
}

static int check_id(struct emulator *emu, const struct event *ev, uint32_t *id)
{
	if (ev->payload_size < 4)
		return emu_refuse(emu, "needs 4 bytes of payload for an id, and has %u",
				  ev->payload_size);
	*id = get_u32(ev->payload);
	return *id ? 0 : emu_refuse(emu, "the id may not be 0");
}

/* PPx, PPe */
static int task(struct emulator *emu, struct thread *th, const struct event *ev,
		const struct action *action)
{
	struct tasks *tasks = emu->by_character['P']->tasks;
	bool begins = ev->value == 'x';
	const struct body *top;
	uint32_t id = 0, type;
	int err = check_id(emu, ev, &id);

	(void)action;
	if (err)
		return err;
	top = task_top(tasks, th);
	type = top ? top->type : 0;
	err = begins ? task_execute(emu, tasks, th, id, 0) : task_end(emu, tasks, th, id, 0);
	if (err)
		return err;
	if (begins)
		type = task_top(tasks, th)->type;
	err = push_or_pop(emu, th, TASK, begins, id);
	return err ? err : push_or_pop(emu, th, LABEL, begins, type);
}

/* PQx, PQe */
static int worksharing(struct emulator *emu, struct thread *th, const struct event *ev,
		       const struct action *action)
{
	uint32_t id = 0, value;
	int err = check_id(emu, ev, &id);

	(void)action;
	if (err)
		return err;
	value = task_type_value(emu, emu->by_character['P']->tasks, th, id);
	return value ? push_or_pop(emu, th, LABEL, ev->value == 'x', value) : -EINVAL;
}

static const struct model_event events[] = {
	{"POc", true, task_create_type},
	{"PPc", false, create_task},
	{"PPx", false, task},
	{"PPe", false, task},
	{"PQx", false, worksharing},
	{"PQe", false, worksharing},
};

const struct model model_openmp = {
	.name = "openmp",
	CHANNELS(channels),
	EVENTS(events),
	.lint_channel = SUBSYSTEM,
	.lint = "subsystems",
	.breakdown = &breakdown,
	.types_channel = LABEL,
	.start = tasks_start,
	.describe = tasks_describe,
	.close = tasks_close,
};
