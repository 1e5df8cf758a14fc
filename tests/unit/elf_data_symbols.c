/* SPDX-License-Identifier: MIT */
/* data_symbols: the variables of this program, and of damaged copies of it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/elf/data_symbols.h"

struct {
	char bytes[48];
} variable_with_a_name = {"filled"};
long variable_of_zeros[3];
const long constant_with_a_name = 5;

static void open_this(struct elf_file *file)
{
	int err = 0;

	assert_null(elf_file_open(file, "", "/proc/self/exe", &err));
}

/* Where this program is: the distance of addresses in memory from those in the file. */
static uint64_t bias_of(const struct data_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (!strcmp(symbols->list[i].name, "variable_of_zeros"))
			return (uint64_t)(uintptr_t)variable_of_zeros - symbols->list[i].address;
	fail();
	return 0;
}

static const char *name_at(const struct data_symbols *symbols, uint64_t bias, const void *at)
{
	const struct data_symbol *symbol = data_symbols_at(symbols, (uint64_t)(uintptr_t)at - bias);

	return symbol ? symbol->name : "";
}

static void variables_are_found_by_each_of_their_bytes(void **state)
{
	struct data_symbols symbols;
	struct elf_file file;
	uint64_t bias;

	(void)state;
	open_this(&file);
	assert_int_equal(data_symbols_read(&symbols, &file, "", "/proc/self/exe"), 0);
	bias = bias_of(&symbols);
	assert_string_equal(name_at(&symbols, bias, &variable_with_a_name), "variable_with_a_name");
	assert_string_equal(name_at(&symbols, bias, &variable_with_a_name.bytes[47]),
			    "variable_with_a_name");
	assert_string_not_equal(name_at(&symbols, bias, &variable_with_a_name + 1),
				"variable_with_a_name");
	assert_string_equal(name_at(&symbols, bias, &variable_of_zeros[2]), "variable_of_zeros");
	assert_string_equal(name_at(&symbols, bias, &constant_with_a_name), "");
	assert_string_equal(name_at(&symbols, bias, (void *)16), "");
	for (size_t i = 1; i < symbols.count; i++)
		assert_true(symbols.list[i - 1].address <= symbols.list[i].address);
	data_symbols_free(&symbols);
	elf_file_close(&file);
}

static void damaged_files_do_no_harm(void **state)
{
	char path[] = "/tmp/ovni-elf.XXXXXX", *bytes;
	struct data_symbols symbols;
	struct elf_file file;
	int fd = mkstemp(path), read_some = 0, err;

	(void)state;
	assert_true(fd >= 0);
	open_this(&file);
	bytes = elf_file_read(&file, 0, file.size);
	assert_non_null(bytes);
	srand(1);
	for (int round = 0; round < 60; round++) {
		struct elf_file damaged;

		assert_int_equal(pwrite(fd, bytes, file.size, 0), (ssize_t)file.size);
		for (int i = 0; i < 400; i++) {
			/* the section headers are at the end */
			uint64_t at = file.size - 1 - (uint64_t)rand() % (i % 2 ? 4096 : file.size);
			char byte = (char)rand();

			if (at >= 64)
				assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		}
		if (round % 3 == 2)
			assert_int_equal(ftruncate(fd, (off_t)(file.size / 4 * 3)), 0);
		if (elf_file_open(&damaged, "", path, &err))
			continue;
		err = data_symbols_read(&symbols, &damaged, "", path);
		assert_true(!err || err == -ENOEXEC || err == -ENOMEM);
		read_some += !err;
		for (uint64_t at = 0; !err && at < file.size; at += 1000)
			(void)data_symbols_at(&symbols, at);
		assert_true(err || symbols.count <= DATA_SYMBOLS_MAX);
		data_symbols_free(&symbols);
		elf_file_close(&damaged);
	}
	assert_true(read_some > 10);
	free(bytes);
	elf_file_close(&file);
	close(fd);
	unlink(path);
}

/* The layout of lld: the page of the file at 0x61000 is the last one of the read-only relocations
 * and the first one of the data. Of GNU ld: one segment, whose mapping is split. */
static void a_mapping_belongs_to_the_segment_that_it_begins_with(void **state)
{
	Elf64_Phdr two[] = {
		{PT_LOAD, PF_R | PF_X, 0x173e0, 0x183e0, 0, 0x46e90, 0x46e90, 0x1000},
		{PT_LOAD, PF_R | PF_W, 0x5e270, 0x60270, 0, 0x2e28, 0x3d90, 0x1000},
		{PT_LOAD, PF_R | PF_W, 0x61098, 0x64098, 0, 0x9c8, 0xaaa, 0x1000},
	};
	Elf64_Phdr one[] = {{PT_LOAD, PF_R | PF_W, 0x2d30, 0x3d30, 0, 0x1000, 0x5000, 0x1000}};
	const struct elf_file lld = {.fd = -1, .segments = two, .nsegments = 3};
	const struct elf_file ld = {.fd = -1, .segments = one, .nsegments = 1};
	uint64_t address = 0;

	(void)state;
	assert_true(elf_file_mapped(&lld, 0x61000, 0xa68, &address));
	assert_int_equal(address, 0x64a68);
	assert_true(elf_file_mapped(&lld, 0x5e000, 0x300, &address));
	assert_int_equal(address, 0x60300);
	assert_false(elf_file_mapped(&lld, 0x17000, 0x400, &address)); /* code */
	assert_false(elf_file_mapped(&lld, 0x61000, 0xb42, &address)); /* behind the data */
	assert_false(elf_file_mapped(&lld, 0x5e000, 0, &address));     /* before it */
	assert_true(elf_file_mapped(&ld, 0x3000, 0x10, &address));
	assert_int_equal(address, 0x4010);
	assert_true(elf_file_mapped(&ld, 0x3000, 0x3000, &address)); /* .bss */
	assert_int_equal(address, 0x7000);
	assert_false(elf_file_mapped(&ld, 0x3d30, 0, &address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_are_found_by_each_of_their_bytes),
		cmocka_unit_test(damaged_files_do_no_harm),
		cmocka_unit_test(a_mapping_belongs_to_the_segment_that_it_begins_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
