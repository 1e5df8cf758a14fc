/* SPDX-License-Identifier: MIT */
/*
 * bpf: what only our recorder knows of the scheduler, from the payload of the ovni events:
 *
 *   300  why the thread is off the CPU     from OHp to the next OHr
 *   301  who took the CPU                  from OHp to the next OHr
 *   302  who woke the thread               from OHw to the next OHp
 *   303  a gap: how many events were lost  from OM[ to OM] of mark 92, whatever the state of
 *                                          the thread, and on the CPU that it belongs to
 *
 * Threads in 301 and 302 are dense ids whose names are in the .pcf, since a tid is not unique
 * over looms. Enabled where some stream has ovni.require.bpf; it only adds lines.
 * Specification: event-mapping.md, "richer payloads"; 303 is ours.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/models/models.h"
#include "emu/models/who.h"
#include "emu/track.h"
#include "trace/base/log.h"
#include "trace/base/off_cpu.h"

enum { WHY, TAKER, WAKER, LOST };

/* Values of 301 and 302 that are no thread; the ids of threads follow. */
enum { WHO_UNKNOWN = 1, WHO_IDLE, WHO_INTERRUPT, WHO_NOBODY, WHO_FIRST };

/* In the payload of OHw. */
#define WAKER_NONE	(-1)
#define WAKER_INTERRUPT (-2)

/* A value of 0 would be drawn as nothing, so why 0 has a number above those in use. */
#define WHY_NOT_KNOWN 20
_Static_assert(OFF_CPU_COUNT <= WHY_NOT_KNOWN, "the number must be free");

static const struct value_label taker_values[] = {
	{WHO_UNKNOWN, "Not known"},
	{WHO_IDLE, "Nobody (idle)"},
	{0, NULL},
};

static const struct value_label waker_values[] = {
	{WHO_UNKNOWN, "Not known"},
	{WHO_INTERRUPT, "An interrupt"},
	{WHO_NOBODY, "Nobody (it stayed runnable)"},
	{0, NULL},
};

#define MARK_LOST 92

#define SCHEDULER_CHANNEL(number, view, name, labels)                                              \
	{                                                                                          \
		.type = number, .kind = CHANNEL_SINGLE, .repeats = true, .track = TRACK_ANY,       \
		.policy = POLICY_SKIP, .label = name, .alone = true, .cpu = view, .values = labels \
	}

static const struct channel_page channels[] = {
	[WHY] = SCHEDULER_CHANNEL(300, CPU_NONE, "Thread: why off the CPU", NULL),
	[TAKER] = SCHEDULER_CHANNEL(301, CPU_NONE, "Thread: who took the CPU", taker_values),
	[WAKER] = SCHEDULER_CHANNEL(302, CPU_NONE, "Thread: woken by", waker_values),
	[LOST] = SCHEDULER_CHANNEL(303, CPU_OF_THREAD, "Gap: scheduler events lost", NULL),
};

struct name { /* an entry of bpf.names */
	const struct loom *loom;
	uint32_t stream;
	int32_t tid;
	char *text;
};

struct story {			     /* of one thread, for arrows */
	int64_t woken_ns, left_ns;   /* since the first event */
	const struct thread *waker;  /* NULL: no arrow */
	const struct cpu *waker_cpu; /* where the waker ran, NULL if it did not */
	const struct cpu *left;	     /* CPU that the thread left, NULL: none */
};

struct bpf {
	uint32_t first; /* channel */
	bool *uses;	/* by stream: its payloads are ours */
	struct whos whos;
	struct name *names;
	size_t nnames, names_room;
	struct story *stories; /* by gindex, NULL without --arrows */
	char **labels;	       /* made for the .pcf */
	size_t nlabels;
};

/* ---- metadata ---- */

static int add_name(struct bpf *bpf, size_t stream, const struct json *node)
{
	const char *text = json_string(node);
	char *end;
	long tid = strtol(json_name(node), &end, 10);
	struct name *name;

	if (!text || *end || tid <= 0 || tid > INT32_MAX)
		return 0; /* names are for people only */
	if (bpf->nnames == bpf->names_room) {
		size_t room = bpf->names_room ? 2 * bpf->names_room : 64;
		struct name *names = realloc(bpf->names, room * sizeof(*names));

		if (!names)
			return -ENOMEM;
		bpf->names = names;
		bpf->names_room = room;
	}
	name = &bpf->names[bpf->nnames];
	*name = (struct name){
		.stream = (uint32_t)stream, .tid = (int32_t)tid, .text = strdup(text)};
	if (!name->text)
		return -ENOMEM;
	bpf->nnames++;
	return 0;
}

static int metadata(struct emulator *emu, struct model_state *state, const struct json *meta,
		    size_t stream)
{
	struct bpf *bpf = state->data;
	const struct json *name;

	if (!json_string(json_key(json_get(meta, "ovni.require"), "bpf")))
		return 0;
	if (!bpf) {
		bpf = state->data = calloc(1, sizeof(*bpf));
		if (bpf)
			bpf->uses = calloc(emu->nstreams + 1, sizeof(*bpf->uses));
		if (!bpf || !bpf->uses)
			return model_complain(state, "no memory for the model bpf");
	}
	bpf->uses[stream] = true;
	for (name = json_first(json_get(meta, "bpf.names")); name; name = json_next(name))
		if (add_name(bpf, stream, name))
			return model_complain(state, "no memory for the names of threads");
	return 0;
}

/* ---- events ---- */

static void put(struct emulator *emu, struct thread *th, uint32_t channel, int64_t value)
{
	if (value)
		(void)channel_set(emu, th, channel, value);
	else if (th->slots[channel].has)
		(void)channel_clear(emu, th, channel);
}

/* What 301 and 302 show for a thread. */
static int64_t shown(uint32_t number)
{
	return number == WHO_NONE ? WHO_UNKNOWN : WHO_FIRST + (int64_t)number;
}

static int leave(struct emulator *emu, struct bpf *bpf, struct thread *th, const struct event *ev)
{
	uint32_t why, number;
	int32_t taker;

	if (bpf->stories)
		bpf->stories[th->index] = (struct story){.left_ns = emu->time.now, .left = th->cpu};
	put(emu, th, bpf->first + WAKER, 0);
	if (!bpf->uses[th->stream] || ev->payload_size < 6)
		return 0;
	why = get_u16(ev->payload);
	taker = get_i32(ev->payload + 2);
	if (who_is(&bpf->whos, th->process->loom, taker, &number))
		return emu_refuse(emu, "no memory for the names of threads");
	put(emu, th, bpf->first + WHY, why && why < OFF_CPU_COUNT ? why : WHY_NOT_KNOWN);
	put(emu, th, bpf->first + TAKER, taker ? shown(number) : WHO_IDLE);
	return 0;
}

static int wake(struct emulator *emu, struct bpf *bpf, struct thread *th, const struct event *ev)
{
	uint32_t number;
	int32_t waker;
	int64_t id;

	if (!bpf->uses[th->stream] || ev->payload_size < 4)
		return 0;
	waker = get_i32(ev->payload);
	if (who_is(&bpf->whos, th->process->loom, waker, &number))
		return emu_refuse(emu, "no memory for the names of threads");
	switch (waker) {
	case WAKER_NONE:
		id = WHO_NOBODY;
		break;
	case WAKER_INTERRUPT:
		id = WHO_INTERRUPT;
		break;
	default:
		id = shown(number);
	}
	if (bpf->stories && number != WHO_NONE) {
		struct story *story = &bpf->stories[th->index];
		const struct thread *by = bpf->whos.list[number].thread;

		story->waker = by;
		story->waker_cpu = by && by->state == THREAD_STATE_RUNNING ? by->cpu : NULL;
		story->woken_ns = emu->time.now;
	}
	put(emu, th, bpf->first + WAKER, id);
	return 0;
}

/* The thread runs again: arrows from its waker, and from the CPU that it left. */
static void draw(struct emulator *emu, const struct story *story, const struct thread *th)
{
	int64_t now = emu->time.now;

	if (th->cpu->phyid < 0)
		return; /* on no CPU: the end of the recording */
	if (story->waker)
		prv_arrow(&emu->thread_prv, &story->waker->row, story->woken_ns, &th->row, now,
			  now - story->woken_ns, 1);
	if (story->waker && story->waker_cpu && story->waker_cpu->phyid >= 0)
		prv_arrow(&emu->cpu_prv, &story->waker_cpu->row, story->woken_ns, &th->cpu->row,
			  now, now - story->woken_ns, 1);
	if (story->left && story->left != th->cpu && story->left->phyid >= 0)
		prv_arrow(&emu->cpu_prv, &story->left->row, story->left_ns, &th->cpu->row, now,
			  now - story->left_ns, 2);
}

static void come_back(struct emulator *emu, struct bpf *bpf, struct thread *th)
{
	struct story *story = bpf->stories ? &bpf->stories[th->index] : NULL;

	put(emu, th, bpf->first + WHY, 0);
	put(emu, th, bpf->first + TAKER, 0);
	if (!story)
		return;
	draw(emu, story, th);
	story->waker = NULL;
	story->left = NULL;
}

static int watch(struct emulator *emu, struct model_state *state, struct thread *th,
		 const struct event *ev)
{
	struct bpf *bpf = state->data;

	if (ev->category == 'M') {
		if (get_i32(ev->payload + 8) == MARK_LOST)
			put(emu, th, bpf->first + LOST,
			    ev->value == ']' ? 0 : get_i64(ev->payload));
		return 0;
	}
	switch (ev->value) {
	case 'p':
		return leave(emu, bpf, th, ev);
	case 'w':
		return wake(emu, bpf, th, ev);
	case 'r':
		come_back(emu, bpf, th);
		return 0;
	case 'e':
		for (uint32_t c = WHY; c <= WAKER; c++)
			put(emu, th, bpf->first + c, 0);
		return 0;
	}
	return 0;
}

/* ---- hooks ---- */

static int by_loom(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->loom != y->loom)
		return x->loom < y->loom ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int start(struct emulator *emu, struct model_state *state)
{
	struct bpf *bpf = state->data;
	int err = 0;

	bpf->first = state->first_channel;
	emu->names = true;
	for (int i = 0; i < OFF_CPU_COUNT && !err; i++)
		err = channel_add_label(&emu->channels[bpf->first + WHY], i ? i : WHY_NOT_KNOWN,
					off_cpu_label(i));
	if (emu->opt->arrows)
		bpf->stories = calloc(emu->sys.nthreads + 1ul, sizeof(*bpf->stories));
	if (err || whos_init(&bpf->whos, &emu->sys) || (emu->opt->arrows && !bpf->stories)) {
		log_error("no memory for the model bpf");
		return -ENOMEM;
	}
	for (size_t i = 0; i < bpf->nnames; i++)
		bpf->names[i].loom = emu->sys.thread_of_stream[bpf->names[i].stream]->process->loom;
	if (bpf->nnames)
		qsort(bpf->names, bpf->nnames, sizeof(*bpf->names), by_loom);
	return 0;
}

static const char *name_of(const struct bpf *bpf, const struct who *who)
{
	struct name key = {.loom = who->loom, .tid = who->tid}, *name;

	if (who->thread && who->thread->name)
		return who->thread->name;
	name = bpf->nnames ? bsearch(&key, bpf->names, bpf->nnames, sizeof(*bpf->names), by_loom)
			   : NULL;
	return name ? name->text : NULL;
}

static int describe_who(struct emulator *emu, struct bpf *bpf, uint32_t number)
{
	const struct who *who = &bpf->whos.list[number];
	const char *name = name_of(bpf, who);
	char **label = &bpf->labels[number];
	bool many = emu->sys.nlooms > 1;

	if (asprintf(label, "%s (%" PRIi32 ")%s%s", name ?: "thread", who->tid, many ? " on " : "",
		     many ? who->loom->name : "") < 0)
		return -ENOMEM;
	bpf->nlabels++;
	if (channel_add_label(&emu->channels[bpf->first + TAKER], shown(number), *label) ||
	    channel_add_label(&emu->channels[bpf->first + WAKER], shown(number), *label))
		return -ENOMEM;
	return 0;
}

static int describe(struct emulator *emu, struct model_state *state)
{
	struct bpf *bpf = state->data;
	int err = 0;

	bpf->labels = calloc(bpf->whos.n + 1ul, sizeof(char *));
	if (!bpf->labels)
		err = -ENOMEM;
	for (uint32_t i = 0; i < bpf->whos.n && !err; i++)
		err = describe_who(emu, bpf, i);
	if (err)
		log_error("no memory for the names of threads");
	return err;
}

static void close_bpf(struct model_state *state)
{
	struct bpf *bpf = state->data;

	if (!bpf)
		return;
	for (size_t i = 0; i < bpf->nnames; i++)
		free(bpf->names[i].text);
	for (size_t i = 0; i < bpf->nlabels; i++)
		free(bpf->labels[i]);
	free(bpf->names);
	free(bpf->labels);
	whos_fini(&bpf->whos);
	free(bpf->stories);
	free(bpf->uses);
	free(bpf);
}

const struct model model_bpf = {
	.name = "bpf",
	.ours = true,
	.channels = channels,
	.nchannels = sizeof(channels) / sizeof(channels[0]),
	.metadata = metadata,
	.start = start,
	.watch = watch,
	.describe = describe,
	.close = close_bpf,
};
