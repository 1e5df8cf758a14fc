/* SPDX-License-Identifier: MIT */
/* data_symbols: see data_symbols.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/data_symbols.h"

/* ---- in the child ---- */

static bool is_variable(Elf *elf, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	GElf_Shdr header;

	return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size && section &&
	       gelf_getshdr(section, &header) && header.sh_flags & SHF_WRITE &&
	       header.sh_flags & SHF_ALLOC && !(header.sh_flags & SHF_TLS);
}

static void put_variables(struct bytes *answer, Elf *elf, void *arg)
{
	static const GElf_Word types[] = {SHT_SYMTAB, SHT_DYNSYM};
	Elf_Data *data = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	size_t n = 0;

	(void)arg;
	for (int t = 0; !data && t < 2; t++) {
		Elf_Scn *section = elf_section_next(elf, NULL, types[t], &header);

		data = section ? elf_getdata(section, NULL) : NULL;
	}
	for (int i = 0; data && n < DATA_SYMBOLS_MAX && gelf_getsym(data, i, &symbol); i++) {
		const char *name;

		if (!is_variable(elf, &symbol))
			continue;
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (!name || !*name || strnlen(name, DATA_SYMBOL_BYTES) == DATA_SYMBOL_BYTES)
			continue;
		bytes_u64(answer, symbol.st_value);
		bytes_u64(answer, symbol.st_size);
		elf_answer_put_string(answer, name);
		n++;
	}
}

/* ---- in the recorder ---- */

/* By address, the shortest name of one address first. */
static int compare(const void *pa, const void *pb)
{
	const struct data_symbol *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (strlen(a->name) != strlen(b->name))
		return strlen(a->name) < strlen(b->name) ? -1 : 1;
	return strcmp(a->name, b->name);
}

int data_symbols_read(struct data_symbols *symbols, const struct elf_file *file)
{
	struct data_symbol symbol, *added;
	int err;

	*symbols = (struct data_symbols){0};
	err = elf_child_run(file->fd, put_variables, NULL, &symbols->answer);
	while (!err && symbols->count < DATA_SYMBOLS_MAX &&
	       elf_answer_get(&symbols->answer, &symbol.address, sizeof(symbol.address)) &&
	       elf_answer_get(&symbols->answer, &symbol.size, sizeof(symbol.size))) {
		symbol.name = elf_answer_get_string(&symbols->answer);
		if (!symbol.name || !symbol.size)
			break;
		added = ARRAY_ADD(symbols->list, symbols->count);
		if (added)
			*added = symbol;
		else
			err = -ENOMEM;
	}
	if (err)
		data_symbols_free(symbols);
	else if (symbols->count)
		qsort(symbols->list, symbols->count, sizeof(*symbols->list), compare);
	return err;
}

void data_symbols_free(struct data_symbols *symbols)
{
	free(symbols->list);
	elf_answer_free(&symbols->answer);
	*symbols = (struct data_symbols){0};
}

const struct data_symbol *data_symbols_at(const struct data_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) { /* the first symbol above the address */
		size_t middle = low + (high - low) / 2;

		if (symbols->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	while (--low && symbols->list[low - 1].address == symbols->list[low].address)
		; /* the preferred one of these */
	return address - symbols->list[low].address < symbols->list[low].size ? &symbols->list[low]
									      : NULL;
}
