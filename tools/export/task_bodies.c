/* SPDX-License-Identifier: MIT */
#include "tools/export/task_bodies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/text.h"

enum task_step { STEP_TYPE, STEP_CREATE, STEP_BEGIN, STEP_END };

static const struct task_event {
	uint32_t mcv;
	enum task_step step;
	bool body;    /* the second argument of the body's begin or end */
	bool sharing; /* a worksharing: the argument is its type */
} events[] = {
	{MCV('V', 'Y', 'c'), STEP_TYPE},
	{MCV('V', 'T', 'c'), STEP_CREATE},
	{MCV('V', 'T', 'C'), STEP_CREATE},
	{MCV('V', 'T', 'x'), STEP_BEGIN, .body = true},
	{MCV('V', 'T', 'r'), STEP_BEGIN, .body = true},
	{MCV('V', 'T', 'p'), STEP_END, .body = true},
	{MCV('V', 'T', 'e'), STEP_END, .body = true},
	{MCV('6', 'Y', 'c'), STEP_TYPE},
	{MCV('6', 'T', 'c'), STEP_CREATE},
	{MCV('6', 'T', 'x'), STEP_BEGIN},
	{MCV('6', 'T', 'r'), STEP_BEGIN},
	{MCV('6', 'T', 'p'), STEP_END},
	{MCV('6', 'T', 'e'), STEP_END},
	{MCV('P', 'O', 'c'), STEP_TYPE},
	{MCV('P', 'P', 'c'), STEP_CREATE},
	{MCV('P', 'P', 'x'), STEP_BEGIN},
	{MCV('P', 'P', 'e'), STEP_END},
	{MCV('P', 'Q', 'x'), STEP_BEGIN, .sharing = true},
	{MCV('P', 'Q', 'e'), STEP_END, .sharing = true},
};

#define SHARING (1ll << 62) /* in the number of a worksharing, beside those of bodies */

static struct hash_key key_of(const struct task_bodies *t, uint32_t stream, const struct event *ev,
			      uint32_t number)
{
	return (struct hash_key){
		.a = t->subjects->threads[stream].process, .b = number, .c = ev->model};
}

static int add_type(struct task_bodies *t, uint32_t stream, const struct event *ev)
{
	const char *text = (const char *)ev->payload + sizeof(uint32_t);
	size_t size = strnlen(text, ev->payload_size - sizeof(uint32_t));
	size_t room = text_escape(NULL, 0, text, size) + 1;
	uint32_t *at = hash_at(&t->types, key_of(t, stream, ev, get_u32(ev->payload)));
	char **label;

	if (!at)
		return -ENOMEM;
	if (*at != HASH_NONE)
		return TASK_NOTHING;
	label = ARRAY_ADD(t->labels, t->nlabels);
	if (!label)
		return -ENOMEM;
	*label = malloc(room);
	if (!*label)
		return -ENOMEM;
	text_escape(*label, room, text, size);
	*at = (uint32_t)(t->nlabels - 1);
	return TASK_NOTHING;
}

static int add_task(struct task_bodies *t, uint32_t stream, const struct event *ev)
{
	uint32_t *at, type = get_u32(ev->payload + sizeof(uint32_t));

	if (type == HASH_NONE)
		return TASK_NOTHING;
	at = hash_at(&t->tasks, key_of(t, stream, ev, get_u32(ev->payload)));
	if (!at)
		return -ENOMEM;
	*at = type;
	return TASK_NOTHING;
}

static void read_body(const struct task_bodies *t, uint32_t stream, const struct event *ev,
		      const struct task_event *event, struct task_body *body)
{
	uint32_t number = get_u32(ev->payload), label;
	uint32_t type =
		event->sharing ? number : hash_get(&t->tasks, key_of(t, stream, ev, number));

	*body = (struct task_body){.task = event->sharing ? TASK_UNKNOWN : (int64_t)number,
				   .type = type == HASH_NONE ? TASK_UNKNOWN : (int64_t)type,
				   .body = TASK_UNKNOWN,
				   .number = event->sharing ? SHARING | number : number,
				   .label = event->sharing ? "worksharing" : "task"};
	if (event->body && ev->payload_size >= 2 * sizeof(uint32_t)) {
		body->body = get_u32(ev->payload + sizeof(uint32_t));
		body->number |= (body->body & INT32_MAX) << 32;
	}
	label = hash_get(&t->types, key_of(t, stream, ev, type));
	if (label != HASH_NONE && *t->labels[label])
		body->label = t->labels[label];
}

int task_bodies_take(struct task_bodies *t, uint32_t stream, const struct event *ev,
		     struct task_body *body)
{
	const struct task_event *event = NULL;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && !event; i++)
		if (events[i].mcv == event_mcv(ev))
			event = &events[i];
	if (!event || ev->payload_size < sizeof(uint32_t) * (event->step == STEP_CREATE ? 2 : 1))
		return TASK_NOTHING;
	switch (event->step) {
	case STEP_TYPE:
		return add_type(t, stream, ev);
	case STEP_CREATE:
		return add_task(t, stream, ev);
	default:
		read_body(t, stream, ev, event, body);
		return event->step == STEP_BEGIN ? TASK_BEGINS : TASK_ENDS;
	}
}

void task_bodies_fini(struct task_bodies *t)
{
	for (size_t i = 0; i < t->nlabels; i++)
		free(t->labels[i]);
	free(t->labels);
	hash_free(&t->types);
	hash_free(&t->tasks);
}
