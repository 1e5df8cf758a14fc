/* SPDX-License-Identifier: MIT */
/*
 * kernel_symbols: names of addresses, and addresses that have none: behind the last function of a
 * module, without rights, in a damaged file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/host/kernel_symbols.h"

static struct kernel_symbols *read_text(const char *text)
{
	char path[] = "/tmp/kallsyms.XXXXXX";
	struct kernel_symbols *symbols;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	symbols = kernel_symbols_read(path);
	unlink(path);
	return symbols;
}

static void assert_name(const struct kernel_symbols *symbols, uint64_t address, const char *wanted)
{
	char text[KERNEL_SYMBOL_MAX];

	assert_int_equal(kernel_symbols_text(symbols, address, text, sizeof(text)), strlen(wanted));
	assert_string_equal(text, wanted);
}

static void an_address_has_the_function_before_it(void **state)
{
	struct kernel_symbols *symbols = read_text("ffff2000 T second\n"
						   "ffff1000 T first\n"
						   "ffff1000 t first_alias\n"
						   "ffff2800 D data\n"
						   "ffff3000 t last\n"
						   "ffff8000 t in_module\t[mod]\n"
						   "ffff9000 t in_module_2\t[mod]\n"
						   "fffff000 t other;\t[mod2]\n");

	(void)state;
	assert_non_null(symbols);
	assert_name(symbols, 0xffff1001, "first+0x1");
	/* an address is one of return: behind a call at the end of a function */
	assert_name(symbols, 0xffff2000, "first+0x1000");
	assert_name(symbols, 0xffff2fff, "second+0xfff");
	assert_name(symbols, 0xffff3010, "last+0x10");
	assert_name(symbols, 0xffff4002, "[unknown]"); /* no function of the kernel is behind it */
	assert_name(symbols, 0xffff8ffe, "in_module+0xffe[mod]");
	assert_name(symbols, 0xffff9ffe, "in_module_2+0xffe[mod]");
	assert_name(symbols, 0xffffa002, "[unknown]");
	assert_name(symbols, 0xfffff002, "other?+0x2[mod2]");
	assert_name(symbols, 0xffff1000, "[unknown]");
	assert_name(symbols, 0, "[unknown]");
	kernel_symbols_free(symbols);
}

static void without_rights_there_are_none(void **state)
{
	(void)state;
	assert_null(read_text("0000000000000000 T first\n0000000000000000 T second\n"));
	assert_null(read_text(""));
	assert_null(read_text("nonsense\n\nffff1000\nffff1000 T\n"));
	assert_null(kernel_symbols_read("/nonexistent"));
	assert_name(NULL, 0xffff1001, "0xffff1001");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_the_function_before_it),
		cmocka_unit_test(without_rights_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
