/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/metadata_subset.h"
#include "tools/merge/marks.h"
#include "trace/base/array.h"

#define TYPES	  100
#define TYPES_OWN 92 /* from here on a type means the same in all traces */
#define MARK_SIZE 12 /* of the payload: i64 value, i32 type */

struct label {
	int64_t value, to;
	char *text;
};

struct type {
	char *title, *kind;
	struct label *labels; /* sorted by value by merge_marks_settle() */
	size_t nlabels;
	int32_t to;
	int64_t highest; /* value with a label */
};

struct merge_marks {
	struct type sides[2][TYPES];
};

struct merge_marks *merge_marks_new(void)
{
	return calloc(1, sizeof(struct merge_marks));
}

static void free_type(struct type *type)
{
	for (size_t i = 0; i < type->nlabels; i++)
		free(type->labels[i].text);
	free(type->labels);
	free(type->title);
	free(type->kind);
}

void merge_marks_free(struct merge_marks *marks)
{
	for (int i = 0; marks && i < TYPES; i++) {
		free_type(&marks->sides[MARKS_FIRST][i]);
		free_type(&marks->sides[MARKS_SECOND][i]);
	}
	free(marks);
}

/* A key that is a decimal integer, all of it. */
static bool number(const char *key, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(key, &end, 10);
	return !errno && end != key && !*end;
}

/* ---- declarations of marks ---- */

static int add_label(struct type *type, int64_t value, const char *text)
{
	struct label *label = ARRAY_ADD(type->labels, type->nlabels);

	if (!label)
		return -ENOMEM;
	*label = (struct label){.value = value, .to = value, strdup(text)};
	if (!label->text)
		return -ENOMEM;
	if (value > type->highest)
		type->highest = value;
	return 0;
}

static int take_type(struct type *type, const struct json *node)
{
	const char *title = json_string(json_key(node, "title"));
	const char *kind = json_string(json_key(node, "chan_type"));
	if (!title || !kind)
		return 0;
	if (!type->title) {
		type->title = strdup(title);
		type->kind = strdup(kind);
		if (!type->title || !type->kind)
			return -ENOMEM;
	}
	for (node = json_first(json_key(node, "labels")); node; node = json_next(node)) {
		int64_t value;

		if (!json_string(node) || !number(json_name(node), &value))
			continue;
		if (add_label(type, value, json_string(node)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int merge_marks_take(struct merge_marks *marks, enum marks_side side, const struct json *meta)
{
	const struct json *node = json_get(meta, "ovni.mark");
	if (!json_is_object(node))
		return 0;
	for (node = json_first(node); node; node = json_next(node)) {
		int64_t t;

		if (!number(json_name(node), &t) || t < 0 || t >= TYPES)
			continue;
		if (take_type(&marks->sides[side][t], node) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- new numbers of marks ---- */

static int by_value(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

static int by_text(const void *a, const void *b)
{
	const struct label *const *x = a, *const *y = b;

	return strcmp((*x)->text, (*y)->text);
}

/* Sorts by value and drops duplicates: several streams declare the same label. */
static void sort_labels(struct type *type)
{
	size_t kept = 0;

	if (type->nlabels)
		qsort(type->labels, type->nlabels, sizeof(*type->labels), by_value);
	for (size_t i = 0; i < type->nlabels; i++) {
		if (kept && type->labels[kept - 1].value == type->labels[i].value)
			free(type->labels[i].text);
		else
			type->labels[kept++] = type->labels[i];
	}
	type->nlabels = kept;
}

static struct label *find_value(const struct type *type, int64_t value)
{
	struct label key = {.value = value};

	return type->nlabels ? bsearch(&key, type->labels, type->nlabels, sizeof(key), by_value)
			     : NULL;
}

static bool same_text(const struct label *a, const struct label *b)
{
	return a && strcmp(a->text, b->text) == 0;
}

/*
 * New values for the labels of a type that both traces have. At most one label of the second trace
 * takes a value of the first (`taken`), so that no two of them become one. `texts` are the labels
 * of the first, by text.
 */
static void choose_values(struct type *join, const struct type *stay, const struct label **texts,
			  bool *taken)
{
	int64_t next = join->highest > stay->highest ? join->highest : stay->highest;

	for (size_t i = 0; i < join->nlabels; i++) { /* the same value in both */
		const struct label *there = find_value(stay, join->labels[i].value);

		if (same_text(there, &join->labels[i]))
			taken[there - stay->labels] = true;
	}
	for (size_t i = 0; i < join->nlabels; i++) {
		struct label *label = &join->labels[i];
		const struct label *key = label, *there = find_value(stay, label->value);
		const struct label **same = NULL;

		if (same_text(there, label))
			continue;
		if (stay->nlabels)
			same = bsearch(&key, texts, stay->nlabels, sizeof(*texts), by_text);
		if (same && !taken[*same - stay->labels]) {
			taken[*same - stay->labels] = true;
			label->to = (*same)->value;
		} else if (there && next < INT64_MAX) {
			label->to = ++next;
		}
	}
}

static int settle_labels(struct type *join, const struct type *stay)
{
	const struct label **texts = malloc((stay->nlabels + 1) * sizeof(*texts));
	bool *taken = calloc(stay->nlabels + 1, sizeof(*taken));
	int err = -ENOMEM;

	if (!texts || !taken)
		goto out;
	for (size_t i = 0; i < stay->nlabels; i++)
		texts[i] = &stay->labels[i];
	if (stay->nlabels)
		qsort(texts, stay->nlabels, sizeof(*texts), by_text);
	choose_values(join, stay, texts, taken);
	err = 0;
out:
	free(texts);
	free(taken);
	return err;
}

static int32_t free_type_number(const struct merge_marks *marks, const bool *taken)
{
	for (int32_t t = 0; t < TYPES_OWN; t++)
		if (!taken[t] && !marks->sides[MARKS_FIRST][t].title &&
		    !marks->sides[MARKS_SECOND][t].title)
			return t;
	return -1;
}

int merge_marks_settle(struct merge_marks *marks)
{
	bool taken[TYPES] = {false};

	for (int32_t t = 0; t < TYPES; t++) {
		struct type *stay = &marks->sides[MARKS_FIRST][t];
		struct type *join = &marks->sides[MARKS_SECOND][t];

		sort_labels(stay);
		sort_labels(join);
		join->to = t;
		if (!stay->title || !join->title)
			continue;
		if (strcmp(stay->title, join->title) == 0 && strcmp(stay->kind, join->kind) == 0) {
			int err = settle_labels(join, stay);

			if (err)
				return err;
			continue;
		}
		join->to = free_type_number(marks, taken);
		if (join->to < 0)
			return -ENOSPC;
		taken[join->to] = true;
	}
	return 0;
}

/* ---- renumbering of marks ---- */

static int64_t new_value(const struct type *type, int64_t value)
{
	const struct label *label = find_value(type, value);

	return label ? label->to : value;
}

static bool declare_type(struct json *mark, const struct type *type, const struct json *node)
{
	char key[32];
	struct json *to, *labels = NULL;

	snprintf(key, sizeof(key), "%" PRIi32, type->to);
	to = json_put_object(mark, key);
	if (!to || !json_put_string(to, "title", json_string(json_key(node, "title"))) ||
	    !json_put_string(to, "chan_type", json_string(json_key(node, "chan_type"))))
		return false;
	for (node = json_first(json_key(node, "labels")); node; node = json_next(node)) {
		int64_t value;

		if (!json_string(node) || !number(json_name(node), &value))
			continue;
		if (!labels && !(labels = json_put_object(to, "labels")))
			return false;
		snprintf(key, sizeof(key), "%" PRIi64, new_value(type, value));
		if (!json_add_string(labels, key, json_string(node)))
			return false;
	}
	return true;
}

int merge_marks_declare(const struct merge_marks *marks, struct json *meta)
{
	const struct json *node = json_get(meta, "ovni.mark");
	struct json *all, *mark;
	bool ok;

	if (!json_is_object(node))
		return 0;
	all = json_new_object();
	mark = json_put_object(all, "ovni.mark");
	ok = mark;
	for (node = json_first(node); node && ok; node = json_next(node)) {
		int64_t t;

		if (number(json_name(node), &t) && t >= 0 && t < TYPES &&
		    json_string(json_key(node, "title")) &&
		    json_string(json_key(node, "chan_type")))
			ok = declare_type(mark, &marks->sides[MARKS_SECOND][t], node);
	}
	ok = ok && json_put_object(meta, "ovni.mark") && !metadata_add(meta, all, "ovni.mark");
	json_free(all);
	return ok ? 0 : -ENOMEM;
}

void merge_marks_event(const struct merge_marks *marks, const struct event *ev, uint8_t *bytes)
{
	uint8_t *payload = bytes + EVENT_HEADER_SIZE;
	const struct type *type;
	int64_t value;
	int32_t t;

	if (ev->model != 'O' || ev->category != 'M' || ev->jumbo || ev->payload_size != MARK_SIZE)
		return;
	t = get_i32(payload + sizeof(value));
	if (t < 0 || t >= TYPES)
		return;
	type = &marks->sides[MARKS_SECOND][t];
	if (!type->title)
		return;
	value = new_value(type, get_i64(payload));
	memcpy(payload, &value, sizeof(value));
	memcpy(payload + sizeof(value), &type->to, sizeof(type->to));
}
