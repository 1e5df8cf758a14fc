/* SPDX-License-Identifier: MIT */
/*
 * data_symbols: the variables of a program or library, by address.
 *
 * In: an open file; out: the symbols of objects in its writable sections, from .symtab (its own, or
 * that of its separate debug file), or .dynsym where both are missing, read in a child process
 * (elf_child.h), and their members, where the file or its debug file has debug information.
 * Invariants: sorted by address; at most DATA_SYMBOLS_MAX; strings live as long as the list.
 * Specification: why.md A2.
 */
#ifndef USER_ELF_DATA_SYMBOLS_H
#define USER_ELF_DATA_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "user/elf/data_types.h"
#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"

#define DATA_SYMBOLS_MAX  16384
#define DATA_SYMBOL_BYTES 256 /* a longer name is left out */

struct data_symbol {
	uint64_t address, size; /* size: 1 or more */
	const char *name;	/* from the file */
	uint32_t type;		/* in data_symbols.types; 0: its parts are not known */
};

struct data_symbols {
	struct data_symbol *list;
	size_t count;
	struct elf_answer answer; /* has the names */
	struct data_types types;
};

/* `path` is the path of the file below `root` ("" or /proc/PID/root), where its debug file is
 * searched. 0, also for a file without symbols, or the error of elf_child_run(). */
int data_symbols_read(struct data_symbols *symbols, const struct elf_file *file, const char *root,
		      const char *path) __attribute__((warn_unused_result));
void data_symbols_free(struct data_symbols *symbols); /* also of a zeroed struct */

/* The symbol that the byte at a virtual address belongs to, or NULL. */
const struct data_symbol *data_symbols_at(const struct data_symbols *symbols, uint64_t address);

/* The text of that byte, for free(): "pool", "pool+0x10", with debug information "pool.lock" or
 * "pools[3].lock". NULL: it belongs to no symbol, or there is no memory. */
char *data_symbols_text(const struct data_symbols *symbols, uint64_t address);

#endif
