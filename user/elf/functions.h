/* SPDX-License-Identifier: MIT */
/*
 * functions: the functions of a program or library, by all their names.
 *
 * In: a file; out: its functions, from .symtab (its own, or that of its separate debug file, or of
 * .gnu_debugdata) and from .dynsym. Left out: imports (and so PLT entries), and addresses outside
 * of executable segments. Several names of one function (aliases) stand together, the preferred one
 * first: of the default version, exported, with the fewest underscores in front, the shortest, the
 * first in byte order. So MPI_Send comes before PMPI_Send, malloc before __libc_malloc. Invariant:
 * sorted by offset; no name twice at one offset; strings live as long as the list.
 */
#ifndef USER_ELF_FUNCTIONS_H
#define USER_ELF_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"

enum function_kind {
	FUNCTION_CALLED, /* called, and returns: entry and return can be probed */
	FUNCTION_IFUNC,	 /* chooses another function when the program is linked */
	FUNCTION_PART,	 /* part of a function that is jumped to (f.cold) */
	FUNCTION_START,	 /* the entry of the program: it has no caller */
	FUNCTION_FRAME,	 /* uses its own return address, or never returns */
};

struct function {
	uint64_t offset; /* in the file, bytes */
	uint64_t address;
	uint64_t size;	     /* bytes; 0: unknown */
	const char *name;    /* from the file, without version */
	const char *version; /* "GLIBC_2.14"; NULL: none */
	bool old_version;    /* f@V, not f@@V */
	bool local;	     /* not exported */
	enum function_kind kind;
	char *plain; /* ns::f, after functions_demangle(); NULL: not mangled */
	char *full;  /* ns::f(int) */
};

struct functions {
	struct function *list;
	size_t count;
	bool stripped;		  /* only exported functions are known */
	char *debug_file;	  /* the source of most names; NULL: the file itself */
	int debug_fd;		  /* the same, open; -1: none */
	uint32_t *by_name;	  /* indices, in byte order of the names */
	struct elf_answer answer; /* has the names */
	bool demangled;
};

/*
 * Reads the functions of an open file. `path` is its path below `root` ("" or /proc/PID/root),
 * where its debug files are searched. Returns 0, also for a file without functions, or the error of
 * elf_child_run().
 */
int functions_read(struct functions *functions, const struct elf_file *file, const char *root,
		   const char *path) __attribute__((warn_unused_result));
void functions_free(struct functions *functions);

#define DEMANGLE_MAX 4096 /* bytes of a name, with its NUL, before and after */

enum demangle_form {
	DEMANGLE_NAME,	     /* ns::f<int> */
	DEMANGLE_PARAMETERS, /* ns::f<int>(int) */
	DEMANGLE_WHOLE,	     /* void ns::f<int>(int) */
};

/* Writes the demangled form of a name of C++ or Rust to `out`. Returns its length; 0 if it is not
 * mangled, or is too long: some names of a few bytes become gigabytes. */
size_t demangle(char out[DEMANGLE_MAX], const char *name, enum demangle_form form);

/* Fills in `plain` and `full` of all; once is enough. 0 or -ENOMEM. */
int functions_demangle(struct functions *functions) __attribute__((warn_unused_result));

/*
 * Finds the functions with exactly this name (f, f@VERSION, _ZN2ns1fEi, ns::f, ns::f(int); spaces
 * do not count), or else all functions with a name that matches it as a glob; *glob is set then.
 * Returns one index for each function, sorted, for the caller to free. 0 or -ENOMEM.
 */
int functions_find(struct functions *functions, const char *name, uint32_t **found, size_t *count,
		   bool *glob) __attribute__((warn_unused_result));

/* The function that the byte at `offset` belongs to (its preferred name), or NULL. */
const struct function *functions_at(const struct functions *functions, uint64_t offset);

/* The name most similar to `name`, or NULL. */
const char *functions_nearest(struct functions *functions, const char *name);

/* The reason why entry and return cannot be probed, as the end of a sentence; NULL for
 * FUNCTION_CALLED. */
const char *function_obstacle(enum function_kind kind);

#endif
