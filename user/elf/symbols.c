/* SPDX-License-Identifier: MIT */
/* symbols: see symbols.h. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/elf/debugfile.h"
#include "user/elf/demangle.h"
#include "user/elf/symbols.h"
#include "trace/base/log.h"

#define VERSIONS_MAX  32768	 /* their numbers have 15 bits */
#define FUNCTIONS_MAX (1u << 22) /* names; the largest programs have a quarter of it */

/* ---- which functions are no ordinary ones ---- */

/*
 * These store their return address to come back to it later, look for their caller by it, or are
 * not entered by a call: with a return address replaced by the kernel's the program goes astray.
 */
static const char *const frame_names[] = {
	"setjmp",
	"_setjmp",
	"__setjmp",
	"sigsetjmp",
	"__sigsetjmp",
	"getcontext",
	"swapcontext",
	"setcontext",
	"__start_context",
	"vfork",
	"__vfork",
	"__libc_vfork",
	"mcount",
	"_mcount",
	"__fentry__",
	"__restore",
	"__restore_rt",
	"__kernel_rt_sigreturn",
	"__morestack",
	"_Unwind_RaiseException",
	"_Unwind_Resume",
	"_Unwind_Resume_or_Rethrow",
	"_Unwind_ForcedUnwind",
	"_Unwind_Backtrace",
	"__cxa_throw",
	"__cxa_rethrow",
	"_dl_start_user",
	"_dl_runtime_resolve*",
	"_dl_runtime_profile*",
	"__tls_get_addr_slow",
};

/* gcc moves what is rarely run out of a function: f.cold, f.cold.1. */
static bool is_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.');
}

static enum function_kind kind_of(const struct image *image, const struct function *f, bool ifunc)
{
	if (ifunc)
		return FUNCTION_IFUNC;
	if (is_part(f->name))
		return FUNCTION_PART;
	if (f->address == image->entry)
		return FUNCTION_START;
	for (size_t i = 0; i < sizeof(frame_names) / sizeof(frame_names[0]); i++)
		if (!fnmatch(frame_names[i], f->name, 0))
			return FUNCTION_FRAME;
	return FUNCTION_CALLED;
}

const char *function_obstacle(enum function_kind kind)
{
	switch (kind) {
	case FUNCTION_CALLED:
		break;
	case FUNCTION_IFUNC:
		return "is an IFUNC: it chooses, once, one of several functions that are then "
		       "called instead; probe those";
	case FUNCTION_PART:
		return "is a part of a function that is jumped to, not called";
	case FUNCTION_START:
		return "is where the program starts: nothing has called it, so it has no return";
	case FUNCTION_FRAME:
		return "uses its own return address, which a return probe would replace";
	}
	return NULL;
}

/* ---- reading ---- */

struct versions {
	uint16_t *of; /* for each symbol; NULL: there are none */
	size_t count;
	char *definitions, *strings;
	const char **names; /* by number */
	size_t nnames;
};

struct reading {
	struct functions *functions;
	const struct image *image; /* whose segments hold */
	size_t room;
	bool full; /* there are more than we look at */
};

/* Keeps a block as long as the functions. */
static int keep(struct functions *functions, char *block)
{
	char **grown = realloc(functions->blocks, (functions->nblocks + 1) * sizeof(*grown));

	if (!grown) {
		free(block);
		return -ENOMEM;
	}
	functions->blocks = grown;
	grown[functions->nblocks++] = block;
	return 0;
}

static int add(struct reading *r, const struct function *f)
{
	struct functions *functions = r->functions;

	if (functions->count == FUNCTIONS_MAX) {
		if (!r->full)
			log_warn("only the first %u functions of a file are looked at",
				 FUNCTIONS_MAX);
		r->full = true;
		return 0;
	}
	if (functions->count == r->room) {
		size_t room = r->room ? 2 * r->room : 256;
		struct function *grown = realloc(functions->list, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		functions->list = grown;
		r->room = room;
	}
	functions->list[functions->count++] = *f;
	return 0;
}

/* Names of the versions that this file defines. */
static void read_definitions(struct versions *v, const struct image *file)
{
	const Elf64_Shdr *section = NULL, *strings;
	uint64_t at = 0, left;

	for (size_t i = 1; i < file->nsections && !section; i++)
		if (file->sections[i].sh_type == SHT_GNU_verdef)
			section = &file->sections[i];
	if (!section || section->sh_link >= file->nsections)
		return;
	strings = &file->sections[section->sh_link];
	v->definitions = image_read(file, section->sh_offset, section->sh_size);
	v->strings = image_read(file, strings->sh_offset, strings->sh_size);
	v->names = calloc(VERSIONS_MAX, sizeof(*v->names));
	if (!v->definitions || !v->strings || !v->names)
		return;
	v->nnames = VERSIONS_MAX;
	left = section->sh_info;
	while (left--) {
		Elf64_Verdef definition;
		Elf64_Verdaux name;
		uint64_t aux;

		if (at > section->sh_size || section->sh_size - at < sizeof(definition))
			return;
		memcpy(&definition, v->definitions + at, sizeof(definition));
		aux = at + definition.vd_aux;
		if (aux > section->sh_size || section->sh_size - aux < sizeof(name))
			return;
		memcpy(&name, v->definitions + aux, sizeof(name));
		if (!(definition.vd_flags & VER_FLG_BASE) && definition.vd_ndx < VERSIONS_MAX &&
		    name.vda_name < strings->sh_size)
			v->names[definition.vd_ndx] = v->strings + name.vda_name;
		if (!definition.vd_next)
			return;
		at += definition.vd_next;
	}
}

static void read_versions(struct versions *v, const struct image *file, size_t symbols)
{
	*v = (struct versions){0};
	for (size_t i = 1; i < file->nsections; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section->sh_type != SHT_GNU_versym || section->sh_link != symbols)
			continue;
		v->of = image_read(file, section->sh_offset, section->sh_size);
		v->count = v->of ? section->sh_size / sizeof(*v->of) : 0;
		read_definitions(v, file);
		return;
	}
}

static void set_version(const struct versions *v, size_t symbol, struct function *f)
{
	uint16_t number;

	if (symbol >= v->count || f->version)
		return;
	number = v->of[symbol];
	if ((size_t)(number & 0x7fff) < v->nnames && v->names[number & 0x7fff]) {
		f->version = v->names[number & 0x7fff];
		f->old_version = number & 0x8000;
	}
}

/* The name in a .symtab may have the version: f@V1, f@@V2. It is taken off. */
static void split_version(char *name, struct function *f)
{
	char *at = strchr(name, '@');

	if (!at || at == name)
		return;
	f->old_version = at[1] != '@';
	f->version = at + (f->old_version ? 1 : 2);
	*at = '\0';
}

static int add_symbol(struct reading *r, const Elf64_Sym *symbol, char *name,
		      const struct versions *versions, size_t index)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	struct function f = {.address = symbol->st_value, .size = symbol->st_size, .name = name};
	uint64_t left;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx == SHN_ABS || !*name ||
	    !image_offset(r->image, f.address, PF_X, &f.offset, &left))
		return 0;
	if (f.size > left)
		f.size = left;
	f.local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
	split_version(name, &f);
	set_version(versions, index, &f);
	f.kind = kind_of(r->image, &f, type == STT_GNU_IFUNC);
	return add(r, &f);
}

/* One table of symbols of `file`. True in *found if it is there and can be read. */
static int read_table(struct reading *r, const struct image *file, uint32_t type, bool *found)
{
	const Elf64_Shdr *table = NULL, *strings;
	struct versions versions;
	Elf64_Sym *symbols = NULL;
	char *names = NULL;
	size_t i, index;
	int err = 0;

	*found = false;
	for (i = 1; i < file->nsections && !table; i++)
		if (file->sections[i].sh_type == type)
			table = &file->sections[i];
	if (!table || table->sh_link >= file->nsections || (table->sh_flags & SHF_COMPRESSED))
		return 0;
	index = (size_t)(table - file->sections);
	strings = &file->sections[table->sh_link];
	if (strings->sh_type != SHT_STRTAB)
		return 0;
	symbols = image_read(file, table->sh_offset, table->sh_size);
	names = image_read(file, strings->sh_offset, strings->sh_size);
	if (!symbols || !names) {
		free(symbols);
		free(names);
		return 0;
	}
	*found = true;
	read_versions(&versions, file, index);
	err = keep(r->functions, names);
	for (i = 0; i < table->sh_size / sizeof(*symbols) && !err; i++)
		if (symbols[i].st_name < strings->sh_size)
			err = add_symbol(r, &symbols[i], names + symbols[i].st_name, &versions, i);
	free(symbols);
	free(versions.of);
	free(versions.names);
	free(versions.definitions);
	if (versions.strings && !err)
		err = keep(r->functions, versions.strings);
	else
		free(versions.strings);
	return err;
}

/* ---- order ---- */

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

static int compare_size(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* Which of two names of one place is preferred: see symbols.h. */
static int compare_names(const struct function *a, const struct function *b)
{
	if (a->old_version != b->old_version)
		return a->old_version ? 1 : -1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	if (underscores(a->name) != underscores(b->name))
		return compare_size(underscores(a->name), underscores(b->name));
	if (strlen(a->name) != strlen(b->name))
		return compare_size(strlen(a->name), strlen(b->name));
	return strcmp(a->name, b->name);
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return compare_names(x, y);
}

/* The same name at the same place, from two tables: one is left, with what both know. */
static void merge_doubles(struct functions *functions)
{
	struct function *list = functions->list;
	size_t kept = 0;

	for (size_t i = 0; i < functions->count; i++) {
		struct function *last = kept ? &list[kept - 1] : NULL;

		if (last && last->offset == list[i].offset && !strcmp(last->name, list[i].name)) {
			if (!last->version) {
				last->version = list[i].version;
				last->old_version = list[i].old_version;
			}
			if (list[i].size > last->size)
				last->size = list[i].size;
			continue;
		}
		list[kept++] = list[i];
	}
	functions->count = kept;
}

static int compare_by_name(const void *a, const void *b, void *list)
{
	const struct function *functions = list;
	const struct function *x = &functions[*(const uint32_t *)a];
	const struct function *y = &functions[*(const uint32_t *)b];
	int order = strcmp(x->name, y->name);

	return order ? order : compare_size(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int sort(struct functions *functions)
{
	if (!functions->count)
		return 0;
	qsort(functions->list, functions->count, sizeof(*functions->list), compare_functions);
	merge_doubles(functions);
	functions->by_name = malloc(functions->count * sizeof(*functions->by_name));
	if (!functions->by_name)
		return -ENOMEM;
	for (size_t i = 0; i < functions->count; i++)
		functions->by_name[i] = (uint32_t)i;
	qsort_r(functions->by_name, functions->count, sizeof(*functions->by_name), compare_by_name,
		functions->list);
	return 0;
}

/* What is one function by several names is one of all: if any name makes it special, it is. */
static void share_kinds(struct functions *functions)
{
	struct function *list = functions->list;

	for (size_t from = 0, to; from < functions->count; from = to) {
		enum function_kind kind = FUNCTION_CALLED;

		for (to = from; to < functions->count && list[to].offset == list[from].offset; to++)
			if (list[to].kind != FUNCTION_CALLED)
				kind = list[to].kind;
		for (size_t i = from; i < to; i++)
			list[i].kind = kind;
	}
}

int functions_read(struct functions *functions, const struct image *image, const char *root,
		   const char *path)
{
	struct reading r = {.functions = functions, .image = image};
	struct image debug;
	bool found;
	int err;

	*functions = (struct functions){.debug_fd = -1};
	err = read_table(&r, image, SHT_SYMTAB, &found);
	if (!err && !found && debugfile_open(&debug, image, root, path, &functions->debug_file)) {
		err = read_table(&r, &debug, SHT_SYMTAB, &found);
		functions->debug_fd = debug.fd;
		debug.fd = -1;
		image_close(&debug);
	}
	functions->stripped = !found;
	if (!err)
		err = read_table(&r, image, SHT_DYNSYM, &found);
	if (!err)
		err = sort(functions);
	if (err) {
		functions_free(functions);
		return err;
	}
	share_kinds(functions);
	return 0;
}

void functions_free(struct functions *functions)
{
	for (size_t i = 0; i < functions->nblocks; i++)
		free(functions->blocks[i]);
	free(functions->blocks);
	free(functions->list);
	free(functions->by_name);
	free(functions->debug_file);
	if (functions->debug_fd > 0)
		close(functions->debug_fd);
	*functions = (struct functions){.debug_fd = -1};
}

/* ---- demangled ---- */

/* Appends a string to what is being filled; offsets, as it may move. */
static int store(char **text, size_t *used, size_t *room, const char *string, size_t length)
{
	while (!*text || *used + length + 1 > *room) {
		size_t more = *room ? 2 * *room : 1 << 16;
		char *grown = realloc(*text, more);

		if (!grown)
			return -ENOMEM;
		*text = grown;
		*room = more;
	}
	memcpy(*text + *used, string, length + 1);
	*used += length + 1;
	return 0;
}

int functions_demangle(struct functions *functions)
{
	char buffer[DEMANGLE_MAX], *text = NULL;
	size_t used = 0, room = 0, length, *places;
	int err = 0;

	if (functions->demangled || !functions->count)
		return 0;
	/* where each pair begins, plus 1 */
	places = calloc(functions->count, 2 * sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < functions->count && !err; i++) {
		const char *name = functions->list[i].name;

		length = demangle(buffer, name, DEMANGLE_NAME);
		if (!length)
			continue;
		places[2 * i] = used + 1;
		err = store(&text, &used, &room, buffer, length);
		length = demangle(buffer, name, DEMANGLE_PARAMETERS);
		if (err || !length)
			continue;
		places[2 * i + 1] = used + 1;
		err = store(&text, &used, &room, buffer, length);
	}
	if (!err && text)
		err = keep(functions, text);
	else
		free(text);
	for (size_t i = 0; i < functions->count && !err; i++) {
		if (places[2 * i])
			functions->list[i].plain = text + places[2 * i] - 1;
		if (places[2 * i + 1])
			functions->list[i].full = text + places[2 * i + 1] - 1;
	}
	functions->demangled = !err;
	free(places);
	return err;
}
