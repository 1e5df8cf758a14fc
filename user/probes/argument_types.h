/* SPDX-License-Identifier: MIT */
/*
 * argument_types: how large arguments and results of functions are, by their debug information.
 *
 * In: a file with DWARF and addresses of functions; out: bytes and sign. The registers of smaller
 * arguments have anything in their upper part, so it matters: -1 as an int is 4294967295 in a whole
 * register. libdw reads what strangers have made, so it does that in a process of its own, which
 * may crash or run for long without harm.
 */
#ifndef USER_PROBES_ARGUMENT_TYPES_H
#define USER_PROBES_ARGUMENT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "user/probes/site.h"

struct type_question {
	uint64_t address; /* of the function, as the file has it */
	struct site_value *value;
};

/*
 * Fills in `bytes` and `is_signed` of the values for which the answer is certain: integers,
 * pointers, enumerations. Left as they are: what is not known, floating point, structures, and
 * arguments whose register is not certain (behind a structure that is passed by value).
 */
void types_find(int fd, struct type_question *questions, size_t count);

#endif
