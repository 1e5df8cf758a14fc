/* SPDX-License-Identifier: MIT */
/*
 * bpf: scheduler views from the payloads that the recorder adds to ovni events.
 *
 *   300  reason why the thread is off the CPU    from OHp to the next OHr
 *   301  the first thread that took the CPU      from OHp to the next OHr; of a throttled thread
 *                                                the CPU quota
 *   302  the thread that woke it up              from OHw to the next OHp
 *   303  number of lost events in a gap          from OM[ to OM] of mark 92, in any state of the
 *                                                thread, and on the CPU that it belongs to
 *   304  the system call in which it sleeps      from OHp to the next OHr
 *   305  the object on which it sleeps there     from OHp to the next OHr
 *   306  the owner of the lock that it waits for from OHp to the next OHr; the OHw between them,
 *                                                which is the next event of the thread, has it
 *   307  the stack of a long sleep               from OHp to the next OHr, read ahead as 306
 *   308  the part of a run that interrupts     from OHx or OHr to OHp, of the thread and its CPU;
 *        took, in 1/10 000                     the OHr or OHe that follows has it
 *   309  the block device of an I/O sleep        from OHp to the next OHr, which has it
 *   310  the time of its request there, us       the same; the OHw before has it
 *   324  running, runnable or sleeping, and why from OHx to OHe
 *
 * In: OHx, OHp, OHw, OHr, OHe and marks; out: lines, and arrows with --arrows. 301 and 302 show
 * dense ids with names in the .pcf, since a tid is not unique over looms; 306 shows those of 301.
 * The types of one event but 303 and 308 share a line. ovni.require.bpf in some stream enables the
 * model; it only adds lines. Specification: event-mapping.md, "richer payloads"; prv.md 7; the
 * reference has no 303.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/model.h"
#include "emu/models/sleep_objects.h"
#include "emu/track.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/id_pages.h"
#include "trace/base/log.h"
#include "trace/base/off_cpu.h"
#include "trace/base/text.h"
#include "trace/ovni/stack_file.h"
#include "trace/states/intervals.h"
#include "trace/states/sleep_call.h"

enum { REASON, NEXT, WAKER, LOST, IRQ, CALL, OBJECT, OWNER, STACK, DEVICE, DEVICE_TIME, ACTIVITY };

/* Values of 301, 302 and 306 without a thread; the ids of threads follow. */
enum {
	PEER_UNKNOWN = 1,
	PEER_IDLE = 2,	    /* 301 */
	PEER_QUOTA = 3,	    /* 301 */
	PEER_INTERRUPT = 3, /* 302 */
	PEER_NOBODY = 4,    /* 302, 306 */
	PEER_FIRST
};

/* Instead of a tid in the payload of OHw. */
#define WAKER_NONE	(-1)
#define WAKER_INTERRUPT (-2)

/* Paraver shows a value of 0 as nothing, so the unknown reason has a number above the others. */
#define REASON_UNKNOWN 20
_Static_assert(OFF_CPU_COUNT <= REASON_UNKNOWN, "the number must be free");

/*
 * Values of 324 beside those below: the reason of a thread that sleeps, or that stayed runnable,
 * with a number before it.
 */
enum { ACTIVITY_RUNNING = 1, ACTIVITY_WOKEN = 2, ACTIVITY_SLEEPING = 10, ACTIVITY_RUNNABLE = 40 };

static const struct value_label activity_values[] = {
	{ACTIVITY_RUNNING, "Running"},
	{ACTIVITY_WOKEN, "Runnable: woken up"},
	{0, NULL},
};

static const struct value_label next_values[] = {
	{PEER_UNKNOWN, "Not known"},
	{PEER_IDLE, "Nobody (idle)"},
	{PEER_QUOTA, "Nobody (CPU quota)"},
	{0, NULL},
};

static const struct value_label waker_values[] = {
	{PEER_UNKNOWN, "Not known"},
	{PEER_INTERRUPT, "An interrupt"},
	{PEER_NOBODY, "Nobody (it stayed runnable)"},
	{0, NULL},
};

static const struct value_label owner_values[] = {
	{PEER_UNKNOWN, "Not known"},
	{PEER_NOBODY, "Nobody (no owner)"},
	{0, NULL},
};

#define MARK_LOST 92

#define SCHEDULER_CHANNEL(number, view, text, labels)                                              \
	CHANNEL_PAGE(number, text, SINGLE, ANY, SKIP, .repeats = true, .alone = true, .cpu = view, \
		     .values = labels)

static const struct channel_page channels[] = {
	[REASON] = SCHEDULER_CHANNEL(300, CPU_NONE, "Thread: why off the CPU", NULL),
	[NEXT] = SCHEDULER_CHANNEL(301, CPU_NONE, "Thread: first taker of the CPU", next_values),
	[WAKER] = SCHEDULER_CHANNEL(302, CPU_NONE, "Thread: woken by", waker_values),
	[LOST] = SCHEDULER_CHANNEL(303, CPU_OF_THREAD, "Gap: scheduler events lost", NULL),
	[ACTIVITY] =
		SCHEDULER_CHANNEL(LASTING_TYPE(4), CPU_NONE,
				  "Thread: running, runnable, sleeping, and why", activity_values),
	[CALL] = SCHEDULER_CHANNEL(304, CPU_NONE, "Thread: system call of the sleep", NULL),
	[OBJECT] = SCHEDULER_CHANNEL(305, CPU_NONE, "Thread: object of the sleep", NULL),
	[OWNER] = SCHEDULER_CHANNEL(306, CPU_NONE, "Thread: owner of the lock", owner_values),
	[IRQ] = SCHEDULER_CHANNEL(308, CPU_OF_RUNNING, "Thread: interrupts in the run, 1/10000",
				  NULL),
	[STACK] = SCHEDULER_CHANNEL(307, CPU_NONE, "Thread: stack of the sleep", NULL),
	[DEVICE] = SCHEDULER_CHANNEL(309, CPU_NONE, "Thread: block device of the sleep", NULL),
	[DEVICE_TIME] = SCHEDULER_CHANNEL(310, CPU_NONE, "Thread: request at the device, us", NULL),
};

#define TID_MAX	       (1 << 22) /* the maximum of Linux */
#define KNOWN_PAGE     512	 /* threads of a page */
#define THREAD_ID_NONE UINT32_MAX

struct known_thread { /* a thread in payloads */
	const struct loom *loom;
	struct thread *thread; /* NULL if it has no stream */
	int32_t tid;
	bool owner;  /* it occurs in 306 */
	char *label; /* for the .pcf */
};

struct thread_name { /* an entry of bpf.names */
	uint32_t stream;
	int32_t tid;
	char *text;
};

struct off_period {		     /* of one thread, for arrows */
	int64_t woken_ns, left_ns;   /* since the first event */
	const struct thread *waker;  /* NULL: no arrow */
	const struct cpu *waker_cpu; /* where the waker ran, NULL if it did not */
	const struct cpu *left;	     /* CPU that the thread left, NULL: none */
	const struct thread *owner;  /* of the lock on which it sleeps, NULL: none */
};

struct device {			 /* a block device of a loom */
	const struct loom *loom; /* NULL: no sleep has it yet */
	uint32_t stream;	 /* whose metadata name it */
	unsigned major, minor;
	char *name, *label; /* label: for the .pcf */
};

struct bpf {
	uint32_t first;		    /* channel */
	bool irqs;		    /* the recording has the time of interrupts, */
	bool io;		    /* and the requests of I/O sleeps */
	bool *richer;		    /* by stream: it has the richer payloads */
	struct known_thread *known; /* in the order of their first use */
	size_t nknown;
	/* by loom and tid, two looms may have the same tid: a page of index + 1, 0 for none */
	struct id_pages known_at;
	struct thread_name *names;
	size_t nnames;
	struct hash name_at;	    /* of names, by loom and tid */
	struct off_period *periods; /* by gindex, NULL without --arrows */
	char *activity_labels[OFF_CPU_COUNT];
	struct sleep_objects objects;
	struct stack_table stacks;
	char **stack_labels; /* nstack_labels of them */
	size_t nstack_labels;
	struct device *devices; /* value of 309: the index + 1 */
	size_t ndevices;
};

/* ---- metadata ---- */

static int add_name(struct bpf *bpf, size_t stream, const struct json *node)
{
	const char *text = json_string(node);
	char *end;
	long tid = strtol(json_name(node), &end, 10);
	struct thread_name *name;
	char *copy;

	if (!text || *end || tid <= 0 || tid > INT32_MAX)
		return 0; /* a bad name changes no value: ignore it */
	copy = strdup(text);
	name = copy ? ARRAY_ADD(bpf->names, bpf->nnames) : NULL;
	if (!name) {
		free(copy);
		return -ENOMEM;
	}
	*name = (struct thread_name){.stream = (uint32_t)stream, .tid = (int32_t)tid, .text = copy};
	return 0;
}

static int add_device(struct bpf *bpf, uint32_t stream, unsigned major, unsigned minor,
		      const char *name)
{
	char *copy = strdup(name);
	struct device *device = copy ? ARRAY_ADD(bpf->devices, bpf->ndevices) : NULL;

	if (!device) {
		free(copy);
		return -ENOMEM;
	}
	*device = (struct device){.stream = stream, .major = major, .minor = minor, .name = copy};
	return 0;
}

/* The names of the block devices, "254:0": "vda"; one that is no number is ignored. */
static int read_devices(struct bpf *bpf, size_t stream, const struct json *devices)
{
	for (const struct json *node = json_first(devices); node; node = json_next(node)) {
		unsigned major, minor;
		const char *name = json_string(node);

		if (name && sscanf(json_name(node), "%4u:%7u", &major, &minor) == 2 &&
		    add_device(bpf, (uint32_t)stream, major, minor, text_shown(name)))
			return -ENOMEM;
	}
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
		bpf = calloc(1, sizeof(*bpf));
		if (bpf)
			bpf->richer = calloc(emu->nstreams + 1, sizeof(*bpf->richer));
		if (!bpf || !bpf->richer || sleep_objects_init(&bpf->objects, emu->nstreams)) {
			if (bpf)
				free(bpf->richer);
			free(bpf);
			return model_complain(state, "out of memory (for the model bpf)");
		}
		state->data = bpf;
	}
	bpf->richer[stream] = true;
	bpf->irqs |= json_bool(json_get(meta, "bpf.session.irq"));
	bpf->io |= json_bool(json_get(meta, "bpf.session.io"));
	if (sleep_objects_metadata(&bpf->objects, meta, stream) ||
	    read_devices(bpf, stream, json_get(meta, "bpf.session.devices")))
		return model_complain(state, "out of memory (for the model bpf)");
	for (name = json_first(json_get(meta, "bpf.names")); name; name = json_next(name))
		if (add_name(bpf, stream, name))
			return model_complain(state, "out of memory (for the names of threads)");
	return 0;
}

/* ---- events ---- */

/* The line of one event in the row of a thread, for all channels but LOST. */
struct pairs {
	struct emulator *emu;
	struct thread *th;
	uint32_t first; /* channel */
	bool begun;
};

/* Sets a channel, or empties it (0). */
static void put(struct pairs *pairs, uint32_t channel, int64_t value)
{
	struct channel *ch = &pairs->emu->channels[pairs->first + channel];
	struct slot *slot = &pairs->th->slots[pairs->first + channel];

	if (slot->value == value)
		return;
	slot->value = value;
	slot->has = value != 0;
	ch->used = true;
	prv_pair(&pairs->emu->thread_prv, &pairs->th->row, &pairs->emu->time, &ch->type, value,
		 &pairs->begun);
}

static void put_lost(struct emulator *emu, struct thread *th, uint32_t channel, int64_t lost)
{
	if (lost)
		(void)channel_set(emu, th, channel, lost);
	else if (th->slots[channel].has)
		(void)channel_clear(emu, th, channel);
}

#define IRQ_ALL 10000 /* of 308: all of the run */

/* Value of 308 for a run that begins at `ev`; 0: none, or its end is not within STREAM_PEEK bytes.
 */
static int64_t irq_value(const struct bpf *bpf, const struct stream *stream, const struct event *ev)
{
	const uint8_t *at = stream->at, *end = stream_peek_end(stream);
	int64_t left = ev->clock;
	struct event next;
	ssize_t n;

	while (bpf->irqs && (n = event_decode(&next, at, end)) > 0) {
		uint32_t mcv = event_mcv(&next);

		at += n;
		if (left == ev->clock && (mcv == MCV('O', 'H', 'p') || mcv == MCV('O', 'H', 'e')))
			left = next.clock;
		if (mcv != MCV('O', 'H', 'r') && mcv != MCV('O', 'H', 'e'))
			continue;
		n = interval_irq_ns(&next) ? clock_distance(ev->clock, left) : 0;
		return n > 0 ? (int64_t)((double)interval_irq_ns(&next) * IRQ_ALL / (double)n) : 0;
	}
	return 0;
}

static void put_irqs(struct emulator *emu, const struct bpf *bpf, struct thread *th,
		     const struct event *ev)
{
	uint32_t channel = bpf->first + IRQ;
	int64_t value = ev->value == 'x' || ev->value == 'r'
				? irq_value(bpf, &emu->streams[th->stream], ev)
				: 0;

	if (value)
		(void)channel_set(emu, th, channel, value);
	else if (th->slots[channel].has)
		(void)channel_clear(emu, th, channel);
}

static struct hash_key key_of(const struct emulator *emu, const struct loom *loom, int32_t tid)
{
	return (struct hash_key){.a = (uint64_t)(loom - emu->sys.looms), .b = (uint64_t)tid};
}

/*
 * Stores the number of a thread in *number, or THREAD_ID_NONE for an invalid tid. Returns 0, or
 * -errno after emu_refuse().
 */
static int number_thread(struct emulator *emu, struct bpf *bpf, const struct loom *loom,
			 int32_t tid, uint32_t *number)
{
	size_t id = (size_t)(loom - emu->sys.looms) * (TID_MAX + 1ul) + (size_t)tid;
	struct known_thread *known;
	uint32_t *at;

	*number = THREAD_ID_NONE;
	if (tid <= 0 || tid > TID_MAX)
		return 0;
	at = id_page(&bpf->known_at, id / KNOWN_PAGE);
	if (__builtin_expect(!at, 0)) {
		at = id_page_make(&bpf->known_at, id / KNOWN_PAGE, KNOWN_PAGE * sizeof(*at));
		if (!at)
			goto nomem;
	}
	at += id % KNOWN_PAGE;
	if (!*at) {
		known = ARRAY_ADD(bpf->known, bpf->nknown);
		if (!known)
			goto nomem;
		*known = (struct known_thread){
			.loom = loom,
			.thread = system_find_thread(&emu->sys, loom, NULL, tid),
			.tid = tid,
		};
		*at = (uint32_t)bpf->nknown;
	}
	*number = *at - 1;
	return 0;
nomem:
	return emu_refuse(emu, "out of memory (for the names of threads)");
}

/* Value of a thread in 301 and 302. */
static int64_t thread_value(uint32_t number)
{
	return number == THREAD_ID_NONE ? PEER_UNKNOWN : PEER_FIRST + (int64_t)number;
}

/* Stores the value of 301, the thread that took the CPU: none drove out a throttled thread. Returns
 * 0, or -errno after emu_refuse(). */
static int taker_value(struct emulator *emu, struct bpf *bpf, const struct thread *th,
		       uint32_t reason, int32_t next, int64_t *value)
{
	uint32_t number;
	int err;

	*value = reason == OFF_CPU_THROTTLED ? PEER_QUOTA : PEER_IDLE;
	if (reason == OFF_CPU_THROTTLED || !next)
		return 0;
	err = number_thread(emu, bpf, th->process->loom, next, &number);
	if (err)
		return err;
	*value = thread_value(number);
	return 0;
}

/* Value of 306 for the owner in the event that ends the sleep. Returns 0, or -errno after
 * emu_refuse(). */
static int owner_value(struct emulator *emu, struct bpf *bpf, const struct thread *th,
		       const struct event *end, int64_t *value)
{
	int32_t owner = sleep_lock_owner(end);
	uint32_t number;
	int err;

	*value = owner == LOCK_OWNER_NONE ? PEER_NOBODY : 0;
	if (owner <= 0)
		return 0;
	err = number_thread(emu, bpf, th->process->loom, owner, &number);
	if (err)
		return err;
	if (number != THREAD_ID_NONE) {
		bpf->known[number].owner = true;
		if (bpf->periods)
			bpf->periods[th->index].owner = bpf->known[number].thread;
	}
	*value = thread_value(number);
	return 0;
}

/* The call in which a thread falls asleep, its object, and the owner of the lock. */
static int sleep_in_call(struct bpf *bpf, struct pairs *pairs, const struct event *ev)
{
	const struct stream *stream = &pairs->emu->streams[pairs->th->stream];
	struct sleep_call call = sleep_call_of(ev);
	int64_t object = 0, owner = 0;
	struct event end;
	bool ends;
	int err;

	if (call.call == CALL_UNKNOWN)
		return 0;
	/* a thread that sleeps has no other event */
	ends = event_decode(&end, stream->at, stream_peek_end(stream)) > 0;
	if (sleep_objects_object(&bpf->objects, pairs->emu, pairs->th, &call, ev->clock,
				 ends ? end.clock : ev->clock, &object))
		return emu_refuse(pairs->emu, "out of memory (for the objects of sleeps)");
	err = ends ? owner_value(pairs->emu, bpf, pairs->th, &end, &owner) : 0;
	put(pairs, CALL, sleep_objects_call(&bpf->objects, pairs->emu, pairs->th, &call));
	put(pairs, OBJECT, object);
	put(pairs, OWNER, owner);
	return err;
}

/* Value of 307 for a sleep that begins: the place of its stack in the file, from 1; 0: it has none,
 * or it is not known. The event that ends it, the next one of the thread, has the number. */
static int64_t stack_value(struct bpf *bpf, const struct pairs *pairs)
{
	const struct stream *stream = &pairs->emu->streams[pairs->th->stream];
	struct stack_line *line;
	struct event end;

	if (!bpf->stacks.n || event_decode(&end, stream->at, stream_peek_end(stream)) <= 0)
		return 0;
	line = sleep_stack(&end) ? stack_table_find(&bpf->stacks, sleep_stack(&end)) : NULL;
	if (!line)
		return 0;
	bpf->stacks.lines[line->first].used = true;
	return (int64_t)line->first + 1;
}

/* Value of 309 for a device of the loom of a thread; 0 without memory. */
static int64_t device_value(struct emulator *emu, struct bpf *bpf, const struct thread *th,
			    const struct block_request *request)
{
	const struct loom *loom = th->process->loom;

	for (size_t i = 0; i < bpf->ndevices; i++) {
		struct device *d = &bpf->devices[i];

		if (d->major != request->major || d->minor != request->minor)
			continue;
		if (!d->loom && emu->sys.thread_of_stream[d->stream]->process->loom == loom)
			d->loom = loom;
		if (d->loom == loom)
			return (int64_t)i + 1;
	}
	if (add_device(bpf, th->stream, request->major, request->minor, "device"))
		return 0;
	bpf->devices[bpf->ndevices - 1].loom = loom;
	return (int64_t)bpf->ndevices;
}

/* The request that ends a sleep which begins: OHw and OHr, which are among the next events of the
 * thread, have it. */
static int put_request(struct bpf *bpf, struct pairs *pairs)
{
	const struct stream *stream = &pairs->emu->streams[pairs->th->stream];
	const uint8_t *at = stream->at, *end = stream_peek_end(stream);
	struct block_request request;
	int64_t us = 0, device = 0;
	struct event next;
	ssize_t n;

	while (bpf->io && !device && (n = event_decode(&next, at, end)) > 0) {
		if (next.model != 'O' || (next.category != 'H' && next.category != 'A') ||
		    next.value == 'p' || next.value == 'e')
			break;
		if (next.value == 'w')
			us = sleep_device_us(&next);
		if (interval_request(&next, &request)) {
			device = device_value(pairs->emu, bpf, pairs->th, &request);
			if (!device)
				return emu_refuse(pairs->emu, "out of memory (for the devices)");
		}
		at += n;
	}
	put(pairs, DEVICE, device);
	put(pairs, DEVICE_TIME, device ? us : 0);
	return 0;
}

static int leave(struct bpf *bpf, struct pairs *pairs, const struct event *ev)
{
	struct emulator *emu = pairs->emu;
	struct thread *th = pairs->th;
	uint32_t reason;
	int64_t taker;
	int err;

	if (bpf->periods)
		bpf->periods[th->index] =
			(struct off_period){.left_ns = emu->time.now, .left = th->cpu};
	put(pairs, WAKER, 0);
	if (!bpf->richer[th->stream] || ev->payload_size < 6) {
		put(pairs, ACTIVITY, ACTIVITY_SLEEPING + REASON_UNKNOWN);
		return 0;
	}
	reason = get_u16(ev->payload);
	err = taker_value(emu, bpf, th, reason, get_i32(ev->payload + 2), &taker);
	if (err)
		return err;
	if (!reason || reason >= OFF_CPU_COUNT)
		reason = REASON_UNKNOWN;
	put(pairs, REASON, reason);
	put(pairs, NEXT, taker);
	err = sleep_in_call(bpf, pairs, ev);
	put(pairs, STACK, stack_value(bpf, pairs));
	if (!err && reason == OFF_CPU_IO)
		err = put_request(bpf, pairs);
	put(pairs, ACTIVITY,
	    (off_cpu_runnable(reason) ? ACTIVITY_RUNNABLE : ACTIVITY_SLEEPING) + (int64_t)reason);
	return err;
}

/* Writes the arrow of a thread that was asleep on a lock: from the owner, when the sleep began. */
static void write_owner_arrow(struct emulator *emu, struct off_period *period,
			      const struct thread *th)
{
	int64_t now = emu->time.now;

	prv_arrow(&emu->thread_prv, &period->owner->row, period->left_ns, &th->row, now,
		  now - period->left_ns, 3);
	period->owner = NULL;
}

static int wake(struct bpf *bpf, struct pairs *pairs, const struct event *ev)
{
	struct emulator *emu = pairs->emu;
	struct thread *th = pairs->th;
	uint32_t number;
	int32_t waker;
	int64_t id;
	int err;

	if (th->slots[bpf->first + ACTIVITY].value < ACTIVITY_RUNNABLE)
		put(pairs, ACTIVITY, ACTIVITY_WOKEN);
	if (!bpf->richer[th->stream] || ev->payload_size < 4)
		return 0;
	waker = get_i32(ev->payload);
	err = number_thread(emu, bpf, th->process->loom, waker, &number);
	if (err)
		return err;
	switch (waker) {
	case WAKER_NONE:
		id = PEER_NOBODY;
		break;
	case WAKER_INTERRUPT:
		id = PEER_INTERRUPT;
		break;
	default:
		id = thread_value(number);
	}
	if (bpf->periods && number != THREAD_ID_NONE) {
		struct off_period *period = &bpf->periods[th->index];
		const struct thread *by = bpf->known[number].thread;

		period->waker = by;
		period->waker_cpu = by && by->state == THREAD_STATE_RUNNING ? by->cpu : NULL;
		period->woken_ns = emu->time.now;
	}
	put(pairs, WAKER, id);
	if (bpf->periods && bpf->periods[th->index].owner)
		write_owner_arrow(emu, &bpf->periods[th->index], th);
	return 0;
}

/* Writes the arrows of a thread that runs again: from its waker, and from the CPU that it left. */
static void write_arrows(struct emulator *emu, const struct off_period *period,
			 const struct thread *th)
{
	int64_t now = emu->time.now;

	if (th->cpu->phyid < 0)
		return; /* virtual CPU: the end of the recording */
	if (period->waker)
		prv_arrow(&emu->thread_prv, &period->waker->row, period->woken_ns, &th->row, now,
			  now - period->woken_ns, 1);
	if (period->waker && period->waker_cpu && period->waker_cpu->phyid >= 0)
		prv_arrow(&emu->cpu_prv, &period->waker_cpu->row, period->woken_ns, &th->cpu->row,
			  now, now - period->woken_ns, 1);
	if (period->left && period->left != th->cpu && period->left->phyid >= 0)
		prv_arrow(&emu->cpu_prv, &period->left->row, period->left_ns, &th->cpu->row, now,
			  now - period->left_ns, 2);
}

static void resume(struct bpf *bpf, struct pairs *pairs)
{
	struct off_period *period = bpf->periods ? &bpf->periods[pairs->th->index] : NULL;

	put(pairs, REASON, 0);
	put(pairs, NEXT, 0);
	put(pairs, CALL, 0);
	put(pairs, OBJECT, 0);
	put(pairs, OWNER, 0);
	put(pairs, STACK, 0);
	put(pairs, DEVICE, 0);
	put(pairs, DEVICE_TIME, 0);
	put(pairs, ACTIVITY, ACTIVITY_RUNNING);
	if (!period)
		return;
	write_arrows(pairs->emu, period, pairs->th);
	period->waker = NULL;
	period->left = NULL;
}

static int watch(struct emulator *emu, struct model_state *state, struct thread *th,
		 const struct event *ev)
{
	struct bpf *bpf = state->data;
	struct pairs pairs = {.emu = emu, .th = th, .first = bpf->first};

	if (ev->category == 'M') {
		if (get_i32(ev->payload + 8) == MARK_LOST)
			put_lost(emu, th, bpf->first + LOST,
				 ev->value == ']' ? 0 : get_i64(ev->payload));
		return 0;
	}
	put_irqs(emu, bpf, th, ev);
	switch (ev->value) {
	case 'x':
		put(&pairs, ACTIVITY, ACTIVITY_RUNNING);
		return 0;
	case 'p':
		return leave(bpf, &pairs, ev);
	case 'w':
		return wake(bpf, &pairs, ev);
	case 'r':
		resume(bpf, &pairs);
		return 0;
	case 'e':
		for (uint32_t c = REASON; c <= WAKER; c++)
			put(&pairs, c, 0);
		for (uint32_t c = CALL; c <= ACTIVITY; c++)
			put(&pairs, c, 0);
		return 0;
	}
	return 0;
}

/* ---- hooks ---- */

/* Adds the label of 324 for one reason. Returns 0 or -ENOMEM. */
static int add_activity(struct emulator *emu, struct bpf *bpf, unsigned reason)
{
	struct channel *ch = &emu->channels[bpf->first + ACTIVITY];
	int64_t number = reason ? reason : REASON_UNKNOWN;
	const char *kind = "Sleeping";
	char *label;

	if (off_cpu_runnable(reason))
		kind = "Runnable";
	else if (reason == OFF_CPU_UNKNOWN || reason == OFF_CPU_LOST)
		kind = "Not known";
	if (reason == OFF_CPU_SLEEPING || reason == OFF_CPU_UNKNOWN)
		label = strdup(kind);
	else
		label = xasprintf("%s: %s", kind, off_cpu_label(reason));
	if (!label)
		return -ENOMEM;
	bpf->activity_labels[reason] = label;
	return channel_add_label(
		ch, number + (off_cpu_runnable(reason) ? ACTIVITY_RUNNABLE : ACTIVITY_SLEEPING),
		label);
}

static int start(struct emulator *emu, struct model_state *state)
{
	struct bpf *bpf = state->data;

	bpf->first = state->first_channel;
	emu->names = true;
	if (sleep_objects_start(&bpf->objects, emu))
		goto nomem;
	if (stack_table_load(&bpf->stacks, emu->trace.fd, emu->trace.path))
		return -EINVAL;
	for (unsigned i = 0; i < OFF_CPU_COUNT; i++)
		if (channel_add_label(&emu->channels[bpf->first + REASON], i ? i : REASON_UNKNOWN,
				      off_cpu_label(i)) ||
		    (i != OFF_CPU_DEAD && add_activity(emu, bpf, i)))
			goto nomem;
	if (emu->opt->arrows) {
		bpf->periods = array_lines(emu->sys.nthreads + 1ul, sizeof(*bpf->periods));
		if (!bpf->periods)
			goto nomem;
	}
	for (size_t i = 0; i < bpf->nnames; i++) {
		const struct thread *th = emu->sys.thread_of_stream[bpf->names[i].stream];
		uint32_t *at =
			hash_at(&bpf->name_at, key_of(emu, th->process->loom, bpf->names[i].tid));

		if (!at)
			goto nomem;
		*at = (uint32_t)i;
	}
	return 0;
nomem:
	return log_no_memory("for the model bpf");
}

static const char *name_of(const struct emulator *emu, const struct bpf *bpf,
			   const struct known_thread *known)
{
	uint32_t i;

	if (known->thread && known->thread->name)
		return known->thread->name;
	i = hash_get(&bpf->name_at, key_of(emu, known->loom, known->tid));
	return i == HASH_NONE ? NULL : bpf->names[i].text;
}

/* Adds the labels of the stacks that occur. Returns 0 or -ENOMEM. */
static int describe_stacks(struct emulator *emu, struct bpf *bpf)
{
	for (size_t i = 0; i < bpf->stacks.n; i++) {
		char *label, **added;

		if (!bpf->stacks.lines[i].used)
			continue;
		label = stack_line_text(&bpf->stacks.lines[i], 3);
		added = label ? ARRAY_ADD(bpf->stack_labels, bpf->nstack_labels) : NULL;
		if (!added) {
			free(label);
			return -ENOMEM;
		}
		*added = label;
		if (channel_add_label(&emu->channels[bpf->first + STACK], (int64_t)i + 1, label))
			return -ENOMEM;
	}
	return 0;
}

/* Adds the labels of the devices that occur. Returns 0 or -ENOMEM. */
static int describe_devices(struct emulator *emu, struct bpf *bpf)
{
	bool many = emu->sys.nlooms > 1;

	for (size_t i = 0; i < bpf->ndevices; i++) {
		struct device *d = &bpf->devices[i];

		if (!d->loom)
			continue;
		d->label = xasprintf("%s (%u:%u)%s%s", d->name, d->major, d->minor,
				     many ? " on " : "", many ? d->loom->name : "");
		if (!d->label || channel_add_label(&emu->channels[bpf->first + DEVICE],
						   (int64_t)i + 1, d->label))
			return -ENOMEM;
	}
	return 0;
}

static int describe(struct emulator *emu, struct model_state *state)
{
	struct bpf *bpf = state->data;
	bool many = emu->sys.nlooms > 1;

	for (uint32_t i = 0; i < bpf->nknown; i++) {
		struct known_thread *known = &bpf->known[i];
		const char *name = name_of(emu, bpf, known);

		known->label = xasprintf("%s (%" PRIi32 ")%s%s", name ?: "thread", known->tid,
					 many ? " on " : "", many ? known->loom->name : "");
		if (!known->label ||
		    channel_add_label(&emu->channels[bpf->first + NEXT], thread_value(i),
				      known->label) ||
		    channel_add_label(&emu->channels[bpf->first + WAKER], thread_value(i),
				      known->label) ||
		    (known->owner && channel_add_label(&emu->channels[bpf->first + OWNER],
						       thread_value(i), known->label)))
			return log_no_memory("for the names of threads");
	}
	if (sleep_objects_describe(&bpf->objects, &emu->channels[bpf->first + CALL],
				   &emu->channels[bpf->first + OBJECT]))
		return log_no_memory("for the names of system calls");
	if (describe_devices(emu, bpf))
		return log_no_memory("for the names of block devices");
	return describe_stacks(emu, bpf) ? log_no_memory("for the names of stacks") : 0;
}

static void close_bpf(struct model_state *state)
{
	struct bpf *bpf = state->data;

	if (!bpf)
		return;
	for (size_t i = 0; i < OFF_CPU_COUNT; i++)
		free(bpf->activity_labels[i]);
	sleep_objects_fini(&bpf->objects);
	for (size_t i = 0; i < bpf->nstack_labels; i++)
		free(bpf->stack_labels[i]);
	free(bpf->stack_labels);
	stack_table_free(&bpf->stacks);
	for (size_t i = 0; i < bpf->ndevices; i++) {
		free(bpf->devices[i].name);
		free(bpf->devices[i].label);
	}
	free(bpf->devices);
	for (size_t i = 0; i < bpf->nnames; i++)
		free(bpf->names[i].text);
	for (size_t i = 0; i < bpf->nknown; i++)
		free(bpf->known[i].label);
	free(bpf->names);
	hash_free(&bpf->name_at);
	free(bpf->known);
	id_pages_free(&bpf->known_at);
	free(bpf->periods);
	free(bpf->richer);
	free(bpf);
}

const struct model model_bpf = {
	.name = "bpf",
	.extension = true,
	CHANNELS(channels),
	.metadata = metadata,
	.start = start,
	.watch = watch,
	.describe = describe,
	.close = close_bpf,
};
