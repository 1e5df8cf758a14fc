/* SPDX-License-Identifier: MIT */
/*
 * data_symbols: the variables of a program or library, by address.
 *
 * In: an open file; out: the symbols of objects in its writable sections, from .symtab, or .dynsym
 * where that is missing, read in a child process (elf_child.h). Invariants: sorted by address; at
 * most DATA_SYMBOLS_MAX; strings live as long as the list. Specification: why.md A2.
 */
#ifndef USER_ELF_DATA_SYMBOLS_H
#define USER_ELF_DATA_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"

#define DATA_SYMBOLS_MAX  16384
#define DATA_SYMBOL_BYTES 256 /* a longer name is left out */

struct data_symbol {
	uint64_t address, size; /* size: 1 or more */
	const char *name;	/* from the file */
};

struct data_symbols {
	struct data_symbol *list;
	size_t count;
	struct elf_answer answer; /* has the names */
};

/* 0, also for a file without symbols, or the error of elf_child_run(). */
int data_symbols_read(struct data_symbols *symbols, const struct elf_file *file)
	__attribute__((warn_unused_result));
void data_symbols_free(struct data_symbols *symbols); /* also of a zeroed struct */

/* The symbol that the byte at a virtual address belongs to, or NULL. */
const struct data_symbol *data_symbols_at(const struct data_symbols *symbols, uint64_t address);

#endif
