/* SPDX-License-Identifier: MIT */
/* elf_section: see elf_section.h. */
#include <stddef.h>
#include <string.h>

#include "user/elf/elf_section.h"

Elf *elf_section_begin(int fd)
{
	elf_version(EV_CURRENT);
	return elf_begin(fd, ELF_C_READ_MMAP, NULL);
}

Elf_Scn *elf_section_next(Elf *elf, Elf_Scn *after, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = after;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type != SHT_NOBITS &&
		    (type == SHT_NULL || header->sh_type == type))
			return section;
	return NULL;
}

Elf_Scn *elf_section_named(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_section_next(elf, section, SHT_NULL, header))) {
		const char *found = elf_strptr(elf, names, header->sh_name);

		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

const char *elf_section_dynamic(Elf *elf, GElf_Sxword tag, int *at)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_next(elf, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Dyn entry;

	while (data && gelf_getdyn(data, (*at)++, &entry) && entry.d_tag != DT_NULL)
		if (entry.d_tag == tag)
			return elf_strptr(elf, header.sh_link, entry.d_un.d_val);
	return NULL;
}
