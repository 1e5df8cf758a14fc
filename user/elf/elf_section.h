/* SPDX-License-Identifier: MIT */
/*
 * elf_section: sections of an untrusted file by libelf, for the child process (elf_child.h).
 */
#ifndef USER_ELF_ELF_SECTION_H
#define USER_ELF_ELF_SECTION_H

#include <gelf.h>

/* The file as libelf sees it; NULL: it is none. The caller ends it with elf_end(). */
Elf *elf_section_begin(int fd);

/* The next section of a type (SHT_NULL: of any) after `after` (NULL: from the first one), with its
 * header; NULL: none. Sections without bytes in the file do not count. */
Elf_Scn *elf_section_next(Elf *elf, Elf_Scn *after, GElf_Word type, GElf_Shdr *header);

/* The first section of that name, with its header, or NULL. */
Elf_Scn *elf_section_named(Elf *elf, const char *name, GElf_Shdr *header);

/* The string of the next entry with this tag (DT_NEEDED) in the dynamic section, from entry *at on,
 * which moves behind it; NULL: none. */
const char *elf_section_dynamic(Elf *elf, GElf_Sxword tag, int *at);

#endif
