/* SPDX-License-Identifier: MIT */
/* frames: see frames.h. */
#include <stdlib.h>
#include <string.h>

#include "user/elf/frames.h"

/* Kinds of numbers of .eh_frame_hdr, as linkers write them (DWARF's DW_EH_PE_...). */
#define UNSIGNED_4	0x03
#define FROM_TABLE_4	0x3b /* signed, 4 bytes, from the beginning of the table */
#define ENTRIES_MAX	(1u << 26)
#define FRAME_ALL_BYTES 0xffffffffu /* a length that is written otherwise */

struct header {
	uint8_t version, pointer, count, table;
	int32_t frames;
	uint32_t entries;
};

struct entry {
	int32_t begin, frame; /* from the beginning of the header */
};

static bool is_plt(const struct image *image, uint64_t address)
{
	for (size_t i = 1; i < image->nsections; i++) {
		const Elf64_Shdr *s = &image->sections[i];

		if (address >= s->sh_addr && address - s->sh_addr < s->sh_size &&
		    !strncmp(image_section_name(image, s), ".plt", 4))
			return true;
	}
	return false;
}

static const Elf64_Phdr *find_table(const struct image *image, struct header *header)
{
	for (size_t i = 0; i < image->nsegments; i++) {
		const Elf64_Phdr *s = &image->segments[i];
		void *bytes;

		if (s->p_type != PT_GNU_EH_FRAME)
			continue;
		bytes = image_read(image, s->p_offset, sizeof(*header));
		if (!bytes)
			return NULL;
		memcpy(header, bytes, sizeof(*header));
		free(bytes);
		return header->version == 1 && header->count == UNSIGNED_4 &&
				       header->table == FROM_TABLE_4 &&
				       header->entries <= ENTRIES_MAX
			       ? s
			       : NULL;
	}
	return NULL;
}

/* Its length stands behind its beginning, if that is written from its own place (as all do). */
static uint64_t size_of(const struct image *image, uint64_t frame, uint64_t begin)
{
	struct {
		uint32_t length, cie;
		int32_t begin;
		uint32_t size;
	} record;
	uint64_t offset, left, at = frame + offsetof(__typeof__(record), begin);
	void *bytes;

	if (!image_offset(image, frame, 0, &offset, &left) || left < sizeof(record))
		return 0;
	bytes = image_read(image, offset, sizeof(record));
	if (!bytes)
		return 0;
	memcpy(&record, bytes, sizeof(record));
	free(bytes);
	if (record.length == FRAME_ALL_BYTES || at + (uint64_t)(int64_t)record.begin != begin)
		return 0;
	return record.size;
}

bool frame_at(const struct image *image, uint64_t address, uint64_t *begin, uint64_t *size)
{
	struct header header;
	const Elf64_Phdr *segment = find_table(image, &header);
	struct entry *entries = NULL;
	uint64_t offset, left;
	size_t low = 0, high, middle;

	if (segment && !is_plt(image, address))
		entries = image_read(image, segment->p_offset + sizeof(header),
				     header.entries * sizeof(*entries));
	if (!entries)
		return false;
	/* the last that begins at or before it */
	for (high = header.entries; low < high;) {
		middle = low + (high - low) / 2;
		if (segment->p_vaddr + (uint64_t)(int64_t)entries[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low) {
		*begin = segment->p_vaddr + (uint64_t)(int64_t)entries[low - 1].begin;
		*size = size_of(image, segment->p_vaddr + (uint64_t)(int64_t)entries[low - 1].frame,
				*begin);
	}
	free(entries);
	if (!low || *begin > address || !image_offset(image, *begin, PF_X, &offset, &left))
		return false;
	if (*size > left)
		*size = left;
	return *size ? address - *begin < *size : *begin == address;
}
