/* SPDX-License-Identifier: MIT */
/*
 * data_types: the members of the variables of a program or library.
 *
 * In: an open file with debug information, and the addresses of variables; out: the layout of their
 * types (structures, classes, unions, arrays), read by libdw in a child process (elf_child.h) that
 * opens no file. Pointers are not followed. Invariants: types have numbers from 1; all that follows
 * from the file is bounded by the limits below; strings live as long as the types. A type without
 * members, or beyond a limit, has none: its parts are shown as offsets.
 * Specification: event-mapping.md "The system call of a sleep".
 */
#ifndef USER_ELF_DATA_TYPES_H
#define USER_ELF_DATA_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "user/elf/elf_child.h"

#define DATA_TYPES_MAX	 16384
#define DATA_MEMBERS_MAX 262144
#define DATA_ENTRIES_MAX (1u << 25) /* entries of .debug_info that are read: some seconds */
#define DATA_PART_BYTES	 400	    /* of a text, its NUL included */

struct data_member {
	uint64_t offset, size;
	uint32_t type;	  /* 0: it has no parts */
	const char *name; /* "": a base class, or a structure without a name */
};

struct data_type {
	uint64_t stride, count; /* of an array; stride 0: a structure */
	uint32_t element;	/* the type of an array's elements; 0: they have no parts */
	uint32_t first, n;	/* of a structure: its members */
};

struct data_types {
	struct data_type *list;
	size_t count;
	struct data_member *members;
	size_t nmembers;
	struct elf_answer answer; /* has the names */
};

struct data_variable {
	uint64_t address;
	uint32_t type; /* out; 0: it has no parts, or is not in the debug information */
};

/* Finds the types of the variables, which are sorted by address, each address once. 0, also for a
 * file without debug information, or the error of elf_child_run(). */
int data_types_read(struct data_types *types, int fd, struct data_variable *variables, size_t n)
	__attribute__((warn_unused_result));
void data_types_free(struct data_types *types); /* also of a zeroed struct */

/*
 * Writes what follows the name of a variable for its byte at an offset: ".lock", "[3].lock+0x8",
 * "". Members with names that are reserved for the implementation (__data of a pthread_mutex_t,
 * _M_mutex of std::mutex) are left out, with their indices, unless a structure of the user follows.
 */
void data_types_text(const struct data_types *types, uint32_t type, uint64_t offset,
		     char text[DATA_PART_BYTES]);

#endif
