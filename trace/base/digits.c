/* SPDX-License-Identifier: MIT */
#include "trace/base/digits.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "digits_spread8() lays digits out for little endian machines"
#endif

char *digits_put_large(char *at, int64_t value)
{
	uint64_t u = (uint64_t)value, high;

	if (value < 0) {
		*at++ = '-';
		u = 0 - u;
	}
	if (u < 100000000)
		return digits_put_small(at, (uint32_t)u);
	high = u / 100000000;
	if (high >= 100000000) {
		at = digits_put_small(at, (uint32_t)(high / 100000000));
		digits_put8(at, (uint32_t)(high % 100000000));
		at += 8;
	} else {
		at = digits_put_small(at, (uint32_t)high);
	}
	digits_put8(at, (uint32_t)(u % 100000000));
	return at + 8;
}
