/* SPDX-License-Identifier: MIT */
/* keymap: see keymap.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/keymap.h"

/* The place of `key`, or the free one where it belongs. There is always a free one. */
static struct keymap_slot *place(struct keymap_slot *slots, size_t size, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (size - 1);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (size - 1);
	return &slots[i];
}

void *keymap_get(const struct keymap *map, uint64_t key)
{
	return map->size ? place(map->slots, map->size, key)->value : NULL;
}

int keymap_add(struct keymap *map, uint64_t key, void *value)
{
	if (map->used * 2 >= map->size) {
		size_t size = map->size ? map->size * 2 : 64;
		struct keymap_slot *slots = calloc(size, sizeof(*slots));

		if (!slots)
			return -ENOMEM;
		for (size_t i = 0; i < map->size; i++)
			if (map->slots[i].key)
				*place(slots, size, map->slots[i].key) = map->slots[i];
		free(map->slots);
		map->slots = slots;
		map->size = size;
	}
	*place(map->slots, map->size, key) = (struct keymap_slot){.key = key, .value = value};
	map->used++;
	return 0;
}

void keymap_fini(struct keymap *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}
