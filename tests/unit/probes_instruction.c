/* SPDX-License-Identifier: MIT */
/* instruction: where a function is probed, and where it is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/instruction.h"

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define ENDBR	  0xf3, 0x0f, 0x1e, 0xfa
#define NOP5	  0x0f, 0x1f, 0x44, 0x00, 0x00

#if defined(__x86_64__)
static const struct {
	const char *name;
	const uint8_t *code;
	size_t bytes;
	unsigned argument;
	uint32_t shift;
	enum spot_kind kind;
} entries[] = {
	{"push rbp", CODE(0x55, 0x48, 0x89, 0xe5), 0, 0, SPOT_FAST},
	{"push r12", CODE(0x41, 0x54, 0x53), 0, 0, SPOT_FAST},
	{"nop", CODE(0x90, 0xc3), 0, 0, SPOT_FAST},
	{"jmp", CODE(0xe9, 0x10, 0x00, 0x00, 0x00), 0, 0, SPOT_FAST},
	{"endbr64, push", CODE(ENDBR, 0x55), 0, 4, SPOT_FAST},
	{"endbr64, push r15", CODE(ENDBR, 0x41, 0x57), 0, 4, SPOT_FAST},
	{"endbr64, nop5", CODE(ENDBR, NOP5, 0xc3), 0, 4, SPOT_NOP5},
	{"nop5", CODE(NOP5, 0xc3), 0, 0, SPOT_NOP5},
	{"endbr64, mov, push", CODE(ENDBR, 0x89, 0xf8, 0x53), 0, 6, SPOT_FAST},
	{"endbr64, mov r64, xor, push", CODE(ENDBR, 0x48, 0x89, 0xfb, 0x31, 0xc0, 0x53), 0, 9,
	 SPOT_FAST},
	{"lea of registers, push", CODE(0x48, 0x8d, 0x04, 0x37, 0x53), 0, 4, SPOT_FAST},
	{"test, then a jump", CODE(0x85, 0xff, 0x74, 0x05, 0xc3), 0, 2, SPOT_FAST},
	{"mov imm, push", CODE(0xb8, 1, 0, 0, 0, 0x53), 0, 5, SPOT_FAST},
	{"endbr64, sub rsp", CODE(ENDBR, 0x48, 0x83, 0xec, 0x08), 0, 0, SPOT_SLOW},
	{"sub rsp, push", CODE(0x48, 0x83, 0xec, 0x08, 0x53), 0, 0, SPOT_SLOW},
	{"lea rsp, push", CODE(0x48, 0x8d, 0x64, 0x24, 0xf8, 0x53), 0, 0, SPOT_SLOW},
	{"mov rsp, push", CODE(0x48, 0x89, 0xc4, 0x53), 0, 0, SPOT_SLOW},
	{"a load, push", CODE(0x48, 0x8b, 0x07, 0x53), 0, 3, SPOT_FAST},
	{"a load into rsp, push", CODE(0x48, 0x8b, 0x27, 0x53), 0, 0, SPOT_SLOW},
	{"endbr64, load, load from fs, test, je",
	 CODE(ENDBR, 0x48, 0x8b, 0x05, 1, 2, 3, 4, 0x64, 0x48, 0x8b, 0x78, 0x10, 0x48, 0x85, 0xff,
	      0x74, 0x0b),
	 0, 19, SPOT_FAST},
	{"a compare with memory, jne", CODE(0x83, 0x3f, 0x00, 0x75, 0x02), 0, 3, SPOT_FAST},
	{"an addition in memory, push", CODE(0x83, 0x07, 0x01, 0x53), 0, 0, SPOT_SLOW},
	{"a locked instruction", CODE(0xf0, 0x0f, 0xb1, 0x17, 0x75, 0x02), 0, 0, SPOT_REFUSED},
	{"locked, 16 bits", CODE(0x66, 0xf0, 0xff, 0x07), 0, 0, SPOT_REFUSED},
	{"a breakpoint", CODE(0xcc), 0, 0, SPOT_REFUSED},
	{"endbr64, locked", CODE(ENDBR, 0xf0, 0xff, 0x07, 0x53), 0, 0, SPOT_SLOW},
	{"a store, push", CODE(0x48, 0x89, 0x07, 0x53), 0, 0, SPOT_SLOW},
	{"mov, ret", CODE(0x89, 0xf8, 0xc3), 0, 0, SPOT_SLOW},
	{"mov, then nop5 in the middle", CODE(0x89, 0xf8, NOP5, 0xc3), 0, 0, SPOT_SLOW},
	{"neg, push", CODE(0xf7, 0xd8, 0x53), 0, 0, SPOT_SLOW},
	{"cut short", CODE(0x48, 0x89), 0, 0, SPOT_SLOW},
	{"nothing", NULL, 0, 0, 0, SPOT_SLOW},
	/* xor edi, edi writes the first argument, not the second */
	{"its argument is written", CODE(0x31, 0xff, 0x53), 1, 0, SPOT_SLOW},
	{"another argument is written", CODE(0x31, 0xff, 0x53), 2, 2, SPOT_FAST},
	{"r8 is written", CODE(0x45, 0x31, 0xc0, 0x53), 5, 0, SPOT_SLOW},
	/* endbr64; L: push rbx; pop rbx; dec edi; jne L: a loop is not a call */
	{"a loop to the place", CODE(ENDBR, 0x53, 0x5b, 0xff, 0xcf, 0x75, 0xfa, 0xc3), 0, 0,
	 SPOT_SLOW},
	/* the same loop by a long jump */
	{"a long loop to the place",
	 CODE(ENDBR, 0x53, 0x5b, 0x0f, 0x85, 0xf8, 0xff, 0xff, 0xff, 0xc3), 0, 0, SPOT_SLOW},
	/* a loop behind the place: endbr64; push; L: dec edi; jne L; pop; ret */
	{"a loop behind it", CODE(ENDBR, 0x53, 0xff, 0xcf, 0x75, 0xfc, 0x5b, 0xc3), 0, 4,
	 SPOT_FAST},
	/* endbr64; push; ...; jmp to the beginning is a call of itself */
	{"a jump to the beginning", CODE(ENDBR, 0x53, 0x5b, 0xeb, 0xf8), 0, 4, SPOT_FAST},
};
#endif

static void entries_are_probed_at_the_cheapest_place(void **state)
{
	(void)state;
#if defined(__x86_64__)
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		struct spot spot = instruction_entry(entries[i].code, entries[i].bytes,
						     1u << entries[i].argument & ~1u);

		if (spot.shift != entries[i].shift || spot.kind != entries[i].kind)
			fail_msg("%s: +%u, %d", entries[i].name, spot.shift, spot.kind);
	}
#else
	skip();
#endif
}

static void points_on_long_nops_are_unsafe(void **state)
{
	static const uint8_t nops[][5] = {
		{NOP5},
		{0x0f, 0x1f, 0x44, 0x00, 0x08},
		{0x66, 0x0f, 0x1f, 0x40, 0x00},
		{0x66, 0x66, 0x66, 0x66, 0x90},
		{0x3e, 0x8d, 0x74, 0x26, 0x00},
	};

	(void)state;
#if defined(__x86_64__)
	for (size_t i = 0; i < sizeof(nops) / sizeof(nops[0]); i++)
		assert_int_equal(instruction_point(nops[i], 5).kind, SPOT_UNSAFE);
	assert_int_equal(instruction_point(CODE(0x90)).kind, SPOT_FAST);
	assert_int_equal(instruction_point(CODE(0x0f, 0x1f, 0x00)).kind, SPOT_SLOW);
#else
	(void)nops;
	skip();
#endif
}

static void exits_are_all_found(void **state)
{
	/* test edi, edi; je +1; ret; jmp out; ret 8; jmp back */
	const uint8_t code[] = {0x85, 0xff, 0x74, 0x01, 0xc3, 0xe9, 0x00, 0x10,
				0x00, 0x00, 0xc2, 0x08, 0x00, 0xeb, 0xf1};
	struct exit_spot *exits;

	(void)state;
#if defined(__x86_64__)
	assert_int_equal(instruction_exits(code, sizeof(code), &exits), 3);
	assert_int_equal(exits[0].shift, 4);
	assert_false(exits[0].is_jump);
	assert_int_equal(exits[1].shift, 5);
	assert_true(exits[1].is_jump);
	assert_int_equal(exits[2].shift, 10);
	free(exits);
	/* never leaves; has something that is no instruction; is cut short */
	assert_int_equal(instruction_exits(CODE(0xeb, 0xfe), &exits), -ENOEXEC);
	assert_int_equal(instruction_exits(CODE(0xc3, 0x06, 0xc3), &exits), -ENOEXEC);
	assert_int_equal(instruction_exits(CODE(0xc3, 0xe9, 0x00), &exits), -ENOEXEC);
	assert_null(exits);
#else
	(void)code;
	(void)exits;
	skip();
#endif
}

/* Any bytes at all: no byte beyond the end is looked at (sanitized builds), and places are inside.
 */
static void anything_is_survived(void **state)
{
	uint64_t random = 88172645463325252ull;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		size_t bytes = i % 64;
		uint8_t *code = malloc(bytes ? bytes : 1);
		struct exit_spot *exits;
		struct spot spot;
		int n;

		for (size_t k = 0; k < bytes; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			code[k] = (uint8_t)random;
		}
		if (bytes > 4 && i % 2)
			memcpy(code, "\xf3\x0f\x1e\xfa", 4);
		spot = instruction_entry(code, bytes, 1u << i % 7 & ~1u);
		assert_true(!spot.shift || spot.shift < bytes);
		assert_int_not_equal(spot.kind, SPOT_UNSAFE);
		n = instruction_exits(code, bytes, &exits);
		for (int e = 0; e < n; e++)
			assert_true(exits[e].shift < bytes);
		free(exits);
		free(code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_probed_at_the_cheapest_place),
		cmocka_unit_test(points_on_long_nops_are_unsafe),
		cmocka_unit_test(exits_are_all_found),
		cmocka_unit_test(anything_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
