/* SPDX-License-Identifier: MIT */
/* task: types, tasks and bodies (see task.h). */
#include "emu/task/task.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "trace/base/array.h"
#include "trace/base/log.h"

#define LABEL_MAX 512 /* bytes, the NUL included */
#define GROUP	  8   /* neighbouring ids with the same hash */
#define FIRST	  256 /* entries of a table; a power of two */

/* ---- tables ---- */

static uint64_t seed;

void task_table_seed(void)
{
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = 0x9e3779b97f4a7c15ULL; /* no entropy yet, early after boot */
}

/* The entry of the task, or the free entry for it. */
static struct task *place(const struct task_table *table, uint32_t id, uint32_t body)
{
	uint64_t h = ((uint64_t)body << 32 | id / GROUP) ^ seed;
	size_t mask = table->room - 1, i;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
	i = ((h ^ h >> 32) * GROUP + id % GROUP) & mask;
	while (table->tasks[i].used && (table->tasks[i].id != id || table->tasks[i].body != body))
		i = (i + 1) & mask;
	return &table->tasks[i];
}

struct task *task_table_find(const struct task_table *table, uint32_t id, uint32_t body)
{
	struct task *task = table->room ? place(table, id, body) : NULL;

	return task && task->used ? task : NULL;
}

static bool grow(struct task_table *table)
{
	struct task_table larger = {.n = table->n, .room = table->room ? 2 * table->room : FIRST};

	larger.tasks = calloc(larger.room, sizeof(*larger.tasks));
	if (!larger.tasks)
		return false;
	for (size_t i = 0; i < table->room; i++) {
		const struct task *task = &table->tasks[i];

		if (task->used)
			*place(&larger, task->id, task->body) = *task;
	}
	free(table->tasks);
	*table = larger;
	return true;
}

struct task *task_table_add(struct task_table *table, uint32_t id, uint32_t body, bool *exists)
{
	struct task *task = table->room ? place(table, id, body) : NULL;

	*exists = task && task->used;
	if (*exists)
		return NULL;
	if (table->n >= table->room / 4 * 3) {
		if (!grow(table))
			return NULL;
		task = place(table, id, body);
	}
	*task = (struct task){.id = id, .body = body, .used = 1};
	table->n++;
	return task;
}

/* ---- all tasks of a model ---- */

static void free_tasks(struct tasks *tasks)
{
	if (!tasks)
		return;
	for (uint32_t i = 0; tasks->spaces && i < tasks->nspaces; i++) {
		free(tasks->spaces[i].tasks.tasks);
		free(tasks->spaces[i].types.tasks);
	}
	for (uint32_t i = 0; tasks->stacks && i < tasks->nstacks; i++)
		free(tasks->stacks[i].bodies);
	for (size_t i = 0; i < tasks->nlabels; i++)
		free(tasks->labels[i].text);
	free(tasks->spaces);
	free(tasks->stacks);
	free(tasks->labels);
	hash_free(&tasks->by_value);
	free(tasks);
}

int tasks_start(struct emulator *emu, struct model_state *state)
{
	struct tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		goto nomem;
	tasks->nspaces = emu->sys.nprocesses;
	tasks->nstacks = emu->sys.nthreads;
	tasks->spaces = calloc(tasks->nspaces + 1ul, sizeof(*tasks->spaces));
	tasks->stacks = calloc(tasks->nstacks + 1ul, sizeof(*tasks->stacks));
	if (!tasks->spaces || !tasks->stacks)
		goto nomem;
	task_table_seed();
	state->tasks = tasks;
	return 0;
nomem:
	free_tasks(tasks);
	return log_no_memory("for the tasks of %" PRIu32 " threads", emu->sys.nthreads);
}

void tasks_close(struct model_state *state)
{
	free_tasks(state->tasks);
}

/* ---- values of labels: the hash lookup2 of Bob Jenkins, of 1996 (public domain) ---- */

struct words {
	uint32_t a, b, c;
};

static void mix(struct words *w)
{
	static const unsigned shifts[3][3] = {{13, 8, 13}, {12, 16, 5}, {3, 10, 15}};

	for (int i = 0; i < 3; i++) {
		w->a = (w->a - w->b - w->c) ^ w->c >> shifts[i][0];
		w->b = (w->b - w->c - w->a) ^ w->a << shifts[i][1];
		w->c = (w->c - w->a - w->b) ^ w->b >> shifts[i][2];
	}
}

/* Up to four bytes as a little-endian word. */
static uint32_t word(const uint8_t *at, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size && i < 4; i++)
		value |= (uint32_t)at[i] << (8 * i);
	return value;
}

static uint32_t lookup2(const char *bytes, size_t size)
{
	struct words w = {0x9e3779b9, 0x9e3779b9, 0xfeedbeef};
	const uint8_t *at = (const uint8_t *)bytes;
	size_t left = size;

	for (; left >= 12; at += 12, left -= 12) {
		w.a += word(at, 4);
		w.b += word(at + 4, 4);
		w.c += word(at + 8, 4);
		mix(&w);
	}
	w.c += (uint32_t)size;
	w.a += word(at, left);
	if (left > 4)
		w.b += word(at + 4, left - 4);
	if (left > 8) /* the lowest byte of c has the length */
		w.c += word(at + 8, left - 8) << 8;
	mix(&w);
	return w.c;
}

uint32_t task_label_value(const char *label, size_t size)
{
	uint32_t value = (lookup2(label, size) + 666) & 0x7fffffff;

	return value < 1000 ? value + 1000 : value;
}

/* ---- types ---- */

/* Keeps the label for the .pcf, once per value. Returns 0 or -ENOMEM. */
static int keep_label(struct tasks *tasks, uint32_t value, const char *text)
{
	uint32_t *at = hash_at(&tasks->by_value, (struct hash_key){.a = value});
	bool taken = at && *at != HASH_NONE;
	struct task_label *label;
	char *copy;

	if (!at)
		return -ENOMEM;
	if (taken && strcmp(tasks->labels[*at].text, text) == 0)
		return 0;
	if (taken && tasks->collides)
		return 0; /* the message at the end shows one collision */
	copy = strdup(text);
	label = copy ? ARRAY_ADD(tasks->labels, tasks->nlabels) : NULL;
	if (!label) {
		free(copy);
		return -ENOMEM;
	}
	*label = (struct task_label){value, copy};
	if (taken) {
		tasks->collides = true;
		tasks->collision[0] = tasks->labels[*at];
		tasks->collision[1] = *label;
	} else {
		*at = (uint32_t)tasks->nlabels - 1;
	}
	return 0;
}

int task_create_type(struct emulator *emu, struct thread *th, const struct event *ev,
		     const struct action *action)
{
	struct tasks *tasks = emu->by_character[ev->model]->tasks;
	struct task_space *space = &tasks->spaces[th->process->index];
	const char *label = (const char *)ev->payload + 4;
	char unlabeled[48];
	struct task *type;
	uint32_t id, value;
	size_t length;
	bool exists;

	(void)action;
	if (ev->payload_size < 5)
		return emu_refuse(emu,
				  "has only %u bytes of data: a task type has a u32 id and a label",
				  ev->payload_size);
	id = get_u32(ev->payload);
	length = strnlen(label, ev->payload_size - 4);
	if (length == ev->payload_size - 4)
		return emu_refuse(emu, "the label of task type %" PRIu32 " has no NUL at its end",
				  id);
	if (length >= LABEL_MAX)
		return emu_refuse(
			emu, "the label of task type %" PRIu32 " has %zu bytes, the maximum is %d",
			id, length, LABEL_MAX - 1);
	if (!id)
		return emu_refuse(emu, "the id of a task type may not be 0");
	if (!length) {
		length = (size_t)snprintf(unlabeled, sizeof(unlabeled),
					  "(unlabeled task type %" PRIu32 ")", id);
		label = unlabeled;
	}
	value = task_label_value(label, length);
	type = task_table_add(&space->types, id, 0, &exists);
	if (exists)
		return emu_refuse(emu, "process %" PRIi32 " has a task type %" PRIu32 " already",
				  th->process->pid, id);
	if (!type || keep_label(tasks, value, label))
		return emu_refuse(emu, "out of memory (for task type %" PRIu32 ")", id);
	type->type = value;
	return 0;
}

uint32_t task_type_value(struct emulator *emu, struct tasks *tasks, const struct thread *th,
			 uint32_t type)
{
	struct task_space *space = &tasks->spaces[th->process->index];
	uint32_t i = type % TYPES_CACHED;
	const struct task *found;

	if (space->cached[i].id == type && space->cached[i].value)
		return space->cached[i].value;
	found = task_table_find(&space->types, type, 0);
	if (found) {
		space->cached[i].id = type;
		space->cached[i].value = found->type;
		return found->type;
	}
	(void)emu_refuse(emu, "process %" PRIi32 " has no task type %" PRIu32, th->process->pid,
			 type);
	return 0;
}

int tasks_describe(struct emulator *emu, struct model_state *state)
{
	const struct tasks *tasks = state->tasks;
	struct channel *channel =
		&emu->channels[state->first_channel + state->model->types_channel];

	for (size_t i = 0; i < tasks->nlabels; i++) {
		const struct task_label *label = &tasks->labels[i];

		if (tasks->collides && label->text == tasks->collision[1].text)
			continue;
		if (channel_add_label(channel, label->value, label->text))
			return log_no_memory("for the labels of task types");
	}
	if (!tasks->collides)
		return 0;
	log_error("the task types '%s' and '%s' have the same value %" PRIu32
		  " in '%s': rename one",
		  tasks->collision[0].text, tasks->collision[1].text, tasks->collision[0].value,
		  channel->page->label);
	return -EINVAL;
}

/* ---- tasks and bodies ---- */

int task_create(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
		uint32_t type, uint8_t flags)
{
	struct task_space *space = &tasks->spaces[th->process->index];
	uint32_t value = task_type_value(emu, tasks, th, type);
	struct task *task;
	bool exists;

	if (!value)
		return -EINVAL;
	task = task_table_add(&space->tasks, id, 0, &exists);
	if (exists)
		return emu_refuse(emu, "process %" PRIi32 " has a task %" PRIu32 " already",
				  th->process->pid, id);
	if (!task)
		return emu_refuse(emu, "out of memory (for task %" PRIu32 ")", id);
	task->type = value;
	task->flags = flags;
	task->state = BODY_CREATED;
	return 0;
}

/* The entry of a body, created if its task is parallel; NULL after emu_refuse(). */
static struct task *find_body(struct emulator *emu, struct task_space *space,
			      const struct thread *th, uint32_t id, uint32_t body)
{
	struct task *task = task_table_find(&space->tasks, id, 0), *found;
	uint32_t type;
	bool exists;

	if (!task) {
		(void)emu_refuse(emu, "process %" PRIi32 " has no task %" PRIu32, th->process->pid,
				 id);
		return NULL;
	}
	if (!(task->flags & TASK_PARALLEL)) {
		if (!body)
			return task;
		(void)emu_refuse(
			emu, "task %" PRIu32 " is not parallel: its only body is 0, not %" PRIu32,
			id, body);
		return NULL;
	}
	if (!body) {
		(void)emu_refuse(
			emu, "task %" PRIu32 " is parallel: its bodies have ids from 1, not 0", id);
		return NULL;
	}
	found = task_table_find(&space->tasks, id, body);
	if (found)
		return found;
	type = task->type;
	found = task_table_add(&space->tasks, id, body, &exists);
	if (!found) {
		(void)emu_refuse(emu, "out of memory (for body %" PRIu32 " of task %" PRIu32 ")",
				 body, id);
		return NULL;
	}
	found->type = type;
	found->flags = TASK_PARALLEL;
	found->state = BODY_CREATED;
	return found;
}

int task_execute(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
		 uint32_t body)
{
	struct task_space *space = &tasks->spaces[th->process->index];
	struct task *entry = find_body(emu, space, th, id, body);
	struct body_stack *stack = &tasks->stacks[th->index];
	const struct body *top = task_top(tasks, th);
	struct body *bodies;

	if (!entry)
		return -EINVAL;
	if (entry->state == BODY_ON_STACK)
		return emu_refuse(emu,
				  "body %" PRIu32 " of task %" PRIu32 " is running or paused: it "
				  "cannot be executed",
				  body, id);
	if (entry->state == BODY_DEAD && !(entry->flags & TASK_AGAIN))
		return emu_refuse(emu,
				  "body %" PRIu32 " of task %" PRIu32 " has ended and may not run "
				  "again",
				  body, id);
	if (top && top->running && !(top->flags & TASK_RELAXED))
		return emu_refuse(emu,
				  "task %" PRIu32 " cannot run over task %" PRIu32 ", which is "
				  "running on thread %" PRIi32,
				  id, top->task, th->tid);
	if (top && top->running && !tasks->nested) {
		tasks->nested = true;
		log_warn("%s: task %" PRIu32 " runs over task %" PRIu32
			 ", which is running on thread %" PRIi32 ": this is deprecated",
			 emu_stream_name(emu, th->stream), id, top->task, th->tid);
	}
	bodies = stack_more(stack->bodies, stack->n, &stack->room, sizeof(*bodies));
	if (!bodies)
		return emu_refuse(emu, "out of memory (for the tasks of thread %" PRIi32 ")",
				  th->tid);
	entry->state = BODY_ON_STACK;
	stack->bodies = bodies;
	bodies[stack->n++] =
		(struct body){id, body, entry->type, entry->flags, true, space->tasks.room, entry};
	return 0;
}

/* The top of the stack if it is this body; else NULL after emu_refuse(). */
static struct body *top_body(struct emulator *emu, struct tasks *tasks, const struct thread *th,
			     uint32_t id, uint32_t body, const char *verb)
{
	struct body *top = (struct body *)task_top(tasks, th);

	if (__builtin_expect(top && top->task == id && top->body == body, 1))
		return top;
	if (top)
		(void)emu_refuse(emu,
				 "thread %" PRIi32 " cannot %s body %" PRIu32 " of task %" PRIu32
				 ": on top of its stack is body %" PRIu32 " of task %" PRIu32,
				 th->tid, verb, body, id, top->body, top->task);
	else
		(void)emu_refuse(emu,
				 "thread %" PRIi32 " cannot %s body %" PRIu32 " of task %" PRIu32
				 ": it has executed no task that has not ended",
				 th->tid, verb, body, id);
	return NULL;
}

static int refuse_state(struct emulator *emu, const struct body *top, const char *state)
{
	return emu_refuse(emu, "body %" PRIu32 " of task %" PRIu32 " %s", top->body, top->task,
			  state);
}

int task_pause(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
	       uint32_t body)
{
	struct body *top = top_body(emu, tasks, th, id, body, "pause");

	if (!top)
		return -EINVAL;
	if (!top->running)
		return refuse_state(emu, top, "is paused already");
	if (!(top->flags & TASK_PAUSES))
		return refuse_state(emu, top, "may not pause");
	top->running = false;
	return 0;
}

int task_resume(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
		uint32_t body)
{
	struct body *top = top_body(emu, tasks, th, id, body, "resume");

	if (!top)
		return -EINVAL;
	if (top->running)
		return refuse_state(emu, top, "is running: only a paused one can be resumed");
	top->running = true;
	return 0;
}

int task_end(struct emulator *emu, struct tasks *tasks, struct thread *th, uint32_t id,
	     uint32_t body)
{
	const struct task_space *space = &tasks->spaces[th->process->index];
	const struct body *top = top_body(emu, tasks, th, id, body, "end");
	struct task *entry;

	if (!top)
		return -EINVAL;
	if (!top->running)
		return refuse_state(emu, top, "is paused: it must be resumed before it ends");
	tasks->stacks[th->index].n--;
	entry = top->entry;
	if (top->room != space->tasks.room)
		entry = task_table_find(&space->tasks, id, body);
	if (entry)
		entry->state = BODY_DEAD;
	return 0;
}
