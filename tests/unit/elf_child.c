/* SPDX-License-Identifier: MIT */
/* elf_child: the result for each way in which the child may end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/elf/elf_child.h"

static void answer_yes(struct bytes *answer, Elf *elf, void *arg)
{
	(void)elf, (void)arg;
	elf_answer_put_string(answer, "yes");
}

static void lack_memory(struct bytes *answer, Elf *elf, void *arg)
{
	(void)elf, (void)arg;
	answer->failed = true;
}

static void exit_with(struct bytes *answer, Elf *elf, void *arg)
{
	answer_yes(answer, elf, arg);
	_exit(*(int *)arg);
}

static void crash(struct bytes *answer, Elf *elf, void *arg)
{
	answer_yes(answer, elf, arg);
	kill(getpid(), SIGKILL);
}

static int run(elf_child_work work, int status, const char *expected)
{
	struct elf_answer answer;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int err = elf_child_run(fd, work, &status, &answer);

	if (expected)
		assert_string_equal(elf_answer_get_string(&answer), expected);
	else
		assert_null(answer.bytes.data);
	elf_answer_free(&answer);
	close(fd);
	return err;
}

static void only_an_answer_is_one(void **state)
{
	(void)state;
	assert_int_equal(run(answer_yes, 0, "yes"), 0);
	assert_int_equal(run(lack_memory, 0, NULL), -ENOMEM);
	assert_int_equal(run(crash, 0, NULL), -ENOEXEC);
	/* a library or a sanitizer calls exit() */
	assert_int_equal(run(exit_with, 0, NULL), -ENOEXEC);
	assert_int_equal(run(exit_with, 1, NULL), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_an_answer_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
