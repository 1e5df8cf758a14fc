/* SPDX-License-Identifier: MIT */
/* notes: see notes.h. */
#include <stdlib.h>
#include <string.h>

#include "user/elf/notes.h"

#define NOTES_MAX (64u << 20) /* bytes of one section of them */

static uint64_t align(uint64_t size, uint64_t to)
{
	return (size + to - 1) & ~(to - 1);
}

/* False once `visit` wants no more. */
static bool walk(const uint8_t *bytes, uint64_t size, uint64_t alignment,
		 bool (*visit)(const struct note *note, void *arg), void *arg)
{
	uint64_t at = 0, to = alignment == 8 ? 8 : 4, name, data, next;
	Elf64_Nhdr header;

	while (size - at >= sizeof(header)) {
		struct note note;
		char *copy;
		bool more;

		memcpy(&header, bytes + at, sizeof(header));
		name = at + sizeof(header);
		data = align(name + header.n_namesz, to);
		next = align(data + header.n_descsz, to);
		if (data > size || header.n_descsz > size - data)
			return true;
		at = next < size ? next : size;
		if (!header.n_namesz || bytes[name + header.n_namesz - 1])
			continue;
		/* with a NUL after it, so that strings in it end */
		copy = malloc((size_t)header.n_descsz + 1);
		if (!copy)
			return true;
		memcpy(copy, bytes + data, header.n_descsz);
		copy[header.n_descsz] = '\0';
		note = (struct note){.type = header.n_type,
				     .name = (const char *)bytes + name,
				     .bytes = (const uint8_t *)copy,
				     .size = header.n_descsz};
		more = visit(&note, arg);
		free(copy);
		if (!more)
			return false;
	}
	return true;
}

static bool walk_at(const struct image *image, uint64_t offset, uint64_t size, uint64_t alignment,
		    bool (*visit)(const struct note *note, void *arg), void *arg)
{
	uint8_t *bytes;
	bool more;

	if (size > NOTES_MAX)
		return true;
	bytes = image_read(image, offset, size);
	if (!bytes)
		return true;
	more = walk(bytes, size, alignment, visit, arg);
	free(bytes);
	return more;
}

void notes_walk(const struct image *image, bool (*visit)(const struct note *note, void *arg),
		void *arg)
{
	bool sections = false;

	for (size_t i = 1; i < image->nsections; i++) {
		const Elf64_Shdr *s = &image->sections[i];

		if (s->sh_type != SHT_NOTE)
			continue;
		sections = true;
		if (!walk_at(image, s->sh_offset, s->sh_size, s->sh_addralign, visit, arg))
			return;
	}
	for (size_t i = 0; i < image->nsegments && !sections; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type == PT_NOTE &&
		    !walk_at(image, s->p_offset, s->p_filesz, s->p_align, visit, arg))
			return;
	}
}
