/* SPDX-License-Identifier: MIT */
/*
 * site_value: the language of the values of a probe, and their lists.
 *
 * In: a text of -u or of an API file; out: a struct site_value.
 *
 *   argN        integer argument N from 1, at the entry; also one on the stack
 *   ret         the returned value
 *   *argN+OFF   the memory OFF bytes (0 to 4095) behind where argument N points, at the entry
 *   *argN+OFF@ret  the same at the return
 *   VALUE:TYPE  its type: i8 to i64, u8 to u64; ptr: the address of a variable, which the trace names
 *
 * Invariant: a list has no value twice, and reads at the return through one argument at most, as
 * the programs keep one pointer for each call. Specification: event-mapping.md "User probes and
 * marks".
 */
#ifndef USER_PROBES_SITE_VALUE_H
#define USER_PROBES_SITE_VALUE_H

#include <stddef.h>

#include "user/probes/site.h"

#define SITE_ARGUMENTS_MAX 12	/* of a function: in registers, then on the stack */
#define SITE_FOLLOW_MAX	   4095 /* bytes behind a pointer */

/* Reads the `length` bytes of a text. NULL; or the error, a sentence that needs no freeing, with
 * its position in *at. */
const char *site_value_read(const char *text, size_t length, struct site_value *value, size_t *at);

/* The same for a list with commas, which is appended to `values`. */
const char *site_values_read(const char *text, size_t length,
			     struct site_value values[SITE_VALUES_MAX], size_t *at);

/* The index of a value in a list, whatever its type is unless both have one; -1: not there. */
int site_values_find(const struct site_value values[SITE_VALUES_MAX],
		     const struct site_value *value);

/* The same, after appending a value that is not there; -1: it has no place there. */
int site_values_add(struct site_value values[SITE_VALUES_MAX], const struct site_value *value);

unsigned site_values_count(const struct site_value values[SITE_VALUES_MAX]);

/* Is the value read when the function returns? */
bool site_value_returns(const struct site_value *value);

/* The value as in the language, without its type: "arg2", "*arg7+8@ret", "ret". */
void site_value_name(const struct site_value *value, char *out, size_t size);

#endif
