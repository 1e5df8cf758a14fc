/* SPDX-License-Identifier: MIT */
/*
 * argument_types: the size and the sign of arguments and results, by debug information.
 *
 * In: a file with DWARF and addresses of functions; out: bytes and sign. The register of a smaller
 * argument has arbitrary upper bits, so the size matters: -1 as an int is 4294967295 in a whole
 * register. libdw reads the untrusted file in a child process (elf_child.h).
 */
#ifndef USER_PROBES_ARGUMENT_TYPES_H
#define USER_PROBES_ARGUMENT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "user/probes/site.h"

struct type_question {
	uint64_t address; /* of the function, from the file */
	struct site_value *value;
};

/*
 * Fills in `bytes` and `is_signed` of the values whose type is certain: integers, pointers,
 * enumerations. Unchanged: unknown types, floating point, structures, and arguments whose register
 * is uncertain (after a structure passed by value).
 */
void argument_types_find(int fd, struct type_question *questions, size_t count);

#endif
