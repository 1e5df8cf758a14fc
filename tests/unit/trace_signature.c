/* SPDX-License-Identifier: MIT */
/* signature: declarations of events, and the arguments of events read by them. */
#include "trace/catalog/signature.h"
#include "trace_kit.h"

static const struct {
	const char *text;
	int want;
	bool jumbo;
	unsigned nargs, required;
	uint32_t min_size;
} texts[] = {
	{"OHe", 0, false, 0, 0, 0},
	{"OB.", 0, false, 0, 0, 0},
	{"OM[(i64 value, i32 type)", 0, false, 2, 2, 12},
	{"OAs(i32 cpu)", 0, false, 1, 1, 4},
	{"OHx(i32 cpu[, i32 tid, u64 tag])", 0, false, 3, 1, 4},
	{"OHp([u16 why, i32 next])", 0, false, 2, 0, 0},
	{"VYc+(u32 typeid, str label)", 0, true, 2, 2, 4},
	{"VWC+(i64 values...)", 0, true, 1, 1, 0},
	{"XYZ+", 0, true, 0, 0, 0},
	{"XYZ(u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, i64 h)", 0, false, 8, 8, 30},
	{"XYZ( u8  a , u8 b )", 0, false, 2, 2, 2},
	{"XYZ(u8 a[,str b])", 0, false, 2, 1, 1},
	{"XYZ(u8 a_name_15_long)", 0, false, 1, 1, 1},

	{"", -EINVAL, false, 0, 0, 0},
	{"OH", -EINVAL, false, 0, 0, 0},
	{"OH (i32 a)", -EINVAL, false, 0, 0, 0},
	{"OHxx", -EINVAL, false, 0, 0, 0},
	{"OHx()", -EINVAL, false, 0, 0, 0},
	{"OHx(", -EINVAL, false, 0, 0, 0},
	{"OHx(i32)", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu) ", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu,)", -EINVAL, false, 0, 0, 0},
	{"OHx(,i32 cpu)", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu i32 tid)", -EINVAL, false, 0, 0, 0},
	{"OHx(i33 cpu)", -EINVAL, false, 0, 0, 0},
	{"OHx(float cpu)", -EINVAL, false, 0, 0, 0},
	{"OHx(str name, i32 cpu)", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 values..., i32 cpu)", -EINVAL, false, 0, 0, 0},
	{"OHx(str names...)", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu, i32 cpu)", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 a_name_of_16_cha)", -EINVAL, false, 0, 0, 0},
	{"OHx(u8 a,u8 b,u8 c,u8 d,u8 e,u8 f,u8 g,u8 h,u8 i)", -EINVAL, false, 0, 0, 0},
	{"OHx([i32 cpu)", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu])", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu[i32 tid])", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu,[i32 tid])", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu[, i32 tid][, i32 x])", -EINVAL, false, 0, 0, 0},
	{"OHx(i32 cpu[, i32 tid], i32 x)", -EINVAL, false, 0, 0, 0},
	{"OHx+i32 cpu", -EINVAL, false, 0, 0, 0},
};

static void declarations_are_parsed_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct signature sig;

		print_message("  '%s'\n", texts[i].text);
		assert_int_equal(signature_parse(&sig, texts[i].text), texts[i].want);
		if (texts[i].want < 0)
			continue;
		assert_int_equal(sig.mcv,
				 MCV(texts[i].text[0], texts[i].text[1], texts[i].text[2]));
		assert_int_equal(sig.jumbo, texts[i].jumbo);
		assert_int_equal(sig.nargs, texts[i].nargs);
		assert_int_equal(sig.required, texts[i].required);
		assert_int_equal(sig.min_size, texts[i].min_size);
	}
}

static void every_type_is_read_with_its_sign(void **state)
{
	static const uint8_t bytes[30] = {0xff, 0xff, 0xfe, 0xff, 0xfe, 0xff, 0xfd, 0xff,
					  0xff, 0xff, 0xfd, 0xff, 0xff, 0xff, 0xfc, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfc, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const int64_t want[] = {0xff, -1, 0xfffe, -2, 0xfffffffd, -3, -4, -4};
	struct event ev = {.payload = bytes, .payload_size = sizeof(bytes)};
	struct signature sig;
	int64_t value = 0;

	(void)state;
	assert_int_equal(signature_parse(&sig, "XYZ(u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, "
					       "i64 h)"),
			 0);
	for (unsigned i = 0; i < sig.nargs; i++) {
		uint32_t end = sig.args[i].offset + sig.args[i].size;

		ev.payload_size = end;
		assert_true(signature_nth(&sig, &ev, i, 0, &value));
		assert_true(value == want[i]);
		assert_int_equal(signature_count(&sig, &ev, i), 1);
		/* one byte less is not enough, and the value stays as it was */
		ev.payload_size = end - 1;
		value = 42;
		assert_false(signature_nth(&sig, &ev, i, 0, &value));
		assert_true(value == 42);
		assert_int_equal(signature_count(&sig, &ev, i), 0);
	}
	ev.payload_size = sizeof(bytes);
	assert_false(signature_nth(&sig, &ev, 8, 0, &value));
	assert_false(signature_nth(&sig, &ev, UINT32_MAX, 0, &value));
}

static void jumbo_and_normal_are_not_taken_for_each_other(void **state)
{
	static const uint8_t bytes[8] = {1, 0, 0, 0, 'x', 0, 0, 0};
	struct event ev = {.payload = bytes, .payload_size = sizeof(bytes), .jumbo = false};
	struct signature sig;
	int64_t value;
	size_t len;

	(void)state;
	assert_int_equal(signature_parse(&sig, "VYc+(u32 typeid, str label)"), 0);
	assert_false(signature_nth(&sig, &ev, 0, 0, &value));
	assert_null(signature_str(&sig, &ev, 1, &len));
	ev.jumbo = true;
	assert_true(signature_nth(&sig, &ev, 0, 0, &value));
	assert_string_equal(signature_str(&sig, &ev, 1, &len), "x");
	assert_int_equal(len, 1);
}

static void a_string_must_end_inside_the_event(void **state)
{
	/* the bytes after the event have a NUL that must not be found */
	static const uint8_t bytes[] = {1, 0, 0, 0, 'l', 'a', 'b', 0, 'x', 0};
	struct event ev = {.payload = bytes, .jumbo = true};
	struct signature sig;
	size_t len;

	(void)state;
	assert_int_equal(signature_parse(&sig, "VYc+(u32 typeid, str label)"), 0);
	for (uint32_t size = 0; size <= 7; size++) {
		ev.payload_size = size;
		assert_null(signature_str(&sig, &ev, 1, &len));
		assert_int_equal(signature_count(&sig, &ev, 1), 0);
	}
	ev.payload_size = 8;
	assert_string_equal(signature_str(&sig, &ev, 1, &len), "lab");
	assert_int_equal(len, 3);
	assert_int_equal(signature_count(&sig, &ev, 1), 1);
	assert_null(signature_str(&sig, &ev, 0, &len)); /* not a string */
	assert_null(signature_str(&sig, &ev, 2, &len));
}

static void any_number_of_values(void **state)
{
	uint8_t bytes[28];
	struct event ev = {.payload = bytes, .jumbo = true};
	struct signature sig;
	int64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i / 8 + 1);
	assert_int_equal(signature_parse(&sig, "VWC+(i64 values...)"), 0);
	for (uint32_t size = 0; size <= sizeof(bytes); size++) {
		ev.payload_size = size;
		assert_int_equal(signature_count(&sig, &ev, 0), size / 8);
		assert_int_equal(signature_nth(&sig, &ev, 0, size / 8, &value), false);
		if (size >= 8) {
			assert_true(signature_nth(&sig, &ev, 0, size / 8 - 1, &value));
			assert_true(value == (int64_t)(0x0101010101010101 * (size / 8)));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declarations_are_parsed_or_refused),
		cmocka_unit_test(every_type_is_read_with_its_sign),
		cmocka_unit_test(jumbo_and_normal_are_not_taken_for_each_other),
		cmocka_unit_test(a_string_must_end_inside_the_event),
		cmocka_unit_test(any_number_of_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
