/* SPDX-License-Identifier: MIT */
/*
 * demangle: names of C++ and Rust as in the source.
 *
 * In: a symbol's name of an untrusted file; out: "ns::f" or
 * "ns::f(int)". Names that would become too long (some of a few bytes become gigabytes) are not
 * demangled: memory and time are bounded.
 */
#ifndef USER_ELF_DEMANGLE_H
#define USER_ELF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_MAX 4096 /* bytes of a name, with its NUL, before and after */

enum demangle_form {
	DEMANGLE_NAME,	     /* ns::f<int> */
	DEMANGLE_PARAMETERS, /* ns::f<int>(int) */
	DEMANGLE_WHOLE,	     /* void ns::f<int>(int) */
};

/* Can `name` be a mangled one? */
bool demangle_possible(const char *name);

/* Writes the demangled form of `name` to `out`. Returns its length; 0 if it is not mangled, or is
 * too long. */
size_t demangle(char out[DEMANGLE_MAX], const char *name, enum demangle_form form);

#endif
