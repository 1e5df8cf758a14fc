/* SPDX-License-Identifier: MIT */
/* event: one binary event, there and back, and never past its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/ovni/event.h"

struct sample {
	const char *name;
	uint8_t bytes[32];
	size_t size;
	ssize_t want; /* of event_decode() */
	uint32_t mcv;
	int64_t clock;
	uint32_t payload_size;
	bool jumbo;
};

/* Formatted by hand, to show which bytes belong to which member. */
/* clang-format off */
static const struct sample samples[] = {
	{"no_payload_of_the_specification",
	 {0x00, 0x4f, 0x48, 0x65, 0x01, 0xc5, 0xcf, 0x1d, 0x96, 0xd0, 0x12, 0x00},
	 12, 12, MCV('O', 'H', 'e'), 0x12d0961dcfc501, 0, false},
	{"sixteen_bytes_of_the_specification",
	 {0x0f, 0x4f, 0x48, 0x78, 0x58, 0xc1, 0xb0, 0xb5, 0x95, 0x43, 0x11, 0x00, 0, 0,
	  0,	0,    0xff, 0xff, 0xff, 0xff, 0,    0,	  0,	0,    0,    0,	  0, 0},
	 28, 28, MCV('O', 'H', 'x'), 0x114395b5b0c158, 16, false},
	{"jumbo_of_the_specification",
	 {0x13, 0x56, 0x59, 0x63, 0xeb, 0xc1, 0x4b, 0x1a, 0x96, 0xd0, 0x12, 0x00, 0x0e, 0, 0,
	  0,	1,    0,    0,	  0,	't',  'e',  's',  't',	't',  'y',  'p',  'e',	'1',  0},
	 30, 30, MCV('V', 'Y', 'c'), 0x12d0961a4bc1eb, 14, true},
	{"header_cut_short", {0x00, 0x4f, 0x48, 0x65, 1, 2, 3, 4, 5, 6, 7}, 11, -EBADMSG, 0, 0, 0, false},
	{"payload_cut_short", {0x03, 'O', 'A', 's', 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0}, 15, -EBADMSG, 0, 0,
	 0, false},
	{"jumbo_length_cut_short", {0x13, 'V', 'Y', 'c', 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0}, 15, -EBADMSG,
	 0, 0, 0, false},
	{"jumbo_data_cut_short", {0x13, 'V', 'Y', 'c', 1, 2, 3, 4, 5, 6, 7, 8, 5, 0, 0, 0, 1, 2, 3, 4},
	 20, -EBADMSG, 0, 0, 0, false},
	{"jumbo_too_large", {0x13, 'V', 'Y', 'c', 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0x80}, 16, -EFBIG, 0,
	 0, 0, false},
	{"nothing_left", {0}, 0, 0, 0, 0, 0, false},
};
/* clang-format on */

static void decodes_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct event ev;
		ssize_t got;

		print_message("  %s\n", s->name);
		got = event_decode(&ev, s->bytes, s->bytes + s->size);
		assert_int_equal(got, s->want);
		if (got <= 0)
			continue;
		assert_int_equal(event_mcv(&ev), s->mcv);
		assert_int_equal(ev.clock, s->clock);
		assert_int_equal(ev.payload_size, s->payload_size);
		assert_int_equal(ev.jumbo, s->jumbo);
	}
}

static void encoding_is_undone_by_decoding(void **state)
{
	static const size_t sizes[] = {0, 2, 3, 4, 8, 12, 15, 16};
	uint8_t payload[EVENT_PAYLOAD_MAX], out[EVENT_SIZE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(0xa0 + i);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = event_encode(out, MCV('O', 'B', 'x'), -5, payload, sizes[i]);
		struct event ev;

		assert_int_equal(n, EVENT_HEADER_SIZE + sizes[i]);
		assert_int_equal(event_decode(&ev, out, out + n), (ssize_t)n);
		assert_int_equal(ev.clock, -5);
		assert_int_equal(ev.payload_size, sizes[i]);
		assert_memory_equal(ev.payload, payload, sizes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_samples),
		cmocka_unit_test(encoding_is_undone_by_decoding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
