/* SPDX-License-Identifier: MIT */
/*
 * nosv: subsystems of the nOS-V runtime, idle workers, tasks with parallel bodies, and
 * hardware counters: a channel for each one (event type 200 + i), declared in nosv.hwc.
 * Specification: models.md 5.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/model.h"
#include "emu/task/task.h"
#include "emu/track.h"
#include "trace/base/log.h"

enum { BODY, TASK, TYPE, APP, SUBSYSTEM, RANK, IDLE };

#define IN_BODY 11

enum { PROGRESSING = 100, RESTING = 101 };

#define TASK_CHANNEL(number, again, text, is_brief)                                                \
	CHANNEL_PAGE(number, text, SINGLE, RUNNING, SKIP_EMPTY, .repeats = again, .brief = is_brief)

static const struct channel_page channels[] = {
	[BODY] = TASK_CHANNEL(15, true, "nOS-V task body ID", false),
	[TASK] = TASK_CHANNEL(10, false, "nOS-V task ID", false),
	[TYPE] = TASK_CHANNEL(11, true, "nOS-V task type", false),
	[APP] = TASK_CHANNEL(12, true, "nOS-V task AppID", true),
	[SUBSYSTEM] = CHANNEL_PAGE(13, "nOS-V subsystem", STACK, ACTIVE, SKIP_EMPTY,
				   .name = "subsystem", .repeats = true),
	[RANK] = TASK_CHANNEL(14, true, "nOS-V task MPI rank", true),
	[IDLE] = CHANNEL_PAGE(16, "nOS-V idle state", SINGLE, RUNNING, SKIP_EMPTY, .name = "idle",
			      .initial = PROGRESSING, .cpu_default = RESTING, .brief = true),
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

#define HWC_MAX	       100
#define HWC_TYPE_FIRST 200

struct nosv {
	uint32_t nhwc; /* hardware counters */
	char *hwc_names[HWC_MAX];
	struct channel_page hwc_pages[HWC_MAX];
	uint32_t first_hwc; /* channel */
};

/* ---- tasks ---- */

static int refuse_size(struct emulator *emu, const struct event *ev)
{
	return emu_refuse(emu, "needs 8 bytes of payload (u32 task, u32 %s), and has %u",
			  ev->value == 'c' || ev->value == 'C' ? "type" : "body", ev->payload_size);
}

/* VTc, VTC */
static int create_task(struct emulator *emu, struct thread *th, const struct event *ev,
		       const struct action *action)
{
	(void)action;
	if (ev->payload_size < 8)
		return refuse_size(emu, ev);
	return task_create(emu, emu->by_character['V']->tasks, th, get_u32(ev->payload),
			   get_u32(ev->payload + 4),
			   ev->value == 'C' ? TASK_PARALLEL : TASK_AGAIN | TASK_PAUSES);
}

/* Sets the channels of the task to the running body. */
static int show(struct emulator *emu, struct thread *th, const struct body *body)
{
	uint32_t first = emu->by_character['V']->first_channel;
	const struct process *process = th->process;
	int err;

	if (!body->task)
		return emu_refuse(emu, "a task with the id 0 cannot run");
	(void)channel_set(emu, th, first + BODY, body->body ? body->body : 1);
	err = emu_put(emu, th, first + TASK, 1, body->task);
	if (err)
		return err;
	(void)channel_set(emu, th, first + TYPE, body->type);
	(void)channel_set(emu, th, first + APP, process->app_id);
	if (process->rank >= 0)
		(void)channel_set(emu, th, first + RANK, process->rank + 1ll);
	return 0;
}

/* Empties the channels of the task: no body runs. */
static int clear(struct emulator *emu, struct thread *th)
{
	uint32_t first = emu->by_character['V']->first_channel;
	int err;

	(void)channel_clear(emu, th, first + BODY);
	err = emu_put(emu, th, first + TASK, 0, 0);
	if (err)
		return err;
	(void)channel_clear(emu, th, first + TYPE);
	(void)channel_clear(emu, th, first + APP);
	if (th->process->rank >= 0)
		(void)channel_clear(emu, th, first + RANK);
	return 0;
}

/* VTx VTp VTr VTe */
static int task(struct emulator *emu, struct thread *th, const struct event *ev,
		const struct action *action)
{
	struct tasks *tasks = emu->by_character['V']->tasks;
	uint32_t id, body;
	int err;

	if (ev->payload_size < 8)
		return refuse_size(emu, ev);
	id = get_u32(ev->payload);
	body = get_u32(ev->payload + 4);
	switch (ev->value) {
	case 'x':
		err = task_execute(emu, tasks, th, id, body);
		if (err)
			return err;
		err = emu_push(emu, th, action->channel, action->value);
		return err ? err : show(emu, th, task_top(tasks, th));
	case 'r':
		err = task_resume(emu, tasks, th, id, body);
		return err ? err : show(emu, th, task_top(tasks, th));
	case 'p':
		err = task_pause(emu, tasks, th, id, body);
		return err ? err : clear(emu, th);
	default:
		err = task_end(emu, tasks, th, id, body);
		if (err)
			return err;
		err = emu_pop(emu, th, action->channel, action->value);
		return err ? err : clear(emu, th);
	}
}

/* ---- hardware counters ---- */

/* The key as an index below n, or -1. */
static int parse_index(const char *key, size_t n)
{
	char *end;
	long i;

	if (*key < '0' || *key > '9')
		return -1;
	i = strtol(key, &end, 10);
	return *end || i < 0 || (size_t)i >= n ? -1 : (int)i;
}

/* Adds the declarations of a stream, which must be equal in all streams. */
static int declare_counters(struct nosv *nosv, struct model_state *state, const struct json *meta,
			    const char *path)
{
	const struct json *object = json_get(meta, "nosv.hwc"), *node;
	const char *names[HWC_MAX] = {NULL};
	size_t n;

	if (!json_is_object(object) || !(n = json_count(object)))
		return 0;
	if (n > HWC_MAX)
		return model_complain(state, "%s: nosv.hwc has %zu counters, the maximum is %d",
				      path, n, HWC_MAX);
	if (nosv->nhwc && nosv->nhwc != n)
		return model_complain(state,
				      "%s: nosv.hwc has %zu counters, but %" PRIu32 " in another "
				      "stream",
				      path, n, nosv->nhwc);
	for (node = json_first(object); node; node = json_next(node)) {
		int i = parse_index(json_name(node), n);
		const char *name = json_string(json_key(node, "name"));

		if (i < 0)
			return model_complain(state,
					      "%s: nosv.hwc has the key '%s': the %zu counters "
					      "have the keys 0 to %zu",
					      path, json_name(node), n, n - 1);
		if (!json_is_object(node) || !name)
			return model_complain(state,
					      "%s: nosv.hwc.%d must be an object with the string "
					      "name",
					      path, i);
		if (names[i])
			return model_complain(state, "%s: nosv.hwc has the index %d twice", path,
					      i);
		names[i] = name;
	}
	/* n different indices below n: each has a name */
	for (size_t i = 0; i < n; i++) { /* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker) */
		if (!nosv->hwc_names[i])
			nosv->hwc_names[i] = strdup(names[i]);
		if (!nosv->hwc_names[i])
			return model_complain(state, "%s: out of memory (for counters)", path);
		if (strcmp(nosv->hwc_names[i], names[i]) != 0)
			return model_complain(state,
					      "%s: the counter nosv.hwc.%zu is '%s', but '%s' in "
					      "another stream",
					      path, i, names[i], nosv->hwc_names[i]);
	} /* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
	nosv->nhwc = (uint32_t)n;
	return 0;
}

/* Adds a channel for each counter and writes its configurations. */
static int prepare_counters(struct nosv *nosv, struct emulator *emu)
{
	for (uint32_t i = 0; i < nosv->nhwc; i++) {
		int n, err;

		nosv->hwc_pages[i] = (struct channel_page)CHANNEL_PAGE(
			HWC_TYPE_FIRST + i, nosv->hwc_names[i], SINGLE, ACTIVE, SKIP_EMPTY,
			.repeats = true, .alone = true, .brief = true);
		n = model_add_channel(emu, &nosv->hwc_pages[i]);
		if (n < 0)
			return n;
		if (i == 0)
			nosv->first_hwc = (uint32_t)n;
		err = cfg_write_counter(emu, HWC_TYPE_FIRST + i, nosv->hwc_names[i]);
		if (err)
			return err;
	}
	return 0;
}

/* VWC */
static int counters(struct emulator *emu, struct thread *th, const struct event *ev,
		    const struct action *action)
{
	const struct nosv *nosv = emu->by_character['V']->data;

	(void)action;
	if (!nosv->nhwc)
		return emu_refuse(emu,
				  "has values of hardware counters, but no stream declares any in "
				  "nosv.hwc");
	if (ev->payload_size != 8 * nosv->nhwc)
		return emu_refuse(emu, "has %u bytes of data: %" PRIu32 " counters take %" PRIu32,
				  ev->payload_size, nosv->nhwc, 8 * nosv->nhwc);
	for (uint32_t i = 0; i < nosv->nhwc; i++)
		(void)channel_set(emu, th, nosv->first_hwc + i, get_i64(ev->payload + 8ul * i));
	return 0;
}

static const struct model_event events[] = {
	{"VYc", true, task_create_type},
	{"VTc", false, create_task},
	{"VTC", false, create_task},
	{"VTx", false, task},
	{"VTp", false, task},
	{"VTr", false, task},
	{"VTe", false, task},
	{"VWC", true, counters},
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
	return declare_counters(nosv, state, meta, path);
}

static int prepare(struct emulator *emu, struct model_state *state)
{
	struct nosv *nosv = state->data;

	if (!nosv)
		nosv = state->data = calloc(1, sizeof(*nosv));
	if (!nosv)
		return log_no_memory("for the model nosv");
	if (emu->opt->breakdown && state->no_breakdown)
		log_warn("no nosv-breakdown: nosv.can_breakdown is false in some stream");
	return prepare_counters(nosv, emu);
}

static void close_nosv(struct model_state *state)
{
	struct nosv *nosv = state->data;

	tasks_close(state);
	for (uint32_t i = 0; nosv && i < HWC_MAX; i++)
		free(nosv->hwc_names[i]);
	free(nosv);
}

const struct model model_nosv = {
	.name = "nosv",
	CHANNELS(channels),
	EVENTS(events),
	.lint_channel = SUBSYSTEM,
	.lint = "subsystems",
	.breakdown = &breakdown,
	.types_channel = TYPE,
	.metadata = metadata,
	.prepare = prepare,
	.start = tasks_start,
	.describe = tasks_describe,
	.close = close_nosv,
};
