/* SPDX-License-Identifier: MIT */
/* dynamic: see dynamic.h. */
#include <stdlib.h>
#include <string.h>

#include "user/elf/dynamic.h"

#define STRINGS_MAX (256u << 20)
#define NEEDED_MAX  1024

struct table {
	Elf64_Dyn *entries;
	size_t count;
	uint64_t strings_size;
};

static uint64_t value_of(const struct table *table, int64_t tag, uint64_t otherwise)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->entries[i].d_tag == tag)
			return table->entries[i].d_un.d_val;
	return otherwise;
}

static bool read_table(struct table *table, const struct image *image)
{
	for (size_t i = 0; i < image->nsegments; i++) {
		const Elf64_Phdr *s = &image->segments[i];
		size_t end = 0;

		if (s->p_type != PT_DYNAMIC)
			continue;
		table->entries = image_read(image, s->p_offset, s->p_filesz);
		table->count = table->entries ? s->p_filesz / sizeof(*table->entries) : 0;
		while (end < table->count && table->entries[end].d_tag != DT_NULL)
			end++;
		table->count = end;
		return table->count > 0;
	}
	return false;
}

static const char *string_at(const struct dynamic *dynamic, const struct table *table,
			     uint64_t offset)
{
	return offset < table->strings_size && dynamic->strings[offset] ? dynamic->strings + offset
									: NULL;
}

bool dynamic_read(struct dynamic *dynamic, const struct image *image)
{
	struct table table = {0};
	uint64_t offset, left;

	*dynamic = (struct dynamic){0};
	if (!read_table(&table, image))
		goto out;
	table.strings_size = value_of(&table, DT_STRSZ, 0);
	if (!image_offset(image, value_of(&table, DT_STRTAB, 0), 0, &offset, &left) ||
	    table.strings_size > left || table.strings_size > STRINGS_MAX)
		goto out;
	dynamic->strings = image_read(image, offset, table.strings_size);
	dynamic->needed = calloc(table.count, sizeof(*dynamic->needed));
	if (!dynamic->strings || !dynamic->needed) {
		dynamic_free(dynamic);
		goto out;
	}
	dynamic->soname = string_at(dynamic, &table, value_of(&table, DT_SONAME, UINT64_MAX));
	dynamic->rpath = string_at(dynamic, &table, value_of(&table, DT_RPATH, UINT64_MAX));
	dynamic->runpath = string_at(dynamic, &table, value_of(&table, DT_RUNPATH, UINT64_MAX));
	for (size_t i = 0; i < table.count && dynamic->nneeded < NEEDED_MAX; i++) {
		const char *name = table.entries[i].d_tag == DT_NEEDED
					   ? string_at(dynamic, &table, table.entries[i].d_un.d_val)
					   : NULL;

		if (name)
			dynamic->needed[dynamic->nneeded++] = name;
	}
out:
	free(table.entries);
	return dynamic->strings != NULL;
}

void dynamic_free(struct dynamic *dynamic)
{
	free(dynamic->strings);
	free(dynamic->needed);
	*dynamic = (struct dynamic){0};
}
