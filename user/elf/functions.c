/* SPDX-License-Identifier: MIT */
/* functions: see functions.h. */
#include <ctype.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fnmatch.h>
#include <libiberty/demangle.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/elf/debug_file.h"
#include "user/elf/elf_child.h"
#include "user/elf/functions.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "user/elf/elf_file.h"

#define VERSIONS_MAX  0x8000	 /* their numbers have 15 bits; the next bit marks an old version */
#define FUNCTIONS_MAX (1u << 22) /* names; the largest programs have a quarter of it */

/* ---- functions that cannot have a return probe ---- */

/*
 * These store their return address for a later jump, find their caller by it, or are not entered by
 * a call: a replaced return address makes the program crash.
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

/* gcc moves rarely executed code out of a function: f.cold, f.cold.1. */
static bool is_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.');
}

static enum function_kind kind_of(const struct elf_file *file, const struct function *f, bool ifunc)
{
	if (ifunc)
		return FUNCTION_IFUNC;
	if (is_part(f->name))
		return FUNCTION_PART;
	if (f->address == file->entry)
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
		return "is where the program starts: it has no caller, so no return";
	case FUNCTION_FRAME:
		return "uses its own return address, which a return probe would replace";
	}
	return NULL;
}

/* ---- reading, in the child ---- */

/* One name of a function; the name and, if has_version, the version follow it in the answer. */
struct symbol_record {
	uint64_t address, size;
	uint8_t is_ifunc, is_local, has_version, is_old_version; /* 0 or 1 */
};

/* Begins the answer. */
struct symbols_head {
	int32_t debug_file; /* the one that was used, -1: none */
	uint8_t stripped;   /* 0 or 1 */
};

struct symbols_request {
	int fd;
	const struct debug_files *debug_files;
	int debug_file; /* chosen by libdwfl's callback */
};

/* The name in a .symtab may have the version: f@V1, f@@V2. */
static void put_symbol(struct bytes *answer, const GElf_Sym *symbol, const char *name,
		       const char *version, bool is_old_version)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	const char *at = *name ? strchr(name + 1, '@') : NULL;
	struct symbol_record record = {
		.address = symbol->st_value,
		.size = symbol->st_size,
		.is_ifunc = type == STT_GNU_IFUNC,
		.is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL,
	};

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_shndx == SHN_ABS || !*name)
		return;
	if (at) {
		is_old_version = at[1] != '@';
		version = at + (is_old_version ? 1 : 2);
	}
	record.has_version = version != NULL;
	record.is_old_version = version && is_old_version;
	bytes_put(answer, &record, sizeof(record));
	if (at) {
		bytes_put(answer, name, (size_t)(at - name));
		bytes_put(answer, "", 1);
	} else {
		elf_answer_put_string(answer, name);
	}
	if (version)
		elf_answer_put_string(answer, version);
}

/* Names of the versions that the file defines, by number: VERSIONS_MAX of them, to be freed. */
static const char **read_definitions(Elf *elf)
{
	const char **names = calloc(VERSIONS_MAX, sizeof(*names));
	GElf_Shdr header;
	Elf_Scn *section = elf_section_next(elf, NULL, SHT_GNU_verdef, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Verdef definition;
	GElf_Verdaux name;
	uint64_t at = 0; /* libelf takes an int */

	for (size_t left = header.sh_info; names && data && left--; at += definition.vd_next) {
		if (at > INT_MAX || !gelf_getverdef(data, (int)at, &definition) ||
		    at + definition.vd_aux > INT_MAX ||
		    !gelf_getverdaux(data, (int)(at + definition.vd_aux), &name))
			break;
		if (!(definition.vd_flags & VER_FLG_BASE) && definition.vd_ndx < VERSIONS_MAX)
			names[definition.vd_ndx] = elf_strptr(elf, header.sh_link, name.vda_name);
		if (!definition.vd_next)
			break;
	}
	return names;
}

/* The exported symbols, with their versions, which libdwfl does not have. */
static void put_dynamic_symbols(struct bytes *answer, Elf *elf)
{
	GElf_Shdr header, versions_header;
	Elf_Scn *section = elf_section_next(elf, NULL, SHT_DYNSYM, &header);
	Elf_Scn *versions = elf_section_next(elf, NULL, SHT_GNU_versym, &versions_header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	Elf_Data *numbers = versions ? elf_getdata(versions, NULL) : NULL;
	const char **names = data && numbers ? read_definitions(elf) : NULL;
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
		GElf_Versym number = 0;

		if (names && !gelf_getversym(numbers, i, &number))
			number = 0;
		if (name)
			put_symbol(answer, &symbol, name,
				   names ? names[number & (VERSIONS_MAX - 1)] : NULL,
				   number & VERSIONS_MAX);
	}
	free(names);
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *path, const char *link, GElf_Word crc, char **debug_path)
{
	struct symbols_request *request = *userdata;
	GElf_Addr bias;

	(void)name, (void)base, (void)path, (void)link, (void)crc, (void)debug_path;
	request->debug_file =
		debug_files_choose(request->debug_files, dwfl_module_getelf(module, &bias));
	return request->debug_file < 0 ? -1 : dup(request->debug_files->fds[request->debug_file]);
}

/* The symbols of .symtab: of the file, of its debug file, or of .gnu_debugdata. */
static void put_symbols(struct bytes *answer, Dwfl_Module *module, struct symbols_head *head)
{
	int count = dwfl_module_getsymtab(module);
	GElf_Addr bias, address;
	Elf *main = dwfl_module_getelf(module, &bias), *from;
	GElf_Shdr header;
	bool has_symtab = elf_section_next(main, NULL, SHT_SYMTAB, &header);
	GElf_Sym symbol;

	head->stripped = !has_symtab;
	for (int i = 1; i < count; i++) {
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, &from, &bias);

		/* without a .symtab libdwfl returns the symbols of .dynsym */
		if (!name || (from == main && !has_symtab))
			continue;
		head->stripped = false;
		symbol.st_value = address;
		put_symbol(answer, &symbol, name, NULL, false);
	}
}

static void read_symbols(struct bytes *answer, Elf *elf, void *request_)
{
	static const Dwfl_Callbacks callbacks = {.find_debuginfo = find_debuginfo};
	struct symbols_request *request = request_;
	struct symbols_head head = {.debug_file = -1, .stripped = true};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = NULL;
	void **userdata;

	bytes_put(answer, &head, sizeof(head));
	if (dwfl)
		module = dwfl_report_elf(dwfl, "file", "file", dup(request->fd), 0, true);
	if (module) {
		dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = request;
		dwfl_report_end(dwfl, NULL, NULL);
		put_symbols(answer, module, &head);
		head.debug_file = request->debug_file;
	}
	if (elf)
		put_dynamic_symbols(answer, elf);
	if (!answer->failed)
		memcpy(answer->data, &head, sizeof(head));
	dwfl_end(dwfl);
}

/* ---- reading, in the parent ---- */

/* Adds the functions of the answer that lie in executable segments. */
static int take_symbols(struct functions *functions, const struct elf_file *file)
{
	struct elf_answer *answer = &functions->answer;
	struct symbol_record record;
	uint64_t left;

	while (elf_answer_get(answer, &record, sizeof(record))) {
		struct function *added, f = {.address = record.address,
					     .size = record.size,
					     .name = elf_answer_get_string(answer),
					     .local = record.is_local};

		if (record.has_version)
			f.version = elf_answer_get_string(answer);
		if (!f.name || !*f.name || (record.has_version && !f.version))
			return -ENOEXEC;
		f.old_version = f.version && record.is_old_version;
		if (!elf_file_offset(file, f.address, PF_X, &f.offset, &left))
			continue;
		if (f.size > left)
			f.size = left;
		f.kind = kind_of(file, &f, record.is_ifunc);
		if (functions->count == FUNCTIONS_MAX) {
			log_warn("only the first %u functions of a file are considered",
				 FUNCTIONS_MAX);
			return 0;
		}
		added = ARRAY_ADD(functions->list, functions->count);
		if (!added)
			return -ENOMEM;
		*added = f;
	}
	return 0;
}

/* Reads the symbols in the child, and gives the functions the debug file that it used. */
static int read_functions(struct functions *functions, const struct elf_file *file,
			  struct debug_files *debug_files)
{
	struct symbols_request request = {
		.fd = file->fd, .debug_files = debug_files, .debug_file = -1};
	struct symbols_head head;
	int err = elf_child_run(file->fd, read_symbols, &request, &functions->answer);

	if (err)
		return err;
	if (!elf_answer_get(&functions->answer, &head, sizeof(head)))
		return -ENOEXEC;
	functions->stripped = head.stripped;
	if (head.debug_file >= 0 && (size_t)head.debug_file < debug_files->count) {
		functions->debug_file = debug_files->paths[head.debug_file];
		functions->debug_fd = debug_files->fds[head.debug_file];
		debug_files->paths[head.debug_file] = NULL;
		debug_files->fds[head.debug_file] = -1;
	}
	return take_symbols(functions, file);
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

/* Orders names of one function by preference: see functions.h. */
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

/* Merges the same name of the same function from two tables. */
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

/* If one name of a function makes it special, all of its names are. */
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

int functions_read(struct functions *functions, const struct elf_file *file, const char *root,
		   const char *path)
{
	struct debug_files debug_files;
	int err;

	*functions = (struct functions){.debug_fd = -1};
	err = debug_files_open(&debug_files, DEBUG_SYMBOLS, file, root, path);
	if (err)
		return err;
	err = read_functions(functions, file, &debug_files);
	debug_files_close(&debug_files);
	if (err)
		goto fail;
	err = sort(functions);
	if (err)
		goto fail;
	share_kinds(functions);
	return 0;
fail:
	functions_free(functions);
	return err;
}

void functions_free(struct functions *functions)
{
	for (size_t i = 0; i < functions->count; i++) {
		free(functions->list[i].plain);
		free(functions->list[i].full);
	}
	free(functions->list);
	elf_answer_free(&functions->answer);
	free(functions->by_name);
	free(functions->debug_file);
	if (functions->debug_fd > 0)
		close(functions->debug_fd);
	*functions = (struct functions){.debug_fd = -1};
}

/* ---- names of C++ and Rust ---- */

struct demangled {
	char *text;
	size_t length;
	jmp_buf full; /* the only way to stop the demangler */
};

static void append(const char *text, size_t length, void *opaque)
{
	struct demangled *out = opaque;

	if (length >= DEMANGLE_MAX - out->length)
		longjmp(out->full, 1);
	memcpy(out->text + out->length, text, length);
	out->length += length;
}

size_t demangle(char out[DEMANGLE_MAX], const char *name, enum demangle_form form)
{
	static const int options[] = {
		[DEMANGLE_NAME] = DMGL_ANSI,
		[DEMANGLE_PARAMETERS] = DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP,
		[DEMANGLE_WHOLE] = DMGL_PARAMS | DMGL_ANSI,
	};
	struct demangled output = {.text = out};

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
	    strnlen(name, DEMANGLE_MAX) == DEMANGLE_MAX)
		return 0;
	if (setjmp(output.full))
		return 0;
	/* the older names of Rust look like names of C++ */
	if (!rust_demangle_callback(name, options[form], append, &output)) {
		output.length = 0;
		if (!cplus_demangle_v3_callback(name, options[form], append, &output))
			return 0;
	}
	out[output.length] = '\0';
	/* a NUL inside, or nothing, is no name */
	return strlen(out) == output.length ? output.length : 0;
}

int functions_demangle(struct functions *functions)
{
	char buffer[DEMANGLE_MAX];

	if (functions->demangled)
		return 0;
	for (size_t i = 0; i < functions->count; i++) {
		struct function *f = &functions->list[i];

		if (!demangle(buffer, f->name, DEMANGLE_NAME))
			continue;
		f->plain = strdup(buffer);
		if (!f->plain)
			return -ENOMEM;
		if (!demangle(buffer, f->name, DEMANGLE_PARAMETERS))
			continue;
		f->full = strdup(buffer);
		if (!f->full)
			return -ENOMEM;
	}
	functions->demangled = true;
	return 0;
}

/* ---- by name, glob and offset ---- */

static bool equal_but_blanks(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* "f@V" and "f@@V" as well as "f". */
static bool has_name(const struct function *f, const char *name, size_t length, const char *version)
{
	if (strncmp(f->name, name, length) || f->name[length])
		return false;
	if (!version)
		return true;
	if (!f->version)
		return false;
	if (version[1] == '@')
		return !f->old_version && !strcmp(f->version, version + 2);
	return !strcmp(f->version, version + 1);
}

static bool is_exactly(const struct function *f, const char *name)
{
	char whole[DEMANGLE_MAX];

	if (!f->plain)
		return false;
	if (equal_but_blanks(f->plain, name) || (f->full && equal_but_blanks(f->full, name)))
		return true;
	/* with the returned type: only if the rest matches, since this is slow */
	return f->full && strstr(name, f->plain) && demangle(whole, f->name, DEMANGLE_WHOLE) &&
	       equal_but_blanks(whole, name);
}

static bool is_like(const struct function *f, const char *glob)
{
	return !fnmatch(glob, f->name, 0) || (f->plain && !fnmatch(glob, f->plain, 0)) ||
	       (f->full && !fnmatch(glob, f->full, 0));
}

struct found {
	uint32_t *list;
	size_t count;
};

/* Takes one index for each function; they come in the order of the list. */
static void choose(const struct functions *functions, struct found *found, size_t i)
{
	const struct function *f = functions->list;

	if (!found->count || f[found->list[found->count - 1]].offset != f[i].offset)
		found->list[found->count++] = (uint32_t)i;
}

static void find_by_name(const struct functions *functions, struct found *found, const char *name)
{
	const char *version = strchr(name, '@');
	size_t length = version && version != name ? (size_t)(version - name) : strlen(name);
	size_t low = 0, high = functions->count, middle;

	if (version == name)
		version = NULL;
	while (low < high) {
		const char *at;
		int order;

		middle = low + (high - low) / 2;
		at = functions->list[functions->by_name[middle]].name;
		order = strncmp(at, name, length);
		if (!order && at[length])
			order = 1;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < functions->count; low++) {
		const struct function *f = &functions->list[functions->by_name[low]];

		if (strncmp(f->name, name, length) || f->name[length])
			break;
		if (has_name(f, name, length, version))
			choose(functions, found, functions->by_name[low]);
	}
}

int functions_find(struct functions *functions, const char *name, uint32_t **list, size_t *count,
		   bool *glob)
{
	struct found found = {0};
	int err;

	*list = NULL;
	*count = 0;
	*glob = false;
	if (!functions->count)
		return 0;
	found.list = malloc(functions->count * sizeof(*found.list));
	if (!found.list)
		return -ENOMEM;
	find_by_name(functions, &found, name);
	if (!found.count) {
		err = functions_demangle(functions);
		if (err) {
			free(found.list);
			return err;
		}
		for (size_t i = 0; i < functions->count; i++)
			if (is_exactly(&functions->list[i], name))
				choose(functions, &found, i);
	}
	*glob = !found.count && strpbrk(name, "*?[\\");
	for (size_t i = 0; *glob && i < functions->count; i++)
		if (is_like(&functions->list[i], name))
			choose(functions, &found, i);
	*list = found.list;
	*count = found.count;
	return 0;
}

const struct function *functions_at(const struct functions *functions, uint64_t offset)
{
	size_t low = 0, high = functions->count, middle, from;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (functions->list[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	/* the last one that begins at or before it, by its first name; a function without a size
	 * matches at its first byte alone */
	while (low) {
		const struct function *f;

		from = low - 1;
		while (from && functions->list[from - 1].offset == functions->list[low - 1].offset)
			from--;
		f = &functions->list[from];
		if (offset == f->offset || offset - f->offset < f->size)
			return f;
		if (f->size)
			return NULL;
		low = from;
	}
	return NULL;
}

/* ---- the most similar name ---- */

#define NEAREST_MAX 64 /* bytes of the compared names */

/* The edit distance: characters to change, add, remove or swap, regardless of case; above `most` it
 * need not be exact. */
static size_t distance(const char *a, const char *b, size_t most)
{
	size_t na = strlen(a), nb = strlen(b), rows[3][NEAREST_MAX + 1];

	if (na > NEAREST_MAX || nb > NEAREST_MAX || (na > nb ? na - nb : nb - na) > most)
		return most + 1;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		const size_t *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];
		int x = tolower((unsigned char)a[i - 1]);

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			int y = tolower((unsigned char)b[j - 1]);

			row[j] = last[j - 1] + (x != y);
			if (last[j] + 1 < row[j])
				row[j] = last[j] + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return rows[na % 3][nb];
}

const char *functions_nearest(struct functions *functions, const char *name)
{
	size_t most = (strlen(name) + 2) / 3 + 1, d; /* fewer changes than this */
	const char *nearest = NULL;

	if (functions_demangle(functions))
		return NULL;
	for (size_t i = 0; i < functions->count && most; i++) {
		const struct function *f = &functions->list[i];
		const char *candidates[] = {f->name, f->plain};

		for (size_t k = 0; k < 2; k++) {
			if (!candidates[k])
				continue;
			d = distance(name, candidates[k], most - 1);
			if (d < most) {
				most = d;
				nearest = candidates[k];
			}
		}
	}
	return nearest;
}
