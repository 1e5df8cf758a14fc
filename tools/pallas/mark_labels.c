/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pallas/mark_labels.h"

static int add(struct mark_labels *labels, int32_t type, int64_t value, const char *text)
{
	if (!text)
		return 0;
	if (labels->n == labels->room) {
		size_t room = labels->room ? 2 * labels->room : 64;
		struct mark_label *rows = realloc(labels->rows, room * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		labels->rows = rows;
		labels->room = room;
	}
	labels->rows[labels->n] = (struct mark_label){type, value, strdup(text)};
	return labels->rows[labels->n++].text ? 0 : -ENOMEM;
}

int mark_labels_add(struct mark_labels *labels, const struct json *meta)
{
	const struct json *types = json_get(meta, "ovni.mark"), *type, *label;

	for (type = json_first(types); type; type = json_next(type)) {
		int32_t number = (int32_t)strtol(json_name(type), NULL, 10);

		if (add(labels, number, 0, json_string(json_key(type, "title"))))
			return -ENOMEM;
		for (label = json_first(json_key(type, "labels")); label; label = json_next(label))
			if (add(labels, number, strtoll(json_name(label), NULL, 10),
				json_string(label)))
				return -ENOMEM;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct mark_label *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

void mark_labels_sort(struct mark_labels *labels)
{
	if (labels->n)
		qsort(labels->rows, labels->n, sizeof(*labels->rows), compare);
}

const char *mark_label(const struct mark_labels *labels, int32_t type, int64_t value)
{
	struct mark_label key = {type, value, NULL}, *found;

	if (!labels->n)
		return NULL;
	found = bsearch(&key, labels->rows, labels->n, sizeof(key), compare);
	return found ? found->text : NULL;
}

void mark_labels_free(struct mark_labels *labels)
{
	for (size_t i = 0; i < labels->n; i++)
		free(labels->rows[i].text);
	free(labels->rows);
	*labels = (struct mark_labels){0};
}
