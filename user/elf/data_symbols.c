/* SPDX-License-Identifier: MIT */
/* data_symbols: see data_symbols.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/text.h"
#include "user/elf/data_symbols.h"
#include "user/elf/debug_file.h"
#include "user/elf/functions.h"

/* ---- in the child ---- */

static bool is_variable(Elf *elf, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	GElf_Shdr header;

	return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size && section &&
	       gelf_getshdr(section, &header) && header.sh_flags & SHF_WRITE &&
	       header.sh_flags & SHF_ALLOC && !(header.sh_flags & SHF_TLS);
}

static void put_variables(struct bytes *answer, Elf *elf, void *debug_files)
{
	static const GElf_Word types[] = {SHT_SYMTAB, SHT_DYNSYM};
	int debug = debug_files_choose(debug_files, elf);
	Elf_Data *data = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	size_t n = 0;

	bytes_u32(answer, (uint32_t)debug);
	if (debug >= 0 && !debug_part_in(elf, DEBUG_SYMBOLS))
		elf = elf_section_begin(((struct debug_files *)debug_files)->fds[debug]);
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

static int take_symbols(struct data_symbols *symbols)
{
	struct data_symbol symbol = {0}, *added;

	while (symbols->count < DATA_SYMBOLS_MAX &&
	       elf_answer_get(&symbols->answer, &symbol.address, sizeof(symbol.address)) &&
	       elf_answer_get(&symbols->answer, &symbol.size, sizeof(symbol.size))) {
		symbol.name = elf_answer_get_string(&symbols->answer);
		if (!symbol.name || !symbol.size)
			break;
		added = ARRAY_ADD(symbols->list, symbols->count);
		if (!added)
			return -ENOMEM;
		*added = symbol;
	}
	if (symbols->count)
		qsort(symbols->list, symbols->count, sizeof(*symbols->list), compare);
	return 0;
}

/* Finds the types of the symbols. Without them the symbols have no members. */
static void read_types(struct data_symbols *symbols, int fd)
{
	struct data_variable *variables = NULL, *added;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		if (n && variables[n - 1].address == symbols->list[i].address)
			continue;
		added = ARRAY_ADD(variables, n);
		if (!added)
			goto out;
		*added = (struct data_variable){.address = symbols->list[i].address};
	}
	if (!n || data_types_read(&symbols->types, fd, variables, n))
		goto out;
	for (size_t i = 0; i < symbols->count; i++) {
		at += variables[at].address != symbols->list[i].address;
		symbols->list[i].type = variables[at].type;
	}
out:
	free(variables);
}

int data_symbols_read(struct data_symbols *symbols, const struct elf_file *file, const char *root,
		      const char *path)
{
	struct debug_files debug_files;
	int32_t debug = -1;
	int err;

	*symbols = (struct data_symbols){0};
	err = debug_files_open(&debug_files, DEBUG_INFO, file, root, path);
	if (err)
		return err;
	err = elf_child_run(file->fd, put_variables, &debug_files, &symbols->answer);
	if (!err && !elf_answer_get(&symbols->answer, &debug, sizeof(debug)))
		err = -ENOEXEC;
	if (!err)
		err = take_symbols(symbols);
	if (err)
		data_symbols_free(symbols);
	else if (debug >= 0 && (size_t)debug < debug_files.count)
		read_types(symbols, debug_files.fds[debug]);
	else
		read_types(symbols, file->fd);
	debug_files_close(&debug_files);
	return err;
}

void data_symbols_free(struct data_symbols *symbols)
{
	free(symbols->list);
	elf_answer_free(&symbols->answer);
	data_types_free(&symbols->types);
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

/* The length of a name without the number that gcc gives a variable of a function: pool.0. */
static size_t without_number(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")]
		       ? (size_t)(dot - name)
		       : strlen(name);
}

char *data_symbols_text(const struct data_symbols *symbols, uint64_t address)
{
	const struct data_symbol *symbol = data_symbols_at(symbols, address);
	char plain[DEMANGLE_MAX], part[DATA_PART_BYTES];

	if (!symbol)
		return NULL;
	data_types_text(&symbols->types, symbol->type, address - symbol->address, part);
	if (demangle(plain, symbol->name, DEMANGLE_NAME))
		return xasprintf("%s%s", plain, part);
	return xasprintf("%.*s%s",
			 (int)(symbol->type ? without_number(symbol->name) : strlen(symbol->name)),
			 symbol->name, part);
}
