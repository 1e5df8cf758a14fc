/* SPDX-License-Identifier: MIT */
#include "trace/states/mark_labels.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/base/array.h"
#include "trace/base/text.h"

enum label_kind { LABEL_VALUE, LABEL_TITLE, LABEL_ANY, LABEL_COUNTER };

static struct hash_key label_key(enum label_kind kind, int32_t type, int64_t value)
{
	return (struct hash_key){.a = (uint64_t)value, .b = (uint32_t)type, .c = (uint32_t)kind};
}

static int add_label(struct mark_labels *l, struct hash_key key, const char *text)
{
	uint32_t *at;
	char **label;

	if (!text || hash_get(&l->by_key, key) != HASH_NONE)
		return 0;
	label = ARRAY_ADD(l->texts, l->n);
	if (!label)
		return -ENOMEM;
	*label = text_escaped(text);
	at = hash_at(&l->by_key, key);
	if (!*label || !at)
		return -ENOMEM;
	*at = (uint32_t)(l->n - 1);
	return 0;
}

static bool read_number(const char *text, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text ? text : "", &end, 10);
	return text && end != text && !*end && errno == 0;
}

static int add_marks(struct mark_labels *l, const struct json *marks)
{
	int64_t type, value;

	for (const struct json *mark = json_first(marks); mark; mark = json_next(mark)) {
		const struct json *label = json_first(json_key(mark, "labels"));

		if (!read_number(json_name(mark), &type) || type < INT32_MIN || type > INT32_MAX)
			continue;
		if (add_label(l, label_key(LABEL_TITLE, (int32_t)type, 0),
			      json_string(json_key(mark, "title"))) < 0)
			return -ENOMEM;
		for (; label; label = json_next(label)) {
			if (!read_number(json_name(label), &value))
				continue;
			if (add_label(l, label_key(LABEL_VALUE, (int32_t)type, value),
				      json_string(label)) < 0)
				return -ENOMEM;
			if (value != MARK_ZERO &&
			    add_label(l, label_key(LABEL_ANY, (int32_t)type, 0), "") < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int add_counters(struct mark_labels *l, const struct json *counters)
{
	int64_t index;

	for (const struct json *counter = json_first(counters); counter;
	     counter = json_next(counter))
		if (read_number(json_name(counter), &index) && index >= 0 &&
		    add_label(l, label_key(LABEL_COUNTER, 0, index),
			      json_string(json_key(counter, "name"))) < 0)
			return -ENOMEM;
	return 0;
}

int mark_labels_add(struct mark_labels *l, const struct json *meta)
{
	int err = add_marks(l, json_get(meta, "ovni.mark"));

	return err ? err : add_counters(l, json_get(meta, "nosv.hwc"));
}

void mark_labels_free(struct mark_labels *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->texts[i]);
	free(l->texts);
	hash_free(&l->by_key);
	*l = (struct mark_labels){0};
}

static const char *label_of(const struct mark_labels *l, struct hash_key key)
{
	uint32_t at = hash_get(&l->by_key, key);

	return at == HASH_NONE ? NULL : l->texts[at];
}

const char *mark_labels_value(const struct mark_labels *l, int32_t type, int64_t value)
{
	return label_of(l, label_key(LABEL_VALUE, type, value));
}

const char *mark_labels_title(const struct mark_labels *l, int32_t type)
{
	return label_of(l, label_key(LABEL_TITLE, type, 0));
}

bool mark_labels_any(const struct mark_labels *l, int32_t type)
{
	return label_of(l, label_key(LABEL_ANY, type, 0)) != NULL;
}

const char *mark_labels_counter(const struct mark_labels *l, uint32_t index)
{
	return label_of(l, label_key(LABEL_COUNTER, 0, index));
}
