/* SPDX-License-Identifier: MIT */
#include "trace/analysis/function_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

/* A state of a model: its stack and its value there. Several events may enter it. */
static int64_t state_of(const struct catalog_event *event)
{
	return (int64_t)event->channel[0] << 32 | event->value;
}

enum catalog_action function_event(const struct event *ev, struct function *call)
{
	const struct catalog_event *event;

	if (ev->model == 'O') {
		if (ev->category != 'M' || ev->payload_size < 12)
			return ACTION_NONE;
		call->value = get_i64(ev->payload);
		call->type = get_i32(ev->payload + 8);
		/* types below 0 are those of models; no mark has one */
		if (call->type < 0 || call->type == MARK_TYPE_LOST ||
		    (ev->value != '[' && ev->value != ']'))
			return ACTION_NONE;
		return ev->value == '[' ? ACTION_PUSH : ACTION_POP;
	}
	event = ev->model == 'K' ? NULL : catalog_find(event_mcv(ev), NULL);
	if (!event || !event->label || !event->value)
		return ACTION_NONE;
	call->value = state_of(event);
	call->type = -ev->model;
	return event->action;
}

int64_t function_number(struct function_list *functions, const struct function *function)
{
	uint32_t *at =
		hash_at(&functions->numbers, (struct hash_key){.a = (uint64_t)function->value,
							       .c = (uint32_t)function->type});
	struct function *new;

	if (!at)
		return -1;
	if (*at != HASH_NONE)
		return *at;
	new = ARRAY_ADD(functions->list, functions->n);
	if (!new)
		return -1;
	*new = *function;
	*at = (uint32_t)(functions->n - 1);
	return *at;
}

void function_list_free(struct function_list *functions)
{
	free(functions->list);
	hash_free(&functions->numbers);
}

struct function_call *function_calls_enter(struct function_calls *calls,
					   const struct function *function, uint32_t number,
					   int64_t clock)
{
	struct function_call *call,
		*list = stack_more(calls->list, calls->depth, &calls->room, sizeof(*list));

	if (!list)
		return NULL;
	calls->list = list;
	call = &list[calls->depth];
	*call = (struct function_call){.function = *function, .number = number, .begin = clock};
	call->apart = calls->depth && list[calls->depth - 1].begin == clock;
	for (size_t i = 0; i < calls->depth && !call->inner; i++)
		call->inner = list[i].number == number;
	calls->depth++;
	return call;
}

int64_t function_calls_find(const struct function_calls *calls, const struct function *function)
{
	size_t i = calls->depth;

	while (i > 0 && !function_same(&calls->list[i - 1].function, function))
		i--;
	return (int64_t)i - 1;
}

void function_calls_remove(struct function_calls *calls, size_t i)
{
	calls->depth--;
	memmove(calls->list + i, calls->list + i + 1, (calls->depth - i) * sizeof(*calls->list));
	for (; i < calls->depth; i++) /* they end after the call around them */
		calls->list[i].apart = true;
}

void function_calls_free(struct function_calls *calls)
{
	free(calls->list);
}

static void name_state(const struct function *f, char **label, char **title)
{
	const struct catalog_model *model = catalog_model((char)-f->type);

	*label = *title = NULL;
	for (size_t i = 0; model && i < model->nevents; i++) {
		const struct catalog_event *event = &model->events[i];

		if (event->action != ACTION_PUSH || !event->label || state_of(event) != f->value)
			continue;
		*label = strdup(event->label);
		if (asprintf(title, "%s %s", model->name, event->channel) < 0)
			*title = NULL;
		break;
	}
}

void function_names(const struct source *source, const struct function *f, char **label,
		    char **title)
{
	bool labelled = false, titled = false; /* else shown as numbers */
	char type[24], key[64];

	if (f->type < 0) {
		name_state(f, label, title);
		return;
	}
	snprintf(type, sizeof(type), "%lld", (long long)f->type);
	snprintf(key, sizeof(key), "%lld", (long long)f->value);
	*label = *title = NULL;
	for (size_t i = 0; i < source->trace.nstreams && (!labelled || !titled); i++) {
		struct json *meta = trace_metadata(&source->trace, i);
		const struct json *mark = json_key(json_get(meta, "ovni.mark"), type);
		const char *text = json_string(json_key(json_key(mark, "labels"), key));

		if (text && !labelled) {
			*label = strdup(text);
			labelled = true;
		}
		text = json_string(json_key(mark, "title"));
		if (text && !titled) {
			*title = strdup(text);
			titled = true;
		}
		json_free(meta);
	}
	*label = labelled ? *label : strdup(key);
	*title = titled ? *title : strdup(type);
}
