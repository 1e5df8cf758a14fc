/* SPDX-License-Identifier: MIT */
/*
 * guard: protects readers of mapped files against files that shrink.
 *
 * An access to a mapped page that is no longer in the file (or that the disk cannot read) raises
 * SIGBUS. In: guarded ranges; out: zeros in place of such pages, which guard_hit() reports. Outside
 * guarded ranges the previous handler acts. The first range installs the handler.
 * Invariant: the handler takes no lock and does not allocate; other threads may add and remove
 * ranges at any time.
 */
#ifndef TRACE_OVNI_GUARD_H
#define TRACE_OVNI_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guard; /* of one range */

/* Guards the mapping [base, base + size), with base from mmap(). Returns NULL out of memory. */
struct guard *guard_add(const void *base, size_t size);
/* Ends the protection; must precede munmap(). Accepts NULL. */
void guard_remove(struct guard *guard);

/* True after an access to a missing part of the range: its bytes read as zeros. */
bool guard_hit(const struct guard *guard);

/* Number of guarded ranges. */
size_t guard_count(void);

#endif
