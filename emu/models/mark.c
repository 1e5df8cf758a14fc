/* SPDX-License-Identifier: MIT */
/* mark: events of the user (see mark.h). */
#include "emu/layout.h"
#include "emu/models/mark.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/refuse.h"
#include "emu/track.h"
#include "trace/base/log.h"

#define TYPE_FIRST   100 /* event type of mark 0 in Paraver */
#define LABEL_MAX    512
#define PAYLOAD_SIZE 12 /* i64 value, i32 type */

struct mark_label {
	int64_t value;
	char *text;
};

struct mark {
	bool declared, placed;
	char *title;
	enum channel_kind kind;
	struct mark_label *labels; /* open addressing, by value; text NULL: free */
	size_t nlabels, room;
	int64_t *order; /* values in the order of their declarations */
	struct channel_page page;
	uint32_t channel;
};

struct mention { /* a stream declares a type */
	uint32_t stream;
	uint8_t type;
};

struct marks {
	struct mark types[MARK_TYPES];
	struct mention *mentions; /* by stream and key */
	size_t nmentions, room;
};

struct marks *mark_new(void)
{
	return calloc(1, sizeof(struct marks));
}

void mark_free(struct marks *marks)
{
	if (!marks)
		return;
	for (int t = 0; t < MARK_TYPES; t++) {
		struct mark *mark = &marks->types[t];

		for (size_t i = 0; i < mark->room; i++)
			free(mark->labels[i].text);
		free(mark->labels);
		free(mark->order);
		free(mark->title);
	}
	free(marks->mentions);
	free(marks);
}

/* ---- declarations ---- */

/* Parses a decimal integer without a suffix. */
static bool parse_number(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return end != text && !*end && !errno;
}

static struct mark_label *find_label(const struct mark *mark, int64_t value)
{
	size_t i = (size_t)(((uint64_t)value * 0x9e3779b97f4a7c15ULL) >> 20) & (mark->room - 1);

	while (mark->labels[i].text && mark->labels[i].value != value)
		i = (i + 1) & (mark->room - 1);
	return &mark->labels[i];
}

/* Keeps the table at most half full. */
static int make_room(struct mark *mark)
{
	struct mark old = *mark;
	size_t room = mark->room ? 2 * mark->room : 16;
	int64_t *order;

	if (2 * (mark->nlabels + 1) <= mark->room)
		return 0;
	order = realloc(mark->order, room / 2 * sizeof(*order));
	if (!order)
		return -ENOMEM;
	mark->order = order;
	mark->labels = calloc(room, sizeof(*mark->labels));
	if (!mark->labels) {
		mark->labels = old.labels;
		return -ENOMEM;
	}
	mark->room = room;
	for (size_t i = 0; i < old.room; i++)
		if (old.labels[i].text)
			*find_label(mark, old.labels[i].value) = old.labels[i];
	free(old.labels);
	return 0;
}

static int declare_label(struct mark *mark, struct model_state *state, const struct json *node,
			 const char *path, int type)
{
	const char *key = json_name(node), *text = json_string(node);
	struct mark_label *label;
	int64_t value;

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
	if (make_room(mark))
		return model_complain(state, "%s: out of memory (for labels)", path);
	label = find_label(mark, value);
	if (label->text)
		return strcmp(label->text, text) == 0
			       ? 0
			       : model_complain(
					 state,
					 "%s: ovni.mark.%d.labels.%s is '%s', but '%s' in another "
					 "stream",
					 path, type, key, text, label->text);
	label->text = strdup(text);
	if (!label->text)
		return model_complain(state, "%s: out of memory (for labels)", path);
	label->value = value;
	mark->order[mark->nlabels++] = value;
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

int mark_declare(struct marks *marks, struct model_state *state, const struct json *meta,
		 size_t stream, const char *path)
{
	const struct json *object = json_get(meta, "ovni.mark"), *node;

	if (!json_is_object(object))
		return 0;
	for (node = json_first(object); node; node = json_next(node)) {
		struct mention mention = {.stream = (uint32_t)stream};
		int err = declare_type(marks, state, node, path, &mention.type);

		if (err)
			return err;
		if (marks->nmentions == marks->room) {
			size_t room = marks->room ? 2 * marks->room : 64;
			struct mention *list = realloc(marks->mentions, room * sizeof(*list));

			if (!list)
				return model_complain(state, "%s: out of memory (for marks)", path);
			marks->mentions = list;
			marks->room = room;
		}
		marks->mentions[marks->nmentions++] = mention;
	}
	return 0;
}

/* ---- channels ---- */

struct ordered {
	uint32_t gindex;
	uint32_t place;
	uint8_t type;
};

static int by_thread(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->gindex != y->gindex)
		return x->gindex < y->gindex ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int place_mark(struct mark *mark, struct emulator *emu, uint8_t type)
{
	bool wide = false; /* a value does not fit in 32 bits */
	int n;

	mark->page = (struct channel_page){
		.type = TYPE_FIRST + (uint32_t)type,
		.kind = mark->kind,
		.repeats = true,
		.track = TRACK_ACTIVE,
		.policy = POLICY_SKIP_EMPTY,
		.label = mark->title,
		.alone = true,
	};
	n = layout_add_channel(emu, &mark->page);
	if (n < 0)
		return n;
	mark->channel = (uint32_t)n;
	mark->placed = true;
	for (size_t i = 0; i < mark->nlabels; i++) {
		/* Paraver has 32 bits for a labelled value; lines have all 64 */
		int32_t cut = (int32_t)(uint32_t)(uint64_t)mark->order[i];

		wide |= cut != mark->order[i];
		if (wide && channel_label(&emu->channels[n], cut)) {
			log_warn("mark %d: the label of %" PRIi64
				 " is left out: its low 32 bits are "
				 "those of another value",
				 type, mark->order[i]);
			continue;
		}
		if (channel_add_label(&emu->channels[n], cut,
				      find_label(mark, mark->order[i])->text)) {
			log_no_memory("for the labels of mark %d", type);
			return -ENOMEM;
		}
	}
	return 0;
}

int mark_prepare(struct marks *marks, struct emulator *emu)
{
	struct ordered *list = calloc(marks->nmentions + 1, sizeof(*list));
	int err = 0;

	if (!list) {
		log_no_memory("for the marks");
		return -ENOMEM;
	}
	for (size_t i = 0; i < marks->nmentions; i++) {
		const struct thread *th = emu->sys.thread_of_stream[marks->mentions[i].stream];

		list[i] = (struct ordered){th->index, (uint32_t)i, marks->mentions[i].type};
	}
	qsort(list, marks->nmentions, sizeof(*list), by_thread);
	for (size_t i = 0; i < marks->nmentions; i++) {
		struct mark *mark = &marks->types[list[i].type];

		err = mark->placed ? 0 : place_mark(mark, emu, list[i].type);
		if (err)
			break;
	}
	free(list);
	return err;
}

/* ---- events ---- */

int mark_event(const struct marks *marks, struct emulator *emu, struct thread *th,
	       const struct event *ev)
{
	enum channel_result result;
	const struct mark *mark;
	int64_t value;
	int32_t type;

	if (ev->payload_size != PAYLOAD_SIZE)
		return emu_refuse(emu,
				  "a mark has %d bytes of payload (i64 value, i32 type), not %u",
				  PAYLOAD_SIZE, ev->payload_size);
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
		result = channel_push(emu, th, mark->channel, value);
	else if (ev->value == ']')
		result = channel_pop(emu, th, mark->channel, value);
	else
		result = channel_set(emu, th, mark->channel, value);
	return emu_refuse_channel(emu, result, th, mark->channel, value);
}
