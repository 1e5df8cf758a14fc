/* SPDX-License-Identifier: MIT */
/* layout: channels, masks and blocks of threads (see layout.h). */
#include "emu/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/breakdown.h"
#include "emu/track.h"
#include "emu/views.h"
#include "trace/base/log.h"

#define CACHED_BYTES (256u << 10)     /* threads of this size in all stay in the caches */
#define PREFETCH_MAX (4 * CACHE_LINE) /* of the block of a thread: the first channels */

int layout_add_channel(struct emulator *emu, const struct channel_page *page)
{
	static const uint8_t visible[] = {
		[TRACK_ANY] = 0xff,
		[TRACK_RUNNING] = 1 << THREAD_STATE_RUNNING,
		[TRACK_ACTIVE] = 1 << THREAD_STATE_RUNNING | 1 << THREAD_STATE_COOLING |
				 1 << THREAD_STATE_WARMING,
	};
	uint32_t n = emu->nchannels;
	struct channel *ch;

	if ((n & (n - 1)) == 0) { /* full: the capacity is the next power of two */
		struct channel *channels = NULL;

		if (n <= UINT16_MAX / 2)
			channels = realloc(emu->channels, (n ? 2ul * n : 1) * sizeof(*channels));
		if (!channels) {
			log_no_memory("for %" PRIu32 " channels", n);
			return -ENOMEM;
		}
		emu->channels = channels;
	}
	ch = &emu->channels[n];
	memset(ch, 0, sizeof(*ch));
	prv_type_init(&ch->type, page->type);
	ch->visible = visible[page->track];
	ch->kind = (uint8_t)page->kind;
	ch->policy = (uint8_t)page->policy;
	ch->repeats = page->repeats;
	ch->cpu = (uint8_t)page->cpu;
	ch->cpu_default = page->cpu_default;
	ch->page = page;
	ch->number = n;
	emu->nchannels = n + 1;
	return (int)n;
}

static int prepare_model(struct emulator *emu, struct model_state *state)
{
	const struct model *model = state->model;
	int err, n;

	state->first_channel = emu->nchannels;
	for (size_t i = 0; i < model->nchannels; i++) {
		n = layout_add_channel(emu, &model->channels[i]);
		if (n < 0)
			return n;
	}
	if (model->watch)
		emu->watchers[emu->nwatchers++] = state;
	err = model->prepare ? model->prepare(emu, state) : 0;
	return err ? err : model_prepare_events(emu, state);
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
	emu->blocks = aligned_alloc(CACHE_LINE, (sys->nthreads + 1) * block);
	emu->cpu_slots = calloc(sys->ncpus * n + 1, sizeof(*emu->cpu_slots));
	emu->bits = bits = calloc((sys->ncpus + 4ul) * w + 1, sizeof(*bits));
	if (!emu->blocks || !emu->cpu_slots || !bits) {
		log_no_memory("for %zu channels of %" PRIu32 " threads and %" PRIu32 " CPUs", n,
			      sys->nthreads, sys->ncpus);
		return -ENOMEM;
	}
	emu->thread_mask = bits;
	emu->thread_always = bits + w;
	emu->cpu_mask = bits + 2 * w;
	emu->cpu_always = bits + 3 * w;
	bits += 4 * w;
	fill_masks(emu);
	memset(emu->blocks, 0, (sys->nthreads + 1) * block);
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

int layout_models(struct emulator *emu)
{
	const struct action unknown = {.op = DO_REFUSE};
	size_t lines;
	int err;

	emu->actions = malloc(sizeof(*emu->actions));
	if (!emu->actions) {
		log_no_memory("for the tables of events");
		return -ENOMEM;
	}
	emu->actions[emu->nactions++] = unknown;
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
	/* an event touches each channel of a thread, or of two CPUs, at most once */
	lines = 2ul * (emu->nchannels + 4);
	err = prv_start(&emu->thread_prv, lines * PRV_LINE_MAX + PRV_ARROW_MAX);
	return err ? err : prv_start(&emu->cpu_prv, lines * PRV_LINE_MAX + 2 * PRV_ARROW_MAX);
}
