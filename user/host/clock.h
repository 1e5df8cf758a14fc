/* SPDX-License-Identifier: MIT */
/*
 * clock: CLOCK_MONOTONIC as the kernel side reads it, ns.
 *
 * In a time namespace this process sees it with an offset, which is taken off again.
 */
#ifndef USER_HOST_CLOCK_H
#define USER_HOST_CLOCK_H

#include <stdint.h>

/* Finds the offset; without it none is taken off. Before any other thread runs. */
void clock_prepare(void);

uint64_t clock_now(void);

#endif
