/* SPDX-License-Identifier: MIT */
/*
 * digits: integers to decimal text, for lines that are made by the million.
 */
#ifndef TOOLS_LIB_CLOCK_DIGITS_H
#define TOOLS_LIB_CLOCK_DIGITS_H

#include <stddef.h>
#include <stdint.h>

#define DIGITS_MAX	 20 /* of any 64-bit integer, sign included */
#define DIGITS_CLOCK_MAX 40

/* Writes `v` at `at` (DIGITS_MAX bytes of room) and returns the end. No NUL. */
char *digits_u64(char *at, uint64_t v);
char *digits_i64(char *at, int64_t v);

/*
 * A clock, right aligned in 10 columns. Clocks that follow each other share their first
 * digits, so these are kept from one call to the next. DIGITS_CLOCK_MAX bytes of room.
 */
struct digits_clock {
	uint64_t high; /* clock / 10^8 of the kept text */
	unsigned size; /* of the kept text; 0: none */
	char text[24];
};
char *digits_clock(struct digits_clock *kept, char *at, int64_t clock);

#endif
