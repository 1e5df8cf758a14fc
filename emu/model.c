/* SPDX-License-Identifier: MIT */
/* model: turns pages and the catalogue into flat tables, channels and slots (see model.h). */
#include "emu/model.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/breakdown.h"
#include "emu/track.h"
#include "trace/base/array.h"
#include "trace/base/log.h"

#define VERSION_MAX  64
#define CACHED_BYTES (256u << 10)     /* threads of this size in all stay in the caches */
#define PREFETCH_MAX (4 * CACHE_LINE) /* of the block of a thread: the first channels */

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

/* ---- channels ---- */

int model_add_channel(struct emulator *emu, const struct channel_page *page)
{
	static const uint8_t visible[] = {
		[TRACK_ANY] = 0xff,
		[TRACK_RUNNING] = 1 << THREAD_STATE_RUNNING,
		[TRACK_ACTIVE] = 1 << THREAD_STATE_RUNNING | 1 << THREAD_STATE_COOLING |
				 1 << THREAD_STATE_WARMING,
	};
	size_t n = emu->nchannels;
	struct channel *ch = n <= UINT16_MAX ? ARRAY_ADD(emu->channels, emu->nchannels) : NULL;

	if (!ch)
		return log_no_memory("for %zu channels", n);
	memset(ch, 0, sizeof(*ch));
	prv_type_init(&ch->type, page->type);
	ch->visible = visible[page->track];
	ch->policy = (uint8_t)page->policy;
	ch->repeats = page->repeats;
	ch->cpu = (uint8_t)page->cpu;
	ch->cpu_default = page->cpu_default;
	ch->page = page;
	ch->used = page->initial != 0;
	if (page->track != TRACK_ANY && !page->brief && !emu->opt->compat)
		prv_type_init(&ch->lasting, LASTING_TYPE(page->type));
	ch->number = (uint32_t)n;
	return (int)n;
}

int channel_add_label(struct channel *channel, int64_t value, const char *label)
{
	struct value_label *added = ARRAY_ADD(channel->labels, channel->nlabels);

	if (!added)
		return -ENOMEM;
	*added = (struct value_label){value, label};
	return 0;
}

const char *channel_label(const struct channel *channel, int64_t value)
{
	for (size_t i = 0; i < channel->nlabels; i++)
		if (channel->labels[i].value == value)
			return channel->labels[i].label;
	return NULL;
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
	struct action *added = NULL;

	if (emu->nactions <= UINT16_MAX)
		added = ARRAY_ADD(emu->actions, emu->nactions);
	if (!added)
		return -ENOMEM;
	*added = action;
	*place = (uint16_t)(emu->nactions - 1);
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

static int prepare_events(struct emulator *emu, struct model_state *state)
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

/* ---- channels in memory ---- */

static int prepare_model(struct emulator *emu, struct model_state *state)
{
	const struct model *model = state->model;
	int err, n;

	state->first_channel = emu->nchannels;
	for (size_t i = 0; i < model->nchannels; i++) {
		n = model_add_channel(emu, &model->channels[i]);
		if (n < 0)
			return n;
	}
	if (model->watch)
		emu->watchers[emu->nwatchers++] = state;
	err = model->prepare ? model->prepare(emu, state) : 0;
	return err ? err : prepare_events(emu, state);
}

static void connect_input(struct emulator *emu, const struct model_state *state, uint16_t channel,
			  struct breakdown *breakdown, enum breakdown_input input)
{
	struct channel *ch = &emu->channels[state->first_channel + channel];

	ch->breakdown = breakdown;
	ch->breakdown_input = (uint8_t)input;
}

/* Creates the breakdown view of a model, if it has one, and connects its inputs (-b). */
static int open_breakdown(struct emulator *emu, struct model_state *state)
{
	const struct breakdown_page *page = state->model->breakdown;
	struct breakdown *b;
	struct out *out;

	if (!page || state->no_breakdown)
		return 0;
	if (emu->nbreakdowns == sizeof(emu->breakdowns) / sizeof(emu->breakdowns[0]))
		return -E2BIG;
	out = view_create(emu, page->file);
	if (!out)
		return -EIO;
	b = breakdown_new(page, out, emu->sys.nphysical);
	if (!b)
		return -EIO;
	emu->breakdowns[emu->nbreakdowns++] = b;
	connect_input(emu, state, page->subsystem, b, BREAKDOWN_SUBSYSTEM);
	connect_input(emu, state, page->tasks, b, BREAKDOWN_TASK);
	if (!page->two_inputs)
		connect_input(emu, state, page->idle, b, BREAKDOWN_IDLE);
	return 0;
}

static void fill_masks(struct emulator *emu)
{
	for (uint32_t c = 0; c < emu->nchannels; c++) {
		const struct channel *ch = &emu->channels[c];
		bool all = ch->policy == POLICY_ALL;

		bit_put(emu->thread_mask, c, ch->page->track != TRACK_ANY);
		bit_put(emu->thread_always, c, all);
		bit_put(emu->lasting_mask, c, ch->lasting.len != 0);
		bit_put(emu->cpu_mask, c, ch->cpu == CPU_OF_RUNNING);
		bit_put(emu->cpu_always, c, all || ch->cpu_default || ch->breakdown);
	}
}

/* Places the bits and slots of one thread side by side in `block`. */
static void place_thread(const struct emulator *emu, struct thread *th, char *block)
{
	size_t w = emu->nwords;

	th->has = (uint64_t *)block;
	th->shown = th->has + w;
	th->slots = (struct slot *)(th->shown + w);
	memset(th->shown, 0xff, w * sizeof(*th->shown));
	for (uint32_t c = 0; c < emu->nchannels; c++) {
		int64_t initial = emu->channels[c].page->initial;

		th->slots[c].last_kind = LAST_NEVER;
		th->slots[c].value = initial;
		th->slots[c].has = initial != 0;
		bit_put(th->has, c, initial != 0);
	}
}

/* Allocates the slots and bits of all threads and CPUs. */
static int place_channels(struct emulator *emu)
{
	struct system *sys = &emu->sys;
	size_t n = emu->nchannels, w = (n + 63) / 64;
	size_t block = 2 * w * sizeof(uint64_t) + n * sizeof(struct slot);
	uint64_t *bits;

	block = (block + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
	emu->nwords = (uint32_t)w;
	emu->block_bytes = block;
	if (sys->nthreads * (block + sizeof(*sys->threads)) > CACHED_BYTES)
		emu->prefetch_bytes = block < PREFETCH_MAX ? block : PREFETCH_MAX;
	emu->blocks = array_lines(sys->nthreads + 1, block);
	emu->cpu_slots = calloc(sys->ncpus * n + 1, sizeof(*emu->cpu_slots));
	emu->bits = bits = calloc((sys->ncpus + 5ul) * w + 1, sizeof(*bits));
	if (!emu->blocks || !emu->cpu_slots || !bits)
		return log_no_memory("for %zu channels of %" PRIu32 " threads and %" PRIu32 " CPUs",
				     n, sys->nthreads, sys->ncpus);
	emu->thread_mask = bits;
	emu->thread_always = bits + w;
	emu->cpu_mask = bits + 2 * w;
	emu->cpu_always = bits + 3 * w;
	emu->lasting_mask = bits + 4 * w;
	bits += 5 * w;
	fill_masks(emu);
	for (uint32_t i = 0; i < sys->nthreads; i++)
		place_thread(emu, &sys->threads[i], emu->blocks + i * block);
	for (uint32_t i = 0; i < sys->ncpus; i++, bits += w) {
		struct cpu *cpu = &sys->cpus[i];

		cpu->slots = &emu->cpu_slots[i * n];
		cpu->shown = bits;
		memset(cpu->shown, 0xff, w * sizeof(*bits));
		for (uint32_t c = 0; c < n; c++)
			cpu->slots[c].last_kind = LAST_NEVER;
	}
	return 0;
}

static int start_model(struct emulator *emu, struct model_state *state)
{
	return state->model->start ? state->model->start(emu, state) : 0;
}

static int for_each_model(struct emulator *emu,
			  int (*visit)(struct emulator *emu, struct model_state *state))
{
	for (size_t i = 0; i < emu->nmodels; i++) {
		int err = emu->models[i].enabled ? visit(emu, &emu->models[i]) : 0;

		if (err)
			return err;
	}
	return 0;
}

int models_prepare(struct emulator *emu)
{
	uint16_t unknown; /* is 0 */
	size_t lines;
	int err;

	if (add_action(emu, (struct action){.op = DO_REFUSE}, &unknown))
		return log_no_memory("for the tables of events");
	err = for_each_model(emu, prepare_model);
	if (err)
		return err;
	err = emu->opt->breakdown ? for_each_model(emu, open_breakdown) : 0;
	if (err)
		return err;
	err = place_channels(emu);
	if (err)
		return err;
	err = for_each_model(emu, start_model);
	if (err)
		return err;
	/* an event touches each channel of a thread, with its lasting type, or of two CPUs, at most
	 * once */
	lines = 2ul * (emu->nchannels + 4);
	err = prv_start(&emu->thread_prv, lines * PRV_LINE_MAX + PRV_ARROW_MAX);
	return err ? err : prv_start(&emu->cpu_prv, lines * PRV_LINE_MAX + 2 * PRV_ARROW_MAX);
}
