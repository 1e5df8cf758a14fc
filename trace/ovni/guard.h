/* SPDX-License-Identifier: MIT */
/*
 * guard: mapped files that may shrink while they are read.
 *
 * A page of a mapping that the file no longer has (or that the disk cannot deliver)
 * raises SIGBUS when it is touched. Inside a guarded range the signal puts zeros there and
 * remembers it: the reader goes on, and finds out by guard_hit(). Outside of them it does
 * what it did before. The handler is installed with the first range, if it is not there.
 * Invariant: the handler takes no lock and allocates nothing; ranges may come
 * and go in other threads meanwhile.
 */
#ifndef TRACE_OVNI_GUARD_H
#define TRACE_OVNI_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct guard; /* of one range */

/* Guards the mapping [base, base + size), base as mmap() gave it. NULL without memory. */
struct guard *guard_add(const void *base, size_t size);
/* To be called before the range is unmapped; NULL is fine. */
void guard_remove(struct guard *guard);

/* True once a part of the range was missing: what was read there was zeros. */
bool guard_hit(const struct guard *guard);

/* How many ranges there are now. */
size_t guard_count(void);

#endif
