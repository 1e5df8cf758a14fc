/* SPDX-License-Identifier: MIT */
#include "user/host/kernel_symbols.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"

#define NAME_MAX_BYTES	 512 /* KSYM_NAME_LEN of the kernel */
#define MODULE_MAX_BYTES 64
#define LAST_MAX	 4096 /* bytes that the last function of a module or of the kernel may have */

struct symbol {
	uint64_t address;
	uint32_t name, module; /* offsets of text; module 0: the kernel itself */
};

struct kernel_symbols {
	struct symbol *list; /* n of them, by address */
	size_t n;
	struct bytes text; /* names, each with a NUL; the first one is empty */
};

static uint32_t keep(struct bytes *text, const char *name)
{
	uint32_t at = (uint32_t)text->size;

	bytes_put(text, name, strlen(name) + 1);
	return at;
}

/* The offset of a module's name, which is the same for the symbols of one module. */
static uint32_t module_of(struct kernel_symbols *symbols, const char *module)
{
	uint32_t last = symbols->n ? symbols->list[symbols->n - 1].module : 0;

	if (!*module)
		return 0;
	if (last && !symbols->text.failed &&
	    !strcmp((const char *)symbols->text.data + last, module))
		return last;
	return keep(&symbols->text, module);
}

/* "ffffffff81000000 T _stext\n", "ffffffffc0000000 t name\t[module]\n". False without memory. */
static bool take_line(struct kernel_symbols *symbols, const char *line)
{
	char type, name[NAME_MAX_BYTES + 1], module[MODULE_MAX_BYTES + 1] = "";
	struct symbol symbol = {0}, *added;

	if (sscanf(line, "%" SCNx64 " %c %512s [%64[^]]]", &symbol.address, &type, name, module) <
		    3 ||
	    !symbol.address || !strchr("tTwW", type))
		return true;
	for (char *at = name; *at; at++)
		if (!isgraph((unsigned char)*at) || *at == ';')
			*at = '?';
	for (char *at = module; *at; at++)
		if (!isgraph((unsigned char)*at) || *at == ';')
			*at = '?';
	symbol.module = module_of(symbols, module);
	symbol.name = keep(&symbols->text, name);
	added = symbols->text.failed ? NULL : ARRAY_ADD(symbols->list, symbols->n);
	if (added)
		*added = symbol;
	return added;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

struct kernel_symbols *kernel_symbols_read(const char *path)
{
	struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	FILE *file = symbols ? fopen(path, "re") : NULL;
	char *line = NULL;
	size_t room = 0;
	bool good = file;

	if (good)
		bytes_u8(&symbols->text, 0);
	while (good && getline(&line, &room, file) > 0)
		good = take_line(symbols, line);
	good = good && !ferror(file) && symbols->n;
	free(line);
	if (file)
		fclose(file);
	if (!good) {
		kernel_symbols_free(symbols);
		return NULL;
	}
	qsort(symbols->list, symbols->n, sizeof(*symbols->list), by_address);
	return symbols;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->list);
	bytes_free(&symbols->text);
	free(symbols);
}

/* The function that has the address; NULL: not known. Of several with one address the first one. */
static const struct symbol *find(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols ? symbols->n : 0, next;
	const struct symbol *found;

	while (low < high) { /* the first symbol behind the address */
		size_t middle = low + (high - low) / 2;

		if (symbols->list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	next = low--;
	while (low && symbols->list[low - 1].address == symbols->list[low].address)
		low--;
	found = &symbols->list[low];
	if ((next == symbols->n || symbols->list[next].module != found->module) &&
	    address - found->address >= LAST_MAX)
		return NULL;
	return found;
}

size_t kernel_symbols_text(const struct kernel_symbols *symbols, uint64_t address, char *text,
			   size_t size)
{
	/* a return address may be behind the end of the caller: look one byte before */
	const struct symbol *symbol = find(symbols, address - 1);
	const char *names = symbol ? (const char *)symbols->text.data : NULL;
	int n;

	if (!symbols)
		n = snprintf(text, size, "0x%" PRIx64, address);
	else if (!symbol)
		n = snprintf(text, size, "[unknown]");
	else if (symbol->module)
		n = snprintf(text, size, "%s+0x%" PRIx64 "[%s]", names + symbol->name,
			     address - symbol->address, names + symbol->module);
	else
		n = snprintf(text, size, "%s+0x%" PRIx64, names + symbol->name,
			     address - symbol->address);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}
