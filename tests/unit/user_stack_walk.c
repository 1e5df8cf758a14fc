/* SPDX-License-Identifier: MIT */
/*
 * stack_walk: the stack of this very program, walked by the child: all functions in their order,
 * cut where the copy ends, an address without a mapping, a child that is lost, files that are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/elf/elf_file.h"
#include "user/elf/stack_walk.h"
#include "user/host/proc_maps.h"

#if defined(__x86_64__)

static struct stack_walk *walk;
static struct walk_mapping mappings[64];
static size_t nmappings;
static uint64_t registers[17];
static uint8_t copy[65536];
static struct walk_stack stack;
static char text[STACK_WALK_TEXT];
static uint32_t copied;
static int memory; /* of this process */

/* Gives the child all files of this process, as process 3. */
static void give_files(void)
{
	struct mappings maps;
	uint32_t files = 0;

	nmappings = 0;
	assert_int_equal(mappings_read_all(&maps, "/proc", (uint32_t)getpid()), 0);
	for (size_t i = 0; i < maps.count && nmappings < 64; i++) {
		const struct mapping *m = &maps.list[i];
		struct walk_mapping *to = &mappings[nmappings++];
		struct elf_file file;
		uint64_t address;
		int err;

		*to = (struct walk_mapping){m->start, m->end, 0, STACK_WALK_NO_FILE, 0};
		if (m->path[0] != '/' || elf_file_open(&file, "", m->path, &err))
			continue;
		if (elf_file_address(&file, m->offset, PF_X, &address)) {
			to->bias = m->start - address;
			to->file = files++;
			assert_int_equal(
				stack_walk_file(walk, to->file, file.fd, strrchr(m->path, '/') + 1),
				0);
		}
		elf_file_close(&file);
	}
	mappings_free(&maps);
	assert_int_equal(stack_walk_process(walk, 3, mappings, nmappings), 0);
}

/* The registers and the stack of the caller, as they are here. */
static __attribute__((noinline)) void take(void)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
	ucontext_t here;
	uint64_t sp;
	ssize_t n;

	assert_int_equal(getcontext(&here), 0);
	for (size_t i = 0; i < 17; i++)
		registers[i] = (uint64_t)here.uc_mcontext.gregs[order[i]];
	sp = registers[7];
	stack = (struct walk_stack){
		.from = sp - 128, .nregisters = 17, .registers = registers, .stack = copy};
	n = pread(memory, copy, 16384, (off_t)stack.from); /* up to its end */
	assert_true(n > 512);
	copied = stack.bytes = (uint32_t)n;
}

static __attribute__((noinline)) void inner(int n)
{
	if (n)
		inner(n - 1);
	else
		take();
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void stack_walk_outer(void);
void stack_walk_outer(void)
{
	inner(4);
	__asm__ volatile("" ::: "memory");
}

/* The frames of this file in `text`, by their first letters: "tiiiiis". */
static void assert_own(const char *first)
{
	char got[64] = "";
	size_t n = 0;

	for (char *at = text; at && *at && n < 63;
	     at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
		if (!strncmp(at, "take@", 5) || !strncmp(at, "inner@", 6) ||
		    !strncmp(at, "stack_walk_outer@", 17))
			got[n++] = *at;
	}
	if (strcmp(got, first) != 0)
		fail_msg("%s: %s", got, text);
}

static void all_functions_are_there_in_their_order(void **state)
{
	int n;

	(void)state;
	give_files();
	stack_walk_outer();
	n = stack_walk_frames(walk, 3, &stack, text);
	assert_int_equal(n, strlen(text));
	assert_own("tiiiiis");
	assert_non_null(strstr(text, ";main@"));
	assert_non_null(strstr(text, ";_start@"));
	assert_null(strstr(text, "[cut]"));
	assert_non_null(strstr(text, "@user_stack_walk.c:"));
}

static void a_short_copy_is_cut_and_marked(void **state)
{
	(void)state;
	stack.bytes = 0;
	assert_true(stack_walk_frames(walk, 3, &stack, text) > 0);
	assert_own("t");
	assert_non_null(strstr(text, ";[cut]"));
	stack.bytes = 4;
	assert_true(stack_walk_frames(walk, 3, &stack, text) > 0);
	assert_own("t");
	stack.bytes = copied;
}

static void an_address_without_a_mapping_ends_the_stack(void **state)
{
	uint64_t ip = registers[16];

	(void)state;
	registers[16] = 16;
	assert_int_equal(stack_walk_frames(walk, 3, &stack, text), -EAGAIN);
	assert_string_equal(text, "");
	registers[16] = ip;
	/* garbage on the stack: no address that is in no mapping is shown */
	memset(copy, 0x5a, sizeof(copy));
	assert_int_equal(stack_walk_frames(walk, 3, &stack, text), -EAGAIN);
	assert_own("t");
	assert_non_null(strstr(text, ";[cut]"));
	stack_walk_outer();
	/* a process that was not given */
	assert_true(stack_walk_frames(walk, 5, &stack, text) <= 0);
}

/* A file of 64 KiB that only begins as an ELF file. */
static int damaged(void)
{
	char path[] = "/tmp/stack_walk.XXXXXX";
	int fd = mkstemp(path), own = open("/proc/self/exe", O_RDONLY);
	static char bytes[65536];

	assert_true(fd >= 0 && own >= 0);
	unlink(path);
	assert_int_equal(read(own, bytes, sizeof(bytes)), sizeof(bytes));
	for (size_t i = 64; i < sizeof(bytes); i += 3)
		bytes[i] = (char)(i * 7);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(own);
	return fd;
}

static void a_damaged_file_ends_nothing_else(void **state)
{
	uint32_t file = STACK_WALK_FILES - 1;
	struct walk_mapping one;
	int fd = damaged();

	(void)state;
	stack_walk_outer();
	for (size_t i = 0; i < nmappings; i++)
		if (registers[16] >= mappings[i].start && registers[16] < mappings[i].end)
			one = mappings[i];
	one.file = file;
	assert_int_equal(stack_walk_file(walk, file, fd, "damaged\033[2J"), 0);
	assert_int_equal(stack_walk_process(walk, 7, &one, 1), 0);
	if (stack_walk_frames(walk, 7, &stack, text) > 0)
		assert_null(strchr(text, '\033'));
	close(fd);
	give_files();
	assert_true(stack_walk_frames(walk, 3, &stack, text) > 0);
	assert_own("tiiiiis");
}

/* A request that the child does not understand ends it. */
static void a_lost_child_is_replaced(void **state)
{
	unsigned generation = stack_walk_generation(walk);
	struct walk_stack wrong = stack;

	(void)state;
	wrong.nregisters = 65;
	wrong.registers = (const uint64_t *)copy;
	assert_int_equal(stack_walk_frames(walk, 3, &wrong, text), -ENOEXEC);
	assert_int_equal(stack_walk_generation(walk), generation + 1);
	/* the new one knows nothing */
	assert_true(stack_walk_frames(walk, 3, &stack, text) <= 0);
	give_files();
	assert_true(stack_walk_frames(walk, 3, &stack, text) > 0);
	assert_own("tiiiiis");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_functions_are_there_in_their_order),
		cmocka_unit_test(a_short_copy_is_cut_and_marked),
		cmocka_unit_test(an_address_without_a_mapping_ends_the_stack),
		cmocka_unit_test(a_damaged_file_ends_nothing_else),
		cmocka_unit_test(a_lost_child_is_replaced),
	};
	int failed;

	walk = stack_walk_new();
	memory = open("/proc/self/mem", O_RDONLY);
	if (!walk || memory < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	stack_walk_free(walk);
	return failed;
}

#else
int main(void)
{
	puts("the registers of this machine are not known to the test");
	return 77;
}
#endif
