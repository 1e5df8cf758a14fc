/* SPDX-License-Identifier: MIT */
/* usdt: see usdt.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"
#include "user/elf/usdt.h"

#define NOTE_TYPE  3
#define NOTE_NAME  "stapsdt"
#define PROBES_MAX 1000000

/* One note, as it is in the file and in the answer; three strings follow. */
struct usdt_record {
	uint64_t address, base, semaphore;
};

/* ---- in the child ---- */

/* The second address of a note is the address of .stapsdt.base at link time. If the section is
 * elsewhere now (`base`; prelink), all addresses have moved by the difference. */
static void put_note(struct bytes *answer, uint64_t base, const char *bytes, size_t size)
{
	struct usdt_record record;
	size_t lengths[3], at = sizeof(record);

	if (size < sizeof(record))
		return;
	memcpy(&record, bytes, sizeof(record));
	for (size_t i = 0; i < 3; i++) {
		lengths[i] = strnlen(bytes + at, size - at);
		if (at + lengths[i] == size && i < 2)
			return;
		at += lengths[i] + 1;
	}
	if (base && record.base) {
		record.address += base - record.base;
		record.semaphore += record.semaphore ? base - record.base : 0;
	}
	bytes_put(answer, &record, sizeof(record));
	at = sizeof(record);
	for (size_t i = 0; i < 3; i++) {
		bytes_put(answer, bytes + at, lengths[i]);
		bytes_put(answer, "", 1);
		at += lengths[i] + 1;
	}
}

static void put_notes(struct bytes *answer, uint64_t base, Elf_Data *data)
{
	size_t at = 0, name, bytes;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &bytes)))
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp((const char *)data->d_buf + name, NOTE_NAME, sizeof(NOTE_NAME)))
			put_note(answer, base, (const char *)data->d_buf + bytes, note.n_descsz);
}

/* The notes of all sections, or, without any, of all segments. */
static void read_notes(struct bytes *answer, Elf *elf, void *arg)
{
	uint64_t base = 0;
	Elf_Scn *section;
	GElf_Shdr header;
	GElf_Phdr segment;
	bool sections = false;
	size_t count = 0;

	(void)arg;
	if (elf_section_named(elf, ".stapsdt.base", &header))
		base = header.sh_addr;
	for (section = NULL; (section = elf_section_next(elf, section, SHT_NOTE, &header));) {
		sections = true;
		put_notes(answer, base, elf_getdata(section, NULL));
	}
	if (sections || elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_NOTE)
			put_notes(answer, base,
				  elf_getdata_rawchunk(elf, (int64_t)segment.p_offset,
						       segment.p_filesz, ELF_T_NHDR));
}

/* ---- in the parent ---- */

static int take_probes(struct usdt_probes *probes, const struct elf_file *file)
{
	struct elf_answer *answer = &probes->answer;
	struct usdt_record record;
	uint64_t left;

	while (probes->count < PROBES_MAX && elf_answer_get(answer, &record, sizeof(record))) {
		struct usdt_probe *added, probe = {.provider = elf_answer_get_string(answer),
						   .name = elf_answer_get_string(answer),
						   .arguments = elf_answer_get_string(answer)};

		if (!probe.provider || !probe.name || !probe.arguments)
			return -ENOEXEC;
		probe.address = record.address;
		if (!*probe.provider || !*probe.name ||
		    !elf_file_offset(file, probe.address, PF_X, &probe.offset, &left))
			continue;
		if (record.semaphore &&
		    !elf_file_offset(file, record.semaphore, PF_W, &probe.semaphore, &left))
			continue;
		added = ARRAY_ADD(probes->list, probes->count);
		if (!added)
			return -ENOMEM;
		*added = probe;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct usdt_probe *x = a, *y = b;
	int order = strcmp(x->provider, y->provider);

	if (!order)
		order = strcmp(x->name, y->name);
	if (order)
		return order;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int usdt_read(struct usdt_probes *probes, const struct elf_file *file)
{
	int err;

	*probes = (struct usdt_probes){0};
	err = elf_child_run(file->fd, read_notes, NULL, &probes->answer);
	if (err)
		return err;
	err = take_probes(probes, file);
	if (err)
		usdt_free(probes);
	else if (probes->count)
		qsort(probes->list, probes->count, sizeof(*probes->list), compare);
	return err;
}

/* ---- symbols of arguments ---- */

static void find_symbol(struct bytes *answer, Elf *elf, void *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_section_next(elf, section, SHT_NULL, &header))) {
		Elf_Data *data = NULL;

		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (!name || symbol.st_shndx == SHN_UNDEF ||
			    GELF_ST_TYPE(symbol.st_info) == STT_TLS || strcmp(name, wanted))
				continue;
			bytes_u64(answer, symbol.st_value);
			return;
		}
	}
}

int usdt_symbol(const struct elf_file *file, const char *name, uint64_t *address)
{
	struct elf_answer answer;
	int err = elf_child_run(file->fd, find_symbol, (void *)name, &answer);

	if (err)
		return err;
	if (!elf_answer_get(&answer, address, sizeof(*address)))
		err = -ENOENT;
	elf_answer_free(&answer);
	return err;
}

void usdt_free(struct usdt_probes *probes)
{
	free(probes->list);
	elf_answer_free(&probes->answer);
	*probes = (struct usdt_probes){0};
}
