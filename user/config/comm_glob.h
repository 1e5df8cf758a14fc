/* SPDX-License-Identifier: MIT */
/*
 * comm_glob: a pattern for thread names, compiled for the kernel side.
 *
 * In: a pattern with *, ?, [a-z], [!a-z] and \x, as shells have them; out: a machine whose states
 * are the bits of a word (struct comm_glob in bpf/state.h), which the BPF programs step through a
 * name without going back. A name has at most 15 bytes.
 */
#ifndef USER_CONFIG_COMM_GLOB_H
#define USER_CONFIG_COMM_GLOB_H

#include <stdbool.h>

#include "bpf/state.h"

#define GLOB_SIGNS_MAX 63

/* Compiles `pattern`. Returns NULL, or one clause about the mistake. */
const char *comm_glob_compile(struct comm_glob *glob, const char *pattern);

/* Does the whole of `name` match? The same steps as in the kernel. */
bool comm_glob_matches(const struct comm_glob *glob, const char *name);

#endif
