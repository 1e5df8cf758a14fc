/* SPDX-License-Identifier: MIT */
/*
 * throws: see throws.h.
 *
 * Compilers describe what an exception does on its way through a function in .gcc_except_table, which
 * strip leaves. C alone has one only for clean-ups at the cancellation of threads; then its
 * personality routine is that of C. The C library's is not to be seen: it is known by a symbol.
 */
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include "throws.h"

enum personality { PERSONALITY_NONE, PERSONALITY_C, PERSONALITY_OTHER };

static enum personality symbol_says(const char *name)
{
	if (!strcmp(name, "__gxx_personality_v0") || !strcmp(name, "rust_eh_personality") ||
	    !strcmp(name, "__gnat_personality_v0") || !strcmp(name, "__gdc_personality_v0"))
		return PERSONALITY_OTHER;
	if (!strcmp(name, "__gcc_personality_v0") || !strcmp(name, "__libc_start_main"))
		return PERSONALITY_C;
	return PERSONALITY_NONE;
}

/* A program that is started by __libc_start_main only names it; the C library has it. */
static enum personality symbols_say(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	enum personality says = PERSONALITY_NONE;
	GElf_Sym symbol;

	for (size_t i = 0; i < count && says != PERSONALITY_OTHER; i++) {
		const char *name;
		enum personality p;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		p = name ? symbol_says(name) : PERSONALITY_NONE;
		if (p == PERSONALITY_C && !strcmp(name, "__libc_start_main") &&
		    (symbol.st_shndx == SHN_UNDEF || header->sh_type == SHT_SYMTAB))
			continue;
		if (p > says)
			says = p;
	}
	return says;
}

static bool elf_throws(Elf *elf)
{
	enum personality says = PERSONALITY_NONE, p;
	Elf_Scn *section = NULL;
	bool table = false;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return true;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header))
			return true;
		name = elf_strptr(elf, names, header.sh_name);
		table |= name && !strcmp(name, ".gcc_except_table");
		if (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB)
			continue;
		p = symbols_say(elf, section, &header);
		if (p > says)
			says = p;
	}
	return table && says != PERSONALITY_C;
}

bool file_throws(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool throws = true;
	Elf *elf;

	if (fd < 0)
		return true;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf) {
		throws = elf_throws(elf);
		elf_end(elf);
	}
	close(fd);
	return throws;
}
