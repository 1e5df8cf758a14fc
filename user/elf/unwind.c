/* SPDX-License-Identifier: MIT */
/*
 * unwind: see unwind.h.
 *
 * An exception passes through functions that know nothing of it: a library of C++ without any
 * clean-up has no .gcc_except_table, but needs the library of C++. Where it is linked statically,
 * its personality routine is a symbol, or, stripped, the table alone is left. C has such a table
 * for the clean-ups of cancelled threads; its personality routine is then that of C, and the C
 * library, where that is not to be seen, is known by a symbol that it exports. What calls back from
 * C into C++ that throws is not seen: that library is C.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/dynamic.h"
#include "user/elf/unwind.h"

enum language { LANGUAGE_UNKNOWN, LANGUAGE_C, LANGUAGE_THROWS };

static bool needs_it(const struct image *image)
{
	static const char *const libraries[] = {"libstdc++.so*", "libc++.so*",	"libc++abi.so*",
						"libgcc_s.so*",	 "libstd-*.so", "libgnat-*.so*",
						"libgphobos.so*"};
	struct dynamic dynamic;
	bool found = false;

	dynamic_read(&dynamic, image);
	for (size_t i = 0; i < dynamic.nneeded && !found; i++)
		for (size_t k = 0; k < sizeof(libraries) / sizeof(libraries[0]) && !found; k++)
			found = !fnmatch(libraries[k], dynamic.needed[i], 0);
	dynamic_free(&dynamic);
	return found;
}

static enum language symbol_says(const char *name, bool exported)
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

static enum language table_says(const struct image *image, const Elf64_Shdr *table)
{
	const Elf64_Shdr *strings = &image->sections[table->sh_link];
	Elf64_Sym *symbols = image_read(image, table->sh_offset, table->sh_size);
	char *names = image_read(image, strings->sh_offset, strings->sh_size);
	size_t count = symbols && names ? table->sh_size / sizeof(*symbols) : 0;
	enum language says = LANGUAGE_UNKNOWN, one;

	for (size_t i = 0; i < count && says != LANGUAGE_THROWS; i++) {
		if (symbols[i].st_name >= strings->sh_size)
			continue;
		one = symbol_says(names + symbols[i].st_name,
				  table->sh_type == SHT_DYNSYM && symbols[i].st_shndx != SHN_UNDEF);
		if (one > says)
			says = one;
	}
	free(symbols);
	free(names);
	return says;
}

bool image_unwinds(const struct image *image)
{
	enum language says = LANGUAGE_UNKNOWN, one;

	if (image_section(image, ".gopclntab", SHT_NULL) || needs_it(image))
		return true;
	for (size_t i = 1; i < image->nsections; i++) {
		const Elf64_Shdr *s = &image->sections[i];

		if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) ||
		    s->sh_link >= image->nsections)
			continue;
		one = table_says(image, s);
		if (one > says)
			says = one;
	}
	return says == LANGUAGE_THROWS ||
	       (says != LANGUAGE_C && image_section(image, ".gcc_except_table", SHT_NULL));
}
