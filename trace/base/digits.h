/* SPDX-License-Identifier: MIT */
/*
 * digits: integers as decimal text, for output of millions of lines.
 *
 * In: an integer; out: its digits, without a NUL. Eight digits are computed at once, in the bytes
 * of one word.
 */
#ifndef TRACE_BASE_DIGITS_H
#define TRACE_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

/* The eight digits of value < 10^8 in their order in memory (little endian), each 0..9. */
static inline uint64_t digits_spread8(uint32_t value)
{
	uint64_t high = value / 10000, low = value % 10000;
	uint64_t fours = high | low << 32;
	/* per 32-bit half: split by 100, then per 16-bit quarter by 10 */
	uint64_t hundreds = ((fours * 10486) >> 20) & 0x0000007f0000007fULL;
	uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
	uint64_t tens = ((twos * 103) >> 10) & 0x000f000f000f000fULL;

	return tens | (twos - tens * 10) << 8;
}

#define DIGITS_ASCII 0x3030303030303030ULL

/* Writes exactly eight digits, with leading zeros. */
static inline void digits_put8(char *at, uint32_t value)
{
	uint64_t word = digits_spread8(value) | DIGITS_ASCII;

	memcpy(at, &word, 8);
}

/* The digits of value < 10^8 in a word, the first one in its lowest byte. Returns their count. */
static inline unsigned digits_word(uint64_t *word, uint32_t value)
{
	uint64_t digits = digits_spread8(value);
	unsigned zeros = (unsigned)__builtin_ctzll(digits | 1ULL << 56) / 8;

	*word = (digits | DIGITS_ASCII) >> (8 * zeros);
	return 8 - zeros;
}

/* Writes the digits of value < 10^8 and returns their end; eight bytes are overwritten. */
static inline char *digits_put_small(char *at, uint32_t value)
{
	uint64_t word;
	unsigned n = digits_word(&word, value);

	memcpy(at, &word, 8);
	return at + n;
}

/* These write any integer and return the end of its digits: at most 20 bytes, though up to
 * DIGITS_SIZE bytes of the buffer are overwritten. */
#define DIGITS_SIZE 24
char *digits_put_u64(char *at, uint64_t value);
char *digits_put_large(char *at, int64_t value);
static inline char *digits_put(char *at, int64_t value)
{
	if ((uint64_t)value < 10) {
		*at = (char)('0' + value);
		return at + 1;
	}
	if (__builtin_expect((uint64_t)value < 100000000, 1))
		return digits_put_small(at, (uint32_t)value);
	return digits_put_large(at, value);
}

#endif
