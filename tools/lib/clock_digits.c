/* SPDX-License-Identifier: MIT */
#include "tools/lib/clock_digits.h"

#include <string.h>

#define LOW 100000000u /* the eight digits that change */

static const char pairs[201] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

static char *put_pair(char *at, uint32_t v)
{
	memcpy(at, pairs + 2 * v, 2);
	return at + 2;
}

static char *put_eight(char *at, uint32_t v)
{
	uint32_t high = v / 10000, low = v % 10000;

	at = put_pair(at, high / 100);
	at = put_pair(at, high % 100);
	at = put_pair(at, low / 100);
	return put_pair(at, low % 100);
}

char *digits_u64(char *at, uint64_t v)
{
	char text[DIGITS_MAX], *end = text + sizeof(text), *start = end;
	size_t n;

	while (v >= 100) {
		start -= 2;
		memcpy(start, pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10) {
		start -= 2;
		memcpy(start, pairs + 2 * v, 2);
	} else {
		*--start = (char)('0' + v);
	}
	n = (size_t)(end - start);
	memcpy(at, start, n);
	return at + n;
}

char *digits_i64(char *at, int64_t v)
{
	uint64_t u = (uint64_t)v;

	if (v < 0) {
		*at++ = '-';
		u = -u;
	}
	return digits_u64(at, u);
}

char *digits_clock(struct digits_clock *kept, char *at, int64_t clock)
{
	uint64_t high = (uint64_t)clock / LOW;

	if (clock < 0 || high == 0 || high > UINT64_MAX / LOW) {
		char text[DIGITS_MAX];
		size_t n = (size_t)(digits_i64(text, clock) - text);

		if (n < 10) {
			memset(at, ' ', 10 - n);
			at += 10 - n;
		}
		memcpy(at, text, n);
		return at + n;
	}
	if (high != kept->high || !kept->size) {
		char *end = kept->text;

		if (high < 10)
			*end++ = ' ';
		kept->high = high;
		kept->size = (unsigned)(digits_u64(end, high) - kept->text);
	}
	memcpy(at, kept->text, sizeof(kept->text)); /* a fixed size is two moves */
	return put_eight(at + kept->size, (uint32_t)((uint64_t)clock % LOW));
}
