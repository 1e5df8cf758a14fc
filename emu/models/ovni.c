/* SPDX-License-Identifier: MIT */
/*
 * ovni: states of threads, their CPUs, flushes of the library, and marks: events of the user, with
 * types that the streams declare in ovni.mark, and a channel (event type 100 + t) for each type.
 * Specification: models.md 1, prv.md 4.4.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/model.h"
#include "emu/track.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"

static const struct channel_page channels[] = {
	CHANNEL_PAGE(7, "Flushing ovni buffer", SINGLE, ANY, SKIP, .name = "flush"),
};

#define MARK_TYPE_FIRST 100 /* event type of mark 0 in Paraver */
#define MARK_OURS_FIRST 92  /* gaps, and accelerators, which are never off a CPU */
#define LABEL_MAX	512
#define MARK_TYPES	100
#define MARK_BYTES	12 /* of payload: i64 value, i32 type */

struct mark_label {
	int64_t value;
	char *text;
};

struct mark {
	bool declared, placed;
	char *title;
	enum channel_kind kind;
	struct mark_label *labels; /* in the order of their declarations */
	size_t nlabels;
	struct hash by_value; /* of labels */
	struct channel_page page;
	uint32_t channel;
};

struct mention { /* a stream declares a type */
	uint32_t stream;
	uint32_t gindex; /* of its thread */
	uint32_t place;	 /* order of the declarations */
	uint8_t type;
};

struct marks {
	struct mark types[MARK_TYPES];
	struct mention *mentions; /* by stream and key */
	size_t nmentions;
};

/* ---- the state of a thread ---- */

static int refuse_move(struct emulator *emu, const struct thread *th, const char *verb)
{
	return emu_refuse(emu, "thread %" PRIi32 " cannot %s in the state %s", th->tid, verb,
			  thread_state_names[th->state]);
}

static int refuse_cpu(struct emulator *emu, const struct loom *loom, int32_t index)
{
	return emu_refuse(emu,
			  "loom %s has no CPU with index %" PRIi32 ": it has 0 to %" PRIu32
			  ", and -1 for the virtual one",
			  loom->name, index, loom->ncpus - 1);
}

static int call_watchers(struct emulator *emu, struct thread *th, const struct event *ev)
{
	for (size_t i = 0; i < emu->nwatchers; i++) {
		int err = emu->watchers[i]->model->watch(emu, emu->watchers[i], th, ev);

		if (err)
			return err;
	}
	return 0;
}

static int execute(struct emulator *emu, struct thread *th, const struct event *ev,
		   const struct action *action)
{
	struct cpu *cpu;
	int32_t index;
	int err;

	(void)action;
	if (ev->payload_size < sizeof(index))
		return emu_refuse(emu,
				  "needs 4 bytes of payload for the index of the CPU, and has %u",
				  ev->payload_size);
	if (th->state == THREAD_STATE_RUNNING)
		return refuse_move(emu, th, "begin to execute");
	if (th->cpu)
		return emu_refuse(emu,
				  "thread %" PRIi32 " cannot begin to execute in the state %s: it "
				  "already has a CPU",
				  th->tid, thread_state_names[th->state]);
	index = get_i32(ev->payload);
	cpu = loom_cpu(th->process->loom, index);
	if (!cpu)
		return refuse_cpu(emu, th->process->loom, index);
	err = occupancy_execute(emu, th, cpu);
	return err ? err : call_watchers(emu, th, ev);
}

/* OHe OHp OHr OHc OHw */
static int change(struct emulator *emu, struct thread *th, const struct event *ev,
		  const struct action *action)
{
	static const char *const verbs[] = {
		['e' - 'a'] = "end",  ['p' - 'a'] = "pause", ['r' - 'a'] = "resume",
		['c' - 'a'] = "cool", ['w' - 'a'] = "warm",
	};
	int next = thread_state_next(th->state, (char)ev->value), err = 0;

	(void)action;
	if (__builtin_expect(next < 0, 0))
		return refuse_move(emu, th, verbs[ev->value - 'a']);
	if (next == THREAD_STATE_DEAD)
		occupancy_end(emu, th);
	else
		err = occupancy_change(emu, th, next);
	return err ? err : call_watchers(emu, th, ev);
}

/* ---- affinity ---- */

static int move_self(struct emulator *emu, struct thread *th, const struct event *ev,
		     const struct action *action)
{
	struct cpu *cpu;

	(void)action;
	if (ev->payload_size != 4)
		return emu_refuse(emu, "has 4 bytes of payload (i32 cpu), not %u",
				  ev->payload_size);
	if (!thread_state_is_active(th->state))
		return refuse_move(emu, th, "change its CPU");
	cpu = loom_cpu(th->process->loom, get_i32(ev->payload));
	if (!cpu)
		return refuse_cpu(emu, th->process->loom, get_i32(ev->payload));
	return cpu == th->cpu ? 0 : occupancy_move(emu, th, cpu);
}

static int move_other(struct emulator *emu, struct thread *th, const struct event *ev,
		      const struct action *action)
{
	const struct loom *loom = th->process->loom;
	struct thread *other;
	struct cpu *cpu;
	int32_t tid;

	(void)action;
	if (ev->payload_size != 8)
		return emu_refuse(emu, "has 8 bytes of payload (i32 cpu, i32 tid), not %u",
				  ev->payload_size);
	tid = get_i32(ev->payload + 4);
	cpu = loom_cpu(loom, get_i32(ev->payload));
	if (!cpu)
		return refuse_cpu(emu, loom, get_i32(ev->payload));
	other = system_find_thread(&emu->sys, loom, th->process, tid);
	if (!other)
		return emu_refuse(emu, "loom %s has no thread %" PRIi32, loom->name, tid);
	if (other->state == THREAD_STATE_UNKNOWN || other->state == THREAD_STATE_DEAD)
		return refuse_move(emu, other, "be moved");
	if (cpu == other->cpu)
		return emu_refuse(emu, "thread %" PRIi32 " is on that CPU already", tid);
	return occupancy_move(emu, other, cpu);
}

/* ---- marks ---- */

/* OM[ OM] OM= */
static int mark(struct emulator *emu, struct thread *th, const struct event *ev,
		const struct action *action)
{
	const struct marks *marks = emu->by_character['O']->data;
	const struct mark *mark;
	int64_t value;
	int32_t type;
	int err;

	(void)action;
	if (ev->payload_size != MARK_BYTES)
		return emu_refuse(emu,
				  "a mark has %d bytes of payload (i64 value, i32 type), not %u",
				  MARK_BYTES, ev->payload_size);
	value = get_i64(ev->payload);
	type = get_i32(ev->payload + 8);
	if (type < 0 || type >= MARK_TYPES || !marks->types[type].placed)
		return emu_refuse(emu, "no stream declares the mark type %" PRIi32 " in ovni.mark",
				  type);
	if (!value)
		return emu_refuse(
			emu, "the value of a mark (here of type %" PRIi32 ") may not be 0", type);
	mark = &marks->types[type];
	if ((ev->value == '=') != (mark->kind == CHANNEL_SINGLE))
		return emu_refuse(emu, "mark type %" PRIi32 " is declared as %s: %s", type,
				  mark->kind == CHANNEL_SINGLE ? "single" : "stack",
				  mark->kind == CHANNEL_SINGLE ? "it is set with OM="
							       : "it is pushed and popped");
	if (ev->value == '[')
		err = emu_push(emu, th, mark->channel, value);
	else if (ev->value == ']')
		err = emu_pop(emu, th, mark->channel, value);
	else
		err = emu_put(emu, th, mark->channel, 1, value);
	return err ? err : call_watchers(emu, th, ev);
}

static const struct model_event events[] = {
	{"OHx", false, execute},   {"OHe", false, change},     {"OHp", false, change},
	{"OHr", false, change},	   {"OHc", false, change},     {"OHw", false, change},
	{"OAs", false, move_self}, {"OAr", false, move_other}, {"OCn", false, model_obsolete},
	{"OM[", false, mark},	   {"OM]", false, mark},       {"OM=", false, mark},
};

/* ---- declarations of marks ---- */

/* Parses a decimal integer without a suffix. */
static bool parse_number(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return end != text && !*end && !errno;
}

static int declare_label(struct mark *mark, struct model_state *state, const struct json *node,
			 const char *path, int type)
{
	const char *key = json_name(node), *text = json_string(node);
	struct mark_label *label;
	uint32_t *at;
	int64_t value;
	char *copy;

	if (!text)
		return model_complain(state, "%s: ovni.mark.%d.labels.%s is not a string", path,
				      type, key);
	if (!parse_number(key, &value))
		return model_complain(state,
				      "%s: ovni.mark.%d.labels has the key '%s', which is not an "
				      "integer",
				      path, type, key);
	if (strlen(text) >= LABEL_MAX)
		return model_complain(state,
				      "%s: ovni.mark.%d.labels.%s has %zu bytes, the maximum is %d",
				      path, type, key, strlen(text), LABEL_MAX - 1);
	at = hash_at(&mark->by_value, (struct hash_key){.a = (uint64_t)value});
	if (at && *at != HASH_NONE) {
		if (strcmp(mark->labels[*at].text, text) == 0)
			return 0;
		return model_complain(state,
				      "%s: ovni.mark.%d.labels.%s is '%s', but '%s' in another "
				      "stream",
				      path, type, key, text, mark->labels[*at].text);
	}
	copy = at ? strdup(text) : NULL;
	label = copy ? ARRAY_ADD(mark->labels, mark->nlabels) : NULL;
	if (!label) {
		free(copy);
		return model_complain(state, "%s: out of memory (for labels)", path);
	}
	*label = (struct mark_label){value, copy};
	*at = (uint32_t)mark->nlabels - 1;
	return 0;
}

static int declare_type(struct marks *marks, struct model_state *state, const struct json *node,
			const char *path, uint8_t *type)
{
	const char *title = json_string(json_key(node, "title"));
	const char *kind = json_string(json_key(node, "chan_type"));
	const struct json *labels = json_key(node, "labels"), *l;
	struct mark *mark;
	bool stack;
	int64_t t;
	int err;

	if (!parse_number(json_name(node), &t) || t < 0 || t >= MARK_TYPES)
		return model_complain(state, "%s: ovni.mark has the type '%s': types are 0 to %d",
				      path, json_name(node), MARK_TYPES - 1);
	*type = (uint8_t)t;
	mark = &marks->types[t];
	if (!json_is_object(node) || !title || !kind)
		return model_complain(state,
				      "%s: ovni.mark.%d must be an object with the strings title "
				      "and chan_type",
				      path, (int)t);
	stack = strcmp(kind, "stack") == 0;
	if (!stack && strcmp(kind, "single") != 0)
		return model_complain(state,
				      "%s: ovni.mark.%d.chan_type is '%s': it must be single or "
				      "stack",
				      path, (int)t, kind);
	if (!mark->declared) {
		mark->title = strdup(title);
		mark->kind = stack ? CHANNEL_STACK : CHANNEL_SINGLE;
		mark->declared = mark->title != NULL;
		if (!mark->declared)
			return model_complain(state, "%s: out of memory (for marks)", path);
	}
	if (strcmp(mark->title, title) != 0 ||
	    mark->kind != (stack ? CHANNEL_STACK : CHANNEL_SINGLE))
		return model_complain(state,
				      "%s: ovni.mark.%d is '%s' (%s), but '%s' (%s) in another "
				      "stream",
				      path, (int)t, title, kind, mark->title,
				      mark->kind == CHANNEL_STACK ? "stack" : "single");
	if (labels && !json_is_object(labels))
		return model_complain(state, "%s: ovni.mark.%d.labels is not an object", path,
				      (int)t);
	for (l = json_first(labels); l; l = json_next(l)) {
		err = declare_label(mark, state, l, path, (int)t);
		if (err)
			return err;
	}
	return 0;
}

/* Adds the declarations of a stream. */
static int declare_marks(struct marks *marks, struct model_state *state, const struct json *meta,
			 size_t stream, const char *path)
{
	const struct json *object = json_get(meta, "ovni.mark"), *node;
	struct mention *mention;

	if (!json_is_object(object))
		return 0;
	for (node = json_first(object); node; node = json_next(node)) {
		uint8_t type = 0;
		int err = declare_type(marks, state, node, path, &type);

		if (err)
			return err;
		mention = ARRAY_ADD(marks->mentions, marks->nmentions);
		if (!mention)
			return model_complain(state, "%s: out of memory (for marks)", path);
		*mention = (struct mention){.stream = (uint32_t)stream,
					    .place = (uint32_t)marks->nmentions,
					    .type = type};
	}
	return 0;
}

/* ---- channels of marks ---- */

static int by_thread(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;

	if (x->gindex != y->gindex)
		return x->gindex < y->gindex ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int place_mark(struct mark *mark, struct emulator *emu, uint8_t type)
{
	bool wide = false; /* a value does not fit in 32 bits */
	int n;

	mark->page = (struct channel_page)CHANNEL_PAGE(MARK_TYPE_FIRST + (uint32_t)type,
						       mark->title, SINGLE, ACTIVE, SKIP_EMPTY,
						       .repeats = true, .alone = true);
	mark->page.kind = mark->kind;
	mark->page.brief = type >= MARK_OURS_FIRST;
	n = model_add_channel(emu, &mark->page);
	if (n < 0)
		return n;
	mark->channel = (uint32_t)n;
	mark->placed = true;
	for (size_t i = 0; i < mark->nlabels; i++) {
		const struct mark_label *label = &mark->labels[i];
		/* Paraver has 32 bits for a labelled value; lines have all 64 */
		int32_t cut = (int32_t)(uint32_t)(uint64_t)label->value;

		wide |= cut != label->value;
		if (wide && channel_label(&emu->channels[n], cut)) {
			log_warn("mark %d: the label of %" PRIi64
				 " is left out: its low 32 bits are "
				 "those of another value",
				 type, label->value);
			continue;
		}
		if (channel_add_label(&emu->channels[n], cut, label->text))
			return log_no_memory("for the labels of mark %d", type);
	}
	return 0;
}

/* Adds the channels of all types, in the order of their first declarations, by gindex. */
static int prepare_marks(struct marks *marks, struct emulator *emu)
{
	for (size_t i = 0; i < marks->nmentions; i++) {
		struct mention *mention = &marks->mentions[i];

		mention->gindex = emu->sys.thread_of_stream[mention->stream]->index;
	}
	if (marks->nmentions)
		qsort(marks->mentions, marks->nmentions, sizeof(*marks->mentions), by_thread);
	for (size_t i = 0; i < marks->nmentions; i++) {
		uint8_t type = marks->mentions[i].type;
		int err =
			marks->types[type].placed ? 0 : place_mark(&marks->types[type], emu, type);

		if (err)
			return err;
	}
	return 0;
}

/* ---- hooks ---- */

static int metadata(struct emulator *emu, struct model_state *state, const struct json *meta,
		    size_t stream)
{
	if (!state->data)
		state->data = calloc(1, sizeof(struct marks));
	if (!state->data)
		return model_complain(state, "out of memory (for the model ovni)");
	if (state->complaint)
		return -EINVAL;
	return declare_marks(state->data, state, meta, stream, emu_stream_name(emu, stream));
}

static int prepare(struct emulator *emu, struct model_state *state)
{
	return state->data ? prepare_marks(state->data, emu) : 0;
}

static int finish(struct emulator *emu, struct model_state *state)
{
	uint32_t alive = 0;
	const struct thread *first = NULL;

	(void)state;
	for (uint32_t i = 0; i < emu->sys.nthreads; i++) {
		const struct thread *th = &emu->sys.threads[i];

		if (th->state != THREAD_STATE_DEAD && !emu->damaged[th->stream] && !alive++)
			first = th;
	}
	if (!alive)
		return 0;
	log_error("%s: thread %" PRIi32 " is not dead at the end, but in the state %s (%" PRIu32
		  " threads in all): each must end with OHe",
		  emu_stream_name(emu, first->stream), first->tid, thread_state_names[first->state],
		  alive);
	return -EINVAL;
}

static void close_ovni(struct model_state *state)
{
	struct marks *marks = state->data;

	if (!marks)
		return;
	for (int t = 0; t < MARK_TYPES; t++) {
		struct mark *mark = &marks->types[t];

		for (size_t i = 0; i < mark->nlabels; i++)
			free(mark->labels[i].text);
		free(mark->labels);
		hash_free(&mark->by_value);
		free(mark->title);
	}
	free(marks->mentions);
	free(marks);
}

const struct model model_ovni = {
	.name = "ovni",
	CHANNELS(channels),
	EVENTS(events),
	.metadata = metadata,
	.prepare = prepare,
	.finish = finish,
	.close = close_ovni,
};
