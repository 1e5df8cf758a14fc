/* SPDX-License-Identifier: MIT */
#include "trace/base/digits.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "digits_spread8() lays digits out for little endian machines"
#endif

char *digits_put_large(char *at, int64_t value)
{
	if (value >= 0)
		return digits_put_u64(at, (uint64_t)value);
	*at++ = '-';
	return digits_put_u64(at, 0 - (uint64_t)value);
}

char *digits_put_u64(char *at, uint64_t value)
{
	uint64_t high = value / 100000000;

	if (!high)
		return digits_put_small(at, (uint32_t)value);
	if (high >= 100000000) {
		at = digits_put_small(at, (uint32_t)(high / 100000000));
		digits_put8(at, (uint32_t)(high % 100000000));
		at += 8;
	} else {
		at = digits_put_small(at, (uint32_t)high);
	}
	digits_put8(at, (uint32_t)(value % 100000000));
	return at + 8;
}
