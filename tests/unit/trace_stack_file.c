/* SPDX-License-Identifier: MIT */
/*
 * stack_file: lines and frames of the file, each mistake in it, and a part of it written elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/base/log.h"
#include "trace/ovni/stack_file.h"

static char dir[] = "/tmp/stack_file.XXXXXX";
static int dirfd_;
static char message[512];

static void hear(void *to, enum log_level level, const char *text)
{
	(void)to;
	(void)level;
	snprintf(message, sizeof(message), "%s", text);
}

static void put(const char *text, size_t size)
{
	int fd = openat(dirfd_, STACK_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

static int load(struct stack_table *table, const char *text)
{
	put(text, strlen(text));
	return stack_table_load(table, dirfd_, "trace");
}

static void lines_have_numbers_and_frames(void **state)
{
	struct stack_table table;
	const char *frame;
	size_t at = 0, len;
	char *text;

	(void)state;
	assert_int_equal(load(&table, STACK_FILE_HEAD
			      "1\tb+0x1;a_x+0x20[mod]\n7\t0xffff1;[cut]\t1\tmore\n9\tx"),
			 0);
	assert_int_equal(table.n, 2);
	assert_true(table.torn);
	assert_null(stack_table_find(&table, 0));
	assert_null(stack_table_find(&table, 9));
	assert_null(stack_table_find(&table, UINT32_MAX));
	assert_ptr_equal(stack_table_find(&table, 7), &table.lines[1]);
	assert_ptr_equal(stack_line_waker(&table, &table.lines[1]), &table.lines[0]);
	assert_null(stack_line_waker(&table, &table.lines[0]));
	assert_null(stack_line_waker(&table, NULL));
	len = stack_line_frame(&table.lines[0], &at, &frame);
	assert_int_equal(len, 5);
	assert_int_equal(stack_frame_name(frame, len), 1);
	len = stack_line_frame(&table.lines[0], &at, &frame);
	assert_int_equal(len, 13);
	assert_int_equal(stack_frame_name(frame, len), 3);
	assert_int_equal(stack_line_frame(&table.lines[0], &at, &frame), 0);
	text = stack_line_text(&table.lines[0], 3);
	assert_string_equal(text, "b <- a_x");
	free(text);
	text = stack_line_text(&table.lines[1], 1);
	assert_string_equal(text, "0xffff1");
	free(text);
	stack_table_free(&table);
}

static void assert_text(const struct stack_table *table, uint32_t number, const char *text)
{
	char *got = stack_line_text(stack_table_find(table, number), 9);

	assert_string_equal(got, text);
	free(got);
}

/* The frames of user code come behind those of the kernel; the later line of a number holds. */
static void a_line_can_be_that_of_another_number(void **state)
{
	struct stack_table table;
	const char *frame;
	size_t at = 0, len;

	(void)state;
	assert_int_equal(load(&table,
			      STACK_FILE_HEAD "1\tsleep+0x1;entry+0x2\n2\t=1\n5\t=1\n"
					      "5\t=1;nap@a+0x2@a.c:3;ns::f<int, "
					      "+>@b+c.so+0x1;[b.so+0x9]@00ff\n4\t=5\n3\t=2\n"),
			 0);
	assert_int_equal(table.n, 5);
	assert_text(&table, 1, "sleep <- entry");
	assert_text(&table, 2, "sleep <- entry");
	assert_text(&table, 3, "sleep <- entry");
	assert_text(&table, 4, "nap <- ns::f<int, +> <- [b.so+0x9]");
	assert_text(&table, 5, "nap <- ns::f<int, +> <- [b.so+0x9]");
	assert_int_equal(stack_table_find(&table, 2)->first, 0);
	assert_int_equal(stack_table_find(&table, 3)->first, 0);
	assert_int_equal(stack_table_find(&table, 4)->first, 4);
	assert_int_equal(stack_table_find(&table, 5)->first, 4);
	len = stack_line_frame(stack_table_find(&table, 4), &at, &frame);
	assert_false(stack_frame_is_user(frame, len));
	stack_line_frame(stack_table_find(&table, 4), &at, &frame);
	len = stack_line_frame(stack_table_find(&table, 4), &at, &frame);
	assert_true(stack_frame_is_user(frame, len));
	assert_int_equal(stack_frame_name(frame, len), 3);
	len = stack_line_frame(stack_table_find(&table, 4), &at, &frame);
	assert_int_equal(stack_frame_name(frame, len), strlen("ns::f<int, +>"));
	len = stack_line_frame(stack_table_find(&table, 4), &at, &frame);
	assert_int_equal(len, strlen("[b.so+0x9]@00ff"));
	assert_int_equal(stack_line_frame(stack_table_find(&table, 4), &at, &frame), 0);
	stack_table_free(&table);
}

static void a_killed_recorder_may_leave_a_part_of_the_head(void **state)
{
	struct stack_table table;

	(void)state;
	assert_int_equal(load(&table, "ovni-bpf st"), 0);
	assert_true(table.torn && !table.n);
	stack_table_free(&table);
	assert_int_equal(load(&table, ""), 0);
	assert_int_equal(table.n, 0);
	stack_table_free(&table);
	assert_int_equal(unlinkat(dirfd_, STACK_FILE, 0), 0);
	assert_int_equal(stack_table_load(&table, dirfd_, "trace"), 0);
	assert_int_equal(table.n, 0);
	stack_table_free(&table);
}

static void each_mistake_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"ovni-bpf stacks 2\n1\ta\n", "no file of stacks"},
		{"hello", "no file of stacks"},
		{STACK_FILE_HEAD "0\ta\n", "line 2: its number is 0"},
		{STACK_FILE_HEAD "1\t=\n", "line 2: no number behind '='"},
		{STACK_FILE_HEAD "1\t=0\n", "line 2: no number behind '='"},
		{STACK_FILE_HEAD "1\t=4294967296\n", "line 2: no number behind '='"},
		{STACK_FILE_HEAD "1\ta\t2\n", "stack 1: the stack of its waker is not there"},
		{STACK_FILE_HEAD "1\ta\t\n", "line 2: no number of a stack behind the frames"},
		{STACK_FILE_HEAD "1\ta\n2\t=1\tx\n",
		 "line 3: no number of a stack behind the frames"},
		{STACK_FILE_HEAD "1\t=2a\n2\ta\n", "line 2: no frames behind the number"},
		{STACK_FILE_HEAD "1\t=2;\n2\ta\n", "line 2: a frame is empty"},
		{STACK_FILE_HEAD "1\t=2\n", "stack 1: the stack that it names is not there"},
		{STACK_FILE_HEAD "1\t=1\n", "stack 1: the stack that it names is not there"},
		{STACK_FILE_HEAD "1\t=2\n2\t=1\n", "stack 1: the stack that it names is not there"},
		{STACK_FILE_HEAD "1\ta\n2\t=1;b\n3\t=2;c\n",
		 "stack 3: the stack that it names has"},
		{STACK_FILE_HEAD "4294967296\ta\n", "line 2: no number of 32 bits"},
		{STACK_FILE_HEAD "99999999999999999999999\ta\n", "line 2: no number of 32 bits"},
		{STACK_FILE_HEAD "-1\ta\n", "line 2: no number of 32 bits"},
		{STACK_FILE_HEAD "1 a\n", "line 2: no number of 32 bits"},
		{STACK_FILE_HEAD "\n", "line 2: no number of 32 bits"},
		{STACK_FILE_HEAD "1\n", "line 2: no number of 32 bits"},
		{STACK_FILE_HEAD "1\t\n", "line 2: a frame is empty"},
		{STACK_FILE_HEAD "1\ta;\n", "line 2: a frame is empty"},
		{STACK_FILE_HEAD "1\t;a\n", "line 2: a frame is empty"},
		{STACK_FILE_HEAD "1\ta;;b\n", "line 2: a frame is empty"},
		{STACK_FILE_HEAD "1\ta\033[31m\n", "line 2: a frame is empty or has a byte"},
		{STACK_FILE_HEAD "1\t\303\244\n", "line 2: a frame is empty or has a byte"},
	};
	struct stack_table table;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		message[0] = '\0';
		assert_int_equal(load(&table, cases[i].text), -EBADMSG);
		if (!strstr(message, cases[i].says))
			fail_msg("%s: %s", cases[i].says, message);
		stack_table_free(&table);
	}
	put(STACK_FILE_HEAD "1\ta\0b\n", sizeof(STACK_FILE_HEAD) - 1 + 6);
	assert_int_equal(stack_table_load(&table, dirfd_, "trace"), -EBADMSG);
	stack_table_free(&table);
}

static void a_long_line_is_refused(void **state)
{
	static char text[70000];
	struct stack_table table;
	size_t at = (size_t)sprintf(text, STACK_FILE_HEAD "1\t");

	(void)state;
	memset(text + at, 'a', sizeof(text) - at - 2);
	text[sizeof(text) - 2] = '\n';
	assert_int_equal(load(&table, text), -EBADMSG);
	assert_non_null(strstr(message, "line 2: the line is too long"));
	stack_table_free(&table);
}

static void a_link_or_a_fifo_is_not_read(void **state)
{
	struct stack_table table;

	(void)state;
	unlinkat(dirfd_, STACK_FILE, 0);
	assert_int_equal(symlinkat("/etc/passwd", dirfd_, STACK_FILE), 0);
	assert_int_equal(stack_table_load(&table, dirfd_, "trace"), -ELOOP);
	stack_table_free(&table);
	unlinkat(dirfd_, STACK_FILE, 0);
	assert_int_equal(mkfifoat(dirfd_, STACK_FILE, 0600), 0);
	assert_true(stack_table_load(&table, dirfd_, "trace") < 0);
	stack_table_free(&table);
	unlinkat(dirfd_, STACK_FILE, 0);
}

static void the_used_lines_are_written_with_new_numbers(void **state)
{
	struct stack_table first, second;

	(void)state;
	assert_int_equal(load(&first, STACK_FILE_HEAD "1\ta\n2\tb;c+0x1\n5\td\n"), 0);
	unlinkat(dirfd_, STACK_FILE, 0);
	assert_int_equal(stack_table_write(&first, dirfd_, 0), 0); /* none */
	assert_int_equal(faccessat(dirfd_, STACK_FILE, F_OK, 0), -1);
	first.lines[1].used = first.lines[2].used = true;
	assert_int_equal(stack_table_write(&first, dirfd_, 0), 0);
	assert_int_equal(stack_table_write(&first, dirfd_, 5), 0);
	assert_int_equal(stack_table_load(&second, dirfd_, "trace"), 0);
	assert_int_equal(second.n, 4);
	assert_int_equal(second.lines[0].number, 2);
	assert_int_equal(second.lines[1].number, 5);
	assert_int_equal(second.lines[2].number, 7);
	assert_int_equal(second.lines[3].number, 10);
	assert_memory_equal(second.lines[2].frames, "b;c+0x1\n", 8);
	stack_table_free(&first);
	stack_table_free(&second);

	/* equal ones are written once, in full where the first one is not used */
	assert_int_equal(load(&first, STACK_FILE_HEAD "1\ta\n2\t=1;b@c+0x1\n3\t=2\n4\t=2\n"), 0);
	unlinkat(dirfd_, STACK_FILE, 0);
	first.lines[2].used = first.lines[3].used = true;
	assert_int_equal(stack_table_write(&first, dirfd_, 7), 0);
	assert_int_equal(stack_table_load(&second, dirfd_, "trace"), -EBADMSG); /* no head */
	stack_table_free(&second);
	unlinkat(dirfd_, STACK_FILE, 0);
	assert_int_equal(stack_table_write(&first, dirfd_, 0), 0);
	assert_int_equal(stack_table_load(&second, dirfd_, "trace"), 0);
	assert_int_equal(second.n, 2);
	assert_text(&second, 3, "b");
	assert_text(&second, 4, "b");
	assert_int_equal(second.lines[1].first, 0);
	assert_memory_equal(second.lines[0].frames, "a;b@c+0x1\n", 10);
	stack_table_free(&first);
	stack_table_free(&second);

	/* with the stacks of their wakers, which do not follow from "=" */
	assert_int_equal(load(&first, STACK_FILE_HEAD "1\ta\n2\tw\n3\t=1\t2\n4\t=3\n5\tx\n"), 0);
	unlinkat(dirfd_, STACK_FILE, 0);
	first.lines[0].used = first.lines[2].used = first.lines[3].used = true;
	assert_int_equal(stack_table_write(&first, dirfd_, 0), 0);
	assert_int_equal(stack_table_write(&first, dirfd_, 10), 0);
	assert_int_equal(stack_table_load(&second, dirfd_, "trace"), 0);
	assert_int_equal(second.n, 8); /* not 5 and 15 */
	assert_text(&second, 3, "a");
	assert_text(&second, 13, "a");
	assert_int_equal(stack_table_find(&second, 3)->waker, 2);
	assert_int_equal(stack_table_find(&second, 13)->waker, 12);
	assert_int_equal(stack_table_find(&second, 4)->waker, 0);
	assert_text(&second, 12, "w");
	stack_table_free(&first);
	stack_table_free(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_numbers_and_frames),
		cmocka_unit_test(a_line_can_be_that_of_another_number),
		cmocka_unit_test(a_killed_recorder_may_leave_a_part_of_the_head),
		cmocka_unit_test(each_mistake_is_refused_with_its_line),
		cmocka_unit_test(a_long_line_is_refused),
		cmocka_unit_test(a_link_or_a_fifo_is_not_read),
		cmocka_unit_test(the_used_lines_are_written_with_new_numbers),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	log_divert(hear, NULL);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlinkat(dirfd_, STACK_FILE, 0);
	rmdir(dir);
	return failed;
}
