/* SPDX-License-Identifier: MIT */
/* model: turns pages and the catalogue into flat tables (see model.h). */
#include "emu/model.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emulation.h"
#include "emu/refuse.h"
#include "trace/base/log.h"

#define VERSION_MAX 64

int model_complain(struct model_state *state, const char *fmt, ...)
{
	va_list ap;

	if (state->complaint)
		return -EINVAL;
	va_start(ap, fmt);
	if (vasprintf(&state->complaint, fmt, ap) < 0)
		state->complaint = NULL;
	va_end(ap);
	return state->complaint ? -EINVAL : -ENOMEM;
}

/* ---- versions ---- */

int model_parse_version(const char *text, int version[3])
{
	if (strlen(text) >= VERSION_MAX)
		return -EINVAL;
	for (int i = 0; i < 3; i++) {
		long value = 0;

		if (*text < '0' || *text > '9')
			return -EINVAL;
		for (; *text >= '0' && *text <= '9'; text++) {
			value = value * 10 + (*text - '0');
			if (value > INT_MAX)
				return -EINVAL;
		}
		version[i] = (int)value;
		if (i < 2 && *text++ != '.')
			return -EINVAL;
	}
	return *text == '\0' || *text == '.' || *text == '-' ? 0 : -EINVAL;
}

int model_check_require(struct model_state *state, const struct json *require, const char *path,
			bool *required)
{
	const char *want = json_string(json_key(require, state->model->name));
	const char *have = state->catalog ? state->catalog->version : "1.0.0";
	int w[3], h[3];

	if (!want)
		return 0;
	*required = true;
	if (model_parse_version(want, w))
		return model_complain(state,
				      "%s: ovni.require has '%s' for the model %s: a version "
				      "has the form X.Y.Z",
				      path, want, state->model->name);
	if (model_parse_version(have, h))
		return model_complain(state, "the catalogue has the bad version '%s'", have);
	if (w[0] != h[0] || w[1] > h[1])
		return model_complain(state,
				      "%s: requires version %s of the model %s, but this "
				      "emulator has %s",
				      path, want, state->model->name, have);
	return 0;
}

/* ---- events ---- */

int model_obsolete(struct emulator *emu, struct thread *th, const struct event *ev,
		   const struct action *action)
{
	struct action *own = &emu->actions[action - emu->actions];

	if (own->warned)
		return 0;
	own->warned = true;
	log_warn("%s: event %c%c%c is obsolete and has no effect", emu_stream_name(emu, th->stream),
		 ev->model, ev->category, ev->value);
	return 0;
}

static int add_action(struct emulator *emu, struct action action, uint16_t *place)
{
	struct action *actions;

	if (emu->nactions > UINT16_MAX)
		return -ENOMEM;
	/* full: the capacity is the next power of two */
	if ((emu->nactions & (emu->nactions - 1)) == 0) {
		size_t room = emu->nactions ? 2 * emu->nactions : 1;

		actions = realloc(emu->actions, room * sizeof(*actions));
		if (!actions)
			return -ENOMEM;
		emu->actions = actions;
	}
	*place = (uint16_t)emu->nactions;
	emu->actions[emu->nactions++] = action;
	return 0;
}

/* The channel of the page that the catalogue calls `name`, or NULL. */
static struct channel *named_channel(const struct emulator *emu, const struct model_state *state,
				     const char *name)
{
	for (size_t i = 0; i < state->model->nchannels; i++)
		if (state->model->channels[i].name &&
		    strcmp(state->model->channels[i].name, name) == 0)
			return &emu->channels[state->first_channel + i];
	return NULL;
}

static const struct model_event *on_page(const struct model *model, const char *mcv)
{
	for (size_t i = 0; i < model->nevents; i++)
		if (strncmp(model->events[i].mcv, mcv, 3) == 0)
			return &model->events[i];
	return NULL;
}

/* Makes the action of an event of the catalogue; `channel` is the one it acts on, or NULL. */
static int make_action(const struct model *model, const struct catalog_event *event,
		       const struct channel *channel, struct action *action)
{
	static const uint8_t ops[] = {
		[ACTION_NONE] = DO_IGNORE, [ACTION_PUSH] = DO_PUSH,   [ACTION_POP] = DO_POP,
		[ACTION_SET] = DO_SET,	   [ACTION_CLEAR] = DO_CLEAR,
	};
	const struct model_event *page = on_page(model, event->signature);

	*action = (struct action){.op = ops[event->action], .value = event->value};
	if (channel)
		action->channel = (uint16_t)channel->number;
	if (page) {
		action->op = page->jumbo ? DO_JUMBO : DO_CALL;
		action->fn = page->fn;
		return 0;
	}
	if (event->action == ACTION_NONE)
		return 0;
	/* a value that depends on the arguments needs a function on the page */
	if (!channel || (!event->value && event->action != ACTION_CLEAR))
		return -EINVAL;
	return 0;
}

static int place_event(struct emulator *emu, struct model_state *state,
		       const struct catalog_event *event)
{
	const char *mcv = event->signature;
	struct channel *channel = event->channel ? named_channel(emu, state, event->channel) : NULL;
	unsigned category = (uint8_t)mcv[1], value = (uint8_t)mcv[2];
	struct action action;
	uint16_t place;
	int err = make_action(state->model, event, channel, &action);

	if (err)
		return err;
	err = add_action(emu, action, &place);
	if (err)
		return err;
	for (unsigned v = 0; v < 256; v++) /* '.' stands for all values without an entry */
		if (v == value || (value == '.' && !state->index[category << 8 | v]))
			state->index[category << 8 | v] = place;
	if (channel && event->label && event->value && !channel_label(channel, event->value))
		return channel_add_label(channel, event->value, event->label);
	return 0;
}

/* Adds the labels of values that no event has. */
static int place_labels(struct emulator *emu, struct model_state *state)
{
	const struct catalog_model *catalog = state->catalog;
	const struct model *model = state->model;
	for (size_t i = 0; i < model->nchannels; i++) {
		struct channel *channel = &emu->channels[state->first_channel + i];
		const struct value_label *v = model->channels[i].values;

		for (; v && v->label; v++)
			if (channel_add_label(channel, v->value, v->label))
				return -ENOMEM;
	}
	for (size_t i = 0; catalog && i < catalog->nlabels; i++) {
		const struct catalog_label *label = &catalog->labels[i];
		struct channel *channel = named_channel(emu, state, label->channel);

		if (!channel)
			return -EINVAL;
		if (channel_add_label(channel, label->value, label->label))
			return -ENOMEM;
	}
	return 0;
}

int model_prepare_events(struct emulator *emu, struct model_state *state)
{
	static const uint16_t accepts[] = {
		[WHEN_ANY] = 0x3f,
		[WHEN_ACTIVE] = 1 << THREAD_STATE_RUNNING | 1 << THREAD_STATE_COOLING |
				1 << THREAD_STATE_WARMING,
		[WHEN_RUNNING] = 1 << THREAD_STATE_RUNNING,
	};
	const struct catalog_model *catalog = state->catalog;
	int err = -ENOMEM;

	if (catalog) {
		state->accept = accepts[catalog->when];
		if (catalog->out_of_cpu)
			state->accept |= (uint16_t)(state->accept << 8);
		state->index = calloc(1 << 16, sizeof(*state->index));
		if (!state->index)
			goto fail;
		for (size_t i = 0; i < catalog->nevents; i++) {
			err = place_event(emu, state, &catalog->events[i]);
			if (err)
				goto fail;
		}
	}
	err = place_labels(emu, state);
	if (!err)
		return 0;
fail:
	log_error("cannot make the tables of the model %s: %s", state->model->name,
		  err == -ENOMEM ? "out of memory" : "page and catalogue do not fit together");
	return err;
}
