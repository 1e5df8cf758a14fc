/* SPDX-License-Identifier: MIT */
#include "emu/task/lookup2.h"

struct words {
	uint32_t a, b, c;
};

static void mix(struct words *w)
{
	static const unsigned shifts[3][3] = {{13, 8, 13}, {12, 16, 5}, {3, 10, 15}};

	for (int i = 0; i < 3; i++) {
		w->a = (w->a - w->b - w->c) ^ w->c >> shifts[i][0];
		w->b = (w->b - w->c - w->a) ^ w->a << shifts[i][1];
		w->c = (w->c - w->a - w->b) ^ w->b >> shifts[i][2];
	}
}

/* Up to four bytes as a little-endian word. */
static uint32_t word(const uint8_t *at, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size && i < 4; i++)
		value |= (uint32_t)at[i] << (8 * i);
	return value;
}

uint32_t lookup2(const void *bytes, size_t size)
{
	struct words w = {0x9e3779b9, 0x9e3779b9, 0xfeedbeef};
	const uint8_t *at = bytes;
	size_t left = size;

	for (; left >= 12; at += 12, left -= 12) {
		w.a += word(at, 4);
		w.b += word(at + 4, 4);
		w.c += word(at + 8, 4);
		mix(&w);
	}
	w.c += (uint32_t)size;
	w.a += word(at, left);
	if (left > 4)
		w.b += word(at + 4, left - 4);
	if (left > 8) /* the lowest byte of c has the length */
		w.c += word(at + 8, left - 8) << 8;
	mix(&w);
	return w.c;
}

uint32_t lookup2_type_value(const char *label, size_t size)
{
	uint32_t value = (lookup2(label, size) + 666) & 0x7fffffff;

	return value < 1000 ? value + 1000 : value;
}
