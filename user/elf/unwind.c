/* SPDX-License-Identifier: MIT */
/*
 * unwind: see unwind.h.
 *
 * An exception passes through functions that do not handle it: a C++ library without any clean-up
 * has no .gcc_except_table, but needs the C++ library. Where that one is linked statically, its
 * personality routine is a symbol, or, if stripped, the table alone is left. C has such a table for
 * the clean-ups of cancelled threads; its personality routine is then the one for C, and a stripped
 * C library is known by an exported symbol. A C library that calls back into C++ which throws
 * cannot be distinguished from other C.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"
#include "user/elf/unwind.h"

enum language { LANGUAGE_UNKNOWN, LANGUAGE_C, LANGUAGE_THROWS };

/* ---- exceptions ---- */

/* Does the file need a library that throws or catches exceptions? */
static bool needs_exceptions(Elf *elf)
{
	static const char *const libraries[] = {"libstdc++.so*", "libc++.so*",	"libc++abi.so*",
						"libgcc_s.so*",	 "libstd-*.so", "libgnat-*.so*",
						"libgphobos.so*"};
	const char *name;
	int at = 0;

	while ((name = elf_section_dynamic(elf, DT_NEEDED, &at)))
		for (size_t k = 0; k < sizeof(libraries) / sizeof(libraries[0]); k++)
			if (!fnmatch(libraries[k], name, 0))
				return true;
	return false;
}

static enum language symbol_language(const char *name, bool exported)
{
	static const char *const others[] = {"__gxx_personality_v0", "rust_eh_personality",
					     "__gnat_personality_v0", "__gdc_personality_v0"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(name, others[i]))
			return LANGUAGE_THROWS;
	if (!strcmp(name, "__gcc_personality_v0") ||
	    (exported && !strcmp(name, "__libc_start_main")))
		return LANGUAGE_C;
	return LANGUAGE_UNKNOWN;
}

static enum language table_language(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	enum language language = LANGUAGE_UNKNOWN, one;
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

		one = name ? symbol_language(name, header->sh_type == SHT_DYNSYM &&
							   symbol.st_shndx != SHN_UNDEF)
			   : LANGUAGE_UNKNOWN;
		if (one > language)
			language = one;
		if (language == LANGUAGE_THROWS)
			break;
	}
	return language;
}

static bool throws(Elf *elf)
{
	enum language language = LANGUAGE_UNKNOWN, one;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (elf_section_named(elf, ".gopclntab", &header) || needs_exceptions(elf))
		return true;
	while ((section = elf_section_next(elf, section, SHT_NULL, &header))) {
		if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
			continue;
		one = table_language(elf, section, &header);
		if (one > language)
			language = one;
	}
	return language == LANGUAGE_THROWS ||
	       (language != LANGUAGE_C && elf_section_named(elf, ".gcc_except_table", &header));
}

static void answer_throws(struct bytes *answer, Elf *elf, void *arg)
{
	(void)arg;
	bytes_u8(answer, throws(elf));
}

int unwind_throws(const struct elf_file *file, bool *result)
{
	struct elf_answer answer;
	uint8_t byte;
	int err = elf_child_run(file->fd, answer_throws, NULL, &answer);

	if (err)
		return err;
	if (elf_answer_get(&answer, &byte, sizeof(byte)))
		*result = byte != 0;
	else
		err = -ENOEXEC;
	elf_answer_free(&answer);
	return err;
}

/* ---- functions ---- */

#define NPLT 3

/* Their entries jump to functions of other files. */
static void read_plts(Elf *elf, GElf_Shdr plts[NPLT])
{
	static const char *const names[NPLT] = {".plt", ".plt.got", ".plt.sec"};

	for (size_t i = 0; i < NPLT; i++)
		if (!elf_section_named(elf, names[i], &plts[i]))
			plts[i] = (GElf_Shdr){0};
}

static bool is_plt(const GElf_Shdr plts[NPLT], uint64_t address)
{
	for (size_t i = 0; i < NPLT; i++)
		if (address >= plts[i].sh_addr && address - plts[i].sh_addr < plts[i].sh_size)
			return true;
	return false;
}

/* Answers the function of .eh_frame around an address, whose begin is written relative to its own
 * address, as all linkers do: begin (4 bytes, signed), size (4 bytes). */
static void answer_frame(struct bytes *answer, Elf *elf, void *address)
{
	GElf_Shdr header, plts[NPLT];
	Elf_Scn *section = elf_section_named(elf, ".eh_frame", &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	Dwarf_Off next;
	Dwarf_CFI_Entry entry;

	if (!data || !ident)
		return;
	read_plts(elf, plts);
	for (Dwarf_Off at = 0; at < data->d_size; at = next) {
		struct unwind_frame frame;
		int32_t begin;
		uint32_t size;
		int status;

		next = at;
		status = dwarf_next_cfi(ident, data, true, at, &next, &entry);

		if (status > 0 || next <= at)
			break;
		if (status < 0 || dwarf_cfi_cie_p(&entry) ||
		    entry.fde.end - entry.fde.start < (ptrdiff_t)(sizeof(begin) + sizeof(size)))
			continue;
		memcpy(&begin, entry.fde.start, sizeof(begin));
		memcpy(&size, entry.fde.start + sizeof(begin), sizeof(size));
		frame.begin = header.sh_addr +
			      (uint64_t)(entry.fde.start - (const uint8_t *)data->d_buf) +
			      (uint64_t)(int64_t)begin;
		frame.size = size;
		if (*(const uint64_t *)address - frame.begin < size && !is_plt(plts, frame.begin)) {
			bytes_put(answer, &frame, sizeof(frame));
			return;
		}
	}
}

bool unwind_frame_at(const struct elf_file *file, uint64_t address, struct unwind_frame *frame)
{
	struct elf_answer answer;
	bool found;

	if (elf_child_run(file->fd, answer_frame, &address, &answer))
		return false;
	found = elf_answer_get(&answer, frame, sizeof(*frame)) &&
		address - frame->begin < frame->size;
	elf_answer_free(&answer);
	return found;
}
