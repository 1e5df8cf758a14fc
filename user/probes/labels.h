/* SPDX-License-Identifier: MIT */
/*
 * labels: the names of sites in the trace.
 *
 * In: sites with their functions; out: a label for each: the function's name, demangled (ns::f;
 * ns::f(int) where several have that name), f@VERSION for one that is not the default, f+0x10 for a
 * point, provider:name for a USDT probe. Equal labels of two files get the file, f (libx.so.1);
 * equal labels of one file (static functions) the address, f (0x1139). Invariants: UTF-8, at most
 * RESOLVE_LABEL_MAX bytes; two sites share a label only if they are points of one USDT probe in one
 * file. Specification: event-mapping.md "User probes and marks".
 */
#ifndef USER_PROBES_LABELS_H
#define USER_PROBES_LABELS_H

#include <stddef.h>

#include "user/probes/binaries.h"
#include "user/probes/site.h"
#include "user/elf/functions.h"

struct label {
	const struct binary *binary;
	const struct function *function; /* NULL: none is known */
	const struct site *site;
	const struct usdt_probe *probe; /* NULL: none */
	char *text;			/* out; the caller frees it */
};

/* Makes all of them. 0 or -ENOMEM (then some texts may be NULL). */
int labels_make(struct label *labels, size_t count) __attribute__((warn_unused_result));

#endif
