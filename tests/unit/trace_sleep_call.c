/* SPDX-License-Identifier: MIT */
/*
 * sleep_call: payloads of each size, names of calls on each machine, and descriptors that were
 * another file before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/states/sleep_call.h"

#define S 1000000000ll

static struct sleep_call of(uint32_t size)
{
	static const uint8_t payload[16] = {1, 0, 0, 0, 0, 0, 0xca, 0, 0x10};
	struct event ev = {.model = 'O',
			   .category = 'H',
			   .value = 'p',
			   .payload = payload,
			   .payload_size = size};

	return sleep_call_of(&ev);
}

static void the_size_of_the_payload_decides(void **state)
{
	(void)state;
	assert_int_equal(of(6).call, CALL_UNKNOWN);
	assert_int_equal(of(8).call, 202);
	assert_false(of(8).with_object);
	assert_int_equal(of(14).call, CALL_UNKNOWN); /* the length of an unknown time */
	assert_int_equal(of(16).call, 202);
	assert_int_equal(of(16).object, 0x10);
}

static int32_t owner_of(char value, uint32_t size)
{
	static const uint8_t payload[16] = {9, 0, 0, 0, 7};
	struct event ev = {.model = value == 'w' ? 'O' : 'K',
			   .category = value == 'w' ? 'H' : 'C',
			   .value = (uint8_t)value,
			   .payload = payload,
			   .payload_size = size};

	return sleep_lock_owner(&ev);
}

static void the_end_of_a_sleep_has_the_owner_of_its_lock(void **state)
{
	(void)state;
	assert_int_equal(owner_of('w', 4), LOCK_OWNER_UNKNOWN);
	assert_int_equal(owner_of('w', 8), 7);
	assert_int_equal(owner_of('w', 12), LOCK_OWNER_UNKNOWN); /* the length of an unknown time */
	assert_int_equal(owner_of('w', 16), 7);
	assert_int_equal(owner_of('I', 8), 7);
	assert_int_equal(owner_of('O', 8), LOCK_OWNER_UNKNOWN);
}

static void assert_text(uint16_t call, bool with_object, uint64_t object, enum call_machine machine,
			const struct owner *owner, bool exact, const char *wanted)
{
	struct sleep_call c = {.call = call, .with_object = with_object, .object = object};
	char *text = sleep_call_text(&c, machine, owner, 5 * S, 5 * S, exact);

	assert_string_equal(text, wanted);
	free(text);
}

static void calls_have_the_names_of_their_machine(void **state)
{
	(void)state;
	assert_int_equal(call_machine("x86_64"), CALL_X86_64);
	assert_int_equal(call_machine(NULL), CALL_OTHER_MACHINE);
	assert_text(202, true, 0x10, CALL_X86_64, NULL, true, "futex(0x10)");
	assert_text(202, true, 0x10, CALL_X86_64, NULL, false, "futex");
	assert_text(98, false, 0, CALL_ARM64, NULL, false, "futex");
	assert_text(CALL_32BIT | 29, false, 0, CALL_X86_64, NULL, false, "32-bit pause");
	assert_text(CALL_32BIT | 29, false, 0, CALL_ARM64, NULL, false, "32-bit call 29");
	assert_text(61, true, 0xffffffff, CALL_X86_64, NULL, true, "wait4(-1)");
	assert_text(CALL_NONE, true, 0x401000, CALL_X86_64, NULL, true, "fault(0x401000)");
	assert_text(1023, false, 0, CALL_X86_64, NULL, false, "call 1023");
	assert_text(5000, false, 0, CALL_X86_64, NULL, false, "call 5000");
	assert_text(202, false, 0, CALL_OTHER_MACHINE, NULL, false, "call 202");
	assert_true(call_restarts(CALL_X86_64, 219));
	assert_true(call_restarts(CALL_X86_64, CALL_32BIT | 0));
	assert_false(call_restarts(CALL_X86_64, 0));
}

static void a_descriptor_is_named_only_where_its_readings_agree(void **state)
{
	char names[4][24] = {"/a", "/b", "anon_inode:[eventfd]", "/x\033[31m"};
	struct fd_name fds[] = {
		{1 * S, 2 * S, 3, names[0]},
		{4 * S, 4 * S, 3, names[1]},
		{4 * S, 6 * S, 4, names[2]},
		{5 * S + 1, 5 * S + 1, 5, names[3]},
	};
	const struct owner owner = {.fds = fds, .nfds = 4};

	(void)state;
	assert_int_equal(sleep_call_descriptor(&owner, 3, 1 * S, 1 * S), 0);
	assert_int_equal(sleep_call_descriptor(&owner, 3, 3 * S, 3 * S), -1); /* /a or /b */
	assert_int_equal(sleep_call_descriptor(&owner, 3, 5 * S, 5 * S), 1);
	assert_int_equal(sleep_call_descriptor(&owner, 3, 7 * S, 7 * S), -1); /* too long ago */
	assert_int_equal(sleep_call_descriptor(&owner, 9, 5 * S, 5 * S), -1);
	assert_int_equal(sleep_call_descriptor(&owner, 3, 3 * S, 5 * S), 1); /* read meanwhile */
	assert_int_equal(sleep_call_descriptor(&owner, 4, 0, 3 * S), -1);
	assert_int_equal(sleep_call_descriptor(&owner, 4, 0, 4 * S), 2);
	assert_text(0, true, 3, CALL_X86_64, &owner, false, "read(3 = /b)");
	assert_text(0, true, 4, CALL_X86_64, &owner, false, "read(4 = eventfd)");
	assert_text(0, true, 5, CALL_X86_64, &owner, false, "read(5 = /x\\x1b[31m)");
	assert_text(0, true, 9, CALL_X86_64, &owner, false, "read(9)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_size_of_the_payload_decides),
		cmocka_unit_test(the_end_of_a_sleep_has_the_owner_of_its_lock),
		cmocka_unit_test(calls_have_the_names_of_their_machine),
		cmocka_unit_test(a_descriptor_is_named_only_where_its_readings_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
